"""Integer noise whose law is exact: a fast table, and exact arithmetic where the table is not sure.

A kernel never guesses. Where the table's or the float's error could change the answer it says so,
and the draw is settled from the same bits, and as many more as it takes. See PROOF.md.

The two laws come first, each in floats and to any precision. A law is symmetric. Its magnitude |k|
is drawn from cells of `2^shift` integers each: first a cell, by inverting the cumulative
distribution at the cells' upper edges, then a place within the cell, uniformly, which is accepted
with the probability 1 - reject(cell, place). With shift 0 a cell is one integer and there is
nothing to reject.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import mpmath
import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._receipt import Randomness
from discreet.privacy.noise._choices import GUARD, precision

# The smallest and largest sigma or scale, in grid units: a draw of 2^10 scales stays far inside 64
# bits.
MIN_SCALE, MAX_SCALE = 2.0**-20, 2.0**50
# A scale holds 2^8 to 2^9 cells: rejections stay below 4 %, and a table fits into the cache.
_CELLS_PER_SCALE_LOG2 = 8


def _erf(points: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """The C library's, right to some 2^-52; a few thousand points. SciPy takes longer to load."""
    return np.array([math.erf(point) for point in points.tolist()])


@dataclass(frozen=True)
class Law(abc.ABC):
    """A symmetric law on the integers with a scale.

    Args:
        scale: In grid units, from 2^-20 to 2^50.
    """

    scale: float

    def __post_init__(self) -> None:
        if not MIN_SCALE <= self.scale <= MAX_SCALE:
            raise InputError(
                f"noise needs a scale from 2^-20 to 2^50 grid units, not {self.scale:g}"
            )

    @cached_property
    def shift(self) -> int:
        """The base-2 logarithm of a cell's width: the scale holds 2^8 to 2^9 cells."""
        return max(0, math.frexp(self.scale)[1] - 1 - _CELLS_PER_SCALE_LOG2)

    @abc.abstractmethod
    def edges(self) -> npt.NDArray[np.float64]:
        """P(|k| within cells 0..c) for each c until the tail is below 2^-43; error below 2^-48."""

    @abc.abstractmethod
    def exact_edge(self, cell: int) -> Any:
        """P(|k| within cells 0..cell) at mpmath's working precision; 0 for cell -1."""

    @abc.abstractmethod
    def exact_reject(self, cell: int, place: Any) -> Any:
        """The rejection probability at `place` in [0, 1) of the cell.

        It is monotone between any two places that give the same integer.
        """


@dataclass(frozen=True)
class GaussianLaw(Law):
    """Round(N(0, scale^2)): P(k) = Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale).

    Cells of a fine table (shift 0) are the integers themselves, edges at k + 1/2. Cells of a coarse
    one cut the half-line of |N| at multiples of their width; the integer is the rounded place.
    """

    @property
    def step(self) -> float:
        """A cell's width in scales."""
        return math.ldexp(1.0, self.shift) / self.scale

    def edges(self) -> npt.NDArray[np.float64]:
        reach = math.sqrt(2) * 5.6  # erfc(5.6) < 2^-44
        if self.shift == 0:
            cells = np.arange(math.ceil(reach * self.scale) + 1)
            return _erf((cells + 0.5) / (self.scale * math.sqrt(2)))
        cells = np.arange(1, math.ceil(reach / self.step) + 2)
        return _erf(cells * (self.step / math.sqrt(2)))

    def exact_edge(self, cell: int) -> Any:
        if cell < 0:
            return mpmath.mpf(0)
        twice_edge = 2 * cell + 1 if self.shift == 0 else 2 * (cell + 1) << self.shift
        return mpmath.erf(mpmath.mpf(twice_edge) / (2 * self._exact_scale * mpmath.sqrt(2)))

    def exact_reject(self, cell: int, place: Any) -> Any:
        step = mpmath.mpf(1 << self.shift) / self._exact_scale
        return -mpmath.expm1(-place * (2 * cell + place) * step * step / 2)

    @property
    def _exact_scale(self) -> Any:
        return mpmath.mpf(self.scale)


