"""A climb from ordinary ratings, under ordinary levels, never leads past a bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.audit.lower_bound import Neighbours, StatisticSubject
from discreet.audit.lower_bound._noisy import part_of
from discreet.audit.lower_bound._statistics import head_of
from discreet.measure.agreement import RatingAgreement
from discreet.measure.centring import HuberCentring, ItemLevels, PaperCentring
from discreet.measure.covariance import RatingCovariance
from discreet.measure.item_sums import ResidualSums
from discreet.measure.refinement import RatingRefinement
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

ITEMS, STEPS = 10, 60
Told = tuple[Callable[[Ratings], npt.ArrayLike], float]


def levels() -> ItemLevels:
    """Items that average from 2 to 4."""
    return ItemLevels(3.0, np.random.default_rng(5).uniform(-1, 1, ITEMS))


def directions() -> npt.NDArray[np.float64]:
    drawn = np.random.default_rng(6).normal(size=(ITEMS, 2))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def centred(noise: Noise) -> Told:
    statistic = ResidualSums(HuberCentring(0.5, 2), levels(), noise, ITEMS)
    return statistic.measure, statistic.sensitivity


def by_paper(noise: Noise) -> Told:
    centring = PaperCentring(1.0, 2, 4.0 + float(np.ptp(levels().effects)))
    statistic = ResidualSums(centring, levels(), noise, ITEMS)
    return statistic.measure, statistic.sensitivity


def covariance(part: str, noise: Noise) -> Told:
    statistic = RatingCovariance(noise, head_of(ITEMS), HuberCentring(0.5, 2), levels())
    bound = statistic.sensitivities[part == "diagonal"]
    return lambda r: part_of(statistic.measure(r)[0], part), bound


def agreement(_: Noise) -> Told:
    along = 100 * directions()
    told: dict[str, Any] = {"centring": HuberCentring(0.5, 2), "levels": levels()}
    statistic = RatingAgreement(Unit.RATING, along, **told)
    return statistic.measure, statistic.sensitivity


def refinement(part: str, _: Noise) -> Told:
    statistic = RatingRefinement(directions(), 1.4, centring=HuberCentring(0.4, 2), levels=levels())
    bounds = {
        "rows": statistic.sensitivity,
        "moments": statistic.moment_sensitivity,
        "weight": statistic.weight_sensitivity,
    }
    return lambda r: getattr(statistic.measure(r), part), bounds[part]


BOTH: dict[str, Callable[[Noise], Told]] = {
    "centred sums": centred,
    "sums centred as in the paper": by_paper,
    "covariance, triangle": partial(covariance, "triangle"),
    "covariance, diagonal": partial(covariance, "diagonal"),
    "agreement": agreement,
}
CASES = [(name, noise) for name in BOTH for noise in Noise]
CASES += [(part, Noise.GAUSSIAN) for part in ("rows", "moments", "weight")]


@pytest.mark.parametrize(("name", "noise"), CASES)
def test_a_climb_gets_somewhere_and_not_past_the_bound(name: str, noise: Noise) -> None:
    make = BOTH.get(name, partial(refinement, name))
    start = Neighbours.by_rating(ITEMS, {0: 3.0, 1: 2.0, 2: 4.0}, (3, 3.0))
    measure, bound = make(noise)
    subject = StatisticSubject.of(name, name, measure, start, noise, bound)
    worse = subject.worse(STEPS, np.random.default_rng(7))
    assert 1.1 * subject.moved < worse.moved <= 1, "not where it began"
