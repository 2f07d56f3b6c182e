"""How far one record moves the refinement: searches for more than the proof allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution

from discreet.domain import Scale
from discreet.measure.centring import GRID, HuberCentring
from discreet.measure.refinement import (
    ROW_GRID,
    Moments,
    Movement,
    RatingRefinement,
)
from discreet.privacy import Noise
from measure._neighbours import (
    FAR,
    SCALES,
    Ints,
    Pair,
    edge_of,
    length,
    levels_on,
    levels_that_leave,
    pairs_on,
    ratings_of,
    share_of,
    stays_within,
    threes,
)

Floats = npt.NDArray[np.float64]
HUBER = HuberCentring(0.4, 40)
ROWS, MOMENTS, WEIGHT = 0, 1, 2


class Booked(NamedTuple):
    """The sensitivities, which depend on public numbers only and take a while to compute."""

    rows: float
    moments: float
    weight: float

    @classmethod
    def of(cls, statistic: RatingRefinement) -> Booked:
        return cls(
            statistic.sensitivity, statistic.moment_sensitivity, statistic.weight_sensitivity
        )

    def shares(self, after: Moments, before: Moments) -> list[float]:
        """How far each moved as a part of what is booked, checked without rounding."""
        moved = (after.rows - before.rows).ravel(), after.moments - before.moments
        sizes = [length(Noise.GAUSSIAN, m) for m in (*moved, [after.weight - before.weight])]
        told = list(zip(sizes, self, strict=True))
        assert all(stays_within(Noise.GAUSSIAN, size, bound) for size, bound in told)
        return [share_of(Noise.GAUSSIAN, size, bound) for size, bound in told]


@dataclass
class Search:
    """One person's old ratings of items 0 to c - 1, and a new one of item c, the last there is."""

    centring: HuberCentring = HUBER
    reach: float = 1.4
    damping: float = 20.0
    booked: dict[tuple[int, ...], Booked] = field(default_factory=dict)

    def shares(self, x: Ints, new: int, directions: Floats) -> list[float]:
        items = len(x) + 1
        levels = levels_that_leave(np.append(x, new), items)
        statistic = RatingRefinement(
            directions, self.reach, self.damping, centring=self.centring, levels=levels
        )
        if directions.shape not in self.booked:
            self.booked[directions.shape] = Booked.of(statistic)
        before, after = (statistic.measure(threes(np.arange(c), items)) for c in (items - 1, items))
        return self.booked[directions.shape].shares(after, before)


def short(directions: Floats) -> Floats:
    """Cut off at length 1."""
    lengths = np.sqrt((directions**2).sum(axis=1))
    return np.asarray(directions / np.maximum(lengths * (1 + 1e-15), 1.0)[:, None])


def inwards(centring: HuberCentring, movers: int, fixed: int) -> tuple[Ints, Floats]:
    """Old ratings whose tastes one more rating and its push all move the same way, towards 0.

    `movers` fall together, half of them from B and half to -B, all with direction -1: their sum
    is 0, and their fall adds to the new item's +1. `fixed` ones at B, far away, hold the sum
    near -Gamma lambda: there nothing is clipped, and the new row is as long as can be.
    """
    reach, beta = centring.reach, centring.fictitious
    level = fixed * reach // beta  # beta b = sum of y
    fall = reach // (movers + beta) + 1
    x = np.full(movers + fixed, FAR)
    x[:movers:2], x[1:movers:2] = level + reach, level - reach + fall
    return x, np.append(np.full(movers + fixed, -1.0), 1.0)[:, None]


