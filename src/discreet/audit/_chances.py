"""How likely each value of a rating is to somebody who knows all the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_OVERALL = 10.0
"""How many ratings of an item the distribution of all ratings weighs as much as."""


def level_chances(ratings: Ratings, items: _Ints, own: _Ints) -> _Floats:
    """From all ratings but the one that is asked about: those of the same item, and all together.

    Args:
        ratings: Everybody's, on a scale with steps.
        items: Which items are asked about.
        own: For each the code of the rating that is left out; -1 where there is none.

    Returns:
        The chance of each value, along one more axis.
    """
    assert ratings.scale.levels is not None
    levels = len(ratings.scale.levels)
    places = ratings.items.astype(np.int64) * levels + ratings.codes
    cells = np.bincount(places, minlength=len(ratings.catalog) * levels).reshape(-1, levels)
    left_out = np.vstack([np.eye(levels), np.zeros(levels)])[own]
    overall = cells.sum(axis=0) - left_out + 1.0
    overall /= overall.sum(axis=-1, keepdims=True)
    chances = cells[items] - left_out + _OVERALL * overall
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))
