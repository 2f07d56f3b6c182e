"""Which items that were never rated get an answer all the same: how many, then where.

Each of m such items has one with the same chance, independently. So their number is binomial, and
given the number every set of places is as likely as any other: see PROOF.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.privacy import Randomness
from discreet.privacy.noise import draw_below, precision

_MARGIN = 2.0**-32
_GUARD = 40
_STDS, _EXTRA = 12, 60


@dataclass(frozen=True)
class FakeCount:
    """Binomial: `items` coins that show with odds `ways` e^-exponent to 1.

    Args:
        items: How many items were not rated, at most 2^24.
        ways: How many answers a missing rating can turn into; 1 for noise.
        exponent: The log odds of one of them against "nothing", negative: -exponent.
    """

    items: int
    ways: int
    exponent: float

    @property
    def odds(self) -> float:
        """The odds that an item shows."""
        return self.ways * math.exp(-self.exponent)

    def draw(self, randomness: Randomness) -> int:
        """One draw, exactly of this law."""
        word = int(randomness.words(1)[0])
        first, edges = _edges(self)
        point = word * 2.0**-64
        cell = int(np.searchsorted(edges, point, side="right"))
        near = cell > 0 and point - edges[cell - 1] <= _MARGIN
        if near or cell == len(edges) or edges[cell] - point <= _MARGIN:
            return self.settle(word, 64, randomness)
        return first + cell

    def settle(self, leading: int, bits: int, randomness: Randomness) -> int:
        """The draw of a uniform number whose first bits are these, with as many as it takes."""
        while True:
            with precision(bits + 2 * _GUARD):
                slack = mpmath.ldexp(1, -bits - _GUARD)
                ends = mpmath.ldexp(leading, -bits), mpmath.ldexp(leading + 1, -bits)
                found = self._place(ends[0] - slack, ends[1] + slack)
            if found is not None:
                return found
            leading, bits = leading << 64 | randomness.bits(64), bits + 64

    def _place(self, low: Any, high: Any) -> int | None:
        """The number whose share of [0, 1] holds both ends, or None; a rare and slow path."""
        odds = self.ways * mpmath.exp(-mpmath.mpf(self.exponent))
        below, term = mpmath.mpf(0), (1 + odds) ** -self.items
        for number in range(self.items):
            edge = below + term
            if high <= edge:
                return number if number == 0 or low >= below else None
            below, term = edge, term * odds * (self.items - number) / (number + 1)
        return self.items if self.items == 0 or low >= below else None


@lru_cache(maxsize=64)
def _edges(law: FakeCount) -> tuple[int, npt.NDArray[np.float64]]:
    """The smallest number of the table, and P(at most it), P(at most the next), ...

    Ratios of neighbouring probabilities are multiplied up and down from the mode.
    """
    share = law.odds / (1 + law.odds)
    mode = min(int((law.items + 1) * share), law.items)
    reach = math.ceil(_STDS * math.sqrt(law.items * share * (1 - share))) + _EXTRA
    first, last = max(mode - reach, 0), min(mode + reach, law.items)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    above = np.cumprod((law.items - up) / (up + 1) * law.odds)
    below = np.cumprod(down / (law.items - down + 1) / law.odds)
    edges = np.cumsum(np.concatenate((below[::-1], [1.0], above)))
    edges /= edges[-1]
    edges.flags.writeable = False
    return first, edges


def draw_places(count: int, among: int, randomness: Randomness) -> npt.NDArray[np.int64]:
    """A set of `count` numbers from 0 to before `among`, rising; every such set is as likely."""
    wanted = min(count, among - count)
    marked, missing = np.zeros(among, np.bool_), wanted
    while missing:
        marked[draw_below(among, missing, randomness)] = True
        missing = wanted - int(np.count_nonzero(marked))
    return np.flatnonzero(marked if wanted == count else ~marked)
