"""Directions of taste: those that cost nothing, and those of a noisy covariance.

Popularity and item effects were released anyway, and features are public; so people's tastes along
them can be used without measuring anything more. Everything here is computed from released numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy, Scale
from discreet.estimate._cleaning import clean_auto
from discreet.estimate._effects import Effects, clipped_moments

_Floats = npt.NDArray[np.float64]

# How strongly tastes differ along one free direction, on a scale of width 4. Tuned on another
# split of MovieLens 1M (docs/method.md), like the others here that name it.
FREE_SIZE = 0.17
# How strong all features together are, compared with one free direction. Chosen by hand.
_FEATURES_TOGETHER = 3.0
# Where standardised columns are cut off, in standard deviations: no item dominates a direction.
_CLIP = 3.0
# Where rows are cut off before a refinement, in rms lengths. Tuned on MovieLens 1M.
LONGEST = 1.3
# How much longer factors are made that only point the way to a refinement, which shortens those
# that are noise: rather one direction too many. Tuned on MovieLens 1M.
_STRONGER = 1.25
# Standard errors by which agreement along features must stand out of chance.
_SURE = 2.0


def free_directions(effects: Effects, width: float) -> _Floats:
    """A row for each item, as item factors: log popularity and effect, which were released before.

    Args:
        effects: What was released of the items.
        width: The scale's range.
    """
    known = effects.known_counts
    columns = [np.log(known + 2 * effects.count_spread), effects.effects]
    found = standardised(np.column_stack(columns), known) * FREE_SIZE
    found *= np.sqrt([_counts_known(effects), _effects_known(effects)])
    return np.asarray(found[:, found.any(axis=0)] * (width / 4))


def feature_directions(effects: Effects, features: _Floats, width: float) -> _Floats:
    """Public features as item factors, without those that are the same for all items.

    Args:
        effects: What was released of the items.
        features: A row for each item.
        width: The scale's range.
    """
    found = standardised(features, effects.known_counts)
    found = found[:, found.any(axis=0)]
    size = FREE_SIZE * _FEATURES_TOGETHER / math.sqrt(max(found.shape[1], 1))
    return np.asarray(found * (size * width / 4))


def belief_in_features(agreement: Noisy, chance: float) -> float:
    """From 0, no features at all, to 1: how far tastes go along them.

    Args:
        agreement: The sum over people of how far their ratings agree along the features.
        chance: The standard deviation of that sum by who happened to rate.
    """
    doubt = _SURE * math.hypot(agreement.spread, chance)
    if agreement.value <= doubt:
        return 0.0
    return math.sqrt(1 - (doubt / agreement.value) ** 2)


def _counts_known(effects: Effects) -> float:
    """Which part of the counts' squares is not noise."""
    squares = float(effects.counts @ effects.counts)
    noise = len(effects.counts) * effects.count_spread**2
    return max(1 - noise / squares, 0.0) if squares > 0 else 0.0


def _effects_known(effects: Effects) -> float:
    """Which part of the effects' variance, over ratings, is known."""
    shares = effects.known_counts / effects.known_counts.sum()
    found = float(shares @ (effects.effects - shares @ effects.effects) ** 2)
    unknown = float(shares @ effects.variances)
    return found / (found + unknown) if found > 0 else 0.0


def standardised(columns: _Floats, counts: _Floats) -> _Floats:
    """Mean 0 and variance 1 over ratings, clipped; a column that is constant becomes 0."""
    shares = counts / counts.sum()
    centred = columns - shares @ columns
    spreads = np.sqrt(shares @ centred**2)
    varies = spreads > 1e-9 * np.maximum(np.abs(columns).max(axis=0), 1e-9)
    scaled = centred / np.where(varies, spreads, np.inf)
    return np.asarray(np.clip(scaled, -_CLIP, _CLIP))


def short_rows(factors: _Floats, counts: _Floats, most: float = LONGEST) -> _Floats:
    """Rows cut off at `most` times their rms length over ratings, and scaled to at most 1."""
    lengths = np.sqrt(np.einsum("ij,ij->i", factors, factors))
    shares = np.maximum(counts, 0.0) + 1.0
    longest = most * np.sqrt((shares @ lengths**2) / shares.sum())
    cut = np.minimum(1.0, longest / np.maximum(lengths, 1e-12)) / max(longest, 1e-12)
    # A little shorter, so that rounding leaves no row above 1.
    return np.asarray(factors * (cut * (1 - 2.0**-40))[:, None])


def most_popular(counts: _Floats, size: int) -> npt.NDArray[np.int32]:
    """At most `size` items with the largest released counts, in rising order."""
    return np.sort(np.argsort(-counts, kind="stable")[:size]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class TasteDirections:
    """Which directions tastes have, as the covariance of the popular items shows.

    Attributes:
        head: The most popular items.
        matrix: The sums over pairs of them, symmetric; the diagonal means nothing.
        counts: Of all items.
        noise: The standard deviation of an entry's noise.
        sampling: How much an entry varies by who happened to rate.
    """

    head: npt.NDArray[np.int32]
    matrix: npt.NDArray[np.floating]
    counts: _Floats
    noise: float
    sampling: float

    @property
    def parameters(self) -> dict[str, Any]:
        """What a release records of them."""
        return {"head_items": len(self.head), "covariance_noise": self.noise}

    def factors(self, rank: int, width: float = 4.0) -> _Floats:
        """What stands out of the larger of noise and sampling; 0 for all other items."""
        counts, spread = self.counts[self.head], max(self.noise, self.sampling)
        within = clean_auto(self.matrix.astype(np.float32), counts, spread, rank, width)
        factors = np.zeros((len(self.counts), within.shape[1]))
        factors[self.head] = _STRONGER * within
        return factors


# How much an entry of a covariance varies by who happened to rate. A user's block has squared norm
# w^2 c^2 v^2, v the second moment of y: about v^2 for each rating with w = c^-1/2, and 1 for each
# user where blocks are scaled to 1. Spread over the m^2 entries, and more on those of popular
# items, which is where such noise reaches furthest.


def sampling_per_rating(scale: Scale, clamp: float, counts: _Floats) -> float:
    """Where ratings are protected; `counts` are those of the m items."""
    _, moment = clipped_moments(clamp, scale)
    return moment * math.sqrt(float(counts.sum())) * _unevenness(counts) / len(counts)


def sampling_per_unit(units: float, counts: _Floats) -> float:
    """Where each unit's block has length 1."""
    return math.sqrt(max(units, 1.0)) * _unevenness(counts) / len(counts)


def _unevenness(counts: _Floats) -> float:
    """How much further than even noise it reaches if its variance goes with both items' counts.

    The edge of such a matrix is that of its largest row: n_max against the mean.
    """
    return math.sqrt(float(counts.max()) / float(counts.mean()))
