"""Answers of the accountant against exact divergences: never below, and how far above."""

from __future__ import annotations

import math

import mpmath
import pytest
from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from discreet.domain import InputError
from discreet.privacy import Event, GaussianEvent, PureEvent, Unit
from discreet.privacy.accounting import Totals, compose, gaussian_epsilon
from privacy.accounting import _exact

MIXTURES = [(0.1, 5, 0.2), (0.5, 1, 1.0), (0.04, 12, 0.05), (1.0, 2, 0.5), (0.3, 3, 1.5)]


def gaussian(mu: float, count: int = 1) -> GaussianEvent:
    """Sigma so that the event's mu is this one, rounded up a little."""
    return GaussianEvent(unit=Unit.USER, label="x", sensitivity=mu, sigma=1.0, count=count)


def pure(epsilon: float, count: int = 1) -> PureEvent:
    return PureEvent(unit=Unit.USER, label="x", epsilon=epsilon, mechanism="coin", count=count)


@given(st.floats(1e-6, 30), st.floats(-40, 40))
def test_pure_delta_at_any_epsilon_is_that_of_randomized_response(
    epsilon: float, at: float
) -> None:
    with mpmath.workprec(_exact.BITS):
        p = 1 / (1 + mpmath.exp(-mpf(epsilon)))
        # All sets of answers: none, the likelier, the other, both.
        sets = [(mpf(0), mpf(0)), (p, 1 - p), (1 - p, p), (mpf(1), mpf(1))]
        truth = max(yes - mpmath.exp(mpf(at)) * no for yes, no in sets)
    got = Totals(pure=epsilon).delta(at)
    assert truth - 2**-200 <= got <= truth * (1 + 1e-9)
    assert (got == 0) == (at >= epsilon)


def test_no_pure_mechanism_has_a_larger_delta_than_randomized_response() -> None:
    # Two-sided geometric noise on a count, one unit apart: P(S) - e^at Q(S) summed where positive.
    scale, at = 2.0, 0.2
    ratio = math.exp(-1 / scale)
    norm = (1 - ratio) / (1 + ratio)
    excess = (norm * (ratio ** abs(k) - math.exp(at) * ratio ** abs(k - 1)) for k in range(-80, 81))
    assert 0 < sum(x for x in excess if x > 0) <= Totals(pure=1 / scale).delta(at)


@pytest.mark.parametrize("epsilon", [1.0, 750.0])
def test_pure_delta_far_below_zero(epsilon: float) -> None:
    assert Totals(pure=epsilon).delta(-800.0) == 1.0
    assert Totals(pure=epsilon).delta(epsilon) == 0.0


def test_pure_epsilons_add_up_and_delta_does_not_matter() -> None:
    events = [pure(0.25, 2), pure(0.5)]
    for delta in (0.0, 1e-6, 0.5):
        assert compose(events).epsilon(delta) == pytest.approx(1.0, rel=1e-15)
    assert compose(events).delta(1.0 + 1e-12) == 0.0


@pytest.mark.parametrize(("epsilon", "count", "mu"), MIXTURES)
def test_a_mixture_is_never_said_to_cost_less_than_it_does(
    epsilon: float, count: int, mu: float
) -> None:
    totals = compose([pure(epsilon, count), gaussian(mu)])
    for delta in (0.1, 1e-6, 1e-10):
        assert _exact.mixed_delta(epsilon, count, mu, totals.epsilon(delta)) <= delta
        assert totals.epsilon(delta) >= gaussian_epsilon(mu, delta) * (1 - 1e-9)
    for at in (-0.5, 0.3, 2.0):
        assert _exact.mixed_delta(epsilon, count, mu, at) <= totals.delta(at)


@pytest.mark.parametrize(("sigma", "count"), [(1.0, 1), (5.0, 20), (50.0, 300)])
def test_agrees_with_dp_accounting_on_composed_gaussians(sigma: float, count: int) -> None:
    ours = [GaussianEvent(unit=Unit.USER, label="x", sensitivity=1.0, sigma=sigma, count=count)]
    theirs = SelfComposedDpEvent(GaussianDpEvent(sigma), count)
    exact = compose(ours).epsilon(1e-6)
    pld = PLDAccountant().compose(theirs).get_epsilon(1e-6)
    assert exact <= pld <= exact * (1 + 1e-4)


def test_one_release_of_both_kinds_may_choose_as_it_goes_within_fixed_totals() -> None:
    # Gaussian noise first; a coin is thrown only if the noise came out on the bad side.
    mu, epsilon = 1.0, 0.8
    for at in (0.0, 0.5, 1.5, 3.0):
        truth = mpf(0)
        for p, loss in _exact.coins(epsilon, 1):
            cut = max(mpf(0), (at - loss) / mpf(mu) + mpf(mu) / 2)
            thrown = _exact.below(mu - cut) - mpmath.exp(at - loss) * _exact.below(-cut)
            truth += p * max(mpf(0), thrown)
        cut = mpf(at) / mu + mpf(mu) / 2
        if cut < 0:
            kept = _exact.below(-mu) - _exact.below(cut - mu)
            truth += kept - mpmath.exp(at) * (mpf(1) / 2 - _exact.below(cut))
        assert truth <= compose([gaussian(mu), pure(epsilon)]).delta(at)


@given(st.floats(1e-4, 20), st.floats(1e-8, 100), st.floats(-30, -0.5))
def test_epsilon_and_delta_undo_each_other(total: float, squared: float, log_delta: float) -> None:
    totals, delta = Totals(total, squared), 10.0**log_delta
    epsilon = totals.epsilon(delta)
    assert epsilon >= total
    assert totals.delta(epsilon) <= delta * (1 + 1e-6)
    if epsilon > total * (1 + 1e-6):
        assert totals.delta(epsilon * (1 - 1e-5)) > delta
        assert totals.epsilon(totals.delta(epsilon)) == pytest.approx(epsilon, rel=1e-6)


def test_a_difference_of_large_epsilons_is_rounded_to_the_safe_side() -> None:
    # epsilon - pure has lost its last digits here, and delta is steep in it.
    mu = 1e-6
    for k in range(200):
        total, epsilon = 1000.0 + k / 7, 1000.0 + k / 7 + 5e-6
        left = mpf(epsilon) - mpf(total)
        exact = _exact.gaussian_delta(mu, left)
        assert Totals(total, mu * mu).delta(epsilon) >= exact


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
@pytest.mark.parametrize("events", [[pure(1.0)], [gaussian(1.0)], [pure(1.0), gaussian(1.0)]])
def test_a_delta_out_of_range_is_refused(events: list[Event], delta: float) -> None:
    with pytest.raises(InputError, match=rf"delta must be .* not {delta:g}"):
        compose(events).epsilon(delta)
    with pytest.raises(InputError, match="epsilon must be a number, not nan"):
        compose(events).delta(math.nan)


def test_gaussian_noise_has_no_epsilon_at_delta_zero() -> None:
    with pytest.raises(InputError, match="delta 0 needs Laplace noise"):
        compose([gaussian(1.0)]).epsilon(0.0)
