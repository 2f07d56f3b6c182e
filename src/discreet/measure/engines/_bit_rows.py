"""Sums of weights over the users who have both of two items, for users who have many.

A user with m of the items has m^2/2 pairs. Adding them one by one takes as long as that; here it
takes the same time for everybody. Each item has a row of bits, one for each user. 64 users of the
same weight share a word: what they add to a pair is their weight times the number of bits that are
set in both items' words. Whole numbers throughout, so the sums are those of any other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

Ints = npt.NDArray[np.int64]

# Users of a word.
_BITS = 64
# Words of a tile: 128 KiB of rows for each 128 items. Chosen by hand, from 32 to 256.
_TILE = 128
# Bytes of the rows of all items that are made at a time. Chosen by hand.
_ROWS = 1 << 26
# How many words of two items are compared in the time that one pair takes to add. Measured with
# AVX-512; where it is less, this costs time and nothing else.
_PER_PAIR = 8.0


@intrinsic
def _popcount(typing_context: Any, word: Any) -> Any:
    """How many bits of a 64-bit word are set."""
    del typing_context, word

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> ir.Value:
        del context, signature
        count = builder.module.declare_intrinsic("llvm.ctpop", [args[0].type])
        return builder.call(count, args)

    return types.uint64(types.uint64), generate


class Slots(NamedTuple):
    """Which users have bits, and where.

    Attributes:
        of_user: Each user's bit: 64 times the word plus the place in it; -1 for those who have
            none, because adding their pairs one by one is faster.
        weights: uint64, one for each word: that of its users.
    """

    of_user: Ints
    weights: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, counts: Ints, weights: Ints, size: int) -> Slots:
        """The slots of users with `counts` items of `size` and these weights."""
        of_user = np.full(len(counts), -1, np.int64)
        order = np.argsort(weights, kind="stable")
        order = order[counts[order] > 1]
        if not len(order):
            return cls(of_user, np.zeros(0, np.uint64))
        sorted_weights = weights[order]
        begins = np.flatnonzero(np.diff(sorted_weights, prepend=sorted_weights[0] - 1))
        users = np.diff(begins, append=len(order))
        pairs = np.add.reduceat(counts[order] * (counts[order] + 1) // 2, begins)
        words = -(-users // _BITS)
        dense = pairs * _PER_PAIR > words * (size * (size + 1) / 2)
        words = np.where(dense, words, 0)
        # Each group begins with a word of its own.
        first = np.cumsum(words) - words
        rank = np.arange(len(order)) - np.repeat(begins, users)
        slots = np.repeat(first, users) * _BITS + rank
        chosen = np.repeat(dense, users)
        of_user[order[chosen]] = slots[chosen]
        return cls(of_user, np.repeat(sorted_weights[begins], words).astype(np.uint64))

    def chunks(self, size: int) -> Iterator[tuple[int, int]]:
        """Words whose rows are made at a time: the first, and the one after the last."""
        step = max(_ROWS // (8 * size) // _TILE, 1) * _TILE
        for first in range(0, len(self.weights), step):
            yield first, min(first + step, len(self.weights))


def bit_rows(
    starts: Ints, items: npt.NDArray[np.int32], slots: Slots, words: tuple[int, int], size: int
) -> npt.NDArray[np.uint64]:
    """Rows of bits of all items, tile after tile, for some of the words."""
    first, last = words
    rows = np.zeros((-(-(last - first) // _TILE), size, _TILE), np.uint64)
    _set_bits(starts, items, slots.of_user, first * _BITS, last * _BITS, rows)
    return rows


def add_common(
    rows: npt.NDArray[np.uint64], weights: npt.NDArray[np.uint64], first: int, last: int, out: Ints
) -> None:
    """Add what the users of some words add to the rows `first` to before `last` of a triangle.

    Args:
        rows: Of bits, from `bit_rows`.
        weights: Of these words.
        first: A row of the triangle.
        last: The row after the last.
        out: The packed triangle; modulo 2^64, like all sums.
    """
    padded = np.zeros((len(rows), _TILE), np.uint64)
    padded.reshape(-1)[: len(weights)] = weights
    _add_tiles(rows, padded, first, last, out)


@nb.njit(cache=True, nogil=True)
def _set_bits(starts, items, slots, first, last, rows) -> None:  # type: ignore[no-untyped-def]
    for user in range(len(slots)):
        if first <= slots[user] < last:
            slot = slots[user] - first
            word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
            tile = rows[word // _TILE]
            for n in range(starts[user], starts[user + 1]):
                if items[n] >= 0:
                    tile[items[n], word % _TILE] |= bit


@nb.njit(cache=True, nogil=True)
def _add_tiles(rows, weights, first, last, out) -> None:  # type: ignore[no-untyped-def]
    """Four rows at a time, so that a word that was fetched is used four times."""
    size = rows.shape[1]
    for tile in range(len(rows)):
        bits, weight = rows[tile], weights[tile]
        row = first
        while row < last:
            many = min(4, last - row)
            a, b = bits[row], bits[row + min(1, many - 1)]
            c, d = bits[row + min(2, many - 1)], bits[row + min(3, many - 1)]
            for item in range(row, size):
                other = bits[item]
                of_a, of_b = np.uint64(0), np.uint64(0)
                of_c, of_d = np.uint64(0), np.uint64(0)
                for word in range(_TILE):
                    theirs, each = other[word], weight[word]
                    of_a += _popcount(a[word] & theirs) * each
                    of_b += _popcount(b[word] & theirs) * each
                    of_c += _popcount(c[word] & theirs) * each
                    of_d += _popcount(d[word] & theirs) * each
                # Row after row of the triangle, each as far as it reaches.
                at = row * size - row * (row + 1) // 2 + item
                out[at] += np.int64(of_a)
                if many > 1 and item > row:
                    at += size - row - 1
                    out[at] += np.int64(of_b)
                    if many > 2 and item > row + 1:
                        at += size - row - 2
                        out[at] += np.int64(of_c)
                        if many > 3 and item > row + 2:
                            at += size - row - 3
                            out[at] += np.int64(of_d)
            row += many
