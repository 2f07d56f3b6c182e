"""Clusters: a slow twin, who fits which cluster, explanations, releases with few or none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.domain import OwnRatings
from discreet.predict import ClusterPredictor, People
from discreet.release import Release
from predict._worlds import crowd
from predict.battery import PredictorBattery
from predict.test_buckets import SCALE, make


def closed(like: Release, buckets: int | None = None) -> Release:
    """The same as a release of closed clusters, with the first so many of its buckets."""
    arrays = dict(like.arrays)
    if buckets is not None:
        ends = arrays["bucket_ends"][:buckets]
        last = int(ends[-1]) if buckets else 0
        for name in ("sizes", "raters", "fakes", "fake_means", "ends"):
            arrays[f"bucket_{name}"] = arrays[f"bucket_{name}"][:buckets]
        for name in ("items", "sums", "counts"):
            arrays[f"bucket_{name}"] = arrays[f"bucket_{name}"][:last]
    return Release(
        "closed-clusters", like.scale, like.catalog, like.guarantee, like.parameters, arrays
    )


def random_clusters(seed: int = 0, d: int = 12, bits: int = 2) -> Release:
    rng = np.random.default_rng(seed)
    buckets = {
        b: {int(i): (float(rng.normal()), int(rng.integers(1, 20))) for i in range(d) if i % 4 != b}
        for b in range(1 << bits)
    }
    effects = rng.normal(size=d) / 2
    made = make(buckets, d=d, bits=bits, thin=3.0, effects=effects, fakes=2.0, fake_mean=0.1)
    raters = np.array([5, 9, 30, 6], np.int32)
    arrays = {**made.arrays, "bucket_raters": raters}
    return Release(
        "closed-clusters", made.scale, made.catalog, made.guarantee, made.parameters, arrays
    )


def slow_scores(release: Release, own: OwnRatings) -> list[float]:
    """The formulas of the docstring, written out for one person."""
    told, arrays = release.parameters, release.arrays
    everybody = arrays["item_effects"].astype(float)
    mean = own.values.mean() if len(own) else told["global_mean"]
    begin, averages, logs = 0, [], []
    for bucket, end in enumerate(arrays["bucket_ends"].tolist()):
        average = everybody.copy()
        for place in range(begin, end):
            item = int(arrays["bucket_items"][place])
            number, fakes = float(arrays["bucket_counts"][place]), arrays["bucket_fakes"][bucket]
            count = max(number - float(fakes), 0.0)
            made_up = min(number, float(fakes)) - told["fake_percent"] / 100 * count
            total = arrays["bucket_sums"][place] - arrays["bucket_fake_means"][bucket] * made_up
            average[item] = (total + told["thin"] * everybody[item]) / (count + told["thin"])
        begin = end
        averages.append(average)
        off = sum((v - mean - average[i]) ** 2 for i, v in zip(own.items, own.values, strict=True))
        logs.append(math.log(arrays["bucket_raters"][bucket]) - off / (2 * (SCALE.range / 4) ** 2))
    averages.append(everybody)
    off = sum((v - mean - everybody[i]) ** 2 for i, v in zip(own.items, own.values, strict=True))
    logs.append(-off / (2 * (SCALE.range / 4) ** 2))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    return list(mean + weights @ np.array(averages))


class TestClusters(PredictorBattery):
    name = "clusters"

    def release(self) -> Release:
        return random_clusters(7)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.array(slow_scores(release, OwnRatings(items, values)))


def test_more_people_than_fit_in_memory_at_once() -> None:
    model, people = random_clusters(3).predictor(order="expected"), crowd(12, 300, 5)
    scores = model.scores(people, 0, 300)
    rows, items = np.repeat(np.arange(300)[::-1], 12), np.tile(np.arange(12), 300)
    pairs = model.predict_pairs(people, rows, items)
    np.testing.assert_allclose(pairs, np.clip(scores[rows, items], 1, 5), atol=1e-5)


def test_whoever_rates_as_a_cluster_does_is_taken_for_one_of_it() -> None:
    likes = dict.fromkeys(range(4), (100.0, 100)) | dict.fromkeys(range(4, 8), (-100.0, 100))
    dislikes = {i: (-s, n) for i, (s, n) in likes.items()}
    release = closed(make({0: likes, 1: dislikes}, bits=2), buckets=2)
    model = release.predictor()
    assert isinstance(model, ClusterPredictor)
    one = OwnRatings(np.array([0, 1, 4], np.int32), np.array([5.0, 5.0, 2.0]))
    assert model.weights(People.one(one))[0, 0] > 0.9
    assert model.predict(one, [2])[0] > model.predict(one, [6])[0] + 1
    other = OwnRatings(one.items, 6 - one.values)
    assert model.weights(People.one(other))[0, 1] > 0.9
    alone = closed(make({0: likes}, bits=1), buckets=1).predictor()
    assert isinstance(alone, ClusterPredictor)
    assert alone.weights(People.one(other))[0].tolist() == pytest.approx([0, 1], abs=0.1)


def test_without_clusters_there_is_everybody() -> None:
    release = closed(make({}, effects=0.25, bits=1), buckets=0)
    own = OwnRatings(np.array([1], np.int32), np.array([4.0]))
    np.testing.assert_allclose(release.predictor().predict(own), [4.25] * 8)
    assert sum(a for _, a in release.predictor().explain(own, 0)) == pytest.approx(4.0 - 3.5)
    empty = closed(make({}, effects=0.25, bits=1))
    np.testing.assert_allclose(empty.predictor().predict(own), [4.25] * 8)


def test_open_clusters_can_be_used_by_fit_too() -> None:
    release = make({0: {0: (4.0, 2)}, 3: {1: (2.0, 2)}}, thin=1.0)
    assert release.predictor().name == "buckets"
    assert release.predictor("clusters").name == "clusters"
