"""What models have to beat. None of these is private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.predict import People
from discreet.ratings import Ratings

Floats = npt.NDArray[np.float64]

# Ratings at the global mean that every item starts with. Chosen by hand.
_ITEM_DAMPING = 5.0
# With r = G + b + e, b ~ N(0, 0.2) and e ~ N(0, 1), in squared quarters of the scale, the posterior
# mean of b after n ratings is sum(r - G) / (n + 1/0.2). Only the quotient counts, on any scale.
_USER_DAMPING = 1.0 / 0.2
# The share of training records that counts as recent. Chosen by hand.
_RECENT = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Baseline:
    """A level for each item and, where `damping` is finite, a shift for each person.

    Attributes:
        levels: The rating expected of an unknown person, item by item.
        ranks: What lists are ordered by; items with equal ranks share their places.
        damping: The shift is sum(r - level) / (n + damping) over the person's own n ratings.
    """

    levels: Floats
    ranks: npt.NDArray[np.float32]
    damping: float = np.inf

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Expected ratings of person `rows[p]` for item `items[p]`."""
        predicted: Floats = self.levels[items] + self._shifts(people)[rows]
        return predicted

    def scores(self, people: People, first: int, last: int) -> npt.NDArray[np.float32]:
        """Scores of all items for the people from `first` to before `last`."""
        shifts = self._shifts(people.part(first, last)).astype(np.float32)
        return np.add.outer(shifts, self.ranks)

    def _shifts(self, people: People) -> Floats:
        running = np.concatenate(([0.0], np.cumsum(people.values - self.levels[people.items])))
        sums = running[people.starts[1:]] - running[people.starts[:-1]]
        shifts: Floats = sums / (np.diff(people.starts) + self.damping)
        return shifts


def global_mean(ratings: Ratings) -> Baseline:
    """The mean of all training ratings for every person and item; its lists are random."""
    levels = np.full(len(ratings.catalog), _mean(ratings))
    return Baseline(levels, np.zeros(len(levels), np.float32))


def item_mean(ratings: Ratings) -> Baseline:
    """Each item's mean, damped as if it had five more ratings at the global mean."""
    sums, counts = _item_totals(ratings)
    means = (sums + _ITEM_DAMPING * _mean(ratings)) / (counts + _ITEM_DAMPING)
    return Baseline(means, means.astype(np.float32))


def user_mean(ratings: Ratings) -> Baseline:
    """Each person's own mean, shrunk towards the global mean; its lists are random."""
    levels = np.full(len(ratings.catalog), _mean(ratings))
    return Baseline(levels, np.zeros(len(levels), np.float32), _USER_DAMPING)


def popularity(ratings: Ratings) -> Baseline:
    """Items rated most often come first; every rating is predicted as the global mean."""
    levels = np.full(len(ratings.catalog), _mean(ratings))
    return Baseline(levels, _item_totals(ratings)[1].astype(np.float32))


def recent_popularity(ratings: Ratings) -> Baseline:
    """Like `popularity`, of the latest twentieth of the records alone.

    Records as old as the oldest of them count too.

    Raises:
        InputError: The ratings have no times.
    """
    times, size = ratings.times, len(ratings.catalog)
    if times is None:
        raise InputError("recent-popularity goes by time, and these ratings have none")
    levels = np.full(size, _mean(ratings))
    if not len(times):
        return Baseline(levels, np.zeros(size, np.float32))
    first = min(round((1 - _RECENT) * len(times)), len(times) - 1)
    recent = times >= np.partition(times, first)[first]
    counts = np.bincount(ratings.items[recent], minlength=size)
    return Baseline(levels, counts.astype(np.float32))


def _item_totals(ratings: Ratings) -> tuple[Floats, Floats]:
    """Each item's sum of ratings, and their number."""
    size = len(ratings.catalog)
    sums, counts = np.zeros(size), np.zeros(size)
    for block in ratings.blocks():
        sums += np.bincount(block.items, weights=block.values(), minlength=size)
        counts += np.bincount(block.items, minlength=size)
    return sums, counts


def _mean(ratings: Ratings) -> float:
    """The mean rating; the middle of the scale if there are no ratings."""
    if len(ratings) == 0:
        return ratings.scale.mid
    return float(sum(float(block.values().sum()) for block in ratings.blocks()) / len(ratings))
