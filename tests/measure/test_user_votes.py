"""Users' votes: exact integers, and no user whatever who adds more than the sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import InputError, Scale
from discreet.measure import ItemCounts
from discreet.measure.centring import ItemLevels
from discreet.measure.user_votes import GRID, UserMeans, UserVotes
from discreet.privacy import FIT_UNITS, Noise
from measure._neighbours import (
    SCALES,
    Person,
    length,
    levels_on,
    people_on,
    person_on,
    ratings_of,
    share_of,
    slow_user_residuals,
    stays_within,
    use_small_blocks,
)

ITEMS = 7
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
every_noise = pytest.mark.parametrize("noise", Noise)
SAFE = 1 - 2.0**-30


@st.composite
def votes_on(draw: st.DrawFn, scale: Scale) -> UserVotes:
    """Any released numbers, and both rounds; items are worth the same, or not at all the same."""
    precisions = draw(st.lists(st.floats(0.01, 100), min_size=ITEMS, max_size=ITEMS))
    prior = draw(st.none() | st.floats(0.01, 100))
    noise, floor = draw(st.sampled_from(Noise)), draw(st.sampled_from([0.3, 0.01, 2.0]))
    worth = st.one_of(st.floats(0.05, 2), st.sampled_from([2e-9, 1.0, 9e8]))
    attention = draw(st.none() | st.lists(worth, min_size=ITEMS, max_size=ITEMS).map(np.array))
    levels = draw(levels_on(scale, ITEMS))
    return UserVotes(levels, np.array(precisions), prior, noise, floor, attention)


def slow_votes(votes: UserVotes, people: list[Person]) -> tuple[list[int], int]:
    """The definition, person by person."""
    sums, scales = [0] * ITEMS, 0
    for person in people:
        x = slow_user_residuals(votes, person)
        if not x:
            continue
        worth = {item: 1.0 if votes.attention is None else votes.attention[item] for item in x}
        weighted = {item: worth[item] * value for item, value in x.items()}
        number = slow_norm(votes.noise, [1.0] * len(x))
        size, own = (slow_norm(votes.noise, each.values()) for each in (worth, weighted))
        vote = (SAFE - len(x) * 2.0**-52) * GRID / max(own, votes.floor * size)
        scales += int(min(vote * number, SAFE * GRID / votes.floor))
        for item, value in weighted.items():
            sums[item] += int(value * vote)
    return sums, scales


def slow_norm(noise: Noise, vector: Iterable[float]) -> float:
    """L1 or L2, added up from left to right."""
    total = 0.0
    for value in vector:
        total += abs(value) if noise is Noise.LAPLACE else value * value
    return total if noise is Noise.LAPLACE else math.sqrt(total)


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_votes_follow_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, votes = data.draw(people_on(scale, ITEMS)), data.draw(votes_on(scale))
    measured, scales = votes.measure(ratings_of(people, ITEMS, scale))
    assert measured.dtype == np.int64
    assert (measured.tolist(), scales) == slow_votes(votes, people)


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_no_user_adds_more_than_the_sensitivity(scale: Scale, data: st.DataObject) -> None:
    people, votes = data.draw(people_on(scale, ITEMS, 2)), data.draw(votes_on(scale))
    extra = data.draw(person_on(scale, ITEMS))
    after, more = votes.measure(ratings_of([*people, extra], ITEMS, scale))
    before, scales = votes.measure(ratings_of(people, ITEMS, scale))
    assert stays_within(votes.noise, length(votes.noise, after - before), votes.sensitivity)
    assert 0 <= more - scales <= votes.scale_sensitivity


@every_noise
@pytest.mark.parametrize("rated", [1, 2, 3, 20, 1000, 17_770])
def test_extreme_users_stay_within_the_bounds_and_reach_them(noise: Noise, rated: int) -> None:
    """Corners, alternating signs, one large among many small, and next to nothing at all."""
    scale = SCALES["jokes"]
    rng = np.random.default_rng(5)
    kinds = {
        "corner": np.full(rated, 10.0),
        "signs": np.where(np.arange(rated) % 2, 10.0, -10.0),
        "one": np.where(np.arange(rated) == 0, 10.0, 1e-3),
        "any": rng.uniform(-10, 10, rated).astype(np.float32),
        "tiny": np.full(rated, 2.0**-149),
        "zero": np.zeros(rated),
    }
    votes = UserVotes(ItemLevels(0.0, np.zeros(rated)), np.ones(rated), None, noise, 0.3)
    reached, scales = {}, {}
    for kind, values in kinds.items():
        person = dict(enumerate(values.tolist()))
        measured, scale_sum = votes.measure(ratings_of([person], rated, scale))
        size = length(noise, measured)
        assert stays_within(noise, size, votes.sensitivity)
        assert 0 <= scale_sum <= votes.scale_sensitivity
        reached[kind] = share_of(noise, size, votes.sensitivity)
        scales[kind] = scale_sum / votes.scale_sensitivity
    assert reached["corner"] > 0.98 and reached["signs"] > 0.98
    assert scales["zero"] > 0.999_999 and reached["zero"] == 0


@every_noise
def test_the_float_margin_covers_many_ratings(noise: Noise) -> None:
    """The norm is summed in floats, in a row: its error grows with the number of ratings."""
    rng = np.random.default_rng(1)
    rated = 60_000
    values = rng.uniform(0.5, 1, rated).astype(np.float32).astype(np.float64)
    votes = UserVotes(ItemLevels(0.0, np.zeros(rated)), np.ones(rated), None, noise, 0.3)
    person = dict(enumerate(values.tolist()))
    measured, _ = votes.measure(ratings_of([person], rated, SCALES["jokes"]))
    size = length(noise, measured)
    assert stays_within(noise, size, votes.sensitivity)
    assert share_of(noise, size, votes.sensitivity) > 0.95


@every_noise
def test_items_that_are_worth_more_have_more_of_a_persons_say(noise: Noise) -> None:
    """Three residuals of 1, worth 1, 2 and 4: their votes are as 1 to 2 to 4, the length is 1."""
    worth = np.array([1.0, 2.0, 4.0])
    levels = ItemLevels(2.0, np.zeros(3))
    votes = UserVotes(levels, np.ones(3), None, noise, 0.3, worth)
    measured, scales = votes.measure(
        ratings_of([dict.fromkeys(range(3), 3.0)], 3, SCALES["five stars"])
    )
    whole = 7 if noise is Noise.LAPLACE else math.sqrt(21)
    number = 3 if noise is Noise.LAPLACE else math.sqrt(3)
    assert measured == pytest.approx(GRID * worth / whole, abs=1)
    assert scales == pytest.approx(GRID * number / whole, abs=1)


@every_noise
@pytest.mark.parametrize("rated", [1, 2, 20, 1000])
def test_attention_of_any_size_leaves_the_bounds_as_they_are(noise: Noise, rated: int) -> None:
    """Worth 1e-9 to 1e9, all tiny, or all huge: nobody's length passes 1, nor ||e|| w 1/f."""
    rng = np.random.default_rng(7)
    values = rng.choice([-10.0, -1e-3, 0.0, 3.0, 10.0], rated)
    values[0] = 10.0
    person = ratings_of([dict(enumerate(values.tolist()))], rated, SCALES["jokes"])
    levels = ItemLevels(0.0, np.zeros(rated))
    kinds = [10 ** rng.uniform(-8.9, 8.9, rated), np.full(rated, 2e-9), np.full(rated, 9e8)]
    for worth in kinds:
        for floor in (1e-3, 0.3, 50.0):
            votes = UserVotes(levels, np.ones(rated), None, noise, floor, worth)
            measured, scales = votes.measure(person)
            size = length(noise, measured)
            assert stays_within(noise, size, votes.sensitivity)
            assert 0 <= scales <= votes.scale_sensitivity
            if floor < 1:
                assert share_of(noise, size, votes.sensitivity) > 0.95


