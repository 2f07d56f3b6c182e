"""Whole fits of a tiny data set, again and again, with and without somebody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import likelihood_ratio, touched
from discreet.audit._neighbours import STARS, Neighbours, Person, ratings_of
from discreet.audit.lower_bound._claims import DELTA, Claim
from discreet.audit.lower_bound._engine import PairSubject, Subject
from discreet.domain import PRESENCE, Scale
from discreet.methods import MethodName, fit, record_fit
from discreet.privacy import Noise, Randomness, Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.ratings import Ratings
from discreet.release import Release

_Floats = npt.NDArray[np.float64]

_ITEMS, _PEOPLE = 10, 40
_EPSILON = {Noise.GAUSSIAN: 8.0, Noise.LAPLACE: 2.0}
"""So small that some hundred runs can refute it: 500 prove 3.7 without delta at the very most."""
_RUNS = {Noise.GAUSSIAN: 500, Noise.LAPLACE: 1500}
_TASTES: dict[str, float] = {"taste_share": 0.4, "head": _ITEMS, "rank": 2}
"""Every item has tastes: with fewer, what is added might fall on one that has none."""
_RATED = {Noise.GAUSSIAN: 6, Noise.LAPLACE: 2}
"""How many items somebody rates who is told apart best: what Laplace noise has to hide in many
numbers is hard to see in any of them."""


def pipelines() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects; effects alone are quick, so they get more runs."""
    for unit in Unit:
        for noise in Noise:
            name = f"pipeline/effects/{unit}/{noise}"
            told = (name, about_fit("a fit up to item effects", unit), MethodName.COVARIANCE)
            yield name, partial(EffectsSubject, *told, unit, noise, runs=2000)
    for method in MethodName:
        for unit in Unit:
            for noise in Noise:
                name = f"pipeline/{method}/{unit}/{noise}"
                told = (name, about_fit("a whole fit", unit), method)
                yield name, partial(PipelineSubject, *told, unit, noise, runs=_RUNS[noise])
    for method in (MethodName.REFINED, MethodName.COSINE):
        for unit in Unit:
            name = f"pipeline/{method}/presence/{unit}/gaussian"
            told = (name, about_fit("a whole fit", unit), method)
            yield name, partial(PipelineSubject, *told, unit, Noise.GAUSSIAN, PRESENCE)
    for unit in Unit:
        name = f"pipeline/refined/{unit}/gaussian/release"
        told = (name, about_fit("the release of a whole fit", unit), MethodName.REFINED)
        yield name, partial(ReleaseSubject, *told, unit, Noise.GAUSSIAN)


def about_fit(what: str, unit: Unit, factor: float = 1.0) -> str:
    """Which neighbours, and by how much noise is too small if a bug is planted."""
    whom = "a rating" if unit is Unit.RATING else "a user with all their ratings"
    return f"{what} of {_PEOPLE} people; {whom} more or less{thinner(factor)}"


def claim_of(noise: Noise, epsilon: float, delta: float = DELTA) -> Claim:
    """What a fit with this budget promises: the whole curve of its Gaussian noise, or epsilon."""
    if noise is Noise.LAPLACE:
        return Claim(epsilon)
    return Claim.gaussian(gaussian_mu(epsilon, delta), delta)


def spent(claim: Claim, factor: float) -> float:
    """The epsilon of a fit whose noise is so many times smaller than that of the claim."""
    return claim.told(claim.size * factor) if factor != 1 else claim.epsilon


def thinner(factor: float) -> str:
    """What a planted bug does, in words."""
    return f"; noise {factor:g} times too small" if factor != 1 else ""


def crowd(scale: Scale) -> tuple[Person, ...]:
    """Other people, made up: the same on every machine."""
    rng = np.random.default_rng(8)
    marks = rng.random((_PEOPLE, _ITEMS)) < 0.6
    marks[:, 0] |= ~marks.any(axis=1)
    values = np.ones(marks.shape) if scale.presence else rng.integers(1, 6, marks.shape)
    return tuple(
        {int(item): float(values[who, item]) for item in np.flatnonzero(marks[who])}
        for who in range(_PEOPLE)
    )


