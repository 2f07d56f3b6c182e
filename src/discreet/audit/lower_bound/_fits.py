"""Whole fits of a tiny data set, again and again, with and without somebody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.audit._likelihood import likelihood_ratio, touched
from discreet.audit._neighbours import STARS, Neighbours, Person, ratings_of
from discreet.audit._registry import Entry, register
from discreet.audit.lower_bound._engine import DELTA, Auditable, Claim, Floats, Ints, Subject
from discreet.domain import PRESENCE, Scale
from discreet.methods import MethodName, Transcript, fit, record_fit
from discreet.privacy import FIT_UNITS, Noise, Randomness, Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.ratings import Ratings
from discreet.release import Release

FITS: dict[str, Entry[Auditable]] = {}

# The data: small enough for a fit to take milliseconds.
_ITEMS, _PEOPLE = 10, 40
# Epsilons so small that some hundred runs can refute them: 500 runs prove 3.7 without delta at the
# very most.
_EPSILON = {Noise.GAUSSIAN: 8.0, Noise.LAPLACE: 2.0}
# Runs of whole fits, and of fits up to item effects, which are quick.
_RUNS, _EFFECTS_RUNS = {Noise.GAUSSIAN: 500, Noise.LAPLACE: 1500}, 2000
# Every item has tastes: with fewer, what is added might fall on one that has none.
_TASTES: dict[str, float] = {"taste_share": 0.4, "head": _ITEMS, "rank": 2}
_EFFECTS_ONLY: dict[str, float] = {"rank": 0}
_LISTS: dict[str, float] = {"head": _ITEMS, "list_rank": 4}
# What lists get in a fit of ratings, which might think so few people not worth it.
_LIST_SHARE = 0.2
# When records were made: within a few weeks of 1977, so that periods hold many of them; the later
# the item, the later.
_FIRST, _DAY = 100 * 28 * 86_400, 86_400
# How many items somebody rates who is distinguished best. What Laplace noise has to hide in many
# numbers is hard to see in any of them (PROOF.md).
_RATED = {Noise.GAUSSIAN: 6, Noise.LAPLACE: 2}

_ABOUT = f" of {_PEOPLE} people; one {{unit}} more or less"


def claim_of(noise: Noise, epsilon: float, delta: float = DELTA) -> Claim:
    """What a fit with this budget promises: the whole curve of its Gaussian noise, or epsilon."""
    if noise is Noise.LAPLACE:
        return Claim(epsilon)
    return Claim.gaussian(gaussian_mu(epsilon, delta), delta)


def spent(claim: Claim, factor: float) -> float:
    """The epsilon of a fit whose noise is `factor` times smaller than that of the claim."""
    return claim.as_epsilon(claim.size * factor) if factor != 1 else claim.epsilon


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


def timed(ratings: Ratings) -> Ratings:
    """The same records with a time each."""
    return replace(ratings, times=(_FIRST + _DAY * ratings.items).astype(np.uint32))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit with a budget, of two neighbouring data sets.

    Args:
        method: Of the fit.
        unit: Whom it protects.
        noise: Which.
        scale: Of the ratings.
        factor: How many times too small the noise really is; 1 unless a bug is planted.
        effects_only: Stop before tastes.
    """

    method: MethodName
    unit: Unit
    noise: Noise
    scale: Scale = STARS
    factor: float = 1.0
    effects_only: bool = False

    @property
    def claim(self) -> Claim:
        """What the booked budget promises."""
        return claim_of(self.noise, _EPSILON[self.noise])

    @cached_property
    def neighbours(self) -> Neighbours:
        """Somebody who rates at the ends of the scale: at both where differences are measured."""
        top, bottom = self.scale.hi, self.scale.lo
        others = bottom if self.method is MethodName.SLOPE_ONE else top
        rated = 1 if self.effects_only else _RATED[self.noise]
        first, rest = {0: top}, dict.fromkeys(range(1, rated), others)
        old, new = ({}, first | rest) if self.unit is Unit.USER else (rest, first)
        return Neighbours(_ITEMS, self.unit, old, new, crowd(self.scale), self.scale)

    @cached_property
    def worlds(self) -> list[Ratings]:
        """Everybody's ratings in each world."""
        return [timed(self.neighbours.ratings(world)) for world in (0, 1)]

    @cached_property
    def _own(self) -> list[Ratings]:
        """The person's ratings alone, with what is added and without."""
        both = (self.neighbours.without | self.neighbours.added, self.neighbours.without)
        return [timed(ratings_of([own], _ITEMS, self.scale)) for own in both]

    def _settings(self, randomness: Randomness) -> dict[str, Any]:
        settings: dict[str, Any] = dict(_EFFECTS_ONLY if self.effects_only else _TASTES)
        if self.method in (MethodName.SLOPE_ONE, MethodName.COSINE):
            del settings["rank"]
        if self.method is MethodName.LISTS:
            settings = dict(_LISTS)
        if self.method is MethodName.REFINED:
            settings["list_share"] = _LIST_SHARE
        if self.noise is Noise.GAUSSIAN:
            settings["delta"] = DELTA
        return settings | {
            "method": self.method,
            "protect": self.unit,
            "noise": self.noise,
            "epsilon": spent(self.claim, self.factor),
            "randomness": randomness,
            "ledger": "unbooked",  # made-up people
        }

    def record(self, world: int, randomness: Randomness) -> Transcript:
        """One fit of a world, with everything it released on its way."""
        return record_fit(self.worlds[world], **self._settings(randomness))

    def release(self, world: int, randomness: Randomness) -> Release:
        """One fit of a world."""
        return fit(self.worlds[world], **self._settings(randomness))

    def added(self, transcript: Transcript) -> list[Ints]:
        """What the first world adds to each statistic, given the outputs before it."""
        parts = transcript.contribution(self._own[0])
        if self.neighbours.without:
            less = transcript.contribution(self._own[1])
            parts = [more - each for more, each in zip(parts, less, strict=True)]
        return parts

    def scores(self, world: int, runs: int, randomness: Randomness) -> Floats:
        """The likelihood ratio of every statistic that a fit released, each given those before."""
        return np.array([self._score(world, randomness) for _ in range(runs)])

    def _score(self, world: int, randomness: Randomness) -> float:
        transcript = self.record(world, randomness)
        parts = list(map(touched, self.added(transcript)))
        return likelihood_ratio(transcript, parts, is_there=world == 0)

    def numbers(self, world: int, runs: int, randomness: Randomness) -> Floats:
        """The numbers of releases, as anybody can download them."""
        return np.array([_numbers(self.release(world, randomness)) for _ in range(runs)])


