"""Recency: exact integers, and no record and no user that moves them further than the bound."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.measure.recency import GRID, WEIGHT_GRID, PeriodCounts, Periods, RecentCounts
from discreet.privacy import FIT_UNITS, Noise, Unit
from discreet.ratings import Ratings
from measure._neighbours import SCALES, catalog_of, length, ratings_of, share_of, stays_within

every_unit = pytest.mark.parametrize("unit", FIT_UNITS)
every_noise = pytest.mark.parametrize("noise", Noise)
ITEMS = 6
LATEST = 2**32 - 1
PERIODS = Periods(1000, 100, 4)
TIMES = [0, 999, 1000, 1099, 1100, 1399, 1400, 5000, LATEST]
Person = dict[int, int]
"""The time of each item."""
times = st.one_of(st.sampled_from(TIMES), st.integers(900, 1500))
person = st.dictionaries(st.integers(0, ITEMS - 1), times)
weights = st.lists(
    st.one_of(st.sampled_from([0, 1, WEIGHT_GRID]), st.integers(0, WEIGHT_GRID)),
    min_size=4,
    max_size=4,
).map(lambda each: np.array(each, np.int64))


def timed(people: list[Person], items: int = ITEMS) -> Ratings:
    plain = ratings_of([dict.fromkeys(p, 3.0) for p in people], items, SCALES["five stars"])
    when = [p[item] for p in people for item in sorted(p)]
    return replace(plain, times=np.array(when, np.uint32))


def slow_period(time: int) -> int | None:
    if time < 1000:
        return None
    return next((n for n in range(3) if time < 1100 + 100 * n), 3)


def slow_periods(unit: Unit, people: list[Person]) -> list[int]:
    counts = [0] * 4
    for own in people:
        for time in own.values():
            at = slow_period(time)
            if at is not None:
                counts[at] += 1 if unit is Unit.RATING else GRID // len(own)
    return counts


def slow_recent(unit: Unit, noise: Noise, g: np.ndarray, people: list[Person]) -> list[int]:
    counts = [0] * ITEMS
    for own in people:
        each = {i: 0 if slow_period(t) is None else int(g[slow_period(t)]) for i, t in own.items()}
        scale = 1.0
        if unit is Unit.USER:
            whole = sum(v if noise is Noise.LAPLACE else v * v for v in each.values())
            size = float(whole) if noise is Noise.LAPLACE else math.sqrt(whole)
            scale = (1 - 2.0**-30) * GRID / max(size, WEIGHT_GRID)
        for item, value in each.items():
            counts[item] += int(value * scale)
    return counts


def test_periods_have_no_end_and_nothing_before_the_first() -> None:
    found = PERIODS.of(np.array(TIMES, np.uint32))
    assert found.tolist() == [-1, -1, 0, 0, 1, 3, 3, 3, 3]
    assert Periods(0, 1, 1).of(np.array([0, LATEST], np.uint32)).tolist() == [0, 0]
    late = Periods(LATEST, 1, 2)
    assert late.of(np.array([0, LATEST - 1, LATEST], np.uint32)).tolist() == [-1, -1, 0]
    for wrong in ((0, 0, 3), (0, 5, 0)):
        with pytest.raises(InputError, match="one or more"):
            Periods(*wrong)


@every_unit
@given(people=st.lists(person, max_size=5))
def test_period_counts_follow_the_definition(unit: Unit, people: list[Person]) -> None:
    found = PeriodCounts(unit, PERIODS).measure(timed(people))
    assert found.dtype == np.int64 and found.tolist() == slow_periods(unit, people)


@every_unit
@every_noise
@given(people=st.lists(person, max_size=5), g=weights)
def test_recent_counts_follow_the_definition(
    unit: Unit, noise: Noise, people: list[Person], g: np.ndarray
) -> None:
    found = RecentCounts(unit, noise, PERIODS, g).measure(timed(people))
    assert found.dtype == np.int64 and found.tolist() == slow_recent(unit, noise, g, people)


@every_unit
@every_noise
@given(people=st.lists(person, max_size=3), own=person, g=weights, data=st.data())
def test_no_neighbour_moves_them_further(
    unit: Unit, noise: Noise, people: list[Person], own: Person, g: np.ndarray, data: st.DataObject
) -> None:
    less: list[Person] = []
    if unit is Unit.RATING and own:
        gone = data.draw(st.sampled_from(sorted(own)))
        less = [{item: time for item, time in own.items() if item != gone}]
    for statistic in (PeriodCounts(unit, PERIODS), RecentCounts(unit, noise, PERIODS, g)):
        with_it, without = (statistic.measure(timed([*people, *rest])) for rest in ([own], less))
        (part,) = statistic.parts
        if unit is Unit.RATING and not own:
            assert np.array_equal(with_it, without)
        moved = length(noise, with_it - without)
        assert stays_within(noise, moved, part.sensitivity)


def one_person(g: np.ndarray, items: int) -> Ratings:
    """Somebody whose records fall into one period each."""
    starts, rated = np.array([0, items]), np.arange(items, dtype=np.int32)
    codes, when = np.zeros(items, np.uint8), (np.arange(items) % len(g)).astype(np.uint32)
    scale = SCALES["five stars"]
    return Ratings(scale, catalog_of(items), starts, rated, codes, times=when)


@every_noise
@pytest.mark.parametrize("items", [1, 2, 3, 17, 1000, 100_000])
def test_users_of_any_size_stay_within_the_bound_and_come_near_it(noise: Noise, items: int) -> None:
    """Weights that no double holds exactly once they are scaled, and equal ones."""
    rng = np.random.default_rng(items)
    for g in (np.full(7, WEIGHT_GRID), rng.integers(1, WEIGHT_GRID + 1, 7)):
        statistic = RecentCounts(Unit.USER, noise, Periods(0, 1, 7), g.astype(np.int64))
        moved = statistic.measure(one_person(g, items))
        size, bound = length(noise, moved), statistic.parts[0].sensitivity
        assert stays_within(noise, size, bound)
        if items <= 1000 and (items >= 17 or g[0] == WEIGHT_GRID):
            assert share_of(noise, size, bound) > 0.97


@every_noise
def test_climbing_over_weights_never_leaves_the_ball(noise: Noise) -> None:
    rng = np.random.default_rng(2)
    periods, best = Periods(0, 1, 5), 0.0
    g = rng.integers(0, WEIGHT_GRID + 1, 5)
    for _ in range(300):
        tried = np.clip(g + rng.integers(-3000, 3001, 5) * (rng.random(5) < 0.5), 0, WEIGHT_GRID)
        statistic = RecentCounts(Unit.USER, noise, periods, tried)
        size = length(noise, statistic.measure(one_person(tried, 5)))
        assert stays_within(noise, size, GRID)
        share = share_of(noise, size, GRID)
        if share >= best:
            g, best = tried, share
    assert best > 1 - 1e-5


def test_the_margin_is_larger_than_what_doubles_lose() -> None:
    """Every product in doubles is at most the exact one without the margin."""
    rng = np.random.default_rng(3)
    for total in (*rng.integers(1, 2**61, 200).tolist(), 2**30, 2**30 + 1, 2**61 - 1):
        length_of = max(math.sqrt(float(total)), float(WEIGHT_GRID))
        product = WEIGHT_GRID * ((1 - 2.0**-30) * GRID / length_of)
        assert Fraction(product) ** 2 * total < Fraction(WEIGHT_GRID * GRID) ** 2


@every_noise
def test_a_changed_time_is_a_record_less_and_one_more(noise: Noise) -> None:
    g = np.array([WEIGHT_GRID, 0, 0, WEIGHT_GRID], np.int64)
    for statistic, most in (
        (PeriodCounts(Unit.RATING, PERIODS), 2),
        (RecentCounts(Unit.RATING, noise, PERIODS, g), WEIGHT_GRID),
    ):
        one, other, none = (
            statistic.measure(timed([{0: 1400, **rest}])) for rest in ({1: 1000}, {1: 1100}, {})
        )
        sizes = [int(np.abs(moved).sum()) for moved in (one - other, one - none, other - none)]
        assert sizes[0] <= sizes[1] + sizes[2] <= 2 * statistic.parts[0].sensitivity
        assert sizes[0] == most


def test_protecting_records_is_not_protecting_users() -> None:
    g = np.full(4, WEIGHT_GRID, np.int64)
    own = timed([dict.fromkeys(range(ITEMS), 1400)])
    for statistic in (
        PeriodCounts(Unit.RATING, PERIODS),
        RecentCounts(Unit.RATING, Noise.GAUSSIAN, PERIODS, g),
    ):
        moved = length(Noise.GAUSSIAN, statistic.measure(own))
        assert not stays_within(Noise.GAUSSIAN, moved, statistic.parts[0].sensitivity)


def test_what_cannot_be_measured_is_refused() -> None:
    plain = ratings_of([{0: 3.0}], ITEMS, SCALES["five stars"])
    with pytest.raises(InputError, match="times"):
        PeriodCounts(Unit.USER, PERIODS).measure(plain)
    for bad in ([1, 2, 3], [0, 0, 0, WEIGHT_GRID + 1], [0, 0, 0, -1], [0.5, 0, 0, 0]):
        with pytest.raises(InputError, match="one for each period"):
            RecentCounts(Unit.USER, Noise.GAUSSIAN, PERIODS, np.array(bad))
