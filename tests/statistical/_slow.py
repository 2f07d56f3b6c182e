"""A second opinion: signed inversion, one random bit at a time, over integers of 256 bits.

It shares nothing with the package but the random bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.privacy import Randomness

_PRECISION = 256
_MOST_BITS = 192


def rounded_below(sigma: float) -> Callable[[int], Any]:
    """P(round(N(0, sigma^2)) <= m) by mpmath's normal distribution function."""
    return lambda m: mpmath.ncdf((mpmath.mpf(m) + 0.5) / mpmath.mpf(sigma))


def geometric_below(scale: float) -> Callable[[int], Any]:
    """P(k <= m), summed from the definition: both tails are geometric series."""

    def below(m: int) -> Any:
        q = mpmath.exp(-1 / mpmath.mpf(scale))
        return q ** (-m) / (1 + q) if m < 0 else 1 - q ** (m + 1) / (1 + q)

    return below


def slow_draws(
    below: Callable[[int], Any], reach: int, count: int, randomness: Randomness
) -> npt.NDArray[np.int64]:
    """Draws by inversion on -reach..reach, beyond which there must be nothing but 2^-64 or so."""
    with mpmath.workprec(_PRECISION + 32):
        table = [int(below(m) * 2**_PRECISION) for m in range(-reach, reach)]
    return np.array([_one(table, randomness) - reach for _ in range(count)], dtype=np.int64)


def _one(table: list[int], randomness: Randomness) -> int:
    low = 0
    for used in range(1, _MOST_BITS):
        width = 1 << (_PRECISION - used)
        low += width * randomness.bits(1)
        place = bisect_right(table, low)
        if place == bisect_right(table, low + width - 1):
            return place
    raise AssertionError("192 bits did not decide a draw: that has probability 2^-180")
