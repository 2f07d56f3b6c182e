"""Splits: what goes where, seeds, ties, and the people with few ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings import Ratings, Stability, _splits, make_ratings
from discreet.ratings._splits import (
    Split,
    rank_within,
    split_by_time,
    split_folds,
    split_leave_latest,
    split_leave_out,
    split_netflix,
    split_pairs,
    split_random,
)
from discreet.ratings.readers import read_ratings

Row = tuple[int, int, int]
"""A user, an item, a time."""

_ITEMS = 40

# The first call of a kernel may compile it.
unhurried = settings(deadline=None)


def build(rows: list[Row], users: int) -> Ratings:
    """Ratings in which the value of (user, item) is `1 + (user + item) % 5`."""
    rows = sorted(rows)
    counts = np.bincount([u for u, _, _ in rows], minlength=users)
    return Ratings(
        scale=Scale(1, 5),
        catalog=Catalog([f"i{k}" for k in range(_ITEMS)]),
        starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        items=np.array([i for _, i, _ in rows], dtype=np.int32),
        codes=np.array([(u + i) % 5 for u, i, _ in rows], dtype=np.uint8),
        times=np.array([t for _, _, t in rows], dtype=np.uint32),
    )


def rows_of(ratings: Ratings) -> list[Row]:
    assert ratings.times is not None
    users, items, times = ratings.user_of_rating(), ratings.items, ratings.times
    assert np.array_equal(ratings.codes, (users + items) % 5)
    return list(zip(users.tolist(), items.tolist(), times.tolist(), strict=True))


def users_of(rows: list[Row]) -> dict[int, list[Row]]:
    return {u: [r for r in rows if r[0] == u] for u in {r[0] for r in rows}}


def grid(users: int, each: int) -> Ratings:
    """Every user rated the first `each` items, each at a time of its own."""
    return build([(u, i, 1000 * u + 7 * i) for u in range(users) for i in range(each)], users)


tables = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, _ITEMS - 1), st.integers(0, 5)),
    max_size=80,
    unique_by=lambda row: row[:2],
).map(lambda rows: build(rows, users=8))

EVERY_SPLIT: dict[str, Callable[[Ratings], Split]] = {
    "random": lambda r: split_random(r, 0.3, seed=5),
    "leave out": lambda r: split_leave_out(r, 2, seed=5),
    "leave latest": lambda r: split_leave_latest(r, 2),
    "by time": lambda r: split_by_time(r, 0.3),
    "netflix": lambda r: split_netflix(r, seed=5),
    "pairs": lambda r: split_pairs(r, [0, 1, 2], [0, 1, 2]),
}


@pytest.mark.parametrize("name", EVERY_SPLIT)
@unhurried
@given(ratings=tables)
def test_parts_make_up_the_whole_and_keep_every_user(name: str, ratings: Ratings) -> None:
    split = EVERY_SPLIT[name](ratings)
    assert split.train.user_count == split.test.user_count == ratings.user_count
    assert sorted(rows_of(split.train) + rows_of(split.test)) == rows_of(ratings)
    assert split.train.catalog == split.test.catalog == ratings.catalog


@pytest.mark.parametrize("name", EVERY_SPLIT)
def test_parts_do_not_depend_on_the_size_of_blocks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = grid(users=50, each=30)
    whole = rows_of(EVERY_SPLIT[name](ratings).test)
    monkeypatch.setattr(_splits, "_BLOCK", 64)
    assert rows_of(EVERY_SPLIT[name](ratings).test) == whole


@unhurried
@given(st.lists(st.lists(st.integers(0, 3) | st.integers(2**64 - 2, 2**64 - 1), max_size=40)))
def test_ranks_agree_with_sorting_user_by_user(keys: list[list[int]]) -> None:
    starts = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    expected: list[int] = []
    for own in keys:
        order = sorted(range(len(own)), key=own.__getitem__)
        expected += [order.index(place) for place in range(len(own))]
    flat = np.array([key for own in keys for key in own], dtype=np.uint64)
    assert rank_within(starts, flat).tolist() == expected


@pytest.mark.parametrize("split", [split_random, split_leave_out, split_netflix])
def test_a_seed_gives_one_split_and_another_seed_another(split: Callable[..., Split]) -> None:
    ratings = grid(users=50, each=30)
    first = rows_of(split(ratings, seed=1).test)
    assert first == rows_of(split(ratings, seed=1).test)
    assert first != rows_of(split(ratings, seed=2).test)


def test_random_split_takes_its_share() -> None:
    ratings = grid(users=1000, each=40)
    # 40,000 ratings: the standard deviation of the share is sqrt(0.3 * 0.7 / 40,000) = 0.0023.
    assert len(split_random(ratings, 0.3, seed=3).test) / 40_000 == pytest.approx(0.3, abs=0.012)


@unhurried
@given(ratings=tables, n=st.integers(1, 5), seed=st.integers(0, 9))
def test_leaving_out_takes_n_of_each_user_but_never_the_last_one(
    ratings: Ratings, n: int, seed: int
) -> None:
    split = split_leave_out(ratings, n, seed)
    had = np.diff(ratings.starts)
    expected = np.where(had > n, n, np.maximum(had - 1, 0))
    assert np.array_equal(np.diff(split.test.starts), expected)


def test_leaving_out_gives_every_rating_the_same_chance() -> None:
    ratings = grid(users=20_000, each=4)
    taken = np.bincount(split_leave_out(ratings, 1, seed=2).test.items, minlength=4)[:4]
    # Each of 4 items is expected 5,000 times with a standard deviation of 61.
    assert np.abs(taken - 5000).max() < 5 * 61


@unhurried
@given(ratings=tables, n=st.integers(1, 5))
def test_leaving_out_the_latest(ratings: Ratings, n: int) -> None:
    expected: list[Row] = []
    for rows in users_of(rows_of(ratings)).values():
        by_time = sorted(rows, key=lambda row: (row[2], row[1]))
        expected += by_time[max(1, len(rows) - n) :]
    assert rows_of(split_leave_latest(ratings, n).test) == sorted(expected)


@unhurried
@given(ratings=tables, share=st.floats(0.01, 0.99))
def test_split_by_time_takes_the_latest(ratings: Ratings, share: float) -> None:
    by_time = sorted(rows_of(ratings), key=lambda row: (row[2], row[0], row[1]))
    expected = by_time[len(by_time) - round(share * len(by_time)) :]
    assert rows_of(split_by_time(ratings, share).test) == sorted(expected)


@unhurried
@given(ratings=tables, seed=st.integers(0, 9))
def test_netflix_probe_is_among_the_latest_nine_or_the_later_half(
    ratings: Ratings, seed: int
) -> None:
    users = users_of(rows_of(ratings))
    for user, probe in users_of(rows_of(split_netflix(ratings, seed).test)).items():
        times = sorted(row[2] for row in users[user])
        offered = min(9, len(times) // 2)
        assert len(probe) <= offered
        assert all(row[2] >= times[len(times) - offered] for row in probe)


def test_netflix_probe_takes_a_third_of_the_latest_nine() -> None:
    split = split_netflix(grid(users=5000, each=30), seed=4)
    assert set(split.test.items.tolist()) == set(range(21, 30))
    # 45,000 ratings offered: 15,000 expected, with a standard deviation of 100.
    assert abs(len(split.test) - 15_000) < 500


def test_netflix_probe_lets_chance_order_equal_times() -> None:
    ratings = replace(grid(users=2000, each=36), times=np.zeros(72_000, dtype=np.uint32))
    taken = np.bincount(split_netflix(ratings, seed=4).test.items, minlength=36)[:36]
    # Each item is offered with probability 9/36 and taken with 1/3: 167 expected, deviation 12.4.
    assert np.abs(taken - 2000 / 12).max() < 5 * 12.4


def test_pairs_that_are_not_there_are_counted() -> None:
    ratings = build([(0, 3, 0), (0, 5, 0), (2, 39, 0)], users=3)
    users = [0, 0, 1, 2, 3, -1, 0, 2, 2]
    items = [3, 4, 3, 40, 3, 3, 3, 39, -1]
    split = split_pairs(ratings, users, items)
    assert rows_of(split.test) == [(0, 3, 0), (2, 39, 0)]
    # (0, 4), (1, 3) and (2, 40) are no ratings, 3 and -1 no users, -1 no item; (0, 3) came twice.
    assert split.unknown == 6


@unhurried
@given(ratings=tables, pairs=st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 45))))
def test_pairs_agree_with_a_plain_lookup(ratings: Ratings, pairs: list[tuple[int, int]]) -> None:
    there = {row[:2] for row in rows_of(ratings)}
    split = split_pairs(ratings, [u for u, _ in pairs], [i for _, i in pairs])
    assert {row[:2] for row in rows_of(split.test)} == there & set(pairs)
    assert split.unknown == sum(pair not in there for pair in pairs)


def test_a_probe_taken_from_the_data_is_found_whole() -> None:
    ratings = build([(u, i, 0) for u in range(300) for i in range(0, _ITEMS, 3)], users=300)
    probe = split_random(ratings, 0.2, seed=9).test
    split = split_pairs(ratings, probe.user_of_rating(), probe.items)
    assert split.unknown == 0
    assert rows_of(split.test) == rows_of(probe)


def test_the_published_split_of_ml_100k(data_folder: Path) -> None:
    folder = data_folder / "ml-100k"
    columns = {"user": 0, "item": 1, "rating": 2, "time": 3}
    ratings = read_ratings(folder)
    base, probe = (
        read_ratings(
            folder / name,
            scale=ratings.scale,
            catalog=ratings.catalog,
            columns=columns,
            separator="\t",
        )
        for name in ("u1.base", "u1.test")
    )
    assert ratings.users is not None and probe.users is not None
    users = np.searchsorted(ratings.users, probe.users)[probe.user_of_rating()]
    split = split_pairs(ratings, users, probe.items)
    assert (split.unknown, len(split.test)) == (0, 20_000)
    for part, published in ((split.train, base), (split.test, probe)):
        assert np.array_equal(part.items, published.items)
        assert np.array_equal(part.codes, published.codes)
        assert np.array_equal(np.asarray(part.times), np.asarray(published.times))


@pytest.mark.parametrize(
    "split",
    [split_by_time, split_leave_latest, split_netflix],
)
def test_splits_by_time_refuse_ratings_without_times(split: Callable[[Ratings], Split]) -> None:
    with pytest.raises(InputError, match="have none"):
        split(replace(grid(3, 3), times=None))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
@pytest.mark.parametrize("split", [split_random, split_by_time])
def test_shares_outside_0_to_1_are_refused(split: Callable[..., Split], share: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        split(grid(3, 3), share)


@pytest.mark.parametrize("split", [split_leave_out, split_leave_latest])
def test_leaving_out_nothing_is_refused(split: Callable[..., Split]) -> None:
    with pytest.raises(InputError, match="1 or more"):
        split(grid(3, 3), 0)


def test_pairs_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="2 users but 1 items"):
        split_pairs(grid(3, 3), [0, 1], [0])


@pytest.mark.parametrize("items", [["i0"], [0.5], [[0]]])
def test_pairs_that_are_not_indices_are_refused(items: Any) -> None:
    with pytest.raises(InputError, match="given as indices"):
        split_pairs(grid(3, 3), [0], items)


def test_a_split_shows_no_rating() -> None:
    assert repr(split_random(grid(3, 3))).count("private") == 2


def test_folds_hold_out_every_rating_once() -> None:
    ratings = make_ratings("ml-100k", ratings=3000, seed=1)
    parts = split_folds(ratings, 4, seed=3)
    assert len(parts) == 4
    held_out = np.concatenate(
        [part.test.user_of_rating() * 10_000 + part.test.items for part in parts]
    )
    everything = ratings.user_of_rating() * 10_000 + ratings.items
    assert np.array_equal(np.sort(held_out), np.sort(everything))
    assert all(len(part.train) + len(part.test) == len(ratings) for part in parts)
    assert all(550 < len(part.test) < 950 for part in parts)
    assert parts[0].train.intake.stability is Stability.RECORD
    assert "4-fold split" in str(parts[0].train.intake.part)
    for wrong in (1, 101, 2.5, True):
        with pytest.raises(InputError, match="folds is a whole number from 2 to 100"):
            split_folds(ratings, wrong)  # type: ignore[arg-type]


def test_one_rating_more_leaves_every_other_in_its_fold() -> None:
    users, items = [f"u{i % 7}" for i in range(35)], [i % 5 for i in range(35)]
    table = pl.DataFrame({"user": users, "item": items, "rating": [3] * 35})
    catalog = Catalog([str(i) for i in range(6)])
    more = pl.concat([table, pl.DataFrame({"user": ["a"], "item": [5], "rating": [1]})])

    def sides(frame: pl.DataFrame) -> dict[tuple[str, int], int]:
        parts = split_folds(read_ratings(frame, scale=(1, 5), catalog=catalog), 3, seed=1)
        return {
            (str(part.test.users[user]), int(item)): fold
            for fold, part in enumerate(parts)
            for user, item in zip(part.test.user_of_rating(), part.test.items, strict=True)
        }

    assert sides(table).items() <= sides(more).items()
    assert len(sides(more)) == len(sides(table)) + 1


def test_parts_that_do_not_belong_together_are_refused() -> None:
    ratings = make_ratings("ml-100k", ratings=3000, seed=1)
    good = split_random(ratings, 0.2, seed=1)
    assert Split(good.train, good.test).unknown == 0
    other = make_ratings("ml-100k", ratings=3000, seed=2)
    stars = split_random(replace(ratings, scale=Scale(1, 9)), 0.2, seed=1)
    fewer = make_ratings("ml-100k", ratings=2500, seed=1)
    renamed = replace(good.test, users=good.test.users[::-1].copy())
    for train, test, complaint in (
        (good.train, ratings, "share a rating"),
        (good.train, stars.test, "have one scale"),
        (good.train, split_random(other, 0.2).test, "one catalogue"),
        (good.train, replace(fewer, catalog=ratings.catalog), "not have as many"),
        (good.train, renamed, "the same users"),
        (good.train, [1, 2], "two Ratings"),
    ):
        with pytest.raises(InputError, match=complaint):
            Split(train, test)  # type: ignore[arg-type]
