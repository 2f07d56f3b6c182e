"""Sums of outer products against slow twins: equal integers, whatever the threads and the plan."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.measure.engines import _bit_rows, local
from discreet.measure.engines.local import co_moments, new_pairs, weighted_pairs
from measure.engines._slow import (
    MOST,
    Table,
    dense_triangles,
    random_table,
    slow_triangles,
    table_of,
    tables,
)


def assert_equal(table: Table, cov, wgt, **options) -> None:
    moments = co_moments(*table, **options)
    assert moments.cov.dtype == moments.wgt.dtype == np.int64
    np.testing.assert_array_equal(moments.cov, cov)
    np.testing.assert_array_equal(moments.wgt, wgt)


@given(tables(), st.integers(1, 3))
def test_equal_to_python_integers(table: Table, threads: int) -> None:
    cov, wgt = slow_triangles(table)
    assert_equal(table, cov, wgt, threads=threads)
    alone = co_moments(*table._replace(votes=None), threads=threads)
    np.testing.assert_array_equal(alone.cov, cov)
    assert alone.wgt is None


@given(tables(), st.integers(1, 3), st.integers(0, 2**40))
def test_weighted_pairs_equal_python_integers(table: Table, threads: int, large: int) -> None:
    """The second sum of `slow_triangles` has squared votes for weights."""
    weights = table.votes.astype(np.int64) ** 2
    args = (table.starts, table.items)
    found = weighted_pairs(*args, weights, table.size, threads=threads)
    np.testing.assert_array_equal(found, slow_triangles(table)[1])
    # Weights beyond what a vote can say; sums are modulo 2^64.
    again = weighted_pairs(*args, weights * large, table.size, threads=threads)
    np.testing.assert_array_equal(again, found * large)


@pytest.mark.parametrize("per_pair", [0.0, 0.3, 1e9])
@pytest.mark.parametrize(("rows", "users"), [(1, 30), (1 << 26, 300), (1, 20_000)])
def test_bits_and_pairs_give_the_same_sums(
    monkeypatch: pytest.MonkeyPatch, per_pair: float, rows: int, users: int
) -> None:
    """Nobody as bits, some, everybody; in one chunk of words or in many."""
    monkeypatch.setattr(_bit_rows, "_PER_PAIR", per_pair)
    monkeypatch.setattr(_bit_rows, "_ROWS", rows)
    rng, size, heard = np.random.default_rng(users), 13, []
    has = rng.random((users, size)) < rng.random((users, 1))
    weights = rng.integers(-(2**62), 2**62, 40)[rng.integers(0, 40, users)]
    starts = np.concatenate(([0], np.cumsum(has.sum(axis=1))))
    found = weighted_pairs(
        starts, np.nonzero(has)[1].astype(np.int32), weights, size,
        progress=lambda *each: heard.append(each),
    )  # fmt: skip
    with np.errstate(over="ignore"):
        right = has.astype(np.int64).T @ (has * weights[:, np.newaxis])
    np.testing.assert_array_equal(found, right[np.triu_indices(size)])
    counts = has.sum(axis=1)
    assert heard[-1] == (total := int((counts * (counts + 1) // 2).sum()), total)


@given(tables(), st.integers(1, 3), st.data())
def test_new_pairs_are_all_pairs_less_those_of_old_items(
    table: Table, threads: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    is_new = rng.integers(0, 2, len(table.items)).astype(np.int16)
    within, across = (rng.integers(-(2**30), 2**30, len(table.starts) - 1) for _ in range(2))
    heard: list[tuple[int, int]] = []

    def pairs(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weighted_pairs(table.starts, items.astype(np.int32), weights, table.size)

    found = new_pairs(
        table.starts, table.items, is_new, within, across, table.size,
        threads=threads, progress=lambda *each: heard.append(each),
    )  # fmt: skip
    new, old = (np.where(is_new == side, table.items, -1) for side in (1, 0))
    right = pairs(table.items, across) - pairs(old, across) + pairs(new, within - across)
    np.testing.assert_array_equal(found, right)
    done, whole = heard[-1]
    assert (
        done
        == whole
        == sum(
            (kept >= 0).sum() * ((kept >= 0).sum() + 1) // 2 * sign
            for user in range(len(table.starts) - 1)
            for kept, sign in (
                (table.items[table.starts[user] : table.starts[user + 1]], 1),
                (old[table.starts[user] : table.starts[user + 1]], -1),
            )
        )
    )


def test_new_pairs_have_whole_weights_for_each_user() -> None:
    table = random_table(9, 5, seed=1)
    is_new, right = np.ones(len(table.items), np.int16), np.ones(9, np.int64)
    for within, across in ((right, right[1:]), (right.astype(np.int16), right)):
        with pytest.raises(InputError, match="one for each user"):
            new_pairs(table.starts, table.items, is_new, within, across, table.size)  # type: ignore[arg-type]


def test_weighted_pairs_have_one_whole_weight_for_each_user() -> None:
    table = random_table(9, 5, seed=1)
    wrong: tuple[Any, ...] = (table.votes, np.ones(8, np.int64))
    for weights in wrong:
        with pytest.raises(InputError, match="one for each user"):
            weighted_pairs(table.starts, table.items, weights, table.size)


def test_by_hand() -> None:
    table = table_of([{0: 2, 2: -3}, {}, {0: 5}, {-1: 7, 0: 1, 1: 4, 2: 6}], [10, 11, 12, 13], 3)
    moments = co_moments(*table)
    #                         00               01     02          11     12     22
    assert moments.cov.tolist() == [4 + 25 + 1, 4, -6 + 6, 16, 24, 9 + 36]
    assert moments.wgt.tolist() == [100 + 144 + 169, 169, 100 + 169, 169, 169, 100 + 169]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 64, 65, 200])
def test_equal_for_any_threads(size: int, threads: int) -> None:
    table = random_table(60, size, seed=size)
    assert_equal(table, *slow_triangles(table), threads=threads)


@pytest.mark.parametrize("band", [1, 5000, 1 << 40])
def test_bands_do_not_change_the_sums(monkeypatch: pytest.MonkeyPatch, band: int) -> None:
    table = random_table(300, 200, seed=3)
    monkeypatch.setattr(local, "_BAND", band)
    cov, wgt = dense_triangles(table)
    assert_equal(table, cov, wgt, threads=2)
    np.testing.assert_array_equal(co_moments(*table._replace(votes=None)).cov, cov)


def test_bands_cover_every_row_once() -> None:
    for size in (1, 7, 600):
        rows = [row for first, last in local._bands(size) for row in range(first, last)]
        assert rows == list(range(size))


def test_largest_terms_everywhere() -> None:
    users, size = 1000, 130
    table = table_of([dict.fromkeys(range(size), MOST)] * users, [MOST] * users, size)
    moments = co_moments(*table)
    assert set(moments.cov.tolist()) == set(moments.wgt.tolist()) == {users * MOST**2}


def test_no_users_and_only_skipped_items() -> None:
    assert co_moments(*table_of([], [], 4)).cov.tolist() == [0] * 10
    assert co_moments(*table_of([{-1: 9}], [5], 2)).wgt.tolist() == [0] * 3


def test_entries_outside_starts_are_left_out() -> None:
    table = random_table(30, 12, seed=8)
    inner = table._replace(starts=table.starts[3:20], votes=table.votes[3:19])
    assert_equal(inner, *slow_triangles(inner))


def test_progress_counts_every_pair_once() -> None:
    table = random_table(900, 300, seed=2)
    kept = np.add.reduceat(np.r_[table.items >= 0, False], table.starts[:-1])
    kept[np.diff(table.starts) == 0] = 0
    seen: list[tuple[int, int]] = []
    co_moments(*table, threads=2, progress=lambda done, total: seen.append((done, total)))
    done = [pair[0] for pair in seen]
    assert done == sorted(done)
    assert {pair[1] for pair in seen} == {done[-1]} == {2 * int((kept * (kept + 1) // 2).sum())}


@pytest.mark.parametrize("at_call", [1, 4])
def test_an_interruption_leaves_no_thread(monkeypatch: pytest.MonkeyPatch, at_call: int) -> None:
    table = random_table(600, 400, seed=4)
    monkeypatch.setattr(local, "_BAND", 5000)
    calls = 0

    def interrupt(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == at_call:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        co_moments(*table, threads=3, progress=interrupt)
    assert threading.active_count() == before
    assert_equal(table, *dense_triangles(table), threads=3)


def change(**changes):
    return random_table(10, 5, seed=0, skipped=0.0)._replace(**changes)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (change(size=4), "below 4"),
        (change(size=0), "at least one item"),
        (change(values=np.zeros(3, np.int16)), "one value per item"),
        (change(votes=np.zeros(3, np.int16)), "one vote per user"),
        (change(items=np.zeros(3, np.int64)), "items must be"),
        (change(starts=np.array([0, 10**6])), "starts must"),
        (change(starts=np.array([5, 0])), "starts must"),
        (table_of([{0: 1, 1: 1}], [1], 2)._replace(items=np.array([1, 0], np.int32)), "rise"),
        (table_of([{0: 1, 1: 1}], [1], 2)._replace(items=np.array([1, 1], np.int32)), "rise"),
    ],
)
def test_refuses(table: Table, words: str) -> None:
    with pytest.raises(InputError, match=words):
        co_moments(*table)


def test_real_ratings(data_folder: Path) -> None:
    path = data_folder / "ml-100k" / "u.data"
    if not path.is_file():
        pytest.skip("MovieLens 100K is absent")
    user, item, rating = np.loadtxt(path, np.int64, usecols=(0, 1, 2)).T
    order = np.lexsort((item, user))
    starts = np.r_[0, np.cumsum(np.bincount(user)[1:])].astype(np.int64)
    votes = np.rint(2**14 / np.diff(starts) ** 0.25).astype(np.int16)
    values = ((rating[order] - 3) * np.repeat(votes, np.diff(starts)) // 2).astype(np.int16)
    table = Table(starts, (item[order] - 1).astype(np.int32), values, votes, int(item.max()))
    assert_equal(table, *dense_triangles(table))
