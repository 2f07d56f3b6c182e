"""What a statistic is, and where private ratings are: all that a method asks of private data.

A statistic is whole numbers, summed over people, that one person can only move so far. It consists
of parts. Each part has a label, a sensitivity and a grid, which depend on public choices alone, and
its integers, which are private. The proof of every sensitivity lies in PROOF.md beside the
statistic.

Since every private number of a fit is such a sum it can be summed anywhere, part by part, in any
order, and the result is the same to the last bit.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings import Intake, Ratings

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

    @property
    def sensitivity(self) -> float:
        """Of the first part, in grid units."""
        return self.parts[0].sensitivity

    @property
    def grid(self) -> float:
        """Grid units in one unit of the first part."""
        return self.parts[0].grid

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


Measure = Callable[[Ratings], Any]
"""Sums over the people of some ratings: an integer, an int64 array, or a tuple of them. Other
processes run it too, so it can be pickled: a statistic's method, or a function."""

# Ratings in a block: some 100 microseconds of work, so that threads share it evenly.
_BLOCK = 1 << 17
# Pairs, and bands of rows, up to which one thread sums a triangle: about 100 microseconds of work,
# which is what it takes to start others. Chosen by that measure; it does not change results.
_LITTLE, _FEW = 1 << 16, 8

Band = TypeVar("Band")
Result = TypeVar("Result")


class RemoteRatings(abc.ABC):
    """Ratings on disk or in other processes, each person's in one piece; only sums come back.

    Attributes:
        scale: Of the ratings.
        catalog: Of the items.
        intake: How they were read and chosen.
        has_times: Whether records say when they were made.
    """

    scale: Scale
    catalog: Catalog
    intake: Intake = Intake()
    has_times: bool = False

    @abc.abstractmethod
    def total(self, measures: tuple[Measure, ...]) -> tuple[Any, ...]:
        """What each of some measures gives for all ratings together."""

    @abc.abstractmethod
    def triangles(self, statistic: PairStatistic) -> tuple[Ints, ...]:
        """What `statistic.sum_pairs` gives for all ratings together."""


RatingsSource = Ratings | RemoteRatings
"""All the ratings of a fit: in memory, on disk, or on other machines."""


@dataclass(frozen=True)
class _MeasuredBetween:
    """A measure of the ratings of a time; other processes run it, so it can be pickled."""

    measure: Measure
    start: int
    end: int

    def __call__(self, ratings: Ratings) -> Any:
        return self.measure(ratings.between(self.start, self.end))


@dataclass(frozen=True, eq=False)
class _PairsBetween(PairStatistic):
    """A statistic over pairs, of the ratings of a time."""

    statistic: PairStatistic
    start: int
    end: int

    @property
    def head(self) -> npt.NDArray[np.int32]:  # type: ignore[override]
        return self.statistic.head

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.statistic.parts

    def entries(self, ratings: Ratings) -> HeadEntries:
        return self.statistic.entries(ratings.between(self.start, self.end))

    def sum_pairs(self, entries: HeadEntries, progress: Progress | None = None) -> tuple[Ints, ...]:
        return self.statistic.sum_pairs(entries, progress)

    def sum_items(self, entries: HeadEntries) -> tuple[Ints, ...]:
        return self.statistic.sum_items(entries)


class _RemoteBetween(RemoteRatings):
    """The ratings of a time, held elsewhere."""

    def __init__(self, source: RemoteRatings, start: int, end: int) -> None:
        self.scale, self.catalog, self.intake = source.scale, source.catalog, source.intake
        self.has_times = source.has_times
        self._source, self._span = source, (start, end)

    def total(self, measures: tuple[Measure, ...]) -> tuple[Any, ...]:
        return self._source.total(tuple(_MeasuredBetween(each, *self._span) for each in measures))

    def triangles(self, statistic: PairStatistic) -> tuple[Ints, ...]:
        return self._source.triangles(_PairsBetween(statistic, *self._span))


def between(source: RatingsSource, start: int, end: int) -> RatingsSource:
    """The ratings of a time, here or elsewhere: each rating's own time decides.

    Args:
        source: Private, with times.
        start: The first second of it, since 1970.
        end: The first second after it.

    Raises:
        InputError: The ratings have no times.
    """
    if isinstance(source, Ratings):
        return source.between(start, end)
    if not source.has_times:
        raise InputError("these ratings have no times")
    return _RemoteBetween(source, start, end)


def measure_all(
    source: RatingsSource, *statistics: Statistic, progress: Progress | None = None
) -> list[tuple[Any, ...]]:
    """The exact integers of each statistic, over everybody; private.

    One statistic over pairs, or several others, which are measured in one pass over the ratings.
    """
    if any(isinstance(statistic, PairStatistic) for statistic in statistics):
        (pairs,) = statistics
        assert isinstance(pairs, PairStatistic)
        if isinstance(source, Ratings):
            return [pairs.measure(source, progress)]
        sums = source.triangles(pairs)
        if len(pairs.parts) > len(sums):
            sums = (*sums, *total(source, pairs.measure_items))
        return [sums]
    found = totals(source, *(statistic.measure for statistic in statistics))
    return [exact if isinstance(exact, tuple) else (exact,) for exact in found]


