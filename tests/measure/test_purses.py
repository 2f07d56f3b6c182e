"""What purses rest on: splitting a pure charge never costs more than the whole."""

from __future__ import annotations

import mpmath
import pytest

from discreet.measure import Noise
from discreet.measure._budget import Budget, Spender
from discreet.privacy import NotCharged, PureEvent, Receipt, Unit


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
    purse = Receipt([total]).open_purse(total)
    purse.redeem(pure(0.5))
    with pytest.raises(NotCharged):
        purse.redeem(pure(0.25, Unit.RATING))
    assert not purse.is_spent
    purse.redeem(pure(0.49))
    with pytest.raises(NotCharged):
        purse.redeem(pure(0.02))
    assert [event.epsilon for event in purse.events] == [0.5, 0.49]
    assert not purse.is_spent


def test_a_guarantee_rests_on_the_whole_charge_unless_all_of_it_was_drawn() -> None:
    budget = Budget.of(Unit.USER, Noise.LAPLACE, 1.0, 0.0)
    total = budget.event("x")
    spender = Spender(budget, Receipt([total]), "x")
    spender.release_number(3, 1.0, 1.0, 0.5, "half")
    assert spender.promised == (total,)
    spender.release_number(3, 1.0, 1.0, 0.5, "the other half")
    assert [event.label for event in spender.promised] == ["half", "the other half"]
