"""Java, started so that Ctrl-C does not leave it behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

_WAKE_SECONDS = 0.1


def launch_java(conf: Any, standard_error: Any) -> Any:
    """The gateway to a new Java, as pyspark has it.

    Interrupted itself, pyspark would leave a Java that waits forever for somebody to call.

    Args:
        conf: Spark's settings.
        standard_error: The file that Java writes it to.
    """
    launch = import_module("pyspark.java_gateway").launch_gateway
    return interruptible(lambda: launch(conf, {"stderr": standard_error}), _end)


def interruptible(action: Callable[[], Any], undo: Callable[[Any], None]) -> Any:
    """What an action returns, which must not be interrupted: it runs in another thread.

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


def _end(gateway: Any) -> None:
    """Java ends when nobody can write to it any more."""
    gateway.shutdown()
    gateway.proc.stdin.close()
