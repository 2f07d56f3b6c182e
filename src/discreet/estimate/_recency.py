"""When "lately" was, from noisy numbers of records by period; computed from released numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy

_Floats = npt.NDArray[np.float64]

# A period has records if its number stands out of the noise by this many standard deviations: of
# two thousand empty ones, one in thirty releases has a single false one.
_SURE = 4.0
# Which part of all records the window of recent ones holds, at least.
WINDOW = 0.2
# After how many further records, as a part of all, a record counts half: the range of choices,
# the shorter the larger the budget. Tuned on validation parts by time of two data sets.
_SHORTEST, _LONGEST = 0.04, 0.1
# The half-life in standard deviations of an item's count: with half of the recent records on fifty
# items, each of them stands out of the noise by eight.
_VISIBLE = 800.0


@dataclass(frozen=True)
class Window:
    """The latest periods that hold enough records.

    Attributes:
        first: The first of these periods.
        last: The last that has records.
        total: About how many records there are in all.
    """

    first: int
    last: int
    total: float


def find_window(counts: Noisy) -> Window | None:
    """The latest periods with `WINDOW` of all records; None if no period stands out."""
    seen = np.where(counts.value > _SURE * counts.spread, counts.value, 0.0)
    places = np.flatnonzero(seen)
    if not len(places):
        return None
    after = np.cumsum(seen[::-1])[::-1]
    enough = np.flatnonzero(after >= WINDOW * after[0])
    return Window(int(enough[-1]), int(places[-1]), float(after[0]))


def recent_weights(counts: Noisy, total: float, noise: float) -> _Floats:
    """The weight of each period, from 0 to 1: half for every half-life of records that follow.

    Args:
        counts: Records in the periods of a window.
        total: All records.
        noise: The standard deviation of an item's recent count, as a part of the sum of all counts.
    """
    half_life = min(max(_VISIBLE * noise, _SHORTEST), _LONGEST)
    inside = np.maximum(counts.value, 0.0)
    after = np.cumsum(inside[::-1])[::-1] - inside / 2
    weights: _Floats = 2.0 ** (-after / (half_life * max(total, 1.0)))
    return weights
