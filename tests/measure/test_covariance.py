"""Covariance: exact integers, and no neighbour that moves them further than the sensitivity."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Scale
from discreet.measure.centring import GRID, HuberCentring, ItemLevels, PaperCentring
from discreet.measure.covariance import Covariance, RatingCovariance, UserCovariance
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Noise
from measure._neighbours import (
    SCALES,
    Pair,
    Person,
    length,
    levels_on,
    packed_movement,
    pairs_on,
    people_on,
    person_on,
    ratings_of,
    share_of,
    slow_level,
    slow_residual,
    slow_user_residuals,
    stays_within,
    use_small_blocks,
)

Sums = tuple[np.ndarray, ...]
ITEMS = 6
MOST = 32767
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
every_noise = pytest.mark.parametrize("noise", Noise)
heads = st.sets(st.integers(0, ITEMS - 1), min_size=1).map(
    lambda chosen: np.array(sorted(chosen), dtype=np.int32)
)


@st.composite
def rating_covariances(draw: st.DrawFn, scale: Scale) -> RatingCovariance:
    """Any head, centring, weight and released levels on the scale."""
    levels, clamp = draw(levels_on(scale, ITEMS)), draw(st.sampled_from([1 / 8, 1.0, 1e-6]))
    fictitious = draw(st.sampled_from([1, 2, 20]))
    spread = scale.range + float(np.ptp(levels.effects))
    centring = draw(
        st.sampled_from(
            [
                HuberCentring(clamp * scale.range, fictitious),
                PaperCentring(clamp * scale.range, fictitious, spread),
            ]
        )
    )
    offset, noise = draw(st.sampled_from([0.0, 0.5, 5.0])), draw(st.sampled_from(Noise))
    return RatingCovariance(noise, draw(heads), centring, levels, offset)


@st.composite
def user_covariances(draw: st.DrawFn, scale: Scale) -> UserCovariance:
    """Any head and released numbers."""
    noise, prior = draw(st.sampled_from(Noise)), draw(st.none() | st.floats(0.01, 100))
    precisions = np.array(draw(st.lists(st.floats(0.01, 100), min_size=ITEMS, max_size=ITEMS)))
    residuals = UserVotes(draw(levels_on(scale, ITEMS)), precisions, prior, noise, 0.3)
    return UserCovariance(noise, draw(heads), residuals)


def slow_rating_vector(statistic: RatingCovariance, person: Person) -> tuple[dict[int, int], int]:
    """A person's integers inside the head, and their vote."""
    centring = statistic.centring
    x = {i: slow_residual(statistic.levels, i, person[i]) for i in sorted(person)}
    if isinstance(centring, HuberCentring):
        b = slow_level(list(x.values()), centring.reach, centring.fictitious) if x else 0
    else:
        b = sum(x.values()) // (len(x) + centring.fictitious)
    head = statistic.head.tolist()
    c = sum(item in head for item in person)
    root = float(statistic.weights.roots(np.arange(len(head) + 1))[c])
    factor = root * (statistic.grid / GRID)
    values = {
        head.index(item): round(min(max(v - b, -centring.reach), centring.reach) * factor)
        for item, v in x.items()
        if item in head
    }
    return values, round(root * statistic.vote_grid)


def slow_user_vector(statistic: UserCovariance, person: Person) -> tuple[dict[int, int], int]:
    """A person's residuals and presence inside the head, scaled to length 32767 at most."""
    x = slow_user_residuals(statistic.residuals, person)
    head = statistic.head.tolist()
    inside = {head.index(item): v for item, v in x.items() if item in head}
    if not inside:
        return {}, 0
    if statistic.noise is Noise.LAPLACE:
        own, size = sum(abs(v) for v in inside.values()), float(len(inside))
    else:
        own = math.sqrt(sum(v * v for v in inside.values()))
        size = math.sqrt(len(inside))
    longest = (1 - 2.0**-30) * MOST
    factor = longest / own if own > 0 else 0.0
    return {item: int(v * factor) for item, v in inside.items()}, int(longest / size)


def slow_vector(statistic: Covariance, person: Person) -> tuple[dict[int, int], int]:
    if isinstance(statistic, RatingCovariance):
        return slow_rating_vector(statistic, person)
    assert isinstance(statistic, UserCovariance)
    return slow_user_vector(statistic, person)


def slow_moments(statistic: Covariance, people: list[Person]) -> tuple[list[int], list[int]]:
    """Sums of outer products with Python's integers, packed."""
    size = len(statistic.head)
    cov, wgt = np.zeros((2, size, size), dtype=object)
    for person in people:
        values, vote = slow_vector(statistic, person)
        for i, a in values.items():
            for j, b in values.items():
                cov[i, j] += a * b
                wgt[i, j] += vote * vote
    upper = np.triu_indices(size)
    return cov[upper].tolist(), wgt[upper].tolist()


def packed(moments: Sums) -> tuple[list[int], ...]:
    return tuple(part.tolist() for part in moments)


