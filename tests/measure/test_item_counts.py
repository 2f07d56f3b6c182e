"""Item counts: exact integers, and no neighbour that moves them further than the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError, Scale
from discreet.measure import HeadCounts, ItemCounts
from discreet.measure.item_counts import GRID
from discreet.privacy import FIT_UNITS, Noise, Unit
from discreet.ratings import Ratings

ITEMS = 40
people = st.lists(st.sets(st.integers(0, ITEMS - 1)), max_size=6)


def ratings_of(histories: list[set[int]], items: int = ITEMS) -> Ratings:
    starts = np.concatenate(([0], np.cumsum([len(h) for h in histories]))).astype(np.int64)
    flat = np.array([i for h in histories for i in sorted(h)], dtype=np.int32)
    catalog = Catalog([str(i) for i in range(items)])
    return Ratings(Scale(1, 5), catalog, starts, flat, np.zeros(len(flat), dtype=np.uint8))


def slow_counts(statistic: ItemCounts, histories: list[set[int]]) -> list[int]:
    """The definition, with Python's integers."""
    counts = [0] * ITEMS
    for history in histories:
        c = len(history)
        for item in history:
            if statistic.unit is Unit.RATING:
                counts[item] += 1
            elif statistic.noise is Noise.GAUSSIAN:
                counts[item] += math.isqrt(GRID * GRID // c)
            else:
                counts[item] += GRID // c
    return counts


def norm(statistic: ItemCounts, moved: np.ndarray) -> float:
    total = np.abs(moved).astype(float)
    return float(total.sum() if statistic.noise is Noise.LAPLACE else math.sqrt((total**2).sum()))


every_statistic = pytest.mark.parametrize(
    "statistic", [ItemCounts(unit, noise) for unit in FIT_UNITS for noise in Noise], ids=str
)


@every_statistic
@given(histories=people)
def test_counts_follow_the_definition(statistic: ItemCounts, histories: list[set[int]]) -> None:
    counted = statistic.measure(ratings_of(histories))
    assert counted.dtype == np.int64
    assert counted.tolist() == slow_counts(statistic, histories)


@every_statistic
@given(histories=people, extra=st.sets(st.integers(0, ITEMS - 1), min_size=1), data=st.data())
def test_no_neighbour_moves_counts_further_than_the_sensitivity(
    statistic: ItemCounts, histories: list[set[int]], extra: set[int], data: st.DataObject
) -> None:
    if statistic.unit is Unit.USER:
        neighbour = [*histories, extra]
    else:
        who = data.draw(st.integers(0, len(histories)))
        grown = [*histories, set()][: len(histories) + 1]
        item = data.draw(st.sampled_from(sorted(set(range(ITEMS)) - grown[who]) or [None]))
        if item is None:
            return
        neighbour = [h | {item} if i == who else h for i, h in enumerate(grown)]
    moved = statistic.measure(ratings_of(neighbour)) - statistic.measure(ratings_of(histories))
    assert norm(statistic, moved) <= statistic.sensitivity


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("c", [1, 2, 3, 17, 1000, 16_384, 17_770])
def test_a_single_user_of_any_size_stays_within_the_bound_and_nearly_reaches_it(
    noise: Noise, c: int
) -> None:
    statistic = ItemCounts(Unit.USER, noise)
    moved = statistic.measure(ratings_of([set(range(c))], items=17_770))
    reached = norm(statistic, moved)
    assert reached <= statistic.sensitivity
    if noise is Noise.GAUSSIAN:
        assert reached > 0.99 * statistic.sensitivity


def test_protecting_ratings_is_not_protecting_users() -> None:
    statistic = ItemCounts(Unit.RATING, Noise.GAUSSIAN)
    moved = statistic.measure(ratings_of([set(range(ITEMS))]))
    assert norm(statistic, moved) > statistic.sensitivity


heads = st.sets(st.integers(0, ITEMS - 1), min_size=1).map(
    lambda chosen: np.array(sorted(chosen), dtype=np.int32)
)


@every_statistic
@given(histories=people, head=heads)
def test_a_heads_counts_are_those_of_its_records_alone(
    statistic: ItemCounts, histories: list[set[int]], head: np.ndarray
) -> None:
    among = HeadCounts(statistic.unit, statistic.noise, head)
    inside = [history & set(head.tolist()) for history in histories]
    counted = among.measure(ratings_of(histories))
    assert counted.dtype == np.int64
    assert counted.tolist() == [slow_counts(statistic, inside)[item] for item in head]


@pytest.mark.parametrize("noise", Noise)
@given(history=st.sets(st.integers(0, ITEMS - 1)), head=heads)
def test_whoever_has_one_item_of_the_head_moves_it_as_far_as_anybody_may(
    noise: Noise, history: set[int], head: np.ndarray
) -> None:
    """However many others they have: votes are by the head's items alone."""
    one = (history - set(head.tolist())) | {int(head[0])}
    among = HeadCounts(Unit.USER, noise, head)
    assert among.measure(ratings_of([one])).tolist() == [GRID] + [0] * (len(head) - 1)
    assert among.parts[0].sensitivity == GRID


@pytest.mark.parametrize("head", [[], [-1, 2], [2, 2], [3, 1]])
def test_a_head_is_listed_in_rising_order(head: list[int]) -> None:
    with pytest.raises(InputError, match="rising"):
        HeadCounts(Unit.USER, Noise.GAUSSIAN, np.array(head, dtype=np.int32))
