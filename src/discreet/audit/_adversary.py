"""The ideal adversary of a release: it knows every record but one, and sees all that came out.

Released were y_s = E_s + noise, each E_s a sum over people. With c_s(v) for the victim's own part
if the secret is v, the adversary, who knows everybody else, knows E_s for each v; they differ by
c_s(v) - c_s(v'). So it compares how likely each would have made what it sees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import likelihood_ratio, touched
from discreet.domain import InputError
from discreet.methods import Transcript
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]

# How many ratings of an item the distribution of all ratings weighs as much as. Chosen by hand.
_OVERALL = 10.0
# The size of the random numbers that decide between equally likely secrets.
_TIE = 1e-9


def level_chances(ratings: Ratings, items: _Ints, own: _Ints) -> _Floats:
    """How likely each value of a rating is to an attacker who knows all other ratings.

    From the other ratings of the same item, and from all other ratings together.

    Args:
        ratings: Everybody's, on a scale with steps.
        items: Which items are asked about.
        own: For each the code of the rating that is left out; -1 where there is none.

    Returns:
        The probability of each value, along one more axis.
    """
    assert ratings.scale.levels is not None
    levels = len(ratings.scale.levels)
    places = ratings.items.astype(np.int64) * levels + ratings.codes
    cells = np.bincount(places, minlength=len(ratings.catalog) * levels).reshape(-1, levels)
    left_out = np.vstack([np.eye(levels), np.zeros(levels)])[own]
    overall = cells.sum(axis=0) - left_out + 1.0
    overall /= overall.sum(axis=-1, keepdims=True)
    chances = cells[items] - left_out + _OVERALL * overall
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False, repr=False)
class Victims:
    """Records, one for each row, of which the adversary knows all but one thing. Private.

    Of ratings that is the value; of presence, whether the record is there.

    Attributes:
        ratings: Everybody's.
        people: Whose record it is.
        items: Which item it is about.
        secrets: The truth: a level's number; of presence 1 if the record is there, otherwise 0.
        chances: The prior: how likely each possible secret is to an attacker who knows all other
            records; a row for each victim, with sum 1.
        majority: The most frequent secret, over all records; of presence 0, as most are absent.
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
            return [own.where(own.items != item), _with(own, item)]
        at = np.searchsorted(own.items, item)
        found = []
        for secret in range(self.options):
            codes = own.codes.copy()
            codes[at] = secret
            found.append(replace(own, codes=codes))
        return found


def _with(own: Ratings, item: int) -> Ratings:
    """With this record; if it is not there, made when the person's last one was."""
    others, times = own.where(own.items != item), None
    at = int(np.searchsorted(others.items, item))
    if own.times is not None and others.times is not None:
        there = own.times[own.items == item]
        times = np.insert(others.times, at, there if len(there) else own.times.max())
    return replace(
        others,
        starts=np.array([0, len(others) + 1]),
        items=np.insert(others.items, at, item),
        codes=np.ones(len(others) + 1, dtype=np.uint8),
        times=times,
    )


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


def attack_release(transcript: Transcript, victims: Victims) -> _Floats:
    """The log likelihood of the outputs for each victim and each possible secret.

    Up to a term that is the same for all secrets.

    Args:
        transcript: Of a fit of the victims' ratings.
        victims: Who is attacked.
    """
    rows = [_likelihoods(transcript, victims, row) for row in range(len(victims))]
    return np.array(rows).reshape(len(victims), victims.options)


def _likelihoods(transcript: Transcript, victims: Victims, row: int) -> _Floats:
    """One version at a time: a person touches few entries of a large matrix."""
    versions = list(victims.versions(row))
    true = transcript.contribution(versions[int(victims.secrets[row])])
    found = np.zeros(len(versions))
    for option, own in enumerate(versions):
        if option != victims.secrets[row]:
            moved = zip(transcript.contribution(own), true, strict=True)
            parts = [touched(would - was) for would, was in moved]
            # As if what the secret makes a difference by were a person of its own.
            found[option] = likelihood_ratio(transcript, parts, is_there=False)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """Which guesses were right, in the order of the victims.

    Attributes:
        posterior: By what was seen, together with the prior: nobody does better.
        likelihood: By what was seen alone.
        prior: By the prior alone.
        majority: By the most frequent secret.
    """

    posterior: _Marks
    likelihood: _Marks
    prior: _Marks
    majority: _Marks


def guess(victims: Victims, likelihoods: _Floats, choices: np.random.Generator) -> Guesses:
    """Make every guess and see whether it is right.

    Args:
        victims: Who is attacked.
        likelihoods: The log likelihood of what was seen, for each victim and each possible secret;
            up to a term that is the same for all secrets.
        choices: Decide between secrets that are equally likely.
    """
    ties = _TIE * choices.random(likelihoods.shape)
    prior = np.log(victims.chances)

    def right(scores: _Floats) -> _Marks:
        return np.asarray((scores + ties).argmax(axis=1) == victims.secrets)

    return Guesses(
        posterior=right(likelihoods + prior),
        likelihood=right(likelihoods),
        prior=right(prior),
        majority=victims.secrets == victims.majority,
    )
