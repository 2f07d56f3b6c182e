"""The same held-out pairs, the same victims and the same measuring stick for every method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from discreet.audit._victims import choose_victims
from discreet.domain import InputError
from discreet.predict import People
from discreet.privacy import Randomness, SeededRandomness, SystemRandomness
from discreet.ratings import Ratings, split_random
from discreet.release import Release

_Floats = npt.NDArray[np.float64]

_HELD_OUT, _MOST_PEOPLE, _TRIES = 0.1, 2000, 30


class Bench:
    """Where methods are compared. Private.

    A tenth of the ratings is held out: what methods foresee of them is compared. Of presence, as
    many pairs drawn at random stand beside those held out.

    Args:
        ratings: Everybody's.
        attacks: How many victims there are.
        draws: How many times the noise is drawn for a method and an epsilon; victims are divided
            between the draws.
        seed: Makes victims, pairs and noise repeatable; None draws noise from the system.

    Raises:
        InputError: These ratings cannot be attacked, or leave nothing to compare.
    """

    def __init__(self, ratings: Ratings, *, attacks: int, draws: int, seed: int | None) -> None:
        if draws < 2:
            raise InputError(f"bands need at least 2 draws of the noise, not {draws}")
        if not draws <= attacks <= 1 << 20:
            raise InputError(f"from {draws} to {1 << 20:,} attacks can be made, not {attacks}")
        self.draws, self.seed = draws, seed
        self.choices = np.random.default_rng(seed)
        split = split_random(ratings, _HELD_OUT, 0 if seed is None else seed)
        self.train = split.train
        self.victims = choose_victims(split.train, attacks, self.choices)
        self._hold_out(split.test)
        if not self.train.scale.presence and not self._truth.var() > 0:
            raise InputError("there is nothing to foresee: all held-out ratings are the same")

    def __repr__(self) -> str:
        return "Bench(private)"

    def randomness(self, method: str, epsilon: float, draw: int) -> Randomness:
        """A source for one draw."""
        if self.seed is None:
            return SystemRandomness()
        return SeededRandomness(f"{self.seed} {method} {epsilon!r} {draw}")

    def predictions(self, release: Release) -> _Floats:
        """What a release says about the held-out pairs."""
        return np.asarray(release.predictor().predict_pairs(self.people, self.rows, self.items))

    def foreseen(self, predicted: _Floats) -> float:
        """Which part of the variance of held-out ratings is explained, 0 to 1.

        Of presence, how much more often than not a held-out pair comes before one drawn at random.
        """
        if not self.train.scale.presence:
            error = self.error(predicted) or 0.0
            return max(1 - error**2 / float(self._truth.var()), 0.0)
        held, others = np.split(predicted, 2)
        ranks = rankdata(np.concatenate([held, others]))[: len(held)]
        before = (ranks.mean() - (len(held) + 1) / 2) / len(others)
        return max(2 * float(before) - 1, 0.0)

    def error(self, predicted: _Floats) -> float | None:
        """The RMSE on the held-out ratings; None of presence, which nobody rates."""
        if self.train.scale.presence:
            return None
        return float(np.sqrt(np.mean((predicted - self._truth) ** 2)))

    def _hold_out(self, test: Ratings) -> None:
        """The held-out pairs of some people, and the own ratings of these people."""
        tested = np.flatnonzero(np.diff(test.starts))
        if not len(tested):
            raise InputError("there are too few ratings to hold any out")
        if len(tested) > _MOST_PEOPLE:
            tested = np.sort(self.choices.choice(tested, _MOST_PEOPLE, replace=False))
        self.users = tested
        self.people, theirs = _people(self.train, tested), _people(test, tested)
        self.rows = np.repeat(np.arange(len(tested)), np.diff(theirs.starts))
        self.items, self._truth = theirs.items, theirs.values
        if test.scale.presence:
            others = self._strangers(theirs)
            self.rows = np.tile(self.rows, 2)
            self.items = np.concatenate([self.items, others.astype(np.int32)])

    def _strangers(self, theirs: People) -> npt.NDArray[np.int64]:
        """Beside each held-out pair an item that the same person does not have, if there is one."""
        size = len(self.train.catalog)
        has = [
            np.repeat(np.arange(len(each)), np.diff(each.starts)) * size + each.items
            for each in (self.people, theirs)
        ]
        owned = np.concatenate(has)
        others = self.choices.integers(0, size, len(self.rows))
        for _ in range(_TRIES):
            again = np.isin(self.rows * size + others, owned)
            others[again] = self.choices.integers(0, size, int(again.sum()))
        return others


def _people(ratings: Ratings, users: npt.NDArray[np.int64]) -> People:
    chosen = np.zeros(ratings.user_count, dtype=np.bool_)
    chosen[users] = True
    counts = np.diff(ratings.starts)
    at = np.repeat(chosen, counts)
    starts = np.concatenate(([0], np.cumsum(counts[chosen])))
    return People(starts, ratings.items[at], ratings.scale.decode(ratings.codes[at]))
