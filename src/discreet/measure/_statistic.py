"""What a statistic is: whole numbers, summed over people, that one person can only move so far.

A statistic consists of parts. Each part has a label, a sensitivity and a grid, which depend on
public choices alone, and its integers, which are private. The proof of every sensitivity lies in
PROOF.md beside the statistic.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.ratings import Ratings

Ints = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True)
class Part:
    """One table of integers, or one integer, that a statistic releases.

    Attributes:
        label: What it is: it names the spend in ledgers and guarantees.
        sensitivity: In grid units, in the norm of the noise that it was made for.
        grid: Grid units in one unit of what the part stands for.
        is_triangle: Whether it is the strict upper triangle of a symmetric matrix, packed with its
            diagonal, which is never published.
    """

    label: str
    sensitivity: float
    grid: float = 1.0
    is_triangle: bool = False


class PrivateSums(tuple[Any, ...]):
    """The integers of several parts, in their order; private, so there is no `repr` of them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"PrivateSums(private, {len(self)} parts)"


class Statistic(abc.ABC):
    """Sums over people of whole numbers that depend on that person and on public things alone.

    Other processes measure parts of the ratings too, so a statistic can be pickled.
    """

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """What it releases."""

    @abc.abstractmethod
    def measure(self, ratings: Ratings) -> Any:
        """The exact integers, private: one int64 array or one integer for each part.

        A tuple of them, in the order of the parts; a statistic with one part returns it bare.
        """


@dataclass(frozen=True, eq=False, repr=False)
class HeadEntries:
    """People's whole numbers on the items of a head; private, so there is no `repr` of them.

    Attributes:
        starts: Where each user's ratings begin, and the end.
        items: For each rating its item's place in the head, rising within a user, or -1.
        values: One for each rating.
        weights: One for each user.
        size: How many items the head has.
    """

    starts: Ints
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.int16]
    weights: npt.NDArray[Any]
    size: int

    def within(self, *bands: range) -> HeadEntries:
        """The same on the items of some bands of the head, which rise and do not overlap."""
        place = np.full(self.size + 1, -1, dtype=np.int32)  # the last is that of -1
        first = 0
        for band in bands:
            place[band.start : band.stop] = np.arange(first, first + len(band), dtype=np.int32)
            first += len(band)
        return HeadEntries(self.starts, place[self.items], self.values, self.weights, first)


class PairStatistic(Statistic):
    """A statistic over pairs of items: packed triangles, which may be summed tile by tile.

    Attributes:
        head: Catalogue indices of the items, rising, chosen from released numbers.
    """

    head: npt.NDArray[np.int32]

    @property
    def triangle_count(self) -> int:
        """How many triangles `sum_pairs` returns."""
        return sum(part.is_triangle for part in self.parts)

    @abc.abstractmethod
    def entries(self, ratings: Ratings) -> HeadEntries:
        """People's whole numbers; nobody's depend on anybody else's."""

    @abc.abstractmethod
    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[Ints, ...]:
        """Packed upper triangles with their diagonals, over the items of the entries."""

    def sum_items(self, entries: HeadEntries) -> tuple[Ints, ...]:
        """The parts that are no triangles, one number for each item of the entries; often none."""
        del entries
        return ()

    def measure(self, ratings: Ratings, progress: Progress | None = None) -> tuple[Ints, ...]:
        """The exact integers; private. `progress` hears of pairs done and pairs in all."""
        entries = self.entries(ratings)
        return PrivateSums((*self.sum_pairs(entries, progress), *self.sum_items(entries)))

    def measure_items(self, ratings: Ratings) -> tuple[Ints, ...]:
        """`sum_items` of some people's ratings; private."""
        return self.sum_items(self.entries(ratings))
