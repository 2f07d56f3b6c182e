"""`discreet.evaluate` as a Python user calls it: data, own models, folds, people, memory."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.domain import InputError
from discreet.evaluate import MOST_PEOPLE, Baseline, Results, evaluate, popularity
from discreet.methods import Cleaning, CosineMethod, CovarianceMethod, RefinedMethod, _room
from discreet.predict import People
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, make_ratings, split_folds, split_random


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings("ml-100k", ratings=4000, seed=1)


class Constant:
    """A model of one's own: everybody rates everything alike."""

    def __init__(self, train: Ratings) -> None:
        self.items, self.mean = len(train.catalog), float(train.values().mean())

    def predict_pairs(self, people: People, rows: Any, items: Any) -> Any:
        return np.full(len(rows), self.mean)

    def scores(self, people: People, first: int, last: int) -> Any:
        return np.zeros((last - first, self.items), np.float32)


def test_units_budgets_and_methods_make_a_row_each(ratings: Ratings) -> None:
    rows = evaluate(
        split_random(ratings), epsilons=[1, 4], protect=["user", "rating"], draws=1, seed=1,
        method=["refined", CovarianceMethod(rank=3)], models=["private", "non-private"],
    )  # fmt: skip
    made = [(row.method, row.protect, row.epsilon) for row in rows]
    assert made == [
        (method, unit, epsilon)
        for method in ("refined", "covariance")
        for unit in ("user", "rating")
        for epsilon in (1, 4)
    ] + [("refined", None, None), ("covariance", None, None)]


def test_single_values_are_as_good_as_lists(ratings: Ratings) -> None:
    (row,) = evaluate(ratings, epsilons=2, protect="rating", models=["private"], draws=1, seed=1)
    assert (row.epsilon, row.protect, row.method) == (2, "rating", "refined")


def test_ratings_are_split_by_time_where_they_have_times(ratings: Ratings) -> None:
    timed = evaluate(ratings, models=["popularity"])[0]
    by_time = evaluate(discreet.ratings.split_by_time(ratings, 0.1), models=["popularity"])[0]
    assert timed.ndcg_at_10 == by_time.ndcg_at_10


def test_a_model_of_ones_own_is_judged_like_a_baseline(ratings: Ratings) -> None:
    rows = evaluate(ratings, models=["global-mean", "popularity"], own={"constant": Constant})
    by_name = {row.model: row for row in rows}
    assert by_name["constant"].rmse == pytest.approx(by_name["global-mean"].rmse)
    assert by_name["constant"].ndcg_at_10 == pytest.approx(by_name["global-mean"].ndcg_at_10)
    (alone,) = evaluate(ratings, models=[], own={"popular": popularity})
    assert alone.ndcg_at_10 == by_name["popularity"].ndcg_at_10


def test_a_model_that_is_none_is_refused(ratings: Ratings) -> None:
    class Narrow(Constant):
        def scores(self, people: People, first: int, last: int) -> Any:
            return np.zeros((last - first, 3))

    with pytest.raises(InputError, match="a column for each of"):
        evaluate(ratings, models=[], own={"narrow": Narrow})
    with pytest.raises(InputError, match="name your own differently"):
        evaluate(ratings, own={"private": Constant})
    with pytest.raises(InputError, match="made by a function"):
        evaluate(ratings, own={"mine": 3})  # type: ignore[dict-item]


def test_folds_are_averaged(ratings: Ratings) -> None:
    (row,) = evaluate(ratings, models=["item-mean"], folds=3, seed=2)
    each = [evaluate(split, models=["item-mean"])[0] for split in split_folds(ratings, 3, 2)]
    assert row.splits == 3 and row.people == sum(one.people for one in each)
    assert row.rmse == pytest.approx(np.mean([one.rmse for one in each]))
    assert row.rmse_sd == pytest.approx(np.std([one.rmse for one in each], ddof=1))
    (given,) = evaluate(split_folds(ratings, 3, 2), models=["item-mean"])
    assert given.rmse == row.rmse
    with pytest.raises(InputError, match="folds are made from ratings"):
        evaluate(split_random(ratings), folds=3)
    with pytest.raises(InputError, match="takes ratings, a split, or several splits"):
        evaluate([])


def test_folds_draw_different_noise(ratings: Ratings) -> None:
    rows = evaluate(ratings, models=["private"], folds=2, seed=2, draws=2, per_user=True)
    assert [(each.split, each.draw) for each in rows.people] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    again = evaluate(ratings, models=["private"], folds=2, seed=2, draws=2)
    assert rows[0].rmse == again[0].rmse


