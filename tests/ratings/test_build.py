"""`build_ratings` against a dictionary that does the same slowly."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, Catalog, Scale
from discreet.ratings import Ratings
from discreet.ratings._ratings import _insertion_sort, _sort_together, build_ratings

_SCALE = Scale(1, 5)
_ITEMS = 7
_CATALOG = Catalog(str(item) for item in range(_ITEMS))

rows_of = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, _ITEMS - 1),
        st.integers(0, 4),
        st.integers(0, 2**32 - 1),
    ),
    max_size=120,
)


def build(rows, user_count=6, timed=True, dtype=np.int32, scale=_SCALE) -> Ratings:
    users, items, codes, times = zip(*rows, strict=True)
    return build_ratings(
        np.array(users, dtype=dtype),
        np.array(items, dtype=np.int32),
        np.array(codes, dtype=np.uint8),
        np.array(times, dtype=np.uint32) if timed else None,
        scale=scale,
        catalog=_CATALOG,
        user_ids=np.arange(100, 100 + user_count),
    )


def columns(ratings: Ratings):
    times = [0] * len(ratings) if ratings.times is None else ratings.times.tolist()
    return list(
        zip(
            ratings.user_of_rating().tolist(),
            ratings.items.tolist(),
            ratings.codes.tolist(),
            times,
            strict=True,
        )
    )


@settings(deadline=None)
@given(rows_of.filter(bool), st.booleans(), st.sampled_from([np.int32, np.int64]))
def test_equals_a_dictionary_that_keeps_the_last(rows, timed, dtype):
    folded = {(user, item): (code, time if timed else 0) for user, item, code, time in rows}
    ratings = build(rows, timed=timed, dtype=dtype)
    assert columns(ratings) == [(u, i, *rest) for (u, i), rest in sorted(folded.items())]
    assert ratings.duplicates == len(rows) - len(folded)
    assert ratings.user_count == 6


def test_the_last_of_three_wins_and_two_are_counted():
    ratings = build([(0, 3, 1, 10), (1, 3, 4, 11), (0, 3, 2, 12), (0, 3, 0, 5)])
    assert columns(ratings) == [(0, 3, 0, 5), (1, 3, 4, 11)]
    assert ratings.duplicates == 2


@settings(deadline=None)
@given(rows_of.filter(bool), st.booleans(), st.randoms())
def test_presence_keeps_the_earliest_whatever_the_order(rows, timed, random):
    rows = [(user, item, 1, time) for user, item, _, time in rows]
    earliest: dict[Any, Any] = {}
    for user, item, _, time in rows:
        earliest[user, item] = min(time if timed else 0, earliest.get((user, item), 2**32))
    shuffled = random.sample(rows, len(rows))
    one, other = (build(each, timed=timed, scale=PRESENCE) for each in (rows, shuffled))
    assert columns(one) == columns(other)
    assert columns(one) == [(u, i, 1, time) for (u, i), time in sorted(earliest.items())]
    assert one.duplicates == other.duplicates == len(rows) - len(earliest)
    assert set(one.values().tolist()) == {1.0}


def test_users_without_ratings_stay():
    ratings = build([(4, 0, 1, 1), (1, 0, 1, 1)])
    assert ratings.starts.tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_no_rows_at_all():
    empty = np.array([], dtype=np.int32)
    ratings = build_ratings(
        empty,
        empty,
        empty.astype(np.uint8),
        None,
        scale=_SCALE,
        catalog=_CATALOG,
        user_ids=np.array([7, 8]),
    )
    assert (len(ratings), ratings.user_count) == (0, 2)


def test_without_names_the_largest_number_tells_how_many_users():
    ratings = build_ratings(
        np.array([2, 0], dtype=np.int32),
        np.array([1, 1], dtype=np.int32),
        np.array([0.5, -0.5], dtype=np.float32),
        None,
        scale=Scale(-1, 1, step=None),
        catalog=_CATALOG,
        user_ids=None,
        skipped=3,
    )
    assert ratings.user_count == 3
    assert ratings.users is None
    assert ratings.values().tolist() == [-0.5, 0.5]
    assert ratings.skipped == 3


def test_columns_in_order_are_not_copied():
    users, items = np.array([0, 0, 1], dtype=np.int32), np.array([2, 5, 0], dtype=np.int32)
    codes, times = np.array([1, 2, 3], dtype=np.uint8), np.array([1, 1, 1], dtype=np.uint32)
    ratings = build_ratings(
        users, items, codes, times, scale=_SCALE, catalog=_CATALOG, user_ids=np.array([1, 2])
    )
    assert np.shares_memory(ratings.items, items)
    assert np.shares_memory(ratings.codes, codes)
    assert ratings.times is not None and np.shares_memory(ratings.times, times)


@pytest.mark.parametrize("bad", [-1, 6])
def test_a_user_number_out_of_range_is_a_programming_error(bad):
    with pytest.raises(AssertionError):
        build([(bad, 0, 0, 0)])


def test_an_item_outside_the_catalogue_is_a_programming_error():
    with pytest.raises(AssertionError):
        build([(0, _ITEMS, 0, 0)])


def _many_rows(count: int, seed: int):
    generator = np.random.default_rng(seed)
    return (
        generator.integers(0, count // 50, count, dtype=np.int32),
        generator.integers(0, 2000, count, dtype=np.int32),
        generator.integers(0, 5, count, dtype=np.uint8),
        generator.integers(0, 2**32, count, dtype=np.uint32),
    )


def _build_many(rows, user_count: int) -> Ratings:
    catalog = Catalog(str(item) for item in range(2000))
    return build_ratings(*rows, scale=_SCALE, catalog=catalog, user_ids=np.arange(user_count))


def test_the_same_on_any_number_of_threads():
    rows = _many_rows(200_000, seed=1)
    alone = _build_many(rows, 4000)
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    try:
        together = _build_many(rows, 4000)
    finally:
        numba.set_num_threads(1)
    for name in ("starts", "items", "codes", "times"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))


def test_large_users_equal_a_stable_sort_by_numpy():
    users, items, codes, times = _many_rows(100_000, seed=2)
    ratings = _build_many((users, items, codes, times), 2000)
    order = np.lexsort((np.arange(len(users)), items, users))
    last = np.ones(len(order), dtype=bool)
    u, i = users[order], items[order]
    last[:-1] = (u[1:] != u[:-1]) | (i[1:] != i[:-1])
    kept = order[last]
    np.testing.assert_array_equal(ratings.items, items[kept])
    np.testing.assert_array_equal(ratings.codes, codes[kept])
    np.testing.assert_array_equal(ratings.times, times[kept])
    np.testing.assert_array_equal(ratings.user_of_rating(), users[kept])


def test_a_hundred_million_ratings_with_times_fit_a_gibibyte():
    rows = _many_rows(1_000_000, seed=3)
    ratings = _build_many(rows, 20_000)
    assert ratings.nbytes / len(ratings) * 100_000_000 <= 2**30


@given(st.lists(st.integers(-(2**62), 2**62), max_size=60))
@settings(deadline=None)
def test_insertion_sort_sorts(keys):
    array = np.array(keys, dtype=np.int64)
    _insertion_sort(array)
    assert array.tolist() == sorted(keys)


@given(st.lists(st.integers(0, 9), max_size=80))
@settings(deadline=None)
def test_sorting_together_is_stable(items):
    column, order = np.array(items, dtype=np.int32), np.arange(len(items), dtype=np.uint32)
    _sort_together(column, order)
    assert list(zip(column.tolist(), order.tolist(), strict=True)) == sorted(
        (item, place) for place, item in enumerate(items)
    )
