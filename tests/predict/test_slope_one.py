"""Slope One: against a slow twin, and by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import pytest

from discreet.predict import SlopeOnePredictor
from discreet.release import Release
from predict._worlds import HEAD, D, Floats, bias_of, crowd, pair_release, person
from predict.battery import PredictorBattery


def slope_one_release(noise: float) -> Release:
    rng = np.random.default_rng(2)
    N = rng.uniform(5, 60, (8, 8))
    N = (N + N.T) / 2 + noise * rng.normal(size=(8, 8))
    D_ = rng.normal(0, 0.5, (8, 8)) * N
    return pair_release(
        "slope-one", noise=noise, differences=np.triu(D_, 1), pair_weights=np.triu(N, 1)
    )


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


class TestSlopeOne(PredictorBattery):
    name = "slope-one"

    def release(self) -> Release:
        return slope_one_release(3.0)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        return slow_slope_one(release, items, values)


class TestSlopeOneWithoutPairs(TestSlopeOne):
    """Level and bias are left."""

    def release(self) -> Release:
        return pair_release("slope-one", noise=0.0)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        level = release.parameters["global_mean"] + release.arrays["item_effects"]
        return np.asarray(level + bias_of(release, items, values))


@pytest.mark.parametrize("noise", [0.0, 30.0])
def test_slope_one_is_what_the_definition_says(noise: float) -> None:
    release, people = slope_one_release(noise), crowd(D, people=9, most=9)
    model = SlopeOnePredictor(release, order="expected")
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
