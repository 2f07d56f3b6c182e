"""Failures of Spark in one line, which says what kind they are and never what a cell holds."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from discreet.domain import InputError

CHANGED = "the table changed while it was measured"
OTHER_VERSION = "one of Spark's workers has another version of discreet than there is here"
_TOLD_BY_TASKS = (CHANGED, OTHER_VERSION)
_UNREADABLE = "FAILED_READ_FILE"
_CAUSES = 10
_LOCAL = re.compile(r"file:/+")
_CELL_IN_PATH = re.compile(r"(?<=/)([^/=]+)=[^/]*")
"""A folder of a table that is cut by a column: `user=ann`."""


def spark_errors() -> tuple[type[Exception], ...]:
    """What pyspark raises for failures of Spark."""
    base: type[Exception] = import_module("pyspark.errors").PySparkException
    return base, import_module("py4j.protocol").Py4JError


def condition_of(error: BaseException) -> str:
    """What kind of failure it is, in Spark's words; its message may quote a private cell."""
    own = getattr(error, "getCondition", lambda: None)()
    if own:
        return str(own)
    thrown = _thrown(error)
    named = [condition for each in thrown if (condition := _ask(each, "getCondition"))]
    if named:
        return str(named[0])
    return type(error).__name__ if not thrown else str(thrown[-1].getClass().getSimpleName())


def spoken(error: BaseException) -> BaseException:
    """An error that may be shown: Spark's own in other words."""
    if isinstance(error, InputError) or not isinstance(error, Exception):
        return error
    message = str(error)
    for told in _TOLD_BY_TASKS:
        if told in message:
            return InputError(told)
    if "No module named" in message:
        return InputError(
            "the Python of Spark's workers lacks discreet or what it needs: set PYSPARK_PYTHON to "
            "one that has it before the session starts, install 'discreet[spark]' there, or send "
            "an environment along with spark.archives"
        )
    said = _unreadable(error) or InputError(
        f"Spark failed ({condition_of(error)}); its log says where and why, unless discreet "
        "started the session: then it is off, since it may quote private cells"
    )
    said.__suppress_context__ = True
    return said


def plain_path(address: str) -> str:
    """A file's address as a person writes it, where it is on this machine."""
    return unquote(_LOCAL.sub("/", address)) if address.startswith("file:") else address


def shown_path(address: str) -> str:
    """The same, without the cells that folders are named after."""
    return _CELL_IN_PATH.sub(r"\1=...", plain_path(address))


def _unreadable(error: Exception) -> InputError | None:
    """What is said of a file that is there and cannot be read."""
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
    while each is not None and len(found) < _CAUSES:
        found.append(each)
        each = _ask(each, "getCause")
    return found


def _ask(thrown: Any, method: str) -> Any:
    """What an exception of Java says, if it has the method."""
    try:
        return getattr(thrown, method)()
    except import_module("py4j.protocol").Py4JError:
        return None
