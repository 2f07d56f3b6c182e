"""Small symmetric systems, solved inside kernels."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@numba.njit(cache=True, fastmath=True)
def factorize(A: Floats, size: int, least: Floats) -> None:
    """Turn the upper triangle of A into R with R^T R = A, in place; all loops run along rows.

    A pivot that is not above `least` (rounding, or noise that made A indefinite) is given up: its
    unknown becomes 0 and the other equations go on as if it were not there. The diagonal of the
    result holds reciprocals; 0 marks what was given up.
    """
    for p in range(size):
        inverse = 1.0 / np.sqrt(A[p, p]) if A[p, p] > least[p] else 0.0
        A[p, p] = inverse
        for c in range(p + 1, size):
            A[p, c] *= inverse
        for r in range(p + 1, size):
            factor = A[p, r]
            for c in range(r, size):
                A[r, c] -= factor * A[p, c]


@numba.njit(cache=True, fastmath=True)
def solve(A: Floats, size: int, b: Floats) -> None:
    """Replace b by the solution of the system that `factorize` left in A."""
    for p in range(size):
        b[p] *= A[p, p]
        for c in range(p + 1, size):
            b[c] -= A[p, c] * b[p]
    for p in range(size - 1, -1, -1):
        total = b[p]
        for c in range(p + 1, size):
            total -= A[p, c] * b[c]
        b[p] = total * A[p, p]


@numba.njit(cache=True, fastmath=True)
def add_products(rows: Floats, scaled: Floats, values: Floats, A: Floats, b: Floats) -> None:
    """Add sum_j scaled_j rows_j^T to A and sum_j scaled_j values_j to b, four rows at a time.

    The number of rows is a multiple of four. Whole rows of A are summed, both triangles: loops of
    one length are faster than loops of half the length on average.
    """
    count, size = rows.shape
    for j in range(0, count, 4):
        for p in range(size):
            f0, f1, f2, f3 = scaled[j, p], scaled[j + 1, p], scaled[j + 2, p], scaled[j + 3, p]
            b[p] += f0 * values[j] + f1 * values[j + 1]
            b[p] += f2 * values[j + 2] + f3 * values[j + 3]
            for c in range(size):
                A[p, c] += (
                    f0 * rows[j, c]
                    + f1 * rows[j + 1, c]
                    + f2 * rows[j + 2, c]
                    + f3 * rows[j + 3, c]
                )
