"""What Spark says on standard error as it starts, and about pandas: held back."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTED = "KeyboardInterrupt while sending command"
_STARTED = b"\0started\n"
_STANDARD_ERROR = 2
_WAIT_SECONDS = 1.0


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Around what pyspark does with pandas in view: we hand it none, and need not hear of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


@contextmanager
def without_interrupt_trace() -> Iterator[None]:
    """Around what Ctrl-C may interrupt: py4j would log a stack, and raises it all the same."""

    def is_other(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_INTERRUPTED)

    logger = logging.getLogger()
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


class StandardError:
    """The standard error of Java: kept until Spark has started, and passed on from then on.

    Attributes:
        end: Where Java writes.
    """

    def __init__(self) -> None:
        begin, self.end = os.pipe()
        self._said: list[bytes] = []
        self._thread = threading.Thread(target=self._listen, args=(begin,), daemon=True)
        self._thread.start()

    def pass_on(self) -> None:
        """From here on nothing is held back; what came before never appears."""
        os.write(self.end, _STARTED)
        os.close(self.end)

    def reason(self) -> str:
        """Why Spark did not start, as far as Java told."""
        os.close(self.end)
        self._thread.join(_WAIT_SECONDS)
        lines = [line.decode(errors="replace").strip() for line in self._said]
        telling = [line for line in lines if "rror" in line or "xception" in line]
        return next(iter(telling), "Java told no reason")

    def _listen(self, begin: int) -> None:
        with os.fdopen(begin, "rb") as lines:
            for line in lines:
                if line == _STARTED:
                    break
                self._said.append(line)
            for line in lines:
                with contextlib.suppress(OSError):
                    os.write(_STANDARD_ERROR, line)
