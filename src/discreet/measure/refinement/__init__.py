"""One private step of alternating least squares: tastes from all other ratings, times each rating.

See PROOF.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._blocks import over_blocks
from discreet.measure._noise import Noise
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.refinement._bounds import Movement
from discreet.measure.refinement._kernels import (
    MOMENT_GRID,
    ROW_GRID,
    add_rating_rows,
    add_user_rows,
)
from discreet.measure.user_votes import UserVotes
from discreet.ratings import Ratings

__all__ = ["MOMENT_GRID", "ROW_GRID", "Moments", "RatingRefinement", "UserRefinement"]

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Exact integers; private.

    Attributes:
        rows: A row of k for each item: the sum of y_j z_(-j).
        moments: The upper triangle of the weighted sum of z z^T.
        weight: The sum of those weights.
        scales: For users, the sum of ||e|| w.
    """

    rows: _Ints
    moments: _Ints
    weight: int
    scales: int = 0


@dataclass(frozen=True, eq=False)
class RatingRefinement:
    """Where one rating is protected, with Gaussian noise.

    A person's tastes without rating j are z_(-j) = clip((sum over l != j of F_l y_l)/lambda) of
    length at most Gamma, lambda^2 = ||y||^2 + c0 B^2, y from Huber centring. Rows are in units of
    B Gamma, moments in units of B Gamma^2.

    Args:
        centring: How ratings are centred and clamped.
        levels: What was released of the items.
        directions: F, released: a row of length at most 1 for each item.
        reach: Gamma.
        damping: c0.
    """

    centring: HuberCentring
    levels: ItemLevels
    directions: _Floats
    reach: float = 1.4
    damping: float = 20.0

    def __post_init__(self) -> None:
        _check_directions(self.directions)
        if not 0 < self.reach < 1e6 or not 2 <= self.damping < 1e6:
            raise InputError("the refinement needs a reach above 0 and a damping of at least 2")

    @property
    def movement(self) -> Movement:
        """In L2, all c old ratings together move by up to sqrt(c) steps more, in L1 by c."""
        slack = len(self.directions) * self.centring.step / self.centring.clamp
        return Movement(self.reach, self.damping, self.centring.fictitious, slack)

    @property
    def sensitivity(self) -> float:
        """Of the rows, in grid units: every entry is rounded once."""
        return self.movement.of_rows * ROW_GRID + 1.01 * math.sqrt(self.directions.size)

    @property
    def moment_sensitivity(self) -> float:
        """Of the triangle of moments, in grid units."""
        return self.movement.of_moments * MOMENT_GRID + 1.01 * self.directions.shape[1]

    @property
    def weight_sensitivity(self) -> float:
        """Of the moments' weight, in grid units."""
        return self.movement.of_length * MOMENT_GRID + 2

    def measure(self, ratings: Ratings) -> Moments:
        """The exact integers; private."""
        k = self.directions.shape[1]

        def work(block: Ratings, _: int) -> Moments:
            y = self.centring.centred(block, self.levels) / (self.centring.clamp * GRID)
            rows, moments = _empty(len(block.catalog), k)
            weight = add_rating_rows(
                block.starts, block.items, y, self.directions, self.reach, self.damping,
                rows, moments,
            )  # fmt: skip
            return Moments(rows, moments, int(weight))

        return _sum(over_blocks(ratings, work, _BLOCK), len(ratings.catalog), k)


@dataclass(frozen=True, eq=False)
class UserRefinement:
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
        if not (np.all(np.isfinite(self.factors)) and np.all(np.abs(self.factors) < 1e6)):
            raise InputError("factors are finite numbers")
        if not (np.all(self.precisions > 1e-9) and np.all(self.precisions < 1e9)):
            raise InputError("precisions are above 0")
        if not 0 < self.reach < 1e6:
            raise InputError(f"reach must be above 0, not {self.reach:g}")

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
        return float(math.ceil(ROW_GRID / self.residuals.floor))

    def measure(self, ratings: Ratings) -> Moments:
        """The exact integers; private."""
        k = self.factors.shape[1] - 1
        votes = self.residuals
        attention = votes.attention
        if attention is None:
            attention = np.ones(len(ratings.catalog))

        def work(block: Ratings, _: int) -> Moments:
            x, y = votes.distances(block), votes.residuals(block)
            rows, moments = _empty(len(block.catalog), k)
            scales, weight = add_user_rows(
                block.starts, block.items, x, y, self.factors, self.precisions, attention,
                votes.noise is Noise.LAPLACE, votes.floor, self.reach, rows, moments,
            )  # fmt: skip
            return Moments(rows, moments, int(weight), int(scales))

        return _sum(over_blocks(ratings, work, _BLOCK), len(ratings.catalog), k)


_BLOCK = 1 << 20
"""Every block has rows of its own to sum in: large blocks, few of them."""


def _check_directions(directions: _Floats) -> None:
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    if directions.shape[1] == 0 or not np.all(lengths <= 1):
        raise InputError("directions have at least one column and rows of length at most 1")


def _empty(items: int, k: int) -> tuple[_Ints, _Ints]:
    return np.zeros((items, k), np.int64), np.zeros(k * (k + 1) // 2, np.int64)


def _sum(parts: list[Moments], items: int, k: int) -> Moments:
    """Integers: the order of the blocks does not matter."""
    rows, moments = _empty(items, k)
    for part in parts:
        rows += part.rows
        moments += part.moments
    weight, scales = sum(p.weight for p in parts), sum(p.scales for p in parts)
    return Moments(rows, moments, weight, scales)
