"""Confidence intervals of probabilities and means, from counts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, stdtrit

_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]
Band = tuple[float, float]

# The level of every interval that an attack or a comparison reports.
CONFIDENCE = 0.95


def at_least(hits: npt.ArrayLike, tries: int, miss: float) -> _Floats:
    """A lower bound on a probability, wrong with probability at most `miss`.

    Clopper and Pearson's: the largest p under which at least this many hits have probability `miss`
    at most.
    """
    k = np.asarray(hits, np.float64)
    found = betaincinv(np.maximum(k, 1), tries - np.maximum(k, 1) + 1, miss)
    return np.where(k > 0, found, 0.0)


def at_most(hits: npt.ArrayLike, tries: int, miss: float) -> _Floats:
    """An upper bound on a probability, wrong with probability at most `miss`."""
    return 1.0 - at_least(tries - np.asarray(hits, np.float64), tries, miss)


def success_band(successes: _Marks, confidence: float = CONFIDENCE) -> Band:
    """Clopper and Pearson's interval for the probability of success: both sides."""
    tries, won = len(successes), int(successes.sum())
    miss = (1 - confidence) / 2
    return float(at_least(won, tries, miss)), float(at_most(won, tries, miss))


def excess_band(first: _Marks, second: _Marks) -> Band:
    """An interval for how much more often the first is right than the second, on the same cases.

    Clopper and Pearson's intervals for both kinds of disagreement, each missing half as often.
    """
    each = (1 + CONFIDENCE) / 2
    gained, lost = success_band(first & ~second, each), success_band(second & ~first, each)
    return gained[0] - lost[1], gained[1] - lost[0]


def mean_band(values: _Floats) -> Band:
    """The normal interval for the mean of many values from 0 to 1."""
    return _around_mean(values, float(ndtri((1 + CONFIDENCE) / 2)))


def student_band(values: _Floats) -> Band:
    """Student's interval for the mean of a few values from 0 to 1."""
    return _around_mean(values, float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)))


def _around_mean(values: _Floats, factor: float) -> Band:
    mean = float(values.mean())
    error = factor * float(values.std(ddof=1)) / math.sqrt(len(values))
    return max(0.0, mean - error), min(1.0, mean + error)