@dataclass(frozen=True)
class GeometricLaw(Law):
    """The two-sided geometric: P(k) = (1 - q)/(1 + q) q^|k| with q = exp(-1/scale).

    P(|k| <= m) = 1 - 2 q^(m+1)/(1 + q). In cell 0 the integer 0 has one sign and the others have
    two, so that 0 is accepted half as often as its place would say.
    """

    def edges(self) -> npt.NDArray[np.float64]:
        width = math.ldexp(1.0, self.shift)
        cells = np.arange(1, math.ceil(31 * self.scale / width) + 2)  # 2 e^-31 < 2^-43
        survival = 2 * np.exp(-cells * (width / self.scale)) / (1 + math.exp(-1 / self.scale))
        return 1 - survival  # type: ignore[no-any-return]

    def exact_edge(self, cell: int) -> Any:
        if cell < 0:
            return mpmath.mpf(0)
        rate = -1 / mpmath.mpf(self.scale)
        return 1 - 2 * mpmath.exp(rate * ((cell + 1) << self.shift)) / (1 + mpmath.exp(rate))

    def exact_reject(self, cell: int, place: Any) -> Any:
        integer = int(mpmath.floor(place * (1 << self.shift)))
        if cell == 0 and integer == 0:
            return mpmath.mpf(1) / 2
        return -mpmath.expm1(-mpmath.mpf(integer) / mpmath.mpf(self.scale))


# What a kernel says of a draw.
DONE, REJECTED, UNSURE_PLACE, UNSURE_CELL = 0, 1, 2, 3
# Which law a kernel draws from.
GAUSSIAN, GEOMETRIC = 0, 1
_KIND = {GaussianLaw: GAUSSIAN, GeometricLaw: GEOMETRIC}

# Draws at once: at 20 bytes each the random bits of a chunk stay in the cache. Chosen by hand.
_CHUNK = 1 << 15
# In units of 2^-63, as a power of two: how close to a cell's edge a draw is settled exactly. The
# table's error is below 2^-48 (PROOF.md): 2^-44 leaves a factor of 16 to spare.
_MARGIN_LOG2 = 63 - 44
# A coin has 32 bits.
_COIN = 2.0**32
# In units of 2^-32: one for the coin's own interval, two for all float errors (PROOF.md).
_SURE = 3.0
# Above every rejection probability of a table's cells, 0.04: most coins need no exponential.
_QUICK = np.uint32(0.04 * _COIN)
# Bits that are drawn at a time where those so far do not decide.
_MORE = 64


@dataclass(frozen=True, eq=False)
class _Table:
    kind: int
    shift: int
    step: float
    thresholds: npt.NDArray[np.uint64]
    guide: npt.NDArray[np.int32]


@lru_cache(maxsize=32)
def _table(law: Law) -> _Table:
    edges = np.maximum.accumulate(np.clip(law.edges(), 0.0, 1.0))
    thresholds = (edges * 2.0**63).astype(np.uint64)
    step = 2.0**law.shift / law.scale
    return _Table(_KIND[type(law)], law.shift, step, thresholds, _guide_of(thresholds))


def _guide_of(thresholds: npt.NDArray[np.uint64], bits: int = 12) -> npt.NDArray[np.int32]:
    """For every value of the first `bits` bits, the first cell that can hold such a point."""
    starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(63 - bits)
    return np.searchsorted(thresholds, starts, side="right").astype(np.int32)


def draw_noise(
    law: Law, count: int, randomness: Randomness, *, margin_log2: int = _MARGIN_LOG2
) -> npt.NDArray[np.int64]:
    """Independent draws from the law.

    Args:
        law: Gaussian or geometric, with its scale.
        count: How many.
        randomness: Where the bits come from.
        margin_log2: How close to a cell's edge (in units of 2^-63) a draw is settled exactly; for
            tests, which widen it so that the rare path is taken often.
    """
    table = _table(law)
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        _fill(law, table, out[start : start + _CHUNK], randomness, np.uint64(1 << margin_log2))
    return out


def add_noise(law: Law, values: npt.NDArray[np.int64], randomness: Randomness) -> None:
    """Add independent draws to a flat array in place, a chunk at a time."""
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        chunk += draw_noise(law, len(chunk), randomness)


def _fill(
    law: Law,
    table: _Table,
    out: npt.NDArray[np.int64],
    randomness: Randomness,
    margin: np.uint64,
) -> None:
    n = len(out)
    words = randomness.words(n)
    coarse = n if table.shift else 0
    places, coins = randomness.words(coarse), randomness.half_words(coarse)
    which, cells, state = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int8)
    unfinished = _draw(
        table.kind, table.shift, table.step, table.thresholds, table.guide, margin,
        words, places, coins, out, which, cells, state,
    )  # fmt: skip
    if not unfinished:
        return
    which, cells, state = which[:unfinished], cells[:unfinished], state[:unfinished]
    words, magnitudes = words[which], np.abs(out[which])
    for i in np.flatnonzero(state == UNSURE_CELL):
        cells[i] = magnitudes[i] = exact_cell(law, int(words[i]) >> 1, 63, randomness)
        state[i] = REJECTED if table.shift else DONE
    if table.shift:
        _place(law, table, cells, state, places[which], coins[which], magnitudes, randomness)
    out[which] = np.where(words & np.uint64(1), -magnitudes, magnitudes)


