"""One private step of alternating least squares: tastes from all other ratings, times each rating.

See PROOF.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.domain.triangles import packed_size
from discreet.measure._source import Part, Statistic, over_blocks, sum_over_blocks
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.refinement._kernels import (
    MOMENT_GRID,
    ROW_GRID,
    add_rating_rows,
    add_sketches,
    add_user_rows,
)
from discreet.measure.user_votes import UserVotes
from discreet.ratings import Ratings

__all__ = [
    "MOMENT_GRID",
    "ROW_GRID",
    "Moments",
    "RatingRefinement",
    "UserMoments",
    "UserRefinement",
    "UserSketch",
]

# Cells of the grid over which bounds are maximised; each is bounded from above (PROOF.md).
_CELLS = 1500

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Movement:
    """Bounds in units where the clamp is 1 and tastes have length at most 1.

    Args:
        reach: Gamma, the length at which tastes are cut off.
        damping: c0; lambda^2 = ||y||^2 + c0.
        fictitious: beta of the centring.
        slack: How far all of a person's centred ratings together can move beyond the centring's
            own bound: the price of its grid, in L1.
    """

    reach: float
    damping: float
    fictitious: int
    slack: float = 0.0

    @property
    def least(self) -> float:
        """lambda'^2 is never below ||y||^2 plus this."""
        return self.damping - 1 - 2 * self.slack

    @property
    def most(self) -> float:
        """The most that old ratings move in L1."""
        return 1 + self.slack

    @property
    def of_length(self) -> float:
        """How far lambda moves."""
        return (1 + 2 * self.most) / (2 * math.sqrt(self.least))

    @property
    def of_rows(self) -> float:
        """L2 movement of all rows y_j z_(-j): the old ones, and the new one beside them.

        The largest over u = ||y||^2/(||y||^2 + least) and S, the L1 movement of the old ratings,
        both between 0 and 1: cell by cell, each term at its largest in the cell.
        """
        return _rows_bound(self)

    @property
    def of_moments(self) -> float:
        """L2 movement of (lambda - sqrt c0) z z^T, and so of its upper triangle."""
        return self.of_length + 2 * ((1 + self.most) / self.reach + self.of_length)

    def of_doubles(self, items: int, k: int) -> float:
        """The most that the rounding of doubles adds to any of these, before and after together."""
        size = items + k + 50 + math.sqrt(self.damping)
        return 2.0**-49 * size**2 * (1 + 1 / self.reach)


@lru_cache(maxsize=64)
def _rows_bound(movement: Movement) -> float:
    edges = np.linspace(0, 1, _CELLS + 1)
    low, high = edges[:-1], edges[1:]
    nearest_half = np.clip(0.5, low, high)
    # sqrt(x (1 - x)) is largest at 1/2, so in a cell at the point nearest to it.
    hump = np.sqrt(nearest_half * (1 - nearest_half))
    # All other terms rise with u and S: their largest in a cell is at its upper edge.
    moved = high + movement.slack
    own = movement.reach * (hump / math.sqrt(movement.fictitious) + movement.slack)
    push = np.outer(np.sqrt(high), 1 + moved)
    shrink = np.outer(hump, 1 + 2 * moved) * movement.reach / (2 * math.sqrt(movement.least))
    old = float((push + shrink + own).max())
    # The new rating's own row is at most reach long and lies beside the old ones: orthogonal parts.
    return math.hypot(old, movement.reach) / movement.reach


_Ints = npt.NDArray[np.int64]


class Moments(NamedTuple):
    """Exact integers; private.

    Attributes:
        rows: A row of k for each item: the sum of y_j z_(-j).
        moments: The upper triangle of the weighted sum of z z^T.
        weight: The sum of those weights.
    """

    rows: _Ints
    moments: _Ints
    weight: int

    def __repr__(self) -> str:
        return "Moments(private)"


class UserMoments(NamedTuple):
    """Exact integers; private.

    Attributes:
        rows: As in `Moments`, like the next two.
        moments: The triangle.
        weight: The weights.
        scales: The sum of ||e|| w.
    """

    rows: _Ints
    moments: _Ints
    weight: int
    scales: int

    def __repr__(self) -> str:
        return "UserMoments(private)"


