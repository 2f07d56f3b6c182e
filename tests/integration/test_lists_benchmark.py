"""The benchmark of lists: its protocols, and peers as the judge asks them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import lists

from discreet.evaluate import Judge, people_of, popularity
from discreet.ratings import Ratings, find_shape, make_ratings


@pytest.fixture(scope="module")
def kept() -> Ratings:
    return lists.core(make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=1))


def test_a_core_has_ten_records_of_every_user_and_item(kept: Ratings) -> None:
    assert kept.scale.presence and len(kept) > 0
    assert np.diff(kept.starts).min() >= 10
    assert np.bincount(kept.items, minlength=len(kept.catalog)).min() >= 10


def test_a_core_is_of_liked_items_alone() -> None:
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=1)
    kept = lists.core(ratings)
    liked = {
        (str(ratings.catalog.ids[item]), time)
        for item, time, value in zip(ratings.items, ratings.times, ratings.values(), strict=True)
        if value >= 4
    }
    found = zip(kept.items, kept.times, strict=True)
    assert all((kept.catalog.ids[item], time) in liked for item, time in found)


def test_folds_cut_everybody_into_five(kept: Ratings) -> None:
    parts = lists.folds(kept)
    tested = sum(np.diff(part.test.starts) for part in parts)
    np.testing.assert_array_equal(tested, np.diff(kept.starts))
    for part in parts:
        shares = np.diff(part.test.starts) - np.diff(kept.starts) / 5
        assert np.abs(shares).max() < 1
        assert len(part.train) + len(part.test) == len(kept)
    again = lists.folds(kept)[0].test.items
    np.testing.assert_array_equal(again, parts[0].test.items)
    assert not np.array_equal(lists.folds(kept, 2)[0].test.items, again)


def test_a_peer_that_scores_by_counts_is_popularity(kept: Ratings) -> None:
    split = lists.first_fold(kept, 1)
    counts = np.bincount(split.train.items, minlength=len(kept.catalog)).astype(np.float32)
    peer = lists.Peer(lambda own: np.tile(counts, (own.shape[0], 1)), counts)
    judge = Judge(split)
    assert judge.judge(peer) == judge.judge(popularity(split.train))


def test_who_has_nothing_gets_the_most_popular_items_from_peers(kept: Ratings) -> None:
    people = people_of(kept, np.zeros(kept.user_count, np.bool_))
    nobody = type(people)(np.zeros(3, np.int64), people.items, people.values)
    counts = np.arange(len(kept.catalog), dtype=np.float32)
    peer = lists.Peer(lambda own: np.zeros(own.shape), counts)
    np.testing.assert_array_equal(peer.scores(nobody, 0, 2), [counts, counts])


@pytest.mark.parametrize(("protocol", "tables"), [("tenth", 2), ("anelli", 1)])
def test_every_budget_is_printed_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, protocol: str, tables: int
) -> None:
    kept = tmp_path / "rows.json"
    options = ["--draws", "1", "--peers", "none", "--protocol", protocol, "--json", str(kept)]
    lists.main(["--ratings", "6e3", *options])
    said = capsys.readouterr().out.splitlines()
    budgets = [line.split()[3] for line in said if line.startswith("discreet, per ")]
    assert budgets == ["0.5", "1", "4", "inf", "1", "4", "10"] * tables
    rows = json.loads(kept.read_text(encoding="utf-8"))["rows"]
    ours = [row["epsilon"] for row in rows if row["model"] == "discreet"]
    assert ours == [0.5, 1, 4, None, 1, 4, 10] * tables
    assert all(0 <= row["ndcg_at_10"] <= 1 for row in rows)
