"""Slope One and cosine: against slow twins, by hand, and on a release that was fitted."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import PRESENCE, Catalog, OwnRatings, Scale
from discreet.predict import CosinePredictor, People, SlopeOnePredictor
from discreet.release import Release, pack
from predict._worlds import crowd, person
from release._making import make_release

Floats = npt.NDArray[np.float64]
STARS = Scale(1, 5)
D, HEAD = 12, np.array([0, 1, 3, 4, 7, 8, 9, 11], np.int32)


def pair_release(method: str, *, noise: float, scale: Scale = STARS, **arrays: Floats) -> Release:
    """A release of item pairs with random effects; triangles are given as whole matrices."""
    rng = np.random.default_rng(1)
    plain = make_release(np.zeros((D, 0)), effects=rng.normal(0, 0.4, D))
    kept = {k: plain.arrays[k] for k in ("item_effects", "item_effect_variances", "item_counts")}
    names = {"slope-one": ("difference", "pair"), "cosine": ("product", "square")}[method]
    told = {f"{name}_noise": noise for name in names}
    packed = {k: pack(v) if v.ndim == 2 else v.astype(np.float32) for k, v in arrays.items()}
    return dataclasses.replace(
        plain,
        method=method,
        scale=scale,
        parameters=dict(plain.parameters) | told,
        arrays=kept | ({"head": HEAD} | packed if packed else {}),
    )


def slope_one_release(noise: float) -> Release:
    rng = np.random.default_rng(2)
    N = rng.uniform(5, 60, (8, 8))
    N = (N + N.T) / 2 + noise * rng.normal(size=(8, 8))
    D_ = rng.normal(0, 0.5, (8, 8)) * N
    return pair_release(
        "slope-one", noise=noise, differences=np.triu(D_, 1), pair_weights=np.triu(N, 1)
    )


def bias_of(release: Release, items: npt.NDArray[np.int32], values: Floats) -> float:
    parameters, arrays = release.parameters, release.arrays
    noise = parameters["rating_variance"] + arrays["item_effect_variances"][items]
    x = values - parameters["global_mean"] - arrays["item_effects"][items]
    return float((x / noise).sum() / (1 / parameters["user_variance"] + (1 / noise).sum()))


def slow_slope_one(release: Release, items: npt.NDArray[np.int32], values: Floats) -> Floats:
    """Pair by pair, from the definition in the kernels."""
    arrays, told = release.arrays, release.parameters
    M = told["global_mean"] + arrays["item_effects"].astype(float)
    upper = np.zeros((2, 8, 8))
    for layer, name in zip(upper, ("differences", "pair_weights"), strict=True):
        layer[np.triu_indices(8)] = arrays[name]
    place = {int(item): at for at, item in enumerate(HEAD)}
    a, b = told["difference_noise"] ** 2, told["pair_noise"] ** 2
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]

    def off(i: int, j: int) -> float:
        return float(M[HEAD[i]] - M[HEAD[j]])

    n = np.array([max(upper[1, i, j], 0) for i, j in pairs])
    y = np.array(
        [
            (upper[0, i, j] - upper[1, i, j] * off(i, j)) ** 2 - a - b * off(i, j) ** 2
            for i, j in pairs
        ]
    )
    system = np.array([[n.sum(), (n**2).sum()], [(n**2).sum(), (n**3).sum()]])
    c = max(
        float(np.linalg.solve(system, [y.sum(), (y * n).sum()])[0]), 0.1 * told["rating_variance"]
    )
    v = max(float((y * n).sum() - c * (n**2).sum()) / float((n**3).sum()), 0.0)
    found = M + bias_of(release, items, values)
    for target in range(D):
        total = weight = 0.0
        for item in items.tolist():
            if target not in place or item not in place or item == target:
                continue
            i, j = sorted((place[target], place[item]))
            w = max(upper[1, i, j], 0.0)
            e = upper[0, i, j] - upper[1, i, j] * off(i, j)
            moved = v * w * e / (v * w * w + c * w + a + b * off(i, j) ** 2)
            total += w * moved * (1 if place[target] < place[item] else -1)
            weight += w
        found[target] += total / weight if weight else 0.0
    return found


@pytest.mark.parametrize("noise", [0.0, 3.0, 30.0])
def test_slope_one_is_what_the_definition_says(noise: float) -> None:
    release, people = slope_one_release(noise), crowd(D, people=9, most=9)
    model = SlopeOnePredictor(release)
    scores = model.scores(people, 0, len(people))
    for row in range(len(people)):
        expected = slow_slope_one(release, *person(people, row))
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)


def test_without_noise_and_level_it_is_the_textbook_s() -> None:
    """Three items, many co-raters: the mean over own items of r_j + s_ij, weighted by co-raters."""
    M = np.zeros(D)
    N, differences = np.zeros((8, 8)), np.zeros((8, 8))
    N[0, 1], N[0, 2], N[1, 2] = 4e6, 2e6, 1e6
    differences[0, 1], differences[0, 2] = 0.5 * 4e6, -1.0 * 2e6
    release = pair_release("slope-one", noise=0.0, differences=differences, pair_weights=N)
    arrays = dict(release.arrays) | {"item_effects": M.astype(np.float32)}
    parameters = dict(release.parameters) | {"user_variance": 1e9}
    model = dataclasses.replace(release, arrays=arrays, parameters=parameters).predictor()
    [predicted] = model.predict({"1": 4.0, "3": 4.0}, items=["0"])
    assert predicted == pytest.approx((4e6 * (4 + 0.5) + 2e6 * (4 - 1.0)) / 6e6, abs=1e-4)


def cosine_release(noise: float, scale: Scale = STARS) -> Release:
    rng = np.random.default_rng(3)
    Q = rng.uniform(20, 90, 8)
    P = np.triu(rng.uniform(0, 0.7, (8, 8)) * np.sqrt(np.outer(Q, Q)), 1)
    P = P + np.triu(noise * rng.normal(size=(8, 8)), 1)
    return pair_release("cosine", noise=noise, scale=scale, products=P, squares=Q)


def slow_similarities(release: Release) -> Floats:
    arrays, told = release.arrays, release.parameters
    Q = arrays["squares"].astype(float)
    roots = np.sqrt(np.maximum(Q, max(2 * told["square_noise"], 1e-3 * Q.mean(), 1e-9)))
    upper = np.zeros((8, 8))
    upper[np.triu_indices(8)] = arrays["products"]
    s, doubt = upper / np.outer(roots, roots), 2 * told["product_noise"] / np.outer(roots, roots)
    s = np.where(np.abs(s) > doubt, s * (1 - (doubt / np.where(s == 0, 1, s)) ** 2), 0.0)
    whole = np.zeros((D, D))
    whole[np.ix_(HEAD, HEAD)] = s + s.T
    np.fill_diagonal(whole, 0.0)
    return whole


@pytest.mark.parametrize("noise", [0.0, 3.0, 30.0])
def test_cosine_of_ratings_is_what_the_definition_says(noise: float) -> None:
    release, people = cosine_release(noise), crowd(D, people=9, most=9)
    scores, whole = CosinePredictor(release).scores(people, 0, 9), slow_similarities(release)
    M = release.parameters["global_mean"] + release.arrays["item_effects"].astype(float)
    for row in range(9):
        items, values = person(people, row)
        b = bias_of(release, items, values)
        like = whole[:, items]
        expected = M + b + like @ (values - M[items] - b) / (np.abs(like).sum(axis=1) + 2)
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)


def test_cosine_of_presence_is_the_mean_similarity_beside_popularity() -> None:
    release = cosine_release(0.5, PRESENCE)
    model, whole = CosinePredictor(release), slow_similarities(release)
    level = release.parameters["global_mean"] + release.arrays["item_effects"]
    popular = np.exp(np.minimum(level, 0))
    items = np.array([0, 3, 5], np.int32)
    expected = (np.maximum(whole[:, items].sum(axis=1), 0) + popular) / 4
    np.testing.assert_allclose(model.predict(["0", "3", "5"]), expected, atol=1e-6)
    np.testing.assert_allclose(model.predict([]), popular, atol=1e-6)


@pytest.mark.parametrize(
    "release", [slope_one_release(3.0), cosine_release(3.0), cosine_release(3.0, PRESENCE)]
)
def test_reasons_add_up_to_the_personal_part(release: Release) -> None:
    model = release.predictor()
    values = np.array([5.0, 2.0, 4.0]) if not release.scale.presence else np.ones(3)
    own = OwnRatings(np.array([1, 4, 5], np.int32), values)
    nobody = OwnRatings(np.empty(0, np.int32), np.empty(0))
    mine, base = (model.scores(People.one(each), 0, 1)[0] for each in (own, nobody))
    for item in range(D):
        told = model.explain(own, item)
        assert len(told) == 3
        assert sum(by for _, by in told) == pytest.approx(mine[item] - base[item], abs=1e-4)


@pytest.mark.parametrize("method", ["slope-one", "cosine"])
def test_without_pairs_level_and_bias_are_left(method: str) -> None:
    release = pair_release(method, noise=0.0)
    model = release.predictor()
    assert model.name == method
    own = {"2": 5.0, "3": 4.0}
    b = bias_of(release, np.array([2, 3], np.int32), np.array([5.0, 4.0]))
    expected = release.parameters["global_mean"] + release.arrays["item_effects"] + b
    np.testing.assert_allclose(model.predict(own), np.clip(expected, 1, 5), atol=1e-6)
    assert [r.item for r in model.recommend({}, n=1)] == [
        int(np.argmax(release.arrays["item_effects"]))
    ]


def test_one_person_is_as_among_many() -> None:
    people = crowd(D, people=20, most=10)
    for release in (slope_one_release(1.0), cosine_release(1.0)):
        model = release.predictor()
        together = model.scores(people, 0, 20)
        rows, items = np.divmod(np.arange(20 * D), D)
        pairs = model.predict_pairs(people, rows, items).reshape(20, D)
        np.testing.assert_allclose(pairs, np.clip(together, 1, 5), atol=1e-5)
        for row in range(20):
            alone = model.scores(people.part(row, row + 1), 0, 1)
            np.testing.assert_allclose(alone[0], together[row], atol=1e-6)


def test_names_are_as_in_other_predictors() -> None:
    catalog = Catalog([str(i) for i in range(D)])
    release = dataclasses.replace(slope_one_release(0.0), catalog=catalog)
    listed = release.predictor().recommend({"0": 5.0, "no such": 1.0}, n=3, explain=True)
    assert listed.unknown == ("no such",) and len(listed) == 3
    assert all(math.isfinite(each.score) and each.item != 0 for each in listed)
