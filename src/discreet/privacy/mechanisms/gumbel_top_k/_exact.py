"""The same choice to any precision, from the same bits and as many more as it takes."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.privacy._randomness import Randomness
from discreet.privacy.noise import precision

_MORE = 64
_GUARD = 40


def top_k(
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
        with precision(bits + 2 * _GUARD):
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
    low, high = _gumbel(leading + 1, bits), _gumbel(leading, bits)
    slack = mpmath.ldexp(1, -bits)
    return shift + low - slack, shift + high + slack


def _gumbel(numerator: int, bits: int) -> Any:
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
