"""Sums over ratings, item by item, where one rating is protected. See PROOF.md."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure._source import Part, Statistic, sum_over_blocks
from discreet.measure.centring import GRID, Centring, ItemLevels
from discreet.measure.item_counts import ItemCounts
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Grid units in half the range of a continuous scale: finer than anybody rates.
_CONTINUOUS = 1 << 12

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RatingSums(Statistic):
    """MSum_i = sum over ratings of i of (r - mid), in exact units of the scale.

    Args:
        scale: Public.
    """

    scale: Scale

    @property
    def reach(self) -> int:
        """The largest |r - mid| in grid units: half steps, or 1/4096 of half a continuous range."""
        levels = self.scale.levels
        return _CONTINUOUS if levels is None else len(levels) - 1

    @property
    def parts(self) -> tuple[Part, ...]:
        # L1 and L2 alike: one record moves one entry.
        return (Part("item sums", float(self.reach), self.reach / (self.scale.range / 2)),)

    def measure(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """The exact integers; private."""

        def work(block: Ratings, _: int) -> npt.NDArray[np.int64]:
            return add_up(block, self.distances(block))

        return sum_over_blocks(ratings, work, len(ratings.catalog))

    def distances(self, block: Ratings) -> npt.NDArray[np.int64]:
        """Each rating minus the middle of the scale, in grid units; private."""
        if self.scale.levels is not None:
            return 2 * block.codes.astype(np.int64) - self.reach
        shares = (block.values() - self.scale.mid) / (self.scale.range / 2)
        return np.clip(np.rint(shares * self.reach), -self.reach, self.reach).astype(np.int64)


@dataclass(frozen=True)
class RatingTotals(Statistic):
    """`RatingSums` and `ItemCounts` of one look at the ratings, and the sums over all items.

    Args:
        scale: Public.
        noise: Which noise it is for; the sensitivities are the same.
    """

    scale: Scale
    noise: Noise

    @property
    def parts(self) -> tuple[Part, ...]:
        (sums,), (counts,) = RatingSums(self.scale).parts, self._counts.parts
        return (
            Part("sum of all ratings", sums.sensitivity, sums.grid),
            Part("number of ratings", counts.sensitivity, counts.grid),
            sums,
            counts,
        )

    @property
    def _counts(self) -> ItemCounts:
        return ItemCounts(Unit.RATING, self.noise)

    def measure(self, ratings: Ratings) -> tuple[int, int, _Ints, _Ints]:
        """The exact integers; private."""
        sums, counts = RatingSums(self.scale).measure(ratings), self._counts.measure(ratings)
        return int(sums.sum()), int(counts.sum()), sums, counts


@dataclass(frozen=True, eq=False)
class ResidualSums(Statistic):
    """Sum over ratings of i of y, the rating centred on item and person.

    Args:
        centring: How.
        levels: What was released of the items so far.
        noise: Which norm the sensitivity is in.
        items: How many items there are, the most that one person can have rated.
    """

    centring: Centring
    levels: ItemLevels
    noise: Noise
    items: int

    @property
    def parts(self) -> tuple[Part, ...]:
        # The new rating's own entry, and how far it pushes the old ones.
        old = np.arange(self.items, dtype=np.float64)
        own, step = self.centring.clamp, self.centring.step
        if self.noise.kind.order == 1:
            moved = own + self.centring.total_movement(old) + old * step
        else:
            moved = np.hypot(own, self.centring.movement(old) + np.sqrt(old) * step)
        most = float(moved.max()) * GRID * (1 + 2.0**-40)  # far more than the floats can lose
        return (Part("centred item sums", most, float(GRID)),)

    def measure(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """The exact integers; private."""

        def work(block: Ratings, _: int) -> npt.NDArray[np.int64]:
            return add_up(block, self.centring.centred(block, self.levels))

        return sum_over_blocks(ratings, work, len(ratings.catalog))


def add_up(block: Ratings, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """One integer for each item: the sum of the values beside its ratings."""
    sums = np.zeros(len(block.catalog), dtype=np.int64)
    _add(block.items, values, sums)
    return sums


@nb.njit(cache=True, nogil=True)
def _add(items, values, sums) -> None:  # type: ignore[no-untyped-def]
    for place in range(len(items)):
        sums[items[place]] += values[place]
