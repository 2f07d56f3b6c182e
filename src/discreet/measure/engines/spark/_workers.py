"""Whether the workers can run discreet: asked before anything is charged or read."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pyarrow as pa

from discreet import __version__
from discreet.domain import InputError
from discreet.measure.engines.spark._jobs import run_job
from discreet.measure.engines.spark._session import Session


def check_workers(spark: Session) -> None:
    """Import discreet in a task; reads no data.

    Raises:
        InputError: It is absent there, or another version, or another Python.
    """
    rows = spark.range(1, numPartitions=1).mapInArrow(_versions, "python string, discreet string")
    (found,) = run_job(spark, "discreet: workers", rows.collect, None)
    here = _here()
    if (found["python"], found["discreet"]) != here:
        raise InputError(
            f"Spark's workers have Python {found['python']} with discreet {found['discreet']}, "
            f"here are Python {here[0]} with discreet {here[1]}; they must be the same"
        )


def _here() -> tuple[str, str]:
    return platform.python_version().rpartition(".")[0], __version__


def _versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        python, discreet = _here()
        yield pa.RecordBatch.from_pydict({"python": [python], "discreet": [discreet]})
