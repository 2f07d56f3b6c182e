"""The normal distribution's functions that accounting needs, from the standard library alone.

Opening a release checks its epsilon, and loading SciPy for that would take longer than everything
else about it: an environment that only predicts does without.
"""

from __future__ import annotations

import math
from collections.abc import Callable

# From here on the continued fraction of erfcx converges fast, and below it e^(x^2) is exact to the
# last digits. Chosen by measuring errors against mpmath.
_FRACTION_FROM = 2.0
# Steps of a root finder that gains a digit or more a step; chosen for safety, never reached.
_MOST_STEPS = 200


def ndtr(x: float) -> float:
    """Phi(x), the normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def erfcx(x: float) -> float:
    """e^(x^2) erfc(x) for x from -1 on, good to 1e-15.

    From 2 on by Laplace's continued fraction, sqrt(pi) erfcx(x) = 1/(x + (1/2)/(x + (2/2)/(x +
    (3/2)/(x + ...)))), from its end; at x = 2 the hundredth term no longer changes anything.
    """
    if x < _FRACTION_FROM:
        return math.exp(x * x) * math.erfc(x)
    below = x
    # Terms needed fall with the square of x; measured, with a margin of two.
    for n in range(8 + int(400 / (x * x)), 0, -1):
        below = x + n / (2 * below)
    return 1 / (math.sqrt(math.pi) * below)


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that changes its sign between `low` and `high` is 0, to the last digits.

    The secant, with the value at an end that stays halved ("Illinois"), so that both ends move.
    Callers move what it returns to the safe side themselves.
    """
    at_low, at_high = function(low), function(high)
    for _ in range(_MOST_STEPS):
        if at_low == at_high or abs(high - low) <= 1e-15 * abs(high):
            break
        middle = high - at_high * (high - low) / (at_high - at_low)
        at_middle = function(middle)
        if at_middle == 0:
            return middle
        if (at_middle < 0) == (at_high < 0):
            at_low /= 2
        else:
            low, at_low = high, at_high
        high, at_high = middle, at_middle
    return high
