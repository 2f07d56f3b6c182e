"""Item sums: exact integers, and no rating that moves them further than the sensitivity."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Scale
from discreet.measure.centring import GRID, HuberCentring, ItemLevels, PaperCentring
from discreet.measure.item_sums import RatingSums, ResidualSums, add_up
from discreet.privacy import Noise
from measure._neighbours import (
    FAR,
    SCALES,
    Ints,
    Pair,
    Person,
    edge_of,
    length,
    levels_on,
    levels_that_leave,
    pairs_on,
    people_on,
    ratings_of,
    share_of,
    slow_level,
    slow_residual,
    stays_within,
    threes,
    use_small_blocks,
)

ITEMS = 7
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
every_noise = pytest.mark.parametrize("noise", Noise)


def slow_distance(scale: Scale, value: float) -> int:
    """R - mid in grid units: half steps, or 1/4096 of half a continuous range."""
    if scale.step is not None:
        return 2 * round((value - scale.lo) / scale.step) - round(scale.range / scale.step)
    middle = Fraction(scale.lo + scale.hi) / 2
    return round((Fraction(value) - middle) / (Fraction(scale.range) / 2) * 4096)


def slow_rating_sums(scale: Scale, people: list[Person]) -> list[int]:
    sums = [0] * ITEMS
    for person in people:
        for item, value in person.items():
            sums[item] += slow_distance(scale, value)
    return sums


def slow_residual_sums(
    centring: HuberCentring, levels: ItemLevels, people: list[Person]
) -> list[int]:
    sums = [0] * ITEMS
    for person in people:
        x = {item: slow_residual(levels, item, value) for item, value in person.items()}
        b = slow_level(list(x.values()), centring.reach, centring.fictitious)
        for item, value in x.items():
            sums[item] += min(max(value - b, -centring.reach), centring.reach)
    return sums


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_rating_sums_follow_the_definition(scale: Scale, data: st.DataObject) -> None:
    people = data.draw(people_on(scale, ITEMS))
    measured = RatingSums(scale).measure(ratings_of(people, ITEMS, scale))
    assert measured.dtype == np.int64
    assert measured.tolist() == slow_rating_sums(scale, people)


@every_scale
def test_rating_sums_are_in_the_stated_unit(scale: Scale) -> None:
    sums = RatingSums(scale)
    for value in (scale.lo, scale.hi):
        measured = sums.measure(ratings_of([{1: value}, {1: value}], ITEMS, scale))
        assert measured[1] / sums.grid == pytest.approx(2 * (value - scale.mid))
        assert abs(int(measured[1])) == 2 * sums.sensitivity


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_no_rating_moves_rating_sums_further(scale: Scale, data: st.DataObject) -> None:
    pair: Pair = data.draw(pairs_on(scale, ITEMS))
    sums = RatingSums(scale)
    after, before = (
        sums.measure(ratings_of(p, ITEMS, scale)) for p in (pair.with_it, pair.without)
    )
    for noise in Noise:
        assert stays_within(noise, length(noise, after - before), sums.sensitivity)


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_residual_sums_follow_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, levels = data.draw(people_on(scale, ITEMS)), data.draw(levels_on(scale, ITEMS))
    centring = HuberCentring(scale.range / 8, data.draw(st.sampled_from([1, 20])))
    statistic = ResidualSums(centring, levels, Noise.GAUSSIAN, ITEMS)
    measured = statistic.measure(ratings_of(people, ITEMS, scale))
    assert measured.dtype == np.int64
    assert measured.tolist() == slow_residual_sums(centring, levels, people)


@every_scale
@every_noise
@settings(max_examples=25)
@given(data=st.data())
def test_no_rating_moves_residual_sums_further(
    scale: Scale, noise: Noise, data: st.DataObject
) -> None:
    pair: Pair = data.draw(pairs_on(scale, ITEMS))
    levels = data.draw(levels_on(scale, ITEMS))
    clamp = data.draw(st.sampled_from([scale.range / 8, scale.range, 2.5 / GRID]))
    fictitious = data.draw(st.sampled_from([1, 2, 20]))
    spread = scale.range + float(np.ptp(levels.effects))
    for centring in (
        HuberCentring(clamp, fictitious),
        PaperCentring(clamp, fictitious, spread),
    ):
        statistic = ResidualSums(centring, levels, noise, ITEMS)
        after, before = (
            statistic.measure(ratings_of(p, ITEMS, scale)) for p in (pair.with_it, pair.without)
        )
        assert stays_within(noise, length(noise, after - before), statistic.sensitivity)


def movement(centring: HuberCentring, x: Ints, new: int, noise: Noise) -> tuple[Fraction, float]:
    """What one more rating does to somebody with these x, and what is said about it."""
    items = len(x) + 1
    statistic = ResidualSums(centring, levels_that_leave(np.append(x, new), items), noise, items)
    after = statistic.measure(threes(np.arange(items), items))
    before = statistic.measure(threes(np.arange(items - 1), items))
    return length(noise, after - before), statistic.sensitivity


@every_noise
@pytest.mark.parametrize("old", [0, 1, 2, 3, 20, 100, 1000, 3_705, 17_769])
def test_worst_cases_of_residual_sums_stay_within_the_sensitivity(noise: Noise, old: int) -> None:
    centring = HuberCentring(0.5, 20)
    edge = edge_of(centring, old)
    signs = np.where(np.arange(old) % 2, 1, -1)
    for x in (np.full(old, edge), np.full(old, FAR), np.full(old, -FAR), signs * FAR, signs * edge):
        for new in (FAR, -FAR):
            moved, bound = movement(centring, x, new, noise)
            assert stays_within(noise, moved, bound)


def test_the_sensitivities_of_residual_sums_are_reached() -> None:
    """L2 by beta old ratings on the edge; L1 by many, which fall by B together."""
    centring = HuberCentring(0.5, 20)
    for noise, old in ((Noise.GAUSSIAN, 20), (Noise.LAPLACE, 17_769)):
        x = np.full(old, edge_of(centring, old))
        assert share_of(noise, *movement(centring, x, FAR, noise)) > 0.997


def test_the_sensitivity_is_the_stated_formula() -> None:
    """B sqrt(1 + 1/(4 beta)) and 2B, plus the grid: sqrt(c) h and c h."""
    levels = ItemLevels(3.0, np.zeros(101))
    l2 = ResidualSums(HuberCentring(0.5, 20), levels, Noise.GAUSSIAN, 101).sensitivity / GRID
    l1 = ResidualSums(HuberCentring(0.5, 20), levels, Noise.LAPLACE, 101).sensitivity / GRID
    assert l2 == pytest.approx(math.hypot(0.5, 0.5 / math.sqrt(80) + 10 / GRID), rel=1e-12)
    assert l1 == pytest.approx(1 + 100 / GRID, rel=1e-12)


@every_scale
@given(data=st.data(), size=st.integers(1, 9), threads=st.integers(1, 4))
@settings(max_examples=15)
def test_sums_do_not_depend_on_blocks_or_threads(
    scale: Scale, data: st.DataObject, size: int, threads: int
) -> None:
    ratings = ratings_of(data.draw(people_on(scale, ITEMS, 8)), ITEMS, scale)
    residual = ResidualSums(
        HuberCentring(0.5, 20), data.draw(levels_on(scale, ITEMS)), Noise.GAUSSIAN, ITEMS
    )
    whole = [statistic.measure(ratings).tolist() for statistic in (RatingSums(scale), residual)]
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, size, threads)
        cut = [statistic.measure(ratings).tolist() for statistic in (RatingSums(scale), residual)]
    assert cut == whole


@every_scale
@given(data=st.data())
@settings(max_examples=15)
def test_nobody_changes_what_others_add(scale: Scale, data: st.DataObject) -> None:
    people, levels = data.draw(people_on(scale, ITEMS, 5)), data.draw(levels_on(scale, ITEMS))
    residual = ResidualSums(HuberCentring(0.5, 20), levels, Noise.LAPLACE, ITEMS)
    for statistic in (RatingSums(scale), residual):
        alone = [statistic.measure(ratings_of([p], ITEMS, scale)) for p in people]
        together = statistic.measure(ratings_of(people, ITEMS, scale))
        assert together.tolist() == sum(alone, np.zeros(ITEMS, np.int64)).tolist()


def test_nobody_or_two_items_only() -> None:
    scale = SCALES["five stars"]
    levels = ItemLevels(3.0, np.zeros(2))
    residual = ResidualSums(HuberCentring(0.5, 1), levels, Noise.GAUSSIAN, 2)
    some: tuple[list[Person], ...] = ([], [{}], [{}, {}])
    for people in some:
        nothing = ratings_of(people, 2, scale)
        assert RatingSums(scale).measure(nothing).tolist() == [0, 0]
        assert residual.measure(nothing).tolist() == [0, 0]
    # x = 2 and -2: by symmetry b = 0, and both are at the clamp.
    both = ratings_of([{0: 5.0, 1: 1.0}], 2, scale)
    assert residual.measure(both).tolist() == [GRID // 2, -GRID // 2]
    assert RatingSums(scale).measure(both).tolist() == [4, -4]


def test_values_are_added_beside_their_items() -> None:
    block = ratings_of([{0: 1.0, 2: 1.0}, {2: 1.0}], 3, SCALES["five stars"])
    assert add_up(block, np.array([5, -7, 11])).tolist() == [5, 0, 4]
