"""The refinement of records: integers that follow the definition, person by person."""

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
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.refinement import (
    MOMENT_GRID,
    ROW_GRID,
    Moments,
    RatingRefinement,
)
from measure._neighbours import (
    SCALES,
    Person,
    levels_on,
    people_on,
    ratings_of,
    slow_level,
    slow_residual,
    use_small_blocks,
)

ITEMS, K = 7, 3
STARS = SCALES["five stars"]
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
Floats = npt.NDArray[np.float64]


def directions_of(seed: int, items: int = ITEMS, k: int = K) -> Floats:
    """Rows of all lengths up to 1, one of them exactly 1 and one 0."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(items, k))
    rows *= (rng.random(items) / np.sqrt((rows**2).sum(axis=1)))[:, None]
    rows[0] = 0.0
    rows[1] = np.eye(k)[seed % k] * (-1) ** seed
    return np.asarray(rows)


@st.composite
def records_on(draw: st.DrawFn, scale: Scale) -> RatingRefinement:
    centring = HuberCentring(scale.range / draw(st.sampled_from([1, 8])), draw(st.integers(1, 40)))
    return RatingRefinement(
        directions_of(draw(st.integers(0, 99)), k=draw(st.integers(1, K))),
        draw(st.sampled_from([1.4, 0.01, 30.0])),
        draw(st.sampled_from([20.0, 2.5])),
        centring=centring,
        levels=draw(levels_on(scale, ITEMS)),
    )


def slow_rated(statistic: RatingRefinement, person: Person) -> dict[int, float]:
    """Y in units of the clamp, after the definition of centring."""
    centring = statistic.centring
    x = {item: slow_residual(statistic.levels, item, person[item]) for item in sorted(person)}
    b = slow_level(list(x.values()), centring.reach, centring.fictitious)
    unit = centring.clamp * GRID
    return {i: min(max(v - b, -centring.reach), centring.reach) / unit for i, v in x.items()}


def slow_records(statistic: RatingRefinement, people: Sequence[Person]) -> Moments:
    """The definition with Python's numbers, person by person."""
    F, k = statistic.directions.tolist(), statistic.directions.shape[1]
    rows, weight = np.zeros((len(F), k), np.int64), 0
    moments = np.zeros((k, k), np.int64)
    for person in people:
        y = slow_rated(statistic, person)
        if not y:
            continue
        total, square = [0.0] * k, statistic.damping
        for item, value in y.items():
            square += value * value
            total = [t + f * value for t, f in zip(total, F[item], strict=True)]
        scale = 1 / math.sqrt(square)
        for item, value in y.items():
            left = [t - f * value for t, f in zip(total, F[item], strict=True)]
            factor = value * scale / max(euclid(left) * scale, statistic.reach) * ROW_GRID
            rows[item] += [round(part * factor) for part in left]
        owned = math.sqrt(square) - math.sqrt(statistic.damping)
        weight += round(owned * MOMENT_GRID)
        cut = scale / max(euclid(total) * scale, statistic.reach)
        z = [t * cut for t in total]
        moments += [[round(owned * a * b * MOMENT_GRID) for b in z] for a in z]
    return Moments(rows, moments[np.triu_indices(k)], weight)


def euclid(vector: Sequence[float]) -> float:
    """The length, added up from left to right as the kernel does."""
    total = 0.0
    for part in vector:
        total += part * part
    return math.sqrt(total)


def same(one: Moments, other: Moments) -> bool:
    """Whether all integers agree."""
    alike = np.array_equal(one.rows, other.rows) and np.array_equal(one.moments, other.moments)
    return alike and one.weight == other.weight


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_ratings_are_refined_by_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, statistic = data.draw(people_on(scale, ITEMS)), data.draw(records_on(scale))
    measured = statistic.measure(ratings_of(people, ITEMS, scale))
    assert measured.rows.dtype == measured.moments.dtype == np.int64
    assert same(measured, slow_records(statistic, people))


