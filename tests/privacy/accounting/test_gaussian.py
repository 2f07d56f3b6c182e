"""The Gaussian trade-off against mpmath: on the safe side always, and close to the truth."""

from __future__ import annotations

import itertools
import math
import sys

import mpmath
import pytest
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from discreet.domain import InputError
from discreet.privacy.accounting import gaussian_delta, gaussian_epsilon, gaussian_mu
from privacy.accounting import _exact

CLOSE = 1e-6
MUS = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.99, 1.01, 2.5, 7.0, 20.0, 50.0]
EPSILONS = [0.0, 1e-9, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0, 300.0, 1000.0]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-40, 1e-15, 1e-9, 1e-6, 1e-3, 0.05, 0.3, 0.5]
# A small mu has an interesting epsilon of its own size: so many standard deviations out.
TAILS = [0.0, 1e-6, 0.5, 1.0, 3.0, 10.0, 25.0, 37.0]
POINTS = sorted(
    {(mu, eps) for mu, eps in itertools.product(MUS, EPSILONS)}
    | {(mu, tail * mu) for mu, tail in itertools.product(MUS, TAILS)}
    | {(mu, mu * mu / 2 + tail * mu) for mu, tail in itertools.product(MUS, TAILS)}
)


def check_delta(mu: float, epsilon: float) -> None:
    truth, got = _exact.gaussian_delta(mu, epsilon), gaussian_delta(mu, epsilon)
    assert 0 < got <= 1
    if truth < sys.float_info.min:
        assert got == sys.float_info.min
    else:
        assert truth <= got or got == 1
        assert got <= truth * (1 + CLOSE)


def test_the_reference_is_the_area_between_the_densities() -> None:
    for mu, epsilon in [(0.5, 0.2), (2.0, 1.0), (1.0, -0.7)]:
        cut = mpf(epsilon) / mu + mpf(mu) / 2

        def excess(x: mpf, mu: float = mu, epsilon: float = epsilon) -> mpf:
            gap = mpmath.npdf(x - mu) - mpmath.exp(epsilon) * mpmath.npdf(x)
            return max(gap, mpf(0))

        area = mpmath.quad(excess, [-20, cut, cut + 5, 30])
        assert float(_exact.gaussian_delta(mu, epsilon)) == pytest.approx(float(area), rel=1e-9)


def test_delta_is_never_below_the_truth_and_close_to_it() -> None:
    assert len(POINTS) > 250
    for mu, epsilon in POINTS:
        check_delta(mu, epsilon)


@given(st.floats(-12, 6), st.floats(-40, 40), st.sampled_from(["tail", "middle", "zero"]))
def test_delta_is_safe_and_close_far_outside_the_usual_range(
    log_mu: float, tail: float, around: str
) -> None:
    mu = 10.0**log_mu
    centre = {"tail": mu * mu / 2, "middle": 0.0, "zero": -tail * mu * (1 - 1e-6)}[around]
    check_delta(mu, centre + tail * mu)


def test_epsilon_is_valid_and_a_millionth_less_is_not() -> None:
    for mu, delta in itertools.product(MUS, DELTAS):
        epsilon = gaussian_epsilon(mu, delta)
        assert _exact.gaussian_delta(mu, epsilon) <= delta
        if epsilon > 0:
            assert _exact.gaussian_delta(mu, mpf(epsilon) * (1 - CLOSE)) > delta


def test_mu_is_valid_and_a_millionth_more_is_not() -> None:
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        mu = gaussian_mu(epsilon, delta)
        assert mu > 0
        assert _exact.gaussian_delta(mu, epsilon) <= delta
        assert _exact.gaussian_delta(mu * (1 + CLOSE), epsilon) > delta


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-16, 1e-8])
def test_at_epsilon_zero_mu_is_delta_times_the_square_root_of_two_pi(delta: float) -> None:
    # 2 Phi(mu/2) - 1 = mu/sqrt(2 pi) (1 - mu^2/24 + ...)
    assert gaussian_mu(0.0, delta) == pytest.approx(delta * math.sqrt(2 * math.pi), rel=1e-9)
    assert gaussian_mu(0.0, delta) < delta * math.sqrt(2 * math.pi)


@given(st.floats(-6, 2), st.floats(-300, -0.01))
def test_answers_pass_the_check_that_a_ledger_makes(log_mu: float, log_delta: float) -> None:
    mu, delta = 10.0**log_mu, 10.0**log_delta
    assert gaussian_delta(mu, gaussian_epsilon(mu, delta)) <= delta
    assert gaussian_delta(gaussian_mu(mu, delta), mu) <= delta