def _place(
    law: Law,
    table: _Table,
    cells: npt.NDArray[np.int64],
    state: npt.NDArray[np.int8],
    places: npt.NDArray[np.uint64],
    coins: npt.NDArray[np.uint32],
    magnitudes: npt.NDArray[np.int64],
    randomness: Randomness,
) -> None:
    """Settle the unsure and redraw the rejected places until every draw has one."""
    while True:
        for i in np.flatnonzero(state == UNSURE_PLACE):
            place, coin = (int(places[i]), 64), (int(coins[i]), 32)
            accepted = exact_accept(law, int(cells[i]), place, coin, randomness)
            state[i] = DONE if accepted else REJECTED
        again = np.flatnonzero(state == REJECTED)
        if not len(again):
            return
        fresh = randomness.words(len(again)), randomness.half_words(len(again))
        places[again], coins[again] = fresh
        magnitudes[again], state[again] = _place_again(
            table.kind, table.shift, table.step, len(table.thresholds), cells[again], *fresh
        )


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
def _draw(  # type: ignore[no-untyped-def]
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
def _place_again(kind, shift, step, table_cells, cells, places, coins):  # type: ignore[no-untyped-def]
    """Magnitudes and verdicts of fresh places and coins for draws whose cells are settled."""
    magnitudes, state = np.empty(len(cells), np.int64), np.empty(len(cells), np.int8)
    for i in range(len(cells)):
        magnitudes[i], state[i] = _place_one(
            kind, shift, step, table_cells, cells[i], places[i], coins[i]
        )
    return magnitudes, state


# What a float cannot decide. Each function below knows a uniform number only by its first bits, as
# an interval. While the interval straddles the point in question, more bits are drawn. That ends
# with probability 1, and the answer has the law that infinitely many bits would give.


def exact_cell(law: Law, leading: int, bits: int, randomness: Randomness) -> int:
    """The cell of a uniform number whose first `bits` bits are `leading`."""
    while True:
        with precision(bits + 2 * GUARD):
            low = _cell_of(law, leading, bits)
            if low is not None and low == _cell_of(law, leading + 1, bits):
                return low
        leading, bits = _extend(leading, bits, randomness)


def exact_accept(
    law: Law, cell: int, place: tuple[int, int], coin: tuple[int, int], randomness: Randomness
) -> bool:
    """Whether coin >= reject(cell, place), both numbers given as (leading bits, how many)."""
    while True:
        with precision(max(place[1], coin[1]) + 2 * GUARD):
            slack = mpmath.ldexp(1, -max(place[1], coin[1]) - GUARD)
            ends = [
                law.exact_reject(cell, mpmath.ldexp(place[0], -place[1])),
                law.exact_reject(cell, _just_below(place[0] + 1, place[1])),
            ]
            if mpmath.ldexp(coin[0], -coin[1]) >= max(ends) + slack:
                return True
            if mpmath.ldexp(coin[0] + 1, -coin[1]) <= min(ends) - slack:
                return False
        place = _extend(*place, randomness)
        coin = _extend(*coin, randomness)


def _cell_of(law: Law, numerator: int, bits: int) -> int | None:
    """The cell that numerator/2^bits falls into, or None if it is too close to an edge to tell."""
    point, slack = mpmath.ldexp(numerator, -bits), mpmath.ldexp(1, -bits - GUARD)
    high = 1
    while law.exact_edge(high) <= point and high < 1 << 62:
        high *= 2
    low = -1  # edge(low) <= point < edge(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if law.exact_edge(middle) <= point else (low, middle)
    near = abs(law.exact_edge(low) - point) <= slack or abs(law.exact_edge(high) - point) <= slack
    return None if near and numerator else high


def _just_below(numerator: int, bits: int) -> mpmath.mpf:
    return mpmath.ldexp((numerator << GUARD) - 1, -bits - GUARD)


def _extend(leading: int, bits: int, randomness: Randomness) -> tuple[int, int]:
    return leading << _MORE | randomness.bits(_MORE), bits + _MORE
