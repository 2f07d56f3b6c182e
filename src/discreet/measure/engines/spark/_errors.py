"""Failures of Spark in one line that says what kind they are and never what a cell holds."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from discreet.domain import InputError

CHANGED = "the table changed while it was measured"
OTHER_VERSION = "one of Spark's workers has another version of discreet than there is here"

# Raised by tasks: Spark wraps them, but their text arrives in the message.
_RAISED_BY_TASKS = (CHANGED, OTHER_VERSION)
_UNREADABLE = "FAILED_READ_FILE"
# Java's exceptions can be their own causes; ten is more than Spark ever nests. Chosen by hand.
_MOST_CAUSES = 10
_LOCAL = re.compile(r"file:/+")
# A folder of a table that is partitioned by a column, like `user=ann`.
_CELL_IN_PATH = re.compile(r"(?<=/)([^/=]+)=[^/]*")


def spark_errors() -> tuple[type[Exception], ...]:
    """What pyspark raises for failures of Spark."""
    base: type[Exception] = import_module("pyspark.errors").PySparkException
    return base, import_module("py4j.protocol").Py4JError


def condition_of(error: BaseException) -> str:
    """The kind of failure in Spark's words; its message may quote a private cell."""
    own = getattr(error, "getCondition", lambda: None)()
    if own:
        return str(own)
    thrown = _thrown(error)
    named = [condition for each in thrown if (condition := _ask(each, "getCondition"))]
    if named:
        return str(named[0])
    return type(error).__name__ if not thrown else str(thrown[-1].getClass().getSimpleName())


def safe_error(error: BaseException) -> BaseException:
    """An error that may be shown: Spark's own are put in other words."""
    if isinstance(error, InputError) or not isinstance(error, Exception):
        return error
    message = str(error)
    for reason in _RAISED_BY_TASKS:
        if reason in message:
            return InputError(reason)
    if "No module named" in message:
        return InputError(
            "the Python of Spark's workers lacks discreet or what it needs: set PYSPARK_PYTHON to "
            "one that has it before the session starts, install 'discreet[spark]' there, or send "
            "an environment along with spark.archives"
        )
    shown = _unreadable_file(error) or InputError(
        f"Spark failed ({condition_of(error)}); its log says where and why, unless discreet "
        "started the session: then it is off, since it may quote private cells"
    )
    shown.__suppress_context__ = True
    return shown


def plain_path(address: str) -> str:
    """A file's address as you would write it, where the file is on this machine."""
    return unquote(_LOCAL.sub("/", address)) if address.startswith("file:") else address


def shown_path(address: str) -> str:
    """The same, without the cells that folders are named after."""
    return _CELL_IN_PATH.sub(r"\1=...", plain_path(address))


def _unreadable_file(error: Exception) -> InputError | None:
    """The error for a file that exists and cannot be read."""
    for each in _thrown(error):
        if str(_ask(each, "getCondition") or "").startswith(_UNREADABLE):
            path = (_ask(each, "getMessageParameters") or {}).get("path")
            reason = (
                "cannot be read: damaged, cut short, another format, or columns unlike those of "
                "the other files"
            )
            return InputError(reason, path=path and shown_path(str(path)))
    return None


def _thrown(error: BaseException) -> list[Any]:
    """Java's exceptions behind one of Python's, each the cause of the one before."""
    found: list[Any] = []
    each = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while each is not None and len(found) < _MOST_CAUSES:
        found.append(each)
        each = _ask(each, "getCause")
    return found


def _ask(thrown: Any, method: str) -> Any:
    """What a method of a Java exception returns; None if it has no such method."""
    try:
        return getattr(thrown, method)()
    except import_module("py4j.protocol").Py4JError:
        return None
