"""Everybody's integers, and their sums over pairs on all threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._blocks import over_blocks
from discreet.measure._everybody import Inside, Tell
from discreet.measure.pairs._kernels import count_kept, lay_visits, sum_rows
from discreet.ratings import Ratings

Ints = npt.NDArray[np.int64]

_NARROW = 1 << 15
"""Below so many items, items and values share words of 16 bits."""
_BAND = 8
"""Rows that a thread sums before it reports."""


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """Integers of a block of users; private."""

    values: npt.NDArray[np.int16]
    """One for every rating."""
    weights: Ints
    """One for every user."""


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

    def sums(self, triangles: int, progress: Tell | None) -> tuple[Ints, ...]:
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


def quantised(
    ratings: Ratings,
    head: npt.NDArray[np.int32],
    quantise: Callable[[Ratings, npt.NDArray[np.int32]], Block],
) -> Inside:
    """Quantise everybody's ratings.

    Args:
        ratings: Everybody's.
        head: The items of the matrix.
        quantise: From a block of users and the place in the head of each rating, or -1.
    """
    if len(head) and head[-1] >= len(ratings.catalog):
        raise InputError(f"the head has items beyond the catalogue's {len(ratings.catalog):,}")
    where = np.full(len(ratings.catalog), -1, dtype=np.int32)
    where[head] = np.arange(len(head), dtype=np.int32)
    inside = np.empty(len(ratings), dtype=np.int32)
    values = np.empty(len(ratings), dtype=np.int16)
    weights = np.empty(ratings.user_count, dtype=np.int64)

    def work(block: Ratings, first: int) -> None:
        begin = int(ratings.starts[first])
        span = slice(begin, begin + len(block))
        inside[span] = where[block.items]
        made = quantise(block, inside[span])
        values[span], weights[first : first + block.user_count] = made.values, made.weights

    over_blocks(ratings, work)
    return Inside(ratings.starts, inside, values, weights, len(head))


def make_table(inside: Inside) -> PairTable:
    """Lay everybody's integers out."""
    size, weights = inside.size, inside.weights
    ends, popularity = np.zeros(len(weights), np.int64), np.zeros(size, np.int64)
    count_kept(inside.starts, inside.items, ends, popularity)
    kept = int(popularity.sum())
    begins = np.zeros(size + 1, np.int64)
    np.cumsum(popularity, out=begins[1:])
    entries = np.empty((kept, 2), np.int16 if size < _NARROW else np.int32)
    place = np.empty(kept, np.uint32 if kept < 1 << 32 else np.int64)
    owner = np.empty(kept, np.int32)
    told = (inside.starts, inside.items, inside.values, begins[:-1].copy())
    lay_visits(*told, entries, place, owner)
    return PairTable(size, Visits(begins, place, owner, ends), entries, weights)
