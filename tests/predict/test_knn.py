"""Nearest neighbours: by factors, by a matrix, and their kernels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from discreet.domain import InputError, OwnRatings
from discreet.predict import KnnPredictor, People
from discreet.predict._knn import nearest, solve
from discreet.release import Release, pack
from predict._reference import Slow
from predict._worlds import crowd, person
from predict.battery import PredictorBattery
from release._making import make_release, random_release

D = 60


def release_of_rank(k: int) -> Release:
    return random_release(d=D, k=k, seed=k)


def realistic_head(m: int, noise: float, seed: int = 4) -> Release:
    """A head whose covariance comes from factors; with noise it is no longer definite."""
    rng = np.random.default_rng(seed)
    F = rng.normal(0, 0.5, (m, 3))
    W = rng.uniform(20, 90, (m, m))
    W = (W + W.T) / 2
    C = (F @ F.T + 0.5 * np.eye(m)) * W
    E = rng.normal(0, noise, (2, m, m))
    release = random_release(d=D, k=4, m=m, seed=seed)
    E = (E + E.transpose(0, 2, 1)) / np.sqrt(2)
    matrices = {"covariance": pack(C + E[0]), "weights": pack(W + E[1])}
    return dataclasses.replace(
        release,
        arrays=dict(release.arrays) | matrices,
        parameters=dict(release.parameters) | {"covariance_noise": noise, "weights_noise": noise},
    )


@pytest.mark.parametrize(("k", "neighbours", "ridge"), [(1, 20, 0.0), (5, 4, 0.3), (20, 20, 0.0)])
def test_knn_by_factors(k: int, neighbours: int, ridge: float) -> None:
    release, people = release_of_rank(k), crowd(D, people=8, most=40)
    model = KnnPredictor(release, neighbours=neighbours, ridge=ridge, order="expected")
    scores = model.scores(people, 0, len(people))
    for row in range(len(people)):
        own = person(people, row)
        expected = [
            Slow(release).knn_by_factors(*own, i, neighbours, ridge) for i in range(D)
        ]  # fmt: skip
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("noise", "neighbours", "ridge", "shrink"),
    [(0.0, 20, 0.3, 1.0), (0.0, 5, 0.0, 0.0), (5.0, 20, 0.05, 0.5), (9.0, 20, 0.3, 5.0)],
)
def test_knn_by_matrix(noise: float, neighbours: int, ridge: float, shrink: float) -> None:
    release, people = realistic_head(40, noise), crowd(D, people=5, most=50)
    model = KnnPredictor(
        release, neighbours=neighbours, ridge=ridge, shrink=shrink, order="expected"
    )
    slow, scores = Slow(release), model.scores(people, 0, len(people))
    head = release.arrays["head"].tolist()
    for row in range(len(people)):
        own = person(people, row)
        expected = [slow.knn_by_matrix(*own, i, neighbours, ridge, shrink) for i in head]
        np.testing.assert_allclose(scores[row, head], expected, atol=1e-4)
        rest = [i for i in range(D) if i not in head]
        expected = [slow.knn_by_factors(*own, i, neighbours, ridge) for i in rest]
        np.testing.assert_allclose(scores[row, rest], expected, atol=1e-5)


def test_a_matrix_of_noise_leaves_the_baseline_almost_alone() -> None:
    """Nothing can be learnt from it, so nothing wild is predicted."""
    rng = np.random.default_rng(11)
    release = realistic_head(40, 0.0)
    told = dict(release.parameters) | {"covariance_noise": 500.0, "weights_noise": 5.0}
    noisy = dict(release.arrays) | {"covariance": pack(rng.normal(0, 500, (40, 40)))}
    blind = dataclasses.replace(release, arrays=noisy, parameters=told)
    people, slow = crowd(D, people=8, most=50), Slow(release)
    scores = KnnPredictor(blind, order="expected").scores(people, 0, 8)
    head = release.arrays["head"]
    for row in range(8):
        expected = slow.baseline + slow.bias(*person(people, row))
        assert np.abs(scores[row, head] - expected[head]).max() < 1.5


def test_an_unpublished_diagonal_is_the_variance_of_a_rating() -> None:
    """With one neighbour the weight is a / (rating_variance + ridge), by hand."""
    cov, wgt = np.array([[0.0, 6.0], [6.0, 0.0]]), np.array([[0.0, 12.0], [12.0, 0.0]])
    release = make_release(
        np.zeros((2, 0)),
        more_arrays={
            "head": np.arange(2, dtype=np.int32), "covariance": pack(cov), "weights": pack(wgt),
        },
        covariance_noise=0.0, weights_noise=0.0, covariance_scale=3.0,
    )  # fmt: skip
    model = KnnPredictor(release, ridge=0.28, shrink=0.0, order="expected")
    bias = 2.0 / 0.72 / (1 / 0.2 + 1 / 0.72)
    weight = 3 * 6 / 12 / (0.72 + 0.28)
    assert model.scores(People(np.array([0, 1]), np.array([0], np.int32), np.array([5.0])), 0, 1)[
        0, 1
    ] == pytest.approx(3 + bias + weight * (2 - bias), rel=1e-6)


def test_a_target_is_not_its_own_neighbour() -> None:
    """A rating of the target moves the bias alone: its neighbours are other items."""
    release = random_release(d=3, k=1)
    model = KnnPredictor(release)
    alone = OwnRatings(np.array([1], np.int32), np.array([5.0]))
    bias = Slow(release).bias(alone.items, alone.values)
    baseline = Slow(release).baseline[1]
    assert model.predict(alone, [1])[0] == pytest.approx(min(baseline + bias, 5), abs=1e-6)


@pytest.mark.parametrize("options", [{"neighbours": 0}, {"ridge": -1.0}, {"shrink": -0.1}])
def test_impossible_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        release_of_rank(2).predictor("knn", **options)


def test_more_neighbours_than_anybody_rated_take_no_more_room() -> None:
    release, people = release_of_rank(3), crowd(D, people=4, most=9)
    few, many = (KnnPredictor(release, neighbours=n) for n in (9, 10**6))
    np.testing.assert_array_equal(few.scores(people, 0, 4), many.scores(people, 0, 4))
    own = OwnRatings(np.array([1, 5], np.int32), np.array([4.0, 2.0]))
    assert few.explain(own, 7) == many.explain(own, 7)


class TestKnnByFactors(PredictorBattery):
    name = "knn"

    def release(self) -> Release:
        return random_release(d=30, k=5, seed=5)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        slow = Slow(release)
        return np.array([slow.knn_by_factors(items, values, i, 20, 0.0) for i in range(30)])


class TestKnnByMatrix(PredictorBattery):
    name = "knn"
    tolerance = 1e-4

    def release(self) -> Release:
        return realistic_head(40, 5.0)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        slow, head = Slow(release), set(release.arrays["head"].tolist())
        return np.array(
            [
                slow.knn_by_matrix(items, values, i, 20, 0.5, 5.0)
                if i in head
                else slow.knn_by_factors(items, values, i, 20, 0.0)
                for i in range(D)
            ]
        )


def test_nearest_sorts_by_similarity_then_place() -> None:
    rng = np.random.default_rng(6)
    for trial in range(200):
        count, most = int(rng.integers(0, 60)), int(rng.integers(1, 25))
        similar = rng.choice([-2.0, 0.0, 0.5, 1.0, 3.0, 1e-30, 1e30], count)
        if trial % 2:
            similar = rng.normal(size=count)
        similar = similar.astype(np.float32)
        near = np.empty(most, np.int64)
        found = nearest(similar, near)
        order = np.argsort(-similar, kind="stable")
        expected = order[similar[order] > 0][:most]
        np.testing.assert_array_equal(near[:found], expected)


def test_definite_systems_are_solved() -> None:
    rng = np.random.default_rng(7)
    for size in (1, 2, 5, 20):
        X = rng.normal(size=(size, 40))
        A, b = X @ X.T + np.eye(size), rng.normal(size=size)
        R, x = A.copy(), b.copy()
        solve(R, x, size)
        np.testing.assert_allclose(A @ x, b, atol=1e-9)


def test_what_is_not_definite_is_given_up() -> None:
    """The second unknown repeats the first and the third has negative variance: both become 0."""
    A = np.array([[2.0, 2.0, 0.0, 1.0], [2.0, 2.0, 0.0, 1.0], [0, 0, -1.0, 0], [1.0, 1.0, 0, 3.0]])
    b = np.array([5.0, 1.0, 1.0, 10.0])
    solve(A, b, 4)
    # 2 x + y = 5 and x + 3 y = 10
    np.testing.assert_allclose(b, [1.0, 0.0, 0.0, 3.0], atol=1e-12)
