"""Bounded contributions: how many are kept, which, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.domain import Catalog, InputError
from discreet.ratings import (
    Ratings,
    Shape,
    Stability,
    _keyed,
    bound_contributions,
    make_ratings,
    read_ratings,
)
from discreet.ratings._keyed import _BOUND_KEY
from ratings.test_keyed import slow_record


@pytest.fixture(scope="module")
def made() -> Ratings:
    ratings = make_ratings(Shape(users=300, items=80, ratings=6000), seed=2)
    return replace(ratings, users=np.arange(1000, 1000 + ratings.user_count))


@pytest.mark.parametrize("most", [1, 5, 20, 1000])
def test_everybody_keeps_the_smallest_hashes_and_no_more_than_the_bound(
    made: Ratings, most: int
) -> None:
    bounded = bound_contributions(made, most)
    assert bounded.user_count == made.user_count
    assert bounded.intake.most_ratings == most
    assert bounded.intake.stability is Stability.RECORD
    ids = made.catalog.ids
    for user in range(0, made.user_count, 7):
        own = made.items[made.starts[user] : made.starts[user + 1]].tolist()
        by_hash = sorted(own, key=lambda item: slow_record(str(1000 + user), ids[item], _BOUND_KEY))
        kept = bounded.items[bounded.starts[user] : bounded.starts[user + 1]].tolist()
        assert kept == sorted(by_hash[:most])


def test_kept_ratings_are_what_they_were(made: Ratings) -> None:
    bounded = bound_contributions(made, 5)
    before = set(zip(made.user_of_rating(), made.items, made.codes, made.times, strict=True))
    after = set(
        zip(bounded.user_of_rating(), bounded.items, bounded.codes, bounded.times, strict=True)
    )
    assert after < before


def test_the_size_of_blocks_does_not_count(made: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bound_contributions(made, 5)
    monkeypatch.setattr(_keyed, "_BLOCK", 100)
    assert np.array_equal(bound_contributions(made, 5).items, whole.items)


def test_a_smaller_bound_holds_through_a_larger_one(made: Ratings) -> None:
    twice = bound_contributions(bound_contributions(made, 5), 9)
    assert twice.intake.most_ratings == 5 and np.diff(twice.starts).max() == 5
    again = bound_contributions(bound_contributions(made, 9), 5)
    assert again.intake.most_ratings == 5
    assert np.array_equal(again.items, bound_contributions(made, 5).items)


def test_people_without_names_keep_by_item_alone(made: Ratings) -> None:
    unnamed = replace(made, users=None)
    bounded = bound_contributions(unnamed, 5)
    assert bounded.intake.stability is Stability.RECORD
    # One person less, and everybody else keeps what they had.
    fewer = bound_contributions(unnamed.select_users(1, unnamed.user_count), 5)
    assert np.array_equal(bounded.items[bounded.starts[1] :], fewer.items)


def test_nobody_has_nothing_to_keep(made: Ratings) -> None:
    assert len(bound_contributions(made.select_users(0, 0), 5)) == 0


@pytest.mark.parametrize("most", [0, -3, 2.0, True])
def test_a_bound_that_is_none_is_refused(made: Ratings, most: Any) -> None:
    with pytest.raises(InputError, match="most_ratings is a whole number"):
        bound_contributions(made, most)


def test_reading_can_bound(tmp_path: Any) -> None:
    rows = "\n".join(f"ann,i{n},3" for n in range(9))
    (tmp_path / "r.csv").write_text(f"user,item,rating\n{rows}\nbob,i1,2\n")
    told: dict[str, Any] = {"scale": (1, 5), "catalog": Catalog([f"i{n}" for n in range(9)])}
    whole = read_ratings(tmp_path / "r.csv", **told)
    bounded = read_ratings(tmp_path / "r.csv", **told, most_ratings=4)
    assert np.diff(bounded.starts).tolist() == [4, 1]
    assert np.array_equal(bounded.items, bound_contributions(whole, 4).items)
    with pytest.raises(InputError, match="most_ratings"):
        read_ratings(tmp_path / "r.csv", **told, most_ratings=0)
