"""What is left of a rating once the item's and the person's level are taken off. See PROOF.md."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.ratings import Ratings

GRID = 1 << 24
"""Centred ratings are integers in units of 1/GRID of the scale's own unit."""

MOST_TOTAL = 1 << 60
"""What a person's clamped ratings may come to, in grid units, if all items were rated: below it no
step of `huber_level` leaves 64 bits (PROOF.md)."""
_MOST_LEVEL = 1 << 60
"""The largest residual, in grid units; PROOF.md."""
# The most fictitious ratings: times a level they stay within 64 bits (PROOF.md).
_MOST_FICTITIOUS = 1 << 40
# Steps after which a bracket is halved: most people need three or four. Chosen by hand.
_NEWTON_STEPS = 12
_FARTHEST = 2.0**36
"""Levels further out, in the scale's unit, would not be 64-bit integers on the grid."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Centring(abc.ABC):
    """x_j = r_j - G - M_j on the grid, then y_j = clip(x_j - b, -B, B) with the person's level b.

    Args:
        clamp: B, the largest centred rating, in the scale's unit.
        fictitious: beta_p, how many fictitious ratings at level 0 hold b back.
    """

    clamp: float
    fictitious: int

    code: ClassVar[int]

    def __post_init__(self) -> None:
        if not (math.isfinite(self.clamp) and 0 < self.clamp * GRID < 2**40):
            raise InputError(f"the clamp must be above 0 and below 65,536, not {self.clamp:g}")
        if not 1 <= self.fictitious <= _MOST_FICTITIOUS or self.fictitious != int(self.fictitious):
            raise InputError(
                f"fictitious ratings are a whole number from 1 to 2^40, not {self.fictitious}"
            )

    @property
    def step(self) -> float:
        """How much further than `movement` says each centred rating can move: the grid's price."""
        return 1 / GRID

    @property
    def reach(self) -> int:
        """B in grid units, rounded down."""
        return math.floor(self.clamp * GRID)

    def check_items(self, items: int) -> None:
        """Refuse a catalogue that somebody could rate more of than 64 bits hold.

        Raises:
            InputError: The clamp times the number of items is too large; both are public.
        """
        if items * self.reach > MOST_TOTAL:
            raise InputError(
                f"a clamp of {self.clamp:g} is too large for {items:,} items; narrow it, or tell "
                "the ratings in a smaller unit"
            )

    @abc.abstractmethod
    def movement(self, old: _Floats) -> _Floats:
        """L2 bound on how far `old` centred ratings move when their owner rates one more item."""

    @abc.abstractmethod
    def total_movement(self, old: _Floats) -> _Floats:
        """The same in L1."""

    def centred(self, ratings: Ratings, levels: ItemLevels) -> npt.NDArray[np.int64]:
        """The y of every rating, in grid units; private.

        Raises:
            InputError: The catalogue or the levels are too large; both are public.
        """
        self.check_items(len(ratings.catalog))
        self._check_levels(levels.widest(ratings.scale), len(ratings.catalog))
        y = levels.residuals(ratings)
        _centre(ratings.starts, y, self.code, self.reach, self.fictitious)
        return y

    def _check_levels(self, widest: int, items: int) -> None:
        del items
        if widest > _MOST_LEVEL:
            raise InputError("item levels are too far from the scale for 64 bits")


@dataclass(frozen=True)
class HuberCentring(Centring):
    """b solves sum_j clip(x_j - b, -B, B) = beta_p b: what one rating moves is at most B."""

    code = 0

    def movement(self, old: _Floats) -> _Floats:
        return np.full_like(old, self.clamp / (2 * math.sqrt(self.fictitious)))

    def total_movement(self, old: _Floats) -> _Floats:
        return np.full_like(old, self.clamp)


