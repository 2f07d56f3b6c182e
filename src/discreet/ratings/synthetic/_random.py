"""A seeded generator without state: draw number n of stream s is a hash of (s, n).

Any user's ratings can thus be made alone, in any order and on any thread, always the same. The
hash is the finaliser of SplitMix64. It is public and predictable: right for made-up data, and
never to be used for noise that protects anybody.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

PROPOSAL = np.uint64(2)
RACE = np.uint64(3)
TASTE = np.uint64(4)
HABIT = np.uint64(5)
NOISE = np.uint64(6)
CALENDAR = np.uint64(7)
TIMES = np.uint64(8)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_S12 = np.uint64(12)
_HALF = 0.5
_UNIT = 2.0**-52
_TURN = 2.0 * math.pi


@njit(cache=True)
def mix(x: Any) -> Any:
    """A bijection of 64 bits that looks random."""
    x = (x ^ (x >> _S30)) * _FIRST
    x = (x ^ (x >> _S27)) * _SECOND
    return x ^ (x >> _S31)


@njit(cache=True)
def stream(seed: Any, purpose: Any, user: int) -> Any:
    """The name of a user's stream for one purpose."""
    return mix(mix(seed + purpose * _GOLDEN) + np.uint64(user) * _GOLDEN)


@njit(cache=True)
def uniform(name: Any, n: int) -> float:
    """Draw number n of a stream, strictly between 0 and 1.

    52 bits and a half are exact in a double; with one bit more, the largest would round to 1.
    """
    return (float(mix(name + np.uint64(n + 1) * _GOLDEN) >> _S12) + _HALF) * _UNIT


@njit(cache=True)
def normal(name: Any, n: int) -> float:
    """Draw number n of a stream, standard normal (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(uniform(name, 2 * n)))
    return radius * math.cos(_TURN * uniform(name, 2 * n + 1))