def _numbers(release: Release) -> Floats:
    """Counts and effects as they are; of factors, how items go together."""
    arrays = release.arrays
    factors = np.asarray(arrays["factors"], np.float64)
    together = factors @ factors[0] if factors.shape[1] else np.zeros(len(factors))
    mean = [float(release.parameters["global_mean"])]
    return np.concatenate([arrays["item_counts"], arrays["item_effects"], together, mean])


@dataclass(frozen=True, eq=False, kw_only=True)
class FitSubject(Subject):
    """The audit of a fit; `fit` says which."""

    fit: Fit


@register(
    FITS, "pipeline/effects/{unit}/{noise}", f"a fit up to item effects{_ABOUT}",
    unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def effects_fit(
    name: str, about: str, unit: Unit, noise: Noise, factor: float = 1.0, runs: int = _EFFECTS_RUNS
) -> FitSubject:
    """A fit that stops before tastes."""
    made = Fit(MethodName.COVARIANCE, unit, noise, factor=factor, effects_only=True)
    return FitSubject(name, about, made.claim, made.scores, runs, fit=made)


@register(
    FITS, "pipeline/{method}/{unit}/{noise}", f"a whole fit{_ABOUT}",
    method=MethodName, unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def whole_fit(
    name: str, about: str, method: MethodName, unit: Unit, noise: Noise, factor: float = 1.0,
    runs: int | None = None,
) -> FitSubject:  # fmt: skip
    """Every statistic that a fit releases on its way."""
    made = Fit(method, unit, noise, factor=factor)
    return FitSubject(name, about, made.claim, made.scores, runs or _RUNS[noise], fit=made)


@register(
    FITS, "pipeline/{method}/presence/{unit}/gaussian", f"a whole fit{_ABOUT}",
    method=(MethodName.LISTS, MethodName.COSINE), unit=FIT_UNITS,
)  # fmt: skip
def _presence_fit(name: str, about: str, method: MethodName, unit: Unit) -> FitSubject:
    made = Fit(method, unit, Noise.GAUSSIAN, PRESENCE)
    return FitSubject(name, about, made.claim, made.scores, _RUNS[Noise.GAUSSIAN], fit=made)


@register(
    FITS, "pipeline/refined/{unit}/gaussian/release", f"the release of a whole fit{_ABOUT}",
    unit=FIT_UNITS,
)  # fmt: skip
def _release(name: str, about: str, unit: Unit) -> FitSubject:
    """The release alone: a score is learnt from its numbers."""
    made = Fit(MethodName.REFINED, unit, Noise.GAUSSIAN)
    return FitSubject(name, about, made.claim, made.numbers, _RUNS[Noise.GAUSSIAN], fit=made)
