"""Kernels against slow twins, one person against many."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from discreet.domain import InputError, OwnRatings
from discreet.predict import KnnPredictor, People, Predictor, SvdPredictor
from discreet.predict._knn_bulk import pair_tasks, score_tasks
from discreet.predict._knn_kernels import nearest
from discreet.predict._knn_lanes import LANES, choose, fill_lane, make_lanes, prepare, solve_lanes
from discreet.predict._linear_algebra import factorize, solve
from discreet.release import Release, pack
from predict._reference import Slow
from predict._worlds import crowd, person
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


@pytest.mark.parametrize("k", [0, 1, 3, 7, 8, 20])
def test_svd_is_the_conditional_mean(k: int) -> None:
    release, people = release_of_rank(k), crowd(D, people=12, most=35)
    scores = SvdPredictor(release).scores(people, 0, len(people))
    for row in range(len(people)):
        expected = Slow(release).svd(*person(people, row))
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)


def test_svd_without_user_variance_has_no_bias() -> None:
    release = make_release(np.zeros((3, 1)), user_variance=0)
    np.testing.assert_allclose(release.predictor("svd").predict({"0": 5.0}), 3.0)
    np.testing.assert_allclose(release.predictor("knn").predict({"0": 5.0}), 3.0, atol=1e-9)


@pytest.mark.parametrize(("k", "neighbours", "ridge"), [(1, 20, 0.0), (5, 4, 0.3), (20, 20, 0.0)])
def test_knn_by_factors(k: int, neighbours: int, ridge: float) -> None:
    release, people = release_of_rank(k), crowd(D, people=8, most=40)
    model = KnnPredictor(release, neighbours=neighbours, ridge=ridge)
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
    model = KnnPredictor(release, neighbours=neighbours, ridge=ridge, shrink=shrink)
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
    scores = KnnPredictor(blind).scores(people, 0, 8)
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
    model = KnnPredictor(release, ridge=0.28, shrink=0.0)
    bias = 2.0 / 0.72 / (1 / 0.2 + 1 / 0.72)
    weight = 3 * 6 / 12 / (0.72 + 0.28)
    assert model.scores(People(np.array([0, 1]), np.array([0], np.int32), np.array([5.0])), 0, 1)[
        0, 1
    ] == pytest.approx(3 + bias + weight * (2 - bias), rel=1e-6)


def models() -> list[Predictor]:
    plain, headed = release_of_rank(5), realistic_head(40, 5.0)
    return [SvdPredictor(plain), KnnPredictor(plain), KnnPredictor(headed), SvdPredictor(headed)]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_many_people_at_once_are_as_one_by_one(model: Predictor) -> None:
    people, rng = crowd(D, people=30, most=50), np.random.default_rng(5)
    rows, items = rng.integers(30, size=700), rng.integers(D, size=700)
    together = model.predict_pairs(people, rows, items)
    scores = model.scores(people, 3, 30)
    for row in range(30):
        own = OwnRatings(*person(people, row))
        alone = model.predict(own)
        mine = rows == row
        np.testing.assert_allclose(together[mine], alone[items[mine]], atol=1e-12)
        if row >= 3:
            np.testing.assert_allclose(np.clip(scores[row - 3], 1, 5), alone, atol=1e-5)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_contributions_add_up(model: Predictor) -> None:
    people = crowd(D, people=6, most=40, seed=2)
    own = OwnRatings(*person(people, 3))
    scores, nobody = model.scores(people, 3, 4)[0], model.scores(people, 0, 1)[0]
    for item in range(D):
        total = sum(moved for _, moved in model.explain(own, item))
        assert total == pytest.approx(scores[item] - nobody[item], abs=2e-5)


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


def test_nearest_sorts_by_similarity_then_place() -> None:
    rng = np.random.default_rng(6)
    for trial in range(200):
        count, most = rng.integers(0, 60), rng.integers(1, 25)
        similarities = rng.choice([-2.0, 0.0, 0.5, 1.0, 3.0, 1e-30, 1e30], count)
        if trial % 2:
            similarities = rng.normal(size=count)
        similarities = similarities.astype(np.float32)
        keys, chosen = np.empty(most, np.int64), np.empty(most, np.int64)
        found = nearest(similarities, keys, chosen)
        order = np.argsort(-similarities, kind="stable")
        expected = order[similarities[order] > 0][:most]
        np.testing.assert_array_equal(chosen[:found], expected)
        lanes = make_lanes(int(most), 4)
        own = prepare(np.ones((60, 4), np.float32), np.ones(60), np.arange(count, dtype=np.int32))
        own.similarities[:] = similarities
        assert choose(own, lanes, 3) == found
        np.testing.assert_array_equal(np.sort(lanes.chosen[3, :found]), np.sort(expected))


def test_lanes_solve_each_system_by_itself() -> None:
    """Full, half-full and empty lanes, of different people, twice over in the same room."""
    rng = np.random.default_rng(8)
    F, noise = rng.normal(0, 0.5, (90, 6)).astype(np.float32), rng.uniform(0.5, 2, 90)
    lanes = make_lanes(7, 6)
    for _ in range(2):
        asked = []
        for lane in range(LANES - 1):
            items = np.sort(rng.permutation(90)[: lane % 13]).astype(np.int32)
            target = int(rng.integers(90))
            fill_lane(prepare(F, noise, items), target, F, 0.1, lanes, lane)
            asked.append((items, target))
        solve_lanes(lanes)
        for lane, (items, target) in enumerate(asked):
            count = int(lanes.counts[lane])
            near = items[lanes.chosen[lane, :count]]
            assert count == min(7, len(items) - (target in items)) and target not in near
            A = F[near] @ F[near].T + np.diag(noise[near] + 0.1)
            np.testing.assert_allclose(A @ lanes.a[:count, lane], F[near] @ F[target], atol=1e-5)
            assert not lanes.a[count:, lane].any()


def test_factorize_solves_definite_systems() -> None:
    rng = np.random.default_rng(7)
    for size in (1, 2, 5, 20):
        X = rng.normal(size=(size, 40))
        A, b = X @ X.T + np.eye(size), rng.normal(size=size)
        R, x = A.copy(), b.copy()
        factorize(R, size, np.zeros(size))
        solve(R, size, x)
        np.testing.assert_allclose(A @ x, b, atol=1e-9)


def test_factorize_gives_up_what_is_not_definite() -> None:
    """The second unknown repeats the first and the third has negative variance: both become 0."""
    A = np.array([[2.0, 2.0, 0.0, 1.0], [2.0, 2.0, 0.0, 1.0], [0, 0, -1.0, 0], [1.0, 1.0, 0, 3.0]])
    b = np.array([5.0, 1.0, 1.0, 10.0])
    factorize(A, 4, np.full(4, 1e-9))
    solve(A, 4, b)
    # 2 x + y = 5 and x + 3 y = 10
    np.testing.assert_allclose(b, [1.0, 0.0, 0.0, 3.0], atol=1e-12)


def test_tasks_cover_every_target_once() -> None:
    rows = np.repeat([0, 2, 5], [1, 1300, 7])
    covered = [(person, t) for person, begin, end, _ in pair_tasks(rows) for t in range(begin, end)]
    assert covered == list(zip(rows.tolist(), range(len(rows)), strict=True))
    assert len(pair_tasks(np.empty(0, np.int64))) == 0
    out = [o + t for _, begin, end, o in score_tasks(3, 1100) for t in range(end - begin)]
    assert sorted(out) == list(range(3300))


@pytest.mark.parametrize(
    ("rows", "items"), [([0, 6], [0, 0]), ([-1], [0]), ([0], [D]), ([0], [-1]), ([0, 1], [0])]
)
def test_indices_that_reach_outside_are_refused(rows: list[int], items: list[int]) -> None:
    model = SvdPredictor(release_of_rank(1))
    with pytest.raises(InputError):
        model.predict_pairs(crowd(D, 6, 5), np.array(rows), np.array(items))


def test_people_that_reach_outside_are_refused() -> None:
    model = SvdPredictor(release_of_rank(1))
    people = People(np.array([0, 1]), np.array([D], np.int32), np.array([3.0]))
    with pytest.raises(InputError, match="outside the catalogue"):
        model.scores(people, 0, 1)
    with pytest.raises(InputError, match="not among"):
        model.scores(crowd(D, 6, 5), 0, 7)
    with pytest.raises(InputError, match="outside the catalogue"):
        model.explain(OwnRatings(people.items, people.values), 0)


@pytest.mark.parametrize(
    ("starts", "items", "values"),
    [
        (np.array([0, 1], np.int32), np.zeros(1, np.int32), np.zeros(1)),
        (np.array([0, 1]), np.zeros(1, np.int64), np.zeros(1)),
        (np.array([0, 2]), np.zeros(1, np.int32), np.zeros(1)),
        (np.array([1, 1]), np.zeros(1, np.int32), np.zeros(1)),
        (np.array([0, 2, 1]), np.zeros(1, np.int32), np.zeros(1)),
        (np.empty(0, np.int64), np.zeros(0, np.int32), np.zeros(0)),
    ],
)
def test_crooked_people_are_refused(
    starts: np.ndarray, items: np.ndarray, values: np.ndarray
) -> None:
    with pytest.raises(InputError):
        People(starts, items, values)


def test_people_do_not_show_in_reprs() -> None:
    assert repr(crowd(D, 3, 3)) == "People(private)"


def test_more_neighbours_than_anybody_rated_take_no_more_room() -> None:
    release, people = release_of_rank(3), crowd(D, people=4, most=9)
    few, many = (KnnPredictor(release, neighbours=n) for n in (9, 10**6))
    np.testing.assert_array_equal(few.scores(people, 0, 4), many.scores(people, 0, 4))
    own = OwnRatings(np.array([1, 5], np.int32), np.array([4.0, 2.0]))
    assert few.explain(own, 7) == many.explain(own, 7)
