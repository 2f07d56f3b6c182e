"""Speculation: a copy of a task that is slow runs elsewhere, and one of the two counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.measure._source import total
from discreet.ratings import Ratings
from spark._cluster import COUNTS, HERE, SOCKETS, THERE

pytestmark = SOCKETS


@contextmanager
def eager(session: Any) -> Iterator[None]:
    """Spark copies a task once half of the others are done and it takes a little longer."""
    conf = session.sparkContext._jsc.sc().conf()
    eagerness = {"spark.speculation.quantile": "0.5", "spark.speculation.multiplier": "1.2"}
    for name, value in eagerness.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in eagerness:
            conf.remove(name)


@pytest.mark.skipif(HERE == THERE, reason="only Linux has 127.0.0.2 without being asked")
def test_a_task_that_runs_twice_counts_once(
    session: Any, stars: Ratings, on_stars: cluster.SparkRatings, tmp_path: Path
) -> None:
    def slow_at_first(ratings: Ratings) -> Any:
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is not None:
            (tmp_path / f"{task.partitionId()}-{task.attemptNumber()}").touch()
            if task.partitionId() == 0 and task.attemptNumber() == 0:
                time.sleep(600)  # longer than a test may take: the copy's result is taken
        return COUNTS.measure(ratings)

    on_stars.survey()
    with eager(session):
        summed = total(on_stars, slow_at_first)
    np.testing.assert_array_equal(summed, COUNTS.measure(stars))
    assert {"0-0", "0-1"} < {path.name for path in tmp_path.iterdir()}
