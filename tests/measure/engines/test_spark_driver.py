"""What the driver decides and says, without Spark."""

from __future__ import annotations

import _thread
import logging
import os
import signal
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet import __version__
from discreet.domain import PRESENCE, InputError, Scale
from discreet.measure.engines.spark import _read, _session
from discreet.measure.engines.spark._errors import (
    CHANGED,
    condition_of,
    plain_path,
    safe_error,
)
from discreet.measure.engines.spark._jobs import map_in_arrow
from discreet.measure.engines.spark._session import launch_java, without_interrupt_trace
from discreet.ratings.readers import FROM_DATA, parse_scale


def table_of(size: int, cores: int) -> Any:
    """What Spark says of a table."""
    plan = SimpleNamespace(stats=lambda: SimpleNamespace(sizeInBytes=lambda: size))
    execution = SimpleNamespace(optimizedPlan=lambda: plan)
    context = SimpleNamespace(defaultParallelism=cores)
    conf = {"spark.sql.shuffle.partitions": "200"}
    return SimpleNamespace(
        _jdf=SimpleNamespace(queryExecution=lambda: execution),
        sparkSession=SimpleNamespace(sparkContext=context, conf=conf),
    )


@pytest.mark.parametrize(
    ("size", "partitions"),
    [(0, 8), (1 << 20, 8), (51_000_000_000, 760), (1 << 49, 10_000), (2**63 - 1, 200)],
)
def test_partitions_follow_the_source_and_the_cores(size: int, partitions: int) -> None:
    assert _read._partitions(table_of(size, 8), None) == partitions
    assert _read._partitions(table_of(size, 8), 3) == 3


def test_all_workers_must_have_the_same_python_and_discreet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def made(tasks: range, slots: int) -> Any:
        asked.append(slots)
        assert len(tasks) == slots
        return SimpleNamespace(mapPartitions=lambda *_: SimpleNamespace(collect=lambda: None))

    context = SimpleNamespace(defaultParallelism=3, applicationId="application-1", parallelize=made)
    session = SimpleNamespace(sparkContext=context)
    python = _read._versions_here()[0]
    answers = [{"host": f"w{n}", "python": python, "discreet": __version__} for n in range(3)]
    monkeypatch.setattr(_read, "_checked_applications", set())
    monkeypatch.setattr(_read, "run_job", lambda *_: answers)
    _read.check_workers(session)
    _read.check_workers(session)  # once for an application
    assert asked == [3]
    context.applicationId = "application-2"
    answers[2]["discreet"] = "0.0.1"
    with pytest.raises(InputError, match=r"worker on w2 has .* discreet 0\.0\.1, here are"):
        _read.check_workers(session)


def test_a_failure_is_said_without_spark_s_own_words() -> None:
    assert "install" in str(safe_error(RuntimeError("No module named 'discreet'")))
    said = str(safe_error(ValueError("user 17 rated 5")))
    assert said.startswith("Spark failed (ValueError); its log says where and why")
    assert "17" not in said
    assert str(safe_error(RuntimeError(f"a task said: {CHANGED}, user 17"))) == CHANGED
    mine = InputError("a reason")
    assert safe_error(mine) is mine
    stop = KeyboardInterrupt()
    assert safe_error(stop) is stop


class Thrown:
    """What py4j shows of an exception of Java."""

    def __init__(self, condition: str | None, cause: Thrown | None = None, **told: str) -> None:
        self.condition, self.cause, self.told = condition, cause, told

    def getCondition(self) -> str | None:  # noqa: N802 - Java's own name
        return self.condition

    def getCause(self) -> Thrown | None:  # noqa: N802
        return self.cause

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
        return self.told

    def getClass(self) -> Any:  # noqa: N802
        return SimpleNamespace(getSimpleName=lambda: "IOException")


def test_a_file_that_cannot_be_read_is_named() -> None:
    inner = Thrown("FAILED_READ_FILE.NO_HINT", path="file:///data/a%20b.parquet", cell="secret")
    error = RuntimeError("secret")
    error.java_exception = Thrown(None, inner)  # type: ignore[attr-defined]
    said = safe_error(error)
    assert isinstance(said, InputError)
    assert said.path == "/data/a b.parquet"
    assert "secret" not in str(said)
    assert condition_of(error) == "FAILED_READ_FILE.NO_HINT"
    error.java_exception = Thrown(None, Thrown(None))  # type: ignore[attr-defined]
    assert condition_of(error) == "IOException"
    assert plain_path("s3a://b/a%20b") == "s3a://b/a%20b"
    cells = Thrown("FAILED_READ_FILE.NO_HINT", path="s3a://b/user=ann/day=1/p.csv")
    error.java_exception = cells  # type: ignore[attr-defined]
    assert getattr(safe_error(error), "path", None) == "s3a://b/user=.../day=.../p.csv"


