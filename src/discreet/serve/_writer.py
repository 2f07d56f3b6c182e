"""One thread that writes, and takes all that waits into one transaction."""

from __future__ import annotations

import itertools
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from discreet.serve._changes import Change, Forget, Outcome, Put, Withdraw, make

MOST_WAITING = 64 << 20
"""Bytes that may wait; beyond that uploads are refused until there is room."""

# Changes in one transaction, so that nobody waits long for others. Chosen by hand.
_BATCH_CHANGES = 1000
# Bytes in one transaction, likewise.
_BATCH_BYTES = 16 << 20
_GATHER_SECONDS = 0.002
"""How long a transaction waits for others to join it, while more than one person is sending."""

_TIDY_SECONDS = 1.0
"""How long old pages stay after a deletion, at most (or a little more, while others read)."""
_TIDY_PATIENCE = 200
"""Milliseconds that tidying waits for those who read."""

PATIENCE = 2_000
"""Milliseconds that everything else in SQLite waits for others: twice fits into a request."""


@dataclass(frozen=True, repr=False)
class _Job:
    changes: Sequence[Change]
    size: int
    done: Future[list[Outcome]]


class GroupWriter:
    """Batches that wait become one transaction; each is acknowledged after its commit.

    Where that fails each batch is tried once more by itself, so that none fails because of another.

    Attributes:
        commits: Transactions so far.
        changes: Changes in them.
        failures: Transactions that failed; nothing was acknowledged for them.
        healthy: Whether the last transaction did not fail.
        written: When one last succeeded, by `time.monotonic`.
    """

    def __init__(self, engine: Engine, *, threaded: bool = True) -> None:
        self._engine = engine
        self._waiting: deque[_Job] = deque()
        self._bytes = 0
        self._closed = False
        self._ready = threading.Condition()
        self.commits = self.changes = self.failures = 0
        self.healthy, self.written = True, -math.inf
        self._connection: Connection | None = None
        self._untidy, self._tidied = False, 0.0
        # Without its thread whoever made it calls `turn`: a simulation.
        self._thread = threading.Thread(target=self._run, name="discreet writer", daemon=True)
        if threaded:
            self._thread.start()

    def submit(self, changes: Sequence[Change]) -> Future[list[Outcome]]:
        """See `Store.submit`."""
        size = sum(len(each.content) for each in changes if isinstance(each, Put))
        job = _Job(changes, size, Future())
        with self._ready:
            if self._closed or (self._waiting and self._bytes + size > MOST_WAITING):
                raise queue.Full
            self._waiting.append(job)
            self._bytes += size
            self._ready.notify()
        return job.done

    def take_back(self, done: Future[list[Outcome]]) -> bool:
        """Whether some changes could be taken back: they still waited, and are never written."""
        with self._ready:
            job = next((each for each in self._waiting if each.done is done), None)
            if job is None:
                return False
            self._waiting.remove(job)
            self._bytes -= job.size
        done.cancel()
        return True

    def close(self) -> None:
        """Write what waits, then end."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join()

    def turn(self) -> None:
        """One transaction of what waits, without the thread."""
        jobs = self._take(0.0) if self._waiting else []
        if jobs:
            self._do(jobs)

    def _run(self) -> None:
        taken = 0
        while not self._is_over():
            jobs = self._take(_GATHER_SECONDS if taken > 1 else 0.0)
            taken = len(jobs)
            if jobs:
                self._do(jobs)
            if self._untidy and time.monotonic() >= self._tidied + _TIDY_SECONDS:
                self._tidy()
        self._drop_connection()

    def _is_over(self) -> bool:
        with self._ready:
            return self._closed and not self._waiting

    def _do(self, jobs: Sequence[_Job]) -> None:
        # Whoever asked may have gone: what they sent is written anyway. From here
        # on no future can be cancelled, so that telling cannot fail.
        waiting = [job.done.set_running_or_notify_cancel() for job in jobs]
        try:
            results = iter(self._try([change for job in jobs for change in job.changes]))
        except Exception:  # noqa: BLE001  (whatever it was: it may be one job's fault)
            self._do_singly(jobs, waiting)
            return
        for job, waits in zip(jobs, waiting, strict=True):
            outcomes = list(itertools.islice(results, len(job.changes)))
            if waits:
                job.done.set_result(outcomes)

    def _do_singly(self, jobs: Sequence[_Job], waiting: Sequence[bool]) -> None:
        """Each job once more and by itself, until the database itself is seen to fail."""
        down: Exception | None = None
        for job, waits in zip(jobs, waiting, strict=True):
            outcomes: list[Outcome] = []
            wrong = down
            if wrong is None:
                try:
                    outcomes = self._try(job.changes)
                except Exception as error:  # noqa: BLE001  (those who wait are told)
                    wrong = error
                    down = error if isinstance(error, OperationalError) else None
            if waits and wrong is not None:
                job.done.set_exception(wrong)
            elif waits:
                job.done.set_result(outcomes)

    def _try(self, changes: Sequence[Change]) -> list[Outcome]:
        try:
            outcomes = self._write(changes)
        except Exception:
            self._drop_connection()
            self.failures += 1
            self.healthy = False
            raise
        self.healthy, self.written = True, time.monotonic()
        return outcomes

    def _tidy(self) -> None:
        """Empty SQLite's write-ahead file, which keeps pages as they were before a deletion."""
        self._tidied = time.monotonic()
        try:
            with self._engine.connect() as connection:
                raw: Any = connection.connection.driver_connection
                raw.execute(f"PRAGMA busy_timeout = {_TIDY_PATIENCE}")
                try:
                    busy = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                finally:
                    raw.execute(f"PRAGMA busy_timeout = {PATIENCE}")
            self._untidy = bool(busy)  # while others read: again in a second
        except Exception:  # noqa: BLE001  (as above; the next deletion or the end tries again)
            self._untidy = True

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _take(self, gather: float) -> list[_Job]:
        """All that waits, up to a batch; nothing when closed and empty, or when it is to tidy."""
        taken: list[_Job] = []
        count = size = 0
        with self._ready:
            while not self._waiting and not self._closed:
                if not self._ready.wait(_TIDY_SECONDS if self._untidy else None):
                    return taken
        time.sleep(gather)
        with self._ready:
            while self._waiting and count < _BATCH_CHANGES and size < _BATCH_BYTES:
                job = self._waiting.popleft()
                taken.append(job)
                count, size = count + len(job.changes), size + job.size
            self._bytes -= size
        return taken

    def _write(self, changes: Sequence[Change]) -> list[Outcome]:
        """One transaction, of requests that came at about the same time."""
        if self._connection is None:
            self._connection = self._engine.connect()
        connection = self._connection
        with connection.begin():
            outcomes = make(connection, changes)
        self.commits += 1
        self.changes += len(changes)
        removes = any(isinstance(each, Withdraw | Forget) for each in changes)
        self._untidy |= removes and connection.dialect.name == "sqlite"
        return outcomes
