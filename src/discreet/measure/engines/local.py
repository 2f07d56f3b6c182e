"""Exact sums over users, one for every pair of items, on the threads of one machine.

Sums are packed upper triangles with their diagonal: row after row, each from its diagonal on. They
are computed in **bands** of neighbouring rows. A band lies in one piece of the triangle that fits
into the cache, and one thread passes over all users and adds their pairs whose first item belongs
to the band. No two threads write to one place, so the result does not depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.domain import InputError
from discreet.domain.triangles import packed_size
from discreet.measure._source import over_bands
from discreet.measure.engines._bit_rows import Slots, add_common, bit_rows
from discreet.measure.engines._dense_rows import add_rows, have_many, row_blocks

Ints = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

# Sums in a band, at least: 2^15 of eight bytes fill half of a 512 KiB cache. Chosen by hand; bands
# change the time and never the sums.
_BAND = 1 << 15
# Bands of a triangle, about, at most: every band passes over all users, so the bands of a large
# head are larger than that cache. Chosen by hand: 17,770 items give bands of 5 MiB.
_MOST_BANDS = 256
# Bands in which rows of bits are compared: enough to share between threads. Chosen by hand.
_WIDE = 32


@dataclass(frozen=True, eq=False, repr=False)
class CoMoments:
    """Exact integer sums over users, one for every pair of items, as packed upper triangles.

    Private until noise is added, so `repr` does not show the contents.

    Attributes:
        size: The number of items.
        cov: Sums of the products of two items' values, over users who have both.
        wgt: Sums of squared votes over users who have both; None if there were no votes.
    """

    size: int
    cov: Ints
    wgt: Ints | None


def co_moments(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    votes: npt.NDArray[np.int16] | None,
    size: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CoMoments:
    """Sum the outer products of all users' values and votes, exactly.

    cov[i, j] sums `values[u, i] * values[u, j]`, and wgt[i, j] sums `votes[u]**2`, over the users
    u who have both i and j. Sums are modulo 2^64, as is the noise added to them; below 2^33 users
    none can wrap. Ctrl-C is noticed between bands. Memory: about eight bytes per entry of the
    input, and eight per entry of each triangle.

    Args:
        starts: int64[users + 1], where each user's entries begin, and the end.
        items: int32[n], items below `size`, rising within a user; negative ones are skipped.
        values: int16[n], one for each item.
        votes: int16[users], or None to leave out `wgt` and its cost.
        size: The number of items.
        threads: How many threads to use; as many as numba may, if None.
        progress: Called in the calling thread with the pairs done and the pairs in total.
    """
    _check(starts, items, values, votes, size)
    starts, items, values = _kept(starts, items, values, size)
    counts, cov, wgt = np.diff(starts), np.zeros(packed_size(size), np.int64), None
    pairs = int((counts * (counts + 1) // 2).sum())
    total = pairs if votes is None else 2 * pairs

    many = have_many(counts, size)
    few, few_items, few_values = starts, items, values
    ones = np.ones(len(counts), np.int64)
    if many.any():
        few, few_items = _without(starts, items, counts, many)
        few_values = np.empty(len(few_items), np.int16)
        _take(starts, items, values, many, few_values)

    def work(rows: tuple[int, int]) -> int:
        return int(_add_products(*rows, size, few, few_items, few_values, ones, 0, cov))

    rest = np.diff(few)
    done = int((rest * (rest + 1) // 2).sum())
    over_bands(work, _bands(size), done, _part_of(progress, 0, total), threads)
    for users in row_blocks(np.flatnonzero(many), size):
        add_rows(starts, items, values, users, size, cov)
        done += int((counts[users] * (counts[users] + 1) // 2).sum())
        if progress is not None:
            progress(done, total)
    if votes is not None:
        wgt, squares = np.zeros_like(cov), votes.astype(np.int64) ** 2
        hears = _part_of(progress, pairs, total)
        _add_weighted(starts, items, squares, wgt, size, threads, hears)
    return CoMoments(size, cov, wgt)


def weighted_pairs(
    starts: Ints,
    items: npt.NDArray[np.int32],
    weights: Ints,
    size: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ints:
    """The packed triangle of the sums of `weights[u]` over the users u who have both items.

    Args:
        starts: As in `co_moments`, like the other arguments.
        items: Rising within a user; negative ones are skipped.
        weights: int64[users].
        size: The number of items.
        threads: As many as numba may, if None.
        progress: Hears of pairs done and pairs in all.
    """
    _check(starts, items, np.empty(len(items), np.int16), None, size)
    _check_weights(starts, weights)
    out = np.zeros(packed_size(size), np.int64)
    _add_weighted(starts, items, weights, out, size, threads, progress)
    return out


def weighted_values(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    weights: Ints,
    size: int,
    *,
    products: bool,
    progress: Progress | None = None,
) -> tuple[Ints, ...]:
    """Packed triangles of sums over the users who have both items; their diagonals are 0.

    With `products`, one triangle: `weights[u]` times the product of the two values. Without, two:
    `weights[u]` times the first value less the second, and `weights[u]` itself.

    Args:
        starts: As in `co_moments`, like the other arguments.
        items: Rising within a user; negative ones are skipped.
        values: int16[n], one for each item.
        weights: int64[users].
        size: The number of items.
        products: Whether to sum products, or differences and weights.
        progress: Hears of pairs done and pairs in all.
    """
    _check(starts, items, values, None, size)
    _check_weights(starts, weights)
    starts, items, values = _kept(starts, items, values, size)
    outs = tuple(np.zeros(packed_size(size), np.int64) for _ in range(1 if products else 2))
    counts = np.diff(starts)

    def work(rows: tuple[int, int]) -> int:
        people = starts, items, values, weights
        if products:
            return int(_add_products(*rows, size, *people, 1, *outs))
        return int(_add_differences(*rows, size, *people, *outs))

    over_bands(work, _bands(size, len(outs)), int((counts * (counts - 1) // 2).sum()), progress)
    return outs


def _check_weights(starts: Ints, weights: Ints) -> None:
    if weights.dtype != np.int64 or len(weights) != len(starts) - 1:
        raise InputError("weights are int64, one for each user")


def _add_weighted(
    starts: Ints,
    items: npt.NDArray[np.int32],
    weights: Ints,
    out: Ints,
    size: int,
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Add to a triangle the weights of the users who have both items.

    Users with many items are added as bits, 64 at a time, and all others pair by pair.
    """
    counts = np.empty(len(starts) - 1, np.int64)
    if not _count(starts, items, size, counts):
        raise _wrong_items(size)
    slots = Slots.of(counts, weights, size)
    pairs = counts * (counts + 1) // 2
    of_bits = int(pairs[slots.of_user >= 0].sum())
    total = int(pairs.sum())
    few, few_items = _without(starts, items, counts, slots.of_user >= 0)

    def add_pairs(rows: tuple[int, int]) -> int:
        return int(_add_weights(*rows, size, few, few_items, weights, out))

    over_bands(add_pairs, _bands(size), total - of_bits, _part_of(progress, 0, total), threads)
    for first, last in slots.chunks(size):
        bits, each = bit_rows(starts, items, slots, (first, last), size), slots.weights[first:last]

        def add_bits(
            rows: tuple[int, int], bits: Any = bits, each: Any = each, words: int = last - first
        ) -> int:
            add_common(bits, each, *rows, out)
            return words * _entries(size, rows)

        done = total - of_bits + first * of_bits // len(slots.weights)
        hears = _part_of(progress, done, total, of_bits / (len(slots.weights) * packed_size(size)))
        over_bands(add_bits, _wide_bands(size), (last - first) * packed_size(size), hears, threads)


