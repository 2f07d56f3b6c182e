"""Integers with noise of known law: the mechanism that nearly everything here goes through."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import log_ratio
from discreet.audit._neighbours import Neighbours, search
from discreet.audit._registry import Entry, register
from discreet.audit.lower_bound._engine import RUNS, Auditable, Claim, Floats, Ints, Subject
from discreet.domain.triangles import packed_side
from discreet.measure import Statistic
from discreet.privacy import Noise, Randomness, Unit, unbooked
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
from discreet.ratings import Ratings

# The mu or epsilon that a statistic is audited at: large enough for the rates of the two worlds to
# differ much, small enough for `RUNS` runs to reach it.
AMOUNT = 2.0
# Numbers drawn at a time: 16 MB of them.
_CELLS = 1 << 21


def mechanism_of(noise: Noise, scale: float) -> RoundedGaussian | TwoSidedGeometric:
    """The mechanism of one kind of noise; the scale is sigma, or the mean size of Laplace noise."""
    return RoundedGaussian(scale) if noise is Noise.GAUSSIAN else TwoSidedGeometric(scale)


def add_noise(
    values: Ints, noise: Noise, scale: float, sensitivity: float, randomness: Randomness
) -> Ints:
    """Integers through the real mechanism of this noise, charged for."""
    mechanism = mechanism_of(noise, scale)
    event = mechanism.event(sensitivity, Unit.RATING, "audit")
    return mechanism.release(values, event, unbooked([event], randomness))


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """The integers of two worlds, with noise for a booked sensitivity.

    Args:
        first: Exact integers of world 0.
        second: Those of world 1.
        noise: Which.
        sensitivity: As booked, in the noise's norm.
        amount: mu or epsilon.
        drawn: The share of the booked noise that is really drawn; 1 unless a bug is planted.
    """

    first: Ints
    second: Ints
    noise: Noise
    sensitivity: float
    amount: float = AMOUNT
    drawn: float = 1.0

    @property
    def scale(self) -> float:
        """Of the noise that is booked."""
        return self.sensitivity / self.amount

    @property
    def claim(self) -> Claim:
        """What the booked noise promises."""
        event = mechanism_of(self.noise, self.scale).event(self.sensitivity, Unit.RATING, "audit")
        return Claim.of([event])

    @property
    def moved(self) -> float:
        """The distance of the exact integers in the noise's norm, as a share of the sensitivity.

        Above 1 the sensitivity is wrong: no runs are needed to see it.
        """
        apart = (self.first - self.second).astype(np.float64).ravel()
        size = np.abs(apart).sum() if self.noise is Noise.LAPLACE else math.sqrt(apart @ apart)
        return float(size / self.sensitivity)

    def draw(self, world: int, runs: int, randomness: Randomness) -> Floats:
        """Likelihood ratios of runs.

        Only entries that differ are drawn: noise is independent, so the others say nothing.
        """
        touched = np.flatnonzero(self.first.ravel() != self.second.ravel())
        first, second = (each.ravel()[touched] for each in (self.first, self.second))
        true, scale = (first, second)[world], self.scale * self.drawn
        scores = np.empty(runs)
        block = max(1, _CELLS // max(len(touched), 1))
        for start in range(0, runs, block):
            rows = np.tile(true, (min(block, runs - start), 1))
            noisy = add_noise(rows, self.noise, scale, self.sensitivity, randomness)
            scores[start : start + block] = log_ratio(noisy, first, second, self.noise, scale)
        return scores

    def subject(self, name: str, about: str) -> Subject:
        """Its audit."""
        return Subject(name, about, self.claim, self.draw)


Measure = Callable[[Ratings], npt.ArrayLike]
"""A statistic: exact integers of everybody's ratings."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StatisticSubject(Subject):
    """A statistic of two neighbouring data sets, with noise for its sensitivity.

    Attributes:
        measure: The statistic.
        neighbours: The two data sets.
        pair: Their integers, with the noise.
    """

    measure: Measure
    neighbours: Neighbours
    pair: NoisyPair

    @classmethod
    def of(
        cls,
        name: str,
        about: str,
        measure: Measure,
        neighbours: Neighbours,
        noise: Noise,
        sensitivity: float,
        runs: int = RUNS,
    ) -> StatisticSubject:
        """Measure both worlds; the sensitivity is the booked one."""
        first, second = (
            np.atleast_1d(np.asarray(measure(neighbours.ratings(world)), np.int64)).ravel()
            for world in (0, 1)
        )
        pair = NoisyPair(first, second, noise, sensitivity)
        return cls(
            name, about, pair.claim, pair.draw, runs,
            measure=measure, neighbours=neighbours, pair=pair,
        )  # fmt: skip

    @property
    def moved(self) -> float:
        """See `NoisyPair.moved`."""
        return self.pair.moved

    def at(self, neighbours: Neighbours, sensitivity: float | None = None) -> StatisticSubject:
        """The same statistic at other neighbours, or with another booked sensitivity."""
        booked = self.pair.sensitivity if sensitivity is None else sensitivity
        args = (self.name, self.about, self.measure, neighbours, self.pair.noise)
        return StatisticSubject.of(*args, booked, self.runs)

    def worse(self, steps: int, rng: np.random.Generator) -> StatisticSubject:
        """The same at the worst neighbours that a search from these finds.

        The sensitivity stays: it depends on public things alone.
        """
        found, _ = search(self.neighbours, lambda tried: self.at(tried).moved, steps, rng)
        return self.at(found)


