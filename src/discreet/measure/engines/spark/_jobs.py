"""Spark's jobs: watched from the calling thread, cancelled by Ctrl-C, failures in one line."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from discreet.domain import InputError
from discreet.measure._everybody import Tell
from discreet.measure.engines.spark._session import Session, condition_of

_WAKE_SECONDS = 0.1
_TALKATIVE = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")

Result = TypeVar("Result")


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
    _silence()
    context, group = spark.sparkContext, f"discreet-{uuid.uuid4()}"
    outcome: list[Result | BaseException] = []

    def work() -> None:
        try:
            context.setJobGroup(group, name, True)
            outcome.append(action())
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            outcome.append(error)

    thread = import_module("pyspark").InheritableThread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_WAKE_SECONDS)
            if tell is not None and (tasks := _tasks(context, group))[1]:
                tell(*tasks)
    except BaseException:
        context.cancelJobGroup(group)
        thread.join()
        raise
    if isinstance(outcome[0], BaseException):
        raise spoken(outcome[0])
    if tell is not None:
        tell(1, 1)
    return outcome[0]


def _silence() -> None:
    """Keep what Spark says of a failure, cells included, off the driver's standard error."""
    logger = import_module("pyspark.logger").PySparkLogger
    for name in _TALKATIVE:
        logger.getLogger(name).disabled = True


def _tasks(context: Any, group: str) -> tuple[int, int]:
    """How many tasks of the group's stages are done, and how many there are."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    found = [info for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
    return sum(info.numCompletedTasks for info in found), sum(info.numTasks for info in found)


def spoken(error: BaseException) -> BaseException:
    """An error that may be shown: Spark's own in other words."""
    if isinstance(error, InputError) or not isinstance(error, Exception):
        return error
    if "No module named" in str(error):
        return InputError(
            "the Python of Spark's workers lacks discreet or what it needs: install "
            "'discreet[spark]' there, or send an environment along with spark.archives"
        )
    said = InputError(f"Spark failed ({condition_of(error)}); its log says where and why")
    said.__suppress_context__ = True
    return said