@dataclass(frozen=True)
class PaperCentring(Centring):
    """b = sum of x_j / (c + beta_p), as in McSherry and Mironov.

    Args:
        clamp: B.
        fictitious: beta_p.
        spread: The range of x: the scale's range and that of the item effects together.
    """

    spread: float = math.inf

    code = 1

    def movement(self, old: _Floats) -> _Floats:
        return np.asarray(np.sqrt(old) * self._each(old))

    def total_movement(self, old: _Floats) -> _Floats:
        return np.asarray(old * self._each(old))

    def _check_levels(self, widest: int, items: int) -> None:
        """Residuals are summed before they are clamped."""
        if widest * items > MOST_TOTAL:
            raise InputError("item levels are too far from the scale for so many items")

    def _each(self, old: _Floats) -> _Floats:
        rounded = self.spread + 2 * self.step  # r - G and M are each rounded to the grid
        return np.minimum(rounded / (old + 1 + self.fictitious), 2 * self.clamp)


@dataclass(frozen=True, eq=False)
class ItemLevels:
    """G + M_i for every item, released; `residuals` takes them off on the grid."""

    global_mean: float
    effects: _Floats

    def __post_init__(self) -> None:
        sizes = np.abs(np.append(self.effects, self.global_mean))
        if not np.all(sizes <= _FARTHEST):
            raise InputError("item levels are finite numbers, at most 2^36 in size")

    def widest(self, scale: Scale) -> int:
        """The largest |X| that a rating on this scale can leave, rounded up, in grid units."""
        off = max(abs(scale.lo - self.global_mean), abs(scale.hi - self.global_mean))
        return math.ceil((off + float(np.abs(self.effects).max(initial=0.0))) * GRID) + 1

    def residuals(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """X = r - G - M in grid units: round(r - G) minus round(M), each to the grid."""
        taken = np.rint(self.effects * GRID).astype(np.int64)
        scale = ratings.scale
        if scale.levels is not None:
            values = np.rint((scale.levels - self.global_mean) * GRID).astype(np.int64)
            left: npt.NDArray[np.int64] = _left(values, ratings.codes, taken, ratings.items)
            return left
        x = np.rint((ratings.values() - self.global_mean) * GRID).astype(np.int64)
        x -= taken[ratings.items]
        return x


@nb.njit(cache=True, nogil=True)
def _left(values, codes, taken, items):  # type: ignore[no-untyped-def]
    """What `taken` of its item leaves of each rating's value."""
    x = np.empty(len(items), np.int64)
    for n in range(len(items)):
        x[n] = values[codes[n]] - taken[items[n]]
    return x


@nb.njit(cache=True, nogil=True)
def huber_level(x, reach, fictitious):  # type: ignore[no-untyped-def]
    """The largest integer b with sum of clip(x - b, -B, B) >= beta b, exactly.

    The difference f(b) of the two sides falls strictly. Newton's steps on it, kept inside a bracket
    f(low) >= 0 > f(high) that ends with neighbouring integers.
    """
    low = -(reach * len(x)) // fictitious - 1
    high = -low + 1
    b, steps = np.int64(0), 0
    while high - low > 1:
        total = -fictitious * b
        slope = fictitious
        for value in x:  # without branches: several values at a time
            off = value - b
            cut = min(max(off, -reach), reach)
            total += cut
            slope += off == cut
        if total >= 0:
            low = b
        else:
            high = b
        b += total // slope
        steps += 1
        # A step that leaves the bracket has found the end of it, or its neighbour. Where f bends,
        # neighbours could go on for long: then halves.
        if b <= low or b >= high:
            near = low + 1 if b <= low else high - 1
            b = near if steps < _NEWTON_STEPS else (low + high) // 2
    return low


@nb.njit(cache=True, nogil=True)
def _centre(starts, x, code, reach, fictitious) -> None:  # type: ignore[no-untyped-def]
    """Turn x into y in place, user by user."""
    for user in range(len(starts) - 1):
        own = x[starts[user] : starts[user + 1]]
        if len(own) == 0:
            continue
        if code == 0:
            b = huber_level(own, reach, fictitious)
        else:
            b = own.sum() // (len(own) + fictitious)
        for place in range(len(own)):
            own[place] = min(max(own[place] - b, -reach), reach)
