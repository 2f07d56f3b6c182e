"""The fast path of integer noise: table inversion and one float comparison, or "not sure".

A kernel never guesses. Where the table's or the float's error could change the answer it says so,
and `_exact` settles the draw from the same bits.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
import numpy.typing as npt

DONE, REJECTED, UNSURE_PLACE, UNSURE_CELL = 0, 1, 2, 3

GAUSSIAN, GEOMETRIC = 0, 1

_COIN = 2.0**32
_SURE = 3.0  # in units of 2^-32: one for the coin's own interval, two for all float errors
_QUICK = np.uint32(0.04 * _COIN)  # above every rejection probability of a table's cells


@nb.njit(cache=True, nogil=True, inline="always")
def _place_one(kind, shift, step, cells, cell, place, coin):  # type: ignore[no-untyped-def]
    """Magnitude and verdict for one place (64 random bits) and one coin (32) in a cell."""
    if kind == GAUSSIAN:
        inside = ((place >> np.uint64(63 - shift)) + np.uint64(1)) >> np.uint64(1)
    else:
        inside = place >> np.uint64(64 - shift)
    magnitude = (cell << shift) + np.int64(inside)
    if kind == GEOMETRIC and magnitude == 0:
        return magnitude, DONE if coin >= np.uint32(1 << 31) else REJECTED
    if coin >= _QUICK and cell < cells:
        return magnitude, DONE
    if kind == GAUSSIAN:
        where = np.float64(place) * 2.0**-64
        exponent = where * (2.0 * cell + where) * step * step * 0.5
    else:
        exponent = np.float64(inside) * math.ldexp(step, -shift)
    reject = -math.expm1(-exponent) * _COIN
    if coin >= reject + _SURE:
        return magnitude, DONE
    if coin <= reject - _SURE:
        return magnitude, REJECTED
    return magnitude, UNSURE_PLACE


@nb.njit(cache=True, nogil=True)
def draw(  # type: ignore[no-untyped-def]
    kind, shift, step, thresholds, guide, margin, words, places, coins, out, which, cells_out, state
) -> int:
    """Fill `out` with signed draws; list the unfinished ones in `which` with cell and state.

    The lowest bit of a word is the sign, the other 63 choose the cell. Returns how many they are.
    """
    cells = len(thresholds)
    guide_shift = np.uint64(63 - int(math.log2(len(guide))))
    unfinished = 0
    for i in range(len(out)):
        point = words[i] >> np.uint64(1)
        cell = np.int64(guide[point >> guide_shift])
        while cell < cells and thresholds[cell] <= point:
            cell += 1
        verdict = DONE
        below = thresholds[cell - 1] if cell > 0 else np.uint64(0)
        near_below = cell > 0 and point - below <= margin
        if near_below or cell == cells or thresholds[cell] - point <= margin:
            verdict = UNSURE_CELL
        magnitude = cell
        if verdict == DONE and shift > 0:
            magnitude, verdict = _place_one(kind, shift, step, cells, cell, places[i], coins[i])
        out[i] = -magnitude if words[i] & np.uint64(1) else magnitude
        if verdict != DONE:
            cells_out[unfinished] = cell
            which[unfinished] = i
            state[unfinished] = verdict
            unfinished += 1
    return unfinished


@nb.njit(cache=True, nogil=True)
def place_again(kind, shift, step, table_cells, cells, places, coins):  # type: ignore[no-untyped-def]
    """Magnitudes and verdicts of fresh places and coins for draws whose cells are settled."""
    magnitudes, state = np.empty(len(cells), np.int64), np.empty(len(cells), np.int8)
    for i in range(len(cells)):
        magnitudes[i], state[i] = _place_one(
            kind, shift, step, table_cells, cells[i], places[i], coins[i]
        )
    return magnitudes, state


def guide_of(thresholds: npt.NDArray[np.uint64], bits: int = 12) -> npt.NDArray[np.int32]:
    """For every value of the first `bits` bits, the first cell that can hold such a point."""
    starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(63 - bits)
    return np.searchsorted(thresholds, starts, side="right").astype(np.int32)
