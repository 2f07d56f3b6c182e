"""The posterior mean: `svd` and `posterior`."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.predict import SvdPredictor
from discreet.release import Release
from predict._reference import Slow
from predict._worlds import crowd
from predict.battery import PredictorBattery
from release._making import make_release, random_release


class TestSvd(PredictorBattery):
    name = "svd"

    def release(self) -> Release:
        return random_release(d=30, k=5, seed=5)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        return Slow(release).svd(items, values)


class TestPosterior(TestSvd):
    """The same formula by its other name."""

    name = "posterior"


@pytest.mark.parametrize("k", [0, 1, 8, 20])
def test_any_rank_is_the_conditional_mean(k: int) -> None:
    release, people = random_release(d=60, k=k, seed=k), crowd(60, people=12, most=35)
    scores = SvdPredictor(release, order="expected").scores(people, 0, len(people))
    for row in range(len(people)):
        expected = Slow(release).svd(people[row].items, people[row].values)
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)


def test_without_user_variance_there_is_no_bias() -> None:
    release = make_release(np.zeros((3, 1)), user_variance=0)
    np.testing.assert_allclose(release.predictor("svd").predict({"0": 5.0}), 3.0)
    np.testing.assert_allclose(release.predictor("knn").predict({"0": 5.0}), 3.0, atol=1e-9)
