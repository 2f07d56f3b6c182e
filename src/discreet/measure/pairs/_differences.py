"""Slope One's sums: how much better people who rated both liked one item than the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure._source import head_entries
from discreet.measure._statistic import HeadEntries, Ints, PairStatistic, Part, Progress
from discreet.measure.pairs._bounds import PairWeights
from discreet.measure.pairs._kernels import count_inside, difference_lengths
from discreet.measure.pairs._sums import check_head, check_scale, make_table
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

# Parts into which a continuous scale is cut: finer than anybody rates.
_CONTINUOUS = 1 << 10
# Lengths are made this much shorter: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30

_Block = tuple[npt.NDArray[np.int16], Ints]


@dataclass(frozen=True, eq=False)
class DifferencePairs(PairStatistic):
    """D_jk and N_jk over users who rated both, with the same weights: D/N is a mean difference.

    Args:
        unit: Whom the release protects.
        noise: Which norm the sensitivities are in.
        head: Catalogue indices of the items, rising, chosen from released numbers.
        scale: Of the ratings.
        spread: Protecting users, the standard deviation of a person's ratings, as a part of the
            scale's width, from which on the person counts less; 1/2, the largest there is, lets
            everybody count by their number of ratings alone. Unused where ratings are protected.
    """

    unit: Unit
    noise: Noise
    head: npt.NDArray[np.int32]
    scale: Scale
    spread: float = 0.3

    def __post_init__(self) -> None:
        check_head(self.head)
        if self.scale.presence:
            raise InputError("presence has no differences between ratings; use CosinePairs")
        if not 0.01 <= self.spread <= 0.5:
            raise InputError(f"spread must be between 0.01 and 0.5, not {self.spread:g}")

    @property
    def grid(self) -> float:
        """Grid units of D in one unit of the scale at weight 1."""
        return self._top * self.weight_grid / self.scale.range

    @property
    def weight_grid(self) -> float:
        """Grid units of N in a weight of 1."""
        return float(self._weights.whole)

    @property
    def sensitivity(self) -> float:
        """Of the strict triangle D, in grid units."""
        bound = self._top * self._weights.difference_bound
        return min(bound, self._longest) if self._cuts else bound

    @property
    def weight_sensitivity(self) -> float:
        """Of the strict triangle N, in grid units."""
        return self._weights.count_bound

    @property
    def parts(self) -> tuple[Part, ...]:
        return (
            Part("pair differences", self.sensitivity, self.grid, is_triangle=True),
            Part("pair weights", self.weight_sensitivity, self.weight_grid, is_triangle=True),
        )

    def entries(self, ratings: Ratings) -> HeadEntries:
        """Integers of all people; private."""
        check_scale(ratings, self.scale)
        return head_entries(ratings, self.head, self._quantised, np.int64)

    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[Ints, ...]:
        """D and N over the items of the entries; private."""
        return make_table(entries).sums(2, progress)

    @property
    def _weights(self) -> PairWeights:
        return PairWeights(self.unit, self.noise, len(self.head))

    @property
    def _top(self) -> int:
        """The scale's width in steps: values are 0 to that."""
        levels = self.scale.levels
        return _CONTINUOUS if levels is None else len(levels) - 1

    @property
    def _cuts(self) -> bool:
        """Whether people count less for ratings that vary much."""
        return self.unit is Unit.USER and self.spread < 0.5

    @property
    def _longest(self) -> int:
        """What a user's differences may come to, if some count less."""
        return math.floor(2 * self.spread * self._top * self._weights.whole)

    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> _Block:
        values = self._values(block)
        counts = np.zeros(block.user_count, np.int64)
        count_inside(block.starts, inside, counts)
        weights = self._weights.table[counts]
        if self._cuts:
            lengths = np.empty(block.user_count)
            l1 = self.noise.kind.order == 1
            difference_lengths(block.starts, inside, values, l1, self._top, lengths)
            # Values are whole, so a length below 1 is 0: somebody who rates all alike.
            allowed = np.floor(_SAFE * self._longest / np.maximum(lengths, 0.5)).astype(np.int64)
            weights = np.where(lengths > 0, np.minimum(weights, allowed), weights)
        return values, weights

    def _values(self, block: Ratings) -> npt.NDArray[np.int16]:
        """Each rating's number of steps above the scale's lowest."""
        if self.scale.step is not None:
            return block.codes.astype(np.int16)
        above = (block.values() - self.scale.lo) / self.scale.range
        return np.rint(above * _CONTINUOUS).astype(np.int16)