def every_covariance(scale: Scale) -> st.SearchStrategy[Covariance]:
    return st.one_of(rating_covariances(scale), user_covariances(scale))


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_moments_follow_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, statistic = data.draw(people_on(scale, ITEMS)), data.draw(every_covariance(scale))
    measured = statistic.measure(ratings_of(people, ITEMS, scale))
    assert packed(measured) == slow_moments(statistic, people)


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_no_rating_moves_the_moments_further(scale: Scale, data: st.DataObject) -> None:
    pair: Pair = data.draw(pairs_on(scale, ITEMS))
    statistic = data.draw(rating_covariances(scale))
    assert_moved_within(statistic, *both(statistic, scale, pair.with_it, pair.without))


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_no_user_moves_the_moments_further(scale: Scale, data: st.DataObject) -> None:
    people, extra = data.draw(people_on(scale, ITEMS, 2)), data.draw(person_on(scale, ITEMS))
    statistic = data.draw(user_covariances(scale))
    assert_moved_within(statistic, *both(statistic, scale, [*people, extra], people))


def both(statistic: Covariance, scale: Scale, *neighbours: list[Person]) -> tuple[Sums, ...]:
    return tuple(statistic.measure(ratings_of(people, ITEMS, scale)) for people in neighbours)


def assert_moved_within(statistic: Covariance, after: Sums, before: Sums) -> None:
    """Of Cov and of Wgt: the strict triangle and the diagonal."""
    noise, size = statistic.noise, len(statistic.head)
    for moved, bounds in (
        (packed_movement(noise, size, after[0] - before[0]), statistic.sensitivities),
        (packed_movement(noise, size, after[1] - before[1]), statistic.vote_sensitivities),
    ):
        assert stays_within(noise, moved.triangle, bounds[0])
        assert stays_within(noise, moved.diagonal, bounds[1])


@every_scale
@settings(max_examples=20)
@given(data=st.data(), size=st.integers(1, 9), threads=st.integers(1, 4))
def test_moments_are_everybodys_own_whatever_the_blocks_and_threads(
    scale: Scale, data: st.DataObject, size: int, threads: int
) -> None:
    people, statistic = data.draw(people_on(scale, ITEMS, 5)), data.draw(every_covariance(scale))
    alone = [packed(statistic.measure(ratings_of([p], ITEMS, scale))) for p in people]
    everybody = ratings_of(people, ITEMS, scale)
    whole = packed(statistic.measure(everybody))
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, size, threads)
        cut = packed(statistic.measure(everybody))
    assert cut == whole
    if alone:
        assert whole == tuple(np.sum(alone, axis=0, dtype=object).tolist())


def test_wgt_is_left_out_where_it_is_not_wanted() -> None:
    statistic = UserCovariance(
        Noise.GAUSSIAN,
        np.arange(2, dtype=np.int32),
        UserVotes(ItemLevels(3.0, np.zeros(2)), np.ones(2), None, Noise.GAUSSIAN, 0.3),
    )
    ratings = ratings_of([{0: 5.0, 1: 1.0}], 2, SCALES["five stars"])
    cov, _ = statistic.measure(ratings)
    (alone,) = dataclasses.replace(statistic, with_weights=False).measure(ratings)
    np.testing.assert_array_equal(alone, cov)


@every_noise
@pytest.mark.parametrize("people", [[], [{}], [{}, {}]], ids=["nobody", "one empty", "two empty"])
def test_nobody_adds_nothing(noise: Noise, people: list[Person]) -> None:
    levels, head = ItemLevels(3.0, np.zeros(2)), np.arange(2, dtype=np.int32)
    nothing = ratings_of(people, 2, SCALES["five stars"])
    for statistic in (
        RatingCovariance(noise, head, HuberCentring(0.5, 20), levels),
        UserCovariance(noise, head, UserVotes(levels, np.ones(2), 5.0, noise, 0.3)),
    ):
        assert packed(statistic.measure(nothing)) == ([0, 0, 0], [0, 0, 0])


@every_noise
@pytest.mark.parametrize("rated", [1, 2, 3, 20, 300])
@pytest.mark.parametrize("kind", ["level", "signs", "one", "none"])
def test_extreme_users_stay_within_the_bounds(noise: Noise, rated: int, kind: str) -> None:
    """Somebody with every item: all alike, alternating, one large residual, none at all."""
    scale = SCALES["jokes"]
    values = {
        "level": np.full(rated, 10.0),
        "signs": np.where(np.arange(rated) % 2, 10.0, -10.0),
        "one": np.where(np.arange(rated) == 0, 10.0, 2.0**-20),
        "none": np.zeros(rated),
    }[kind]
    residuals = UserVotes(ItemLevels(0.0, np.zeros(rated)), np.ones(rated), None, noise, 0.3)
    statistic = UserCovariance(noise, np.arange(rated, dtype=np.int32), residuals)
    measured = statistic.measure(ratings_of([dict(enumerate(values.tolist()))], rated, scale))
    cov, wgt = (packed_movement(noise, rated, part) for part in measured)
    for moved, bounds in ((cov, statistic.sensitivities), (wgt, statistic.vote_sensitivities)):
        assert stays_within(noise, moved.triangle, bounds[0])
        assert stays_within(noise, moved.diagonal, bounds[1])
    if kind == "none":
        assert not measured[0].any() and measured[1].all()
    elif kind == "signs" and rated == 300 and noise is Noise.GAUSSIAN:
        assert share_of(noise, cov.triangle, statistic.sensitivities[0]) > 0.99
    elif kind == "one":
        assert length(noise, measured[0][:1]) > 0.99 * length(noise, [MOST * MOST])
