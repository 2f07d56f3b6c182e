"""Whose record is this? Linking to a public profile, after Narayanan and Shmatikov (2008).

The attacker knows roughly a few ratings of a person, and roughly when they were made; a quarter of
what it knows is wrong. Each record is scored by its likelihood as that person's against its
likelihood as anybody's, so rare items count more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._data import (
    Floats,
    Ints,
    levels,
    people_with,
    some_of_each,
    table,
)
from discreet.audit.attacks._uploads import report_table, upload_tables
from discreet.ratings import Ratings

# Victims, ratings known of each and how many of those are wrong; dates are known to two weeks.
# Eight ratings of which two may be wrong, and 14 days, are Narayanan and Shmatikov's.
_VICTIMS, _KNOWN, _WRONG = 200, 8, 2
_DAY, _DAYS = 86_400.0, 14.0
# Of a rating in a local report.
_EPSILONS = (4.0, 1.0, 0.5)
# Added to probabilities whose logarithm is taken.
_FLOOR = 1e-4
# How often a known rating is exact; otherwise it is off by one step. Chosen by hand.
_EXACT = 2 / 3


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Eight ratings, two of them wrong, against raw records, uploads with fakes and reports."""
    rng = np.random.default_rng([seed, 5])
    people = people_with(ratings, 2 * _KNOWN, _VICTIMS, rng)
    scene = _Scene(ratings, people, _profiles(ratings, people, rng), rng)
    as_it_is = np.eye(levels(ratings) + 1)
    fits = scene.by_law(scene.codes + 1, as_it_is)
    outcomes = [scene.outcome("raw ratings", fits, is_protected=False)]
    if ratings.times is not None:
        dated = fits + scene.by_date()
        outcomes.append(scene.outcome("raw ratings with dates", dated, is_protected=False))
    for percent in (100, 200):
        codes, _ = upload_tables(ratings, percent, f"linkage {seed}")
        scores = scene.by_law(codes + 1, _fake_law(ratings, codes))
        name = f"uploads with {percent} fakes for 100 ratings"
        outcomes.append(scene.outcome(name, scores, is_protected=False))
    for epsilon in _EPSILONS:
        most = float(np.exp(_KNOWN * epsilon)) / ratings.user_count
        name = f"local reports, epsilon {epsilon:g} a rating"
        scores = scene.by_reports(epsilon, seed)
        outcomes.append(scene.outcome(name, scores, is_protected=True, most=most))
    return outcomes


ATTACK = Attack(
    name="linkage",
    about="whose record it is, from a few ratings of a public profile",
    source="Narayanan and Shmatikov 2008",
    knows=(
        f"{_KNOWN} items that somebody has rated, with ratings off by at most a step and dates off "
        f"by at most {_DAYS:.0f} days; {_WRONG} of the items are wrong altogether"
    ),
    tries_to="find that person's record among all that were collected",
    counts="the record that fits best is the person's",
    remark=(
        "Fakes give deniability of a rating, and do not keep an upload from being found. The bound "
        f"for reports, e^({_KNOWN} epsilon) divided by the number of people, assumes that the "
        "attacker knows nothing else about anybody. A release of a trusted curator has no records "
        "to link."
    ),
    outcomes=_outcomes,
)


@dataclass(frozen=True, eq=False, repr=False)
class _Profiles:
    """What is known, a row for each victim."""

    items: Ints
    codes: Ints
    times: Floats | None


def _profiles(ratings: Ratings, people: Ints, rng: np.random.Generator) -> _Profiles:
    places = some_of_each(ratings, people, _KNOWN, rng)
    items, codes = ratings.items[places].astype(np.int64), ratings.codes[places].astype(np.int64)
    off = (rng.random(codes.shape) > _EXACT) * rng.choice([-1, 1], codes.shape)
    codes = np.clip(codes + off, 0, levels(ratings) - 1)
    wrong = rng.integers(0, len(ratings), (len(people), _WRONG))
    items[:, :_WRONG], codes[:, :_WRONG] = ratings.items[wrong], ratings.codes[wrong]
    times = None
    if ratings.times is not None:
        times = ratings.times[places] + rng.uniform(-_DAYS, _DAYS, places.shape) * _DAY
        times[:, :_WRONG] = ratings.times[wrong]
    return _Profiles(items, codes, times)