@pytest.mark.parametrize(
    ("reach", "movers", "least"),
    [
        (1.4, 3000, (0.96, 0.65)),
        (1.4, 300, (0.88, 0.48)),
        (5.0, 1500, (0.94, 0.37)),
        (0.5, 3000, (0.97, 0.75)),
    ],
)
def test_the_bounds_of_rows_and_moments_are_nearly_reached(
    reach: float, movers: int, least: tuple[float, float]
) -> None:
    """And no emptier than this: a push towards 0 from the edge of the clipping."""
    search, half = Search(reach=reach), reach**2 / 2
    edge = round(half + math.sqrt(half**2 + reach**2 * (movers + 20)))  # fixed = Gamma lambda
    found = []
    for fixed in range(edge - 3, edge + 1):
        x, directions = inwards(HUBER, movers, fixed)
        found.append(search.shares(x, FAR, directions))
    rows, moments, _ = np.max(found, axis=0)
    assert rows > least[0] and moments > least[1]


def test_the_bound_of_the_weight_is_no_emptier_than_this() -> None:
    """Seven ratings that all fall to -B: lambda grows by 1 + 2 S."""
    centring = HuberCentring(0.4, 1)
    x = np.full(7, -edge_of(centring, 7) + centring.reach)
    assert Search(centring).shares(x, FAR, np.zeros((8, 1)))[WEIGHT] > 0.7


@pytest.mark.parametrize("old", [0, 1, 2, 3, 20, 100, 1000])
@pytest.mark.parametrize("fictitious", [1, 40])
def test_corners_of_the_clamp_stay_within_the_bounds(old: int, fictitious: int) -> None:
    """All at the clamp, on its edge, or of both signs; directions along, against, and 0."""
    search = Search(HuberCentring(0.4, fictitious))
    signs = np.where(np.arange(old) % 2, 1, -1)
    edge = edge_of(search.centring, old)
    ways = [np.ones(old), signs, np.zeros(old), np.where(np.arange(old) < old / 2, 1, -0.5)]
    for x in (np.full(old, FAR), np.full(old, edge), np.full(old, edge - 1), signs * FAR):
        for way in ways:
            for last, new in ((1.0, FAR), (-1.0, FAR), (1.0, -FAR), (0.0, FAR)):
                search.shares(x, new, np.append(way, last)[:, None])


@pytest.mark.parametrize("old", [1, 2, 5, 20, 100, 300])
def test_climbing_finds_no_way_over_the_bounds(old: int) -> None:
    """Random restarts, then changes of ratings and directions that are kept if more is moved."""
    rng = np.random.default_rng(old)
    for restart, fictitious in enumerate((1, 40, 40)):
        search, target = Search(HuberCentring(0.4, fictitious)), restart % 3
        reach, k = search.centring.reach, 1 + restart % 2
        places = np.array([FAR, -FAR, edge_of(search.centring, old), 0, reach])
        x, F = rng.choice(places, old), short(rng.normal(size=(old + 1, k)))
        best = 0.0
        for _ in range(60):
            tried, turned, some = x.copy(), F.copy(), rng.random(old) < 0.3
            if rng.random() < 0.5:
                turned += rng.normal(size=F.shape) * 10 ** rng.uniform(-2, 0.5)
            elif rng.random() < 0.5:
                tried[some] = rng.choice(places)
            else:
                tried[some] += rng.integers(-reach, reach + 1)
            share = search.shares(tried, FAR, short(turned))[target]
            if share >= best:
                x, F, best = tried, short(turned), share
        assert 0 < best <= 1 or old == 1


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@settings(max_examples=15)
@given(data=st.data())
def test_no_rating_moves_the_refinement_further(scale: Scale, data: st.DataObject) -> None:
    items = 9
    pair: Pair = data.draw(pairs_on(scale, items))
    clamp = data.draw(st.sampled_from([scale.range / 8, scale.range, 20 / GRID]))
    numbers = st.sampled_from([-1.0, -0.6, 0.0, 0.6, 1.0])
    row = st.lists(numbers, min_size=2, max_size=2)
    statistic = RatingRefinement(
        short(np.array(data.draw(st.lists(row, min_size=items, max_size=items)))),
        data.draw(st.sampled_from([1.4, 0.05, 20.0])),
        data.draw(st.sampled_from([20.0, 3.0])),
        centring=HuberCentring(clamp, data.draw(st.sampled_from([1, 40]))),
        levels=data.draw(levels_on(scale, items)),
    )
    after, before = (
        statistic.measure(ratings_of(p, items, scale)) for p in (pair.with_it, pair.without)
    )
    Booked.of(statistic).shares(after, before)


