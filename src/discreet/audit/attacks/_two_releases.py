"""What changed between two releases, after Calandrino et al. (2011).

A person of whom some items are known rates one more. Of all items that became more similar to many
of the known ones at once, that is the likeliest. The statistic is how many rated both of two items,
weighted by the person, as in Slope One's release.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.audit.attacks._attack import Attack, Outcome, judge, most_with_prior, twice
from discreet.audit.attacks._data import Floats, Ints, people_with, popularity, some_of_each
from discreet.measure.pairs import DifferencePairs
from discreet.privacy import GaussianNoise, Noise, Randomness, SeededRandomness, Unit, unbooked
from discreet.privacy.accounting import calibrate_gaussian
from discreet.privacy.mechanisms import RoundedGaussian
from discreet.ratings import Ratings
from discreet.release import unpack

# Victims, and items known of each.
_TARGETS, _KNOWN = 200, 10
# Budgets of a release with noise, with the usual delta.
_EPSILONS, _DELTA = (10.0, 1.0), GaussianNoise.default_delta


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Watch pair weights before and after many people rated one more item each."""
    rng = np.random.default_rng([seed, 2])
    people = people_with(ratings, 2 * _KNOWN, _TARGETS, rng)
    places = some_of_each(ratings, people, _KNOWN + 1, rng)
    is_new = np.zeros(len(ratings), np.bool_)
    is_new[places[:, 0]] = True
    scene = _Scene(ratings, ratings.where(~is_new), ratings.items[places])
    outcomes = [scene.outcome("without noise", None, seed)]
    outcomes += [scene.outcome(f"with noise, epsilon {each:g}", each, seed) for each in _EPSILONS]
    return outcomes


ATTACK = Attack(
    name="two-releases",
    about="a new rating from what changed between two releases",
    source="Calandrino et al. 2011",
    knows=(
        f"{_KNOWN} items that somebody has rated, and two releases of how many rated both of two "
        "items; in between that person rated one more item, and so did others"
    ),
    tries_to="find out which",
    counts="the item was named at the first guess",
    remark=(
        "Epsilon is of one rating and one release. The guess without them is the item that most "
        "people have rated."
    ),
    outcomes=_outcomes,
)


class _Scene:
    """Everybody's ratings before and after; in a row of `items` the new one comes first."""

    def __init__(self, after: Ratings, before: Ratings, items: npt.NDArray[np.int32]) -> None:
        self._new, self._known = items[:, 0], items[:, 1:]
        head = np.arange(len(after.catalog), dtype=np.int32)
        self._statistic = DifferencePairs(Unit.RATING, Noise.GAUSSIAN, head, after.scale)
        self._exact = [self._statistic.measure(each)[1] for each in (before, after)]
        self._counts = popularity(before)
        self._usual = float(np.median(np.diff(before.starts)))

    def outcome(self, name: str, epsilon: float | None, seed: int) -> Outcome:
        """Attack both releases."""
        source = SeededRandomness(f"two releases {seed} {epsilon}")
        before, after = (self._noisy(each, epsilon, source) for each in self._exact)
        change = unpack((after - before).astype(np.float64)).astype(np.float64)
        guessed = self._best(np.tile(self._counts.astype(np.float64), (len(self._new), 1)))
        scores = self._by_rises(change) if epsilon is None else self._by_chances(change)
        won = self._best(scores) == self._new
        blind = guessed == self._new
        if epsilon is None:
            return judge(name, won, blind, is_protected=False)
        # Another item instead: of the second release alone, a rating less and one more.
        double, delta = twice(epsilon, _DELTA)
        bound = partial(most_with_prior, epsilon=double, delta=delta)
        return judge(name, won, blind, is_protected=True, bound=bound)

    def _noisy(self, exact: Ints, epsilon: float | None, source: Randomness) -> Ints:
        if epsilon is None:
            return exact
        sensitivity = self._statistic.weight_sensitivity
        mechanism = RoundedGaussian(calibrate_gaussian(sensitivity, epsilon, _DELTA))
        event = mechanism.event(sensitivity, Unit.RATING, "pair weights")
        return mechanism.release(exact, event, unbooked([event], source))

    def _by_rises(self, change: Floats) -> Floats:
        """How much each item rose beside all known ones: the smaller half of the rises, added up.

        Somebody else's new item rose beside few of them. Each rise is measured by how much that
        known item's row moved altogether.
        """
        usual = np.sqrt((change**2).mean(axis=1)) + 1e-12
        rises = change[self._known] / usual[self._known][:, :, None]
        return np.asarray(np.sort(rises, axis=1)[:, : _KNOWN // 2 + 1].sum(axis=1))

    def _by_chances(self, change: Floats) -> Floats:
        """Under noise: the log of how likely each item is, from popularity and from all rises.

        The new item rises beside each known one by the weight of somebody with a usual number of
        ratings; all else has about the spread of the known item's row.
        """
        rise = self._statistic.weight_grid / np.sqrt(self._usual)
        squares = (change**2).mean(axis=1)[self._known][:, :, None]
        gains = (change[self._known] * rise - rise**2 / 2) / squares
        return np.asarray(gains.sum(axis=1) + np.log(self._counts + 0.5))

    def _best(self, scores: Floats) -> Ints:
        """The best item of each row that is not among the known ones."""
        open_ = scores.copy()
        np.put_along_axis(open_, self._known.astype(np.int64), -np.inf, axis=1)
        return np.asarray(open_.argmax(axis=1))
