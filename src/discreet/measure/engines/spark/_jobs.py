"""Spark's jobs: watched from the calling thread, cancelled by Ctrl-C, failures in one line."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

from discreet.measure._statistic import Progress as Tell
from discreet.measure.engines.spark._errors import spark_errors, spoken
from discreet.measure.engines.spark._session import Session, Table
from discreet.measure.engines.spark._settings import needed_settings

_WAKE_SECONDS = 0.1
_STOP_SECONDS = 10.0
"""How long one who interrupts waits for Spark at most; what it plans by then it will not run."""
_AHEAD = 16
"""Rows that are fetched before they are asked for."""
_TALKATIVE = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with a stage's name, and how many of Spark's tasks are done of how many."""


def run_job(spark: Session, name: str, action: Callable[[], Result], tell: Tell | None) -> Result:
    """What an action returns; meanwhile `tell` hears how many of Spark's tasks are done.

    Args:
        spark: The session.
        name: What Spark's own pages call it.
        action: Starts Spark's jobs and waits for them.
        tell: Called in the calling thread with tasks done and tasks known so far.

    Raises:
        InputError: Spark failed. Its own message may quote private cells, so it is not repeated.
    """
    outcome: list[Result] = []
    with needed_settings(spark):
        job = _Job(spark, name, lambda: outcome.append(action()))
        try:
            job.start()
            while not job.ends_within(_WAKE_SECONDS):
                if tell is not None and (tasks := job.tasks())[1]:
                    tell(*tasks)
        except BaseException:
            job.cancel()
            raise
    job.check()
    if tell is not None:
        tell(1, 1)
    return outcome[0]


def run_stage(
    spark: Session, progress: Progress | None, name: str, action: Callable[[], Result]
) -> Result:
    """The same with a progress that is told the stage's name."""
    tell = None if progress is None else lambda done, total: progress(name, done, total)
    return run_job(spark, f"discreet: {name}", action, tell)


def stream_rows(spark: Session, name: str, rows: Table) -> Iterator[Any]:
    """Rows that are too many to be held at once: a partition of them at a time.

    Args:
        spark: The session.
        name: What Spark's own pages call it.
        rows: Where they are.

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

    with needed_settings(spark):
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
                self._context.setJobGroup(self._group, name, True)
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
            raise spoken(self._error)

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
    for name in _TALKATIVE:
        logger.getLogger(name).disabled = True
