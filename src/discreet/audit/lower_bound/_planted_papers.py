"""The papers' theorems that do not hold, planted (docs/explanation/errata.md)."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit._registry import Entry, register
from discreet.audit._tags import Group
from discreet.audit.counterexamples import (
    generated_law,
    generated_sets,
    theorem_3_1,
    theorem_3_2,
    theorem_3_mu,
    theorem_4,
)
from discreet.audit.lower_bound._engine import Auditable, Claim, Floats, Subject
from discreet.audit.lower_bound._noisy import NoisyPair, StatisticSubject
from discreet.measure.centring import GRID
from discreet.measure.item_sums import ResidualSums
from discreet.measure.outputs import OutputMethod
from discreet.privacy import Noise, Randomness

PAPER_STATISTICS: dict[str, Entry[Auditable]] = {}
PAPER_BUGS: dict[str, Entry[Auditable]] = {}

# Where Theorem 3 fails visibly, and the runs that it takes to see an epsilon of 10 at that delta.
_EPSILON, _DELTA, _RUNS = 10.0, 0.1, 5_000_000
# Runs of tags and of sets.
_FEWER_RUNS = 2000


@register(PAPER_BUGS, "paper-000/theorem-3", "Gaussian noise of the size that Theorem 3 asks for")
def _theorem_3(name: str, about: str) -> Subject:
    """Sigma = sqrt(2 ln(2/delta))/epsilon is said to be enough for every epsilon and delta."""
    step, mu = 1 << 20, theorem_3_mu(_EPSILON, _DELTA)
    pair = NoisyPair(np.array([step]), np.array([0]), Noise.GAUSSIAN, float(step), mu)
    return Subject(name, about, Claim(_EPSILON, _DELTA), pair.draw, _RUNS)


@register(
    PAPER_STATISTICS,
    "centred-sums/paper/rating/gaussian",
    "sums centred as in the paper, with our bound",
    can_search=True,
    proved=[True],
)
@register(
    PAPER_BUGS, "paper-000/theorem-4", "sums centred as in the paper, with its bound",
    can_search=True, proved=[False],
)  # fmt: skip
def _centred_sums(name: str, about: str, proved: bool) -> StatisticSubject:
    """Many 1s on items that average 5, then a 5 on an item that averages 1."""
    example, noise = theorem_4(68, 2.0), Noise.GAUSSIAN
    items = len(example.levels.effects)
    statistic = ResidualSums(example.centring, example.levels, noise, items)
    bound = statistic.sensitivity if proved else math.sqrt(example.claimed) * GRID
    args = (statistic.measure, example.neighbours, noise, bound)
    return StatisticSubject.of(name, about, *args)


@register(PAPER_BUGS, "paper-002/quotient", "two people's tags; hash values 1 apart or 100")
def _quotient(name: str, about: str) -> Subject:
    """The paper's tags: the server divides one of a pair by the other."""
    group = Group(2**62 - 10_565)

    def score(values: tuple[int, int], randomness: Randomness) -> float:
        tags = group.tags(values, [randomness.bits(60) for _ in values])
        (apart,) = group.differences(tags, [(1, 0)])
        return float(apart == 1) - float(apart == 100)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        values = (5, 6 if world == 0 else 105)
        return np.array([score(values, randomness) for _ in range(runs)])

    return Subject(name, about, Claim(0.0), draw, _FEWER_RUNS)


@register(PAPER_BUGS, "paper-003/sets", "a list of ten of forty items; one item's score rises")
def _sets(name: str, about: str) -> Subject:
    """The exponential mechanism on sets that follow the private ranking: neighbours have others."""
    claim = Claim(1.0)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        sets, other = generated_sets(world), set(generated_sets(1 - world))
        ends = np.cumsum(generated_law(world, claim.epsilon))
        drawn = np.searchsorted(ends[:-1], randomness.words(runs) / 2.0**64, side="right")
        alone = np.array([each not in other for each in sets])
        return np.where(alone[drawn], 1.0 if world == 0 else -1.0, 0.0)

    return Subject(name, about, claim, draw, _FEWER_RUNS)


_ANSWERS = {OutputMethod.SLOPE_ONE: theorem_3_1, OutputMethod.COSINE: theorem_3_2}


@register(
    PAPER_BUGS, "paper-003/{method}", "one answer to a person, with the paper's bound",
    can_search=True, method=OutputMethod,
)  # fmt: skip
def _answers(name: str, about: str, method: OutputMethod) -> StatisticSubject:
    found = _ANSWERS[method]()
    args = (found.measure, found.neighbours, Noise.LAPLACE, found.paper.claimed)
    return StatisticSubject.of(name, about, *args)
