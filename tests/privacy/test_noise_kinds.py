"""The two kinds of noise: what follows from their names, and that shares add up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.privacy import (
    GaussianNoise,
    LaplaceNoise,
    Noise,
    SeededRandomness,
    Unit,
    unbooked,
)
from discreet.privacy.accounting import compose, gaussian_mu, mu_of_theta
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric

NAMES = [Noise.GAUSSIAN, Noise.LAPLACE]
SHARES = st.lists(st.floats(1e-3, 1), min_size=1, max_size=8)


def test_names_are_option_values_and_lead_to_their_kinds() -> None:
    assert [str(name) for name in Noise] == ["gaussian", "laplace"]
    assert isinstance(Noise("gaussian").kind, GaussianNoise)
    assert isinstance(Noise("laplace").kind, LaplaceNoise)
    for name in Noise:
        assert name.kind.name is name
    assert [Noise.for_delta(delta) for delta in (1e-6, 0.0)] == NAMES


def test_norms() -> None:
    vector = np.array([3.0, -4.0, 12.0])
    for name, length in zip(NAMES, (13.0, 19.0), strict=True):
        kind = name.kind
        assert np.linalg.norm(vector, kind.order) == length
        assert kind.root((np.abs(vector) ** kind.order).sum()) == length
        ones = np.linalg.norm(np.ones(50), kind.order)
        assert kind.root(50) == pytest.approx(ones, rel=1e-15)
    values = np.array([4.0, 9.0])
    assert GaussianNoise().root(values).tolist() == [2.0, 3.0]
    assert LaplaceNoise().root(values).tolist() == [4.0, 9.0]


def test_budgets() -> None:
    gaussian, laplace = (name.kind for name in NAMES)
    assert gaussian.amount_of(1.0, 1e-6) == gaussian_mu(1.0, 1e-6)
    assert laplace.amount_of(1.0, 0.0) == 1.0
    assert gaussian.amount_of(math.inf, 1e-6) == laplace.amount_of(math.inf, 0.0) == math.inf
    assert gaussian.amount_of_theta(0.15) == mu_of_theta(0.15)
    assert laplace.amount_of_theta(0.15) == 0.15
    assert (gaussian.default_delta, laplace.default_delta) == (1e-6, 0.0)
    # The rule of thumb, at the usual budget.
    assert laplace.as_mu(1.0) == pytest.approx(gaussian.amount_of(1.0, 1e-6), rel=0.1)


@pytest.mark.parametrize("delta", [0.0, -1e-6, 1.0, math.nan])
def test_gaussian_noise_needs_a_delta(delta: float) -> None:
    kind = Noise.GAUSSIAN.kind
    with pytest.raises(InputError, match="delta above 0 and below 1"):
        kind.check_delta(delta)
    with pytest.raises(InputError, match="delta must be from 1e-300 to below 1"):
        kind.amount_of(1.0, delta)
    with pytest.raises(InputError, match="delta must be from 1e-300 to below 1"):
        kind.calibrated(1.0, 1.0, delta)


@pytest.mark.parametrize("delta", [1e-300, 1e-6, 1.0, math.nan])
def test_laplace_noise_has_none(delta: float) -> None:
    kind = Noise.LAPLACE.kind
    for call in (
        lambda: kind.check_delta(delta),
        lambda: kind.amount_of(1.0, delta),
        lambda: kind.calibrated(1.0, 1.0, delta),
    ):
        with pytest.raises(InputError, match="Laplace noise has delta 0"):
            call()


@pytest.mark.parametrize("name", NAMES)
@given(st.floats(1e-3, 1e3), SHARES, st.floats(1e-3, 1e6))
def test_shares_of_a_budget_add_up_to_it_and_no_more(
    name: Noise, amount: float, weights: list[float], sensitivity: float
) -> None:
    kind = name.kind
    shares = [weight / math.fsum(weights) for weight in weights]
    total = compose([kind.event(amount, Unit.USER, "all", 7)])
    parts = compose(
        kind.mechanism(sensitivity, amount, share).event(sensitivity, Unit.USER, "part", 7)
        for share in shares
    )
    assert parts.pure <= total.pure <= amount
    assert parts.mu_squared <= total.mu_squared <= amount**2 * (1 + 1e-15)
    assert parts.pure + parts.mu_squared >= (total.pure + total.mu_squared) * (1 - 1e-9)
    for share in shares:
        part = kind.mechanism(sensitivity, amount, share)
        assert part.spread == pytest.approx(sensitivity * kind.spread(amount, share), rel=1e-9)
        assert kind.mechanism(sensitivity, kind.part(amount, share)) == part


@pytest.mark.parametrize(
    ("name", "delta", "kind"),
    [(Noise.GAUSSIAN, 1e-6, RoundedGaussian), (Noise.LAPLACE, 0.0, TwoSidedGeometric)],
)
def test_the_least_noise_for_a_budget_spends_it(name: Noise, delta: float, kind: type) -> None:
    mechanism = name.kind.calibrated(5.0, 1.0, delta)
    assert isinstance(mechanism, kind)
    event = mechanism.event(5.0, Unit.RATING, "counts")
    assert 1 - 1e-6 <= compose([event]).epsilon(delta) <= 1
    noisy = mechanism.release(np.zeros(1000, np.int64), event, unbooked([event]))
    # Of 1,000 Laplace draws one is beyond 42 scales with probability 1e-15; Gaussian ones are less.
    assert 0 < np.abs(noisy).max() < 30 * mechanism.spread


@pytest.mark.parametrize("name", NAMES)
def test_seeded_draws_are_what_they_were(name: Noise) -> None:
    """The sizes of noise, to the last bit: release files are reproduced from seeds."""
    kind = name.kind
    mechanism = kind.mechanism(3.7, 0.91, 0.13)
    part = 0.91 * math.sqrt(0.13) if name is Noise.GAUSSIAN else 0.91 * 0.13
    scale = 3.7 / part * (1 + 2.0**-33)
    by_hand = (RoundedGaussian if name is Noise.GAUSSIAN else TwoSidedGeometric)(scale)
    assert mechanism == by_hand
    event = mechanism.event(3.7, Unit.USER, "x")
    draws = [
        one.release(np.arange(50), event, unbooked([event], SeededRandomness(1)))
        for one in (mechanism, by_hand)
    ]
    one, other = draws
    assert np.array_equal(one, other)
