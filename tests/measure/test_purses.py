"""What purses rest on: splitting a pure charge never costs more than the whole."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from discreet.measure import Part
from discreet.measure._request import Budget, Spender
from discreet.privacy import (
    Event,
    GaussianEvent,
    GeometricEvent,
    Noise,
    NotCharged,
    PureEvent,
    SeededRandomness,
    Unit,
    unbooked,
)


def pure(epsilon: float, unit: Unit = Unit.USER) -> PureEvent:
    return PureEvent(unit=unit, label=f"{epsilon}", epsilon=epsilon, mechanism="any")


def test_the_booked_mu_squared_of_a_pure_step_grows_faster_than_its_epsilon() -> None:
    with mpmath.workprec(300):
        ratios = []
        for step in range(-40, 64):
            epsilon = mpmath.mpf(2) ** (mpmath.mpf(step) / 4)
            kept = 1 / (1 + mpmath.exp(-epsilon))
            mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(2 * kept - 1) if epsilon < 60 else None
            if mu is not None:
                ratios.append(mu**2 / epsilon)
        assert len(ratios) > 60
        assert ratios == sorted(ratios)


def test_a_purse_pays_until_it_is_empty_and_for_its_own_unit_only() -> None:
    total = pure(1.0)
    purse = unbooked([total]).open_purse(total)
    purse.redeem(pure(0.5))
    with pytest.raises(NotCharged):
        purse.redeem(pure(0.25, Unit.RATING))
    assert not purse.is_spent
    purse.redeem(pure(0.49))
    with pytest.raises(NotCharged):
        purse.redeem(pure(0.02))
    assert list(purse.events) == [pure(0.5), pure(0.49)]
    assert not purse.is_spent


def test_a_guarantee_rests_on_the_whole_charge_unless_all_of_it_was_drawn() -> None:
    budget = Budget.of(Unit.USER, Noise.LAPLACE, 1.0, 0.0)
    total = budget.event("x")
    spender = Spender(budget, unbooked([total]), "x")
    spender.release(Part("half", 1.0), 3, 0.5)
    assert spender.promised == (total,)
    spender.release(Part("the other half", 1.0), 3, 0.5)
    assert [event.label for event in spender.promised] == ["half", "the other half"]


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("size", [1, 400])
def test_where_noise_has_no_room_the_grid_is_made_coarser(noise: Noise, size: int) -> None:
    """The booked sensitivity covers rounding, and the noise is still of the stated size."""
    budget = Budget(Unit.USER, noise, 0.001, 0.0 if noise is Noise.LAPLACE else 1e-6)
    event = budget.event("all")
    receipt = unbooked([event], SeededRandomness(1))
    spender = Spender(budget, receipt, "all")
    rng = np.random.default_rng(2)
    exact = rng.integers(-(2**60), 2**60, size)
    told, sensitivity = exact.copy(), 2.0**38
    noisy, spread = spender.perturb(exact.copy(), sensitivity, 0.01, "sums")
    [booked] = spender.events
    m = 2 ** round(math.log2(spread / _scale_of(booked)))
    assert m > 1
    # Neighbours as far apart as can be, in one entry and by a little in all others.
    moved = told + rng.integers(0, 2, size)
    moved[0] += int(sensitivity) - size
    apart = np.abs(moved // m - told // m).astype(float)
    length = apart.sum() if noise is Noise.LAPLACE else math.sqrt((apart**2).sum())
    assert isinstance(booked, GaussianEvent | GeometricEvent)
    assert length <= booked.sensitivity
    assert np.abs(noisy.astype(float) - told).max() < 40 * spread
    if size > 1:
        assert np.std(noisy.astype(float) - told) == pytest.approx(spread, rel=0.2)


def _scale_of(event: Event) -> float:
    """The noise's standard deviation in grid units."""
    if isinstance(event, GaussianEvent):
        return float(event.sigma)
    assert isinstance(event, GeometricEvent)
    return math.sqrt(2) * event.scale
