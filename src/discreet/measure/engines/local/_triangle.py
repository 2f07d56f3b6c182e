"""The packed upper triangle: row after row, each from its diagonal on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit


def entries_in(size: int) -> int:
    """How many entries the triangle of so many items has."""
    return size * (size + 1) // 2


@njit(cache=True, nogil=True)
def row_base(size: int, row: int) -> int:
    """What to add to a column to find it in a row of the packed triangle."""
    return row * size - row * (row + 1) // 2


@njit(cache=True, nogil=True)
def add_block(block: Any, items: Any, size: int, out: Any) -> None:
    """Add `block[a, b]` for a <= b to the entry of the rising items a and b.

    The block holds whole numbers in floats.
    """
    for a in range(len(items)):
        base = row_base(size, items[a])
        for b in range(a, len(items)):
            out[base + items[b]] += np.int64(block[a, b])


@njit(cache=True)
def fill_square(packed: Any, items: Any, size: int, out: Any) -> None:
    """Fill the symmetric matrix `out` with the entries of all pairs of items."""
    for a in range(len(items)):
        for b in range(a, len(items)):
            low, high = min(items[a], items[b]), max(items[a], items[b])
            value = packed[row_base(size, low) + high]
            out[a, b] = value
            out[b, a] = value


def square(
    packed: npt.NDArray[np.int64], items: npt.NDArray[np.int64], size: int, kind: npt.DTypeLike
) -> npt.NDArray[Any]:
    """The symmetric matrix of some items, in their order, as numbers of some kind."""
    out = np.empty((len(items), len(items)), kind)
    fill_square(packed, items, size, out)
    return out
