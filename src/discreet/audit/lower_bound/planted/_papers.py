"""The papers' theorems that do not hold, and a client that remembers the wrong thing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import PairSubject, Subject
from discreet.audit.lower_bound._neighbours import STARS, Neighbours
from discreet.audit.lower_bound._noisy import NoisySubject, StatisticSubject
from discreet.audit.lower_bound._protocols import ChangedRatingSubject, answers
from discreet.audit.lower_bound._statistics import centred_by_paper
from discreet.domain import PRESENCE, OwnRatings
from discreet.measure import Noise
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity
from discreet.privacy import Randomness, Unit
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def paper_bugs() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    for mechanism in Mechanism:
        name = f"memoised-answers/{mechanism}"
        yield name, partial(ChangedRatingSubject, mechanism, report_memoised, name)
    yield "paper-000/theorem-3", _theorem_3
    yield "paper-000/theorem-4", partial(centred_by_paper, "paper-000/theorem-4", proved=False)
    yield "paper-002/quotient", QuotientSubject
    for method in OutputMethod:
        yield f"paper-003/{method}", partial(_answers, method)


def report_memoised(
    collection: Collection, folder: Path, history: list[OwnRatings], randomness: Randomness
) -> list[Report]:
    """A client that keeps an answer for each item and rating: a changed rating gets a new one."""
    del folder  # its memory does not outlive it
    size = len(collection.catalog)
    told, before = [draw_report(collection, history[0], randomness)], history[0]
    for own in history[1:]:
        fresh = answers(draw_report(collection, own, randomness), size)
        same = before.values == own.values
        said = np.where(same, answers(told[-1], size), fresh)
        shown = np.flatnonzero(said > answers_below(collection))
        told.append(Report.of(collection, shown, said[shown]))
        before = own
    return told


def answers_below(collection: Collection) -> int:
    """Below every answer that there is, and above what stands for none."""
    return collection.least - 1


@dataclass(frozen=True, eq=False)
class _ToldSubject(NoisySubject):
    """Noise whose claim is another than its own."""

    told: Claim = field(kw_only=True)

    @property
    def claim(self) -> Claim:
        return self.told


def _theorem_3() -> Subject:
    """Sigma = sqrt(2 ln(2/delta))/epsilon is said to be enough for every epsilon and delta."""
    epsilon, delta, step = 10.0, 0.1, 1 << 20
    amount = epsilon / math.sqrt(2 * math.log(2 / delta))
    about = "Gaussian noise of the size that Theorem 3 asks for, at epsilon 10 and delta 0.1"
    told = (np.array([step]), np.array([0]), Noise.GAUSSIAN, float(step), amount)
    return _ToldSubject(
        "paper-000/theorem-3", about, *told, told=Claim(epsilon, delta), runs=5_000_000
    )


def _answers(method: OutputMethod) -> StatisticSubject:
    """The cliff of Theorem 3.1: an eleventh rater; of 3.2: the first who buys an item."""
    items = range(1, 21)
    scale = PRESENCE if method is OutputMethod.COSINE else STARS
    function = OutputFunction(method, scale, 10, 20, Sensitivity.PAPER)
    one, five, own = (1.0, 1.0, 1.0) if scale.presence else (1.0, 5.0, 3.0)
    rest = dict.fromkeys(items, one)
    crowd = () if scale.presence else ({0: five, **rest},) * 10
    others = (dict.fromkeys(items, own), *crowd)
    neighbours = Neighbours(21, Unit.RATING, rest, {0: five}, others, scale)

    def measure(ratings: Ratings) -> _Ints:
        return function.measure(ratings, np.array([0]), np.array([0]))

    about = "one answer to a person, with the bound of Theorem 3.1 or 3.2"
    told = (measure, neighbours, Noise.LAPLACE, function.claimed)
    return StatisticSubject(f"paper-003/{method}", about, *told)


@dataclass(frozen=True)
class QuotientSubject(PairSubject):
    """Tags g^(s_u s_v + L_u): the server divides one of a pair by the other."""

    runs: int = 2000

    name, about = "paper-002/quotient", "two people's tags; hash values 1 apart or 100"
    claim = Claim(0.0)
    prime, generator = 2**62 - 10_565, 4

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        values = (5, 6 if world == 0 else 105)
        return np.array([self._score(values, randomness) for _ in range(runs)])

    def _score(self, values: tuple[int, int], randomness: Randomness) -> float:
        one, other = (randomness.bits(60) for _ in values)
        shared = pow(self.generator, one * other, self.prime)
        tags = [shared * pow(self.generator, value, self.prime) % self.prime for value in values]
        quotient = tags[1] * pow(tags[0], -1, self.prime) % self.prime
        return float(quotient == self.generator) - float(
            quotient == pow(self.generator, 100, self.prime)
        )
