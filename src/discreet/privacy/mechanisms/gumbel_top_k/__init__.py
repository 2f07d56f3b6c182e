"""Choosing k items one after the other by the exponential mechanism, in one pass. See PROOF.md."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.privacy._receipt import Randomness
from discreet.privacy.mechanisms._selection import Moves, Selection
from discreet.privacy.noise import GUARD, precision

# Half the interval that 64 bits of a uniform number leave open.
_HALF_ULP = 2.0**-65
# Bits that are added to every item at a time where those so far do not decide.
_MORE = 64


class GumbelTopK(Selection):
    """Peeling: the first item with probability proportional to its weight, then the next one.

    The result is in the order of choosing. A score's weight is exp(score epsilon / divisor).
    """

    name = "Gumbel top-k"

    @property
    def divisor(self) -> int:
        """With `moves="one"` k s, with `moves="all"` 2 k s (PROOF.md)."""
        return (1 if self.moves is Moves.ONE else 2) * self.k * self.sensitivity

    def _choose(
        self,
        scores: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        chosen: npt.NDArray[np.int64],
        randomness: Randomness,
    ) -> None:
        sure = top_k_rows(scores, words, self.epsilon / self.divisor, chosen)
        for row in np.flatnonzero(~sure):
            chosen[row] = top_k_exactly(
                scores[row], words[row], self.epsilon, self.divisor, self.k, randomness
            )


@nb.njit(cache=True, nogil=True, inline="always")
def _gumbel(word):  # type: ignore[no-untyped-def]
    """A Gumbel number -log(-log(1 - u)) and a bound on its error, from the 64 bits of u.

    The error of u is 2^-65, so that of t = -log(1 - u) at most 2^-65/(1 - u - 2^-65), and the
    relative one of t is doubled for safety; all floating point errors stay below 2^-48. An infinite
    bound says that 64 bits are not enough.
    """
    u = (np.float64(word) + 0.5) * 2.0**-64
    v = (np.float64(~word) + 0.5) * 2.0**-64
    t = -math.log1p(-u) if u < 0.5 else -math.log(v)
    least = v - _HALF_ULP  # 0 for the last word, whose Gumbel number has no lower bound
    off = 2.0 * _HALF_ULP / least / t if least > 0.0 else math.inf
    error = math.inf if off > 0.25 else 2.0 * off
    gumbel = -math.log(t)
    return gumbel, error + 2.0**-48 * (1.0 + abs(gumbel))


@nb.njit(cache=True, nogil=True)
def _top_k_row(scores, words, rate, chosen, keys, errors):  # type: ignore[no-untyped-def]
    """Insert items into a sorted list of the k best; True if no error could change the outcome."""
    k = len(chosen)
    best = scores.max()
    filled = 0
    rivals = -math.inf  # the largest upper bound among items that are not in the list
    for item in range(len(scores)):
        shift = (scores[item] - best) * rate
        gumbel, error = _gumbel(words[item])
        key = shift + gumbel
        error += 2.0**-50 * abs(shift)
        if not error < math.inf:
            return False
        if filled == k and key <= keys[k - 1]:
            rivals = max(rivals, key + error)
            continue
        if filled == k:
            rivals = max(rivals, keys[k - 1] + errors[k - 1])
        else:
            filled += 1
        place = filled - 1
        while place > 0 and keys[place - 1] < key:
            keys[place], errors[place] = keys[place - 1], errors[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        keys[place], errors[place], chosen[place] = key, error, item
    for place in range(k - 1):
        if keys[place] - errors[place] <= keys[place + 1] + errors[place + 1]:
            return False
    return keys[k - 1] - errors[k - 1] > rivals


@nb.njit(cache=True, nogil=True, parallel=True)
def top_k_rows(scores, words, rate, chosen):  # type: ignore[no-untyped-def]
    """Fill `chosen` with the k best of each row, best first; which rows are beyond doubt."""
    rows, k = chosen.shape
    sure = np.empty(rows, np.bool_)
    for row in nb.prange(rows):
        keys, errors = np.empty(k), np.empty(k)
        sure[row] = _top_k_row(scores[row], words[row], rate, chosen[row], keys, errors)
    return sure


def top_k_exactly(
    scores: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    epsilon: float,
    divisor: int,
    k: int,
    randomness: Randomness,
) -> list[int]:
    """The k best of one row: bits are added to all items until the order of the k is certain."""
    leading, bits = [int(word) for word in words], 64
    best = int(scores.max())
    shifts = [int(score) - best for score in scores]
    while True:
        with precision(bits + 2 * GUARD):
            rate = mpmath.mpf(epsilon) / divisor
            bounds = [
                _bounds(u, bits, shift * rate) for u, shift in zip(leading, shifts, strict=True)
            ]
        order = sorted(range(len(bounds)), key=lambda item: bounds[item][0], reverse=True)
        if _certain(order, bounds, k):
            return order[:k]
        leading = [u << _MORE | randomness.bits(_MORE) for u in leading]
        bits += _MORE


def _bounds(leading: int, bits: int, shift: Any) -> tuple[Any, Any]:
    """The interval of shift + Gumbel(u), which falls from +inf to -inf as u goes from 0 to 1."""
    low, high = _exact_gumbel(leading + 1, bits), _exact_gumbel(leading, bits)
    slack = mpmath.ldexp(1, -bits)
    return shift + low - slack, shift + high + slack


def _exact_gumbel(numerator: int, bits: int) -> Any:
    if numerator == 0:
        return mpmath.inf
    if numerator == 1 << bits:
        return -mpmath.inf
    return -mpmath.log(-mpmath.log1p(-mpmath.ldexp(numerator, -bits)))


def _certain(order: list[int], bounds: list[tuple[Any, Any]], k: int) -> bool:
    """Whether each of the first k lies wholly above everything behind it."""
    highest_behind = max((bounds[item][1] for item in order[k:]), default=-mpmath.inf)
    for item in reversed(order[:k]):
        if not bounds[item][0] > highest_behind:
            return False
        highest_behind = max(highest_behind, bounds[item][1])
    return True
