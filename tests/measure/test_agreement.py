"""Agreement along features: an exact integer, bounded whatever people rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import InputError, Scale
from discreet.measure.agreement import RatingAgreement
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.privacy import Unit
from measure._neighbours import (
    FAR,
    SCALES,
    Pair,
    Person,
    levels_on,
    levels_that_leave,
    pairs_on,
    people_on,
    person_on,
    ratings_of,
    slow_level,
    slow_residual,
    threes,
    use_small_blocks,
)

ITEMS = 7
Floats = npt.NDArray[np.float64]
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
directions_of = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.3, 1e-150, 9e5]), min_size=3, max_size=3),
    min_size=ITEMS,
    max_size=ITEMS,
).map(np.array)


def statistic_on(
    scale: Scale, levels: ItemLevels, unit: Unit, directions: Floats
) -> RatingAgreement:
    centring = HuberCentring(0.4 * scale.range / 4, 5)
    return RatingAgreement(unit, directions, centring=centring, levels=levels)


def slow_agreement(statistic: RatingAgreement, person: Person) -> float:
    """The definition, pair by pair."""
    reach, beta = statistic.centring.reach, statistic.centring.fictitious
    items = sorted(person)
    x = [slow_residual(statistic.levels, item, person[item]) for item in items]
    b = slow_level(x, reach, beta)
    clamp = statistic.centring.clamp * GRID
    y = [min(max(v - b, -reach), reach) / clamp for v in x]
    f, total = statistic.directions, 0.0
    for j, left in enumerate(items):
        for k, right in enumerate(items):
            total += y[j] * y[k] * float(f[left] @ f[right]) if j != k else 0.0
    return min(max(total / (1 + sum(v * v for v in y)), -1.0), 1.0)


@every_scale
@settings(max_examples=25)
@given(data=st.data())
def test_it_follows_the_definition(scale: Scale, data: st.DataObject) -> None:
    people, levels = data.draw(people_on(scale, ITEMS)), data.draw(levels_on(scale, ITEMS))
    rows = np.clip(data.draw(directions_of), -1, 1)
    statistic = statistic_on(scale, levels, Unit.USER, rows)
    expected = sum(slow_agreement(statistic, person) for person in people)
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, 3, 2)
        measured = statistic.measure(ratings_of(people, ITEMS, scale))
    assert measured / GRID == pytest.approx(expected, abs=1e-6)
    assert measured == statistic.measure(ratings_of(people, ITEMS, scale))


@every_scale
@settings(max_examples=40)
@given(data=st.data())
def test_no_rating_moves_it_further(scale: Scale, data: st.DataObject) -> None:
    pair: Pair = data.draw(pairs_on(scale, ITEMS))
    levels, rows = data.draw(levels_on(scale, ITEMS)), data.draw(directions_of)
    statistic = statistic_on(scale, levels, Unit.RATING, rows)
    after, before = (
        statistic.measure(ratings_of(p, ITEMS, scale)) for p in (pair.with_it, pair.without)
    )
    assert abs(after - before) <= statistic.sensitivity


@every_scale
@settings(max_examples=40)
@given(data=st.data())
def test_no_user_moves_it_further(scale: Scale, data: st.DataObject) -> None:
    people, more = data.draw(people_on(scale, ITEMS)), data.draw(person_on(scale, ITEMS))
    rows = data.draw(directions_of)
    statistic = statistic_on(scale, data.draw(levels_on(scale, ITEMS)), Unit.USER, rows)
    before = statistic.measure(ratings_of(people, ITEMS, scale))
    after = statistic.measure(ratings_of([*people, more], ITEMS, scale))
    assert abs(after - before) <= statistic.sensitivity


def test_one_rating_can_turn_all_of_it_around() -> None:
    """Two ratings that disagree as much as can be, and a third that outweighs both."""
    rows = np.array([[3.0], [1.0], [9.0]])
    levels = levels_that_leave([FAR, -FAR, FAR], 3)
    statistic = statistic_on(SCALES["five stars"], levels, Unit.RATING, rows)
    before, after = (statistic.measure(threes(items, 3)) for items in ([0, 1], [0, 1, 2]))
    assert after - before == statistic.sensitivity


def test_somebody_with_a_taste_agrees_with_themselves() -> None:
    """Likes what has the feature, dislikes what has not; and one whose ratings have no pattern."""
    scale, rows = SCALES["five stars"], np.array([[1.0], [-1.0]] * 4)
    levels = ItemLevels(3.0, np.zeros(8))
    statistic = statistic_on(scale, levels, Unit.USER, rows)
    keen = statistic.measure(ratings_of([{i: 5.0 - 4 * (i % 2) for i in range(8)}], 8, scale))
    none = statistic.measure(ratings_of([{i: 5.0 - 4 * (i // 4) for i in range(8)}], 8, scale))
    assert keen == GRID and none < 0


def test_directions_of_another_catalogue_are_refused() -> None:
    scale, levels = SCALES["five stars"], ItemLevels(3.0, np.zeros(ITEMS))
    with pytest.raises(InputError, match="one for each of 7 items"):
        statistic_on(scale, levels, Unit.USER, np.zeros((3, 1))).measure(threes([0], ITEMS))
    for bad in (np.nan, np.inf, 1e7):
        with pytest.raises(InputError, match="finite"):
            statistic_on(scale, levels, Unit.USER, np.full((ITEMS, 1), bad))
