"""The papers' theorems that do not hold, and a client that remembers the wrong thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.audit._tags import Group
from discreet.audit.counterexamples import (
    Answer,
    generated_law,
    generated_sets,
    theorem_3_1,
    theorem_3_2,
    theorem_3_mu,
)
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import PairSubject, Subject
from discreet.audit.lower_bound._noisy import NoisySubject, StatisticSubject
from discreet.audit.lower_bound._protocols import CHANGED, ChangedRatingSubject, answers
from discreet.audit.lower_bound._statistics import centred_by_paper
from discreet.domain import OwnRatings
from discreet.measure.outputs import OutputMethod
from discreet.privacy import Noise, Randomness
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report

_Floats = npt.NDArray[np.float64]

_ANSWERS = {OutputMethod.SLOPE_ONE: theorem_3_1, OutputMethod.COSINE: theorem_3_2}


def paper_bugs() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    for mechanism in Mechanism:
        name = f"memoised-answers/{mechanism}"
        told = (name, CHANGED, mechanism)
        yield name, partial(ChangedRatingSubject, *told, reporting=report_memoised)
    yield "paper-000/theorem-3", _theorem_3
    yield "paper-000/theorem-4", partial(centred_by_paper, "paper-000/theorem-4", proved=False)
    yield "paper-002/quotient", QuotientSubject
    yield "paper-003/sets", SetsSubject
    for method, example in _ANSWERS.items():
        yield f"paper-003/{method}", partial(_answers, method, example)


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
    about = "Gaussian noise of the size that Theorem 3 asks for, at epsilon 10 and delta 0.1"
    told = (np.array([step]), np.array([0]), Noise.GAUSSIAN, float(step))
    return _ToldSubject(
        "paper-000/theorem-3", about, *told, theorem_3_mu(epsilon, delta),
        told=Claim(epsilon, delta), runs=5_000_000,
    )  # fmt: skip


def _answers(method: OutputMethod, example: Callable[[], Answer]) -> StatisticSubject:
    found = example()
    about = "one answer to a person, with the bound of Theorem 3.1 or 3.2"
    told = (found.measure, found.neighbours, Noise.LAPLACE, found.paper.claimed)
    return StatisticSubject(f"paper-003/{method}", about, *told)


@dataclass(frozen=True)
class QuotientSubject(PairSubject):
    """The paper's tags: the server divides one of a pair by the other."""

    runs: int = 2000

    name, about = "paper-002/quotient", "two people's tags; hash values 1 apart or 100"
    claim = Claim(0.0)
    group = Group(2**62 - 10_565)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        values = (5, 6 if world == 0 else 105)
        return np.array([self._score(values, randomness) for _ in range(runs)])

    def _score(self, values: tuple[int, int], randomness: Randomness) -> float:
        tags = self.group.tags(values, [randomness.bits(60) for _ in values])
        (apart,) = self.group.differences(tags, [(1, 0)])
        return float(apart == 1) - float(apart == 100)


@dataclass(frozen=True)
class SetsSubject(PairSubject):
    """The exponential mechanism on sets that follow the private ranking: neighbours have others."""

    runs: int = 2000

    name, about = "paper-003/sets", "a list of ten of forty items; one item's score rises"
    claim = Claim(1.0)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        sets, other = generated_sets(world), set(generated_sets(1 - world))
        ends = np.cumsum(generated_law(world, self.claim.epsilon))
        drawn = np.searchsorted(ends[:-1], randomness.words(runs) / 2.0**64, side="right")
        alone = np.array([each not in other for each in sets])
        return np.where(alone[drawn], 1.0 if world == 0 else -1.0, 0.0)
