"""Sums over everybody, wherever their ratings are: all that a fit asks of private data.

Every private number of a fit is a sum over people of whole numbers that depend on that person and
on earlier outputs alone. So it can be summed anywhere, part by part, in any order, and the result
is the same to the last bit.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, Scale
from discreet.ratings import Intake, Ratings

Ints = npt.NDArray[np.int64]
Measure = Callable[[Ratings], Any]
"""Sums over the people of some ratings: an integer, an int64 array, or several in a tuple or in a
dataclass. Other processes run it too, so it can be pickled: a statistic's method, or a function."""
Tell = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True, eq=False, repr=False)
class Inside:
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

    def within(self, *bands: range) -> Inside:
        """The same on the items of some bands of the head, which rise and do not overlap."""
        place = np.full(self.size + 1, -1, dtype=np.int32)  # the last is that of -1
        first = 0
        for band in bands:
            place[band.start : band.stop] = np.arange(first, first + len(band), dtype=np.int32)
            first += len(band)
        return Inside(self.starts, place[self.items], self.values, self.weights, first)


class PairStatistic(Protocol):
    """A statistic over pairs of items: packed triangles, which may be summed tile by tile.

    It can be pickled.
    """

    @property
    def head(self) -> npt.NDArray[np.int32]:
        """The items."""

    @property
    def triangle_count(self) -> int:
        """How many triangles `sum_pairs` returns."""

    def inside(self, ratings: Ratings) -> Inside:
        """People's whole numbers; they do not depend on anybody else's."""

    def sum_pairs(self, inside: Inside, progress: Tell | None = None) -> tuple[Ints, ...]:
        """Packed upper triangles with their diagonals, over the items that are inside."""


class Elsewhere(abc.ABC):
    """Ratings that other processes hold, everybody's in one piece; only sums come back.

    Attributes:
        scale: Of the ratings.
        catalog: Of the items.
        intake: How they were read and chosen.
    """

    scale: Scale
    catalog: Catalog
    intake: Intake = Intake()

    @abc.abstractmethod
    def total(self, measures: tuple[Measure, ...]) -> tuple[Any, ...]:
        """What each of some measures gives for all ratings together."""

    @abc.abstractmethod
    def triangles(self, statistic: PairStatistic) -> tuple[Ints, ...]:
        """What a statistic over pairs gives for all ratings together."""


Everybody = Ratings | Elsewhere
"""All whose ratings a fit measures: here, or elsewhere."""


def total(everybody: Everybody, measure: Measure) -> Any:
    """A sum over everybody; private."""
    return totals(everybody, measure)[0]


def totals(everybody: Everybody, *measures: Measure) -> tuple[Any, ...]:
    """Several sums over everybody, from looking at their ratings once; private."""
    if isinstance(everybody, Ratings):
        return tuple(measure(everybody) for measure in measures)
    return everybody.total(measures)


def triangles(
    everybody: Everybody, statistic: PairStatistic, progress: Tell | None = None
) -> tuple[Ints, ...]:
    """Sums over everybody for all pairs of a head; private."""
    if isinstance(everybody, Ratings):
        return statistic.sum_pairs(statistic.inside(everybody), progress)
    return everybody.triangles(statistic)


def count_users(ratings: Ratings) -> int:
    """How many people have rated anything; private."""
    return int(np.count_nonzero(np.diff(ratings.starts)))