def test_equal_attention_changes_nothing() -> None:
    rng = np.random.default_rng(8)
    people = [{i: float(rng.integers(1, 6)) for i in range(ITEMS)} for _ in range(5)]
    ratings = ratings_of(people, ITEMS, SCALES["five stars"])
    plain = UserVotes(ItemLevels(3.2, np.zeros(ITEMS)), np.ones(ITEMS), 5.0, Noise.GAUSSIAN)
    before, _ = plain.measure(ratings)
    after, _ = replace(plain, attention=np.full(ITEMS, 4.0)).measure(ratings)
    assert after.tolist() == before.tolist()


@every_noise
def test_residuals_too_long_for_a_number_add_nothing(noise: Noise) -> None:
    """1e300 times an attention of 1e9 is no number any more."""
    scale = Scale(-1e300, 1e300, 2e300)
    levels = ItemLevels(0.0, np.zeros(3))
    votes = UserVotes(levels, np.ones(3), None, noise, 0.3, np.full(3, 9e8))
    measured, scales = votes.measure(ratings_of([{0: 1e300, 1: -1e300}], 3, scale))
    assert (measured.tolist(), scales) == ([0, 0, 0], 0)


@pytest.mark.parametrize(
    "told",
    [
        {"attention": np.array([1.0, 0.0])},
        {"attention": np.array([1.0, math.nan])},
        {"attention": np.array([1.0, math.inf])},
        {"floor": 0.0},
        {"floor": math.nan},
        {"precisions": np.array([1.0, math.nan])},
        {"precisions": np.array([1.0, -1.0])},
        {"prior": 0.0},
        {"prior": math.nan},
    ],
)
def test_numbers_that_prove_nothing_are_refused(told: dict[str, Any]) -> None:
    levels = ItemLevels(3.0, np.zeros(2))
    usual = UserVotes(levels, np.ones(2), 5.0, Noise.GAUSSIAN)
    with pytest.raises(InputError):
        replace(usual, **told)


