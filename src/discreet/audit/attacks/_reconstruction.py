"""Whole records from a dense covariance that has no noise.

Let x be somebody's ratings less the middle of the scale, and c how many they are. Published are
C = sum of x x^T / c and W = sum of e e^T / c, e marking what is rated: one person moves each by at
most a bounded amount, so noise for an epsilon can be added. Without it, an item that only one
person has rated gives that person away: its row of W marks everything they have rated, and its row
of C has their ratings, each times that one.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.audit._adversary import level_chances
from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._data import Floats, Ints, Marks, popularity, table
from discreet.domain import InputError
from discreet.privacy import GaussianNoise, SeededRandomness, Unit, unbooked
from discreet.privacy.accounting import calibrate_gaussian
from discreet.privacy.mechanisms import RoundedGaussian
from discreet.ratings import Ratings

# Budgets of the matrices with noise, with the usual delta.
_EPSILONS, _DELTA = (100.0, 10.0, 1.0), GaussianNoise.default_delta
# Grid units in 1.
_GRID = float(1 << 20)
# Keeps divisions and roots away from 0.
_TINY = 1e-12
# People who are alone with an item, at least, for the attack to mean anything.
_FEWEST = 5


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Read the records of everybody who is the only one to have rated something."""
    scene = _Scene(ratings)
    outcomes = [scene.outcome("no noise", None, seed)]
    outcomes += [scene.outcome(f"epsilon {each:g}", each, seed) for each in _EPSILONS]
    return outcomes


ATTACK = Attack(
    name="reconstruction",
    about="whole records, from a dense covariance",
    source="after Dinur and Nissim 2003",
    knows=(
        "the covariance of all items and how many have rated both of two, each person counted by "
        "1/c; which items have a single rater"
    ),
    tries_to="write down everything that the rater of such an item has rated, and how",
    counts="the share of the written records that is right, item and rating",
    remark=(
        "Epsilon is of a user. Guessing writes down the most popular items with their usual "
        "ratings, as many as the person has. No method here releases such a matrix: what is shown "
        "to protect is its noise."
    ),
    outcomes=_outcomes,
)


class _Scene:
    def __init__(self, ratings: Ratings) -> None:
        assert ratings.scale.levels is not None
        codes = table(ratings)
        rated = codes >= 0
        self._levels = ratings.scale.levels - ratings.scale.mid
        x = np.where(rated, self._levels[np.maximum(codes, 0)], 0.0)
        roots = np.sqrt(1 / np.maximum(rated.sum(axis=1, keepdims=True), 1))
        self._cov, self._wgt = ((part * roots).T @ (part * roots) for part in (x, rated))
        self._width = ratings.scale.range / 2
        counts = popularity(ratings)
        alone = np.flatnonzero(counts == 1)
        owners = rated[:, alone].argmax(axis=0)
        # A person who is alone with several items is attacked by the first.
        self._owners, first = np.unique(owners, return_index=True)
        self._items = alone[first]
        if len(alone) < _FEWEST:
            raise InputError("too few can be attacked: hardly an item has a single rater")
        self._codes = codes[self._owners]
        self._sizes = (self._codes >= 0).sum(axis=1)
        others = counts - (self._codes >= 0)
        self._odds = (others + 0.5) / (len(codes) - others - 0.5)
        items = np.broadcast_to(np.arange(codes.shape[1]), self._codes.shape)
        self._chances = level_chances(ratings, items, self._codes)

    def outcome(self, name: str, epsilon: float | None, seed: int) -> Outcome:
        """Rows of both matrices, with noise or without."""
        cov, cov_noise = self._noisy(self._cov, self._width**2, epsilon, f"{seed} cov {epsilon}")
        wgt, wgt_noise = self._noisy(self._wgt, 1.0, epsilon, f"{seed} wgt {epsilon}")
        named = self._named(wgt[self._items], wgt_noise)
        right = self._read(cov, cov_noise, named) == self._codes
        won = (named & right).sum(axis=1) / self._sizes
        return judge(name, won, self._guess(), is_protected=epsilon is not None)

    def _noisy(
        self, exact: Floats, sensitivity: float, epsilon: float | None, seed: str
    ) -> tuple[Floats, float]:
        """The same matrix with noise for half of the budget's mu^2, and the size of the noise.

        One person adds x x^T/c, whose Frobenius norm is |x|^2/c, at most the square of half the
        scale, and 1 for W. Rounding adds at most a grid step to how far an entry moves.
        """
        if epsilon is None:
            return exact, 0.0
        values = np.rint(exact * _GRID).astype(np.int64)
        reach = sensitivity * _GRID + math.sqrt(values.size)
        mechanism = RoundedGaussian(calibrate_gaussian(reach, epsilon, _DELTA, 0.5))
        event = mechanism.event(reach, Unit.USER, "dense covariance")
        source = SeededRandomness(f"reconstruction {seed}")
        noisy = mechanism.release(values, event, unbooked([event], source))
        return noisy / _GRID, mechanism.sigma / _GRID

    def _named(self, rows: Floats, noise: float) -> Marks:
        """The likeliest items, as many as each victim has rated: the attacker knows the number.

        Of a single rater W has 1/c where anything is rated and 0 elsewhere; the more noise there
        is, the more popularity counts.
        """
        part = 1 / self._sizes[:, None]
        gains = (rows * part - part**2 / 2) / (noise**2 + _TINY)
        scores = gains + np.log(self._odds)
        ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        return np.asarray(ranks < self._sizes[:, None])

    def _read(self, cov: Floats, noise: float, named: Marks) -> Ints:
        """The likeliest rating of every item, from C and from how others rate it.

        C_jj c is the square of the one rating x_j, and C_jk c is x_j x_k. Both signs of x_j explain
        the row; people mostly rate above the middle. If x_j is 0, so is the row, and shows nothing.
        """
        sizes = self._sizes[:, None]
        anchor = np.sqrt(np.maximum(cov[self._items, self._items][:, None] * sizes, _TINY))
        x = cov[self._items] * sizes / anchor
        x *= np.where((x * named).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        spread = (noise * sizes / anchor) ** 2 + 1e-3
        fits = (x[:, :, None] - self._levels) ** 2 / (2 * spread[:, :, None])
        is_known = (anchor > 0.1)[:, :, None]
        return np.asarray((np.log(self._chances) - np.where(is_known, fits, 0.0)).argmax(axis=2))

    def _guess(self) -> Floats:
        named = self._named(np.zeros(self._codes.shape), math.inf)
        right = self._chances.argmax(axis=2) == self._codes
        return np.asarray((named & right).sum(axis=1) / self._sizes)
