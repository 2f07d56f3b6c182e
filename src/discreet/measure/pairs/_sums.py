"""Everybody's integers, and their sums over pairs on all threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure._statistic import HeadEntries, Ints, Progress
from discreet.measure.pairs._kernels import count_kept, lay_visits, sum_rows
from discreet.ratings import Ratings

# Below this many items, items and values share words of 16 bits.
_NARROW = 1 << 15
# Rows that a thread sums before it reports.
_BAND = 8
# The most items of a head: a triangle of this side would take four tebibytes.
_MOST_ITEMS = 1 << 20


class Visits(NamedTuple):
    """Where each item lies in the runs of its raters, item by item."""

    starts: Ints
    """int64[size + 1]: an item's visits."""
    place: npt.NDArray[Any]
    """The index of the item's own entry."""
    owner: npt.NDArray[np.int32]
    """Whose run it is."""
    ends: Ints
    """int64[users]: where each user's run ends."""

    def __repr__(self) -> str:
        return "Visits(private)"


@dataclass(frozen=True, eq=False)
class PairTable:
    """All users' runs, visits and weights; private, so there is no `repr` of the contents.

    Args:
        size: How many items.
        visits: The visits.
        entries: int16 or int32 [., 2]: (item, value), run after run.
        weights: One for every user.
    """

    size: int
    visits: Visits
    entries: npt.NDArray[Any]
    weights: Ints

    def __repr__(self) -> str:
        return f"PairTable(private, {self.size:,} items)"

    def sums(self, triangles: int, progress: Progress | None) -> tuple[Ints, ...]:
        """Packed triangles with a diagonal of zeros: of differences and weights, or of products.

        Every row is summed by one thread, in integers: the result does not depend on threads.
        """
        size = self.size
        outs = tuple(np.empty(size * (size + 1) // 2, np.int64) for _ in range(triangles))
        counts = np.diff(self.visits.ends, prepend=0)
        total, done = int((counts * (counts - 1) // 2).sum()), 0

        def work(first: int) -> int:
            acc = np.empty((size, triangles), np.int64)
            rows = first, min(first + _BAND, size), size
            pairs: int = sum_rows(*rows, self.visits, self.entries, self.weights, acc, outs)
            return pairs

        with ThreadPoolExecutor(max_workers=numba.config.NUMBA_NUM_THREADS) as pool:
            try:
                bands = [pool.submit(work, first) for first in range(0, size, _BAND)]
                for band in as_completed(bands):
                    done += band.result()
                    if progress is not None:
                        progress(done, total)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return outs


def make_table(entries: HeadEntries) -> PairTable:
    """Lay everybody's integers out."""
    size, weights = entries.size, entries.weights
    ends, popularity = np.zeros(len(weights), np.int64), np.zeros(size, np.int64)
    count_kept(entries.starts, entries.items, ends, popularity)
    kept = int(popularity.sum())
    begins = np.zeros(size + 1, np.int64)
    np.cumsum(popularity, out=begins[1:])
    pairs = np.empty((kept, 2), np.int16 if size < _NARROW else np.int32)
    place = np.empty(kept, np.uint32 if kept < 1 << 32 else np.int64)
    owner = np.empty(kept, np.int32)
    filled = begins[:-1].copy()
    lay_visits(entries.starts, entries.items, entries.values, filled, pairs, place, owner)
    return PairTable(size, Visits(begins, place, owner, ends), pairs, weights)


def check_head(head: npt.NDArray[np.int32]) -> None:
    """Refuse a head that is no rising list of items, or too short or too long."""
    if head.ndim != 1 or head.dtype != np.int32:
        raise InputError("the items of pairs are one-dimensional, of int32")
    if len(head) < 2:
        raise InputError(f"pairs need at least 2 items, not {len(head)}")
    if len(head) > _MOST_ITEMS:
        raise InputError(f"pairs are of at most {_MOST_ITEMS:,} items, not {len(head):,}")
    if head[0] < 0 or np.any(np.diff(head) <= 0):
        raise InputError("the items of pairs are listed in rising order, each once")


def check_scale(ratings: Ratings, scale: Scale) -> None:
    """Refuse ratings of another scale than the sensitivity is for."""
    if ratings.scale != scale:
        raise InputError(f"the statistic is for ratings on {scale}, not on {ratings.scale}")
