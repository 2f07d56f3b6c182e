"""Whom the linear ideal adversary attacks, what it knows, and what it wants to know."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure.outputs import OutputFunction
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]


class Over(enum.StrEnum):
    """What is equally likely to be attacked."""

    PEOPLE = "people"
    """Every person, and of a person every record: the paper's experiment."""
    RECORDS = "records"
    """Every record: the paper's definition of risk. People who rate more are attacked more."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenes:
    """Attacks, one for each row. The adversary's guess is slope * answer + shift, rounded.

    Attributes:
        people: Whose record is attacked.
        own: Which items each of them has rated.
        asked: The unrated item whose answer the adversary sees.
        secrets: What it wants to know: a level's number, or 1 for a purchase and 0 for none.
        last: The largest secret there is.
        majority: The best guess without an answer.
        slope: From the side information.
        shift: Likewise.
    """

    people: _Ints
    own: _Marks
    asked: _Ints
    secrets: _Ints
    last: int
    majority: int
    slope: _Floats
    shift: _Floats

    def guess(self, answers: _Floats) -> _Floats:
        """The secret that would explain each answer, as a whole number that may be off the scale.

        Where both secrets would give the same answer it is not a number, and never right.
        """
        return np.rint(self.slope * answers + self.shift)


def slope_one_scenes(
    ratings: Ratings,
    function: OutputFunction,
    attacks: int,
    choices: np.random.Generator,
    over: Over = Over.PEOPLE,
) -> Scenes:
    """A rating r_il, from an answer about any j: |r_i| answer - (sum of s_jk + other r_ik)."""
    scale = ratings.scale
    if scale.step is None:
        raise InputError("guessing ratings needs a scale with steps, not a continuous one")
    people, own = _victims(ratings, function, attacks, choices, over)
    attacked = _records(ratings, people, choices)
    asked = _unrated(own, choices)
    counts = function.own_counts(ratings, people)
    # s_jk = -s_kj: the row of j in the table of similarities.
    similar = -_sums(function.similarities(ratings, people, asked), own) / function.grid
    values = ratings.values()
    totals = np.bincount(ratings.user_of_rating(), values, minlength=ratings.user_count)
    known = totals[people] - values[attacked]
    steps = scale.range / round(scale.range / scale.step)
    return Scenes(
        people=people,
        own=own,
        asked=asked,
        secrets=ratings.codes[attacked].astype(np.int64),
        last=round(scale.range / scale.step),
        majority=int(np.bincount(ratings.codes.astype(np.int64)).argmax()),
        slope=counts / steps,
        shift=-(similar + known + scale.lo) / steps,
    )


def cosine_scenes(
    ratings: Ratings,
    function: OutputFunction,
    attacks: int,
    choices: np.random.Generator,
    over: Over = Over.PEOPLE,
) -> Scenes:
    """Whether somebody bought l: one attack in two is on an item that they did buy.

    The adversary looks at the unrated item j that is most like l. With the other purchases K it
    knows the answer that either truth would give, h_0 = sum over K of s_kj / |K| and
    h_1 = (the same sum + s_lj)/(|K| + 1); (answer - h_0)/(h_1 - h_0) is 0 or 1 without noise.
    """
    people, own = _victims(ratings, function, attacks, choices, over)
    is_bought = choices.random(attacks) < 0.5
    bought = ratings.items[_records(ratings, people, choices)].astype(np.int64)
    secret_item = np.where(is_bought, bought, _unrated(own, choices))
    row = np.arange(attacks)
    likeness = function.similarities(ratings, people, secret_item)
    asked = np.where(own | (secret_item[:, None] == np.arange(own.shape[1])), -1, likeness)
    asked = asked.argmax(axis=1)
    known = own.copy()
    known[row, secret_item] = False
    sums = _sums(function.similarities(ratings, people, asked), known) / function.grid
    sizes, least = known.sum(axis=1), function.minimum_ratings
    without = sums / np.maximum(sizes, least)
    with_it = (sums + likeness[row, asked] / function.grid) / np.maximum(sizes + 1, least)
    gap = np.where(with_it == without, np.nan, with_it - without)
    return Scenes(
        people=people,
        own=own,
        asked=asked,
        secrets=is_bought.astype(np.int64),
        last=1,
        majority=int(is_bought.mean() >= 0.5),
        slope=1 / gap,
        shift=-without / gap,
    )


def _victims(
    ratings: Ratings,
    function: OutputFunction,
    attacks: int,
    choices: np.random.Generator,
    over: Over,
) -> tuple[_Ints, _Marks]:
    """People who would be answered, and what they have rated."""
    counts = np.diff(ratings.starts)
    items = len(ratings.catalog)
    fit = np.flatnonzero((counts >= function.minimum_ratings) & (counts <= items - 2))
    if not len(fit):
        raise InputError(
            f"nobody can be attacked: nobody has {function.minimum_ratings:,} ratings or more, "
            "and two items unrated"
        )
    weights = counts[fit] / counts[fit].sum() if over is Over.RECORDS else None
    people = choices.choice(fit, attacks, p=weights)
    own = np.zeros((attacks, items), dtype=np.bool_)
    sizes = counts[people]
    row = np.repeat(np.arange(attacks), sizes)
    ends = np.cumsum(sizes)
    within = np.arange(len(row)) - np.repeat(ends - sizes, sizes)
    own[row, ratings.items[ratings.starts[people][row] + within]] = True
    return people, own


def _records(ratings: Ratings, people: _Ints, choices: np.random.Generator) -> _Ints:
    """The place of one rating of each person, all equally likely."""
    return choices.integers(ratings.starts[people], ratings.starts[people + 1])


def _unrated(own: _Marks, choices: np.random.Generator) -> _Ints:
    """One item of each row that is not marked, all equally likely."""
    rank = choices.integers(0, (~own).sum(axis=1))
    return np.asarray((np.cumsum(~own, axis=1) > rank[:, None]).argmax(axis=1))


def _sums(table: _Ints, marks: _Marks) -> _Ints:
    return np.asarray(np.where(marks, table, 0).sum(axis=1))
