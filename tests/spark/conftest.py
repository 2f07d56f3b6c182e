"""One cluster for all tests in this folder, and ratings on it."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.domain import PRESENCE
from discreet.ratings import Ratings, find_shape, make_ratings
from spark import _cluster


@pytest.fixture(scope="package", autouse=True)
def installed() -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is absent: pip install '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip("java is absent: 'make system-deps' installs it")


@pytest.fixture(scope="package")
def session(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with (
        mock.patch.dict(os.environ, SPARK_LOCAL_IP=_cluster.HERE),
        _cluster.running(tmp_path_factory.mktemp("cluster")) as master,
    ):
        found = cluster.start_session(master, _cluster.SETTINGS)
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(_cluster)
        yield found
        found.stop()
        gc.collect()  # what is left of its sockets


@pytest.fixture(scope="package")
def stars() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=12_000), seed=4)


@pytest.fixture(scope="package")
def clicks(stars: Ratings) -> Ratings:
    return replace(stars, scale=PRESENCE, codes=PRESENCE.encode(np.ones(len(stars))))


@pytest.fixture(scope="package")
def on_stars(session: Any, stars: Ratings) -> Iterator[cluster.SparkRatings]:
    told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 3}
    with cluster.read(_cluster.frame_of(session, stars), **told) as found:
        yield found


@pytest.fixture(scope="package")
def on_clicks(session: Any, clicks: Ratings) -> Iterator[cluster.SparkRatings]:
    told: dict[str, Any] = {"implicit": True, "catalog": clicks.catalog, "partitions": 2}
    with cluster.read(_cluster.frame_of(session, clicks), **told) as found:
        yield found
