"""Public item features: directions of taste as far as people's ratings agree along them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.measure._budget import Spender
from discreet.measure._directions import SIZE, standardised
from discreet.measure._effects import Effects
from discreet.measure._everybody import Everybody, total
from discreet.measure.agreement import Agreement
from discreet.privacy import Unit

_Floats = npt.NDArray[np.float64]

FEATURE_SHARE = 0.02
"""The part of the budget that says whether features, if there are any, are worth anything."""
MOST_FEATURES = 64
_TOGETHER = 3.0
"""How strong all features together are, compared with one free direction."""
_VARIES = {Unit.USER: 0.3, Unit.RATING: 0.15}
"""How much agreement varies by who happened to rate, over the root of the number of units."""
_SURE = 2.0
"""Standard errors that agreement has to stand out of chance."""


def feature_directions(effects: Effects, features: _Floats, width: float) -> _Floats:
    """As item factors, without those that are the same for all items.

    Args:
        effects: What was released of the items.
        features: Public, a row for each item.
        width: The scale's range.
    """
    found = standardised(features, effects.known_counts)
    found = found[:, found.any(axis=0)]
    size = SIZE * _TOGETHER / math.sqrt(max(found.shape[1], 1))
    return np.asarray(found * (size * width / 4))


def measure_belief(
    ratings: Everybody, spender: Spender, statistic: Agreement, effects: Effects
) -> float:
    """From 0, no features at all, to 1: how far tastes go along them."""
    agreement = spender.release_number(
        total(ratings, statistic.measure), statistic.sensitivity, statistic.grid, FEATURE_SHARE,
        "agreement along features",
    )  # fmt: skip
    chance = _VARIES[statistic.unit] * math.sqrt(max(effects.people.value, 1.0))
    doubt = _SURE * math.hypot(agreement.spread, chance)
    return math.sqrt(1 - (doubt / agreement.value) ** 2) if agreement.value > doubt else 0.0