@dataclass(frozen=True, eq=False)
class _FitSubject(PairSubject):
    """A fit with a budget, of two neighbouring data sets.

    Args:
        name: By which it is asked for.
        about: Which neighbours.
        method: Of the fit.
        unit: Whom it protects.
        noise: Which.
        scale: Of the ratings.
        factor: How many times too small the noise really is; 1 unless a bug is planted.
        runs: How many.
    """

    name: str
    about: str
    method: MethodName
    unit: Unit
    noise: Noise
    scale: Scale = STARS
    factor: float = 1.0
    runs: int = 500

    settings: ClassVar[dict[str, float]] = _TASTES

    @property
    def claim(self) -> Claim:
        return claim_of(self.noise, _EPSILON[self.noise])

    @cached_property
    def neighbours(self) -> Neighbours:
        """Somebody who rates at the ends of the scale: at both where differences are measured."""
        top, bottom = self.scale.hi, self.scale.lo
        others = bottom if self.method is MethodName.SLOPE_ONE else top
        first, rest = {0: top}, dict.fromkeys(range(1, self._rated), others)
        old, new = ({}, first | rest) if self.unit is Unit.USER else (rest, first)
        return Neighbours(_ITEMS, self.unit, old, new, crowd(self.scale), self.scale)

    @property
    def _rated(self) -> int:
        return _RATED[self.noise]

    @cached_property
    def _worlds(self) -> list[Ratings]:
        return [self.neighbours.ratings(world) for world in (0, 1)]

    def _told(self, randomness: Randomness) -> dict[str, Any]:
        told = {"method": self.method, "protect": self.unit, "noise": self.noise}
        settings = dict(self.settings)
        if self.method in (MethodName.SLOPE_ONE, MethodName.COSINE):
            del settings["rank"]
        budget = {"epsilon": spent(self.claim, self.factor), "randomness": randomness}
        budget["ledger"] = "unbooked"  # made-up people
        if self.noise is Noise.GAUSSIAN:
            budget["delta"] = DELTA
        return told | settings | budget


class PipelineSubject(_FitSubject):
    """Every statistic that a fit releases on its way, each given those before it."""

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        return np.array([self._score(world, randomness) for _ in range(runs)])

    def _score(self, world: int, randomness: Randomness) -> float:
        transcript = record_fit(self._worlds[world], **self._told(randomness))
        parts = transcript.contribution(self._own[0])
        if self.neighbours.without:
            less = transcript.contribution(self._own[1])
            parts = [more - each for more, each in zip(parts, less, strict=True)]
        return likelihood_ratio(transcript, list(map(touched, parts)), is_there=world == 0)

    @cached_property
    def _own(self) -> list[Ratings]:
        """The person's ratings alone, with what is added and without."""
        both = (self.neighbours.without | self.neighbours.added, self.neighbours.without)
        return [ratings_of([own], _ITEMS, self.scale) for own in both]


class EffectsSubject(PipelineSubject):
    """A fit that stops before tastes."""

    settings: ClassVar[dict[str, float]] = {"rank": 0}
    _rated = 1


class ReleaseSubject(_FitSubject):
    """The release alone, as anybody can download it: a score is learnt from its numbers."""

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        data, told = self._worlds[world], [self._told(randomness) for _ in range(runs)]
        return np.array([_numbers(fit(data, **each)) for each in told])


def _numbers(release: Release) -> _Floats:
    """Counts and effects as they are; of factors, how items go together."""
    arrays = release.arrays
    factors = np.asarray(arrays["factors"], np.float64)
    together = factors @ factors[0] if factors.shape[1] else np.zeros(len(factors))
    mean = [float(release.parameters["global_mean"])]
    return np.concatenate([arrays["item_counts"], arrays["item_effects"], together, mean])
