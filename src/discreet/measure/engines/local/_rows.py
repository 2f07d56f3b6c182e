"""Rows of the triangle from visits, a band of neighbouring items at a time.

The row of an item holds its pairs with items at least as popular, so every pair belongs to one
row. A row is summed by rank in an accumulator that stays in the cache, and goes into the packed
triangle together with its neighbours, because half its entries lie in a column there: a band's
parts of a column share cache lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from discreet.measure.engines.local._crew import run_pieces
from discreet.measure.engines.local._layout import Ints, Runs, Visits
from discreet.measure.engines.local._triangle import row_base
from discreet.measure.engines.local._vector import add_run, prefetch

BAND = 8
_AHEAD = 4
"""How many visits ahead to prefetch: some first cache lines of the run, and the item's own."""
_LINES = 10


@njit(cache=True, nogil=True)
def sum_row(visits: Any, begin: int, end: int, entries: Any, acc: Any) -> int:
    """Add up a row over its visits `begin` to `end`; returns the number of pairs.

    Each visit adds, for all entries of the run up to the item's own, (value times the item's
    value, squared vote) at the entry's rank; only the former if `acc` has one dimension.
    """
    pairs = 0
    for v in range(begin, end):
        later = min(v + _AHEAD, end - 1)
        tail = np.int64(visits.last[later])
        first = tail - visits.depth[later]
        for line in range(_LINES):
            prefetch(entries, first - 1 + 16 * line)
        prefetch(entries, tail)
        last = np.int64(visits.last[v])
        first = last - visits.depth[v]
        vote = np.int64(entries[first - 1, 1])
        add_run(acc, entries, first, last + 1, np.int64(entries[last, 1]), vote * vote)
        pairs += last + 1 - first
    return pairs


@njit(cache=True, nogil=True)
def sum_band(first: int, rank: Any, visits: Any, entries: Any, acc: Any) -> int:
    """Sum the rows of the items from `first` on, one a row of `acc`; returns the pairs."""
    pairs = 0
    for k in range(min(len(acc), len(rank) - first)):
        item = first + k
        acc[k, : rank[item] + 1] = 0
        pairs += sum_row(visits, visits.starts[item], visits.starts[item + 1], entries, acc[k])
    return pairs


@njit(cache=True, nogil=True)
def add_band(first: int, rank: Any, order: Any, acc: Any, cov: Any, wgt: Any) -> None:
    """Add a band of rows, `acc[k, rank, :]`, to packed triangles.

    The first lane goes to `cov`, the second, if there is one, to `wgt`.
    """
    size, both = len(rank), acc.shape[2] == 2
    ranks = rank[first : first + len(acc)]
    bases = np.array([row_base(size, first + k) for k in range(len(ranks))])
    for place in range(ranks.max() + 1):
        other = order[place]
        base = row_base(size, other) + first
        for k in range(len(ranks)):
            if place <= ranks[k]:
                at = base + k if other < first + k else bases[k] + other
                cov[at] += acc[k, place, 0]
                if both:
                    wgt[at] += acc[k, place, 1]


def add_rows(
    runs: Runs,
    visits: Visits,
    outs: tuple[Ints, ...],
    *,
    threads: int,
    report: Callable[[int], None],
) -> None:
    """Add the pairs of all visits to the triangle of values and, if there are two, of votes."""
    size = len(runs.rank)

    def hire() -> Callable[[int], int]:
        sums = np.empty((BAND, size, len(outs)), np.int64)
        acc = sums if len(outs) == 2 else sums[..., 0]

        def piece(number: int) -> int:
            first = number * BAND
            pairs: int = sum_band(first, runs.rank, visits, runs.entries, acc)
            add_band(first, runs.rank, runs.order, sums, outs[0], outs[-1])
            return pairs

        return piece

    run_pieces(hire, -(-size // BAND), threads, report)