def clipped(vectors: Floats, reach: float) -> Floats:
    lengths = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, reach))


class Heaps(NamedTuple):
    """Old ratings in heaps of alike ones, as real numbers: counts, y, their fall, directions.

    Many cases at a time, along the first axis; then heaps, then coordinates.
    """

    counts: Floats
    y: Floats
    fall: Floats
    directions: Floats
    last: Floats

    def moved(self, reach: float, damping: float) -> Floats:
        """How far rows, moments and lambda move when y_n = 1 is added: the definition."""
        n, y, F = self.counts, self.y, self.directions
        then = y - self.fall
        s, after = (((n * each)[..., None] * F).sum(axis=1) for each in (y, then))
        after += self.last
        scale = np.sqrt((n * y**2).sum(axis=1) + damping)
        grown = np.sqrt((n * then**2).sum(axis=1) + 1 + damping)
        z, turned = (
            clipped((total[:, None] - F * each[..., None]) / by[:, None, None], reach)
            for total, each, by in ((s, y, scale), (after, then, grown))
        )
        rows = (n * ((then[..., None] * turned - y[..., None] * z) ** 2).sum(axis=2)).sum(axis=1)
        rows += (clipped((after - self.last) / grown[:, None], reach) ** 2).sum(axis=1)
        old, new = (
            (by - math.sqrt(damping))[:, None, None] * (own[:, :, None] * own[:, None, :])
            for by, own in (
                (scale, clipped(s / scale[:, None], reach)),
                (grown, clipped(after / grown[:, None], reach)),
            )
        )
        places = np.triu_indices(F.shape[2])
        moments = np.sqrt(((new - old)[:, *places] ** 2).sum(axis=1))
        return np.array([np.sqrt(rows), moments, np.abs(grown - scale)])


def heaps_of(points: Floats, fictitious: int, most: float) -> Heaps:
    """Five numbers for each of four heaps, and two: everything that the centring allows.

    A heap is held at 1 or at -1 from far away, or falls by t as the level rises by
    t = 1/(movers + beta), which is what leaves sum of y = beta b in balance.
    """
    size, kind, y, angle, far = np.moveaxis(points[:, :20].reshape(-1, 5, 4), 1, 0)
    counts, moves = np.rint(most * size**2), kind > 2 / 3
    t = 1 / (np.where(moves, counts, 0).sum(axis=1) + fictitious)[:, None]
    held = np.where(kind < 1 / 3, 1.0, -1.0)
    y = np.where(moves, np.clip(2.6 * y - 1.3, t - 1, 1), held)
    turns = 2 * math.pi * np.column_stack([angle, points[:, 20]])
    F = np.stack([np.cos(turns), np.sin(turns)], axis=2)
    F *= np.minimum(1, 1.4 * np.column_stack([far, points[:, 21]]))[..., None]
    return Heaps(counts, y, np.where(moves, t, 0.0), F[:, :4], F[:, 4])


