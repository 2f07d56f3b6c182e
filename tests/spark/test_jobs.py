"""Jobs on the cluster: what they cost and when, how they stop, and whose settings they have."""

from __future__ import annotations

import _thread
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded
from discreet.measure._source import total
from discreet.measure.engines.spark import _ratings
from discreet.measure.engines.spark._jobs import NEEDED, map_in_arrow, run_job, stream_rows
from discreet.measure.engines.spark._parts import _FACTS
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings
from spark._cluster import COUNTS, SETTINGS, SOCKETS, dawdle, dawdle_later, frame_of

pytestmark = SOCKETS


def active_jobs(session: Any) -> list[int]:
    """What still runs after a minute: Spark takes note of a cancelled job a little later."""
    for _ in range(600):
        found = session.sparkContext.statusTracker().getActiveJobsIds()
        if not found:
            break
        time.sleep(0.1)
    return list(found)


def test_the_ledger_is_charged_before_a_task_reads_the_table(
    session: Any, stars: Ratings, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 1.0, 1e-6)])
    charged: list[int] = []
    stages: set[str] = set()
    told: dict[str, Any] = {
        "scale": stars.scale,
        "catalog": stars.catalog,
        "ledger": ledger,
        "partitions": 2,
    }
    table = frame_of(session, stars)

    def progress(name: str, done: int, of: int) -> None:
        assert 0 <= done <= of
        stages.add(name)
        charged.append(len(ledger.history()))

    told |= {"progress": progress, "rank": 0, "list_rank": 0, "epsilon": 0.9}
    release = cluster.fit(table, **told)
    assert release.guarantee.is_private
    assert set(charged) == {1}
    assert stages == {"reading", "item sums"}
    before = len(charged)
    with pytest.raises(BudgetExceeded):
        cluster.fit(table, **told)
    assert len(charged) == before


def test_only_sums_over_everybody_reach_the_driver(
    session: Any, stars: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: dict[str, list[Any]] = {}

    def run(spark: Any, name: str, action: Any, progress: Any = None) -> Any:
        arrived[name] = run_job(spark, name, action, progress)
        return arrived[name]

    monkeypatch.setattr(_ratings, "run_job", run)
    told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 3}
    with cluster.read(frame_of(session, stars), **told) as found:
        np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(stars))
    facts = arrived["reading"]
    assert {name for row in facts for name in row} == {*_FACTS, "error"}
    assert sum(row["users"] for row in facts) == stars.user_count
    assert sum(row["ratings"] for row in facts) == len(stars)
    keys = [(r["leaf"], r["tile"]) for batch in arrived["item sums"] for r in batch.to_pylist()]
    assert len(keys) == len(set(keys)) > 0


def test_what_the_executors_keep_is_let_go_of(session: Any, stars: Ratings) -> None:
    told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
    with cluster.read(frame_of(session, stars), **told) as found:
        assert found._parts.getStorageLevel().useMemory
    assert not found._parts.getStorageLevel().useMemory


def test_who_waits_may_stop_waiting(session: Any) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    rows = map_in_arrow(session.range(2, numPartitions=2), dawdle, "id long")
    with pytest.raises(KeyboardInterrupt):
        run_job(session, "a test", rows.collect, interrupt)
    assert active_jobs(session) == []
    assert run_job(session, "a test", session.range(3).count) == 3


def test_an_interrupt_before_spark_has_the_job_stops_it_all_the_same(session: Any) -> None:
    rows = map_in_arrow(session.range(2, numPartitions=2), dawdle, "id long")
    reached = threading.Event()

    def plan_first() -> Any:
        _thread.interrupt_main()
        time.sleep(1)
        reached.set()
        return rows.collect()

    with pytest.raises(KeyboardInterrupt):
        run_job(session, "a test", plan_first)
    assert reached.is_set()
    assert active_jobs(session) == []


def test_rows_that_come_one_by_one_may_be_interrupted(session: Any) -> None:
    rows = map_in_arrow(session.range(2, numPartitions=2), dawdle_later, "id long")
    stream = stream_rows(session, "a test", rows)
    assert next(stream)["id"] == 0
    interrupt = threading.Timer(0.5, _thread.interrupt_main)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert active_jobs(session) == []


def test_failures_among_them_show_no_cells(session: Any) -> None:
    rows = session.range(0, 40, 1, 4).selectExpr("if(id = 35, raise_error('secret'), id) id")
    stream = stream_rows(session, "a test", rows)
    assert next(stream)["id"] == 0
    with pytest.raises(InputError, match="Spark failed") as said:
        list(stream)
    assert "secret" not in str(said.value)
    assert len(list(stream_rows(session, "a test", session.range(100)))) == 100


def test_settings_of_a_session_that_would_not_do_are_ours_for_the_time(
    session: Any, stars: Ratings
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    theirs = dict(zip(NEEDED, ("0", str(2**31 - 2), "true", "true"), strict=True))
    before = {name: session.conf.get(name, None) for name in NEEDED}
    table = frame_of(session, stars)
    try:
        for name, value in theirs.items():
            session.conf.set(name, value)
        during = run_job(session, "a test", lambda: [session.conf.get(n) for n in NEEDED])
        assert during == list(NEEDED.values())
        told: dict[str, Any] = {"scale": stars.scale, "catalog": stars.catalog, "partitions": 2}
        with cluster.read(table, **told) as found:
            np.testing.assert_array_equal(total(found, COUNTS.measure), COUNTS.measure(stars))
        with pytest.raises(ZeroDivisionError):
            run_job(session, "a test", lambda: None, fails)
        assert {name: session.conf.get(name) for name in NEEDED} == theirs
    finally:
        for name, was in before.items():
            session.conf.set(name, was) if was is not None else session.conf.unset(name)


def test_a_running_session_takes_no_other_settings(session: Any) -> None:
    master = session.sparkContext.master
    for told in ({}, {"master": master}, {"master": master, "config": SETTINGS}):
        assert cluster.start_session(**told).sparkContext is session.sparkContext
    with pytest.raises(InputError, match=r"with master spark://.* is running already"):
        cluster.start_session("local[3]")
    with pytest.raises(InputError, match=r"another spark\.executor\.memory is running") as said:
        cluster.start_session(config={"spark.executor.memory": "77g"})
    assert "77g" not in str(said.value)
