"""lenskit's own batteries, and its figures beside ours. Runs where lenskit is installed."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from lenskit import batch
from lenskit.data import Dataset, ItemListCollection, from_interactions_df
from lenskit.metrics import NDCG, RMSE, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight
from lenskit.pipeline import predict_pipeline, topn_pipeline
from lenskit.testing import BasicComponentTests, ScorerTests

import discreet
from discreet.adapters.lenskit import DiscreetConfig, DiscreetScorer
from discreet.evaluate import _metrics
from discreet.predict import People

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def ml_ratings() -> pd.DataFrame:
    """Made up; lenskit's own fixture would read MovieLens' files."""
    made = discreet.make_ratings("ml-100k", ratings=30_000, seed=1)
    users = made.user_of_rating()
    return pd.DataFrame(
        {
            "user_id": users + 1,
            "item_id": made.items + 1,
            "rating": made.values(),
            "timestamp": np.arange(len(made)),
        }
    )


@pytest.fixture(scope="module")
def ml_100k(ml_ratings: pd.DataFrame) -> pd.DataFrame:
    return ml_ratings


@pytest.fixture(scope="module")
def ml_ds(ml_ratings: pd.DataFrame) -> Dataset:
    return from_interactions_df(ml_ratings)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


class TestExpectedRatings(BasicComponentTests, ScorerTests):
    component = DiscreetScorer
    config = DiscreetConfig(ledger="unbooked", epsilon=8)
    configs: ClassVar[list[Any]] = [{"epsilon": 2, "scale": "presence", "scores": "list"}]
    can_score = "known"
    expected_rmse = 1.2


class TestLists(ScorerTests):
    component = DiscreetScorer
    config = DiscreetConfig(ledger="unbooked", epsilon=8, method="lists", scores="list")
    can_score = "known"


def test_training_without_a_ledger_is_refused(ml_ds: Dataset) -> None:
    with pytest.raises(discreet.InputError, match="ledger"):
        DiscreetScorer().train(ml_ds)
    seeded = DiscreetScorer(DiscreetConfig(seed=1))
    seeded.train(ml_ds)
    assert not seeded.release_.guarantee.is_private


def test_its_figures_are_ours(ml_ratings: pd.DataFrame) -> None:
    held_out = np.random.default_rng(2).random(len(ml_ratings)) < 0.1
    train, test = ml_ratings[~held_out], ml_ratings[held_out]
    train_set = from_interactions_df(train)
    test = test[test["item_id"].isin(train["item_id"]) & test["user_id"].isin(train["user_id"])]
    test_lists = ItemListCollection.from_df(test, "user_id")
    expected = DiscreetScorer(DiscreetConfig(seed=1, epsilon=8))
    pipe = predict_pipeline(expected, fallback=False)
    pipe.train(train_set)
    lists = DiscreetScorer(DiscreetConfig(seed=1, epsilon=8, scores="list"))
    top = topn_pipeline(lists)
    top.train(train_set)

    analysis = RunAnalysis()
    analysis.add_metric(RMSE())
    theirs = analysis.measure(batch.predict(pipe, test_lists, n_jobs=1), test_lists)
    analysis = RunAnalysis()
    # Ours discounts place p by log2(p + 1), from the first on.
    analysis.add_metric(NDCG(10, weight=LogRankWeight(offset=1)))
    theirs_of_lists = analysis.measure(batch.recommend(top, test_lists, n=10, n_jobs=1), test_lists)

    # Ours: the same people, items in the order of lenskit's vocabulary.
    users = np.unique(test["user_id"])
    places = {item: place for place, item in enumerate(train_set.items.ids())}

    def columns(table: pd.DataFrame) -> tuple[Any, Any, Any]:
        kept = table[table["user_id"].isin(users)]
        items = kept["item_id"].map(places).to_numpy().astype(np.int32)
        order = np.lexsort((items, kept["user_id"]))
        starts = np.searchsorted(np.sort(kept["user_id"]), [*users, np.inf]).astype(np.int64)
        return starts, items[order], kept["rating"].to_numpy()[order].astype(np.float64)

    people, (starts, items, values) = People(*columns(train)), columns(test)
    model = expected.release_.predictor()
    rows = np.repeat(np.arange(len(users)), np.diff(starts))
    predicted = model.predict_pairs(people, rows, items)
    by_user = [_metrics.rmse(predicted[a:b], values[a:b]) for a, b in itertools.pairwise(starts)]
    found = _metrics.places(model.scores(people, 0, len(users)), people, starts, items)
    rmse = theirs.list_summary().loc["RMSE", "mean"]
    ndcg = theirs_of_lists.list_summary().loc["NDCG@10", "mean"]
    assert math.isclose(rmse, np.mean(by_user), rel_tol=1e-5)
    assert math.isclose(ndcg, _metrics.ndcg_at(found, 10), rel_tol=1e-4)
