"""A Spark session that works by itself: Java, Python on the workers, the loopback."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.measure.engines.spark._java import check_java
from discreet.measure.engines.spark._launch import interruptible, launch_java
from discreet.measure.engines.spark._quiet import (
    reason_in,
    without_interrupt_trace,
    without_pandas_warning,
)

Session = Any
"""A `pyspark.sql.SparkSession`: pyspark is optional, so nothing here names its types."""
Table = Any
"""A `pyspark.sql.DataFrame`."""

_HERE = "127.0.0.1"
_GATEWAY = "PYSPARK_GATEWAY_PORT"
_MASTER = "spark.master"


def start_session(master: str | None = None, config: dict[str, str] | None = None) -> Session:
    """The session that is running, or a new one.

    Args:
        master: Spark's master, like `local[4]` or `spark://host:7077`; if not told, what Spark's
            own configuration says, or all cores of this machine.
        config: Spark's own settings.

    Raises:
        InputError: There is no pyspark, no Java that is new enough, Spark does not start, or a
            session is running with another master or other settings.
    """
    sql, told = _pyspark_sql(), dict(config or {})
    if master is not None:
        told[_MASTER] = master
    if is_running():
        with without_pandas_warning():
            running = sql.SparkSession.builder.getOrCreate()
        _check_told(running, told)
        return running
    if _GATEWAY not in os.environ:
        check_java()
    if runs_here(told.get(_MASTER)):
        told.setdefault(_MASTER, "local[*]")
    _find_python()
    return _started(sql, _defaults(told.get(_MASTER)) | told)


@contextmanager
def session_for_now(master: str | None = None) -> Iterator[Session]:
    """As `start_session`; a session that was not running before is stopped in the end."""
    _pyspark_sql()
    was_running = is_running()

    def end(session: Session) -> None:
        if not was_running:
            session.stop()

    with without_interrupt_trace():
        # In another thread, so that pyspark does not answer to Ctrl-C: it would speak to Java in
        # the middle of another word to it, and jobs of ours are cancelled without it.
        session = interruptible(lambda: start_session(master), end)
        try:
            yield session
        finally:
            end(session)


def is_running() -> bool:
    """Whether this process has a session, or at least Spark's context; pyspark is there."""
    return import_module("pyspark").SparkContext._active_spark_context is not None


def runs_here(master: str | None) -> bool:
    """Whether a new session would run on this machine alone: told so, or not told otherwise."""
    return not _is_configured() if master is None else master.startswith("local")


def _check_told(running: Session, told: dict[str, str]) -> None:
    """Refuse what a running session cannot take over; its values may be secrets."""
    context = running.sparkContext
    for name, value in told.items():
        is_now = running.conf.get(name, context.getConf().get(name))
        # To the options of Java Spark adds its own.
        if is_now != value and not (name.endswith("JavaOptions") and value in (is_now or "")):
            what = f"master {context.master}" if name == _MASTER else f"another {name}"
            raise InputError(
                f"a Spark session with {what} is running already: leave master and config out to "
                "use it, or stop it first"
            )


def _started(sql: Any, settings: dict[str, str]) -> Session:
    pyspark = import_module("pyspark")
    conf = pyspark.SparkConf().setAll(list(settings.items())).setAppName("discreet")
    # Java's standard error, and that of workers which it starts, may quote cells: it stays in a
    # file without a name, which nobody reads unless Spark does not start.
    with tempfile.TemporaryFile() as said:
        try:
            gateway = pyspark.SparkContext._gateway
            if gateway is None:
                gateway = launch_java(conf, said)
            with without_pandas_warning():
                context = pyspark.SparkContext(conf=conf, gateway=gateway)
                found = sql.SparkSession.builder.getOrCreate()
            # So may its own log; a session of somebody else's stays as it is.
            context.setLogLevel("OFF")
        except Exception as error:
            reason = _reason(error)
            reason = reason_in(said) if "JAVA_GATEWAY_EXITED" in reason else reason
            raise InputError(f"Spark does not start: {reason}") from error
    return found


def _reason(error: Exception) -> str:
    """Why Spark does not start: what Java says of it, or else Python."""
    thrown = getattr(error, "java_exception", None)
    told = str(error) if thrown is None else str(thrown.getMessage())
    return told.strip().partition("\n")[0]


def _pyspark_sql() -> Any:
    try:
        return import_module("pyspark.sql")
    except ImportError:
        raise InputError("Spark needs the package pyspark: pip install 'discreet[spark]'") from None


def _find_python() -> None:
    """Workers run this very Python, unless somebody said otherwise; and Spark lies in pyspark."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    home = str(Path(str(import_module("pyspark").__file__)).parent)
    os.environ.setdefault("SPARK_HOME", home)


def _is_configured() -> bool:
    """Whether somebody else says where Spark runs: spark-submit, or a file of settings."""
    if {_GATEWAY, "PYSPARK_SUBMIT_ARGS"} & os.environ.keys():
        return True
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and str(Path(home, "conf")))
    return bool(folder) and Path(str(folder), "spark-defaults.conf").is_file()


def _defaults(master: str | None) -> dict[str, str]:
    """Our own progress in place of Spark's; on one machine everything stays on the loopback."""
    given = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    if master is None or not master.startswith("local"):
        return given
    os.environ.setdefault("SPARK_LOCAL_IP", _HERE)
    given |= {"spark.driver.host": _HERE, "spark.driver.bindAddress": _HERE}
    return given | {"spark.ui.enabled": "false"}