class _Scene:
    def __init__(
        self, ratings: Ratings, people: Ints, profiles: _Profiles, rng: np.random.Generator
    ) -> None:
        self._ratings, self._people, self._profiles = ratings, people, profiles
        self.codes = table(ratings)
        self._ties = rng.random((len(people), ratings.user_count)) * 1e-9
        self._guesses = rng.integers(0, ratings.user_count, len(people))

    def outcome(
        self, name: str, scores: Floats, *, is_protected: bool, most: float | None = None
    ) -> Outcome:
        """Who fits best, against drawing somebody by lot."""
        won = (scores + self._ties).argmax(axis=1) == self._people
        bound = None if most is None else lambda _: most
        guessed = self._guesses == self._people
        return judge(name, won, guessed, is_protected=is_protected, bound=bound)

    def by_law(self, seen: Ints, laws: Floats) -> Floats:
        """How likely what is seen of each person is if the profile is theirs, less if it is not.

        Args:
            seen: A row for each person; symbol 0 is "not rated".
            laws: For each true symbol the chances of what is seen.
        """
        size = len(laws) - 1
        theirs = (self._beliefs(size) @ laws)[self._profiles.codes]
        counts = np.zeros((seen.shape[1], size + 1)) + _FLOOR
        np.add.at(counts, (np.tile(np.arange(seen.shape[1]), len(seen)), seen.ravel()), 1.0)
        nobody = counts / counts.sum(axis=1, keepdims=True)
        gains = np.log(theirs / nobody[self._profiles.items])
        victims, known = np.indices(self._profiles.items.shape)
        reports = seen[:, self._profiles.items]  # person, victim, known item
        return np.asarray(gains[victims, known, reports].sum(axis=2).T)

    def by_date(self) -> Floats:
        """Likewise for the time that a known item was rated, among all times there are."""
        all_times, known = self._ratings.times, self._profiles.times
        assert all_times is not None and known is not None
        times = np.full(self.codes.shape, -np.inf)
        times[self._ratings.user_of_rating(), self._ratings.items] = all_times
        near = np.abs(times[:, self._profiles.items] - known) <= _DAYS * _DAY
        rated = self.codes[:, self._profiles.items] >= 0
        ranks = np.searchsorted(np.sort(all_times), (known - _DAYS * _DAY, known + _DAYS * _DAY))
        usual = np.maximum((ranks[1] - ranks[0]) / len(all_times), _FLOOR)
        right = 1 - _WRONG / _KNOWN
        odds = np.where(near, right / usual + 1 - right, 1 - right)
        return np.asarray((np.log(odds) * rated).sum(axis=2).T)

    def by_reports(self, epsilon: float, seed: int) -> Floats:
        """From everybody's randomized response on every item."""
        return self.by_law(*report_table(self._ratings, epsilon, f"linkage {seed} {epsilon}"))

    def _beliefs(self, size: int) -> Floats:
        """The chances of each symbol, for each rating that is thought to be known."""
        chances: npt.NDArray[np.float64] = np.full((size, size + 1), _FLOOR)
        far = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        right = 1 - _WRONG / _KNOWN
        chances[:, 1:] += right * (_EXACT * (far == 0) + (1 - _EXACT) / 2 * (far == 1))
        chances[:, 0] += _WRONG / _KNOWN
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _fake_law(ratings: Ratings, codes: Ints) -> Floats:
    """True ratings are sent; what is not rated looks rated as often as there are fakes."""
    size, sent = levels(ratings), int((codes >= 0).sum())
    fakes = (sent - len(ratings)) / (codes.size - len(ratings))
    law = np.eye(size + 1)
    law[0] = fakes * np.bincount(codes.ravel() + 1, minlength=size + 1) / sent
    law[0, 0] = 1 - fakes
    return law