@dataclass(frozen=True, eq=False)
class Corner:
    """Where one record or one user moves a statistic as far as we know.

    Attributes:
        measure: The statistic, or one part of it.
        neighbours: The two data sets.
        sensitivity: As booked.
        runs: Runs of each world by default.
    """

    measure: Measure
    neighbours: Neighbours
    sensitivity: float
    runs: int = RUNS

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        neighbours: Neighbours,
        part: int = 0,
        prepare: Callable[[Ratings], Ratings] = lambda ratings: ratings,
    ) -> Corner:
        """One part of a statistic, with the sensitivity that a fit books for it.

        Args:
            statistic: Which.
            neighbours: The two data sets.
            part: Of the statistic's parts; of a triangle, the diagonal is left out, as in a fit.
            prepare: What to make of ratings first.
        """
        known = statistic.parts[part]

        def measure(ratings: Ratings) -> npt.ArrayLike:
            exact = statistic.measure(prepare(ratings))
            integers: npt.ArrayLike = exact[part] if isinstance(exact, tuple) else exact
            return part_of(np.asarray(integers), "triangle") if known.is_triangle else integers

        return cls(measure, neighbours, known.sensitivity)


def part_of(packed: Ints, part: str) -> Ints:
    """The strict triangle or the diagonal of a packed upper triangle."""
    side = packed_side(len(packed))
    assert side is not None
    rows, columns = np.triu_indices(side)
    return np.asarray(packed[(rows == columns) == (part == "diagonal")])


FindCorner = TypeVar("FindCorner", bound=Callable[..., Corner])


def register_corner(
    registry: dict[str, Entry[Auditable]],
    pattern: str,
    about: str,
    **choices: Iterable[Any],
) -> Callable[[FindCorner], FindCorner]:
    """A decorator as `register` is, for a function that gets those of the choices that it takes.

    The subject is the statistic at the corner that it returns, with noise as chosen: Gaussian if
    there is no choice of noise.
    """

    def add(find: FindCorner) -> FindCorner:
        takes = inspect.signature(find).parameters

        def make(name: str, about: str, **chosen: Any) -> StatisticSubject:
            found = find(**{choice: value for choice, value in chosen.items() if choice in takes})
            noise = chosen.get("noise", Noise.GAUSSIAN)
            corner = (found.measure, found.neighbours, noise, found.sensitivity, found.runs)
            return StatisticSubject.of(name, about, *corner)

        register(registry, pattern, about, can_search=True, **choices)(make)
        return find

    return add
