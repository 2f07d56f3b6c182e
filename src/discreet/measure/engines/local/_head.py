"""Active users and popular items as dense blocks, where a matrix product beats visits.

A run's **head** is its entries below a rank, the same for a block of neighbouring runs. All pairs
within heads are summed in float64, which is exact here: a term is at most 2^30, so every partial
sum is a whole number below 2^53 while a zone has fewer than 2^23 users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.measure.engines.local._crew import run_pieces
from discreet.measure.engines.local._dense import PANEL, add_stripe, aligned_zeros
from discreet.measure.engines.local._layout import Ints, Runs
from discreet.measure.engines.local._triangle import add_block

_BLOCK = 512
_WIDTHS = (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
_VISIT_NS = 0.85
"""Measured cost of one pair by visits, of both matrices."""
_DENSE_NS = 0.04
"""Measured cost of one cell of a dense product."""
_FILL_NS = 0.8
"""Measured cost of one cell of a dense block."""
_ROWS = 128
"""Users in a dense block: two panels of so many rows stay in the first cache."""
_CELLS = 1 << 21
"""Cells of all dense blocks that are filled together."""
_MOST_USERS = 1 << 22
"""In a zone, so that its float sums stay exact."""

Floats = npt.NDArray[np.float64]


class Zone(NamedTuple):
    """Consecutive runs whose heads have the same width."""

    begin: int
    end: int
    width: int


@njit(cache=True, nogil=True)
def head_pairs(runs: Any, entries: Any, widths: Any, block: int) -> Any:
    """Pairs within the heads of each block of runs, for each of the rising widths."""
    users = len(runs) - 1
    pairs = np.zeros(((users + block - 1) // block, len(widths)), np.int64)
    for u in range(users):
        first, low = runs[u] + 1, runs[u] + 1
        for w in range(len(widths)):
            high = runs[u + 1]
            while low < high:
                middle = (low + high) >> 1
                if entries[middle, 0] < widths[w]:
                    low = middle + 1
                else:
                    high = middle
            count = low - first
            pairs[u // block, w] += count * (count + 1) // 2
    return pairs


@njit(cache=True, nogil=True)
def spread(runs: Any, entries: Any, column: Any, voting: bool, block: Any) -> None:
    """Write the heads of some runs, their values or their votes, into a dense block."""
    block[:] = 0.0
    for u in range(len(runs) - 1):
        vote = entries[runs[u], 1]
        for n in range(runs[u] + 1, runs[u + 1]):
            if entries[n, 0] >= len(column):
                break
            c = column[entries[n, 0]]
            block[c // PANEL, u, c % PANEL] = vote if voting else entries[n, 1]


def plan_heads(runs: Runs, matrices: int) -> list[Zone]:
    """The widths that save most time, by measured costs; they fall with the users' activity.

    Widths change the time and never the sums.
    """
    widths = np.array([w for w in _WIDTHS if w <= len(runs.order)], np.int64)
    if not len(widths):
        return []
    pairs = head_pairs(runs.starts, runs.entries, widths, _BLOCK)
    users = np.minimum(_BLOCK, len(runs.counts) - _BLOCK * np.arange(len(pairs)))[:, None]
    dense = users * matrices * (_DENSE_NS * widths**2 / 2 + _FILL_NS * widths)
    gain = _VISIT_NS * pairs - dense
    best = np.where(gain.max(axis=1) > 0, widths[gain.argmax(axis=1)], 0)
    falling = np.minimum.accumulate(best) if len(best) else best
    return list(_zones(falling, len(runs.counts)))


def _zones(widths: Ints, users: int) -> Iterator[Zone]:
    cuts = np.flatnonzero(np.diff(widths, prepend=-1, append=-1))
    for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        stop = min(end * _BLOCK, users)
        for first in range(begin * _BLOCK, stop if widths[begin] else 0, _MOST_USERS):
            yield Zone(first, min(first + _MOST_USERS, stop), int(widths[begin]))


def heads_of(zones: list[Zone], users: int) -> Ints:
    """The width of each run's head."""
    heads = np.zeros(users, np.int64)
    for zone in zones:
        heads[zone.begin : zone.end] = zone.width
    return heads


def add_heads(
    runs: Runs,
    zones: list[Zone],
    outs: tuple[Ints, ...],
    *,
    threads: int,
    report: Callable[[int], None],
) -> None:
    """Add the pairs within heads to the triangle of values and, if there are two, of votes."""
    widest = PANEL * max((-(-zone.width // PANEL) for zone in zones), default=0)
    room = aligned_zeros(max(_CELLS, _ROWS * widest)), aligned_zeros(widest**2)
    for zone in zones:
        for out, voting in zip(outs, (False, True), strict=False):
            _add_zone(runs, zone, out, voting, room, threads)
        own = runs.starts[zone.begin : zone.end + 1]
        report(int(head_pairs(own, runs.entries, np.array([zone.width]), len(own)).sum()))


def _add_zone(
    runs: Runs, zone: Zone, out: Ints, voting: bool, room: tuple[Floats, Floats], threads: int
) -> None:
    """Sum a zone's products, with columns in the items' own order, and add them to a triangle.

    Memory for the dense blocks and their product is lent by the caller: fresh pages for every zone
    would cost as much as the products.
    """
    items = np.sort(runs.order[: zone.width])
    column = np.searchsorted(items, runs.order[: zone.width])
    panels = -(-zone.width // PANEL)
    block = panels * PANEL * _ROWS
    blocks = len(room[0]) // block
    dense = room[0][: blocks * block].reshape(blocks, panels, _ROWS, PANEL)
    product = room[1][: (panels * PANEL) ** 2].reshape(panels * PANEL, panels * PANEL)
    product[:] = 0.0
    for begin in range(zone.begin, zone.end, blocks * _ROWS):
        own = runs.starts[begin : min(begin + blocks * _ROWS, zone.end) + 1]
        used = dense[: -(-(len(own) - 1) // _ROWS)]
        _fill(used, own, runs, column, voting, threads)
        _multiply(used, product, threads)
    add_block(product, items, len(runs.order), out)


def _fill(
    dense: Floats, starts: Ints, runs: Runs, column: Ints, voting: bool, threads: int
) -> None:
    def piece(number: int) -> int:
        own = starts[number * _ROWS : (number + 1) * _ROWS + 1]
        spread(own, runs.entries, column, voting, dense[number])
        return 0

    run_pieces(lambda: piece, len(dense), threads, lambda _: None)


def _multiply(dense: Floats, product: Floats, threads: int) -> None:
    def piece(panel: int) -> int:
        for block in dense:
            add_stripe(block, panel, product)
        return 0

    run_pieces(lambda: piece, dense.shape[1], threads, lambda _: None)
