"""How far one rating moves the co-moments: searches for more than the proof allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal, getcontext

import numpy as np
import pytest

from discreet.measure.centring import GRID, Centring, HuberCentring, ItemLevels, PaperCentring
from discreet.measure.covariance import RatingCovariance, Weights, _moved
from discreet.privacy import Noise
from discreet.ratings import Ratings
from measure._neighbours import (
    FAR,
    SCALES,
    Ints,
    edge_of,
    levels_that_leave,
    outer_movement,
    ratings_of,
    share_of,
    stays_within,
    threes,
)

every_noise = pytest.mark.parametrize("noise", Noise)
every_offset = pytest.mark.parametrize("offset", [0.0, 5.0])
HUBER = HuberCentring(0.5, 20)


@dataclass(frozen=True)
class Search:
    """One person's old ratings, all inside the head or not, and one more.

    The head is the first `size` items of a catalogue that has one item more.
    """

    noise: Noise
    offset: float
    centring: Centring
    size: int

    def statistic(self, levels: ItemLevels) -> RatingCovariance:
        head = np.arange(self.size, dtype=np.int32)
        return RatingCovariance(self.noise, head, self.centring, levels, self.offset)

    def shares(self, x: Ints, new: int, *, outside: bool = False) -> tuple[float, float]:
        """Movement of triangle and diagonal as parts of their bounds, checked without rounding."""
        old, added = np.arange(len(x)), self.size if outside else len(x)
        levels = levels_that_leave(x, self.size + 1)
        levels.effects[added] = -new / GRID
        statistic = self.statistic(levels)
        before = whole_vector(statistic, threes(old, self.size + 1))
        after = whole_vector(statistic, threes(np.append(old, added), self.size + 1))
        moved = outer_movement(self.noise, after, before)
        triangle, diagonal = statistic.sensitivities
        assert stays_within(self.noise, moved.triangle, triangle)
        assert stays_within(self.noise, moved.diagonal, diagonal)
        return (
            share_of(self.noise, moved.triangle, triangle),
            share_of(self.noise, moved.diagonal, diagonal),
        )


def whole_vector(statistic: RatingCovariance, person: Ratings) -> Ints:
    """What one person adds the outer product of."""
    inside = np.where(person.items < len(statistic.head), person.items, -1).astype(np.int32)
    made = statistic._quantised(person, inside)
    vector = np.zeros(len(statistic.head), dtype=np.int64)
    vector[inside[inside >= 0]] = made.values[inside >= 0]
    return vector


def worst_guesses(centring: HuberCentring, old: int) -> list[Ints]:
    """Corners of the clamp, alternating signs, and all on the edge from which they fall."""
    signs = np.where(np.arange(old) % 2, 1, -1)
    edge = edge_of(centring, old)
    half = np.where(np.arange(old) < old // 2, FAR, 0)
    return [np.full(old, FAR), np.full(old, edge), np.full(old, edge - 1), signs * FAR, half]


@every_noise
@every_offset
@pytest.mark.parametrize("old", [0, 1, 2, 3, 5, 10, 20, 100, 1000])
def test_corners_of_the_clamp_stay_within_the_bounds(noise: Noise, offset: float, old: int) -> None:
    search = Search(noise, offset, HUBER, old + 1)
    for x in worst_guesses(HUBER, old):
        for new in (FAR, -FAR):
            search.shares(x, new)
            search.shares(x, new, outside=True)


def aligned(search: Search, old: int, *, tries: int = 200) -> tuple[int, float]:
    """Equal old y just below B that rounding carries furthest, and how far in floats.

    With x on the edge or below it y = x - b is beta x/(c + beta), and falls by B/(c + beta). Its
    integer falls by one step more if y lies just above a half step and the new one just below.
    """
    statistic = search.statistic(ItemLevels(3.0, np.zeros(search.size + 1)))
    roots = statistic.weights.roots(np.arange(search.size + 1)) * (statistic.grid / GRID)
    reach = HUBER.reach
    y = np.unique(reach - np.linspace(0, 3 / roots[old], tries).astype(np.int64))
    fallen = np.floor(y - reach / (old + HUBER.fictitious))
    before, after = np.rint(y * roots[old]), np.rint(fallen * roots[old + 1])
    corner = np.rint(reach * roots[old + 1])
    pairs = old * (old - 1) / 2
    if search.noise is Noise.LAPLACE:
        moved = np.abs(after**2 - before**2) * pairs + after * corner * old
    else:
        moved = np.sqrt((after**2 - before**2) ** 2 * pairs + (after * corner) ** 2 * old)
    best = int(moved.argmax())
    # y = x - b and beta b = c y.
    return int(y[best]) + old * int(y[best]) // HUBER.fictitious, float(moved[best])


@pytest.mark.parametrize(
    ("noise", "offset", "size", "least"),
    [
        (Noise.GAUSSIAN, 0.0, 250, 0.98),
        (Noise.GAUSSIAN, 5.0, 250, 0.98),
        (Noise.GAUSSIAN, 5.0, 3_706, 0.98),
        (Noise.GAUSSIAN, 0.0, 17_770, 0.97),
        (Noise.GAUSSIAN, 5.0, 17_770, 0.97),
        (Noise.LAPLACE, 0.0, 250, 0.94),
        (Noise.LAPLACE, 5.0, 250, 0.94),
        (Noise.LAPLACE, 5.0, 3_706, 0.6),
    ],
)
def test_ratings_placed_where_rounding_flips_nearly_reach_the_bound(
    noise: Noise, offset: float, size: int, least: float
) -> None:
    """The bound is no emptier than this: somebody with all items gets so near."""
    search = Search(noise, offset, HUBER, size)
    counts = range(max(size - 60, 1), size)
    old, (x, _) = max(
        ((c, aligned(search, c)) for c in counts), key=lambda candidate: candidate[1][1]
    )
    assert search.shares(np.full(old, x), FAR)[0] > least


@every_noise
@pytest.mark.parametrize(
    "centring", [HUBER, HuberCentring(0.5, 1), HuberCentring(2.5 / GRID, 2)], ids=repr
)
@pytest.mark.parametrize("outside", [False, True])
def test_climbing_finds_no_way_over_the_bounds(
    noise: Noise, centring: HuberCentring, outside: bool
) -> None:
    """Random restarts, then small changes that are kept if they move the triangle further."""
    rng = np.random.default_rng(11)
    search = Search(noise, 5.0, centring, 8)
    for _ in range(6):
        x = rng.integers(-3 * centring.reach, 3 * centring.reach + 1, rng.integers(1, 8))
        best = 0.0
        for _ in range(80):
            width = max(2, int(centring.reach * 10 ** rng.uniform(-5, 0.3)))
            tried = x + rng.integers(-width, width + 1, len(x)) * (rng.random(len(x)) < 0.4)
            share, _ = search.shares(tried, FAR * (-1) ** int(rng.integers(2)), outside=outside)
            if share >= best:
                x, best = tried, share
        assert 0 <= best <= 1


@every_noise
@every_offset
@pytest.mark.parametrize("old", [1, 2, 20, 100, 1000])
def test_the_papers_centring_stays_within_the_bounds(noise: Noise, offset: float, old: int) -> None:
    """Old items at one end of the scale and the new one at the other, rated against it."""
    scale, clamp = SCALES["five stars"], 1.0
    for low, high, rated, last in (
        (5.0, 5.0, 5.0, 1.0),
        (4.8, 1.2, 1.0, 5.0),
        (1.0, 5.0, 5.0, 1.0),
    ):
        effects = np.array([low] * old + [high]) - 3.0
        centring = PaperCentring(clamp, 20, scale.range + float(np.ptp(effects)))
        head = np.arange(old + 1, dtype=np.int32)
        statistic = RatingCovariance(noise, head, centring, ItemLevels(3.0, effects), offset)
        ratings = dict.fromkeys(range(old), rated)
        before = whole_vector(statistic, ratings_of([ratings], old + 1, scale))
        after = whole_vector(statistic, ratings_of([ratings | {old: last}], old + 1, scale))
        moved = outer_movement(noise, after, before)
        assert stays_within(noise, moved.triangle, statistic.sensitivities[0])
        assert stays_within(noise, moved.diagonal, statistic.sensitivities[1])


@every_noise
@every_offset
@pytest.mark.parametrize("size", [1, 2, 3, 20, 100, 1000])
def test_the_bound_of_wgt_is_exactly_the_worst_case(noise: Noise, offset: float, size: int) -> None:
    """By trying every number of old ratings: a person's integers are all the same, z(c)."""
    search = Search(noise, offset, HUBER, size)
    statistic = search.statistic(ItemLevels(3.0, np.zeros(size + 1)))
    everything = np.arange(size, dtype=np.int32)
    counts = range(size) if size <= 20 else [0, 1, 2, size // 2, size - 2, size - 1]
    triangle, diagonal = statistic.vote_sensitivities
    shares = []
    for old in counts:
        before, after = (
            vote_of(statistic, c) * (everything < c).astype(np.int64) for c in (old, old + 1)
        )
        moved = outer_movement(noise, after, before)
        assert stays_within(noise, moved.triangle, triangle)
        assert stays_within(noise, moved.diagonal, diagonal)
        shares.append(share_of(noise, moved.triangle, triangle or 1.0))
    if 1 < size <= 20:
        assert max(shares) > 1 - 1e-9


def vote_of(statistic: RatingCovariance, count: int) -> int:
    """The vote of somebody with so many items of the head."""
    items = np.arange(count, dtype=np.int32)
    return int(statistic._quantised(threes(items, len(statistic.head) + 1), items).votes[0])


@every_noise
@every_offset
def test_root_weights_are_the_stated_powers(noise: Noise, offset: float) -> None:
    getcontext().prec = 40
    roots = Weights(noise, offset).roots(np.array([0, 1, 2, 3, 16, 1000, 17_770]))
    assert roots[0] == 0
    for c, root in zip((1, 2, 3, 16, 1000, 17_770), roots[1:], strict=True):
        weight = 1 / Decimal(c + int(offset))
        exact = weight.sqrt() if noise is Noise.LAPLACE else weight.sqrt().sqrt()
        assert abs(Decimal(float(root)) / exact - 1) < Decimal(2) ** -50


@every_noise
@every_offset
def test_bounds_grow_with_the_head_and_the_clamp_only_scales_them(
    noise: Noise, offset: float
) -> None:
    def bounds(size: int, clamp: float) -> tuple[float, ...]:
        search = Search(noise, offset, HuberCentring(clamp, 20), size)
        statistic = search.statistic(ItemLevels(3.0, np.zeros(size + 1)))
        return tuple(b / statistic.grid**2 / clamp**2 for b in statistic.sensitivities)

    small, large = bounds(50, 0.5), bounds(500, 0.5)
    assert all(a <= b for a, b in zip(small, large, strict=True))
    assert bounds(50, 2.0) == pytest.approx(small, rel=1e-3)


def test_the_l2_bound_is_close_to_its_floor_and_far_below_the_papers() -> None:
    """sqrt(c w'^2) B^2 below B^2 is the least any bound can be; the paper adds 2 sqrt 2 B^2."""
    search = Search(Noise.GAUSSIAN, 5.0, HUBER, 250)
    statistic = search.statistic(ItemLevels(3.0, np.zeros(251)))
    constant = statistic.sensitivities[0] / (statistic.grid * HUBER.clamp) ** 2
    assert math.sqrt(249 / 255) < constant < 1.02 < 1 + 2 * math.sqrt(2)


def test_coarse_weights_would_move_wgt_further_than_their_own_bound() -> None:
    """Why the grid's price is in the sensitivity: 1/sqrt(c) on a geometric grid has cliffs.

    sqrt 2 bounds the Frobenius norm if weights are exact. Rounded to powers of 2^(1/64) or
    2^(1/8), all c^2 old entries jump together at the grid's edges.
    """

    def most_moved(weight: np.ndarray) -> float:
        c = np.arange(1, len(weight))
        drop, new = weight[:-1] - weight[1:], weight[1:]
        return float(np.sqrt((drop * c) ** 2 + new**2 * (2 * c + 1)).max())

    exact = np.arange(1, 17_771) ** -0.5
    assert most_moved(exact) < math.sqrt(2)
    for steps, moved in ((64, 2.0), (8, 11.1)):
        coarse = 2.0 ** (np.rint(np.log2(exact) * steps) / steps)
        assert most_moved(coarse) == pytest.approx(moved, rel=0.05)


def test_coarse_ratings_would_move_cov_further_than_their_own_bound() -> None:
    """Rounded to 1/127, 17,700 ratings cross a half step together under a push of 1/4000."""
    old, clamp, spread, fictitious = 17_700, 1.0, 8.0, 400
    push = spread / (old + 1 + fictitious)
    c = np.arange(1, old + 1, dtype=float)
    moved = np.minimum(spread / (c + 1 + fictitious), 2 * clamp)
    block = 2 * clamp * c * moved / np.sqrt(c + 1) + clamp**2 * (np.sqrt(c) - c / np.sqrt(c + 1))
    without_grid = float(np.hypot(block, clamp**2 * np.sqrt((2 * c + 1) / (c + 1))).max())
    y = 126.5 / 127 + push / 2
    before, after = round(127 * y) / 127, round(127 * (y - push)) / 127
    assert (before, after) == (1.0, 126 / 127)
    weights = old**-0.5, (old + 1) ** -0.5
    old_block = old * abs(weights[1] * after**2 - weights[0] * before**2)
    new_row = weights[1] * math.sqrt(2 * old * after**2 + 1)
    assert without_grid == pytest.approx(1.48, abs=0.01)
    assert math.hypot(old_block, new_row) > 1.3 * without_grid


@every_noise
@pytest.mark.parametrize("old", [20, 100])
def test_an_item_outside_the_head_only_pushes_the_old_ones(noise: Noise, old: int) -> None:
    """Against the bound of this case alone, which the whole bound hides.

    L2 is worst for as many old ratings as fictitious ones, L1 for many more.
    """
    centring = HuberCentring(0.5, old if noise is Noise.GAUSSIAN else 1)
    search = Search(noise, 5.0, centring, old)
    statistic = search.statistic(ItemLevels(3.0, np.zeros(old + 1)))
    c, root = np.array([float(old)]), statistic.weights.roots([old])
    alone = _moved(noise, centring, statistic.grid, c, root, root, adds=False)
    parts = np.concatenate(alone) * statistic.grid**2 / statistic.sensitivities
    found = search.shares(np.full(old, edge_of(centring, old)), FAR, outside=True)
    assert (found <= parts).all()
    assert (found > 0.85 * parts).all()


@every_noise
def test_the_searches_would_notice_a_bound_that_is_too_small(noise: Noise) -> None:
    """A bound that leaves out the push of the old ratings is passed."""

    class Unmoved(HuberCentring):
        def movement(self, old: np.ndarray) -> np.ndarray:
            return np.zeros_like(old)

        total_movement = movement

    honest = Search(noise, 5.0, HUBER, 101)
    blind = replace(honest, centring=Unmoved(0.5, 20))
    x = np.full(100, edge_of(HUBER, 100))
    honest.shares(x, FAR)
    with pytest.raises(AssertionError):
        blind.shares(x, FAR)
