"""The level of all ratings: an exact integer, and nobody moves it further than the sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Scale
from discreet.measure.centring import GRID, ItemLevels
from discreet.measure.level import Level
from discreet.methods import fit
from discreet.privacy import FIT_UNITS, SeededRandomness, Unit
from discreet.ratings import find_shape, make_ratings
from measure._neighbours import (
    SCALES,
    Pair,
    Person,
    levels_on,
    pairs_on,
    people_on,
    person_on,
    ratings_of,
    slow_residual,
    use_small_blocks,
)

ITEMS = 7
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)


def slow_level(unit: Unit, scale: Scale, levels: ItemLevels, people: list[Person]) -> int:
    reach, total = math.ceil(scale.range / 2 * GRID), 0
    for person in people:
        x = [slow_residual(levels, item, value) for item, value in person.items()]
        inside = [min(max(value, -reach), reach) for value in x]
        if unit is Unit.RATING:
            total += sum(inside)
        elif inside:
            total += sum(inside) // len(inside)
    return total


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_it_follows_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, levels = data.draw(people_on(scale, ITEMS)), data.draw(levels_on(scale, ITEMS))
    ratings = ratings_of(people, ITEMS, scale)
    for unit in FIT_UNITS:
        statistic = Level(unit, scale, levels)
        with pytest.MonkeyPatch.context() as patch:
            use_small_blocks(patch, 3, 2)
            assert statistic.measure(ratings) == slow_level(unit, scale, levels, people)


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_no_rating_moves_it_further(scale: Scale, data: st.DataObject) -> None:
    pair: Pair = data.draw(pairs_on(scale, ITEMS))
    statistic = Level(Unit.RATING, scale, data.draw(levels_on(scale, ITEMS)))
    after, before = (
        statistic.measure(ratings_of(p, ITEMS, scale)) for p in (pair.with_it, pair.without)
    )
    assert abs(after - before) <= statistic.sensitivity


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_no_user_moves_it_further(scale: Scale, data: st.DataObject) -> None:
    people, more = data.draw(people_on(scale, ITEMS)), data.draw(person_on(scale, ITEMS))
    statistic = Level(Unit.USER, scale, data.draw(levels_on(scale, ITEMS)))
    after = statistic.measure(ratings_of([*people, more], ITEMS, scale))
    before = statistic.measure(ratings_of(people, ITEMS, scale))
    assert abs(after - before) <= statistic.sensitivity


@every_scale
def test_the_bound_is_reached(scale: Scale) -> None:
    """Whoever rates an item of the lowest level as high as can be moves it by half the range."""
    levels = ItemLevels(scale.lo, np.zeros(ITEMS))
    for unit in FIT_UNITS:
        statistic = Level(unit, scale, levels)
        measured = statistic.measure(ratings_of([{2: scale.hi}], ITEMS, scale))
        assert measured == statistic.sensitivity


@pytest.mark.parametrize("unit", FIT_UNITS)
def test_where_nothing_can_be_learnt_the_mean_is_measured_again(unit: Unit) -> None:
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=3000), seed=1)
    poor, rich = (
        fit(ratings, protect=unit, epsilon=epsilon, recency=False, randomness=SeededRandomness(1))
        for epsilon in (0.005, 50.0)
    )
    labels = [{event.label for event in r.guarantee.events} for r in (poor, rich)]
    assert "mean residual" in labels[0] and "mean residual" not in labels[1]
    asked = fit(ratings, protect=unit, epsilon=50, level_share=0.3, randomness=SeededRandomness(1))
    assert "mean residual" in {event.label for event in asked.guarantee.events}


def test_the_second_measurement_brings_the_mean_nearer() -> None:
    """At 20 draws the mean's error falls, with nine tenths of the budget instead of a hundredth."""
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=1)
    truth = float(ratings.values().mean())
    errors = {}
    for share in (0.0, 0.7):
        means = [
            fit(
                ratings, protect="rating", epsilon=0.01, level_share=share,
                randomness=SeededRandomness(seed),
            ).parameters["global_mean"]
            for seed in range(20)
        ]  # fmt: skip
        errors[share] = math.sqrt(np.mean((np.array(means) - truth) ** 2))
    assert errors[0.7] < 0.6 * errors[0.0]


@pytest.mark.parametrize("unit", FIT_UNITS)
@pytest.mark.parametrize("people", [[], [{0: 5.0, 1: 1.0}]])
def test_a_mean_that_is_known_exactly_can_be_measured_again(
    unit: Unit, people: list[Person]
) -> None:
    ratings = ratings_of(people, ITEMS, SCALES["five stars"])
    release = fit(ratings, protect=unit, epsilon=math.inf, level_share=0.1)
    assert all(np.isfinite(array).all() for array in release.arrays.values())
