"""When "now" is, and what is popular then. Everything here is computed from released numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy

_Floats = npt.NDArray[np.float64]

# A period has records if its number stands out of the noise by this many standard deviations.
# Derived for Gaussian noise: one in two thousand releases has a false one among as many empty ones,
# which would put the present into the wrong year.
_SURE = 5.0
# The part of all records that the window of recent ones holds, at least. Chosen by hand: twice the
# longest half-life.
WINDOW = 0.2
# The half-life of a record: how many others follow until it counts half, as a part of all. The
# range of choices; the larger the budget, the shorter. Tuned on validation parts by time of
# MovieLens 1M and MovieTweetings.
_SHORTEST, _LONGEST = 0.04, 0.1
# The half-life in standard deviations of an item's count, within that range. Derived: with half of
# the recent records on fifty items, each of them stands out of the noise by eight.
_HALF_LIFE = 800.0
# Standard deviations by which the sum of recent counts must stand out of the noise. Chosen by hand.
_VISIBLE = 4.0
# An item's change is believed the more, the further it exceeds this part of the largest change that
# noise alone would show. Chosen by hand.
_SURPRISING = 0.8
# Added to an item's popularity, now and always, before the two are divided, so that what is rare is
# not multiplied: as a part of the usual popularity. Tuned on validation parts by time of MovieLens
# 1M and MovieTweetings.
_RARE = 0.02
# Standard errors by which drift must stand out of the noise. Chosen by hand.
_SURE_DRIFT = 2.0


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
    half_life = min(max(_HALF_LIFE * noise, _SHORTEST), _LONGEST)
    inside = np.maximum(counts.value, 0.0)
    after = np.cumsum(inside[::-1])[::-1] - inside / 2
    weights: _Floats = 2.0 ** (-after / (half_life * max(total, 1.0)))
    return weights


def drift_of(counts: Noisy, recent: Noisy) -> float:
    """How much of what is popular now was not always popular, from 0 to 1.

    The part of the recent counts' squares, freed of noise, that all counts times a factor do not
    explain; 0 where recent counts do not stand out of the noise.
    """
    popular = np.maximum(counts.value, 0.0)
    size = max(float(popular @ popular), 1e-300)
    change = recent.value - popular * (float(popular @ recent.value) / size)
    squares = recent.value @ recent.value
    noise = len(recent.value) * recent.spread**2
    doubt = _SURE_DRIFT * math.sqrt(2 * len(recent.value)) * recent.spread**2
    if squares - noise <= doubt:
        return 0.0
    return float(min(max((change @ change - noise - doubt) / (squares - noise), 0.0), 1.0))


def popular_now(p: _Floats, recent: Noisy | None) -> _Floats:
    """How much more popular each item is now than always, as a factor; 1 for all without `recent`.

    Recent counts differ from p by noise and by change. A change is believed as far as the changes
    of all items make it likely, or as far as it exceeds what noise explains.

    Args:
        p: The probability of having each item, or anything proportional to it.
        recent: Counts in which older records count less.
    """
    total = 0.0 if recent is None else float(recent.value.sum())
    seen = recent is not None and total > _VISIBLE * recent.spread * math.sqrt(len(p))
    if recent is None or not seen or not p.any():
        return np.ones(len(p))
    expected = p * (total / float(p.sum()))
    change = recent.value - expected
    variance = recent.spread**2
    relative = float(change @ change - len(p) * variance) / float(expected @ expected)
    likely = max(relative, 0.0) * expected**2
    gain = likely / np.maximum(likely + variance + expected, 1e-300)
    surprise = _SURPRISING * recent.spread * math.sqrt(2 * math.log(len(p)))
    # The square of the quotient is a float, also where nothing has changed.
    gain = np.maximum(gain, 1 - (surprise / np.maximum(np.abs(change), 1e-100)) ** 2)
    now = np.maximum(expected + gain * change, 0.0) * (float(p.sum()) / total)
    least = _RARE * float(p @ p) / float(p.sum())
    return np.asarray((now + least) / (p + least))
