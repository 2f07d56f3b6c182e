"""The linear ideal adversary of Park and Acharya, and what epsilon means to it.

It knows everything but one rating (Slope One) or one purchase (cosine) of a person: all other
records of that person, everybody else's, and so the similarities. It sees one answer with noise,
which is linear in what it wants to know, and solves for it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest, norm

from discreet.audit import noised_answers
from discreet.domain import InputError
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity
from discreet.privacy import Randomness, SystemRandomness
from discreet.ratings import Ratings

# Of the intervals around every figure.
_CONFIDENCE = 0.95
# Below every answer on the grid: what a person has rated is never listed.
_FAR = -(2**62)

Interval = tuple[float, float]
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


@dataclass(frozen=True)
class RiskUtility:
    """What one epsilon costs and leaves, measured by attacks. Intervals are of 95 %.

    Attributes:
        epsilon: Of each single answer. Everything that one person is shown costs more.
        spread: The standard deviation of the noise on an answer.
        utility: The part of a person's list that noise leaves as it was.
        utility_band: Its normal interval.
        risk_rounded: How often the adversary is right that rounds to a whole step, even outside
            the scale, as in the paper. It falls to 0, below guessing.
        risk_rounded_band: Its exact (Clopper and Pearson's) interval, like the next two.
        risk_clipped: How often one is right that knows where the scale ends.
        risk_clipped_band: Its interval.
        majority: How often the most frequent value is right, without any answer.
        majority_band: Its interval.
    """

    epsilon: float
    spread: float
    utility: float
    utility_band: Interval
    risk_rounded: float
    risk_rounded_band: Interval
    risk_clipped: float
    risk_clipped_band: Interval
    majority: float
    majority_band: Interval


def risk_utility(
    ratings: Ratings,
    method: OutputMethod | Literal["slope-one", "cosine"] = OutputMethod.SLOPE_ONE,
    epsilons: Iterable[float] = (0.1, 1.0, 10.0, 100.0, 1000.0),
    *,
    attacks: int = 2000,
    top: int = 20,
    minimum_raters: int = 10,
    minimum_ratings: int = 20,
    sensitivity: Sensitivity | Literal["proved", "paper"] = Sensitivity.PROVED,
    over: Over | Literal["people", "records"] = Over.PEOPLE,
    randomness: Randomness | None = None,
) -> list[RiskUtility]:
    """Attack real answers with real noise, for each epsilon. For the curator's eyes only.

    Every attack has its own person, drawn with replacement from those with enough ratings, and a
    whole list of noisy answers to that person; the adversary sees one of them. Answers are noised
    as those that anybody may see: their owner's records are what it is after.

    Args:
        ratings: Private, or public or synthetic data.
        method: What the answers are.
        epsilons: Of each single answer; infinite for no noise.
        attacks: How many.
        top: The length of the lists that utility compares.
        minimum_raters: The paper's phi_m.
        minimum_ratings: The paper's T.
        sensitivity: Whose formula and bound.
        over: Whether `people` are equally likely to be attacked, as in the paper's experiment, or
            `records`, as in its definition of risk.
        randomness: Of the noise and the choice of attacks; the operating system's by default.
    """
    epsilons = _checked(epsilons, attacks, over)
    function = OutputFunction(method, ratings.scale, minimum_raters, minimum_ratings, sensitivity)
    source = randomness or SystemRandomness()
    choices = np.random.default_rng(source.words(4))
    make = slope_one_scenes if function.method is OutputMethod.SLOPE_ONE else cosine_scenes
    scenes = make(ratings, function, attacks, choices, Over(over))
    exact = _exact(ratings, function, scenes)
    wanted = _best(exact, scenes, top)
    return [
        _judged(each, *noised_answers(exact, function, each, source), wanted, function, scenes)
        for each in epsilons
    ]


def _checked(epsilons: Iterable[float], attacks: int, over: str) -> list[float]:
    if over not in list(Over):
        raise InputError(f"attacks are over {' or '.join(Over)}, not '{over}'")
    budgets = [float(epsilon) for epsilon in epsilons]
    if not budgets or not all(epsilon > 0 for epsilon in budgets):
        raise InputError("epsilons are numbers above 0, at least one of them")
    if not 2 <= attacks <= 1 << 20:
        raise InputError(f"from 2 to {1 << 20:,} attacks can be made, not {attacks}")
    return budgets


def _exact(ratings: Ratings, function: OutputFunction, scenes: Scenes) -> _Ints:
    """Every attacked person's answers without noise."""
    people, rows = np.unique(scenes.people, return_inverse=True)
    return function.measure(ratings, people, np.arange(len(ratings.catalog)))[rows]


def _best(exact: _Ints, scenes: Scenes, top: int) -> npt.NDArray[np.bool_]:
    """Everybody's list without noise, marked."""
    if not 1 <= top <= int((~scenes.own).sum(axis=1).min()):
        raise InputError(f"somebody has fewer than {top} unrated items; ask for a shorter list")
    return _marked(exact, scenes.own, top)


def _judged(
    epsilon: float,
    noisy: _Ints,
    spread: float,
    wanted: npt.NDArray[np.bool_],
    function: OutputFunction,
    scenes: Scenes,
) -> RiskUtility:
    kept = (wanted & _marked(noisy, scenes.own, int(wanted[0].sum()))).sum(axis=1)
    utilities = kept / wanted.sum(axis=1)
    seen = function.to_answers(noisy[np.arange(len(noisy)), scenes.asked])
    rounded = scenes.guess(seen)
    clipped = np.clip(rounded, 0, scenes.last)
    won = [guess == scenes.secrets for guess in (rounded, clipped)]
    plain = np.full(len(noisy), scenes.majority) == scenes.secrets
    return RiskUtility(
        epsilon, spread,
        float(utilities.mean()), _mean_interval(utilities),
        float(won[0].mean()), _success_interval(won[0]),
        float(won[1].mean()), _success_interval(won[1]),
        float(plain.mean()), _success_interval(plain),
    )  # fmt: skip


def _marked(values: _Ints, own: npt.NDArray[np.bool_], top: int) -> npt.NDArray[np.bool_]:
    """The `top` unrated items of every row."""
    open_to = np.where(own, _FAR, values)
    best = np.argpartition(open_to, -top, axis=1)[:, -top:]
    marked = np.zeros(values.shape, dtype=np.bool_)
    np.put_along_axis(marked, best, True, axis=1)
    return marked


def _success_interval(won: _Marks) -> Interval:
    found = binomtest(int(won.sum()), len(won)).proportion_ci(_CONFIDENCE, method="exact")
    return float(found.low), float(found.high)


def _mean_interval(values: _Floats) -> Interval:
    """The normal interval for the mean of values from 0 to 1."""
    error = norm.ppf((1 + _CONFIDENCE) / 2) * values.std(ddof=1) / math.sqrt(len(values))
    return max(0.0, float(values.mean() - error)), min(1.0, float(values.mean() + error))


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
