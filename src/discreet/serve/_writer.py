"""One thread that writes, and takes all that waits into one transaction."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from discreet.serve._tables import people, reports

MOST_WAITING = 64 << 20
"""Bytes that may wait; beyond that uploads are refused until there is room."""

_BATCH_CHANGES = 1000
_BATCH_BYTES = 16 << 20
_GATHER_SECONDS = 0.002
"""While more than one person is sending, a transaction waits so long for others to join it."""


@dataclass(frozen=True, repr=False)
class Enrol:
    """A new capability, by its digest."""

    digest: bytes


@dataclass(frozen=True, repr=False)
class Put:
    """What a person sends, in place of what they sent before."""

    digest: bytes
    collection: str
    content: bytes


@dataclass(frozen=True, repr=False)
class Withdraw:
    """Delete what a person sent; they stay enrolled."""

    digest: bytes


@dataclass(frozen=True, repr=False)
class Forget:
    """Delete what a person sent and their enrolment."""

    digest: bytes


Change = Enrol | Put | Withdraw | Forget


@dataclass(frozen=True, repr=False)
class _Job:
    changes: Sequence[Change]
    size: int
    done: Future[list[bool]]


class GroupWriter:
    """Batches that wait become one transaction; each is acknowledged after its commit.

    Attributes:
        commits: Transactions so far.
        changes: Changes in them.
        failures: Transactions that failed; nothing of them was acknowledged.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: deque[_Job] = deque()
        self._bytes = 0
        self._closed = False
        self._ready = threading.Condition()
        self.commits = self.changes = self.failures = 0
        self.healthy = True
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="discreet writer", daemon=True)
        self._thread.start()

    def submit(self, changes: Sequence[Change]) -> Future[list[bool]]:
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

    def close(self) -> None:
        """Write what waits, then end."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join()

    def _run(self) -> None:
        taken = 0
        while jobs := self._take(_GATHER_SECONDS if taken > 1 else 0.0):
            taken = len(jobs)
            try:
                results = self._write([change for job in jobs for change in job.changes])
            except Exception as error:  # noqa: BLE001  (whatever it was, those who wait are told)
                self._drop_connection()
                self.failures += 1
                self.healthy = False
                for job in jobs:
                    job.done.set_exception(error)
                continue
            self.healthy = True
            begin = 0
            for job in jobs:
                job.done.set_result(results[begin : begin + len(job.changes)])
                begin += len(job.changes)
        self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _take(self, gather: float) -> list[_Job]:
        """All that waits, up to a batch; nothing when closed and empty."""
        taken: list[_Job] = []
        count = size = 0
        with self._ready:
            while not self._waiting and not self._closed:
                self._ready.wait()
        time.sleep(gather)
        with self._ready:
            while self._waiting and count < _BATCH_CHANGES and size < _BATCH_BYTES:
                job = self._waiting.popleft()
                taken.append(job)
                count, size = count + len(job.changes), size + job.size
            self._bytes -= size
        return taken

    def _write(self, changes: Sequence[Change]) -> list[bool]:
        """One transaction; whoever waits for any of these asked at the same time as the others."""
        if self._connection is None:
            self._connection = self._engine.connect()
        connection = self._connection
        with connection.begin():
            enrolled = [{"digest": each.digest} for each in changes if isinstance(each, Enrol)]
            if enrolled:
                connection.execute(insert(people), enrolled)
            persons = _persons(connection, {each.digest for each in changes})
            _put(connection, changes, persons)
            _remove(connection, changes, persons)
        self.commits += 1
        self.changes += len(changes)
        return [each.digest in persons for each in changes]


def _persons(connection: Connection, digests: set[bytes]) -> dict[bytes, int]:
    asked = select(people.c.digest, people.c.person).where(people.c.digest.in_(sorted(digests)))
    return {bytes(digest): person for digest, person in connection.execute(asked)}


def _put(connection: Connection, changes: Sequence[Change], persons: dict[bytes, int]) -> None:
    rows: dict[int, dict[str, Any]] = {}
    for each in changes:
        if isinstance(each, Put) and each.digest in persons:
            row = {"collection": each.collection, "content": each.content}
            rows[persons[each.digest]] = row
    if rows:
        dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
        put = dialect.insert(reports)
        fresh = {name: put.excluded[name] for name in ("collection", "content")}
        put = put.on_conflict_do_update(index_elements=["person"], set_=fresh)
        # In the order of their numbers: two services that share a database never deadlock.
        connection.execute(put, [{"person": p, **rows[p]} for p in sorted(rows)])


def _remove(connection: Connection, changes: Sequence[Change], persons: dict[bytes, int]) -> None:
    for kind, table in ((Withdraw, reports), (Forget, people)):
        gone = {persons[e.digest] for e in changes if isinstance(e, kind) and e.digest in persons}
        if gone:
            statement = delete(table).where(table.c.person == bindparam("gone"))
            connection.execute(statement, [{"gone": person} for person in sorted(gone)])
