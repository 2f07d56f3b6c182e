"""What the statistics of pairs ask of their input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure._everybody import Everybody

_MOST_ITEMS = 1 << 20
"""A triangle of so many would take four tebibytes."""


def check_head(head: npt.NDArray[np.int32]) -> None:
    """Refuse a head that is no rising list of items, or too short or too long."""
    if head.ndim != 1 or head.dtype != np.int32:
        raise InputError("the items of pairs are one-dimensional, of int32")
    if len(head) < 2:
        raise InputError(f"pairs need at least 2 items, not {len(head)}")
    if len(head) > _MOST_ITEMS:
        raise InputError(f"pairs are of at most {_MOST_ITEMS:,} items, not {len(head):,}")
    if head[0] < 0 or np.any(np.diff(head) <= 0):
        raise InputError("the items of pairs are listed in rising order, each once")


def check_scale(ratings: Everybody, scale: Scale) -> None:
    """Refuse ratings of another scale than the sensitivity is for."""
    if ratings.scale != scale:
        raise InputError(f"the statistic is for ratings on {scale}, not on {ratings.scale}")
