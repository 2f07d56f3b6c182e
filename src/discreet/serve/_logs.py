"""The log: repeated lines are collapsed, and each line is JSON on request."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable

# The most lines from one place in the code, and the seconds over which they are counted. Chosen for
# safety: a few hundred bytes a second from each place, whatever is asked of the service.
_LINES, _SECONDS = 5, 10.0
# Whose lines are collapsed: others hardly write any.
_NAMES = ("asyncio", "discreet.serve", "uvicorn", "uvicorn.error")


class Collapse(logging.Filter):
    """Lets few lines of each place in the code pass, and then says how many there were.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        # By place: when its window began, how many lines passed in it, how many did not.
        self._seen: dict[tuple[str, int], tuple[float, int, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it passes."""
        place, now = (record.pathname, record.lineno), self._clock()
        began, passed, held = self._seen.get(place, (now, 0, 0))
        if now >= began + _SECONDS:
            began, passed = now, 0
        if passed >= _LINES:
            self._seen[place] = began, passed, held + 1
            return False
        if held:
            record.msg, record.args = f"{record.getMessage()} (and {held:,} more like it)", ()
        self._seen[place] = began, passed + 1, 0
        return True


def collapse_lines() -> None:
    """Collapse what the service and its server log from now on; earlier lines no longer count."""
    collapse = Collapse()
    for name in _NAMES:
        log = logging.getLogger(name)
        for filter_ in [each for each in log.filters if isinstance(each, Collapse)]:
            log.removeFilter(filter_)
        log.addFilter(collapse)


class JsonLines(logging.Formatter):
    """A line is an object: time, level, logger, message, and the kind of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)