def test_two_ratings_by_hand() -> None:
    """x = 2 and -2, so b = 0 and y = B, -B: each row holds the other's direction, divided."""
    levels = ItemLevels(3.0, np.zeros(2))
    F = np.array([[0.6, 0.8], [1.0, 0.0]])
    statistic = RatingRefinement(F, 1.5, 7.0, centring=HuberCentring(0.5, 3), levels=levels)
    measured = statistic.measure(ratings_of([{0: 5.0, 1: 1.0}], 2, STARS))
    # lambda^2 = 1 + 1 + 7; z_(-0) = -F_1/(3 Gamma), and y_0 = 1.
    expected = np.array([[-1.0, 0.0], [-0.6, -0.8]]) / 4.5
    assert measured.rows / ROW_GRID == pytest.approx(expected, abs=1e-9)
    z = np.array([-0.4, 0.8]) / 4.5
    owned = 3 - math.sqrt(7)
    assert measured.weight / MOMENT_GRID == pytest.approx(owned, abs=1e-7)
    triangle = owned * np.array([z[0] ** 2, z[0] * z[1], z[1] ** 2])
    assert measured.moments / MOMENT_GRID == pytest.approx(triangle, abs=1e-7)


@every_scale
def test_a_first_rating_has_no_others_to_speak_of_tastes(scale: Scale) -> None:
    levels = ItemLevels(scale.lo, np.zeros(ITEMS))
    centring = HuberCentring(scale.range / 8, 1)
    statistic = RatingRefinement(directions_of(1), centring=centring, levels=levels)
    measured = statistic.measure(ratings_of([{1: scale.hi}], ITEMS, scale))
    assert not measured.rows.any() and measured.weight > 0


@every_scale
@settings(max_examples=25)
@given(data=st.data(), size=st.integers(1, 9), threads=st.integers(1, 4))
def test_everybody_adds_their_own_whatever_the_blocks_and_threads(
    scale: Scale, data: st.DataObject, size: int, threads: int
) -> None:
    people, statistic = data.draw(people_on(scale, ITEMS, 6)), data.draw(records_on(scale))
    alone = [statistic.measure(ratings_of([person], ITEMS, scale)) for person in people]
    together = Moments(*refinement._sum(alone, ITEMS, statistic.directions.shape[1], 1))
    everybody = ratings_of(people, ITEMS, scale)
    assert same(statistic.measure(everybody), together)
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, size, threads)
        patch.setattr(refinement, "_BLOCK", size)
        assert same(statistic.measure(everybody), together)


def usual() -> RatingRefinement:
    levels = ItemLevels(3.0, np.zeros(ITEMS))
    return RatingRefinement(directions_of(2), centring=HuberCentring(0.5, 20), levels=levels)


def test_nobody_adds_nothing() -> None:
    some: tuple[list[Person], ...] = ([], [{}], [{}, {}])
    for people in some:
        measured = usual().measure(ratings_of(people, ITEMS, STARS))
        assert not measured.rows.any() and not measured.moments.any()
        assert (measured.weight, measured.rows.shape) == (0, (ITEMS, K))


@pytest.mark.parametrize(
    "told",
    [
        {"directions": np.full((ITEMS, 2), 0.8)},
        {"directions": np.full((ITEMS, 2), math.nan)},
        {"directions": np.zeros((ITEMS, 0))},
        {"reach": 0.0},
        {"reach": math.nan},
        {"damping": 1.0},
        {"damping": math.inf},
        {"centring": HuberCentring(0.5 / GRID, 1)},
    ],
)
def test_numbers_that_prove_nothing_are_refused(told: dict[str, Any]) -> None:
    """The last one: so small a clamp that the grid alone would move lambda below 0."""
    with pytest.raises(InputError):
        replace(usual(), **told)


def test_every_item_has_its_direction() -> None:
    """A kernel that reads past the end of an array would use whatever lies there."""
    ratings = ratings_of([{0: 1.0}], ITEMS, STARS)
    short = replace(usual(), directions=directions_of(2)[:-1])
    with pytest.raises(InputError, match="directions"):
        short.measure(ratings)
