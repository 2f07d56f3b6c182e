"""Sums of products of users' values, for users who have many of the items.

Their values stand in the rows of a matrix X, mostly not 0, and X^T X has all their sums. Products
are whole numbers below 2^30, and no more are added up than doubles hold exactly: so the library
that multiplies may do it in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

# Users with at least this part of the items, whose m^2/2 pairs take longer than a row of X^T X.
# Measured on x86-64 with AVX-512; it changes the time and never the sums.
_PART = 0.25
# The most items: a matrix of doubles of as many rows and columns takes 128 MiB. Chosen by hand.
_MOST_ITEMS = 4096
# Bytes of X. Chosen by hand.
_BYTES = 1 << 25


def have_many(counts: Ints, size: int) -> npt.NDArray[np.bool_]:
    """Which users are to be added as rows, by how many of the items they have."""
    if size > _MOST_ITEMS:
        return np.zeros(len(counts), np.bool_)
    many = (counts >= max(_PART * size, 2)) & (counts > 0)
    # A few are not worth a product of whole matrices.
    pairs = counts[many] * (counts[many] + 1) // 2
    return many if pairs.sum() > size * size else np.zeros(len(counts), np.bool_)


def row_blocks(users: Ints, size: int) -> Iterator[Ints]:
    """The users, some at a time."""
    # 2^20 products below 2^30 add up to less than 2^53.
    step = min(max(_BYTES // (8 * size), 1), 1 << 20)
    for first in range(0, len(users), step):
        yield users[first : first + step]


def add_rows(
    starts: Ints,
    items: npt.NDArray[np.int32],
    values: npt.NDArray[np.int16],
    users: Ints,
    size: int,
    out: Ints,
) -> None:
    """Add the products of these users' values to a packed triangle.

    Args:
        starts: Where each user's entries begin.
        items: Below `size`; none is negative.
        values: One for each.
        users: Whose, at most 2^20 of them.
        size: The number of items.
        out: The triangle.
    """
    rows = np.zeros((len(users), size))
    _fill(starts, items, values, users, rows)
    _add_upper(rows.T @ rows, out)


@nb.njit(cache=True, nogil=True)
def _fill(starts: Any, items: Any, values: Any, users: Any, rows: Any) -> None:
    for row in range(len(users)):
        for n in range(starts[users[row]], starts[users[row] + 1]):
            rows[row, items[n]] = values[n]


@nb.njit(cache=True, nogil=True)
def _add_upper(square: Any, out: Any) -> None:
    at = 0
    for row in range(len(square)):
        for column in range(row, len(square)):
            out[at] += np.int64(square[row, column])
            at += 1
