"""The posterior mean of people's tastes."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict._linear_algebra import add_products, factorize, solve

Floats = npt.NDArray[np.float64]

_CHUNKS = 256
"""Into how many runs people are cut: enough to keep every core busy until the end."""
_BATCH = 16


@numba.njit(cache=True, fastmath=True)
def posterior_system(
    items: npt.NDArray[np.int32],
    residuals: Floats,
    factors: npt.NDArray[np.float32],
    precisions: Floats,
    A: Floats,
    b: Floats,
) -> None:
    """One person's system: A = I + sum F_j F_j^T / s_j, b = sum F_j x_j / s_j."""
    size = factors.shape[1]
    A[:] = 0.0
    b[:] = 0.0
    for p in range(size):
        A[p, p] = 1.0
    rows, scaled, own = np.zeros((_BATCH, size)), np.zeros((_BATCH, size)), np.zeros(_BATCH)
    for begin in range(0, len(items), _BATCH):
        count = min(_BATCH, len(items) - begin)
        scaled[count:] = 0.0
        for j in range(count):
            item = items[begin + j]
            own[j] = residuals[begin + j]
            for p in range(size):
                rows[j, p] = factors[item, p]
                scaled[j, p] = factors[item, p] * precisions[item]
        add_products(rows, scaled, own, A, b)


@numba.njit(cache=True)
def fold_in_range(
    first: int,
    last: int,
    starts: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    residuals: Floats,
    factors: npt.NDArray[np.float32],
    precisions: Floats,
    tastes: Floats,
) -> None:
    """Put the posterior mean of z into the rows of `tastes` from `first` to before `last`."""
    size = factors.shape[1]
    A, least = np.empty((size, size)), np.zeros(size)
    for person in range(first, last):
        begin, end = starts[person], starts[person + 1]
        own = items[begin:end]
        posterior_system(own, residuals[begin:end], factors, precisions, A, tastes[person])
        factorize(A, size, least)
        solve(A, size, tastes[person])


@numba.njit(cache=True, parallel=True)
def fold_in(
    starts: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    residuals: Floats,
    factors: npt.NDArray[np.float32],
    precisions: Floats,
    tastes: Floats,
) -> None:
    """Fill `tastes` with the posterior mean of every person's z, a row a person."""
    people = len(starts) - 1
    chunks = min(people, _CHUNKS)
    for chunk in numba.prange(chunks):
        first, last = chunk * people // chunks, (chunk + 1) * people // chunks
        fold_in_range(first, last, starts, items, residuals, factors, precisions, tastes)


@numba.njit(cache=True, fastmath=True)
def add_scores(taste: Floats, factors: npt.NDArray[np.float32], scores: Floats) -> None:
    """Add F_i z to every item's score."""
    for item in range(len(factors)):
        total = 0.0
        for p in range(len(taste)):
            total += taste[p] * factors[item, p]
        scores[item] += total


@numba.njit(cache=True, parallel=True, fastmath=True)
def pair_products(
    tastes: Floats,
    factors: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
) -> Floats:
    """F_i z for every pair of person and item."""
    products = np.empty(len(rows))
    for pair in numba.prange(len(rows)):
        total = 0.0
        for p in range(factors.shape[1]):
            total += tastes[rows[pair], p] * factors[items[pair], p]
        products[pair] = total
    return products
