"""Neighbours and their weights where the covariance of two items is F_i F_j, many targets at once.

A target's system is too small to fill a processor's vectors. So targets stand side by side, a lane
each, whosever they are: neighbours are chosen target by target, and the systems are built and
solved for all lanes together. The last axis of the arrays in `Lanes` is the lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from discreet.predict._knn_kernels import PIVOT, edge_of, nearest

Singles = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LANES = 64
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_STEP = 4
"""Factors are multiplied four at a time; rank is filled up with zeros to a multiple."""


class Own(NamedTuple):
    """What a person's own ratings tell the kernels; made by `prepare`."""

    items: npt.NDArray[np.int32]
    rows: Singles
    """Factors of the own items."""
    columns: Singles
    """The same, a column for each own item."""
    spreads: Singles
    """The variances F_j F_j + s_j of the own ratings."""
    similarities: Singles


class Lanes(NamedTuple):
    """Room for the systems; `chosen`, `counts` and `a` hold the result."""

    keys: Ints
    chosen: Ints
    """[lane, n]: places of the neighbours among the own items."""
    counts: Ints
    put: Singles
    """[lane, n, f]: the neighbours' factors, and after them the target's."""
    near: Singles
    """[n, f, lane]: the same, turned."""
    A: Singles
    a: Singles
    """[n, lane]: the neighbours' weights; 0 from a lane's count on."""


