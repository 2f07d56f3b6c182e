"""Buckets: own mean and averages by hand, back-off, explanations, and releases that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.domain import Catalog, InputError, OwnRatings, Scale
from discreet.domain.cluster_hash import ClusterHash, to_grid
from discreet.predict import BucketPredictor, People
from discreet.privacy import Guarantee, Unit
from discreet.release import Release
from predict.battery import PredictorBattery

SCALE = Scale(1, 5)
NONE = Guarantee(Unit.RATING, (), 0.0, not_private=("it is made up for a test",))


def make(
    buckets: dict[int, dict[int, tuple[float, int]]],
    *,
    d: int = 8,
    bits: int = 2,
    thin: float = 0.0,
    effects: Any = 0.0,
    fakes: float = 0.0,
    fake_mean: float = 0.0,
    arrays: dict[str, Any] | None = None,
    **told: Any,
) -> Release:
    """A release with these sums and counts by bucket and item."""
    entries = [(b, i, *one) for b, its in sorted(buckets.items()) for i, one in sorted(its.items())]
    columns = list(zip(*entries, strict=True)) if entries else [(), (), (), ()]
    per_bucket = np.bincount(np.array(columns[0], np.int64), minlength=1 << bits)
    content: dict[str, Any] = {
        "item_effects": np.broadcast_to(np.float32(effects), (d,)).copy(),
        "item_counts": np.ones(d, np.float32),
        "bucket_sizes": np.full(1 << bits, 9, np.int32),
        "bucket_raters": np.full(1 << bits, 9, np.int32),
        "bucket_fakes": np.full(1 << bits, fakes, np.float32),
        "bucket_fake_means": np.full(1 << bits, fake_mean, np.float32),
        "bucket_ends": np.cumsum(per_bucket).astype(np.int64),
        "bucket_items": np.array(columns[1], np.int32),
        "bucket_sums": np.array(columns[2], np.float32),
        "bucket_counts": np.array(columns[3], np.int32),
    }
    parameters: dict[str, Any] = {
        "global_mean": 3.5, "bits": bits, "thin": thin, "fake_percent": 100, "popular_share": 0.0,
    }  # fmt: skip
    catalog = Catalog([str(i) for i in range(d)], [f"title {i}" for i in range(d)])
    return Release(
        "open-clusters", SCALE, catalog, NONE, parameters | told, content | (arrays or {})
    )


def somebody(release: Release, bucket: int, seed: int = 0) -> OwnRatings:
    """Own ratings of four items that have this hash."""
    d = len(release.catalog)
    hash_ = ClusterHash(release.catalog, int(release.parameters["bits"]))
    rng = np.random.default_rng(seed)
    while True:
        items = np.sort(rng.choice(d, 4, replace=False)).astype(np.int32)
        values = rng.integers(1, 6, 4).astype(np.float64)
        codes = to_grid(SCALE, values)
        if len(set(codes)) > 1 and hash_.value(items, codes) == bucket:
            return OwnRatings(items, values)


class TestBuckets(PredictorBattery):
    name = "buckets"

    def release(self) -> Release:
        rng = np.random.default_rng(1)
        table = {
            b: {int(i): (float(rng.normal()), int(rng.integers(1, 9)))
                for i in np.flatnonzero(rng.random(30) < 0.5)}
            for b in range(8)
        }  # fmt: skip
        return make(table, d=30, bits=3, thin=3.0, effects=0.1, fakes=0.5)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Bucket, neighbours, everybody: each shrunk to the next, item by item."""
        parameters, arrays = release.parameters, release.arrays
        everybody = arrays["item_effects"].astype(float)
        codes = to_grid(SCALE, values)
        mean = values.mean() if len(values) else parameters["global_mean"]
        if len(set(codes.tolist())) < 2:
            return np.asarray(mean + everybody)
        bits, ends = int(parameters["bits"]), [0, *arrays["bucket_ends"].tolist()]
        own = ClusterHash(release.catalog, bits).value(items, codes)

        def shrunk(buckets: list[int], towards: np.ndarray) -> np.ndarray:
            sums, counts = np.zeros(len(towards)), np.zeros(len(towards))
            for bucket in buckets:
                for place in range(ends[bucket], ends[bucket + 1]):
                    sums[arrays["bucket_items"][place]] += arrays["bucket_sums"][place]
                    counts[arrays["bucket_items"][place]] += arrays["bucket_counts"][place]
            counts = np.maximum(counts - 0.5 * len(buckets), 0)
            return np.asarray((sums + 3.0 * towards) / (counts + 3.0))

        near = shrunk([own ^ (1 << bit) for bit in range(bits)], everybody)
        return np.asarray(mean + shrunk([own], near))