def total(source: RatingsSource, measure: Measure) -> Any:
    """A sum over everybody; private."""
    return totals(source, measure)[0]


def totals(source: RatingsSource, *measures: Measure) -> tuple[Any, ...]:
    """Several sums over everybody, from one pass over the ratings; private."""
    if isinstance(source, Ratings):
        return tuple(measure(source) for measure in measures)
    return source.total(measures)


def over_blocks(
    ratings: Ratings, work: Callable[[Ratings, int], Result], size: int = _BLOCK
) -> list[Result]:
    """`work(block, first user)` for every block of about `size` ratings, in order, on all cores.

    Blocks hold whole users. The work itself must release Python's lock to run side by side: numpy
    and nogil kernels do. Ctrl-C comes through between blocks.
    """
    if len(ratings.catalog) > _BLOCK:
        size = max(size, len(ratings.catalog))  # results are often a number for each item
    if len(ratings) <= size:
        return [work(ratings, 0)] if ratings.user_count else []
    with ThreadPoolExecutor(max_workers=numba.config.NUMBA_NUM_THREADS) as pool:
        first, waiting = 0, []
        for block in ratings.blocks(size):
            waiting.append(pool.submit(work, block, first))
            first += block.user_count
        try:
            return [task.result() for task in waiting]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def over_bands(
    work: Callable[[Band], int],
    bands: Iterable[Band],
    pairs: int,
    progress: Progress | None,
    threads: int | None = None,
) -> None:
    """`work(band)`, which returns how many pairs of ratings it summed, for all bands of a triangle.

    Args:
        work: Writes to rows that no other band has, so that the order does not matter.
        bands: In any order.
        pairs: How many there are in all, for `progress`.
        progress: Hears of pairs done and pairs in all.
        threads: As many as numba may, if None; but one where there is little to do.
    """
    done, bands = 0, list(bands)
    if threads is None and pairs <= _LITTLE and len(bands) <= _FEW:
        for band in bands:
            done += work(band)
            if progress is not None:
                progress(done, pairs)
        return
    with ThreadPoolExecutor(max_workers=threads or numba.config.NUMBA_NUM_THREADS) as pool:
        try:
            waiting = [pool.submit(work, band) for band in bands]
            for task in as_completed(waiting):
                done += task.result()
                if progress is not None:
                    progress(done, pairs)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


Quantise = Callable[
    [Ratings, npt.NDArray[np.int32]], tuple[npt.NDArray[np.int16], npt.NDArray[Any]]
]
"""From a block of users, and each rating's place in a head or -1: a value for each rating, and a
weight for each user."""


def head_entries(
    ratings: Ratings, head: npt.NDArray[np.int32], quantise: Quantise, weights: type
) -> HeadEntries:
    """People's whole numbers on the items of a head; private.

    Args:
        ratings: Everybody's.
        head: The items.
        quantise: Makes a block's numbers.
        weights: The integers that users' weights are.
    """
    if len(head) and head[-1] >= len(ratings.catalog):
        raise InputError(f"the head has items beyond the catalogue's {len(ratings.catalog):,}")
    place = places_in(head, len(ratings.catalog))
    items = np.empty(len(ratings), dtype=np.int32)
    values = np.empty(len(ratings), dtype=np.int16)
    own: npt.NDArray[Any] = np.empty(ratings.user_count, dtype=weights)

    def work(block: Ratings, first: int) -> None:
        begin = int(ratings.starts[first])
        span = slice(begin, begin + len(block))
        items[span] = place[block.items]
        values[span], own[first : first + block.user_count] = quantise(block, items[span])

    over_blocks(ratings, work)
    return HeadEntries(ratings.starts, items, values, own, len(head))


def sum_over_blocks(ratings: Ratings, work: Callable[[Ratings, int], Ints], size: int) -> Ints:
    """The sum of what `over_blocks` returns, `size` integers: their order does not matter."""
    total = np.zeros(size, dtype=np.int64)
    for part in over_blocks(ratings, work):
        total += part
    return total


def check_head(head: npt.NDArray[np.int32]) -> None:
    """Refuse items that cannot be a head.

    Raises:
        InputError: There are none, or they do not rise.
    """
    if not len(head) or head[0] < 0 or np.any(np.diff(head) <= 0):
        raise InputError("the items of a head are listed in rising order, each once")


def places_in(head: npt.NDArray[np.int32], items: int) -> npt.NDArray[np.int32]:
    """For each of the catalogue's items its place in a head, or -1."""
    places = np.full(items, -1, dtype=np.int32)
    places[head] = np.arange(len(head), dtype=np.int32)
    return places


def count_inside(starts: Ints, inside: npt.NDArray[np.int32]) -> Ints:
    """How many records of each person have a place in a head, which is -1 for all others."""
    counts: Ints = _count_inside(starts, inside)
    return counts


@numba.njit(cache=True, nogil=True)
def _count_inside(starts: Any, inside: Any) -> Any:
    counts = np.zeros(len(starts) - 1, np.int64)
    for user in range(len(counts)):
        number = 0
        for n in range(starts[user], starts[user + 1]):
            number += inside[n] >= 0
        counts[user] = number
    return counts
