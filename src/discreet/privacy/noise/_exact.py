"""What a float cannot decide: comparisons settled to any precision, with as many bits as they take.

Each function knows a uniform number only by its first bits, that is, as an interval. While the
interval straddles the point in question, more bits are drawn. It ends with probability 1, and the
answer has the law that infinitely many bits would give.
"""

from __future__ import annotations

import mpmath

from discreet.privacy._randomness import Randomness
from discreet.privacy.noise._laws import Law
from discreet.privacy.noise._precision import precision

_MORE = 64
_GUARD = 40


def exact_cell(law: Law, leading: int, bits: int, randomness: Randomness) -> int:
    """The cell of a uniform number whose first `bits` bits are `leading`."""
    while True:
        with precision(bits + 2 * _GUARD):
            low = _cell_of(law, leading, bits)
            if low is not None and low == _cell_of(law, leading + 1, bits):
                return low
        leading, bits = _extend(leading, bits, randomness)


def exact_accept(
    law: Law, cell: int, place: tuple[int, int], coin: tuple[int, int], randomness: Randomness
) -> bool:
    """Whether coin >= reject(cell, place), both numbers given as (leading bits, how many)."""
    while True:
        with precision(max(place[1], coin[1]) + 2 * _GUARD):
            slack = mpmath.ldexp(1, -max(place[1], coin[1]) - _GUARD)
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
    point, slack = mpmath.ldexp(numerator, -bits), mpmath.ldexp(1, -bits - _GUARD)
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
    return mpmath.ldexp((numerator << _GUARD) - 1, -bits - _GUARD)


def _extend(leading: int, bits: int, randomness: Randomness) -> tuple[int, int]:
    return leading << _MORE | randomness.bits(_MORE), bits + _MORE
