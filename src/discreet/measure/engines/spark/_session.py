"""A Spark session that works out of the box: Java, Python on the workers, the loopback address.

Nothing here loads pyspark until it is used.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from discreet.domain import InputError
from discreet.domain.errors import MissingPart

Session = Any
"""A `pyspark.sql.SparkSession`: pyspark is optional, so nothing here names its types."""
Table = Any
"""A `pyspark.sql.DataFrame`."""
Rows = Any
"""A `pyspark.RDD`. Whatever is not SQL is one: planning SQL costs a second of every job."""

_HERE = "127.0.0.1"
_GATEWAY = "PYSPARK_GATEWAY_PORT"
_MASTER = "spark.master"
# The oldest Java that Spark 4 runs on.
_OLDEST_JAVA = 17
# Seconds that `java -version` may take; it takes a fraction of one. Chosen for safety.
_JAVA_SECONDS = 60
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# A fit on this machine takes Java a minute, in which thorough compilation costs more than it gains,
# and so do threads for collecting garbage: half of what starting Spark takes. Measured.
_LIGHT_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Seconds between looks at whether Ctrl-C was pressed; chosen by hand.
_WAKE_SECONDS = 0.1
_THROWN = re.compile(r'^Exception in thread "\S+" \S+: ')
_INTERRUPTED = "KeyboardInterrupt while sending command"


def start_session(master: str | None = None, config: dict[str, str] | None = None) -> Session:
    """The session that is running, or a new one.

    Args:
        master: Spark's master, like `local[4]` or `spark://host:7077`; by default what Spark's own
            configuration says, or all cores of this machine.
        config: Spark's own settings.

    Raises:
        InputError: There is no pyspark, no Java that is new enough, Spark does not start, or a
            session is running with another master or other settings.
    """
    sql, settings = _pyspark_sql(), dict(config or {})
    if master is not None:
        settings[_MASTER] = master
    if is_running():
        with without_pandas_warning():
            running = sql.SparkSession.builder.getOrCreate()
        _check_settings(running, settings)
        return running
    if _GATEWAY not in os.environ:
        check_java()
    if runs_here(settings.get(_MASTER)):
        settings.setdefault(_MASTER, "local[*]")
    _find_python()
    return _started(sql, _defaults(settings.get(_MASTER)) | settings)


@contextmanager
def session_for_now(master: str | None = None) -> Iterator[Session]:
    """As `start_session`; a session that was not running before is stopped in the end."""
    _pyspark_sql()
    was_running = is_running()

    def end(session: Session) -> None:
        if not was_running:
            session.stop()

    with without_interrupt_trace():
        # In another thread, so that pyspark does not react to Ctrl-C itself: it would call Java in
        # the middle of another call, and our jobs are cancelled without it.
        session = interruptible(lambda: start_session(master), end)
        try:
            yield session
        finally:
            end(session)


def is_running() -> bool:
    """Whether this process has a session, or at least Spark's context; pyspark is installed."""
    return import_module("pyspark").SparkContext._active_spark_context is not None


def runs_here(master: str | None) -> bool:
    """Whether a new session would run on this machine alone."""
    return not _is_configured() if master is None else master.startswith("local")


def check_java() -> None:
    """Ask the Java that Spark would start for its version.

    Raises:
        InputError: There is none where JAVA_HOME or the PATH says, it does not run, or it is old.
    """
    needs = f"Spark needs Java {_OLDEST_JAVA} or newer"
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        raise InputError(f"{needs}: there is no java on the PATH, and JAVA_HOME is not set")
    if not os.access(program, os.X_OK) or Path(program).is_dir():
        raise InputError(f"{needs}: JAVA_HOME is '{home}', and there is no program bin/java in it")
    version = _java_version(program)
    if version is None:
        raise InputError(f"{needs}: '{program} -version' does not say which it is")
    if version < _OLDEST_JAVA:
        raise InputError(f"{needs}: '{program}' is Java {version}")