def _part_of(
    progress: Progress | None, before: int, total: int, each: float = 1.0
) -> Progress | None:
    """Tells of a part of some work, whose steps are worth `each`, as of all of it."""
    if progress is None:
        return None

    def hear(done: int, _: int) -> None:
        progress(min(before + round(done * each), total), total)

    return hear


def new_pairs(
    starts: Ints,
    items: npt.NDArray[np.int32],
    is_new: npt.NDArray[np.int16],
    within: Ints,
    across: Ints,
    size: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ints:
    """The packed triangle of sums over users who have both items, at least one of them new.

    A pair of two new items adds `within[u]`, one of a new and an old item `across[u]`. A user with
    m new items of k costs m k steps.

    Args:
        starts: As in `co_moments`, like the other arguments.
        items: Rising within a user; negative ones are skipped.
        is_new: int16[n], 1 for new items and 0 for old ones.
        within: int64[users].
        across: int64[users].
        size: The number of items.
        threads: As many as numba may, if None.
        progress: Hears of pairs done and pairs in all.
    """
    _check(starts, items, is_new, None, size)
    for weights in (within, across):
        _check_weights(starts, weights)
    new = _kept(starts, np.where(is_new == 1, items, -1).astype(np.int32), is_new, size)[:2]
    starts, items, is_new = _kept(starts, items, is_new, size)
    out = np.zeros(packed_size(size), np.int64)
    all_of, old_of = np.diff(starts), np.diff(starts) - np.diff(new[0])
    total = int((all_of * (all_of + 1) // 2 - old_of * (old_of + 1) // 2).sum())

    def work(rows: tuple[int, int]) -> int:
        return int(_add_new(*rows, size, starts, items, is_new, *new, within, across, out))

    over_bands(work, _bands(size), total, progress, threads)
    return out


def _kept(
    starts: Ints, items: npt.NDArray[np.int32], values: npt.NDArray[np.int16], size: int
) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int16]]:
    """The entries that are not skipped."""
    kept = np.zeros(len(starts), np.int64), np.empty_like(items), np.empty_like(values)
    if not _keep(starts, items, values, size, *kept):
        raise _wrong_items(size)
    return kept


def _wrong_items(size: int) -> InputError:
    return InputError(f"the items of a user must rise and lie below {size:,}")


def _without(
    starts: Ints, items: npt.NDArray[np.int32], counts: Ints, left_out: npt.NDArray[np.bool_]
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """The entries that are not skipped, of the users who are not left out."""
    begins = np.zeros(len(starts), np.int64)
    np.cumsum(np.where(left_out, 0, counts), out=begins[1:])
    kept = np.empty(begins[-1], np.int32)
    _take(starts, items, items, left_out, kept)
    return begins, kept


def _bands(size: int, triangles: int = 1) -> Iterator[tuple[int, int]]:
    """The bands' first rows, and the rows after their last."""
    first = entries = 0
    room = max(_BAND // triangles, packed_size(size) // _MOST_BANDS)
    for row in range(size):
        entries += size - row
        if entries >= room or row == size - 1:
            yield first, row + 1
            first, entries = row + 1, 0


def _wide_bands(size: int) -> Iterator[tuple[int, int]]:
    """Bands of rows for rows of bits: of about equal work, a few for each thread."""
    ends = [round(size * (1 - math.sqrt(1 - part / _WIDE))) for part in range(_WIDE + 1)]
    return ((first, last) for first, last in pairwise(ends) if last > first)


def _entries(size: int, rows: tuple[int, int]) -> int:
    """How many entries of a triangle some rows have."""
    first, last = rows
    return packed_size(size - first) - packed_size(size - last)


@njit(cache=True, nogil=True)
def _keep(
    starts: Any, items: Any, values: Any, size: int, begins: Any, kept_items: Any, kept_values: Any
) -> bool:
    """Copy the entries that are not skipped; False if items do not rise or are too large."""
    at = 0
    for user in range(len(starts) - 1):
        before = -1
        for n in range(starts[user], starts[user + 1]):
            if items[n] >= 0:
                if items[n] <= before or items[n] >= size:
                    return False
                before = items[n]
                kept_items[at] = items[n]
                kept_values[at] = values[n]
                at += 1
        begins[user + 1] = at
    return True


@njit(cache=True, nogil=True)
def _count(starts: Any, items: Any, size: int, counts: Any) -> bool:
    """How many entries of each user are not skipped; False as for `_keep`."""
    for user in range(len(starts) - 1):
        before, number = -1, 0
        for n in range(starts[user], starts[user + 1]):
            if items[n] >= 0:
                if items[n] <= before or items[n] >= size:
                    return False
                before = items[n]
                number += 1
        counts[user] = number
    return True


@njit(cache=True, nogil=True)
def _take(starts: Any, items: Any, values: Any, left_out: Any, kept: Any) -> None:
    """Copy the values of the entries that are not skipped, of the users who are not left out."""
    at = 0
    for user in range(len(starts) - 1):
        if not left_out[user]:
            for n in range(starts[user], starts[user + 1]):
                if items[n] >= 0:
                    kept[at] = values[n]
                    at += 1


@njit(cache=True, nogil=True)
def _first_from(items: Any, low: int, high: int, item: int) -> int:
    """Where the rising items from `low` to before `high` reach this one."""
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _add_weights(
    first: int, last: int, size: int, starts: Any, items: Any, weights: Any, out: Any
) -> int:
    """Add the users' weights to the rows `first` to before `last`; returns the pairs."""
    pairs = 0
    for user in range(len(starts) - 1):
        end, weight = starts[user + 1], weights[user]
        at = _first_from(items, starts[user], end, first)
        while at < end and items[at] < last:
            row = np.int64(items[at])
            line = out[row * size - row * (row + 1) // 2 :]
            for n in range(at, end):
                line[np.uintp(items[n])] += weight
            pairs += end - at
            at += 1
    return pairs


@njit(cache=True, nogil=True)
def _add_products(
    first: int,
    last: int,
    size: int,
    starts: Any,
    items: Any,
    values: Any,
    weights: Any,
    skip: int,
    out: Any,
) -> int:
    """Add weight * value * value to the rows `first` to before `last`; returns the pairs.

    An item's pairs begin with itself, or with the next one where `skip` is 1.
    """
    pairs = 0
    for user in range(len(starts) - 1):
        end = starts[user + 1]
        at = _first_from(items, starts[user], end, first)
        while at < end and items[at] < last:
            row, own = np.int64(items[at]), weights[user] * values[at]
            line = out[row * size - row * (row + 1) // 2 :]
            for n in range(at + skip, end):
                line[np.uintp(items[n])] += own * values[n]  # unsigned: nothing wraps around
            pairs += end - at - skip
            at += 1
    return pairs


@njit(cache=True, nogil=True)
def _add_differences(
    first: int,
    last: int,
    size: int,
    starts: Any,
    items: Any,
    values: Any,
    weights: Any,
    out: Any,
    counts: Any,
) -> int:
    """Add weight * (value - value), and the weight to `counts`; returns the pairs."""
    pairs = 0
    for user in range(len(starts) - 1):
        end, weight = starts[user + 1], weights[user]
        at = _first_from(items, starts[user], end, first)
        while at < end and items[at] < last:
            row, own = np.int64(items[at]), weight * values[at]
            base = row * size - row * (row + 1) // 2
            line, count = out[base:], counts[base:]
            for n in range(at + 1, end):
                place = np.uintp(items[n])
                line[place] += own - weight * values[n]
                count[place] += weight
            pairs += end - at - 1
            at += 1
    return pairs


@njit(cache=True, nogil=True)
def _add_new(
    first: int,
    last: int,
    size: int,
    starts: Any,
    items: Any,
    is_new: Any,
    new_starts: Any,
    new_items: Any,
    within: Any,
    across: Any,
    out: Any,
) -> int:
    """Add the pairs with a new item to the rows `first` to before `last`; returns the pairs."""
    pairs = 0
    for user in range(len(starts) - 1):
        end, new_end = starts[user + 1], new_starts[user + 1]
        if new_starts[user] == new_end:
            continue
        at = _first_from(items, starts[user], end, first)
        new_at = _first_from(new_items, new_starts[user], new_end, first)
        while at < end and items[at] < last:
            row = np.int64(items[at])
            line = out[row * size - row * (row + 1) // 2 :]
            if is_new[at] == 1:
                for n in range(at, end):
                    weight = within[user] if is_new[n] == 1 else across[user]
                    line[np.uintp(items[n])] += weight
                pairs += end - at
                new_at += 1
            else:
                # An old item meets the new ones after it alone.
                for n in range(new_at, new_end):
                    line[np.uintp(new_items[n])] += across[user]
                pairs += new_end - new_at
            at += 1
    return pairs


def _check(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    votes: npt.NDArray[np.int16] | None,
    size: int,
) -> None:
    for name, array, kind in (
        ("starts", starts, np.int64),
        ("items", items, np.int32),
        ("values", values, np.int16),
        ("votes", votes, np.int16),
    ):
        if array is not None and (array.dtype != kind or array.ndim != 1):
            raise InputError(f"{name} must be one-dimensional, of {np.dtype(kind).name}")
    if size < 1:
        raise InputError("the matrix needs at least one item")
    if len(starts) < 1 or starts[0] < 0 or starts[-1] > len(items) or np.any(np.diff(starts) < 0):
        raise InputError("starts must begin at 0 or later, never fall, and end within the items")
    if len(values) != len(items) or (votes is not None and len(votes) != len(starts) - 1):
        raise InputError("there must be one value per item and one vote per user")
