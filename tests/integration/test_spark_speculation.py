"""Speculation: a copy of a task that dawdles runs elsewhere, and one of the two counts.

Spark starts a copy on another host only, so the two workers have loopback addresses of their own.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from discreet.measure._source import total
from discreet.ratings import Ratings, find_shape, make_ratings

if importlib.util.find_spec("pyspark") is None:
    pytest.skip("pyspark is absent: pip install 'discreet[spark]'", allow_module_level=True)
if shutil.which("java") is None:
    pytest.skip("java is absent: 'make system-deps' installs it", allow_module_level=True)
if not sys.platform.startswith("linux"):
    pytest.skip("only Linux has 127.0.0.2 without being asked", allow_module_level=True)

from discreet import spark as cluster
from spark._cluster import COUNTS, LIGHT, SOCKETS

pytestmark = SOCKETS

HERE, THERE = "127.0.0.1", "127.0.0.2"
SETTINGS = {
    "spark.driver.extraJavaOptions": LIGHT,
    "spark.executor.extraJavaOptions": LIGHT,
    "spark.driver.host": HERE,
    "spark.driver.bindAddress": HERE,
    "spark.ui.enabled": "false",
    "spark.executor.memory": "600m",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.2",
}


@contextmanager
def running(*arguments: str, folder: Path, host: str) -> Iterator[None]:
    """A part of a Spark cluster."""
    home = Path(importlib.util.find_spec("pyspark").origin).parent  # type: ignore[union-attr, arg-type]
    told = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": host, "SPARK_DAEMON_MEMORY": "256m"}
    told |= {"SPARK_DAEMON_JAVA_OPTS": LIGHT}
    command = [str(home / "bin" / "spark-class"), *arguments, "--host", host, "--webui-port", "0"]
    with (folder / f"{host}.log").open("ab") as log:
        child = subprocess.Popen(command, env=os.environ | told, stdout=log, stderr=log, cwd=folder)
    try:
        yield
    finally:
        child.terminate()
        child.wait(30)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port = probe.getsockname()[1]
    address, deploy = f"spark://{HERE}:{port}", "org.apache.spark.deploy"
    with ExitStack() as stack:
        told = (f"{deploy}.master.Master", "--port", str(port))
        stack.enter_context(running(*told, folder=tmp_path, host=HERE))
        for host in (HERE, THERE):
            told = (f"{deploy}.worker.Worker", address, "-c", "1", "-m", "700m")
            stack.enter_context(running(*told, folder=tmp_path, host=host))
        yield address


def test_a_task_that_runs_twice_counts_once(master: str, tmp_path: Path) -> None:
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=5_000), seed=4)
    columns = {"user": ratings.user_of_rating().astype(np.int64), "rating": ratings.values()}
    table = pa.table(columns | {"item": np.array(ratings.catalog.ids)[ratings.items]})
    marks = tmp_path / "marks"
    marks.mkdir()

    def dawdling(ratings: Ratings) -> Any:
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is not None:
            (marks / f"{task.partitionId()}-{task.attemptNumber()}").touch()
            if task.partitionId() == 0 and task.attemptNumber() == 0:
                time.sleep(60)
        return COUNTS.measure(ratings)

    with mock.patch.dict(os.environ):
        session = cluster.start_session(master, SETTINGS)
        try:
            told = {"scale": ratings.scale, "catalog": ratings.catalog, "partitions": 3}
            with cluster.read(session.createDataFrame(table), **told) as found:
                started = time.monotonic()
                summed = total(found, dawdling)
                took = time.monotonic() - started
        finally:
            session.stop()
    np.testing.assert_array_equal(summed, COUNTS.measure(ratings))
    assert {"0-0", "0-1"} < {path.name for path in marks.iterdir()}
    assert took < 55  # the copy's result was taken
