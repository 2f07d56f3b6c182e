"""The two integer laws that noise is drawn from, each in floats and to any precision.

A law is symmetric. Its magnitude |k| is drawn from cells of `2^shift` integers each: first a cell,
by inverting the cumulative distribution at the cells' upper edges, then a place within the cell,
uniformly, which is accepted with the probability 1 - reject(cell, place). With shift 0 a cell is
one integer and there is nothing to reject.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.domain.lazy import LazyModule

if TYPE_CHECKING:
    from scipy import special
else:
    special = LazyModule("scipy.special")

# The smallest and largest sigma or scale, in grid units: a draw of 2^10 scales stays far inside 64
# bits.
MIN_SCALE, MAX_SCALE = 2.0**-20, 2.0**50
# A scale holds 2^8 to 2^9 cells: rejections stay below 4 %, and a table fits into the cache.
_CELLS_PER_SCALE_LOG2 = 8


@dataclass(frozen=True)
class Law(abc.ABC):
    """A symmetric law on the integers with a scale.

    Args:
        scale: In grid units, from 2^-20 to 2^50.
    """

    scale: float

    def __post_init__(self) -> None:
        if not MIN_SCALE <= self.scale <= MAX_SCALE:
            raise InputError(
                f"noise needs a scale from 2^-20 to 2^50 grid units, not {self.scale:g}"
            )

    @cached_property
    def shift(self) -> int:
        """The base-2 logarithm of a cell's width: the scale holds 2^8 to 2^9 cells."""
        return max(0, math.frexp(self.scale)[1] - 1 - _CELLS_PER_SCALE_LOG2)

    @abc.abstractmethod
    def edges(self) -> npt.NDArray[np.float64]:
        """P(|k| within cells 0..c) for each c until the tail is below 2^-43; error below 2^-48."""

    @abc.abstractmethod
    def exact_edge(self, cell: int) -> Any:
        """P(|k| within cells 0..cell) at mpmath's working precision; 0 for cell -1."""

    @abc.abstractmethod
    def exact_reject(self, cell: int, place: Any) -> Any:
        """The rejection probability at `place` in [0, 1) of the cell.

        It is monotone between any two places that give the same integer.
        """


@dataclass(frozen=True)
class GaussianLaw(Law):
    """Round(N(0, scale^2)): P(k) = Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale).

    Cells of a fine table (shift 0) are the integers themselves, edges at k + 1/2. Cells of a coarse
    one cut the half-line of |N| at multiples of their width; the integer is the rounded place.
    """

    @property
    def step(self) -> float:
        """A cell's width in scales."""
        return math.ldexp(1.0, self.shift) / self.scale

    def edges(self) -> npt.NDArray[np.float64]:
        reach = math.sqrt(2) * 5.6  # erfc(5.6) < 2^-44
        if self.shift == 0:
            cells = np.arange(math.ceil(reach * self.scale) + 1)
            return special.erf((cells + 0.5) / (self.scale * math.sqrt(2)))  # type: ignore[no-any-return]
        cells = np.arange(1, math.ceil(reach / self.step) + 2)
        return special.erf(cells * (self.step / math.sqrt(2)))  # type: ignore[no-any-return]

    def exact_edge(self, cell: int) -> Any:
        if cell < 0:
            return mpmath.mpf(0)
        twice_edge = 2 * cell + 1 if self.shift == 0 else 2 * (cell + 1) << self.shift
        return mpmath.erf(mpmath.mpf(twice_edge) / (2 * self._exact_scale * mpmath.sqrt(2)))

    def exact_reject(self, cell: int, place: Any) -> Any:
        step = mpmath.mpf(1 << self.shift) / self._exact_scale
        return -mpmath.expm1(-place * (2 * cell + place) * step * step / 2)

    @property
    def _exact_scale(self) -> Any:
        return mpmath.mpf(self.scale)


@dataclass(frozen=True)
class GeometricLaw(Law):
    """The two-sided geometric: P(k) = (1 - q)/(1 + q) q^|k| with q = exp(-1/scale).

    P(|k| <= m) = 1 - 2 q^(m+1)/(1 + q). In cell 0 the integer 0 has one sign and the others have
    two, so that 0 is accepted half as often as its place would say.
    """

    def edges(self) -> npt.NDArray[np.float64]:
        width = math.ldexp(1.0, self.shift)
        cells = np.arange(1, math.ceil(31 * self.scale / width) + 2)  # 2 e^-31 < 2^-43
        survival = 2 * np.exp(-cells * (width / self.scale)) / (1 + math.exp(-1 / self.scale))
        return 1 - survival  # type: ignore[no-any-return]

    def exact_edge(self, cell: int) -> Any:
        if cell < 0:
            return mpmath.mpf(0)
        rate = -1 / mpmath.mpf(self.scale)
        return 1 - 2 * mpmath.exp(rate * ((cell + 1) << self.shift)) / (1 + mpmath.exp(rate))

    def exact_reject(self, cell: int, place: Any) -> Any:
        integer = int(mpmath.floor(place * (1 << self.shift)))
        if cell == 0 and integer == 0:
            return mpmath.mpf(1) / 2
        return -mpmath.expm1(-mpmath.mpf(integer) / mpmath.mpf(self.scale))
