"""Whether the workers can run discreet: asked before anything is charged or read."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pyarrow as pa

from discreet import __version__
from discreet.domain import InputError
from discreet.measure.engines.spark._arrow import map_in_arrow
from discreet.measure.engines.spark._jobs import run_job
from discreet.measure.engines.spark._session import Session

_ANSWER = "host string, python string, discreet string"


def check_workers(spark: Session) -> None:
    """Import discreet in as many tasks as run at a time, so on every worker; reads no data.

    Workers that come later are asked by the tasks that they run.

    Raises:
        InputError: It is absent there, or another version, or another Python.
    """
    slots = max(int(spark.sparkContext.defaultParallelism), 1)
    rows = map_in_arrow(spark.range(slots, numPartitions=slots), _versions, _ANSWER)
    here = _here()
    for found in run_job(spark, "discreet: workers", rows.collect, None):
        if (found["python"], found["discreet"]) != here:
            raise InputError(
                f"Spark's worker on {found['host']} has Python {found['python']} with discreet "
                f"{found['discreet']}, here are Python {here[0]} with discreet {here[1]}; they "
                "must be the same"
            )


def _here() -> tuple[str, str]:
    return platform.python_version().rpartition(".")[0], __version__


def _versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        python, discreet = _here()
        answer = {"host": [platform.node()], "python": [python], "discreet": [discreet]}
        yield pa.RecordBatch.from_pydict(answer)
