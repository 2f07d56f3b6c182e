"""Confidence bands for what many independent attacks came to."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, norm

Band = tuple[float, float]

CONFIDENCE = 0.95


def success_band(successes: npt.NDArray[np.bool_], confidence: float = CONFIDENCE) -> Band:
    """Clopper and Pearson's band for the chance of success."""
    tries, won = len(successes), int(successes.sum())
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, won, tries - won + 1) if won else 0.0
    high = beta.ppf(1 - tail, won + 1, tries - won) if won < tries else 1.0
    return float(low), float(high)


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
