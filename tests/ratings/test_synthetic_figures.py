"""The made-up data beside what is published of the data it imitates, and beside real data."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from discreet.domain import Scale
from discreet.ratings import Ratings
from discreet.ratings.synthetic import SHAPES, Shape, make_ratings
from discreet.ratings.synthetic._generator import ValueMap, bell
from discreet.ratings.synthetic._titles import made_up_titles

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


def gini(counts: Whole) -> float:
    ranked = np.sort(counts)
    n = len(ranked)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ranked / (n * ranked.sum()))


def damped(residuals: Floats, index: Whole, size: int, damping: float) -> Floats:
    sums = np.bincount(index, residuals, size)
    return sums / (np.bincount(index, minlength=size) + damping)


def held_out_errors(users: Whole, items: Whole, values: Floats) -> dict[str, float]:
    """RMSE on a random tenth: of the mean, of item means, and of user and item effects."""
    test = np.random.default_rng(0).random(len(values)) < 0.1
    u, i, r = users[~test], items[~test], values[~test]
    size = (int(users.max()) + 1, int(items.max()) + 1)
    mean = r.mean()
    only_items = damped(r - mean, i, size[1], 2.0)
    by_user = np.zeros(size[0])
    for _ in range(5):
        by_item = damped(r - mean - by_user[u], i, size[1], 3.0)
        by_user = damped(r - mean - by_item[i], u, size[0], 5.0)
    u, i, r = users[test], items[test], values[test] - mean
    return {
        "mean": float(np.sqrt(np.mean(r**2))),
        "item": float(np.sqrt(np.mean((r - only_items[i]) ** 2))),
        "both": float(np.sqrt(np.mean((r - by_item[i] - by_user[u]) ** 2))),
    }


def columns(ratings: Ratings) -> tuple[Whole, Whole, Floats]:
    users = ratings.user_of_rating().astype(np.int64)
    return users, ratings.items.astype(np.int64), ratings.values()


@pytest.fixture(scope="module")
def ml_1m() -> Ratings:
    return make_ratings("ml-1m")


def test_ml_1m_has_the_published_figures(ml_1m: Ratings) -> None:
    activity = np.diff(ml_1m.starts)
    popularity = np.bincount(ml_1m.items)
    assert activity.mean() == pytest.approx(165.6, abs=0.05)
    assert activity.min() == 20
    assert activity.max() == pytest.approx(2_314, rel=0.01)
    assert popularity.max() == pytest.approx(3_428, rel=0.05)
    assert ml_1m.values().std() == pytest.approx(1.117, rel=0.02)
    assert ml_1m.values().mean() == pytest.approx(3.58, rel=0.02)
    errors = held_out_errors(*columns(ml_1m))
    assert errors["item"] == pytest.approx(0.98, rel=0.02)
    assert errors["both"] == pytest.approx(0.908, rel=0.02)


def test_ml_1m_resembles_the_real_one(ml_1m: Ratings, data_folder: Path) -> None:
    path = data_folder / "ml-1m" / "ratings.dat"
    if not path.is_file():
        pytest.skip("MovieLens 1M is absent")
    text = path.read_bytes().replace(b"::", b",")
    real = pl.read_csv(io.BytesIO(text), has_header=False).to_numpy().T
    activity = np.unique(real[0], return_counts=True)[1]
    popularity = np.unique(real[1], return_counts=True)[1]
    made_activity = np.diff(ml_1m.starts)
    made_popularity = np.bincount(ml_1m.items)
    quarters = [25, 50, 75, 90, 95]
    assert np.percentile(made_activity, quarters) == pytest.approx(
        np.percentile(activity, quarters), rel=0.1
    )
    assert np.percentile(made_popularity, quarters) == pytest.approx(
        np.percentile(popularity, quarters), rel=0.1
    )
    assert gini(made_activity) == pytest.approx(gini(activity), abs=0.02)
    assert gini(made_popularity) == pytest.approx(gini(popularity), abs=0.02)
    shares = np.bincount(real[2], minlength=6)[1:] / real.shape[1]
    assert np.bincount(ml_1m.codes) / len(ml_1m) == pytest.approx(shares, abs=0.01)


def test_netflix_at_a_million_has_the_published_figures() -> None:
    ratings = make_ratings(SHAPES["netflix"].scaled(ratings=1_000_000))
    activity, popularity = np.diff(ratings.starts), np.bincount(ratings.items)
    assert activity.mean() == pytest.approx(209.2, rel=0.01)
    assert popularity.max() / len(activity) == pytest.approx(232_944 / 480_189, rel=0.05)
    errors = held_out_errors(*columns(ratings))
    assert errors["mean"] == pytest.approx(1.085, rel=0.05)
    assert errors["item"] == pytest.approx(1.05, rel=0.05)
    assert errors["both"] == pytest.approx(0.98, rel=0.05)


def test_the_top_thousand_of_netflix() -> None:
    # Full catalogue, a fortieth of the users: expected shares do not depend on their number.
    netflix = SHAPES["netflix"]
    shape = replace(netflix, users=netflix.users // 40, ratings=netflix.ratings // 40)
    ratings = make_ratings(shape)
    popularity = np.sort(np.bincount(ratings.items, minlength=shape.items))[::-1]
    assert popularity[:1000].sum() / len(ratings) == pytest.approx(0.63, rel=0.05)


@pytest.mark.parametrize("name", ["jester", "ml-latest-small", "goodbooks"])
def test_values_have_the_published_shares(name: str) -> None:
    shape = SHAPES[name].scaled(ratings=300_000)
    ratings = make_ratings(shape)
    assert shape.value_shares is not None
    if shape.scale.step is None:
        edges = np.linspace(shape.scale.lo, shape.scale.hi, len(shape.value_shares) + 1)
        counts = np.histogram(ratings.values(), edges)[0]
    else:
        counts = np.bincount(ratings.codes, minlength=len(shape.value_shares))
    assert counts / len(ratings) == pytest.approx(np.array(shape.value_shares), abs=0.02)


def residual_covariance(ratings: Ratings, first: int, last: int) -> Floats:
    """Item by item covariance of what user and item means leave, without the diagonal."""
    part = ratings.select_users(first, last)
    table = np.full((part.user_count, len(part.catalog)), np.nan)
    table[part.user_of_rating(), part.items] = part.values()
    table -= np.nanmean(table, axis=1, keepdims=True)
    table -= np.nanmean(table, axis=0, keepdims=True)
    filled = np.nan_to_num(table)
    covariance = filled.T @ filled
    return covariance[np.triu_indices(len(covariance), 1)]


@pytest.mark.parametrize(("taste", "low", "high"), [(0.2, 0.9, 1.0), (0.0, -0.3, 0.3)])
def test_taste_is_shared_between_strangers(taste: float, low: float, high: float) -> None:
    shape = Shape(users=6_000, items=40, ratings=150_000, taste_variance=taste, choice=0.0)
    ratings = make_ratings(shape)
    halves = [residual_covariance(ratings, 0, 3_000), residual_covariance(ratings, 3_000, 6_000)]
    centred = [half - half.mean() for half in halves]
    correlation = centred[0] @ centred[1] / np.sqrt((centred[0] ** 2).sum())
    correlation /= np.sqrt((centred[1] ** 2).sum())
    assert low < correlation < high


def test_variance_shares_are_what_they_say() -> None:
    # On a fine, bell-shaped scale little is lost to rounding, so shares can be read off.
    shape = Shape(
        users=2_000,
        items=300,
        ratings=300_000,
        scale=Scale(0, 100, None),
        value_shares=bell(Scale(0, 250)),
        item_variance=0.3,
        user_variance=0.2,
        taste_variance=0.0,
        range_use=0.0,
        choice=0.0,
    )
    errors = held_out_errors(*columns(make_ratings(shape)))
    assert 1 - (errors["item"] / errors["mean"]) ** 2 == pytest.approx(0.3, abs=0.03)
    assert 1 - (errors["both"] / errors["mean"]) ** 2 == pytest.approx(0.5, abs=0.04)


def test_popular_items_are_rated_higher() -> None:
    ratings = make_ratings(Shape(users=3_000, items=500, ratings=150_000, quality=0.6))
    counts = np.bincount(ratings.items, minlength=500)
    means = np.bincount(ratings.items, ratings.values(), 500) / np.maximum(counts, 1)
    often = counts >= 50
    assert np.corrcoef(np.log(counts[often]), means[often])[0, 1] > 0.2


def test_the_bell_is_a_distribution_above_the_middle() -> None:
    for scale in (Scale(1, 5), Scale(0.5, 5, 0.5), Scale(-10, 10, None), Scale(0, 1)):
        shares = np.array(bell(scale))
        assert shares.sum() == pytest.approx(1)
        assert (shares > 0).all()
        assert shares[len(shares) // 2 :].sum() > 0.5


def test_scores_become_values_by_their_rank() -> None:
    shape = Shape(users=1, items=5, ratings=5, value_shares=(0.1, 0.2, 0.3, 0.2, 0.2))
    scores = np.random.default_rng(3).standard_normal(10_000)
    codes = ValueMap.fit(shape, scores).encode(scores.astype(np.float32))
    assert np.bincount(codes) / 10_000 == pytest.approx([0.1, 0.2, 0.3, 0.2, 0.2], abs=1e-3)
    order = np.argsort(scores)
    assert (np.diff(codes[order].astype(int)) >= 0).all()


def test_continuous_values_interpolate_and_stay_in_range() -> None:
    shape = replace(SHAPES["jester"], value_shares=(0.25, 0.75))
    scores = np.arange(1_001) / 1_000
    values = ValueMap.fit(shape, scores).encode(np.array([-9, 0.125, 0.25, 0.625, 7], np.float32))
    assert values == pytest.approx([-10, -5, 0, 5, 10], abs=0.02)


def test_many_titles_are_still_different() -> None:
    count = 400_000
    assert len(set(made_up_titles(count, 1999, np.random.default_rng(0)))) == count
