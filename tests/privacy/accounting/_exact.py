"""The truth in many digits: hockey-stick divergences computed by mpmath from their definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mpf

BITS = 260


def below(x: Any) -> Any:
    """The normal distribution function, exact in both tails."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gaussian_delta(mu: float | Any, epsilon: float | Any) -> Any:
    """max over S of P(S) - e^eps Q(S) for P = N(mu, 1), Q = N(0, 1).

    The best S is where P's density is above e^eps times Q's: x > eps/mu + mu/2.
    """
    with mpmath.workprec(BITS + max(0, round(-4 * math.log2(mu)))):
        mu, epsilon = mpf(mu), mpf(epsilon)
        cut = epsilon / mu + mu / 2
        return below(mu - cut) - mpmath.exp(epsilon) * below(-cut)


def coins(epsilon: float, count: int) -> list[tuple[Any, Any]]:
    """Randomized response `count` times over: (probability, privacy loss) of each outcome."""
    p = 1 / (1 + mpmath.exp(-mpf(epsilon)))
    return [
        (mpmath.binomial(count, k) * p**k * (1 - p) ** (count - k), (2 * k - count) * mpf(epsilon))
        for k in range(count + 1)
    ]


def mixed_delta(epsilon: float, count: int, mu: float, at: float | Any) -> Any:
    """The delta of randomized response `count` times over and a Gaussian mechanism together.

    Given an outcome of the coins, with loss L, what is left is P - e^(at - L) Q of the Gaussian.
    """
    with mpmath.workprec(BITS):
        return sum(p * gaussian_delta(mu, mpf(at) - loss) for p, loss in coins(epsilon, count))


def smallest(is_valid: Callable[[Any], bool], high: float) -> float:
    """The smallest epsilon of [0, high] that is valid, by bisection; high must be."""
    assert is_valid(mpf(high))
    low, high = mpf(0), mpf(high)
    if is_valid(low):
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if is_valid(middle) else (middle, high)
    return float(high)
