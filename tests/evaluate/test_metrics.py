"""Metrics against values worked out by hand, and the kernel against its slow twin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.evaluate import (
    Places,
    Shown,
    hit_rate_at,
    mae,
    mean_reciprocal_rank,
    ndcg_at,
    places,
    recall_at,
    rmse,
)
from discreet.predict import People


def people(*own: list[int]) -> People:
    starts = np.cumsum([0, *map(len, own)]).astype(np.int64)
    items = np.array([i for row in own for i in row], dtype=np.int32)
    return People(starts, items, np.full(len(items), 3.0))


def find(scores: Sequence[Sequence[float]], own: People, *relevant: list[int]) -> Places:
    starts = np.cumsum([0, *map(len, relevant)]).astype(np.int64)
    items = np.array([i for row in relevant for i in row], dtype=np.int32)
    return places(np.array(scores, dtype=np.float32), own, starts, items)


def test_errors_by_hand() -> None:
    predicted, true = np.array([3.0, 4.0, 1.0]), np.array([4.0, 4.0, 3.0])
    assert rmse(predicted, true) == pytest.approx(math.sqrt(5 / 3))
    assert mae(predicted, true) == pytest.approx(1.0)


def test_ndcg_by_hand() -> None:
    # Without item 0, which was rated, the list is 3, 1, 4, 2: relevant are the first and the third.
    found = find([[9, 3, 1, 4, 2]], people([0]), [3, 4])
    assert found.above.tolist() == [0, 2]
    gained = 1 / math.log2(2) + 1 / math.log2(4)
    best = 1 / math.log2(2) + 1 / math.log2(3)
    assert ndcg_at(found, 10) == pytest.approx(gained / best)
    assert ndcg_at(found, 2) == pytest.approx(1 / best)
    assert ndcg_at(found, 1) == pytest.approx(1.0)


def test_recall_by_hand() -> None:
    found = find([[9, 3, 1, 4, 2]], people([0]), [3, 4])
    assert [recall_at(found, n) for n in (1, 2, 3)] == [0.5, 0.5, 1.0]


def test_equal_scores_share_their_places() -> None:
    # One of four equals is relevant: each of the four places with probability 1/4.
    found = find([[1, 1, 1, 1]], people([]), [2])
    assert (found.above.tolist(), found.tied.tolist()) == ([0], [4])
    assert recall_at(found, 1) == pytest.approx(1 / 4)
    assert recall_at(found, 3) == pytest.approx(3 / 4)
    assert ndcg_at(found, 2) == pytest.approx((1 + 1 / math.log2(3)) / 4)


def test_people_are_averaged_and_those_without_relevant_items_left_out() -> None:
    scores = [[3, 2, 1], [3, 2, 1], [3, 2, 1]]
    found = find(scores, people([], [], []), [0], [], [2])
    assert recall_at(found, 1) == pytest.approx((1 + 0) / 2)
    assert ndcg_at(found, 3) == pytest.approx((1 + 1 / math.log2(4)) / 2)


def test_nobody_with_relevant_items_gives_nothing() -> None:
    found = find([[1, 2]], people([]), [])
    assert (ndcg_at(found, 10), recall_at(found, 20)) == (0.0, 0.0)


def test_what_has_no_score_is_never_found() -> None:
    found = find([[math.nan, 1, 0], [-math.inf, 1, 0]], people([], []), [0], [0])
    assert (recall_at(found, 20), hit_rate_at(found, 20), mean_reciprocal_rank(found)) == (0, 0, 0)


def test_hits_by_hand() -> None:
    found = find([[9, 3, 1, 4, 2], [9, 3, 1, 4, 2]], people([0], []), [2, 4], [0])
    # Without item 0 the first list is 3, 1, 4, 2.
    assert [hit_rate_at(found, n) for n in (1, 2, 3)] == [0.5, 0.5, 1.0]
    assert mean_reciprocal_rank(found) == pytest.approx((1 / 3 + 1) / 2)


def test_two_relevant_of_four_equals() -> None:
    found = find([[1, 1, 1, 1, 5]], people([]), [2, 3])
    # The first of them has place 2, 3 or 4 with probabilities 3/6, 2/6 and 1/6.
    assert mean_reciprocal_rank(found) == pytest.approx((3 / 2 + 2 / 3 + 1 / 4) / 6)
    assert hit_rate_at(found, 1) == 0.0
    assert hit_rate_at(found, 3) == pytest.approx(5 / 6)
    assert hit_rate_at(found, 4) == pytest.approx(1.0)


def test_figures_of_some_people_alone() -> None:
    scores = [[3, 2, 1], [3, 2, 1], [3, 2, 1]]
    found = find(scores, people([], [], []), [0], [1], [])
    for some, first, second in (([True, False, True], 1, 1), ([False, True, True], 0, 0.5)):
        among = np.array(some)
        assert (recall_at(found, 1, among), ndcg_at(found, 1, among)) == (first, first)
        assert (hit_rate_at(found, 1, among), mean_reciprocal_rank(found, among)) == (first, second)
    assert recall_at(found, 1, np.array([False, False, True])) == 0.0


def show(
    scores: Sequence[Sequence[float]], n: int, surprise: list[float], group: list[int]
) -> Shown:
    shown = Shown(n, np.array(surprise, dtype=np.float64), groups=2)
    shown.add(np.array(scores, dtype=np.float32), np.array(group))
    return shown


def test_coverage_and_novelty_by_hand() -> None:
    # Lists of two: items 0 and 1; items 1 and 3, as 0 and 2 were rated; item 2 alone.
    none = -math.inf
    scores: list[list[float]] = [[4, 3, 2, 1], [none, 2, none, 1], [none, none, 2, math.nan]]
    shown = show(scores, 2, [1, 2, 4, 8], [0, 0, 1])
    assert shown.coverage([0]) == 3 / 4
    assert shown.coverage([1]) == 1 / 4
    assert shown.coverage([0, 1]) == 1.0
    assert shown.novelties().tolist() == [1.5, 5.0, 4.0]


def test_equals_share_the_last_places_of_a_list() -> None:
    # Item 0, and one of three equals with probability 1/3 each, twice.
    shown = show([[5, 1, 1, 1], [5, 1, 1, 1]], 2, [0, 3, 6, 9], [0, 1])
    assert shown.coverage([0]) == pytest.approx((1 + 3 * 1 / 3) / 4)
    assert shown.coverage([0, 1]) == pytest.approx((1 + 3 * (1 - 4 / 9)) / 4)
    assert shown.novelties() == pytest.approx([3.0, 3.0])


def test_a_list_without_candidates_has_no_novelty() -> None:
    shown = show([[-math.inf, -math.inf]], 2, [1, 1], [0])
    assert np.isnan(shown.novelties()).all()
    assert shown.coverage([0, 1]) == 0.0


def test_wide_catalogues_and_blocks_of_people_add_up() -> None:
    # More items than a thread takes at a time; lists against plain sorting, without equals.
    rng = np.random.default_rng(1)
    scores = rng.permuted(np.tile(np.arange(1000, dtype=np.float32), (30, 1)), axis=1)
    surprise, group = rng.random(1000), np.repeat([0, 1], 15)
    whole, parts = Shown(10, surprise, 2), Shown(10, surprise, 2)
    whole.add(scores, group)
    for first in (0, 20):
        parts.add(scores[first : first + 20], group[first : first + 20])
    lists = np.argsort(-scores, axis=1)[:, :10]
    for shown in (whole, parts):
        assert shown.coverage([1]) == pytest.approx(len(np.unique(lists[15:])) / 1000)
        assert shown.coverage([0, 1]) == pytest.approx(len(np.unique(lists)) / 1000)
        np.testing.assert_allclose(shown.novelties(), surprise[lists].mean(axis=1))


def test_groups_of_people_are_joined() -> None:
    scores = [[3, 2, 1], [1, 2, 3]]
    whole = find(scores, people([], [1]), [0, 2], [0])
    parts = [find(scores[:1], people([]), [0, 2]), find(scores[1:], people([1]), [0])]
    joined = Places.joined(parts)
    for name in ("starts", "above", "tied"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))


def orders(scores: np.ndarray, own: set[int]) -> Iterator[tuple[int, ...]]:
    """Every list of the candidates in which nothing stands above what scores higher."""
    candidates = [i for i in range(len(scores)) if i not in own]
    levels = sorted({scores[i] for i in candidates}, reverse=True)
    runs = [[i for i in candidates if scores[i] == level] for level in levels]
    for parts in itertools.product(*(itertools.permutations(run) for run in runs)):
        yield tuple(itertools.chain(*parts))


def slow_ndcg(ordered: tuple[int, ...], relevant: set[int], n: int) -> float:
    gained = sum(1 / math.log2(p + 2) for p, i in enumerate(ordered[:n]) if i in relevant)
    return gained / sum(1 / math.log2(p + 2) for p in range(min(n, len(relevant))))


def slow_recall(ordered: tuple[int, ...], relevant: set[int], n: int) -> float:
    return len(relevant.intersection(ordered[:n])) / len(relevant)


def slow_hit(ordered: tuple[int, ...], relevant: set[int], n: int) -> float:
    return float(bool(relevant.intersection(ordered[:n])))


def slow_reciprocal(ordered: tuple[int, ...], relevant: set[int], _: int) -> float:
    return 1 / (1 + min(ordered.index(i) for i in relevant))


TWINS: dict[Callable[[Places, int], float], Callable[[tuple[int, ...], set[int], int], float]] = {
    ndcg_at: slow_ndcg,
    recall_at: slow_recall,
    hit_rate_at: slow_hit,
    lambda found, _: mean_reciprocal_rank(found): slow_reciprocal,
}
LEVELS = hnp.arrays(np.float32, 6, elements=st.integers(0, 2).map(float))


@settings(max_examples=50)
@given(
    LEVELS,
    st.sets(st.integers(0, 2), max_size=2),
    st.sets(st.integers(3, 5), min_size=1),
    st.integers(1, 7),
)
def test_figures_of_lists_are_means_over_all_orders_of_equals(
    scores: np.ndarray, own: set[int], relevant: set[int], n: int
) -> None:
    found = find([scores.tolist()], people(sorted(own)), sorted(relevant))
    for figure, twin in TWINS.items():
        expected = np.mean([twin(ordered, relevant, n) for ordered in orders(scores, own)])
        assert figure(found, n) == pytest.approx(expected)


@settings(max_examples=50)
@given(LEVELS, LEVELS, st.sets(st.integers(0, 5)), st.integers(1, 7))
def test_coverage_and_novelty_are_means_over_all_orders_of_equals(
    first: np.ndarray, second: np.ndarray, own: set[int], n: int
) -> None:
    surprise = np.arange(6.0) ** 2
    scores = np.stack([first, second])
    scores[0, sorted(own)] = -np.inf
    shown = Shown(n, surprise)
    shown.add(scores, np.zeros(2, np.int64))
    lists = [[o[:n] for o in orders(first, own)], [o[:n] for o in orders(second, set())]]
    missed = np.array(
        [[np.mean([i not in listed for listed in each]) for i in range(6)] for each in lists]
    )
    assert shown.coverage([0]) == pytest.approx(np.mean(1 - missed[0] * missed[1]))
    novelties = [
        np.mean([surprise[list(listed)].mean() if listed else np.nan for listed in each])
        for each in lists
    ]
    np.testing.assert_allclose(shown.novelties(), novelties)
