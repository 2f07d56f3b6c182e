"""Metrics against values worked out by hand, and the kernel against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.evaluate import Places, mae, ndcg_at, places, recall_at, rmse
from discreet.predict import People


def people(*own: list[int]) -> People:
    starts = np.cumsum([0, *map(len, own)]).astype(np.int64)
    items = np.array([i for row in own for i in row], dtype=np.int32)
    return People(starts, items, np.full(len(items), 3.0))


def find(scores: list[list[float]], own: People, *relevant: list[int]) -> Places:
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
    assert recall_at(found, 20) == 0.0


def test_groups_of_people_are_joined() -> None:
    scores = [[3, 2, 1], [1, 2, 3]]
    whole = find(scores, people([], [1]), [0, 2], [0])
    parts = [find(scores[:1], people([]), [0, 2]), find(scores[1:], people([1]), [0])]
    joined = Places.joined(parts)
    for name in ("starts", "above", "tied"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))


def slow_expectation(scores: np.ndarray, own: set[int], relevant: set[int], n: int) -> float:
    """Expected NDCG from the definition: every place of a run of equals is equally likely."""
    candidates = [i for i in range(len(scores)) if i not in own]
    gained = 0.0
    for item in relevant:
        above = sum(scores[i] > scores[item] for i in candidates)
        equal = sum(scores[i] == scores[item] for i in candidates)
        spots = range(above + 1, above + equal + 1)
        gained += sum(1 / math.log2(p + 1) for p in spots if p <= n) / equal
    return gained / sum(1 / math.log2(p + 1) for p in range(1, min(n, len(relevant)) + 1))


@given(
    hnp.arrays(np.float32, 12, elements=st.integers(0, 5).map(float)),
    st.sets(st.integers(0, 5), max_size=5),
    st.sets(st.integers(6, 11), min_size=1),
    st.integers(1, 15),
)
def test_the_kernel_agrees_with_the_definition(
    scores: np.ndarray, own: set[int], relevant: set[int], n: int
) -> None:
    found = find([scores.tolist()], people(sorted(own)), sorted(relevant))
    assert ndcg_at(found, n) == pytest.approx(slow_expectation(scores, own, relevant, n))
