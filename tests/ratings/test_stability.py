"""Neighbours that would break folding, bounding and splitting: a search, and the ways that failed.

Two lists of rows that differ in one row become ratings that differ in at most one record of that
row's person (one more, one less or one changed); at a bound, in one record that came and one that
went. PROOF.md says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from discreet.domain import Catalog, Scale
from discreet.ratings import (
    Intake,
    Ratings,
    Split,
    Stability,
    bound_contributions,
    split_at_time,
    split_by_time,
    split_leave_latest,
    split_leave_out,
    split_netflix,
    split_pairs,
    split_random,
)
from discreet.ratings._ratings import build_ratings

Row = tuple[int, str, int, int]
"""A user's number, an item's id, a code, a time."""
Record = tuple[str, str, int, int]

_IDS = [f"{n}" for n in range(8, 20)]
_WORLDS, _ROUNDS = 250, 90
"""Worlds that are searched at once, each with people of its own, and how often: 22,500 pairs."""


def read(rows: list[Row], *, from_data: bool, as_text: bool) -> Ratings:
    """Rows in any order; the catalogue of all items, or of those that occur."""
    ids = sorted({row[1] for row in rows} or {"8"}) if from_data else _IDS
    names = np.unique([row[0] for row in rows]) if rows else np.empty(0, np.int64)
    if as_text:
        names = np.unique(names.astype(str))
    place = {str(name): n for n, name in enumerate(names.tolist())}
    return build_ratings(
        np.array([place[str(row[0])] for row in rows], dtype=np.int32),
        np.array([ids.index(row[1]) for row in rows], dtype=np.int32),
        np.array([row[2] for row in rows], dtype=np.uint8),
        np.array([row[3] for row in rows], dtype=np.uint32),
        scale=Scale(1, 5),
        catalog=Catalog(ids),
        user_ids=names,
    )


def records(ratings: Ratings) -> set[Record]:
    assert ratings.times is not None and ratings.users is not None
    names = [str(name) for name in ratings.users.tolist()]
    columns = (ratings.user_of_rating(), ratings.items, ratings.codes, ratings.times)
    listed = zip(*(column.tolist() for column in columns), strict=True)
    return {(names[u], ratings.catalog.ids[i], c, t) for u, i, c, t in listed}


def random_rows(rng: np.random.Generator, world: int, count: int) -> list[Row]:
    """Rows of up to four people, whose numbers are this world's."""
    columns = (
        rng.integers(4 * world, 4 * world + 4, count),
        rng.integers(0, len(_IDS), count),
        rng.integers(0, 5, count),
        rng.integers(0, 4, count),
    )
    listed = zip(*(column.tolist() for column in columns), strict=True)
    return [(user, _IDS[item], code, time) for user, item, code, time in listed]


def train(split: Callable[[Ratings], Split]) -> Callable[[Ratings], list[Ratings]]:
    def parts(ratings: Ratings) -> list[Ratings]:
        parted = split(ratings)
        return [parted.train, parted.test]

    return parts


STEPS: dict[str, tuple[Callable[[Ratings], list[Ratings]], Stability]] = {
    "folding": (lambda r: [r], Stability.RECORD),
    "bounding": (lambda r: [bound_contributions(r, 3)], Stability.RECORD),
    "random": (train(lambda r: split_random(r, 0.4, seed=3)), Stability.RECORD),
    "at a time": (train(lambda r: split_at_time(r, 2)), Stability.RECORD),
    "bounding, then random": (
        train(lambda r: split_random(bound_contributions(r, 3), 0.4, seed=3)),
        Stability.RECORD,
    ),
    "random, then bounding": (
        lambda r: [bound_contributions(split_random(r, 0.4, seed=3).train, 2)],
        Stability.RECORD,
    ),
    "leave out": (train(lambda r: split_leave_out(r, 2, seed=3)), Stability.USER),
    "leave latest": (train(lambda r: split_leave_latest(r, 2)), Stability.USER),
    "netflix": (train(lambda r: split_netflix(r, seed=3)), Stability.USER),
}