@numba.njit(cache=True)
def make_lanes(neighbours: int, rank: int) -> Lanes:
    """Empty lanes: each is a system whose solution is 0."""
    padded = -(-rank // _STEP) * _STEP
    return Lanes(
        np.empty(neighbours, np.int64),
        np.zeros((LANES, neighbours), np.int64),
        np.zeros(LANES, np.int64),
        np.zeros((LANES, neighbours + 1, padded), np.float32),
        np.empty((neighbours + 1, padded, LANES), np.float32),
        np.ones((neighbours, neighbours, LANES), np.float32),
        np.zeros((neighbours, LANES), np.float32),
    )


@numba.njit(cache=True)
def prepare(factors: Singles, noise: Floats, items: npt.NDArray[np.int32]) -> Own:
    """What all targets of a person share."""
    rank = factors.shape[1]
    padded = -(-rank // _STEP) * _STEP
    rows = np.zeros((len(items), padded), np.float32)
    columns = np.zeros((padded, len(items)), np.float32)
    spreads = np.empty(len(items), np.float32)
    for j in range(len(items)):
        spreads[j] = noise[items[j]]
        for f in range(rank):
            rows[j, f] = factors[items[j], f]
    for f in range(rank):
        for j in range(len(items)):
            columns[f, j] = rows[j, f]
            spreads[j] += rows[j, f] * rows[j, f]
    return Own(items, rows, columns, spreads, np.empty(len(items), np.float32))


@numba.njit(cache=True, fastmath=True, error_model="numpy")
def measure_similarities(own: Own, item: int, goal: Singles) -> None:
    """How much of the target's variance each own rating explains: (F_i F_j)^2 / (F_j F_j + s_j)."""
    out, spreads, items, columns = own.similarities, own.spreads, own.items, own.columns
    out[:] = _ZERO
    for f in range(0, len(goal), _STEP):
        g0, g1, g2, g3 = goal[f], goal[f + 1], goal[f + 2], goal[f + 3]
        c0, c1, c2, c3 = columns[f], columns[f + 1], columns[f + 2], columns[f + 3]
        for j in range(len(out)):
            out[j] += g0 * c0[j] + g1 * c1[j] + g2 * c2[j] + g3 * c3[j]
    for j in range(len(out)):
        out[j] = _ZERO if items[j] == item else out[j] * out[j] / spreads[j]


@numba.njit(cache=True)
def choose(own: Own, lanes: Lanes, lane: int) -> int:
    """Fill a lane's `chosen` with the places of the largest positive similarities, in any order.

    Returns how many there are. A positive float's bits rise with its value, so that bits are
    compared. The earlier place wins among equals.
    """
    chosen = lanes.chosen[lane]
    bits = own.similarities.view(np.int32)
    edge = edge_of(bits, len(chosen))
    count = 0
    for place in range(len(bits)):
        if bits[place] > edge:
            if count == len(chosen):
                return int(nearest(own.similarities, lanes.keys, chosen))
            chosen[count] = place
            count += 1
    return count


@numba.njit(cache=True)
def fill_lane(own: Own, item: int, factors: Singles, ridge: float, lanes: Lanes, lane: int) -> None:
    """Choose the neighbours of a target, which is not its own neighbour, and put it into a lane."""
    put, A, chosen, rows, spreads = lanes.put[lane], lanes.A, lanes.chosen, own.rows, own.spreads
    goal = put[len(A)]
    for f in range(factors.shape[1]):
        goal[f] = factors[item, f]
    measure_similarities(own, item, goal)
    count = choose(own, lanes, lane)
    lanes.counts[lane] = count
    for n in range(count):
        place = chosen[lane, n]
        A[n, n, lane] = spreads[place] + ridge
        for f in range(len(goal)):
            put[n, f] = rows[place, f]
    for n in range(count, len(A)):
        A[n, n, lane] = _ONE
        for f in range(len(goal)):
            put[n, f] = _ZERO


@numba.njit(cache=True, fastmath=True)
def _add_dots(x: Singles, y: Singles, out: Singles) -> None:
    out[:] = _ZERO
    for f in range(0, len(x), _STEP):
        for lane in range(LANES):
            out[lane] += (
                x[f, lane] * y[f, lane]
                + x[f + 1, lane] * y[f + 1, lane]
                + x[f + 2, lane] * y[f + 2, lane]
                + x[f + 3, lane] * y[f + 3, lane]
            )


@numba.njit(cache=True, fastmath=True)
def _subtract(factor: Singles, row: Singles, out: Singles) -> None:
    for lane in range(LANES):
        out[lane] -= factor[lane] * row[lane]


@numba.njit(cache=True, fastmath=True)
def _scale(factor: Singles, out: Singles) -> None:
    for lane in range(LANES):
        out[lane] *= factor[lane]


@numba.njit(cache=True, fastmath=True, error_model="numpy")
def _invert_pivots(pivots: Singles, least: Singles) -> None:
    for lane in range(LANES):
        fine = pivots[lane] > least[lane]
        pivots[lane] = _ONE / np.sqrt(pivots[lane]) if fine else _ZERO


@numba.njit(cache=True)
def solve_lanes(lanes: Lanes) -> None:
    """Put the weights into a, for all lanes. A is used up.

    A = R^T R above the diagonal, as in `factorize`: a pivot that falls below a share of its
    variance is given up, and its weight is 0.
    """
    A, a, near, put = lanes.A, lanes.a, lanes.near, lanes.put
    size = len(A)
    least = np.empty((size, LANES), np.float32)
    for n in range(size + 1):
        for f in range(near.shape[1]):
            for lane in range(LANES):
                near[n, f, lane] = put[lane, n, f]
    for p in range(size):
        least[p] = A[p, p]
        least[p] *= np.float32(PIVOT)
        _add_dots(near[p], near[size], a[p])
        for c in range(p + 1, size):
            _add_dots(near[p], near[c], A[p, c])
    for p in range(size):
        _invert_pivots(A[p, p], least[p])
        _scale(A[p, p], a[p])
        for c in range(p + 1, size):
            _scale(A[p, p], A[p, c])
            _subtract(A[p, c], a[p], a[c])
        for r in range(p + 1, size):
            for c in range(r, size):
                _subtract(A[p, r], A[p, c], A[r, c])
    for p in range(size - 1, -1, -1):
        for c in range(p + 1, size):
            _subtract(A[p, c], a[c], a[p])
        _scale(A[p, p], a[p])
