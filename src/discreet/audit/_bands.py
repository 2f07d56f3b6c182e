"""What a probability is, from how often it came up: bounds of one side, and bands for attacks."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv
from scipy.stats import norm

_Floats = npt.NDArray[np.float64]
Band = tuple[float, float]

CONFIDENCE = 0.95


def at_least(hits: npt.ArrayLike, tries: int, miss: float) -> _Floats:
    """What the probability is at least, wrong with probability at most `miss`.

    Clopper and Pearson's: the largest p under which so many hits or more have a chance of at most
    `miss`.
    """
    k = np.asarray(hits, np.float64)
    found = betaincinv(np.maximum(k, 1), tries - np.maximum(k, 1) + 1, miss)
    return np.where(k > 0, found, 0.0)


def at_most(hits: npt.ArrayLike, tries: int, miss: float) -> _Floats:
    """What the probability is at most, wrong with probability at most `miss`."""
    return 1.0 - at_least(tries - np.asarray(hits, np.float64), tries, miss)


def success_band(successes: npt.NDArray[np.bool_], confidence: float = CONFIDENCE) -> Band:
    """Clopper and Pearson's band for the chance of success: both sides."""
    tries, won = len(successes), int(successes.sum())
    miss = (1 - confidence) / 2
    return float(at_least(won, tries, miss)), float(at_most(won, tries, miss))


def excess_band(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> Band:
    """A band for how much more often the first is right than the second, tried on the same cases.

    Clopper and Pearson's bands for both kinds of disagreement, each missing half as often.
    """
    each = (1 + CONFIDENCE) / 2
    gained, lost = success_band(first & ~second, each), success_band(second & ~first, each)
    return gained[0] - lost[1], gained[1] - lost[0]


def mean_band(values: npt.NDArray[np.float64]) -> Band:
    """The normal band for the mean of values from 0 to 1."""
    error = norm.ppf((1 + CONFIDENCE) / 2) * values.std(ddof=1) / math.sqrt(len(values))
    return max(0.0, float(values.mean() - error)), min(1.0, float(values.mean() + error))