@dataclass(frozen=True, eq=False)
class RatingRefinement(Statistic):
    """Where one rating is protected, with Gaussian noise; y comes from Huber centring.

    A person's tastes without record j are z_(-j) = clip((sum over l != j of F_l y_l)/lambda) of
    length at most Gamma, lambda^2 = ||y||^2 + c0 B^2, |y| <= B. Rows are in units of B Gamma,
    moments in units of B Gamma^2.

    Args:
        directions: F, released: a row of length at most 1 for each item.
        reach: Gamma.
        damping: c0.
        centring: How ratings are centred and clamped.
        levels: What was released of the items.
    """

    directions: _Floats
    reach: float = 1.4
    damping: float = 20.0
    centring: HuberCentring = field(kw_only=True)
    levels: ItemLevels = field(kw_only=True)

    def __post_init__(self) -> None:
        _check_directions(self.directions)
        _check_reach(self.reach)
        if not 2 <= self.damping < 1e6:
            raise InputError(f"damping must be 2 or more, not {self.damping:g}")
        if not self.movement.least >= 0.5:
            raise InputError("the clamp is too small for this many items: widen it, or damp more")

    @property
    def movement(self) -> Movement:
        """What one rating more moves, in units of B and Gamma.

        All old ratings together move by up to a step each beyond the centring's bound.
        """
        slack = len(self.directions) * self.centring.step / self.centring.clamp
        return Movement(self.reach, self.damping, self.centring.fictitious, slack)

    @property
    def sensitivity(self) -> float:
        """Of the rows, in grid units: every entry is rounded once."""
        movement = self.movement
        # Bounds of real numbers, then what doubles add, then the grid: rounding an entry to a whole
        # number moves it by less than 1, and all of them by less than the root of their number in
        # L2.
        moved = _UP * movement.of_rows + movement.of_doubles(*self.directions.shape)
        return moved * ROW_GRID + _UP * math.sqrt(self.directions.size)

    @property
    def moment_sensitivity(self) -> float:
        """Of the triangle of moments, in grid units."""
        movement = self.movement
        moved = _UP * movement.of_moments + movement.of_doubles(*self.directions.shape)
        # The triangle has k (k + 1)/2 entries, of which each is rounded once: below k in L2, since
        # the root of k (k + 1)/2 is at most k.
        return float(moved * MOMENT_GRID + self.directions.shape[1])

    @property
    def weight_sensitivity(self) -> float:
        """Of the moments' weight, in grid units."""
        movement = self.movement
        moved = _UP * movement.of_length + movement.of_doubles(*self.directions.shape)
        return moved * MOMENT_GRID + 1

    @property
    def parts(self) -> tuple[Part, ...]:
        """Rows come out in the unit of y."""
        return (
            Part("taste sums", self.sensitivity, ROW_GRID / self.centring.clamp),
            Part("taste moments", self.moment_sensitivity, MOMENT_GRID),
            Part("weight of the moments", self.weight_sensitivity, MOMENT_GRID),
        )

    def measure(self, ratings: Ratings) -> Moments:
        """The exact integers; private."""
        k = self.directions.shape[1]
        _check_items("directions", self.directions, ratings)

        def work(block: Ratings, _: int) -> Moments:
            rows, moments = _empty(len(block.catalog), k)
            y = self.centring.centred(block, self.levels) / (self.centring.clamp * GRID)
            weight = add_rating_rows(
                block.starts, block.items, y, self.directions, self.reach,
                self.damping, rows, moments,
            )  # fmt: skip
            return Moments(rows, moments, int(weight))

        parts = over_blocks(ratings, work, _block(ratings))
        return Moments(*_sum(parts, len(ratings.catalog), k, 1))


