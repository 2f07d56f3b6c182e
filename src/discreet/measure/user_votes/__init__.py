"""Sums over users, where one user with all their ratings is protected. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._blocks import over_blocks
from discreet.measure._noise import Noise
from discreet.measure.centring import ItemLevels
from discreet.measure.item_sums import sum_of
from discreet.ratings import Ratings

GRID = 1 << 20

_SAFE = 1 - 2.0**-30
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UserVotes:
    """Sum over users of x_u w_u, each user's vector scaled to length at most 1.

    x is what the released levels leave of a rating, and after the first round the person's own
    level is taken off as well: any function of a user's own ratings may stand here, since the
    scaling alone bounds the influence. w_u = 1/max(||x_u||, f ||e_u||), in the norm of the noise.

    Args:
        levels: What was released of the items so far.
        precisions: 1/variance of a residual of each item, for the person's level.
        prior: 1/variance of people's levels; None leaves their level in.
        noise: Which norm.
        floor: f; a person whose residuals are smaller on average is not blown up any further.
    """

    levels: ItemLevels
    precisions: _Floats
    prior: float | None
    noise: Noise
    floor: float = 0.3

    def __post_init__(self) -> None:
        if not 1e-100 < self.floor < 1e100:
            raise InputError(f"floor must be above 0, not {self.floor:g}")

    grid = float(GRID)

    @property
    def sensitivity(self) -> float:
        """In grid units."""
        return float(GRID)

    @property
    def scale_sensitivity(self) -> float:
        """Of the sum of `||e_u|| w_u`, in grid units: no user's exceeds 1/f."""
        return float(np.ceil(GRID / self.floor))

    def measure(self, ratings: Ratings) -> tuple[npt.NDArray[np.int64], int]:
        """The exact sums and the exact sum of ||e_u|| w_u; private."""

        def work(block: Ratings, _: int) -> tuple[npt.NDArray[np.int64], int]:
            x = self.residuals(block)
            sums = np.zeros(len(block.catalog), dtype=np.int64)
            l1 = self.noise is Noise.LAPLACE
            return sums, _add_votes(block.starts, block.items, x, l1, self.floor, sums)

        parts = over_blocks(ratings, work)
        return sum_of([p[0] for p in parts], len(ratings.catalog)), sum(p[1] for p in parts)

    def residuals(self, block: Ratings) -> _Floats:
        """X of every rating; private."""
        x = block.values() - self.levels.global_mean - self.levels.effects[block.items]
        if self.prior is not None:
            _take_off_level(block.starts, block.items, x, self.precisions, self.prior)
        return x


@nb.njit(cache=True, nogil=True)
def _add_votes(starts, items, x, l1, floor, sums):  # type: ignore[no-untyped-def]
    """Add every user's scaled vector, rounded towards zero; returns the sum of ||e|| w."""
    scales = np.int64(0)
    for user in range(len(starts) - 1):
        begin, end = starts[user], starts[user + 1]
        if begin == end:
            continue
        length, size = 0.0, float(end - begin)
        for place in range(begin, end):
            length += abs(x[place]) if l1 else x[place] * x[place]
        if not l1:
            length, size = np.sqrt(length), np.sqrt(size)
        vote = _SAFE * GRID / max(length, floor * size)
        scales += np.int64(vote * size)
        for place in range(begin, end):
            sums[items[place]] += np.int64(x[place] * vote)
    return scales


@nb.njit(cache=True, nogil=True)
def _take_off_level(starts, items, x, precisions, prior) -> None:  # type: ignore[no-untyped-def]
    """Subtract each person's level: the posterior mean of b in x = b + noise."""
    for user in range(len(starts) - 1):
        total, weight = 0.0, prior
        for place in range(starts[user], starts[user + 1]):
            total += precisions[items[place]] * x[place]
            weight += precisions[items[place]]
        for place in range(starts[user], starts[user + 1]):
            x[place] -= total / weight
