"""On real ratings: reports alone, and people's own ratings at home, beat what needs no reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.evaluate import Judge, people_of, user_mean
from discreet.privacy import SeededRandomness
from discreet.protocols.local_reports.messages import Collection
from discreet.protocols.local_reports.server import LocalReports
from discreet.ratings import read_ratings, split_random
from protocols.local_reports._making import MECHANISMS, send_all


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_movielens_100k(data_folder: Path, mechanism: Any) -> None:
    folder = data_folder / "ml-100k"
    if not folder.is_dir():
        pytest.skip("ml-100k is absent")
    split = split_random(read_ratings(folder), 0.1, seed=1)
    judge, train = Judge(split, people=500), split.train
    alone = judge.judge(user_mean(train)).rmse
    found = []
    for epsilon in (0.2, 4.0, 12.0):
        collection = Collection(train.catalog, train.scale, mechanism, epsilon)
        reports = send_all(collection, people_of(train), SeededRandomness(f"real {epsilon}"))
        found.append(judge.judge(LocalReports(collection).build(reports).predictor()).rmse)
    assert found[0] < alone + 0.01  # noise drowns everything, and does no harm
    assert found[1] < alone - 0.04
    assert found[2] < alone - 0.08
