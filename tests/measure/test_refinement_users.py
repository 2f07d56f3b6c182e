"""The refinement of users: it follows the definition, and nobody adds more than is booked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import InputError, Scale
from discreet.measure import refinement
from discreet.measure.centring import ItemLevels
from discreet.measure.refinement import (
    MOMENT_GRID,
    ROW_GRID,
    UserMoments,
    UserRefinement,
    UserSketch,
)
from discreet.measure.refinement._kernels import _inverse
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Noise
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

ITEMS, K = 7, 3
STARS = SCALES["five stars"]
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
every_noise = pytest.mark.parametrize("noise", Noise)
Floats = npt.NDArray[np.float64]


@st.composite
def users_on(draw: st.DrawFn, scale: Scale, *, strange: bool) -> UserRefinement:
    """Any released numbers; strange ones are of sizes that lose all precision."""
    sizes = [0.0, 1e-200, 1e-9, 0.2, -1.0, 1e6, -9e14] if strange else [-0.5, 0.0, 0.1, 0.3]
    weights = [2e-30, 1e-9, 1.0, 1e9, 9e29] if strange else [0.1, 0.7, 3.0]
    worths = [2e-9, 1.0, 9e8] if strange else [0.2, 1.0, 3.0]
    many: dict[str, Any] = {"min_size": ITEMS, "max_size": ITEMS}
    attention = draw(st.none() | st.lists(st.sampled_from(worths), **many).map(np.array))
    prior = draw(st.none() | st.sampled_from([1e-12, 5.0, 1e12]))
    levels, noise = draw(levels_on(scale, ITEMS)), draw(st.sampled_from(Noise))
    floor = draw(st.sampled_from([1e-3, 0.3, 2.0]))
    k = draw(st.integers(1, K))
    row = st.lists(st.sampled_from(sizes), min_size=k + 1, max_size=k + 1)
    return UserRefinement(
        UserVotes(levels, np.ones(ITEMS), prior, noise, floor, attention),
        np.array(draw(st.lists(row, **many))),
        np.array(draw(st.lists(st.sampled_from(weights), **many))),
        draw(st.sampled_from([2e-9, 1.0, 9e5] if strange else [0.1, 1.0])),
    )


def slow_users(statistic: UserRefinement, people: Sequence[Person]) -> UserMoments:
    """The definition: tastes solved for anew without each rating in turn."""
    votes, k = statistic.residuals, statistic.factors.shape[1] - 1
    order = 1 if votes.noise is Noise.LAPLACE else 2
    rows, scales, weight = np.zeros((ITEMS, k)), 0, 0
    moments = np.zeros((k, k))
    for person in people:
        own = np.array(sorted(person), dtype=int)
        if not len(own):
            continue
        x = np.array([v for _, v in sorted(slow_user_residuals(bare(votes), person).items())])
        y = np.array([v for _, v in sorted(slow_user_residuals(votes, person).items())])
        worth = np.ones(ITEMS) if votes.attention is None else votes.attention
        a = worth[own]
        w = 1 / max(np.linalg.norm(a * y, order), votes.floor * np.linalg.norm(a, order))
        scales += int(ROW_GRID * min(len(own) ** (1 / order) * w, 1 / votes.floor))
        for place, item in enumerate(own):
            z = slow_tastes(statistic, np.delete(own, place), np.delete(x, place))
            z = z / max(float(np.linalg.norm(z, order)), statistic.reach)
            rows[item] += np.trunc(ROW_GRID * a[place] * y[place] * w * z)
        z = slow_tastes(statistic, own, x)
        z = z / max(float(np.linalg.norm(z, order)), statistic.reach)
        share = min(math.sqrt(len(own)) / 22, 1)
        weight += int(MOMENT_GRID * share)
        moments += np.trunc(MOMENT_GRID * share * np.outer(z, z))
    return UserMoments(
        rows.astype(np.int64), moments[np.triu_indices(k)].astype(int), weight, scales
    )


def bare(votes: UserVotes) -> UserVotes:
    return replace(votes, prior=None)


def slow_tastes(statistic: UserRefinement, own: npt.NDArray[Any], x: Floats) -> Floats:
    F, p = statistic.factors[own], statistic.precisions[own]
    A = np.eye(F.shape[1]) + (F.T * p) @ F
    return np.asarray(np.linalg.solve(A, F.T @ (p * x)))[1:]


@every_scale
@settings(max_examples=20)
@given(data=st.data())
def test_users_are_refined_by_the_definition(scale: Scale, data: st.DataObject) -> None:
    people = data.draw(people_on(scale, ITEMS))
    statistic = data.draw(users_on(scale, strange=False))
    measured = statistic.measure(ratings_of(people, ITEMS, scale))
    slow, most = slow_users(statistic, people), 4 * len(people)
    assert np.abs(measured.rows - slow.rows).max() <= most  # 2^-29 short, and rounded
    assert np.abs(measured.moments - slow.moments).max() <= most
    assert abs(measured.weight - slow.weight) <= most
    assert measured.scales == pytest.approx(slow.scales, abs=most, rel=2e-9)


@every_scale
@settings(max_examples=25)
@given(data=st.data(), size=st.integers(1, 9), threads=st.integers(1, 4), strange=st.booleans())
def test_everybody_adds_their_own_whatever_the_blocks_and_threads(
    scale: Scale, data: st.DataObject, size: int, threads: int, strange: bool
) -> None:
    people = data.draw(people_on(scale, ITEMS, 6))
    statistic = data.draw(users_on(scale, strange=strange))
    alone = [statistic.measure(ratings_of([person], ITEMS, scale)) for person in people]
    k = statistic.factors.shape[1] - 1
    together = told(UserMoments(*refinement._sum(alone, ITEMS, k, 2)))
    everybody = ratings_of(people, ITEMS, scale)
    assert told(statistic.measure(everybody)) == together
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, size, threads)
        patch.setattr(refinement, "_BLOCK", size)
        assert told(statistic.measure(everybody)) == together


def told(measured: UserMoments) -> tuple[Any, ...]:
    """All the integers, to compare."""
    return (
        measured.rows.tolist(),
        measured.moments.tolist(),
        measured.weight,
        measured.scales,
    )


def shares_of_user(statistic: UserRefinement, one: UserMoments) -> list[float]:
    """Rows, moments, their weight and scales as parts of what is booked; none is above it."""
    noise = statistic.residuals.noise
    assert one.weight >= 0 and one.scales >= 0
    told = [
        (one.rows.ravel(), statistic.sensitivity),
        (one.moments, statistic.moment_sensitivity),
        (np.array([one.weight]), statistic.moment_sensitivity),
        (np.array([one.scales]), statistic.scale_sensitivity),
    ]
    sizes = [(length(noise, values), bound) for values, bound in told]
    assert all(stays_within(noise, size, bound) for size, bound in sizes)
    return [share_of(noise, size, bound) for size, bound in sizes]


@every_scale
@settings(max_examples=60)
@given(data=st.data())
def test_no_user_however_strange_adds_more_than_is_booked(
    scale: Scale, data: st.DataObject
) -> None:
    person = data.draw(person_on(scale, ITEMS))
    statistic = data.draw(users_on(scale, strange=True))
    shares_of_user(statistic, statistic.measure(ratings_of([person], ITEMS, scale)))


@every_noise
@pytest.mark.parametrize("rated", [1, 2, 3, 20, 500, 3_000])
def test_extreme_users_stay_within_what_is_booked_and_reach_it(noise: Noise, rated: int) -> None:
    """Corners, alternating signs, one large among many small, and nothing at all."""
    rng = np.random.default_rng(3)
    kinds = {
        "corner": np.full(rated, 10.0),
        "signs": np.where(np.arange(rated) % 2, 10.0, -10.0),
        "one": np.where(np.arange(rated) == 0, 10.0, 1e-3),
        "any": rng.uniform(-10, 10, rated).astype(np.float32),
        "zero": np.zeros(rated),
    }
    worth = 10 ** rng.uniform(-1, 1, rated)
    votes = UserVotes(ItemLevels(0.0, np.zeros(rated)), np.ones(rated), None, noise, 0.3, worth)
    found = {}
    for kind, values in kinds.items():
        for size in (1e-3, 1.0, 1e7, 1e14):
            factors = rng.choice([-1.0, 1.0], (rated, 2)) * size
            statistic = UserRefinement(votes, factors, np.ones(rated), 1e-8)
            person = ratings_of([dict(enumerate(values.tolist()))], rated, SCALES["jokes"])
            found[kind, size] = shares_of_user(statistic, statistic.measure(person))
    _, moments, weight, _ = found["corner", 1.0]
    assert max(found[kind, 1.0][0] for kind in kinds) > 0.99 or rated == 1
    assert moments > 0.99 * min(math.sqrt(rated) / 22, 1) and weight <= 1
    plain = replace(statistic, residuals=replace(votes, attention=None))
    assert shares_of_user(plain, plain.measure(person))[3] > 0.999_999


@every_noise
@pytest.mark.parametrize("factor", [1e6, 9e14, 1e-200])
def test_nobodys_ratings_make_the_computation_fail(noise: Noise, factor: float) -> None:
    """I is lost beside such squares: the matrix is singular in doubles, and still no error."""
    votes = UserVotes(ItemLevels(3.0, np.zeros(4)), np.ones(4), 5.0, noise)
    for precision in (2e-30, 1.0, 1e9, 9e29):
        statistic = UserRefinement(votes, np.full((4, 4), factor), np.full(4, precision), 1.0)
        for person in ({0: 5.0}, {0: 5.0, 1: 2.0}, dict.fromkeys(range(4), 1.0)):
            shares_of_user(statistic, statistic.measure(ratings_of([person], 4, STARS)))


def usual(noise: Noise = Noise.GAUSSIAN) -> UserRefinement:
    votes = UserVotes(ItemLevels(3.0, np.zeros(ITEMS)), np.ones(ITEMS), 5.0, noise)
    return UserRefinement(votes, np.ones((ITEMS, K + 1)), np.ones(ITEMS), 1.0)


def test_nobody_adds_nothing() -> None:
    some: tuple[list[Person], ...] = ([], [{}], [{}, {}])
    for people in some:
        measured = usual().measure(ratings_of(people, ITEMS, STARS))
        assert not measured.rows.any() and not measured.moments.any()
        assert (measured.weight, measured.scales) == (0, 0)


def test_the_inverse_is_one() -> None:
    """And where I is lost beside the squares, it is still finite."""
    rng = np.random.default_rng(2)
    F = rng.normal(size=(40, 12))
    A = np.eye(12) + F.T @ F
    assert _inverse(np.tril(A)) == pytest.approx(np.linalg.inv(A), abs=1e-14)
    singular = np.full((3, 3), 1e21)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(singular)
    assert np.all(np.isfinite(_inverse(singular)))


NAN_FIRST = np.array([math.nan] + [1.0] * (ITEMS - 1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"factors": NAN_FIRST[:, None]},
        {"factors": np.full((ITEMS, 2), math.inf)},
        {"precisions": NAN_FIRST},
        {"precisions": np.zeros(ITEMS)},
        {"reach": 0.0},
        {"reach": 1e-200},
        {"reach": math.nan},
    ],
)
def test_numbers_that_prove_nothing_are_refused(wrong: dict[str, Any]) -> None:
    """A reach of 1e-200 among them: squares of tastes as small underflow, and their length is 0."""
    with pytest.raises(InputError):
        replace(usual(), **wrong)


@pytest.mark.parametrize("name", ["factors", "precisions"])
def test_every_item_has_its_row(name: str) -> None:
    """A kernel that reads past the end of an array would use whatever lies there."""
    ratings = ratings_of([{0: 1.0}], ITEMS, STARS)
    short = replace(usual(), **{name: getattr(usual(), name)[:-1]})
    with pytest.raises(InputError, match=name):
        short.measure(ratings)


@st.composite
def sketches_on(draw: st.DrawFn, scale: Scale, *, strange: bool) -> UserSketch:
    refined = draw(users_on(scale, strange=strange))
    votes = replace(refined.residuals, noise=Noise.GAUSSIAN)
    return UserSketch(votes, refined.factors)


@every_scale
@settings(max_examples=60)
@given(data=st.data(), strange=st.booleans())
def test_no_sketch_of_a_user_is_longer_than_is_booked(
    scale: Scale, data: st.DataObject, strange: bool
) -> None:
    person = data.draw(person_on(scale, ITEMS))
    statistic = data.draw(sketches_on(scale, strange=strange))
    (part,) = statistic.parts
    added = statistic.measure(ratings_of([person], ITEMS, scale))
    assert stays_within(Noise.GAUSSIAN, length(Noise.GAUSSIAN, added), part.sensitivity)


@settings(max_examples=20)
@given(data=st.data())
def test_sketches_follow_the_definition_and_reach_their_bound(data: st.DataObject) -> None:
    people = data.draw(people_on(STARS, ITEMS))
    statistic = data.draw(sketches_on(STARS, strange=False))
    k = statistic.directions.shape[1]
    expected = np.zeros((k, k))
    for person in people:
        own = sorted(person)
        y = slow_user_residuals(statistic.residuals, person)
        s = sum((y[item] * statistic.directions[item] for item in own), np.zeros(k))
        if np.linalg.norm(s) > 1e-9:
            v = s / np.linalg.norm(s)
            expected += np.outer(v, v) * np.where(np.eye(k), 1.0, math.sqrt(2))
        elif np.linalg.norm(s) > 0:
            return  # rounding decides the direction
    found = statistic.measure(ratings_of(people, ITEMS, STARS))
    assert found == pytest.approx(
        expected[np.triu_indices(k)] * MOMENT_GRID, abs=2 * max(len(people), 1)
    )


def test_a_sketch_takes_gaussian_noise() -> None:
    votes = UserVotes(ItemLevels(0.0, np.zeros(3)), np.ones(3), None, Noise.LAPLACE)
    with pytest.raises(InputError, match="Gaussian"):
        UserSketch(votes, np.ones((3, 1)))
