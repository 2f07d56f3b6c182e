"""What the raters of two items say of both: Slope One's differences, the cosine. See PROOF.md."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.domain import InputError, Scale
from discreet.measure._source import (
    HeadEntries,
    Ints,
    PairStatistic,
    Part,
    Progress,
    check_head,
    count_inside,
    head_entries,
)
from discreet.measure.engines.local import weighted_values
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

__all__ = ["CosinePairs", "DifferencePairs"]

_Floats = npt.NDArray[np.float64]
_UP = 1 + 2.0**-40
"""Covers the rounding of the few float operations that a bound takes."""


@dataclass(frozen=True)
class PairWeights:
    """W(c), in integers: what a pair of somebody with c items of the matrix counts.

    Args:
        unit: Whom the release protects.
        noise: Which norm.
        size: How many items the matrix has.
    """

    unit: Unit
    noise: Noise
    size: int

    @property
    def whole(self) -> int:
        """G, the grid units in a weight of 1: enough for the smallest weight, that of c = size."""
        bits = self.size.bit_length()
        return 1 << (bits + 10 if self.noise is Noise.GAUSSIAN else 2 * bits + 4)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """W(c) for c = 0..size; somebody with one item counts as with two."""
        c = np.maximum(np.arange(self.size + 1), 2)
        if self.unit is Unit.USER:
            shared = (c * c // 4).astype(np.float64)
        else:
            shared = c - (0.75 if self.noise is Noise.GAUSSIAN else 1.0)
        power = np.sqrt(shared) if self.noise is Noise.GAUSSIAN else shared
        return np.floor(self.whole / power).astype(np.int64)

    @property
    def count_bound(self) -> float:
        """Of sums of W over pairs: every pair moves by as much as it counts."""
        w = self.table.astype(np.float64)
        if self.unit is Unit.USER:
            c = np.arange(self.size + 1, dtype=np.float64)
            return self._longest(w, c * (c - 1) / 2)
        c, drop, new = self._steps(w)
        return self._longest(drop, c * (c - 1) / 2, new, c)

    @property
    def difference_bound(self) -> float:
        """Of sums of W times a difference between -1 and 1 of two numbers, over pairs."""
        w = self.table.astype(np.float64)
        if self.unit is Unit.USER:
            counts = np.arange(self.size + 1)
            return self._longest(w, (counts * counts // 4).astype(np.float64))
        c, drop, new = self._steps(w)
        # t of the c old ratings lie at the other end from the new one: a parabola in t.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (new / drop) ** (2 if self.noise is Noise.GAUSSIAN else 1)
        top = np.where(drop > 0, np.minimum((c + ratio) / 2, c), c)
        sides = (np.floor(top), np.ceil(top))
        return max(self._longest(drop, t * (c - t), new, t) for t in sides)

    @property
    def square_bound(self) -> float:
        """Of sums of W over single items, where one rating is protected."""
        c, drop, new = self._steps(self.table.astype(np.float64))
        return self._longest(drop, c, new, np.ones_like(c))

    def _steps(self, w: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """For c = 0..size - 1 old ratings: c, by how much their weight drops, the new weight."""
        return np.arange(self.size, dtype=np.float64), np.abs(w[:-1] - w[1:]), w[1:]

    def _longest(self, *parts: _Floats) -> float:
        """The largest norm of a vector that holds each value so many times, over all c.

        Args:
            parts: Values and their numbers of times, in turn.
        """
        l2 = self.noise is Noise.GAUSSIAN
        total = np.zeros_like(parts[0])
        for value, times in zip(parts[::2], parts[1::2], strict=True):
            total += (value * value if l2 else value) * times
        most = float(total.max())
        return (math.sqrt(most) if l2 else most) * _UP


# Parts into which a continuous scale is cut: finer than anybody rates.
_CONTINUOUS = 1 << 10
# Lengths are made this much shorter: more than rounding can lengthen them (PROOF.md).
_SAFE = 1 - 2.0**-30

_Block = tuple[npt.NDArray[np.int16], Ints]


# The most items of a head: its triangle would take four tebibytes. Chosen for safety.
_MOST_ITEMS = 1 << 20


@dataclass(frozen=True, eq=False)
class _WeightedPairs(PairStatistic):
    """What both statistics take.

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
        if self.head.ndim != 1 or self.head.dtype != np.int32:
            raise InputError("the items of pairs are one-dimensional, of int32")
        if len(self.head) < 2:
            raise InputError(f"pairs need at least 2 items, not {len(self.head)}")
        if len(self.head) > _MOST_ITEMS:
            raise InputError(f"pairs are of at most {_MOST_ITEMS:,} items, not {len(self.head):,}")
        check_head(self.head)

    def entries(self, ratings: Ratings) -> HeadEntries:
        """Integers of all people; private."""
        if ratings.scale != self.scale:
            raise InputError(
                f"the statistic is for ratings on {self.scale}, not on {ratings.scale}"
            )
        return head_entries(ratings, self.head, self._quantised, np.int64)

    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[Ints, ...]:
        """The triangles over the items of the entries; private."""
        columns = entries.starts, entries.items, entries.values, entries.weights, entries.size
        return weighted_values(*columns, products=self.triangle_count == 1, progress=progress)

    @property
    def _weights(self) -> PairWeights:
        return PairWeights(self.unit, self.noise, len(self.head))

    @abc.abstractmethod
    def _quantised(self, block: Ratings, inside: npt.NDArray[np.int32]) -> _Block:
        """A value for each rating of a block, and a weight for each user; private."""


