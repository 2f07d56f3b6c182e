"""Everybody's integers, and their sums over pairs on all threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.domain import InputError, Scale
from discreet.domain.triangles import packed_size
from discreet.measure._source import HeadEntries, Ints, Progress, over_bands
from discreet.ratings import Ratings


@njit(cache=True, nogil=True)
def count_kept(starts: Any, inside: Any, ends: Any, popularity: Any) -> None:
    """Count the entries of the matrix: all up to the end of each user, and those of each item."""
    kept = 0
    for user in range(len(ends)):
        for n in range(starts[user], starts[user + 1]):
            if inside[n] >= 0:
                kept += 1
                popularity[inside[n]] += 1
        ends[user] = kept


@njit(cache=True, nogil=True)
def lay_visits(
    starts: Any, inside: Any, values: Any, cursor: Any, entries: Any, place: Any, owner: Any
) -> None:
    """Write all runs one after another, and each item's visits from its cursor on."""
    at = 0
    for user in range(len(starts) - 1):
        for n in range(starts[user], starts[user + 1]):
            item = inside[n]
            if item < 0:
                continue
            entries[at, 0] = item
            entries[at, 1] = values[n]
            place[cursor[item]] = at
            owner[cursor[item]] = user
            cursor[item] += 1
            at += 1


@njit(inline="always")
def _add_difference(acc: Any, entries: Any, n: int, own: int, weight: int) -> None:
    k = np.uintp(entries[n, 0])  # unsigned: nothing counts from the end
    acc[k, 0] += own - weight * entries[n, 1]
    acc[k, 1] += weight


@njit(inline="always")
def _add_product(acc: Any, entries: Any, n: int, own: int) -> None:
    acc[np.uintp(entries[n, 0]), 0] += own * entries[n, 1]


@njit(cache=True, nogil=True)
def add_differences(item: int, visits: Any, entries: Any, weights: Any, acc: Any) -> int:
    """Sum the row of an item over later items; returns the number of pairs.

    To `acc[k]` are added W (own value - value of k) and W. Four steps at a time take a fifth less
    than one, which is how the compiler leaves it.
    """
    pairs = 0
    for v in range(visits.starts[item], visits.starts[item + 1]):
        at, user = np.int64(visits.place[v]), visits.owner[v]
        weight, end = weights[user], visits.ends[user]
        own = weight * entries[at, 1]
        n = at + 1
        while n + 4 <= end:
            _add_difference(acc, entries, n, own, weight)
            _add_difference(acc, entries, n + 1, own, weight)
            _add_difference(acc, entries, n + 2, own, weight)
            _add_difference(acc, entries, n + 3, own, weight)
            n += 4
        while n < end:
            _add_difference(acc, entries, n, own, weight)
            n += 1
        pairs += end - at - 1
    return pairs


@njit(cache=True, nogil=True)
def add_products(item: int, visits: Any, entries: Any, weights: Any, acc: Any) -> int:
    """The same with W (own value times value of k) alone."""
    pairs = 0
    for v in range(visits.starts[item], visits.starts[item + 1]):
        at, user = np.int64(visits.place[v]), visits.owner[v]
        own, end = weights[user] * entries[at, 1], visits.ends[user]
        n = at + 1
        while n + 4 <= end:
            _add_product(acc, entries, n, own)
            _add_product(acc, entries, n + 1, own)
            _add_product(acc, entries, n + 2, own)
            _add_product(acc, entries, n + 3, own)
            n += 4
        while n < end:
            _add_product(acc, entries, n, own)
            n += 1
        pairs += end - at - 1
    return pairs


@njit(cache=True, nogil=True)
def sum_rows(
    first: int, last: int, size: int, visits: Any, entries: Any, weights: Any, acc: Any, outs: Any
) -> int:
    """Write the rows `first` to `last - 1` of the packed triangles `outs`; returns the pairs.

    Two triangles are those of differences and weights, one is that of products.
    """
    pairs = 0
    for item in range(first, last):
        acc[item:] = 0
        if len(outs) == 2:
            pairs += add_differences(item, visits, entries, weights, acc)
        else:
            pairs += add_products(item, visits, entries, weights, acc)
        base = item * size - item * (item + 1) // 2
        for lane in range(len(outs)):
            # Number by number: assigning slices takes numba two seconds more to compile.
            for column in range(item, size):
                outs[lane][base + column] = acc[column, lane]
    return pairs


@njit(cache=True, nogil=True)
def add_squares(starts: Any, inside: Any, values: Any, weights: Any, squares: Any) -> None:
    """Add W times the square of its value to every item of the matrix."""
    for user in range(len(weights)):
        for n in range(starts[user], starts[user + 1]):
            if inside[n] >= 0:
                value = np.int64(values[n])
                squares[inside[n]] += weights[user] * value * value


@njit(cache=True, nogil=True)
def count_inside(starts: Any, inside: Any, counts: Any) -> None:
    """How many items of the matrix each user has."""
    for user in range(len(counts)):
        for n in range(starts[user], starts[user + 1]):
            counts[user] += inside[n] >= 0


@njit(cache=True, nogil=True)
def difference_lengths(
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
def product_lengths(starts: Any, inside: Any, values: Any, l1: bool, lengths: Any) -> None:
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
        outs = tuple(np.empty(packed_size(size), np.int64) for _ in range(triangles))
        counts = np.diff(self.visits.ends, prepend=0)

        def work(first: int) -> int:
            acc = np.empty((size, triangles), np.int64)
            rows = first, min(first + _BAND, size), size
            pairs: int = sum_rows(*rows, self.visits, self.entries, self.weights, acc, outs)
            return pairs

        over_bands(work, range(0, size, _BAND), int((counts * (counts - 1) // 2).sum()), progress)
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
