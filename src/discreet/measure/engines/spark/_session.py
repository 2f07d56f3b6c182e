"""A Spark session that works by itself: Python on the workers, Java, the loopback; and tables."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.domain import InputError

Session = Any
"""A `pyspark.sql.SparkSession`: pyspark is optional, so nothing here names its types."""
Table = Any
"""A `pyspark.sql.DataFrame`."""

_HERE = "127.0.0.1"
_NAMED = "table:"


def start_session(master: str | None = None, config: dict[str, str] | None = None) -> Session:
    """The session that is running, or a new one.

    Args:
        master: Spark's master, like `local[4]` or `spark://host:7077`; if not told, what Spark's
            own configuration says, or all cores of this machine.
        config: Spark's own settings, for a new session.

    Raises:
        InputError: There is no pyspark, no Java, or Spark does not start.
    """
    sql, told = _pyspark_sql(), config or {}
    if master is None and "spark.master" not in told and not _is_configured():
        master = "local[*]"
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        return running
    _find_java()
    _find_python()
    builder = sql.SparkSession.builder.appName("discreet")
    for name, value in (_defaults(master) | told).items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    try:
        found = builder.getOrCreate()
        # Its own log quotes cells where a task fails on one; a session of somebody else's stays as
        # it is.
        found.sparkContext.setLogLevel("OFF")
        return found
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"Spark does not start: {reason}") from error


def _pyspark_sql() -> Any:
    try:
        return import_module("pyspark.sql")
    except ImportError:
        raise InputError("Spark needs the package pyspark: pip install 'discreet[spark]'") from None


def _find_java() -> None:
    home = os.environ.get("JAVA_HOME")
    inside = Path(home, "bin", "java") if home else None
    if shutil.which("java") is None and not (inside and inside.is_file()):
        raise InputError(
            "Spark needs Java 17 or newer: there is no java on the PATH, and JAVA_HOME names none"
        )


def _find_python() -> None:
    """Workers run this very Python, unless somebody said otherwise; and Spark lies in pyspark."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    home = str(Path(str(import_module("pyspark").__file__)).parent)
    os.environ.setdefault("SPARK_HOME", home)


def _is_configured() -> bool:
    """Whether somebody else says where Spark runs: spark-submit, or a file of settings."""
    if {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"} & os.environ.keys():
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


def open_table(spark: Session, source: str | os.PathLike[str], *, header: bool = True) -> Table:
    """A table that Spark can read, by its name; its columns are not looked at yet.

    Args:
        spark: The session.
        source: Parquet, ORC, CSV or TSV (compressed or not), or a folder of one of them, at any
            address that the cluster reaches; or `table:` and the name of a table or view.
        header: Whether text begins with names of the columns.

    Raises:
        InputError: It cannot be read.
    """
    path = os.fspath(source)
    try:
        if path.startswith(_NAMED):
            return spark.table(path.removeprefix(_NAMED))
        if (separator := _separator(path)) is not None:
            # Each file's own header counts: by the first one's alone, a folder whose files order
            # their columns differently would make several people of one.
            return spark.read.csv(
                path, header=header, sep=separator, quote='"', escape='"', enforceSchema=False
            )
        return spark.read.orc(path) if path.endswith(".orc") else spark.read.parquet(path)
    except spark_errors() as error:
        kind = condition_of(error)
        raise InputError(f"Spark cannot read '{path}' ({kind})") from None


def _separator(path: str) -> str | None:
    plain = path.rstrip("/").lower()
    for ending in (".gz", ".bz2", ".zst", ".lz4"):
        plain = plain.removesuffix(ending)
    return {".csv": ",", ".txt": ",", ".tsv": "\t"}.get(Path(plain).suffix)


def spark_errors() -> tuple[type[Exception], ...]:
    """What pyspark raises for failures of Spark."""
    base: type[Exception] = import_module("pyspark.errors").PySparkException
    return base, import_module("py4j.protocol").Py4JError


def condition_of(error: BaseException) -> str:
    """What kind of failure it is, in Spark's words; its message may quote a private cell."""
    condition = getattr(error, "getCondition", lambda: None)()
    return str(condition or type(error).__name__)
