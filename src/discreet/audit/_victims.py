"""Whom the ideal adversary of a release attacks, and what it thinks before it has seen anything."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.audit._chances import level_chances
from discreet.domain import InputError
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_TIE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Victims:
    """Records, one for each row, of which the adversary knows all but one thing. Private.

    Of ratings that is the value; of presence, whether the record is there.

    Attributes:
        ratings: Everybody's.
        people: Whose record it is.
        items: Which item it is about.
        secrets: The truth: a level's number; of presence 1 if the record is there, otherwise 0.
        chances: How likely each possible secret is to somebody who knows all other records; a row
            for each victim, adding up to 1.
        majority: The most frequent secret, over all records; of presence 0, as most are not there.
    """

    ratings: Ratings
    people: _Ints
    items: _Ints
    secrets: _Ints
    chances: _Floats
    majority: int

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        return "Victims(private)"

    @property
    def options(self) -> int:
        """How many secrets are possible."""
        return int(self.chances.shape[1])

    def part(self, first: int, last: int) -> Victims:
        """The victims from `first` to before `last`."""
        rows = slice(first, last)
        return replace(
            self,
            people=self.people[rows],
            items=self.items[rows],
            secrets=self.secrets[rows],
            chances=self.chances[rows],
        )

    def versions(self, victim: int) -> list[Ratings]:
        """This person alone, as they would be with each possible secret."""
        person, item = int(self.people[victim]), int(self.items[victim])
        own = self.ratings.select_users(person, person + 1)
        if own.scale.presence:
            return [_without(own, item), _with(own, item)]
        at = np.searchsorted(own.items, item)
        found = []
        for secret in range(self.options):
            codes = own.codes.copy()
            codes[at] = secret
            found.append(replace(own, codes=codes))
        return found


def choose_victims(ratings: Ratings, attacks: int, choices: np.random.Generator) -> Victims:
    """Every person is equally likely, and of a person every record.

    Of presence, every other attack is on an item that the person does not have.

    Raises:
        InputError: Nobody can be attacked, or nothing can be guessed on a continuous scale.
    """
    if ratings.scale.step is None:
        raise InputError("guessing ratings needs a scale with steps, not a continuous one")
    counts, items = np.diff(ratings.starts), len(ratings.catalog)
    fit = np.flatnonzero((counts > 0) & (counts < items))
    if not len(fit):
        raise InputError("nobody can be attacked: nobody has ratings, and an item unrated")
    people = choices.choice(fit, attacks)
    places = choices.integers(ratings.starts[people], ratings.starts[people + 1])
    if ratings.scale.presence:
        return _of_presence(ratings, people, places, choices)
    codes = ratings.codes.astype(np.int64)
    rated, secrets = ratings.items[places].astype(np.int64), codes[places]
    chances = level_chances(ratings, rated, secrets)
    majority = int(np.bincount(codes).argmax())
    return Victims(ratings, people, rated, secrets, chances, majority)


def _of_presence(
    ratings: Ratings, people: _Ints, places: _Ints, choices: np.random.Generator
) -> Victims:
    there = choices.random(len(people)) < 0.5
    own = ratings.items[places].astype(np.int64)
    items = np.where(there, own, _lacking(ratings, people, choices))
    chances = np.full((len(people), 2), 0.5)
    return Victims(ratings, people, items, there.astype(np.int64), chances, majority=0)


def _lacking(ratings: Ratings, people: _Ints, choices: np.random.Generator) -> _Ints:
    """An item that each of these people does not have, all equally likely: by drawing again."""
    items = len(ratings.catalog)
    known = ratings.user_of_rating().astype(np.int64) * items + ratings.items
    drawn = choices.integers(0, items, len(people))
    while True:
        had = np.isin(people * items + drawn, known)
        if not had.any():
            return drawn
        drawn[had] = choices.integers(0, items, int(had.sum()))


def _without(own: Ratings, item: int) -> Ratings:
    return own.where(own.items != item)


def _with(own: Ratings, item: int) -> Ratings:
    others = _without(own, item)
    at = int(np.searchsorted(others.items, item))
    return replace(
        others,
        starts=np.array([0, len(others) + 1]),
        items=np.insert(others.items, at, item),
        codes=np.ones(len(others) + 1, dtype=np.uint8),
        times=None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """Which attacks were right, in the order of the victims.

    Attributes:
        posterior: By what was seen, together with the chances beforehand: nobody does better.
        likelihood: By what was seen alone.
        prior: By the chances beforehand alone.
        majority: By the most frequent secret.
    """

    posterior: npt.NDArray[np.bool_]
    likelihood: npt.NDArray[np.bool_]
    prior: npt.NDArray[np.bool_]
    majority: npt.NDArray[np.bool_]


def guess(victims: Victims, likelihoods: _Floats, choices: np.random.Generator) -> Guesses:
    """Make every guess and see whether it is right.

    Args:
        victims: Who is attacked.
        likelihoods: For each victim and each possible secret, the logarithm of how likely what was
            seen would be; but for something that is the same for all secrets.
        choices: Decide between secrets that are equally likely.
    """
    ties = _TIE * choices.random(likelihoods.shape)
    beforehand = np.log(victims.chances)

    def right(scores: _Floats) -> npt.NDArray[np.bool_]:
        return np.asarray((scores + ties).argmax(axis=1) == victims.secrets)

    return Guesses(
        posterior=right(likelihoods + beforehand),
        likelihood=right(likelihoods),
        prior=right(beforehand),
        majority=victims.secrets == victims.majority,
    )
