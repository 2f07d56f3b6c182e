"""Item effects from debiased sums and counts whose noise is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.protocols.local_reports.messages import Collection
from discreet.protocols.local_reports.server._blocks import Totals
from discreet.protocols.local_reports.server._law import Law

_Floats = npt.NDArray[np.float64]

# Of five-star data, in squared units of a scale of width 4; other scales stretch them.
RATING_SPREAD, LARGEST_EFFECT = 1.2, 0.3
_GUESS, _DOUBT = 0.1, 0.2
"""What the mean rating is taken for beforehand, in ranges above mid, and how sure that is."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What reports say of the items one by one.

    Attributes:
        people: How many reports there are.
        mean: The mean rating, above mid.
        mean_variance: How uncertain it is.
        effects: What each item's level lies above the mean.
        variances: How uncertain each still is.
        counts: How many people rated each item, unbiased and unclipped.
        known: The same, drawn to their mean as far as noise asks for; above 0.
        count_spread: The standard deviation of the counts' noise, typically.
        moments: The mean of y^2 over people, by the known law.
    """

    people: int
    mean: float
    mean_variance: float
    effects: _Floats
    variances: _Floats
    counts: _Floats
    known: _Floats
    count_spread: float
    moments: _Floats

    @property
    def levels(self) -> _Floats:
        """Each item's level above mid."""
        return self.mean + self.effects


def stretch(scale: Scale) -> float:
    """How much wider the scale is than five stars, squared."""
    return (scale.range / 4) ** 2


def learn_effects(collection: Collection, law: Law, totals: Totals) -> Effects:
    """Debias the totals; then the posterior of each effect under a prior learnt from all."""
    people, width = totals.reports, stretch(collection.scale)
    counts = (totals.shown.astype(np.float64) - law.fake * people) / law.gap
    sums = law.slope * totals.sums.astype(np.float64)
    known, spread = _known_counts(law, counts, people)
    shares = np.minimum(known / people, 1.0)
    mean, doubt = _mean(collection, law, sums, counts, people, shares)

    def moments(levels: _Floats) -> _Floats:
        return law.moment(levels, shares, RATING_SPREAD * width, collection.unit)

    flat = np.full(len(counts), mean)
    noise = people * moments(flat)
    effects, left = _posterior(
        sums - mean * counts, known, noise, counts**2 - spread**2, LARGEST_EFFECT * width
    )
    half = collection.scale.range / 2
    effects = np.clip(effects, -half - mean, half - mean)
    told = moments(mean + effects)
    return Effects(people, mean, doubt, effects, left, counts, known, spread, told)


def _known_counts(law: Law, counts: _Floats, people: int) -> tuple[_Floats, float]:
    """Counts that can be divided by, and the usual noise of one.

    They are drawn to their mean as their noise asks for, but never by more than twice that noise:
    a few items are truly popular.
    """
    rough = np.clip(counts / people, 0.0, 1.0)
    spread = math.sqrt(people * float(law.presence_variance(rough).mean()))
    mean = max(float(counts.mean()), 1e-3)
    real = max(float(counts.var()) - spread**2, 0.0)
    pull = spread**2 / (real + spread**2 + 1e-300)
    drawn = counts + np.clip(pull * (mean - counts), -2 * spread, 2 * spread)
    return np.clip(drawn, min(0.02 * mean + 0.1 * spread + 0.1, mean), people), spread


def _mean(
    collection: Collection,
    law: Law,
    sums: _Floats,
    counts: _Floats,
    people: int,
    shares: _Floats,
) -> tuple[float, float]:
    """The mean rating above mid, drawn to a guess as far as noise asks for; and its variance."""
    scale = collection.scale
    guess, doubt = _GUESS * scale.range, _DOUBT * scale.range
    told = law.moment(
        np.full(len(sums), guess), shares, RATING_SPREAD * stretch(scale), collection.unit
    )
    spread = math.sqrt(people * float(told.sum()))
    number = max(float(counts.sum()), spread / scale.range, 1.0)
    ratio = min(max(float(sums.sum()) / number, guess - 2 * doubt), guess + 2 * doubt)
    noise = (spread / number) ** 2
    weight = doubt**2 / (doubt**2 + noise)
    return guess + weight * (ratio - guess), weight * noise


def _posterior(
    residuals: _Floats, counts: _Floats, noise: _Floats, squares: _Floats, largest: float
) -> tuple[_Floats, _Floats]:
    """Mean and variance of h where residuals_i = n_i h_i + noise_i and h_i ~ N(0, tau^2).

    tau^2 is what the residuals' squares have beyond noise, over what n^2 is; a standard error less
    for the means, and one more for the variances.
    """
    trust = 1 / noise**2
    scale = max(float(trust @ squares), 1e-300)
    excess = float(trust @ (residuals**2 - noise)) / scale
    doubt = math.sqrt(2 * float(trust**2 @ noise**2)) / scale
    tau2 = min(max(excess - doubt, 1e-6 * largest), largest)
    upper = min(max(excess + doubt, tau2, 0.3 * largest), largest)
    gain = tau2 * counts / (tau2 * counts**2 + noise)
    return gain * residuals, upper * noise / (upper * counts**2 + noise)