def test_epsilon_next_to_zero() -> None:
    # Between delta(0) and its rounded-up value: neither a failure nor a wrong zero.
    for mu in (0.01, 1.0, 3.0):
        at_zero = float(_exact.gaussian_delta(mu, 0))
        for factor in (1 - 1e-9, 1.0, 1 + 3e-11, 1 + 7e-11, 1 + 1e-9):
            epsilon = gaussian_epsilon(mu, at_zero * factor)
            assert _exact.gaussian_delta(mu, epsilon) <= at_zero * factor
            assert epsilon < 1e-7
        assert gaussian_epsilon(mu, at_zero * 1.001) == 0.0


def test_monotone() -> None:
    for delta in DELTAS:
        epsilons = [gaussian_epsilon(mu, delta) for mu in MUS]
        assert epsilons == sorted(epsilons)
        mus = [gaussian_mu(epsilon, delta) for epsilon in EPSILONS]
        assert mus == sorted(set(mus))
    for mu in MUS:
        deltas = [gaussian_delta(mu, epsilon) for epsilon in EPSILONS]
        assert deltas == sorted(deltas, reverse=True)


def test_inverse_of_each_other() -> None:
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        mu = gaussian_mu(epsilon, delta)
        assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-5)
        back = gaussian_epsilon(mu, delta)
        assert back == pytest.approx(epsilon, rel=CLOSE, abs=1e-8 * mu)


def test_agrees_with_dp_accounting() -> None:
    for sigma, delta in itertools.product([0.1, 0.5, 1.0, 4.0, 30.0], [1e-10, 1e-6, 1e-3, 0.1]):
        theirs = get_epsilon_gaussian(sigma, delta)
        assert gaussian_epsilon(1 / sigma, delta) == pytest.approx(theirs, rel=CLOSE, abs=1e-9)
    for epsilon, delta in itertools.product([0.1, 1.0, 10.0, 100.0], [1e-10, 1e-6, 1e-3, 0.1]):
        theirs = get_sigma_gaussian(epsilon, delta)
        assert 1 / gaussian_mu(epsilon, delta) == pytest.approx(theirs, rel=CLOSE)


def test_no_shift_costs_nothing() -> None:
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert gaussian_delta(0.0, 0.0) == 0.0
    assert gaussian_delta(0.0, 5.0) == 0.0
    # Even equal laws have P(all) - e^-1 Q(all) = 1 - 1/e.
    assert gaussian_delta(0.0, -1.0) == pytest.approx(1 - 1 / math.e, rel=1e-9)


def test_beyond_all_measure_the_answers_stay_safe() -> None:
    assert gaussian_delta(1e7, 1e13) == gaussian_delta(math.inf, 1.0) == 1.0
    assert gaussian_delta(1.0, math.inf) == sys.float_info.min
    assert gaussian_delta(1.0, -math.inf) == 1.0
    assert gaussian_epsilon(math.inf, 1e-6) == math.inf
    huge = gaussian_epsilon(1e7, 1e-6)
    assert _exact.gaussian_delta(1e7, huge) <= 1e-6
    assert huge == pytest.approx(1e14 / 2, rel=1e-5)
    assert gaussian_mu(1e7, 0.5) == pytest.approx(math.sqrt(2e7), rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, -1e-6, 1.0, 2.0, math.nan, math.inf, 1e-301])
def test_a_delta_out_of_range_is_refused(delta: float) -> None:
    said = (
        f"delta must be from 1e-300 to below 1 for Gaussian noise, not {delta:g}; "
        "1e-6 is usual, and delta 0 needs Laplace noise"
    )
    for call in (lambda: gaussian_epsilon(1.0, delta), lambda: gaussian_mu(1.0, delta)):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == said


@pytest.mark.parametrize("epsilon", [-1e-9, -math.inf, math.nan, math.inf, 1e8])
def test_an_epsilon_out_of_range_has_no_mu(epsilon: float) -> None:
    with pytest.raises(InputError) as caught:
        gaussian_mu(epsilon, 1e-6)
    assert str(caught.value) == f"epsilon must be from 0 to 10,000,000, not {epsilon:g}"


@pytest.mark.parametrize("mu", [-1e-9, -math.inf, math.nan])
def test_a_mu_out_of_range_is_refused(mu: float) -> None:
    for call in (lambda: gaussian_epsilon(mu, 1e-6), lambda: gaussian_delta(mu, 1.0)):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == f"mu must be at least 0, not {mu:g}"
    with pytest.raises(InputError, match="epsilon must be a number, not nan"):
        gaussian_delta(1.0, math.nan)
