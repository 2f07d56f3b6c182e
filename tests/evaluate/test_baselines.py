"""Baselines on ratings small enough for a sheet of paper."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domain import InputError, Scale
from discreet.evaluate import (
    Baseline,
    global_mean,
    item_mean,
    people_of,
    popularity,
    recent_popularity,
    user_mean,
)
from discreet.ratings import Ratings
from evaluate._making import make_ratings

# The mean is 3: item 0 has 5 and 4, item 1 has 2 and 1, item 2 nothing.
TRAIN = [{0: 5, 1: 2}, {0: 4, 1: 1}, {}]


def predicted(model: Baseline, ratings: Ratings) -> np.ndarray:
    """Everybody's expected rating of everything."""
    people, items = people_of(ratings), len(ratings.catalog)
    rows = np.repeat(np.arange(len(people)), items)
    return model.predict_pairs(people, rows, np.tile(np.arange(items), len(people))).reshape(
        -1, items
    )


def test_global_mean() -> None:
    ratings = make_ratings(TRAIN, 3)
    model = global_mean(ratings)
    np.testing.assert_allclose(predicted(model, ratings), 3.0)
    assert len(np.unique(model.scores(people_of(ratings), 0, 3))) == 1


def test_item_mean_is_damped_by_five_ratings_at_the_global_mean() -> None:
    ratings = make_ratings(TRAIN, 3)
    model = item_mean(ratings)
    expected = [(9 + 15) / 7, (3 + 15) / 7, 3.0]
    np.testing.assert_allclose(predicted(model, ratings), [expected] * 3)
    np.testing.assert_allclose(model.scores(people_of(ratings), 1, 3), [expected] * 2, rtol=1e-6)


def test_user_mean_is_shrunk_by_the_quotient_of_variances() -> None:
    ratings = make_ratings(TRAIN, 3)
    model = user_mean(ratings)
    # Sums over 2 + 1/0.2 ratings; who rated nothing stays at the mean.
    expected = [3 + (2 - 1) / 7, 3 + (1 - 2) / 7, 3.0]
    np.testing.assert_allclose(predicted(model, ratings), np.repeat(expected, 3).reshape(3, 3))
    scores = model.scores(people_of(ratings), 0, 3)
    assert [len(np.unique(row)) for row in scores] == [1, 1, 1]


def test_popularity_ranks_by_count() -> None:
    ratings = make_ratings([{1: 1}, {1: 2, 0: 5}, {1: 4}], 3)
    model = popularity(ratings)
    np.testing.assert_array_equal(model.scores(people_of(ratings), 0, 2), [[1, 3, 0]] * 2)
    np.testing.assert_allclose(predicted(model, ratings), 3.0)


def test_recent_popularity_counts_the_latest_twentieth_alone() -> None:
    # 40 records at the times 0 to 39; the last two are of item 2.
    rows = [{0: 5, 1: 3}] * 19 + [{1: 3, 2: 5}] * 1
    times = np.array([*range(38), 37, 39], dtype=np.uint32)
    ratings = make_ratings(rows, 3, times=times)
    scores = recent_popularity(ratings).scores(people_of(ratings), 0, 1)
    # Two records at time 37 are equally old: both count.
    np.testing.assert_array_equal(scores, [[0, 2, 1]])
    np.testing.assert_allclose(predicted(recent_popularity(ratings), ratings), 80 * 2 / 40)


def test_recent_popularity_needs_times() -> None:
    with pytest.raises(InputError, match="goes by time"):
        recent_popularity(make_ratings(TRAIN, 3))
    empty = make_ratings([{}], 2, times=np.empty(0, np.uint32))
    assert recent_popularity(empty).ranks.tolist() == [0, 0]


@pytest.mark.parametrize("make", [global_mean, item_mean, user_mean, popularity])
def test_without_ratings_the_middle_of_the_scale_is_expected(make) -> None:
    ratings = make_ratings([{}], 2, Scale(0, 10))
    np.testing.assert_allclose(predicted(make(ratings), ratings), 5.0)