@pytest.mark.parametrize(
    ("path", "master", "reason"),
    [
        ("absent.csv", "local[2]", "no such file"),
        ("file:/absent/ratings.parquet", "spark://head:7077", "no such file"),
        ("empty.csv", "local[2]", None),
        ("absent.csv", "spark://head:7077", None),
        ("hdfs:///absent", "local[2]", None),
        ("s3a://bucket/absent", None, None),
        ("absent-*.csv", "local[2]", None),
        ("table:absent", "local[2]", None),
    ],
)
def test_files_of_this_machine_are_looked_for(
    path: str,
    master: str | None,
    reason: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    if reason is None:
        _read.check_source(path, master)
        monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
        _read.check_source("absent.csv", "local[2]")  # Hadoop may have it
        return
    with pytest.raises(InputError, match=reason) as said:
        _read.check_source(path, master)
    assert said.value.path == path


@pytest.mark.parametrize(
    ("given", "implicit", "scale"),
    [
        ((1, 5), False, Scale(1, 5)),
        ("0.5..5/0.5", False, Scale(0.5, 5, 0.5)),
        (Scale(0, 10, None), False, Scale(0, 10, None)),
        (None, True, PRESENCE),
        ("presence", False, PRESENCE),
    ],
)
def test_scales_are_given_as_everywhere(given: Any, implicit: bool, scale: Scale) -> None:
    assert parse_scale(given, implicit) == scale


@pytest.mark.parametrize(("given", "implicit"), [(None, False), ((1, 5), True), ((1,), False)])
def test_other_scales_are_refused(given: Any, implicit: bool) -> None:
    with pytest.raises(InputError, match="scale"):
        _read.read_public(given, implicit, FROM_DATA)


def test_settings_of_spark_s_own_are_respected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert not _session._is_configured()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not _session._is_configured()
    (tmp_path / "spark-defaults.conf").touch()
    assert _session._is_configured()


def test_one_machine_keeps_to_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    for master in ("local[2]", "local-cluster[2,1,1024]"):
        told = _session._defaults(master)
        assert told["spark.driver.host"] == told["spark.driver.bindAddress"] == "127.0.0.1"
        assert told["spark.ui.enabled"] == "false"
    assert "spark.driver.host" not in _session._defaults("spark://head:7077")


def test_why_java_did_not_start_is_said_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pyspark = pytest.importorskip("pyspark")

    def launch(_: object, standard_error: Any) -> None:
        with os.fdopen(os.dup(standard_error.fileno()), "wb") as java:  # an end of its own
            java.write(b"Using defaults\nError: could not create the Java Virtual Machine.\nbye")
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")

    monkeypatch.setattr(pyspark.SparkContext, "_gateway", None)
    monkeypatch.setattr(pyspark, "SparkConf", Settings)
    monkeypatch.setattr(_session, "launch_java", launch)
    with pytest.raises(InputError, match="start: Error: could not create the Java Virtual Machine"):
        _session._started(None, {})
    assert capfd.readouterr().err == ""


class Settings:
    """What `pyspark.SparkConf` is without Java."""

    def setAll(self, _: object) -> Settings:  # noqa: N802 - pyspark's own name
        return self

    def setAppName(self, _: str) -> Settings:  # noqa: N802
        return self


def test_an_interrupt_shows_no_stack(caplog: pytest.LogCaptureFixture) -> None:
    with without_interrupt_trace():
        logging.getLogger().error("KeyboardInterrupt while sending command.")
        logging.getLogger().error("another")
    assert [record.getMessage() for record in caplog.records] == ["another"]


def test_pandas_is_not_spoken_of_unless_it_is_absent() -> None:
    def warned(*_: object) -> str:
        warnings.warn("PySpark does not yet fully support pandas >= 3.0.0.", FutureWarning, 2)
        return "mapped"

    def lacking(*_: object) -> None:
        raise ImportError("[PACKAGE_NOT_INSTALLED] Pandas >= 2.2.0 must be installed")

    assert map_in_arrow(SimpleNamespace(mapInArrow=warned), iter, "x int") == "mapped"
    with pytest.raises(InputError, match="pyspark needs the package pandas"):
        map_in_arrow(SimpleNamespace(mapInArrow=lacking), iter, "x int")


def test_an_interrupt_as_java_starts_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    java_gateway = pytest.importorskip("pyspark.java_gateway")
    ended, may_start = threading.Event(), threading.Event()
    stdin = SimpleNamespace(close=ended.set)
    gateway = SimpleNamespace(shutdown=lambda: None, proc=SimpleNamespace(stdin=stdin))

    def launch(*_: object) -> Any:
        _thread.interrupt_main()
        may_start.wait(10)
        return gateway

    monkeypatch.setattr(java_gateway, "launch_gateway", launch)
    # What a shell starts in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            launch_java(None, 2)
    finally:
        signal.signal(signal.SIGINT, before)
    may_start.set()
    assert ended.wait(10)
    ended.clear()

    class Late(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            super().wait(10)
            raise KeyboardInterrupt  # when all is done, and nobody has it yet

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(java_gateway, "launch_gateway", lambda *_: gateway)
        patched.setattr("discreet.measure.engines.spark._session.threading.Event", Late)
        launch_java(None, 2)
    assert ended.is_set()
    monkeypatch.setattr(java_gateway, "launch_gateway", lambda *_: gateway)
    assert launch_java(None, 2) is gateway
    monkeypatch.setattr(java_gateway, "launch_gateway", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        launch_java(None, 2)
