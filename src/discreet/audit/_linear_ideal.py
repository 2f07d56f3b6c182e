"""The linear ideal adversary of Park and Acharya, and what epsilon means to it.

It knows everything but one rating (Slope One) or one purchase (cosine) of a person: all other
records of that person, everybody else's, and so the similarities. It sees one answer with noise,
which is linear in what it wants to know, and solves for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.audit._intervals import Band, mean_band, success_band
from discreet.audit._scenes import Over, Scenes, cosine_scenes, slope_one_scenes
from discreet.domain import InputError
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity, ShownTo
from discreet.privacy import Randomness, SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import TwoSidedGeometric
from discreet.ratings import Ratings

_UP = 1 + 2.0**-33
_FAR = -(2**62)

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RiskUtility:
    """What one epsilon costs and leaves, measured by attacks. Bands are of 95 %.

    Attributes:
        epsilon: Of each single answer. Everything that one person is shown costs more.
        spread: The standard deviation of the noise on an answer.
        utility: The part of a person's list that noise leaves as it was.
        utility_band: Normal.
        risk_rounded: How often the adversary is right that rounds to a whole step, even outside
            the scale, as in the paper. It falls to 0, below guessing.
        risk_rounded_band: Clopper and Pearson's, like the next two.
        risk_clipped: How often one is right that knows where the scale ends.
        risk_clipped_band: Its band.
        majority: How often the most frequent value is right, without any answer.
        majority_band: Its band.
    """

    epsilon: float
    spread: float
    utility: float
    utility_band: Band
    risk_rounded: float
    risk_rounded_band: Band
    risk_clipped: float
    risk_clipped_band: Band
    majority: float
    majority_band: Band

    def value(self, utility_weight: float, risk_weight: float) -> float:
        """What it is worth to somebody to whom utility and being found out count so much."""
        return utility_weight * self.utility - risk_weight * self.risk_clipped


def best_value(
    curve: Sequence[RiskUtility], *, utility_weight: float = 1.0, risk_weight: float = 1.0
) -> RiskUtility:
    """The point of a curve that is worth most.

    An epsilon chosen on private data depends on it: choose on public or synthetic data.
    """
    if not curve:
        raise InputError("there is nothing to choose from: the curve has no point")
    return max(curve, key=lambda point: point.value(utility_weight, risk_weight))


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
        randomness: Where noise and the choice of attacks come from; the system if not told.
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
    told = [float(epsilon) for epsilon in epsilons]
    if not told or not all(epsilon > 0 for epsilon in told):
        raise InputError("epsilons are numbers above 0, at least one of them")
    if not 2 <= attacks <= 1 << 20:
        raise InputError(f"from 2 to {1 << 20:,} attacks can be made, not {attacks}")
    return told


def _exact(ratings: Ratings, function: OutputFunction, scenes: Scenes) -> _Ints:
    """Every attacked person's answers without noise."""
    people, rows = np.unique(scenes.people, return_inverse=True)
    return function.measure(ratings, people, np.arange(len(ratings.catalog)))[rows]


def noised_answers(
    exact: _Ints, function: OutputFunction, epsilon: float, source: Randomness
) -> tuple[_Ints, float]:
    """The answers as they are given out, and the noise's size."""
    if math.isinf(epsilon):
        return exact, 0.0
    sensitivity = function.one_answer(ShownTo.ANYBODY)
    mechanism = TwoSidedGeometric(sensitivity / epsilon * _UP)
    event = mechanism.event(sensitivity, Unit.RATING, "attacked answers")
    noisy = mechanism.release(exact, event, unbooked([event], source))
    return noisy, math.sqrt(2) * mechanism.scale / function.grid


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
        float(utilities.mean()), mean_band(utilities),
        float(won[0].mean()), success_band(won[0]),
        float(won[1].mean()), success_band(won[1]),
        float(plain.mean()), success_band(plain),
    )  # fmt: skip


def _marked(values: _Ints, own: npt.NDArray[np.bool_], top: int) -> npt.NDArray[np.bool_]:
    """The `top` unrated items of every row."""
    open_to = np.where(own, _FAR, values)
    best = np.argpartition(open_to, -top, axis=1)[:, -top:]
    marked = np.zeros(values.shape, dtype=np.bool_)
    np.put_along_axis(marked, best, True, axis=1)
    return marked
