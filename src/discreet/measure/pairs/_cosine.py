"""The cosine's sums: products of two items' ratings, or of their presence, and squares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure._source import head_entries
from discreet.measure._statistic import HeadEntries, Ints, PairStatistic, Part, Progress
from discreet.measure.pairs._bounds import PairWeights
from discreet.measure.pairs._kernels import add_squares, count_inside, product_lengths
from discreet.measure.pairs._sums import check_head, check_scale, make_table
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Steps from 0 to the largest rating, at most: products and their sums stay small integers.
_FINEST = 1 << 5
# Lengths are made this much shorter: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30

_Block = tuple[npt.NDArray[np.int16], Ints]


@dataclass(frozen=True, eq=False)
class CosinePairs(PairStatistic):
    """P_jk and Q_j with the same weights, so that P_jk^2 <= Q_j Q_k: a cosine, between -1 and 1.

    x is a rating divided by the scale's largest in size, or 1 for a record of presence.

    Args:
        unit: Whom the release protects.
        noise: Which norm the sensitivities are in.
        head: Catalogue indices of the items, rising, chosen from released numbers.
        scale: Of the ratings.
    """

    unit: Unit
    noise: Noise
    head: npt.NDArray[np.int32]
    scale: Scale

    def __post_init__(self) -> None:
        check_head(self.head)

    @property
    def grid(self) -> float:
        """Grid units of P and of Q in a product of 1 at weight 1."""
        return float(self._most)

    @property
    def sensitivity(self) -> float:
        """Of the strict triangle P, in grid units."""
        if self.unit is Unit.RATING:
            return self._top**2 * self._weights.count_bound
        return self._most / (2 if self.noise.kind.order == 1 else math.sqrt(2))

    @property
    def square_sensitivity(self) -> float:
        """Of Q, in grid units."""
        if self.unit is Unit.RATING:
            return self._top**2 * self._weights.square_bound
        return float(self._most)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("pair products", self.sensitivity, self.grid, is_triangle=True),
            Part("item squares", self.square_sensitivity, self.grid),
        )

    def entries(self, ratings: Ratings) -> HeadEntries:
        """Integers of all people; private."""
        check_scale(ratings, self.scale)
        return head_entries(ratings, self.head, self._quantised, np.int64)

    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[Ints, ...]:
        """P over the items of the entries; private."""
        return make_table(entries).sums(1, progress)

    def sum_items(self, entries: HeadEntries) -> tuple[Ints, ...]:
        """Q; private."""
        squares = np.zeros(entries.size, np.int64)
        add_squares(entries.starts, entries.items, entries.values, entries.weights, squares)
        return (squares,)

    @property
    def _weights(self) -> PairWeights:
        return PairWeights(self.unit, self.noise, len(self.head))

    @property
    def _largest(self) -> float:
        return max(abs(self.scale.lo), abs(self.scale.hi))

    @property
    def _top(self) -> int:
        """Values are -top to top: the scale's own steps where 0 is one of them and they are few."""
        step = self.scale.step
        if step is None or abs(self.scale.lo / step - round(self.scale.lo / step)) > 1e-6:
            return _FINEST
        return min(round(self._largest / step), _FINEST)

    @property
    def _most(self) -> int:
        """What one user adds to one sum at most."""
        return self._top**2 * self._weights.whole

    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> _Block:
        values = np.rint(block.values() * (self._top / self._largest)).astype(np.int16)
        if self.unit is Unit.RATING:
            counts = np.zeros(block.user_count, np.int64)
            count_inside(block.starts, inside, counts)
            return values, self._weights.table[counts]
        lengths = np.empty(block.user_count)
        product_lengths(block.starts, inside, values, self.noise.kind.order == 1, lengths)
        # Values are whole, so a length below 1 is 0: somebody without ratings other than 0.
        scaled = np.floor(_SAFE * self._most / np.maximum(lengths, 0.5))
        return values, np.where(lengths > 0, scaled, 0).astype(np.int64)