@pytest.mark.parametrize("name", STEPS)
def test_no_neighbour_among_thousands_breaks_the_stability(name: str) -> None:
    """Many worlds at once, a row more in each: whatever one does to another's would show too."""
    step, stability = STEPS[name]
    rng = np.random.default_rng(17)
    others_moved = 0
    for _ in range(_ROUNDS // len(STEPS)):
        sizes = rng.integers(0, 14, _WORLDS).tolist()
        few = [row for world in range(_WORLDS) for row in random_rows(rng, world, sizes[world])]
        extras = [random_rows(rng, world, 1)[0] for world in range(_WORLDS)]
        many = list(few)
        for extra in extras:
            many.insert(int(rng.integers(0, len(many) + 1)), extra)
        from_data, as_text = rng.integers(0, 2, 2).astype(bool).tolist()
        before = step(read(few, from_data=from_data, as_text=as_text))
        # The text "10" comes before "9", the number 9 before 10: the order of users changes.
        after = step(read(many, from_data=from_data, as_text=not as_text))
        for old, new in zip(before, after, strict=True):
            assert old.intake.stability is new.intake.stability is stability
            others_moved += check_worlds(old, new, extras)
    # The search reaches what the statements allow: at a bound another record goes.
    assert (others_moved > 0) == (stability is Stability.USER or "bounding" in name)


def check_worlds(old: Ratings, new: Ratings, extras: list[Row]) -> int:
    """Assert what the intake says; how many records of other items than the extra ones moved."""
    gone, come = records(old) - records(new), records(new) - records(old)
    rated = {str(extra[0]): extra[1] for extra in extras}
    assert {record[0] for record in gone | come} <= set(rated)
    if old.intake.stability is Stability.RECORD:
        for moved in (gone, come):
            assert len({record[0] for record in moved}) == len(moved)
    others = [record for record in gone | come if record[1] != rated[record[0]]]
    if old.intake.stability is Stability.RECORD and old.intake.most_ratings is None:
        assert not others
    return len(others)


def crowd(users: int, *, named: bool = True) -> Ratings:
    """Everybody rated all items at one time."""
    count = users * len(_IDS)
    return Ratings(
        Scale(1, 5),
        Catalog(_IDS),
        np.arange(users + 1, dtype=np.int64) * len(_IDS),
        np.tile(np.arange(len(_IDS), dtype=np.int32), users),
        np.zeros(count, np.uint8),
        np.zeros(count, np.uint32),
        np.arange(1, users + 1) if named else None,
    )


@pytest.mark.parametrize("split", [split_random, split_leave_out, split_netflix])
def test_one_person_more_in_front_moves_nobody_else(split: Callable[..., Split]) -> None:
    many = crowd(300)
    assert many.users is not None
    fewer = many.select_users(1, 300)
    some, all_of_them = split(fewer, seed=1), split(many, seed=1)
    for old, new in ((some.train, all_of_them.train), (some.test, all_of_them.test)):
        assert records(old) == {record for record in records(new) if record[0] != "1"}


def test_a_split_by_time_moves_other_people_and_says_so() -> None:
    """Why it is not stable: one rating more at the end moves the boundary over another's."""
    rows: list[Row] = [(user, "8", 0, user) for user in range(1, 11)]
    late: Row = (99, "8", 0, 99)
    old = split_by_time(read(rows, from_data=False, as_text=False), 0.1)
    new = split_by_time(read([*rows, late], from_data=False, as_text=False), 0.1)
    assert records(old.test) - records(new.test) == {("10", "8", 0, 10)}
    assert old.train.intake.stability is old.test.intake.stability is Stability.NONE


EVERY: dict[str, tuple[Callable[[Ratings], Split], Stability, Stability]] = {
    "random": (split_random, Stability.RECORD, Stability.NONE),
    "leave out": (split_leave_out, Stability.USER, Stability.NONE),
    "netflix": (split_netflix, Stability.USER, Stability.NONE),
    "pairs": (lambda r: split_pairs(r, [0], [0]), Stability.RECORD, Stability.NONE),
    "by time": (split_by_time, Stability.NONE, Stability.NONE),
    # These two do not ask who somebody is.
    "leave latest": (split_leave_latest, Stability.USER, Stability.USER),
    "at a time": (lambda r: split_at_time(r, 1), Stability.RECORD, Stability.RECORD),
}


@pytest.mark.parametrize("name", EVERY)
def test_parts_say_what_they_are_and_how_stable(name: str) -> None:
    split, with_names, without = EVERY[name]
    for named, stability in ((True, with_names), (False, without)):
        parted = split(crowd(5, named=named))
        assert parted.train.intake.stability is parted.test.intake.stability is stability
        assert (parted.train.intake.part or "").startswith("the training part of a ")
        assert (parted.test.intake.part or "").startswith("the test part of a ")


def test_the_weaker_stability_wins_and_parts_of_parts_are_named() -> None:
    once = split_random(crowd(5), 0.1)
    named = "the training part of a random split (90 %)"
    assert once.train.intake == Intake(part=named, is_latest=False)
    assert once.test.intake.part == "the test part of a random split (10 %)"
    twice = split_random(split_leave_out(crowd(5)).train, 0.25).test.intake
    assert twice.stability is Stability.USER
    inner = "the training part of a split that leaves out 1 of each user"
    assert twice.part == f"the test part of a random split (25 %) of {inner}"
    assert split_leave_out(split_by_time(crowd(5)).train).train.intake.stability is Stability.NONE


def test_only_a_split_by_time_has_the_present_at_its_end() -> None:
    whole = replace(crowd(5), times=np.arange(len(crowd(5)), dtype=np.uint32))
    assert split_by_time(whole).train.intake.is_latest
    assert split_at_time(whole, 3).train.intake.is_latest
    for split in (split_random(whole), split_leave_out(whole)):
        assert not split.train.intake.is_latest
        assert not split_by_time(split.train).train.intake.is_latest


def test_parts_keep_what_was_known_of_the_whole() -> None:
    known = Intake(bad_rows="skip", most_ratings=12, assumes=("rows are whole",))
    intake = split_random(replace(crowd(5), intake=known)).train.intake
    assert (intake.bad_rows, intake.most_ratings) == ("skip", 12)
    assert intake.assumes == ("rows are whole",)
