"""A new release from what was collected: built by a process of its own, swapped in at once."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.protocols.servers import Protocol
from discreet.serve._gate import Metrics
from discreet.serve._published import FileContent, Made, open_release, sha256_of
from discreet.serve._settings import Settings
from discreet.serve._store import Store

# Characters of a file's name that a folder's name repeats: names end at 255 bytes.
_LONGEST = 100


@contextlib.contextmanager
def build_folder(target: Path) -> Iterator[Path]:
    """A folder beside a file, locked while the block runs and removed at its end."""
    target = target.resolve()
    with tempfile.TemporaryDirectory(
        prefix=_prefix(target), dir=target.parent, ignore_cleanup_errors=True
    ) as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def remove_leftovers(target: Path) -> int:
    """Remove the folders in which builds of a file were cut short: how many.

    A folder is ours by its name, and abandoned if no living process has locked it.
    """
    target = target.resolve()
    ours = re.compile(re.escape(_prefix(target)) + "[a-z0-9_]{8}")
    found = [path for path in target.parent.glob(".build.*") if ours.fullmatch(path.name)]
    return sum(map(_remove, found))


def _prefix(target: Path) -> str:
    return f".build.{target.name[:_LONGEST]}."


def _remove(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        shutil.rmtree(folder, ignore_errors=True)
        return True
    finally:
        os.close(handle)


_log = logging.getLogger("discreet.serve")
# Before a build that does not stop is killed.
_STOP_SECONDS = 5.0
_T = TypeVar("_T")


class Builder:
    """Makes one release at a time, beside serving.

    The process works on a file of its own; only this one gives it the release's name, so that a
    process left alone can never bring back what was deleted in the meantime.

    Args:
        settings: The service's.
        metrics: Where builds are counted.
        publish: What takes the new release; called on the event loop.
        swapping: Held while the file is replaced and the new release is published.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        publish: Callable[[Made], None],
        swapping: asyncio.Lock,
    ) -> None:
        self._settings, self._metrics, self._publish = settings, metrics, publish
        self._swapping = swapping
        self._task: asyncio.Task[None] | None = None
        self.last: dict[str, Any] = {"state": "none since the start"}

    def start(self, protocol: Protocol, store: Store) -> bool:
        """Begin to build from what a store has; False if a build is under way."""
        if self._task is not None and not self._task.done():
            return False
        self.last = {"state": "running"}
        self._task = asyncio.create_task(self._run(protocol, store))
        return True

    async def stop(self) -> None:
        """End a build that is under way; the old release stays, unless it is being replaced."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self, protocol: Protocol, store: Store) -> None:
        begun = time.monotonic()
        try:
            self.last = {"state": "built", **await self._build(protocol, store)}
        except asyncio.CancelledError:
            self.last = {"state": "stopped"}
        except InputError as error:
            self.last = _failed(error.reason)
        except OSError as error:
            self.last = _failed(error.strerror or type(error).__name__)
        except Exception as error:  # noqa: BLE001  (its message may hold what people sent)
            self.last = _failed(f"the build failed: {type(error).__name__}")
        seconds = time.monotonic() - begun
        self.last["seconds"] = round(seconds, 3)
        self._metrics.builds[self.last["state"]] += 1
        self._metrics.build_seconds += seconds
        reason = f": {self.last['reason']}" if "reason" in self.last else ""
        _log.info("build: %s after %.1f s%s", self.last["state"], seconds, reason)

    async def _build(self, protocol: Protocol, store: Store) -> dict[str, Any]:
        with build_folder(self._settings.release) as folder:
            made = folder / "made"
            order = protocol.order() | {
                "database": self._settings.database,
                "output": os.fspath(made),
                "least_people": self._settings.least_people,
            }
            outcome = await self._work(order)
            async with self._swapping:
                moving = run_in_threadpool(self._move, store, made)
                published, kept = await _to_the_end(moving)
                self._publish(published)
        if kept is not None:
            outcome["previous"] = kept.name
            _log.info("the file that was served is kept as %s", kept.name)
        return outcome

    async def _work(self, order: dict[str, Any]) -> dict[str, Any]:
        # Through a pipe: a command line is for everybody to read, and this holds secrets.
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "discreet.serve._build_worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            said, _ = await worker.communicate(json.dumps(order).encode())
        finally:
            await _end(worker)
        try:
            outcome = json.loads(said)
        except ValueError:
            raise InputError(f"the build ended without a word (code {worker.returncode})") from None
        if "reason" in outcome:
            raise InputError(outcome["reason"])
        return dict(outcome)

    def _move(self, store: Store, made: Path) -> tuple[Made, Path | None]:
        """Check what was made, then give it the name: on disk and complete when this returns.

        A file there that this service has not made is a curator's: it is kept under another name.
        """
        target = self._settings.release.resolve()
        published = open_release(made)
        foreign = target.is_file() and not store.has_built(sha256_of(FileContent(target)))
        kept = _keep(target) if foreign else None
        # Noted first: were it noted after and we died between, our own file would be a stranger.
        store.note_built(published["release"].digest)
        with whole_file(target) as temporary:
            made.replace(temporary)
        return published, kept


def _failed(reason: str) -> dict[str, Any]:
    return {"state": "failed", "reason": reason}


def _keep(target: Path) -> Path:
    """Give a file a second name that no file has: its own with .previous, .previous2, ..."""
    for number in itertools.count(1):
        spare = target.with_name(f"{target.name}.previous{number if number > 1 else ''}")
        if not os.path.lexists(spare):
            break
        if spare.samefile(target):  # a build kept it, and got no further
            return spare
    try:
        spare.hardlink_to(target)
    except OSError:  # not every file system has second names
        private = not target.stat().st_mode & 0o077
        with whole_file(spare, private=private) as temporary:
            shutil.copy2(target, temporary)
    return spare


async def _to_the_end(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a thread's work, which cannot be cancelled: whoever stops it waits."""
    task = asyncio.create_task(work)
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise


async def _end(worker: asyncio.subprocess.Process) -> None:
    if worker.returncode is None:
        worker.terminate()
        try:
            await asyncio.wait_for(worker.wait(), _STOP_SECONDS)
        except TimeoutError:
            worker.kill()
            await worker.wait()
