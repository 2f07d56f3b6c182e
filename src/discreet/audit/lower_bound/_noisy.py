"""Integers with noise of known law: the mechanism that nearly everything here goes through."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import log_ratio
from discreet.audit._neighbours import Neighbours, search
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import PairSubject
from discreet.privacy import Noise, Randomness, Unit, unbooked
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

AMOUNT = 2.0
"""The mu or epsilon that a statistic is audited at: large enough for rates to differ much."""
RUNS = 40_000
_BOOKED = (Unit.RATING, "audit")
_CELLS = 1 << 21


def mechanism_of(noise: Noise, scale: float) -> RoundedGaussian | TwoSidedGeometric:
    """Of one kind of noise and its size."""
    return RoundedGaussian(scale) if noise is Noise.GAUSSIAN else TwoSidedGeometric(scale)


def release(
    values: _Ints, noise: Noise, scale: float, sensitivity: float, randomness: Randomness
) -> _Ints:
    """Integers through the real mechanism of this noise, charged for."""
    mechanism = mechanism_of(noise, scale)
    event = mechanism.event(sensitivity, *_BOOKED)
    return mechanism.release(values, event, unbooked([event], randomness))


@dataclass(frozen=True, eq=False)
class NoisySubject(PairSubject):
    """A statistic's integers in two worlds, with noise for a sensitivity.

    Only entries that differ are drawn: noise is independent, so the others say nothing.

    Args:
        name: By which it is asked for.
        about: What it is.
        first: Exact integers of world 0.
        second: Those of world 1.
        noise: Which.
        sensitivity: As booked, in the noise's norm.
        amount: mu or epsilon.
        drawn: The part of the booked noise that is really drawn; 1 unless a bug is planted.
        runs: How many, if nothing is said.
    """

    name: str
    about: str
    first: _Ints
    second: _Ints
    noise: Noise
    sensitivity: float
    amount: float = AMOUNT
    drawn: float = 1.0
    runs: int = RUNS

    @property
    def scale(self) -> float:
        """Of the noise that is booked."""
        return self.sensitivity / self.amount

    @property
    def claim(self) -> Claim:
        return Claim.of([mechanism_of(self.noise, self.scale).event(self.sensitivity, *_BOOKED)])

    @property
    def moved(self) -> float:
        """How far apart the exact integers are, in the noise's norm, as a part of what is booked.

        Above 1 the sensitivity is wrong: no runs are needed to see it.
        """
        apart = (self.first - self.second).astype(np.float64).ravel()
        size = np.abs(apart).sum() if self.noise is Noise.LAPLACE else math.sqrt(apart @ apart)
        return float(size / self.sensitivity)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        touched = np.flatnonzero(self.first.ravel() != self.second.ravel())
        first, second = (each.ravel()[touched] for each in (self.first, self.second))
        true, scale = (first, second)[world], self.scale * self.drawn
        scores = np.empty(runs)
        block = max(1, _CELLS // max(len(touched), 1))
        for start in range(0, runs, block):
            rows = np.tile(true, (min(block, runs - start), 1))
            noisy = release(rows, self.noise, scale, self.sensitivity, randomness)
            scores[start : start + block] = log_ratio(noisy, first, second, self.noise, scale)
        return scores


Measure = Callable[[Ratings], npt.ArrayLike]
"""A statistic: exact integers of everybody's ratings."""


@dataclass(frozen=True, eq=False)
class StatisticSubject(PairSubject):
    """A statistic of two neighbouring data sets, with noise for its sensitivity.

    Args:
        name: By which it is asked for.
        about: What it is.
        measure: The statistic.
        neighbours: The two data sets.
        noise: Which.
        sensitivity: As booked.
        amount: mu or epsilon.
        runs: How many, if nothing is said.
    """

    name: str
    about: str
    measure: Measure
    neighbours: Neighbours
    noise: Noise
    sensitivity: float
    amount: float = AMOUNT
    runs: int = RUNS

    @cached_property
    def noisy(self) -> NoisySubject:
        """The two worlds' integers."""
        first, second = (_integers(self.measure, self.neighbours, world) for world in (0, 1))
        told = (self.noise, self.sensitivity, self.amount)
        return NoisySubject(self.name, self.about, first, second, *told, runs=self.runs)

    @property
    def claim(self) -> Claim:
        return self.noisy.claim

    @property
    def moved(self) -> float:
        """See `NoisySubject.moved`."""
        return self.noisy.moved

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        return self.noisy.draw(world, runs, randomness)

    def worse(self, steps: int, rng: np.random.Generator) -> StatisticSubject:
        """The same at the worst neighbours that a search from these finds.

        The sensitivity stays: it depends on public things alone.
        """

        def movement(neighbours: Neighbours) -> float:
            return replace(self, neighbours=neighbours).moved

        found, _ = search(self.neighbours, movement, steps, rng)
        return replace(self, neighbours=found)


def _integers(measure: Measure, neighbours: Neighbours, world: int) -> _Ints:
    return np.atleast_1d(np.asarray(measure(neighbours.ratings(world)), np.int64)).ravel()