def interruptible(action: Callable[[], Any], undo: Callable[[Any], None]) -> Any:
    """What an action returns that must not be interrupted: it runs in another thread.

    Args:
        action: What to do.
        undo: Called with what it returned, if by then nobody waits for it any more.
    """
    found: list[Any] = []
    is_ended, is_left, lock = threading.Event(), threading.Event(), threading.Lock()

    def work() -> None:
        try:
            made = action()
            with lock:
                found.append(made)
                if is_left.is_set():
                    undo(made)
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            found.append(error)
        finally:
            is_ended.set()

    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
        while not is_ended.wait(_WAKE_SECONDS):
            pass
    except BaseException:
        with lock:
            is_left.set()
            if found and not isinstance(found[0], BaseException):
                undo(found[0])
        raise
    if isinstance(found[-1], BaseException):
        raise found[-1]
    return found[0]


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Silence pyspark's warning about pandas, of which nothing is used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


@contextmanager
def without_interrupt_trace() -> Iterator[None]:
    """Around what Ctrl-C may interrupt: py4j would log a stack trace and raise it all the same."""

    def is_other(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_INTERRUPTED)

    logger = logging.getLogger()
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


def _java_version(program: str) -> int | None:
    command = [program, "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _JAVA_VERSION.search(done.stderr + done.stdout)
    return None if found is None else int(found[1])


def _check_settings(running: Session, wanted: dict[str, str]) -> None:
    """Refuse what a running session cannot adopt; values are not shown, they may be secrets."""
    context = running.sparkContext
    for name, value in wanted.items():
        is_now = running.conf.get(name, context.getConf().get(name))
        # Spark adds options of its own to those of Java.
        if is_now != value and not (name.endswith("JavaOptions") and value in (is_now or "")):
            what = f"master {context.master}" if name == _MASTER else f"another {name}"
            raise InputError(
                f"a Spark session with {what} is running already: leave master and config out to "
                "use it, or stop it first"
            )


def _started(sql: Any, settings: dict[str, str]) -> Session:
    pyspark = import_module("pyspark")
    conf = pyspark.SparkConf().setAll(list(settings.items())).setAppName("discreet")
    # Java's standard error, and that of workers which it starts, may quote cells: it goes to an
    # unnamed file that nobody reads unless Spark does not start.
    with tempfile.TemporaryFile() as standard_error:
        try:
            gateway = pyspark.SparkContext._gateway
            if gateway is None:
                gateway = launch_java(conf, standard_error)
            with without_pandas_warning():
                context = pyspark.SparkContext(conf=conf, gateway=gateway)
                found = sql.SparkSession.builder.getOrCreate()
            # So may its own log. The log of a session that we did not start stays as it is.
            context.setLogLevel("OFF")
        except Exception as error:
            reason = _reason(error)
            if "JAVA_GATEWAY_EXITED" in reason:
                reason = _reason_in(standard_error)
            raise InputError(f"Spark does not start: {reason}") from error
    return found


def launch_java(conf: Any, standard_error: Any) -> Any:
    """The gateway of pyspark to a new Java process.

    Were pyspark interrupted itself, it would leave a Java process behind that waits forever.
    """
    launch = import_module("pyspark.java_gateway").launch_gateway
    return interruptible(lambda: launch(conf, {"stderr": standard_error}), _end_java)


def _end_java(gateway: Any) -> None:
    """Java ends when its standard input is closed."""
    gateway.shutdown()
    gateway.proc.stdin.close()


def _reason(error: Exception) -> str:
    """Why Spark does not start: Java's message, or else Python's."""
    thrown = getattr(error, "java_exception", None)
    message = str(error) if thrown is None else str(thrown.getMessage())
    return message.strip().partition("\n")[0]


def _reason_in(standard_error: IO[bytes]) -> str:
    """Why Spark did not start, as far as Java's standard error says."""
    standard_error.seek(0)
    lines = [line.decode(errors="replace").strip() for line in standard_error]
    failures = [line for line in lines if "rror" in line or "xception" in line]
    return _THROWN.sub("", next(iter(failures), "Java gave no reason"))


def _pyspark_sql() -> Any:
    try:
        return import_module("pyspark.sql")
    except ImportError:
        raise MissingPart.of("Spark needs the package pyspark", "spark") from None


def _find_python() -> None:
    """Let workers run this very Python, and Spark be pyspark's own, unless configured otherwise."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    home = str(Path(str(import_module("pyspark").__file__)).parent)
    os.environ.setdefault("SPARK_HOME", home)


def _is_configured() -> bool:
    """Whether spark-submit or a file of settings says where Spark runs."""
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
    given |= {f"spark.{part}.extraJavaOptions": _LIGHT_JAVA for part in ("driver", "executor")}
    return given | {"spark.ui.enabled": "false"}
