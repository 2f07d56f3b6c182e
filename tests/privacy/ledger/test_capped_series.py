"""A cap on the periods of one user: what every unit pays, by brute force over activity."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from discreet.privacy import GaussianEvent, NoisePlan, PureEvent, SeriesTerms, Unit

Ints = npt.NDArray[np.int64]
SERIES = "ab" * 16
DAYS, WEEK_OF = 9, 7
FACTORISED = NoisePlan.factorised(horizon=6)
SLOW = NoisePlan((65536,), (65535,), 9)
FRESH = NoisePlan.fresh()


def terms(unit: Unit, plan: NoisePlan, cap: int | None) -> SeriesTerms:
    event = GaussianEvent(unit=unit, label="a series", sensitivity=1.0, sigma=1.0)
    return SeriesTerms(SERIES, unit, event, plan, cap)


def matrix(plan: NoisePlan, periods: int) -> npt.NDArray[np.float64]:
    """What a draw of period t sees of what is measured in s, over the length of a whole life."""
    c, made = plan.coefficients(plan.horizon), np.zeros((periods, periods))
    for s, t in itertools.product(range(periods), repeat=2):
        if s <= t and s // plan.horizon == t // plan.horizon:
            made[t, s] = plan.boost(s % plan.horizon + 1) / 2**16 * c[t - s]
    return made / np.sqrt(np.sum(c**2))


def counted(active: tuple[int, ...], cap: int) -> npt.NDArray[np.bool_]:
    """In which periods a user counts: the first `cap` with records, of 0, 1 or 2 records."""
    present = np.array(active) > 0
    return present & (np.cumsum(present) <= cap)


def moved(first: tuple[int, ...], second: tuple[int, ...], cap: int) -> Ints:
    """By how many user-periods each period's integers move between two worlds."""
    one, two = counted(first, cap), counted(second, cap)
    changed = one & two & (np.array(first) != np.array(second))
    return (one ^ two).astype(np.int64) + 2 * changed


def patterns(records: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(records + 1), repeat=DAYS)


def neighbours(unit: Unit) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Records on nine days, and the same without one unit."""
    if unit is Unit.RATING:
        for first in patterns(1):
            for day in np.flatnonzero(first):
                more = tuple(2 if d == day else n for d, n in enumerate(first))
                yield more, first  # one of two goes
                yield first, tuple(0 if d == day else n for d, n in enumerate(first))
        return
    length = {Unit.USER_DAY: 1, Unit.USER_WEEK: WEEK_OF}[unit]
    for first in patterns(1):
        for start in range(0, DAYS, length):
            without = tuple(0 if start <= d < start + length else n for d, n in enumerate(first))
            if without != first:
                yield first, without


def worst(asked: SeriesTerms, unit: Unit, cap: int) -> float:
    """The most that somebody pays, in the squared mu of one user-day that moves alone."""
    seen = matrix(asked.plan, DAYS)
    shifts = {tuple(moved(*pair, cap)) for pair in neighbours(unit)}
    return max(float(np.sum((seen @ np.array(shift)) ** 2)) for shift in shifts)


@pytest.mark.parametrize("plan", [FRESH, FACTORISED, SLOW])
@pytest.mark.parametrize("unit", [Unit.RATING, Unit.USER_DAY, Unit.USER_WEEK])
@pytest.mark.parametrize("cap", [1, 2, 5])
def test_nobody_pays_more_than_what_is_booked(plan: NoisePlan, unit: Unit, cap: int) -> None:
    asked = terms(Unit.USER_DAY, plan, cap)
    paid = worst(asked, unit, cap)
    booked = asked.cost_after(unit, DAYS).mu_squared
    assert paid <= booked * (1 + 1e-9)
    assert paid > 0.45 * booked  # or the bound says little


@pytest.mark.parametrize("plan", [FRESH, FACTORISED])
def test_one_more_costs_more_than_what_is_booked_without_a_cap(plan: NoisePlan) -> None:
    free = terms(Unit.USER_DAY, plan, None)
    booked = free.cost_after(Unit.USER_DAY, DAYS).mu_squared
    assert worst(free, Unit.USER_DAY, 3) > 1.5 * booked


def test_pure_costs_count_what_goes_and_what_comes_in() -> None:
    event = PureEvent(unit=Unit.USER_DAY, label="x", epsilon=0.1, mechanism="rr")
    asked = SeriesTerms(SERIES, Unit.USER_DAY, event, FRESH, 4)
    units = (Unit.RATING, Unit.USER_DAY, Unit.USER_WEEK, Unit.USER)
    costs = [asked.cost_after(unit, 50).pure for unit in units]
    assert costs == pytest.approx([0.2, 0.2, 0.8, 0.4])
    for unit, cost in zip(units[:3], costs[:3], strict=True):
        most = max(int(moved(*pair, 4).sum()) for pair in neighbours(unit))
        assert 0.1 * most <= cost * (1 + 1e-9)
