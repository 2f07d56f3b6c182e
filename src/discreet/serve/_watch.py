"""The release's file, looked at again and again: a new one is served without a restart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from discreet.domain import InputError
from discreet.serve._published import Made, open_release

LOOK_SECONDS = 1.0
"""Between two looks at the file, each one `stat`. Chosen by hand: a new release is served after two
looks and the time it takes to check it."""

_log = logging.getLogger("discreet.serve")

Mark = tuple[int, ...]


def mark_of(path: Path) -> Mark | None:
    """What changes whenever the file does, for a `stat`; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Watch:
    """Opens a release's file when it has changed, checks it whole, and hands it on.

    A file that changed is opened when two looks in a row find it the same, so that one which is
    still being written is mostly left alone; whatever is opened is copied first and checked to the
    byte. What cannot be served is named once in the log, and what was served stays.

    Args:
        path: The file; it may be absent, or a link.
        seen: What `mark_of` said before it was opened last; None if it was absent.
        swapping: Held while the file is opened and handed on; whoever else replaces the file or
            what is served holds it too.
        take: Given the release on the event loop; whether it is a new one.
    """

    def __init__(
        self, path: Path, seen: Mark | None, swapping: asyncio.Lock, take: Callable[[Made], bool]
    ) -> None:
        self._path, self._swapping, self._take = path, swapping, take
        self._settled = self._last = seen
        self._said: tuple[Mark | None, str] | None = None
        self._asked = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def ask(self) -> None:
        """Look at once, and open a file that has only just changed; from any thread or signal."""
        if self._loop is None:
            self._asked.set()
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._asked.set)

    async def run(self) -> None:
        """Look until cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), LOOK_SECONDS)
            asked = self._asked.is_set()
            self._asked.clear()
            await self._look(asked)

    async def _look(self, asked: bool) -> None:
        async with self._swapping:
            mark = await run_in_threadpool(mark_of, self._path)
            rests, self._last = mark == self._last, mark
            if mark == self._settled:
                self._tell(asked)
                return
            if not (rests or asked):
                return
            tried = True
            if mark is None:
                self._complain("is gone")
            else:
                tried = await self._open(asked)
            # A file that changes twice within a tick of its clock has one mark for both, so a
            # file that has only just changed is opened once more when it rests.
            if tried and rests:
                self._settled = mark

    async def _open(self, asked: bool) -> bool:
        """Serve what is there, or say why not; False if trying again may help."""
        try:
            is_new = self._take(await run_in_threadpool(open_release, self._path))
        except InputError as error:
            self._complain(error.reason)
            return not isinstance(error.__cause__, OSError)
        except Exception as error:  # noqa: BLE001  (serving goes on whatever the file holds)
            self._complain(f"cannot be opened: {type(error).__name__}")
            return True
        if is_new:
            _log.info("%s: the new release is served", self._path.name)
        else:
            self._tell(asked)
        return True

    def _tell(self, asked: bool) -> None:
        if asked:
            _log.info("%s has not changed", self._path.name)

    def _complain(self, reason: str) -> None:
        """Once for each state of the file, however often it is tried."""
        said = self._last, reason
        if said != self._said:
            _log.warning("%s: %s; what was served before stays", self._path.name, reason)
        self._said = said
