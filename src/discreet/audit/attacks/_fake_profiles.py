"""Fictitious profiles that resemble a victim: the attack of McSherry and Mironov's introduction.

Where people are recommended what the people most like them rated highly, an attacker makes several
profiles of the few ratings that are known of a victim. The nearest neighbours of each are the other
profiles and the victim, so it is recommended what the victim rated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.audit.attacks._attack import (
    Attack,
    Outcome,
    band_of,
    judge,
    most_without_record,
)
from discreet.audit.attacks._data import (
    Floats,
    Ints,
    join,
    people_with,
    pick_users,
    popularity,
    some_of_each,
    table,
)
from discreet.methods import fit
from discreet.predict import People
from discreet.privacy import GaussianNoise, SeededRandomness, Unit
from discreet.ratings import Ratings

# Victims (a fit each, so few), ratings known of each, neighbours that a recommendation comes from,
# items that are recommended. Eight known ratings, as in the linkage attack; the others by hand.
_VICTIMS, _KNOWN, _NEIGHBOURS, _TOP = 30, 8, 10, 10
# Budgets of the attacked releases, with the usual delta of a fit.
_EPSILONS, _DELTA = (1.0, 0.1), GaussianNoise.default_delta


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Ten neighbours, nine of them fakes: ask what a fake is recommended."""
    rng = np.random.default_rng([seed, 4])
    scene = _Scene(ratings, people_with(ratings, 3 * _KNOWN, _VICTIMS, rng), seed, rng)
    return scene.outcomes()


ATTACK = Attack(
    name="fake-profiles",
    about="what somebody rated, from what copies of them are recommended",
    source="McSherry and Mironov 2009, section 1",
    knows=(
        f"{_KNOWN} ratings of the victim; {_NEIGHBOURS} profiles of their own, which copy them, "
        "and what one of these is recommended"
    ),
    tries_to="learn what else the victim has rated",
    counts=f"the share of {_TOP} recommended items that the victim has rated",
    remark=(
        "Epsilon is of a user: the victim. Guessing names the items that most others have rated. "
        "A bound starts from that guess, or from what fakes are recommended where the victim is "
        "not in the data, whichever is right more often."
    ),
    outcomes=_outcomes,
)


class _Scene:
    def __init__(
        self, ratings: Ratings, victims: Ints, seed: int, rng: np.random.Generator
    ) -> None:
        self._ratings, self._victims, self._seed = ratings, victims, seed
        self._places = np.sort(some_of_each(ratings, victims, _KNOWN, rng), axis=1)
        self._codes = table(ratings)
        self._known = ratings.items[self._places].astype(np.int64)
        self._hidden = self._codes[victims] >= 0
        np.put_along_axis(self._hidden, self._known, False, axis=1)
        self._guessed = self._share(self._popular())

    def outcomes(self) -> list[Outcome]:
        """Neighbours of the raw ratings first, then releases."""
        won = self._share(self._by_neighbours())
        found = [judge("nearest neighbours", won, self._guessed, is_protected=False)]
        for epsilon in _EPSILONS:
            won = self._share(self._by_release(epsilon, with_victim=True))
            absent = self._share(self._by_release(epsilon, with_victim=False))
            known = max(band_of(absent)[1], band_of(self._guessed)[1])
            most = most_without_record(known, epsilon, _DELTA)
            found.append(self._judged(f"release, epsilon {epsilon:g}", won, most))
        return found

    def _judged(self, name: str, won: Floats, most: float) -> Outcome:
        return judge(name, won, self._guessed, is_protected=True, bound=lambda _: most)

    def _share(self, scores: Floats) -> Floats:
        """The share of the best unknown items that the victim has rated."""
        open_ = scores.astype(np.float64, copy=True)
        np.put_along_axis(open_, self._known, -np.inf, axis=1)
        best = np.argpartition(-open_, _TOP, axis=1)[:, :_TOP]
        return np.asarray(np.take_along_axis(self._hidden, best, axis=1).mean(axis=1))

    def _popular(self) -> Floats:
        others = popularity(self._ratings) - (self._codes[self._victims] >= 0)
        return np.asarray(others, np.float64)

    def _by_neighbours(self) -> Floats:
        """Ratings of the nearest, above the middle of the scale; fakes have rated nothing more.

        People are the more alike the more they have rated both, and the nearer.
        """
        codes, own = self._codes, self._ratings.codes[self._places].astype(np.int64)
        theirs = codes[:, self._known]  # person, victim, known item
        parts = codes.max()
        near = np.where(theirs >= 0, 1 - np.abs(theirs - own) / parts, 0.0).sum(axis=2).T
        # All but one of the neighbours are the other fakes, who have the same ratings.
        nearest = near.argmax(axis=1)
        return np.asarray(np.where(codes[nearest] >= 0, codes[nearest] - parts / 2 + 0.01, 0.0))

    def _by_release(self, epsilon: float, *, with_victim: bool) -> Floats:
        """A fit for each victim, with the fakes in the data."""
        rows = []
        for row, victim in enumerate(self._victims.tolist()):
            everybody = np.arange(self._ratings.user_count)
            people = everybody if with_victim else np.delete(everybody, victim)
            data = join(pick_users(self._ratings, people), self._fakes(row))
            source = SeededRandomness(f"fake profiles {self._seed} {epsilon} {row} {with_victim}")
            release = fit(
                data,
                method="covariance",
                protect=Unit.USER,
                epsilon=epsilon,
                delta=_DELTA,
                randomness=source,
            )
            rows.append(release.predictor().scores(self._one(row), 0, 1)[0])
        return np.array(rows, np.float64)

    def _fakes(self, row: int) -> Ratings:
        """As many profiles as there are neighbours, all with the known ratings."""
        places = np.tile(self._places[row], _NEIGHBOURS)
        return replace(
            self._ratings,
            starts=np.arange(_NEIGHBOURS + 1) * _KNOWN,
            items=self._ratings.items[places],
            codes=self._ratings.codes[places],
            times=None,
            users=None,
        )

    def _one(self, row: int) -> People:
        one = self._fakes(row).select_users(0, 1)
        return People(one.starts, one.items, one.values())