@pytest.mark.parametrize(
    ("reach", "damping", "fictitious", "least"),
    [
        (1.4, 20.0, 40, (0.75, 0.3, 0.38)),
        (1.4, 20.0, 1, (0.75, 0.3, 0.65)),
        (0.3, 2.5, 40, (0.7, 0.2, 0.15)),
        (5.0, 100.0, 10, (0.75, 0.2, 0.6)),
    ],
)
def test_no_choice_of_real_numbers_passes_the_formula(
    reach: float, damping: float, fictitious: int, least: tuple[float, float, float]
) -> None:
    """Evolution over counts, ratings, falls and directions, without a grid and its allowances."""
    movement = Movement(reach, damping, fictitious)
    bounds = np.array([movement.of_rows, movement.of_moments, movement.of_length])
    for target in (ROWS, MOMENTS, WEIGHT):

        def missed(points: Floats, target: int = target) -> Floats:
            moved = heaps_of(points.T, fictitious, 400).moved(reach, damping)
            assert (moved <= bounds[:, None]).all()
            return -moved[target] / bounds[target]

        found = differential_evolution(
            missed, [(0, 1)] * 22, maxiter=60, popsize=7, rng=3, polish=False,
            vectorized=True, updating="deferred",
        )  # fmt: skip
        assert -found.fun > least[target]


@pytest.mark.parametrize("fictitious", [1, 40])
@pytest.mark.parametrize("reach", [0.1, 1.4, 20.0])
def test_cells_are_never_below_the_maximum_and_close_to_it(fictitious: int, reach: float) -> None:
    """P at a million points, the maximum's surroundings among them."""
    movement = Movement(reach, 20.0, fictitious, 0.01)
    u = np.concatenate([np.linspace(0, 1, 1001), 1 - np.geomspace(1e-9, 0.5, 300)])[:, None]
    S, e = u.T, movement.slack
    root = np.sqrt(u * (1 - u) / movement.least)
    P = (1 + S + e) * np.sqrt(u) + reach * (1 + 2 * S + 2 * e) * root / 2
    P += reach * (np.sqrt(S * (1 - S) / fictitious) + e)
    largest = math.hypot(float(P.max()), reach) / reach
    assert largest <= movement.of_rows <= 1.002 * largest
    assert Movement(1.4, 20.0, 40, 3883 / GRID / 0.4).of_rows == pytest.approx(1.79, abs=0.01)


def test_doubles_are_off_by_less_than_is_booked_but_by_more_than_nothing() -> None:
    """A long sum that drifts: against sums without rounding, products with 1 being exact."""
    items, reach = 300_000, 1.0
    F = np.full(items, 0.37)
    F[items // 2 :: 2], F[items // 2 + 1 :: 2] = -0.37 * 1.5, -0.37 * 0.5
    statistic = RatingRefinement(
        F[:, None],
        reach,
        20.0,
        centring=HuberCentring(1.0, 10_000),
        levels=levels_that_leave(np.full(items, FAR), items),  # every y is 1
    )
    rows = np.zeros((items, 1), np.int64)
    rows += statistic.measure(threes(np.arange(items), items)).rows
    left = np.array([math.fsum([math.fsum(F), -value]) for value in F[:: items // 50]])
    exact = ROW_GRID * left / np.maximum(np.abs(left), reach * math.sqrt(items + 20.0))
    off = np.abs(rows[:: items // 50, 0] - exact)
    each = statistic.movement.of_doubles(items, 1) * ROW_GRID / (2 * math.sqrt(items))
    assert 0.6 < off.max() < 0.5 + each


def test_the_searches_would_notice_a_bound_that_is_too_small() -> None:
    """A bound that leaves out the push of the old ratings is passed.

    Without it S = 0, e = 0 and c' = c0 in PROOF.md.
    """
    honest = Search()
    x, F = inwards(HUBER, 300, 24)
    honest.shares(x, FAR, F)
    reach, u = 1.4, np.linspace(0, 1, 1001)
    moved = float((np.sqrt(u) + reach * np.sqrt(u * (1 - u) / 20.0) / 2).max())
    booked = honest.booked[F.shape]
    rows = math.hypot(moved, reach) / reach * ROW_GRID + math.sqrt(F.size)
    blind = booked._replace(rows=rows)
    with pytest.raises(AssertionError):
        replace(honest, booked={F.shape: blind}).shares(x, FAR, F)
