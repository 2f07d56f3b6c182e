"""The ratings as the row kernels want them: active users first, popular items first.

A user's **run** is a header and their entries (rank, value), the most popular item first. The
items at least as popular as the one at some place of a run are the entries up to that place. So a
**visit** (an item's place in the run of one of its raters) names all pairs of that item with more
popular ones, and rows of the triangle can be built one at a time, without two threads ever
sharing one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.domain import InputError
from discreet.measure.engines.local._crew import run_pieces
from discreet.measure.engines.local._vector import lowest_bit

Ints = npt.NDArray[np.int64]

NARROW = 1 << 15
"""Up to so many items, ranks and values share words of 16 bits."""
_MOST_PARTS = 64
_SMALLEST_PART = 1 << 14


class Runs(NamedTuple):
    """All users' runs, one after another."""

    starts: Ints
    """int64[users + 1]: where each run's header is."""
    entries: npt.NDArray[Any]
    """int16 or int32 [., 2]: (rank, value); a header is (0, vote)."""
    rank: Ints
    """int64[size]: each item's rank."""
    order: Ints
    """int64[size]: the item of each rank."""

    @property
    def counts(self) -> Ints:
        """How many entries each run has; they fall."""
        return np.diff(self.starts) - 1


class Visits(NamedTuple):
    """Where each item lies in the runs of its raters, item by item."""

    starts: Ints
    """int64[size + 1]: an item's visits, in the order of the runs."""
    last: npt.NDArray[Any]
    """Index of the item's own entry."""
    depth: npt.NDArray[Any]
    """How many entries of its run come before it."""


@njit(cache=True, nogil=True)
def survey(starts: Any, items: Any, kept: Any, popularity: Any) -> bool:
    """Count the kept entries of each user and item; False if items do not rise or are too large."""
    size = len(popularity)
    for u in range(len(starts) - 1):
        before = -1
        for n in range(starts[u], starts[u + 1]):
            item = items[n]
            if item < 0:
                continue
            if item <= before or item >= size:
                return False
            before = item
            kept[u] += 1
            popularity[item] += 1
    return True


@njit(cache=True, nogil=True)
def lay_runs(
    users: Any, starts: Any, items: Any, values: Any, votes: Any, rank: Any, runs: Any, entries: Any
) -> None:
    """Write the runs of some users, sorted by rank.

    A table of values by rank and a bit for each rank sort a run in one pass over its entries and
    one over the bits.
    """
    size = len(rank)
    table = np.zeros(size, np.int16)
    marks = np.zeros((size + 63) >> 6, np.uint64)
    for k in range(len(users)):
        u = users[k]
        for n in range(starts[u], starts[u + 1]):
            if items[n] >= 0:
                place = rank[items[n]]
                table[place] = values[n]
                marks[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        entries[runs[k], 0] = 0
        entries[runs[k], 1] = votes[u]
        _emit(marks, table, entries, runs[k] + 1)


@njit(cache=True, nogil=True)
def _emit(marks: Any, table: Any, entries: Any, at: int) -> None:
    """Write the marked ranks with their values from `at` on, and clear the marks."""
    for word in range(len(marks)):
        rest = marks[word]
        marks[word] = 0
        while rest:
            place = (word << 6) + lowest_bit(rest)
            entries[at, 0] = place
            entries[at, 1] = table[place]
            at += 1
            rest &= rest - np.uint64(1)


@njit(cache=True, nogil=True)
def count_visits(runs: Any, heads: Any, entries: Any, order: Any, counts: Any) -> None:
    """Count each item's visits in some runs, leaving out ranks below each run's head."""
    for u in range(len(heads)):
        for n in range(runs[u] + 1, runs[u + 1]):
            if entries[n, 0] >= heads[u]:
                counts[order[entries[n, 0]]] += 1


@njit(cache=True, nogil=True)
def lay_visits(
    runs: Any, heads: Any, entries: Any, order: Any, cursor: Any, last: Any, depth: Any
) -> None:
    """Write each item's visits to some runs at its cursor, and move the cursor."""
    for u in range(len(heads)):
        first = runs[u] + 1
        for n in range(first, runs[u + 1]):
            if entries[n, 0] >= heads[u]:
                item = order[entries[n, 0]]
                last[cursor[item]] = n
                depth[cursor[item]] = n - first
                cursor[item] += 1


def make_runs(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    votes: npt.NDArray[np.int16],
    size: int,
    *,
    threads: int,
    narrow: bool,
) -> Runs:
    """Rank users and items by their numbers of entries, and lay out every run.

    Users without entries are left out. Equal numbers keep their order.
    """
    kept, popularity = np.zeros(len(starts) - 1, np.int64), np.zeros(size, np.int64)
    if not survey(starts, items, kept, popularity):
        raise InputError(f"the items of a user must rise and lie below {size:,}")
    order = np.argsort(-popularity, kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    users = np.argsort(-kept, kind="stable")[: np.count_nonzero(kept)]
    runs = np.zeros(len(users) + 1, np.int64)
    np.cumsum(kept[users] + 1, out=runs[1:])
    entries = np.empty((runs[-1], 2), np.int16 if narrow else np.int32)

    def lay(_: int, part: slice) -> None:
        lay_runs(users[part], starts, items, values, votes, rank, runs[part], entries)

    _each_part(runs, lay, threads)
    return Runs(runs, entries, rank, order)


def make_visits(runs: Runs, heads: Ints, *, threads: int) -> Visits:
    """Lay out the visits of all items to all runs.

    Args:
        runs: The runs.
        heads: For every run the rank from which on its entries get visits.
        threads: How many threads to use.
    """
    size = len(runs.order)
    cursor = np.zeros((_parts(runs.starts), size), np.int64)

    def count(number: int, part: slice) -> None:
        own = runs.starts[part.start : part.stop + 1]
        count_visits(own, heads[part], runs.entries, runs.order, cursor[number])

    _each_part(runs.starts, count, threads)
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(cursor.sum(axis=0), out=starts[1:])
    counts = cursor.copy()
    np.cumsum(counts, axis=0, out=cursor)
    cursor += starts[:-1] - counts
    last = np.empty(starts[-1], np.uint32 if len(runs.entries) < 1 << 32 else np.int64)
    depth = np.empty(starts[-1], runs.entries.dtype)

    def lay(number: int, part: slice) -> None:
        own = runs.starts[part.start : part.stop + 1]
        lay_visits(own, heads[part], runs.entries, runs.order, cursor[number], last, depth)

    _each_part(runs.starts, lay, threads)
    return Visits(starts, last, depth)


def _parts(runs: Ints) -> int:
    """Into how many parts to cut the runs."""
    return int(np.clip(runs[-1] // _SMALLEST_PART, 1, _MOST_PARTS))


def _each_part(runs: Ints, work: Callable[[int, slice], None], threads: int) -> None:
    """Cut the runs into parts of about equal length, and do the work of each, in any order."""
    parts = _parts(runs)
    cuts = np.searchsorted(runs, np.linspace(0, runs[-1], parts + 1))

    def piece(number: int) -> int:
        work(number, slice(int(cuts[number]), int(cuts[number + 1])))
        return 0

    run_pieces(lambda: piece, parts, threads, lambda _: None)
