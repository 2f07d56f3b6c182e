"""Exact coins and exact uniform integers.

Probabilities are computed by mpmath, whose exp, log and erf are right to any precision. A coin is
tossed with a float where the float is sure, and with as many bits as it takes where it is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.privacy._receipt import Randomness

# How close to its probability a coin is settled exactly: far above a double's error of 2^-53, and
# seldom enough (one coin in 2^39) to cost nothing. Chosen by hand.
_MARGIN = 2.0**-40
# Bits of an exact probability that are computed beyond those compared, and its assumed error in the
# same units: mpmath loses a few bits at most. Chosen for safety.
GUARD = 40

_lock = threading.RLock()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with this many bits inside the block.

    mpmath keeps its precision in one place for all threads, so the others wait.
    """
    with _lock, mpmath.workprec(bits):
        yield


def flip_coins(
    exact: Callable[[], Any], count: int, randomness: Randomness, *, margin: float = _MARGIN
) -> npt.NDArray[np.bool_]:
    """Independent coins that are True with the probability that `exact` computes with mpmath.

    Args:
        exact: The probability, at mpmath's working precision. It may lose a few of its last bits.
        count: How many coins.
        randomness: Where the bits come from.
        margin: How close to the probability a coin's first 64 bits are looked at exactly.
    """
    with precision(64):
        probability = float(exact())
    words = randomness.words(count)
    uniform = words.astype(np.float64) * 2.0**-64
    heads = uniform < probability
    for i in np.flatnonzero(np.abs(uniform - probability) <= margin):
        heads[i] = below_exactly(int(words[i]), 64, exact, randomness)
    return heads


def below_exactly(
    leading: int, bits: int, exact: Callable[[], Any], randomness: Randomness
) -> bool:
    """Whether the uniform number that begins with these bits is below `exact()`."""
    while True:
        with precision(bits + 2 * GUARD):
            threshold, slack = exact(), mpmath.ldexp(1, -bits - GUARD)
            if mpmath.ldexp(leading + 1, -bits) <= threshold - slack:
                return True
            if mpmath.ldexp(leading, -bits) >= threshold + slack:
                return False
        leading, bits = leading << 64 | randomness.bits(64), bits + 64


def draw_below(bound: int, count: int, randomness: Randomness) -> npt.NDArray[np.int64]:
    """Independent integers, uniform on 0..bound-1, without the bias of a remainder."""
    fair = np.uint64(2**64 - 2**64 % bound - 1)  # words up to here hold every remainder as often
    words = randomness.words(count)
    while len(again := np.flatnonzero(words > fair)):
        words[again] = randomness.words(len(again))
    return (words % np.uint64(bound)).astype(np.int64)
