"""Symmetric matrices stored as their upper triangle, row after row, diagonal included."""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError


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
    """The upper triangle of a symmetric matrix; what lies below the diagonal is not looked at."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a triangle is taken from a square matrix, not from shape {matrix.shape}")
    packed = np.empty(packed_size(len(matrix)), np.float32)
    _pack(matrix, packed)
    return packed


def unpack(
    packed: npt.NDArray[np.floating], dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.floating]:
    """The whole symmetric matrix from its upper triangle."""
    side = packed_side(len(packed))
    if side is None:
        raise InputError(f"no triangle of a square matrix has {len(packed):,} entries")
    matrix = np.empty((side, side), dtype)
    _unpack(packed, matrix)
    return matrix


@numba.njit(cache=True, parallel=True)
def _pack(matrix: npt.NDArray[np.floating], packed: npt.NDArray[np.float32]) -> None:
    side = len(matrix)
    for i in numba.prange(side):
        begin = i * side - i * (i - 1) // 2
        for j in range(i, side):
            packed[begin + j - i] = matrix[i, j]


@numba.njit(cache=True, parallel=True)
def _unpack(packed: npt.NDArray[np.floating], matrix: npt.NDArray[np.floating]) -> None:
    side = len(matrix)
    for i in numba.prange(side):
        begin = i * side - i * (i - 1) // 2
        for j in range(i, side):
            matrix[i, j] = packed[begin + j - i]
            matrix[j, i] = packed[begin + j - i]