def test_people_add_up_to_the_row(ratings: Ratings) -> None:
    split = split_random(ratings, 0.2, 1)
    results = evaluate(split, models=["item-mean"], per_user=True)
    frame = results.people_frame()
    assert frame.height == results[0].people
    squares = np.average(frame["rmse"].to_numpy() ** 2, weights=frame["tested"].to_numpy())
    assert math.sqrt(squares) == pytest.approx(results[0].rmse)
    known = frame["ndcg_at_10"].drop_nans()
    assert known.mean() == pytest.approx(results[0].ndcg_at_10)
    training = np.diff(split.train.starts)[frame["user"].to_numpy()]
    assert np.array_equal(training, frame["training"].to_numpy())
    assert repr(results.people[0]) == "PersonRows(item-mean, private)"
    with pytest.raises(InputError, match="per_user=True"):
        evaluate(split, models=["item-mean"]).people_frame()


def test_rows_become_a_table(ratings: Ratings) -> None:
    results = evaluate(ratings, models=["popularity", "item-mean"])
    frame = results.to_frame()
    assert frame["model"].to_list() == ["popularity", "item-mean"]
    assert {"rmse", "few_ndcg_at_10", "splits"} <= set(frame.columns)
    pandas = pytest.importorskip("pandas")
    assert list(pandas.DataFrame(results.records())["model"]) == ["popularity", "item-mean"]
    assert isinstance(results, list) and isinstance(results, Results)


def test_large_data_are_evaluated_on_a_sample(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody = evaluate(ratings, models=["item-mean"], people=None)
    assert everybody.judged == everybody.candidates == everybody[0].people > 5
    assert inspect.signature(evaluate).parameters["people"].default == MOST_PEOPLE
    some = evaluate(ratings, models=["item-mean"], people=5)
    assert (some.judged, some.candidates) == (5, everybody.candidates)


def test_a_fit_that_may_not_fit_is_refused_before_the_charge(
    ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 2, 1e-6)])
    monkeypatch.setattr(_room, "free_memory", lambda: 1 << 21)
    with pytest.raises(InputError, match="method covariance on 464 items may need about"):
        discreet.fit(ratings, method="covariance", epsilon=1, ledger=book)
    assert not book.history()
    discreet.fit(ratings, method="covariance", head=50, epsilon=0.1, ledger=book)
    assert len(book.history()) == 1


def test_what_there_is_no_room_for_is_left_out(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_room, "free_memory", lambda: 1000)
    results = evaluate(ratings, method="cosine", models=["non-private", "popularity"])
    assert [row.model for row in results] == ["popularity"]
    (line,) = results.left_out
    assert (
        line.startswith("non-private: left out, as it needs about ") and "1.0 kB are free" in line
    )
    with pytest.raises(InputError, match="no room to evaluate anything: non-private"):
        evaluate(ratings, method="cosine", models=["non-private"])
    # Methods whose matrices stay small are never left out, nor anything where nobody knows.
    assert evaluate(ratings, models=["non-private"]).left_out == ()
    monkeypatch.setattr(_room, "free_memory", lambda: None)
    assert evaluate(ratings, method="cosine", models=["non-private"]).left_out == ()


def test_the_room_of_a_fit_grows_with_its_pairs(ratings: Ratings) -> None:
    sizes = [_room.bytes_of_fit(CosineMethod(), ratings, mu) for mu in (0.1, 2.0, math.inf)]
    side = len(ratings.catalog)
    assert sizes[0] <= sizes[1] <= sizes[2] == 24 * side * (side + 1) // 2
    assert _room.bytes_of_fit(RefinedMethod(), ratings, math.inf) == 0
    assert _room.bytes_of_fit(CovarianceMethod(clean=Cleaning.PAPER), ratings, math.inf) > sizes[2]


def test_free_memory_is_what_the_tightest_limit_leaves(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _room.free_memory() is None or _room.free_memory() >= 0
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("4000\n")
    monkeypatch.setattr(_room, "_CGROUP", tmp_path)
    assert _room.free_memory() == 1000
    (tmp_path / "memory.max").write_text("max\n")
    assert _room.free_memory() != 1000


def test_a_baseline_is_a_scorer(ratings: Ratings) -> None:
    assert isinstance(popularity(ratings), Baseline)
