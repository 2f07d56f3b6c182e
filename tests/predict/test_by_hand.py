"""Every predictor gets right what can be told by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE
from discreet.release import Recommender, Release
from predict._worlds import STARS, two_tastes, two_tastes_by_matrix
from release._making import make_release
from vectors.make_predictions import clustered, factored, listed, paired

CLUSTER_ENTRIES = ("bucket_items", "bucket_sums", "bucket_counts")
Make = Callable[[], Recommender]


def _made(world: Callable[[], Release], name: str, **options: float) -> Make:
    return lambda: world().predictor(name, **options)


@pytest.fixture(
    params=[
        pytest.param(_made(two_tastes, "svd"), id="svd"),
        pytest.param(_made(two_tastes, "knn"), id="knn by factors"),
        pytest.param(_made(two_tastes_by_matrix, "knn", shrink=0.0), id="knn by matrix"),
    ]
)
def model(request: pytest.FixtureRequest) -> Recommender:
    make: Make = request.param
    return make()


def titles(model: Recommender, own: dict[str, float], n: int = 10, **options: Any) -> list[str]:
    return [entry.title for entry in model.recommend(own, n, **options)]


def test_who_likes_a_comedy_gets_comedies_first(model: Recommender) -> None:
    own = {"comedy A": 5.0, "horror A": 1.0}
    assert titles(model, own) == ["comedy B", "comedy C", "horror B", "horror C"]
    assert titles(model, own, n=1) == ["comedy B"]


def test_who_likes_horror_gets_horror_first(model: Recommender) -> None:
    own = {"comedy A": 1.0, "horror A": 5.0}
    assert titles(model, own) == ["horror B", "horror C", "comedy B", "comedy C"]


def test_a_single_rating_is_enough_for_the_right_kind(model: Recommender) -> None:
    assert titles(model, {"horror C": 5.0}, n=2) == ["horror A", "horror B"]
    assert titles(model, {"horror C": 1.0}, n=3) == ["comedy A", "comedy B", "comedy C"]


def test_without_ratings_the_items_own_effects_decide(model: Recommender) -> None:
    best = model.recommend({}, 6)
    assert [entry.item for entry in best] == [0, 3, 1, 4, 2, 5]
    assert [entry.expected for entry in best] == pytest.approx([3.3, 3.3, 3.2, 3.2, 3.1, 3.1])
    np.testing.assert_allclose(model.predict({}), [3.3, 3.2, 3.1, 3.3, 3.2, 3.1], atol=1e-6)


def test_predictions_are_cut_to_the_scale(model: Recommender) -> None:
    own = {f"id{i}": 5.0 if i < 3 else 1.0 for i in range(6) if i != 1}
    (best,) = model.recommend(own, 1)
    (predicted,) = model.predict(own, ["comedy B"])
    assert best.title == "comedy B"
    assert predicted == pytest.approx(best.expected)
    loud = model.predict({f"id{i}": 1.0 for i in range(3)} | {"id4": 5.0, "id5": 5.0})
    assert loud.min() >= 1 and loud.max() <= 5


def test_expected_ratings_in_lists_are_cut_to_the_scale() -> None:
    release = make_release(np.zeros((3, 1)), effects=[4, -4, 0])
    listed = release.predictor("svd").recommend({}, 3)
    assert [entry.expected for entry in listed] == [5.0, 3.0, 1.0]


def without_clusters(method: str) -> Release:
    """A release of clusters none of which has an entry."""
    release = clustered(method, STARS, 9, 2, 4.0)
    empty = {name: release.arrays[name][:0] for name in CLUSTER_ENTRIES}
    ends = {"bucket_ends": np.zeros_like(release.arrays["bucket_ends"])}
    return dataclasses.replace(release, arrays={**release.arrays, **empty, **ends})


@pytest.mark.parametrize(
    ("release", "name"),
    [
        (factored("refined", STARS, 9, 0), "posterior"),
        (factored("refined", PRESENCE, 9, 0), "posterior"),
        (factored("covariance", STARS, 9, 0), "svd"),
        (factored("covariance", STARS, 9, 0), "knn"),
        (paired("slope-one", STARS, 9, 0, 0.0), "slope-one"),
        (paired("cosine", STARS, 9, 0, 0.0), "cosine"),
        (paired("cosine", PRESENCE, 9, 0, 0.0), "cosine"),
        (listed("refined", STARS, 9, 4, 0), "posterior"),
        (listed("lists", PRESENCE, 9, 4, 0), "lists"),
        (without_clusters("open-clusters"), "buckets"),
        (without_clusters("open-clusters"), "clusters"),
        (without_clusters("closed-clusters"), "clusters"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.method} {value.scale}",
)
def test_who_knows_nothing_of_items_invents_no_reason(release: Release, name: str) -> None:
    """Good ratings raise what is expected of every item alike: no reason for one of them."""
    ids, hi = release.catalog.ids, release.scale.hi
    own = dict.fromkeys(ids[:2], hi) | {ids[3]: 1.0}
    listed = release.predictor(name).recommend(own, 9, explain=True)
    assert len(listed) == 6
    assert all(entry.because == () for entry in listed)


def test_explanations_name_the_rating_that_mattered(model: Recommender) -> None:
    own = {"comedy A": 5.0, "horror C": 3.0}
    best = model.recommend(own, 2, explain=True)
    assert best[0].title == "comedy B"
    assert best[0].because[0][0] == "comedy A"
    assert best[0].because[0][1] > 0
    assert all(entry.because == () for entry in model.recommend(own, 2))


def test_equal_scores_keep_the_catalogues_order() -> None:
    release = two_tastes()
    model = release.predictor("svd")
    assert [entry.item for entry in model.recommend({}, 1)] == [0]
    assert [entry.item for entry in model.recommend({}, 3)] == [0, 3, 1]
