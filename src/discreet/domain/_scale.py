"""The scale that ratings live on: a public input, never inferred from private data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.domain.errors import Hint, InputError
from discreet.domain.lazy import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = LazyModule("numpy")

# The most levels of a stepped scale: a rating's level is stored in one byte.
_MAX_LEVELS = 256
# The finest step, relative to the largest rating. Chosen for safety: float64 resolves 2^-52, so
# neighbouring levels stay distinct after any arithmetic on ratings.
_FINEST = 2.0**-36
_PRESENCE = "presence"


@dataclass(frozen=True)
class Scale:
    """Ratings from `lo` to `hi`, in multiples of `step` above `lo`, or continuous.

    Args:
        lo: The smallest rating.
        hi: The largest rating, above `lo`.
        step: The distance between neighbouring ratings; it divides `hi - lo` into at most
            255 parts. `None` for a continuous scale.
        presence: Whether records are interactions without a rating: clicks, purchases. Then the
            scale is 0 to 1, every record has the value 1, and 0 stands for no record.
    """

    lo: float
    hi: float
    step: float | None = 1.0
    presence: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not math.isfinite(self.hi - self.lo) or self.lo >= self.hi:
            raise InputError(
                f"a scale needs finite lo < hi, not {self.lo:g}..{self.hi:g}; five stars are 1..5"
            )
        if self.step is not None:
            if not (math.isfinite(self.step) and self.step > 0):
                raise InputError(f"a scale's step must be positive, not {self.step:g}")
            parts = (self.hi - self.lo) / self.step
            if not 0.5 < parts < _MAX_LEVELS - 0.5 or abs(parts - round(parts)) > 1e-9:
                continuous = Hint("scale", (self.lo, self.hi, None))
                raise InputError(
                    f"step {self.step:g} does not divide {self.lo:g}..{self.hi:g} into 1 to "
                    f"{_MAX_LEVELS - 1} equal parts; for a continuous scale give {continuous}",
                    hints=[continuous],
                )
        # On a finer scale, rounding could move a rating to another level or off the scale.
        finest = self.step or (self.hi - self.lo) / (_MAX_LEVELS - 1)
        if finest < _FINEST * max(abs(self.lo), abs(self.hi)):
            raise InputError(
                f"the scale {self.lo!r}..{self.hi!r} is too narrow for such large numbers"
            )
        if not isinstance(self.presence, bool):
            raise InputError("a scale's presence is True or False")
        if self.presence and (self.lo, self.hi, self.step) != (0, 1, 1):
            raise InputError("presence needs the scale 0..1 in steps of 1")

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read `lo..hi`, `lo..hi/step`, `lo..hi/continuous` or `presence`: see `spelling`."""
        if text.strip() == _PRESENCE:
            return PRESENCE
        span, _, step = text.partition("/")
        lo, dots, hi = span.partition("..")
        try:
            if not dots:
                raise ValueError(text)
            parsed = None if step == "continuous" else float(step) if step else 1.0
            return cls(float(lo), float(hi), parsed)
        except ValueError:
            raise InputError(
                f"'{text}' is not a scale; write 1..5, 0.5..5/0.5, -10..10/continuous or presence"
            ) from None

    @property
    def spelling(self) -> str:
        """The scale as `parse` reads it and the command line writes it."""
        if self.presence:
            return _PRESENCE
        ending = {1.0: "", None: "/continuous"}.get(self.step, f"/{self.step}")
        return f"{_shortest(self.lo)}..{_shortest(self.hi)}{ending}"

    @property
    def range(self) -> float:
        """The width `hi - lo`: the alpha of the papers."""
        return self.hi - self.lo

    @property
    def mid(self) -> float:
        """The middle of the scale."""
        return (self.lo + self.hi) / 2

    @property
    def levels(self) -> npt.NDArray[np.float64] | None:
        """The possible ratings in rising order, or None on a continuous scale.

        A level's position is its code, so presence has the level 0 too, which no record has.
        """
        if self.step is None:
            return None
        return self.decode(np.arange(self._parts + 1))

    @property
    def _parts(self) -> int:
        assert self.step is not None
        return round(self.range / self.step)

    def contains(self, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which values are ratings on this scale (NaN is not)."""
        array = np.asarray(values, dtype=np.float64)
        slack = 1e-6 * self.range
        least = self.hi if self.presence else self.lo
        inside = (array >= least - slack) & (array <= self.hi + slack)
        if self.step is None:
            return inside
        with np.errstate(invalid="ignore", over="ignore"):
            offset = (array - self.lo) / self.step
            return inside & (np.abs(offset - np.rint(offset)) <= 1e-3)

    def nearest(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The ratings on this scale that are nearest to the given numbers."""
        inside = np.clip(values, self.hi if self.presence else self.lo, self.hi)
        levels = self.levels
        if levels is None or self.step is None:
            return inside
        places = np.rint((inside - self.lo) / self.step).astype(np.int64)
        return np.asarray(levels[np.clip(places, 0, len(levels) - 1)], dtype=np.float64)

    def encode(
        self, values: npt.NDArray[np.generic]
    ) -> npt.NDArray[np.uint8] | npt.NDArray[np.float32]:
        """Compact storage: the level's number on a stepped scale, float32 on a continuous one.

        The caller has checked `contains`.
        """
        array = values.astype(np.float64, copy=False)
        if self.step is None:
            return np.clip(array, self.lo, self.hi).astype(np.float32)
        return np.rint((array - self.lo) / self.step).astype(np.uint8)

    def decode(self, codes: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
        """The ratings that `encode` stored, none of them outside `lo` to `hi`."""
        array = codes.astype(np.float64)
        if self.step is None:
            return np.clip(array, self.lo, self.hi)
        # Not lo + step * code: with step 0.1 the third level would be 0.30000000000000004.
        below = self.lo + self.range * array / self._parts
        return np.where(array < self._parts, below, self.hi)

    def __str__(self) -> str:
        if self.presence:
            return "presence only"
        kind = "continuous" if self.step is None else f"in steps of {self.step:g}"
        return f"{self.lo:g}..{self.hi:g} {kind}"


def _shortest(number: float) -> str:
    """The number without a needless `.0`, and without loss."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


PRESENCE = Scale(0, 1, 1, presence=True)
"""The scale of interactions without ratings: given by the curator, never inferred."""
