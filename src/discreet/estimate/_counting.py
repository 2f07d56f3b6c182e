"""Counts of items that were measured several times, the popular ones more often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy
from discreet.estimate._directions import most_popular

_Floats = npt.NDArray[np.float64]

# Each head has this part of the items of the one before; the first _FIRST of the catalogue, the
# last _SMALLEST at least. Chosen on validation parts of MovieLens latest-small and 100k.
_NARROWER, _FIRST, _SMALLEST = 0.45, 0.125, 40
# For `believed_counts`, in standard deviations of the noise: the steps of the grids of true and of
# noisy counts, how far below 0 and how far above _CLEAR noisy counts reach, and from where on a
# count is believed as it is. Chosen by hand.
_TRUE_STEP, _NOISY_STEP, _BELOW, _BEYOND, _CLEAR = 0.15, 0.05, 6.0, 2.0, 10.0
# Steps of expectation maximisation. Chosen by hand.
_ROUNDS = 60


def narrowing_heads(items: int) -> list[int]:
    """How many items to count in each of several rounds; none where there are few."""
    sizes = []
    size = _FIRST * items
    while size >= _SMALLEST:
        sizes.append(round(size))
        size *= _NARROWER
    return sizes


def believed_counts(counts: Noisy) -> _Floats:
    """What noisy counts are worth: expected counts, where most items may drown in noise.

    Empirical Bayes: which true counts there are, and how many items have each, is learnt from the
    noisy ones by expectation maximisation, with noise taken for normal. So an item among many rare
    ones is drawn far towards them, and a popular one hardly.
    """
    if counts.spread <= 0:
        return np.asarray(np.maximum(counts.value, 0.0))
    noisy = np.asarray(counts.value, np.float64) / counts.spread
    true = np.arange(0.0, _CLEAR + _BEYOND, _TRUE_STEP)
    seen = np.arange(-_BELOW, _CLEAR + _BEYOND, _NOISY_STEP)
    places = np.rint((noisy[noisy < seen[-1]] + _BELOW) / _NOISY_STEP).astype(np.int64)
    often = np.bincount(np.maximum(places, 0), minlength=len(seen)).astype(np.float64)
    likely = np.exp(-np.square(seen[:, None] - true) / 2)
    prior = np.full(len(true), 1 / len(true))
    for _ in range(_ROUNDS):
        prior *= (often / np.maximum(likely @ prior, 1e-300)) @ likely
        prior /= max(float(prior.sum()), 1e-300)
    joint = likely * prior
    expected = (joint @ true) / np.maximum(joint.sum(axis=1), 1e-300)
    believed = np.where(noisy > _CLEAR, noisy, np.interp(noisy, seen, expected))
    return np.asarray(counts.spread * believed)


@dataclass(frozen=True, eq=False)
class RepeatedCounts:
    """What is known of the items' counts after some rounds.

    Attributes:
        value: Each item's count, in the unit of the first round.
        precisions: One over the variance of its noise.
        spread: The standard deviation of the noise of an item that was counted once.
    """

    value: _Floats
    precisions: _Floats
    spread: float

    @classmethod
    def of(cls, counts: Noisy) -> RepeatedCounts:
        """After one round."""
        precision = 1 / max(counts.spread, 1e-9) ** 2
        value = np.asarray(counts.value, np.float64)
        return cls(value, np.full(len(value), precision), counts.spread)

    def head(self, size: int) -> npt.NDArray[np.int32]:
        """The items that are most popular so far, rising."""
        return most_popular(self.value, size)

    def with_head(self, head: npt.NDArray[np.int32], votes: Noisy) -> RepeatedCounts:
        """After another round, among the items of a head.

        Somebody's vote is larger among few items than among many: by a factor of 1 or more, which
        the sums over the head show.
        """
        so_far = max(float(self.value[head].sum()), 1e-9)
        unit = max(float(votes.value.sum()) / so_far, 1.0)
        more = (unit / max(votes.spread, 1e-9)) ** 2
        value, precisions = self.value.copy(), self.precisions.copy()
        known = precisions[head]
        value[head] = (known * value[head] + more * votes.value / unit) / (known + more)
        precisions[head] = known + more
        return RepeatedCounts(value, precisions, self.spread)

    @property
    def counts(self) -> Noisy:
        """The counts with the noise of the least known."""
        return Noisy(self.value, self.spread)
