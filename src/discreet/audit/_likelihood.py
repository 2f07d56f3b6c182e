"""How much likelier released integers are in one world than in another, where noise has a law.

Noise is taken for continuous: it is on a grid so fine that nobody would notice, and where it is
coarse that costs an attacker a little, and proves nothing wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.methods import Spoken, Transcript
from discreet.privacy import Noise

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Numbers = _Ints | _Floats


def log_ratio(
    noisy: _Numbers, first: _Numbers, second: _Numbers, noise: Noise, scale: float
) -> _Floats:
    """How much likelier rows of noisy numbers are from `first` than from `second`: the logarithm.

    Args:
        noisy: As they came out.
        first: Without noise, in the one world.
        second: Likewise in the other.
        noise: Which.
        scale: Sigma of Gaussian noise, the mean size of Laplace noise.
    """
    if noise is Noise.GAUSSIAN:
        moved = (first - second) / scale
        return np.asarray((noisy - second) / scale @ moved - moved @ moved / 2)
    nearer = np.abs(noisy - second) - np.abs(noisy - first)
    return np.asarray(nearer.sum(axis=-1) / scale)


def scale_of(spoken: Spoken, noise: Noise) -> float:
    """The scale of a released statistic's noise, from its standard deviation."""
    return spoken.spread if noise is Noise.GAUSSIAN else spoken.spread / math.sqrt(2)


Part = tuple[_Ints, _Ints]
"""What somebody adds to a statistic: where, and how much; elsewhere nothing is learnt."""


def touched(part: _Ints) -> Part:
    """Where a person's part of a statistic is not 0, and what it is."""
    places = np.flatnonzero(part)
    return places, part.ravel()[places]


def likelihood_ratio(transcript: Transcript, parts: Sequence[Part], *, is_there: bool) -> float:
    """How much likelier all outputs of a fit are with somebody than without: the logarithm.

    Args:
        transcript: Of the fit.
        parts: What that person adds to each statistic, given the outputs before it.
        is_there: Whether the fit had that person.
    """
    noise, found = transcript.budget.noise, 0.0
    for spoken, (places, added) in zip(transcript.spoken, parts, strict=True):
        noisy, exact = (each.ravel()[places] for each in (spoken.noisy, spoken.exact))
        without = exact - added if is_there else exact
        scale = scale_of(spoken, noise)
        found += float(log_ratio(noisy, without + added, without, noise, scale))
    return found