@dataclass(frozen=True, eq=False)
class DifferencePairs(_WeightedPairs):
    """D_jk and N_jk over users who rated both, with the same weights: D/N is a mean difference.

    Args:
        spread: Protecting users, the standard deviation of a person's ratings, as a part of the
            scale's width, from which on the person counts less; 1/2, the largest there is, lets
            everybody count by their number of ratings alone. Unused where ratings are protected.
    """

    spread: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale.presence:
            raise InputError("presence has no differences between ratings; use CosinePairs")
        if not 0.01 <= self.spread <= 0.5:
            raise InputError(f"spread must be between 0.01 and 0.5, not {self.spread:g}")

    @property
    def weight_grid(self) -> float:
        """Grid units of N in a weight of 1."""
        return float(self._weights.whole)

    @property
    def weight_sensitivity(self) -> float:
        """Of the strict triangle N, in grid units."""
        return self._weights.count_bound

    @property
    def parts(self) -> tuple[Part, ...]:
        grid = self._top * self.weight_grid / self.scale.range
        bound = self._top * self._weights.difference_bound
        bound = min(bound, self._longest) if self._cuts else bound
        return (
            Part("pair differences", bound, grid, is_triangle=True),
            Part("pair weights", self.weight_sensitivity, self.weight_grid, is_triangle=True),
        )

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
        weights = self._weights.table[count_inside(block.starts, inside)]
        if self._cuts:
            lengths = np.empty(block.user_count)
            l1 = self.noise.kind.order == 1
            _difference_lengths(block.starts, inside, values, l1, self._top, lengths)
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


# Steps from 0 to the largest rating, at most: products and their sums stay small integers.
_FINEST = 1 << 5


@dataclass(frozen=True, eq=False)
class CosinePairs(_WeightedPairs):
    """P_jk and Q_j with the same weights, so that P_jk^2 <= Q_j Q_k: a cosine, between -1 and 1.

    x is a rating divided by the scale's largest in size, or 1 for a record of presence.
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        grid = products = squares = float(self._most)  # a product of 1 at weight 1
        products /= 2 if self.noise.kind.order == 1 else math.sqrt(2)
        if self.unit is Unit.RATING:
            products = self._top**2 * self._weights.count_bound
            squares = self._top**2 * self._weights.square_bound
        return (
            Part("pair products", products, grid, is_triangle=True),
            Part("item squares", squares, grid),
        )

    def sum_items(self, entries: HeadEntries) -> tuple[Ints, ...]:
        """Q; private."""
        squares = np.zeros(entries.size, np.int64)
        _add_squares(entries.starts, entries.items, entries.values, entries.weights, squares)
        return (squares,)

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
            return values, self._weights.table[count_inside(block.starts, inside)]
        lengths = np.empty(block.user_count)
        _product_lengths(block.starts, inside, values, self.noise.kind.order == 1, lengths)
        # Values are whole, so a length below 1 is 0: somebody without ratings other than 0.
        scaled = np.floor(_SAFE * self._most / np.maximum(lengths, 0.5))
        return values, np.where(lengths > 0, scaled, 0).astype(np.int64)


@njit(cache=True, nogil=True)
def _add_squares(starts: Any, inside: Any, values: Any, weights: Any, squares: Any) -> None:
    """Add W times the square of its value to every item of the matrix."""
    for user in range(len(weights)):
        for n in range(starts[user], starts[user + 1]):
            if inside[n] >= 0:
                value = np.int64(values[n])
                squares[inside[n]] += weights[user] * value * value


@njit(cache=True, nogil=True)
def _difference_lengths(
    starts: Any, inside: Any, values: Any, l1: bool, top: int, lengths: Any
) -> None:
    """The norm of each user's differences over all pairs, values being 0 to `top`.

    L1: between two neighbouring levels lie (entries up to the lower one) times (the others) pairs.
    """
    levels = np.zeros(top + 1, np.int64)
    for user in range(len(lengths)):
        count, total, square = 0, np.int64(0), np.int64(0)
        levels[:] = 0
        for n in range(starts[user], starts[user + 1]):
            if inside[n] >= 0:
                value = np.int64(values[n])
                count, total, square = count + 1, total + value, square + value * value
                levels[value] += 1
        if l1:
            below, length = np.int64(0), np.int64(0)
            for level in range(top):
                below += levels[level]
                length += below * (count - below)
            lengths[user] = length
        else:
            lengths[user] = np.sqrt(np.float64(count * square - total * total))


@njit(cache=True, nogil=True)
def _product_lengths(starts: Any, inside: Any, values: Any, l1: bool, lengths: Any) -> None:
    """The larger of two norms: of each user's products over ordered pairs, and of their squares."""
    for user in range(len(lengths)):
        total, square, fourth = np.int64(0), np.int64(0), 0.0
        for n in range(starts[user], starts[user + 1]):
            if inside[n] >= 0:
                value = np.int64(values[n])
                total += abs(value)
                square += value * value
                fourth += np.float64(value) ** 4
        if l1:
            lengths[user] = max(np.float64(total) ** 2 - square, np.float64(square))
        else:
            lengths[user] = np.sqrt(max(np.float64(square) ** 2 - fourth, fourth))
