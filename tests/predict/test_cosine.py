"""Cosine, of ratings and of presence: against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domain import PRESENCE, Scale
from discreet.predict import CosinePredictor
from discreet.release import Release
from predict._worlds import HEAD, STARS, D, Floats, bias_of, crowd, pair_release, person
from predict.battery import PredictorBattery


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


def slow_cosine(release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
    like = slow_similarities(release)[:, items]
    M = release.parameters["global_mean"] + release.arrays["item_effects"].astype(float)
    b = bias_of(release, items, values)
    return np.asarray(M + b + like @ (values - M[items] - b) / (np.abs(like).sum(axis=1) + 2))


class TestCosine(PredictorBattery):
    name = "cosine"

    def release(self) -> Release:
        return cosine_release(3.0)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        return slow_cosine(release, items, values)


class TestCosineOfPresence(PredictorBattery):
    """The mean similarity to the own items, with popularity as one more."""

    name = "cosine"

    def release(self) -> Release:
        return cosine_release(0.5, PRESENCE)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        level = release.parameters["global_mean"] + release.arrays["item_effects"]
        like = np.maximum(slow_similarities(release)[:, items].sum(axis=1), 0)
        return np.log((like + np.exp(np.minimum(level, 0))) / (len(items) + 1))


class TestCosineWithoutPairs(TestCosine):
    """Level and bias are left."""

    def release(self) -> Release:
        return pair_release("cosine", noise=0.0)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        level = release.parameters["global_mean"] + release.arrays["item_effects"]
        return np.asarray(level + bias_of(release, items, values))


@pytest.mark.parametrize("noise", [0.0, 30.0])
def test_any_noise_is_what_the_definition_says(noise: float) -> None:
    release, people = cosine_release(noise), crowd(D, people=9, most=9)
    scores = CosinePredictor(release, order="expected").scores(people, 0, 9)
    for row in range(9):
        expected = slow_cosine(release, *person(people, row))
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)