def test_own_mean_and_the_buckets_average() -> None:
    release = make({2: {0: (3.0, 4), 1: (-1.0, 1)}}, effects=0.25)
    model = release.predictor(order="expected")
    assert isinstance(model, BucketPredictor) and model.name == "buckets"
    own = somebody(release, 2)
    assert model.bucket(own) == 2
    found = model.scores(People.one(own), 0, 1)[0] - own.values.mean()
    np.testing.assert_allclose(found, [0.75, -1.0] + [0.25] * 6, atol=1e-6)
    cut = model.predict(own)
    np.testing.assert_allclose(cut, np.clip(found + own.values.mean(), 1, 5), atol=1e-6)


def buckets_of(release: Release, **options: Any) -> BucketPredictor:
    made = release.predictor(**options)
    assert isinstance(made, BucketPredictor)
    return made


def test_a_thin_bucket_falls_back_on_neighbours_and_then_on_everybody() -> None:
    # Buckets 2 and 1 differ from bucket 3 by one bit, bucket 0 by two.
    release = make(
        {0: {0: (50.0, 50), 5: (50.0, 50)}, 1: {0: (2.0, 2)}, 2: {0: (0.0, 2), 1: (1.0, 2)},
         3: {0: (-1.0, 2), 1: (2.0, 1)}},
        effects=0.125,
    )  # fmt: skip
    plain = buckets_of(release).averages(3)
    np.testing.assert_allclose(plain[:2], [-0.5, 2.0])  # the bucket's own
    np.testing.assert_allclose(buckets_of(release).averages(0)[1], 0.5)  # none: neighbours'
    np.testing.assert_allclose(plain[5], 0.125)  # none there either: everybody's
    held = buckets_of(release, thin=4.0).averages(3)
    near = (2.0 + 4 * 0.125) / (4 + 4)
    np.testing.assert_allclose(held[0], (-1.0 + 4 * near) / (2 + 4))
    np.testing.assert_allclose(held[5], 0.125)
    assert buckets_of(make({}, thin=4.0)).averages(1).tolist() == [0.0] * 8


def test_what_fakes_are_expected_to_add_is_taken_off() -> None:
    release = make({1: {0: (6.0, 9), 1: (1.0, 2)}}, fakes=3.0, thin=2.0, effects=0.5)
    found = buckets_of(release).averages(1)
    near = (0 + 2 * 0.5) / 2
    np.testing.assert_allclose(found[0], (6 + 2 * near) / (6 + 2))
    np.testing.assert_allclose(found[1], (1 + 2 * near) / (0 + 2))
    # Three fakes at -0.4 put -1.2 there; the true ones are each 0.4 too high for it.
    shifted = buckets_of(make({1: {0: (6.0, 9)}}, fakes=3.0, fake_mean=-0.4)).averages(1)
    np.testing.assert_allclose(shifted[0], (6 + 1.2 - 6 * 0.4) / 6, rtol=1e-6)
    popular = buckets_of(make({1: {0: (6.0, 9)}}, popular_share=2 / 3)).averages(1)
    np.testing.assert_allclose(popular[0], 6 / 3)


def test_somebody_whose_ratings_say_nothing_gets_everybodys_average() -> None:
    release = make({b: {0: (9.0, 9)} for b in range(4)}, effects=0.25)
    model = buckets_of(release)
    np.testing.assert_allclose(model.predict({}), 3.75)
    same = model.read({"title 1": 2, "title 4": 2})
    assert model.bucket(same) is None
    np.testing.assert_allclose(model.predict(same), 2.25)


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"bits": 3, "arrays": {"bucket_ends": np.zeros(4, np.int64)}}, "length"),
        ({"popular_share": 1.0}, "popular_share"),
        ({"arrays": {"bucket_ends": np.array([2, 0, 2, 2])}}, "do not fit"),
        ({"arrays": {"bucket_ends": np.array([0, 0, 0, 0])}}, "do not fit"),
        ({"arrays": {"bucket_items": np.array([1, 8], np.int32)}}, "do not fit"),
        ({"hash": "minhash"}, "orthogonal, lsh"),
    ],
)
def test_releases_that_do_not_fit_are_refused(told: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make({1: {0: (1.0, 1), 1: (1.0, 1)}}, **told).predictor()


@pytest.mark.parametrize("bits", [3, 1.5, 40, 1e300])
def test_bits_that_do_not_fit_the_buckets_are_refused(bits: float) -> None:
    release = make({1: {0: (1.0, 1)}})
    wrong = Release(
        release.method, SCALE, release.catalog, NONE, dict(release.parameters) | {"bits": bits},
        dict(release.arrays),
    )  # fmt: skip
    with pytest.raises(InputError, match="do not fit a hash"):
        wrong.predictor()


def test_thin_has_to_make_sense() -> None:
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="thin is 0 or above"):
            make({}).predictor(thin=wrong)
