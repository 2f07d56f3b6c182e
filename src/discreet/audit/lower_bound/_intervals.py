"""Bounds on a probability from how often it came up: Clopper and Pearson's, one side at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

_Floats = npt.NDArray[np.float64]


def at_least(hits: npt.ArrayLike, tries: int, miss: float) -> _Floats:
    """What the probability is at least, wrong with probability at most `miss`.

    The largest p under which so many hits or more have a chance of at most `miss`.
    """
    k = np.asarray(hits, np.float64)
    found = betaincinv(np.maximum(k, 1), tries - np.maximum(k, 1) + 1, miss)
    return np.where(k > 0, found, 0.0)


def at_most(hits: npt.ArrayLike, tries: int, miss: float) -> _Floats:
    """What the probability is at most, wrong with probability at most `miss`."""
    return 1.0 - at_least(tries - np.asarray(hits, np.float64), tries, miss)
