"""How much a person's pairs count, and how far that lets the sums move: the numbers of PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.privacy import Noise, Unit

_Floats = npt.NDArray[np.float64]
_UP = 1 + 2.0**-40
"""Covers the rounding of the few float operations that a bound takes."""


@dataclass(frozen=True)
class PairWeights:
    """W(c), in integers: what a pair of somebody with c items of the matrix counts.

    Args:
        unit: Whom the release protects.
        noise: Which norm.
        size: How many items the matrix has.
    """

    unit: Unit
    noise: Noise
    size: int

    @property
    def whole(self) -> int:
        """G, the grid units in a weight of 1: enough for the smallest weight, that of c = size."""
        bits = self.size.bit_length()
        return 1 << (bits + 10 if self.noise is Noise.GAUSSIAN else 2 * bits + 4)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """W(c) for c = 0..size; somebody with one item counts as with two."""
        c = np.maximum(np.arange(self.size + 1), 2)
        if self.unit is Unit.USER:
            shared = (c * c // 4).astype(np.float64)
        else:
            shared = c - (0.75 if self.noise is Noise.GAUSSIAN else 1.0)
        power = np.sqrt(shared) if self.noise is Noise.GAUSSIAN else shared
        return np.floor(self.whole / power).astype(np.int64)

    @property
    def count_bound(self) -> float:
        """Of sums of W over pairs: every pair moves by as much as it counts."""
        w = self.table.astype(np.float64)
        if self.unit is Unit.USER:
            c = np.arange(self.size + 1, dtype=np.float64)
            return self._longest(w, c * (c - 1) / 2)
        c, drop, new = self._steps(w)
        return self._longest(drop, c * (c - 1) / 2, new, c)

    @property
    def difference_bound(self) -> float:
        """Of sums of W times a difference between -1 and 1 of two numbers, over pairs."""
        w = self.table.astype(np.float64)
        if self.unit is Unit.USER:
            counts = np.arange(self.size + 1)
            return self._longest(w, (counts * counts // 4).astype(np.float64))
        c, drop, new = self._steps(w)
        # t of the c old ratings lie at the other end from the new one: a parabola in t.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (new / drop) ** (2 if self.noise is Noise.GAUSSIAN else 1)
        top = np.where(drop > 0, np.minimum((c + ratio) / 2, c), c)
        sides = (np.floor(top), np.ceil(top))
        return max(self._longest(drop, t * (c - t), new, t) for t in sides)

    @property
    def square_bound(self) -> float:
        """Of sums of W over single items, where one rating is protected."""
        c, drop, new = self._steps(self.table.astype(np.float64))
        return self._longest(drop, c, new, np.ones_like(c))

    def _steps(self, w: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """For c = 0..size - 1 old ratings: c, by how much their weight drops, the new weight."""
        return np.arange(self.size, dtype=np.float64), np.abs(w[:-1] - w[1:]), w[1:]

    def _longest(self, *parts: _Floats) -> float:
        """The largest norm of a vector that holds each value so many times, over all c.

        Args:
            parts: Values and their numbers of times, in turn.
        """
        l2 = self.noise is Noise.GAUSSIAN
        total = np.zeros_like(parts[0])
        for value, times in zip(parts[::2], parts[1::2], strict=True):
            total += (value * value if l2 else value) * times
        most = float(total.max())
        return (math.sqrt(most) if l2 else most) * _UP
