"""Settings of a session that sums rely on, whoever started it: ours while a job of ours runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from discreet.measure.engines.spark._errors import spark_errors
from discreet.measure.engines.spark._session import Session

_ARROW = "spark.sql.execution.arrow"
NEEDED = {
    f"{_ARROW}.maxRecordsPerBatch": "10000",
    f"{_ARROW}.maxBytesPerBatch": str(1 << 26),
    f"{_ARROW}.useLargeVarTypes": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
"""A batch of parts or of tiles has many bytes and few rows: without a limit on bytes it would not
fit, neither into memory nor into Arrow. And what folders are named after is text: `user=007` and
`user=7` are two people."""

_lock = threading.Lock()
_held: dict[int, tuple[int, dict[str, str | None]]] = {}
"""By session: how many jobs run, and what the settings were before the first of them."""


@contextmanager
def needed_settings(spark: Session) -> Iterator[None]:
    """What sums need is set, and set back after the last of the jobs that run at a time."""
    with _lock:
        jobs, before = _held.get(id(spark), (0, {}))
        if not jobs:
            before = {name: spark.conf.get(name, None) for name in NEEDED}
            for name, value in NEEDED.items():
                spark.conf.set(name, value)
        _held[id(spark)] = (jobs + 1, before)
    try:
        yield
    finally:
        with _lock:
            jobs, before = _held.pop(id(spark))
            if jobs > 1:
                _held[id(spark)] = (jobs - 1, before)
            else:
                _set_back(spark, before)


def _set_back(spark: Session, before: dict[str, str | None]) -> None:
    with suppress(OSError, *spark_errors()):  # it may have been stopped meanwhile
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
