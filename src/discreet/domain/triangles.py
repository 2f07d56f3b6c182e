"""Symmetric matrices stored as their upper triangle, row after row, diagonal included.

Kernels have the place of a row, `i n - i (i + 1)/2`, written out: they are compiled without this.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain.errors import InputError

# Side of the square tiles in which a matrix is mirrored: two of 256 x 256 float64 fit into a
# 1 MiB cache. Chosen by hand; it does not change results.
_TILE = 256


def packed_size(side: int) -> int:
    """How many entries the upper triangle of a matrix with this many rows has."""
    return side * (side + 1) // 2


def packed_side(size: int) -> int | None:
    """How many rows a matrix has whose upper triangle has `size` entries; None if none does."""
    side = (math.isqrt(8 * size + 1) - 1) // 2
    return side if packed_size(side) == size else None


def packed_bases(side: int) -> npt.NDArray[np.int64]:
    """Where rows begin: with i <= j, entry (i, j) is at `bases[i] + j`."""
    rows = np.arange(side, dtype=np.int64)
    return rows * (2 * side - rows - 1) // 2


def pack(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """The upper triangle of a symmetric matrix; entries below the diagonal are not read."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a triangle is taken from a square matrix, not from shape {matrix.shape}")
    side = len(matrix)
    packed = np.empty(packed_size(side), np.float32)
    for row, base in enumerate(packed_bases(side).tolist()):
        packed[base + row : base + side] = matrix[row, row:]
    return packed


def unpack(packed: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """The whole symmetric matrix from its upper triangle."""
    side = packed_side(len(packed))
    if side is None:
        raise InputError(f"no triangle of a square matrix has {len(packed):,} entries")
    matrix = np.zeros((side, side), dtype)
    for row, base in enumerate(packed_bases(side).tolist()):
        matrix[row, row:] = packed[base + row : base + side]
    for begin in range(0, side, _TILE):
        across = slice(begin, begin + _TILE)
        corner = matrix[across, across]
        corner += np.triu(corner, 1).T
        for below in range(begin + _TILE, side, _TILE):
            down = slice(below, below + _TILE)
            matrix[down, across] = matrix[across, down].T
    return matrix
