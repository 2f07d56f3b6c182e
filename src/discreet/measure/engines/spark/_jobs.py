"""Spark's jobs: watched from the calling thread, cancelled by Ctrl-C, failures in one line."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

import pyarrow as pa

from discreet.domain.errors import MissingPart
from discreet.measure.engines.spark._errors import safe_error, spark_errors
from discreet.measure.engines.spark._session import Session, Table, without_pandas_warning

# Seconds between looks at progress and at Ctrl-C: a person takes it for immediate.
_WAKE_SECONDS = 0.1
# Seconds that an interrupted caller waits for Spark at most; what Spark plans by then, it will not
# run. Chosen by hand.
_STOP_SECONDS = 10.0
# Rows that are fetched before they are asked for: at most 16 MiB of tiles. Chosen by hand.
_AHEAD = 16
_LOGGERS_OF_CELLS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")

_ARROW = "spark.sql.execution.arrow"
NEEDED = {
    f"{_ARROW}.maxRecordsPerBatch": "10000",
    f"{_ARROW}.maxBytesPerBatch": str(1 << 26),
    f"{_ARROW}.useLargeVarTypes": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
"""Settings of a session that sums rely on. A batch of parts or tiles has many bytes and few rows:
without a limit on bytes (64 MiB) it would not fit, neither into memory nor into Arrow. And what
folders are named after is text: `user=007` and `user=7` are two people."""

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with a stage's name, and how many of Spark's tasks are done of how many."""
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task does: from the batches of a partition to others."""


def map_in_arrow(rows: Table, work: Work, schema: str) -> Table:
    """What some work makes of each partition; nothing runs yet.

    Args:
        rows: A table.
        work: What tasks do.
        schema: Of what it makes, as Spark writes it.

    Raises:
        MissingPart: pyspark asks for pandas, of which nothing is used, and it is absent.
    """
    try:
        with without_pandas_warning():
            return rows.mapInArrow(work, schema)
    except ImportError:
        raise MissingPart.of("pyspark needs the package pandas", "spark") from None


def run_job(
    spark: Session,
    name: str,
    action: Callable[[], Result],
    progress: Progress | None = None,
) -> Result:
    """What an action returns that starts Spark's jobs and waits for them.

    Args:
        spark: The session.
        name: The stage's name, for progress and for Spark's own pages.
        action: Runs in another thread.
        progress: Called in the calling thread.

    Raises:
        InputError: Spark failed. Its own message may quote private cells, so it is not repeated.
    """
    outcome: list[Result] = []
    with _needed_settings(spark):
        job = _Job(spark, name, lambda: outcome.append(action()))
        try:
            job.start()
            while not job.ends_within(_WAKE_SECONDS):
                if progress is not None and (tasks := job.tasks())[1]:
                    progress(name, *tasks)
        except BaseException:
            job.cancel()
            raise
    job.check()
    if progress is not None:
        progress(name, 1, 1)
    return outcome[0]


def stream_rows(spark: Session, name: str, rows: Table) -> Iterator[Any]:
    """Rows that are too many to be held at once: a partition of them at a time.

    Raises:
        InputError: As above.
    """
    arrived: queue.Queue[Any] = queue.Queue(_AHEAD)
    is_left = threading.Event()

    def fetch() -> None:
        for row in rows.toLocalIterator():
            while not is_left.is_set():
                try:
                    arrived.put(row, timeout=_WAKE_SECONDS)
                    break
                except queue.Full:
                    continue
            if is_left.is_set():
                return

    with _needed_settings(spark):
        job = _Job(spark, name, fetch)
        try:
            job.start()
            while not (job.ends_within(0) and arrived.empty()):
                try:
                    row = arrived.get(timeout=_WAKE_SECONDS)
                except queue.Empty:
                    continue
                yield row
        except BaseException:
            is_left.set()
            job.cancel()
            raise
    job.check()


class _Job:
    """An action in a thread of its own, whose jobs Spark knows as one group."""

    def __init__(self, spark: Session, name: str, action: Callable[[], None]) -> None:
        _silence()
        self._context, self._group = spark.sparkContext, f"discreet-{uuid.uuid4()}"
        self._error: BaseException | None = None
        # Not `join`: a thread counts as ended once a wait for it was interrupted.
        self._ended = threading.Event()

        def work() -> None:
            try:
                self._context.setJobGroup(self._group, f"discreet: {name}", True)
                action()
            except BaseException as error:  # noqa: BLE001 - raised by the caller
                self._error = error
            finally:
                self._ended.set()

        self._thread = import_module("pyspark").InheritableThread(target=work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ends_within(self, seconds: float) -> bool:
        return self._ended.wait(seconds)

    def cancel(self) -> None:
        """Stop what runs, and whatever the thread should start from here on."""
        with suppress(OSError, *spark_errors()):  # it may have ended by itself
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(self._group)
        if self._thread.ident is not None:
            self._ended.wait(_STOP_SECONDS)

    def check(self) -> None:
        """Raise what the action raised, in words that may be shown."""
        if self._error is not None:
            raise safe_error(self._error)

    def tasks(self) -> tuple[int, int]:
        """How many tasks of the group's stages are done, and how many there are, if Spark says."""
        found: list[Any] = []
        with suppress(OSError, *spark_errors()):
            tracker = self._context.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group)]
            stages = {stage for job in jobs if job is not None for stage in job.stageIds}
            found = [info for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
        return sum(info.numCompletedTasks for info in found), sum(info.numTasks for info in found)


def _silence() -> None:
    """Keep what Spark says of a failure, cells included, off the driver's standard error."""
    logger = import_module("pyspark.logger").PySparkLogger
    for name in _LOGGERS_OF_CELLS:
        logger.getLogger(name).disabled = True


_lock = threading.Lock()
# By session: how many jobs run, and what the settings were before the first of them.
_held: dict[int, tuple[int, dict[str, str | None]]] = {}


@contextmanager
def _needed_settings(spark: Session) -> Iterator[None]:
    """Set `NEEDED`, whoever started the session, and restore it after the last concurrent job."""
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
                _restore(spark, before)


def _restore(spark: Session, before: dict[str, str | None]) -> None:
    with suppress(OSError, *spark_errors()):  # it may have been stopped meanwhile
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
