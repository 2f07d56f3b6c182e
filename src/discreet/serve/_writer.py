"""One thread that writes, and takes all that waits into one transaction."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.serve._tables import claims, people, reports

MOST_WAITING = 64 << 20
"""Bytes that may wait; beyond that uploads are refused until there is room."""

_BATCH_CHANGES = 1000
_BATCH_BYTES = 16 << 20
_GATHER_SECONDS = 0.002
"""While more than one person is sending, a transaction waits so long for others to join it."""

_TIDY_SECONDS = 1.0
"""So long after a deletion at most (or a little more, while somebody reads) old pages stay."""
_TIDY_PATIENCE = 200
_PATIENCE = 30000
"""Milliseconds that SQLite waits for others; the second is what `Store` sets."""


class Claim(Protocol):
    """What is said about a slot and may not be said differently later."""

    @property
    def slot(self) -> int:
        """Whose it is."""

    @property
    def stop(self) -> int:
        """How far it goes."""

    @property
    def mark(self) -> bytes:
        """A digest of all of it."""

    def follows(self, stop: int, mark: bytes, stored: bytes | None) -> bool:
        """Whether it says the same as what was said first, as far as that went.

        Args:
            stop: How far that went.
            mark: Its digest.
            stored: What the same person last sent, if it is still there.
        """


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
    claim: Claim | None = None


@dataclass(frozen=True, repr=False)
class Withdraw:
    """Delete what a person sent; they stay enrolled."""

    digest: bytes


@dataclass(frozen=True, repr=False)
class Forget:
    """Delete what a person sent and their enrolment."""

    digest: bytes


Change = Enrol | Put | Withdraw | Forget
Outcome = bool | None
"""Done; or the capability is not enrolled (False), or other was said first (None)."""


@dataclass(frozen=True, repr=False)
class _Job:
    changes: Sequence[Change]
    size: int
    done: Future[list[Outcome]]


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
        self._untidy, self._tidied = False, 0.0
        self._thread = threading.Thread(target=self._run, name="discreet writer", daemon=True)
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

    def close(self) -> None:
        """Write what waits, then end."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join()

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
        # Whoever asked may have gone: theirs is written all the same, and nobody is told. From here
        # on no future can be cancelled, so that telling cannot fail.
        waiting = [job.done.set_running_or_notify_cancel() for job in jobs]
        try:
            results = self._write([change for job in jobs for change in job.changes])
        except Exception as error:  # noqa: BLE001  (whatever it was, those who wait are told)
            self._drop_connection()
            self.failures += 1
            self.healthy = False
            for job, waits in zip(jobs, waiting, strict=True):
                if waits:
                    job.done.set_exception(error)
            return
        self.healthy = True
        begin = 0
        for job, waits in zip(jobs, waiting, strict=True):
            if waits:
                job.done.set_result(results[begin : begin + len(job.changes)])
            begin += len(job.changes)

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
                    raw.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
            self._untidy = bool(busy)  # while somebody reads: again in a second
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
        """One transaction; whoever waits for any of these asked at the same time as the others."""
        if self._connection is None:
            self._connection = self._engine.connect()
        connection = self._connection
        with connection.begin():
            enrolled = [{"digest": each.digest} for each in changes if isinstance(each, Enrol)]
            if enrolled:
                connection.execute(insert(people), enrolled)
            persons = _persons(connection, {each.digest for each in changes})
            refused = _claim(connection, changes, persons)
            kept = [each for number, each in enumerate(changes) if number not in refused]
            _put(connection, kept, persons)
            _remove(connection, changes, persons)
        self.commits += 1
        self.changes += len(changes)
        removes = any(isinstance(each, Withdraw | Forget) for each in changes)
        self._untidy |= removes and connection.dialect.name == "sqlite"
        known = [each.digest in persons for each in changes]
        return [None if number in refused else told for number, told in enumerate(known)]


def _persons(connection: Connection, digests: set[bytes]) -> dict[bytes, int]:
    asked = select(people.c.digest, people.c.person).where(people.c.digest.in_(sorted(digests)))
    return {bytes(digest): person for digest, person in connection.execute(asked)}


def _claim(
    connection: Connection, changes: Sequence[Change], persons: dict[bytes, int]
) -> set[int]:
    """Note what is said for the first time; the places of those that say otherwise."""
    refused = set()
    for number, each in enumerate(changes):
        if isinstance(each, Put) and each.claim is not None and each.digest in persons:
            claim = each.claim
            key = {"collection": each.collection, "slot": claim.slot}
            said = {"stop": claim.stop, "mark": claim.mark}
            place = (claims.c.collection == each.collection) & (claims.c.slot == claim.slot)
            asked = select(claims.c.stop, claims.c.mark).where(place).with_for_update()
            first = connection.execute(asked).first()
            if first is None:
                connection.execute(insert(claims), key | said)
                continue
            own = select(reports.c.content).where(reports.c.person == persons[each.digest])
            stored = connection.execute(own.where(reports.c.collection == each.collection)).scalar()
            kept = None if stored is None else bytes(stored)
            if claim.follows(first.stop, bytes(first.mark), kept):
                connection.execute(update(claims).where(place).values(said))
            else:
                refused.add(number)
    return refused


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