@pytest.mark.parametrize("told", ["levels", "precisions", "attention"])
def test_every_item_has_its_numbers(told: str) -> None:
    """A kernel that reads past the end of an array would use whatever lies there."""
    long, short = np.ones(3), np.ones(2)
    usual = UserVotes(ItemLevels(3.0, long), long, None, Noise.GAUSSIAN, 0.3, long)
    change: dict[str, Any] = {told: ItemLevels(3.0, short) if told == "levels" else short}
    other = replace(usual, **change)
    ratings = ratings_of([{0: 1.0}], 3, SCALES["five stars"])
    usual.measure(ratings)
    with pytest.raises(InputError, match="3 items"):
        other.measure(ratings)


def slow_mean(scale: Scale, person: Person) -> int:
    """The mean of (r - mid)/half the range, on the grid, rounded down."""
    if not person:
        return 0
    if scale.step is None:
        each = [round(Fraction(v) / 10 * 4096) for v in person.values()]  # the jokes' -10..10
        return math.floor(Fraction(sum(each) * GRID, 4096 * len(each)))
    parts = round(scale.range / scale.step)
    each = [2 * round((v - scale.lo) / scale.step) - parts for v in person.values()]
    return math.floor(Fraction(sum(each) * GRID, parts * len(each)))


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_the_sum_of_means_is_each_persons_own(scale: Scale, data: st.DataObject) -> None:
    people = data.draw(people_on(scale, ITEMS, 5))
    measured = UserMeans(scale).measure(ratings_of(people, ITEMS, scale))
    means = [slow_mean(scale, person) for person in people]
    assert measured == sum(means)
    assert all(-GRID <= mean <= GRID for mean in means)


@every_scale
def test_the_sensitivity_of_the_sum_of_means_is_reached(scale: Scale) -> None:
    for value, mean in ((scale.lo, -GRID), (scale.hi, GRID)):
        person = dict.fromkeys(range(3), value)
        assert UserMeans(scale).measure(ratings_of([person], ITEMS, scale)) == mean


@every_scale
@settings(max_examples=15)
@given(data=st.data(), size=st.integers(1, 9), threads=st.integers(1, 4))
def test_votes_are_everybodys_own_whatever_the_blocks_and_threads(
    scale: Scale, data: st.DataObject, size: int, threads: int
) -> None:
    people, votes = data.draw(people_on(scale, ITEMS, 6)), data.draw(votes_on(scale))
    alone = [votes.measure(ratings_of([person], ITEMS, scale)) for person in people]
    sums = sum((own for own, _ in alone), np.zeros(ITEMS, np.int64)).tolist()
    scales = sum(own for _, own in alone)
    everybody = ratings_of(people, ITEMS, scale)
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, size, threads)
        measured, measured_scales = votes.measure(everybody)
    assert (measured.tolist(), measured_scales) == (sums, scales)
    whole, whole_scales = votes.measure(everybody)
    assert (whole.tolist(), whole_scales) == (sums, scales)


@every_noise
@settings(max_examples=20)
@given(data=st.data())
def test_counted_votes_are_everybodys_own(noise: Noise, data: st.DataObject) -> None:
    scale = SCALES["five stars"]
    people = data.draw(people_on(scale, ITEMS, 6))
    for unit in FIT_UNITS:
        counts = ItemCounts(unit, noise)
        alone = [counts.measure(ratings_of([person], ITEMS, scale)) for person in people]
        together = counts.measure(ratings_of(people, ITEMS, scale))
        assert together.tolist() == sum(alone, np.zeros(ITEMS, np.int64)).tolist()


def test_nobody_adds_nothing() -> None:
    scale = SCALES["five stars"]
    levels = ItemLevels(3.0, np.zeros(2))
    for prior in (None, 5.0):
        votes = UserVotes(levels, np.ones(2), prior, Noise.GAUSSIAN, 0.3)
        some: tuple[list[Person], ...] = ([], [{}], [{}, {}])
        for people in some:
            measured, scales = votes.measure(ratings_of(people, 2, scale))
            assert (measured.tolist(), scales) == ([0, 0], 0)
