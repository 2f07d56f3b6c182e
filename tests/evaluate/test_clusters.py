"""Open clusters simulated: what uploads hold, and that predictions beat the own mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet.predict  # noqa: F401
from discreet.evaluate import people_of, rmse
from discreet.evaluate._clusters import simulated_uploads
from discreet.protocols.clusters_common.server import report
from discreet.protocols.open_clusters.messages import Collection
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.ratings import Split, read_ratings, split_random


@pytest.fixture(scope="module")
def split(data_folder: Path) -> Split:
    if not (data_folder / "ml-100k").is_dir():
        pytest.skip("ml-100k is absent")
    return split_random(read_ratings(data_folder / "ml-100k"), 0.1, seed=1)


def error(split: Split, collection: Collection, **told: object) -> float:
    uploads = simulated_uploads(split.train, collection)
    model = OpenClusters(collection).build(uploads, **told).predictor()  # type: ignore[arg-type]
    rows = split.test.user_of_rating()
    found = model.predict_pairs(people_of(split.train), rows, split.test.items)
    return rmse(found, split.test.values())


def test_uploads_are_what_clients_would_send(split: Split) -> None:
    told = Collection(split.train.catalog, split.train.scale)
    uploads = list(simulated_uploads(split.train, told))
    assert len(uploads) == np.count_nonzero(np.diff(split.train.starts))
    first = split.train.items[: split.train.starts[1]]
    assert np.isin(first, uploads[0].items).all()
    assert len(uploads[0].items) == max(80, 2 * len(first))
    for upload in uploads[:20]:
        assert OpenClusters(told).read(upload.as_json()).hash == upload.hash
    found = report(OpenClusters(told).build(uploads))
    assert found.people == len(uploads) and found.obfuscated == len(uploads)
    assert "not differential privacy" in found.sentences()[0]


def test_predictions_beat_the_own_mean_and_allowing_for_fakes_helps(split: Split) -> None:
    told = Collection(split.train.catalog, split.train.scale, fake_percent=200)
    values, users = split.train.values(), split.train.user_of_rating()
    means = np.bincount(users, values) / np.maximum(np.bincount(users), 1)
    own = rmse(means[split.test.user_of_rating()], split.test.values())
    ours = error(split, told)
    assert ours < 0.99 < own  # 0.985 and 1.051; 0.977 and 1.038 on the split of seed 3
    assert ours < error(split, told, allow_for_fakes=False) - 0.005