@dataclass(frozen=True, eq=False)
class UserRefinement(Statistic):
    """Where one user is protected: everybody's rows together have length at most 1.

    Args:
        residuals: What is left of a rating, how much items are worth, and the norm.
        factors: Released; the first column stands for the person's level.
        precisions: 1/variance of a rating of each item around level and tastes.
        reach: Where tastes are cut off.
    """

    residuals: UserVotes
    factors: _Floats
    precisions: _Floats
    reach: float

    def __post_init__(self) -> None:
        if not np.all(np.abs(self.factors) < 1e15):
            raise InputError("factors are finite numbers")
        if not np.all((self.precisions > 1e-30) & (self.precisions < 1e30)):
            raise InputError("precisions are finite numbers above 0")
        _check_reach(self.reach)

    @property
    def sensitivity(self) -> float:
        """Of the rows, in grid units."""
        return float(ROW_GRID)

    @property
    def moment_sensitivity(self) -> float:
        """Of the triangle of moments, and of their weight, in grid units."""
        return float(MOMENT_GRID)

    @property
    def scale_sensitivity(self) -> float:
        """Of the sum of ||e|| w, in grid units."""
        # w is at most 1/(floor ||e||), so that a user adds at most 1/floor to this sum.
        return float(math.ceil(ROW_GRID / self.residuals.floor))

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("taste sums", self.sensitivity, ROW_GRID),
            Part("taste moments", self.moment_sensitivity, MOMENT_GRID),
            Part("weight of the moments", self.moment_sensitivity, MOMENT_GRID),
            Part("users' scales", self.scale_sensitivity, ROW_GRID),
        )

    def measure(self, ratings: Ratings) -> UserMoments:
        """The exact integers; private."""
        k = self.factors.shape[1] - 1
        _check_items("factors", self.factors, ratings)
        _check_items("precisions", self.precisions, ratings)
        votes = self.residuals
        attention = votes.attention
        if attention is None:
            attention = np.ones(len(ratings.catalog))

        def work(block: Ratings, _: int) -> UserMoments:
            x, y = votes.distances(block), votes.residuals(block)
            rows, moments = _empty(len(block.catalog), k)
            scales, weight = add_user_rows(
                block.starts, block.items, x, y, self.factors, self.precisions, attention,
                votes.noise.kind.order == 1, votes.floor, self.reach, rows, moments,
            )  # fmt: skip
            return UserMoments(rows, moments, int(weight), int(scales))

        parts = over_blocks(ratings, work, _block(ratings))
        return UserMoments(*_sum(parts, len(ratings.catalog), k, 2))


@dataclass(frozen=True, eq=False)
class UserSketch(Statistic):
    """Along which combinations of directions ratings vary: sum over users of v v^T, |v| = 1.

    v goes along the sum of y_j F_j over a user's ratings. Released is the upper triangle, entries
    beside the diagonal times root 2, so that everybody's has length 1; for Gaussian noise.

    Args:
        residuals: What is left of a rating.
        directions: F, released: a row for each item.
    """

    residuals: UserVotes
    directions: _Floats

    def __post_init__(self) -> None:
        if self.residuals.noise.kind.order != 2:
            raise InputError("a sketch is bounded in L2: it takes Gaussian noise")
        if self.directions.shape[1] == 0 or not np.all(np.abs(self.directions) < 1e15):
            raise InputError("directions are finite numbers, in at least one column")

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("sketch of tastes", float(MOMENT_GRID), MOMENT_GRID),)

    def measure(self, ratings: Ratings) -> _Ints:
        """The exact integers; private."""
        k = self.directions.shape[1]
        _check_items("directions", self.directions, ratings)

        def work(block: Ratings, _: int) -> _Ints:
            sketch = np.zeros(packed_size(k), np.int64)
            y = self.residuals.residuals(block)
            add_sketches(block.starts, block.items, y, self.directions, sketch)
            return sketch

        return sum_over_blocks(ratings, work, packed_size(k))


# Ratings in a block. Every block has rows of its own to sum in: large blocks, few of them.
_BLOCK = 1 << 20
# Covers the rounding of the bounds themselves, and of the directions' lengths (PROOF.md).
_UP = 1 + 2.0**-30


def _block(ratings: Ratings) -> int:
    """How many ratings at a time: so many that the rows of all blocks take a few bytes a rating."""
    return max(_BLOCK, 8 * len(ratings.catalog))


def _check_directions(directions: _Floats) -> None:
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    if directions.shape[1] == 0 or not np.all(lengths <= 1):
        raise InputError("directions have at least one column and rows of length at most 1")


def _check_reach(reach: float) -> None:
    """Squares of anything near it are far from underflow."""
    if not 1e-9 < reach < 1e6:
        raise InputError(f"reach must be above 0, from 1e-9 to 1e6, not {reach:g}")


def _check_items(name: str, rows: _Floats, ratings: Ratings) -> None:
    """The kernels trust that every item has its row."""
    items = len(ratings.catalog)
    if len(rows) != items:
        raise InputError(f"{name} are one for each of {items:,} items, not {len(rows):,}")


def _empty(items: int, k: int) -> tuple[_Ints, _Ints]:
    return np.zeros((items, k), np.int64), np.zeros(packed_size(k), np.int64)


def _sum(parts: Sequence[tuple[Any, ...]], items: int, k: int, numbers: int) -> list[Any]:
    """The blocks' rows, moments and `numbers` integers; their order does not matter."""
    rows, moments = _empty(items, k)
    for part in parts:
        rows += part[0]
        moments += part[1]
    return [rows, moments, *(sum(part[2 + n] for part in parts) for n in range(numbers))]
