"""The cluster, what is compared, and how an executor dies."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import spark as cluster
from discreet.domain import Catalog, InputError
from discreet.measure import ItemCounts
from discreet.measure._source import HeadEntries
from discreet.measure.engines.spark import _session
from discreet.measure.engines.spark._sums import add_tiles
from discreet.measure.pairs import CosinePairs
from discreet.methods import record_fit
from discreet.privacy import Noise, SeededRandomness, Unit
from discreet.ratings import Ratings

HERE = "127.0.0.1"
# Spark runs a copy of a slow task on another host only, and only Linux has this one by itself.
THERE = "127.0.0.2" if sys.platform.startswith("linux") else HERE
# Java that runs for a minute is better not compiled at length, nor are its classes verified.
LIGHT = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
SETTINGS = {
    "spark.driver.host": HERE,
    "spark.driver.bindAddress": HERE,
    "spark.driver.extraJavaOptions": LIGHT,
    "spark.executor.extraJavaOptions": LIGHT,
    "spark.executor.memory": "600m",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    "spark.log.level": "OFF",
    "spark.speculation": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
FILMS: dict[str, Any] = {"scale": (1, 5), "catalog": Catalog(["7", "8", "9"])}
COUNTS = ItemCounts(Unit.USER, Noise.GAUSSIAN)
SOCKETS = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Those of py4j, which it leaves to be collected."""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The master of a cluster of two workers with a core each, whose executors are processes.

    As with Spark's `local-cluster`, master and workers run in the driver's Java, but the workers
    have different addresses.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    _session._find_python()
    with (folder / "java.log").open("wb") as log:
        java = launch_gateway(SparkConf().setAll(list(SETTINGS.items())), {"stderr": log})
    SparkContext._ensure_initialized(gateway=java)
    spark = java.jvm.org.apache.spark
    conf = spark.SparkConf().set("spark.master.rest.enabled", "false")
    master = spark.deploy.master.Master.startRpcEnvAndEndpoint(HERE, 0, 0, conf)._1()
    address = f"spark://{HERE}:{master.address().port()}"
    addresses = java.new_array(java.jvm.String, 1)
    addresses[0] = address
    some, none = java.jvm.scala.Some, java.jvm.scala.Option.empty()
    cores, mebibytes = 1, 700
    workers = [
        spark.deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, cores, mebibytes, addresses, str(folder), some(number), conf, none
        )
        for number, host in enumerate((HERE, THERE))
    ]
    try:
        yield address
    finally:
        for part in (*workers, master):
            part.shutdown()


def refused(session: Any, source: Path, **told: Any) -> InputError:
    """What is said of a source whose rows are all looked at."""
    with pytest.raises(InputError) as said:
        table = cluster.open_table(session, source)
        with cluster.read(table, partitions=2, **(FILMS | told)) as on:
            on.survey()
    assert "\n" not in str(said.value)
    return said.value


def frame_of(session: Any, ratings: Ratings) -> Any:
    """One row a rating, users mixed."""
    rows = np.random.default_rng(8).permutation(len(ratings))
    items = np.array(ratings.catalog.ids).astype(np.int64)[ratings.items]
    columns: dict[str, Any] = {
        "user": ratings.user_of_rating().astype(np.int64)[rows],
        "item": items[rows],
    }
    if not ratings.scale.presence:
        columns["rating"] = ratings.values()[rows]
    if ratings.times is not None:
        columns["time"] = ratings.times.astype(np.int64)[rows]
    return session.createDataFrame(pa.table(columns))


def assert_same_integers(local: Any, elsewhere: Any, **told: Any) -> list[str]:
    """All that two fits measure, before noise, and all that they publish; returns the labels.

    With a budget that shows all that a method can measure of few people's ratings.
    """
    told = {"epsilon": 400.0} | told
    if told["method"] != "lists":
        told["taste_share"] = 0.5
    whole, summed = (
        record_fit(each, randomness=SeededRandomness(1), **told) for each in (local, elsewhere)
    )
    labels = [s.label for s in whole.spoken]
    assert labels == [s.label for s in summed.spoken]
    for one, other in zip(whole.spoken, summed.spoken, strict=True):
        assert one.exact.any()
        np.testing.assert_array_equal(one.exact, other.exact, one.label)
    assert_same_release(whole.release, summed.release)
    return labels


def assert_same_release(one: Any, other: Any) -> None:
    assert one.parameters == other.parameters
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], name)


def sum_of_ratings(ratings: Ratings) -> Any:
    values = ratings.values()
    return np.bincount(ratings.items, values, len(ratings.catalog)).astype(np.int64)


def people(ratings: Ratings) -> Any:
    """How many people have how many ratings: other people, other numbers."""
    return np.bincount(np.minimum(np.diff(ratings.starts), 19), minlength=20)


def first_to(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def executor() -> int:
    """The process of a task's executor: Python's parent is a daemon, whose parent it is."""
    stat = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    return int(stat[1])


def die() -> None:
    """Take the whole executor along."""
    os.kill(executor(), signal.SIGKILL)
    time.sleep(60)


@dataclass
class Dying:
    """A statistic whose task kills its executor, once; what else happens is left in marks.

    Attributes:
        statistic: What is summed.
        folder: Of the marks.
        sittings: How many there are.
        late: In the second sitting of an executor that has done another partition before, so that
            what it summed of that one is lost; otherwise before anything is summed.
    """

    statistic: CosinePairs
    folder: Path
    sittings: int
    late: bool
    sitting: int = 0

    @property
    def head(self) -> Any:
        return self.statistic.head

    triangle_count = 1

    def entries(self, ratings: Ratings) -> HeadEntries:
        (self.folder / f"begun-{partition()}-{uuid.uuid4()}").touch()
        if not self.late and first_to(self.folder / "died"):
            die()
        return self.statistic.entries(ratings)

    def sum_pairs(self, entries: HeadEntries, progress: Any = None) -> Any:
        self.sitting += 1
        done = f"done-{executor()}-"
        if self.sitting == self.sittings:
            (self.folder / f"{done}{partition()}").touch()
        elif self.sitting == 2 and self.late and list(self.folder.glob(f"{done}*")):
            lost = next(self.folder.glob(f"{done}*")).name.rpartition("-")[2]
            if first_to(self.folder / "died"):
                (self.folder / "died").write_text(lost)
                die()
        return self.statistic.sum_pairs(entries, progress)


@dataclass(frozen=True)
class DyingAdder:
    """Adds tiles, and kills its executor once, when some of them are read."""

    mark: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(batches, None)
        if first is None:
            return
        if first_to(self.mark):
            die()
        yield from add_tiles(itertools.chain([first], batches))


def partition() -> int:
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())


def dawdle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Would take longer than a test may."""
    time.sleep(600)
    yield from batches


def dawdle_later(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, but for the first partition."""
    yield from dawdle(batches) if partition() else batches
