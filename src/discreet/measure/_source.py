"""Where private ratings are, and sums over all of them: all that a method asks of private data.

Every private number of a fit is a sum over people of whole numbers. So it can be summed anywhere,
part by part, in any order, and the result is the same to the last bit.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.measure._statistic import (
    HeadEntries,
    Ints,
    PairStatistic,
    Progress,
    Statistic,
)
from discreet.ratings import Intake, Ratings

Measure = Callable[[Ratings], Any]
"""Sums over the people of some ratings: an integer, an int64 array, or a tuple of them. Other
processes run it too, so it can be pickled: a statistic's method, or a function."""

# Ratings in a block: some 100 microseconds of work, so that threads share it evenly.
_BLOCK = 1 << 17

Result = TypeVar("Result")


class RemoteRatings(abc.ABC):
    """Ratings that other processes hold, each person's in one piece; only sums come back.

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
"""All the ratings of a fit: here in memory, or on other machines."""


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
        return [work(block, 0) for block in ratings.blocks(size)]
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
    place = np.full(len(ratings.catalog), -1, dtype=np.int32)
    place[head] = np.arange(len(head), dtype=np.int32)
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


def count_inside(starts: Ints, inside: npt.NDArray[np.int32]) -> Ints:
    """How many records of each person have a place in a head, which is -1 for all others."""
    running = np.concatenate(([0], np.cumsum(inside >= 0)))
    return np.asarray(running[starts[1:]] - running[starts[:-1]])
