"""A new release from what was collected: made in a process of its own, swapped in at once."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.serve._metrics import Metrics
from discreet.serve._published import Representation
from discreet.serve._settings import Settings

_log = logging.getLogger("discreet.serve")
_STOP_SECONDS = 5.0

Made = dict[str, Representation]


class Builder:
    """Makes one release at a time, beside serving.

    The process works on a file of its own; only this one gives it the release's name, so that a
    process left alone can never bring back what was deleted in the meantime.

    Args:
        settings: The service's.
        metrics: Where builds are counted.
        publish: What takes the new release; called on the event loop.
    """

    def __init__(
        self, settings: Settings, metrics: Metrics, publish: Callable[[Made], None]
    ) -> None:
        self._settings, self._metrics, self._publish = settings, metrics, publish
        self._task: asyncio.Task[None] | None = None
        self.last: dict[str, Any] = {"state": "never"}

    def start(self) -> bool:
        """Begin to build; False if a build is under way."""
        if self._task is not None and not self._task.done():
            return False
        self.last = {"state": "running"}
        self._task = asyncio.create_task(self._run())
        return True

    async def stop(self) -> None:
        """End a build that is under way; the old release stays."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        begun = time.monotonic()
        try:
            self.last = {"state": "built", **await self._build()}
        except asyncio.CancelledError:
            self.last = {"state": "stopped"}
        except InputError as error:
            self.last = {"state": "failed", "reason": error.reason}
        except OSError as error:
            self.last = {"state": "failed", "reason": error.strerror or type(error).__name__}
        seconds = time.monotonic() - begun
        self.last["seconds"] = round(seconds, 3)
        self._metrics.builds[self.last["state"]] += 1
        self._metrics.build_seconds += seconds
        _log.info("build: %s after %.1f s", self.last["state"], seconds)

    async def _build(self) -> dict[str, Any]:
        target = self._settings.release
        with tempfile.TemporaryDirectory(prefix=".build.", dir=target.resolve().parent) as folder:
            made = Path(folder) / "made"
            told = await self._work(made)
            published = await run_in_threadpool(self._move, made, target)
        self._publish(published)
        return told

    async def _work(self, made: Path) -> dict[str, Any]:
        assert self._settings.collector is not None
        # Through a pipe: a command line is for everybody to read, and this holds secrets.
        order = self._settings.collector.order() | {
            "database": self._settings.database,
            "output": os.fspath(made),
        }
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "discreet.serve._build_worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            said, _ = await worker.communicate(json.dumps(order).encode())
        finally:
            await _end(worker)
        try:
            told = json.loads(said)
        except ValueError:
            raise InputError(f"the build ended without a word (code {worker.returncode})") from None
        if "reason" in told:
            raise InputError(told["reason"])
        return dict(told)

    def _move(self, made: Path, target: Path) -> Made:
        """Check what was made, then give it the name: on disk and complete when this returns."""
        assert self._settings.collector is not None
        publish = self._settings.collector.publish
        publish(made)
        # Who is together is for the administrator's eyes; a release is for everybody's.
        private = self._settings.collector.kind == "closed"
        with whole_file(target, private=private) as temporary:
            made.replace(temporary)
        return publish(target)


async def _end(worker: asyncio.subprocess.Process) -> None:
    if worker.returncode is None:
        worker.terminate()
        try:
            await asyncio.wait_for(worker.wait(), _STOP_SECONDS)
        except TimeoutError:
            worker.kill()
            await worker.wait()
