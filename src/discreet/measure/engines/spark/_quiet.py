"""What Spark says on standard error as it starts, and about pandas: held back."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_THROWN = re.compile(r'^Exception in thread "\S+" \S+: ')
_INTERRUPTED = "KeyboardInterrupt while sending command"


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


def reason_in(standard_error: IO[bytes]) -> str:
    """Why Spark did not start, as far as Java told."""
    standard_error.seek(0)
    lines = [line.decode(errors="replace").strip() for line in standard_error]
    telling = [line for line in lines if "rror" in line or "xception" in line]
    return _THROWN.sub("", next(iter(telling), "Java told no reason"))
