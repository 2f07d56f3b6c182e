"""The k largest perturbed scores of each row, in floats with an error bound."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

_HALF_ULP = 2.0**-65  # half the interval that 64 bits leave open


@nb.njit(cache=True, nogil=True, inline="always")
def _gumbel(word):  # type: ignore[no-untyped-def]
    """A Gumbel number -log(-log(1 - u)) and a bound on its error, from the 64 bits of u.

    The error of u is 2^-65, so that of t = -log(1 - u) at most 2^-65/(1 - u - 2^-65), and the
    relative one of t is doubled for safety; all floating point errors stay below 2^-48. An infinite
    bound says that 64 bits do not tell.
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
def top_k(scores, words, rate, chosen):  # type: ignore[no-untyped-def]
    """Fill `chosen` with the k best of each row, best first; which rows are beyond doubt."""
    rows, k = chosen.shape
    sure = np.empty(rows, np.bool_)
    for row in nb.prange(rows):
        keys, errors = np.empty(k), np.empty(k)
        sure[row] = _top_k_row(scores[row], words[row], rate, chosen[row], keys, errors)
    return sure
