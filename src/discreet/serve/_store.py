"""The database: what people sent, kept so that nothing acknowledged is ever lost.

SQLite in WAL mode with synchronous=FULL, or PostgreSQL: a commit that returned is on disk. All
writes go through one thread, which puts whatever waits into one transaction (group commit), so
that a thousand uploads a second need not be a thousand flushes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    event,
    func,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from discreet.domain import InputError
from discreet.serve._changes import (
    VERSION,
    Change,
    Enrol,
    Forget,
    Outcome,
    Put,
    Withdraw,
    about,
    collections,
    insert_once,
    metadata,
    one_a_slot,
    people,
    reports,
)
from discreet.serve._writer import PATIENCE, GroupWriter

__all__ = [
    "Change",
    "Enrol",
    "Forget",
    "Outcome",
    "Put",
    "Store",
    "Withdraw",
    "database_url",
]

# Reports read at a time while a release is built.
_PAGE = 200
# Connections to the database, besides the writer's.
_READERS = 4
# Seconds to wait for a new connection to PostgreSQL. Chosen to fit into a request.
_CONNECT = 3
_MAKING_TABLES = 0x64697363
"""The number of the lock that PostgreSQL gives to one service at a time."""


def database_url(text: str) -> URL:
    """A database's URL; a plain path is an SQLite file.

    Raises:
        InputError: It is neither SQLite in a file nor PostgreSQL. The text is not repeated:
            it may hold a password.
    """
    try:
        url = make_url(text) if "://" in text else URL.create("sqlite", database=text)
    except ArgumentError:
        reason = "the database is a file, or a URL like postgresql://user@host/name"
        raise InputError(reason) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise InputError("the database is an SQLite file or postgresql://user@host/name, no other")
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise InputError("an SQLite database needs a file: memory forgets what was acknowledged")
    return url


class Store:
    """Enrolments and reports.

    Args:
        url: See `database_url`.

    Raises:
        InputError: The database cannot be opened, or holds something else.
    """

    def __init__(self, url: str) -> None:
        place = database_url(url)
        self._engine = _engine(place)
        try:
            with self._engine.begin() as connection:
                _make_tables(connection)
        except SQLAlchemyError as error:
            self._engine.dispose()
            raise _unusable(place, error) from None
        self._writer = GroupWriter(self._engine)

    @property
    def writer(self) -> GroupWriter:
        """What writes; it counts its batches."""
        return self._writer

    def submit(self, changes: Sequence[Change]) -> Future[list[Outcome]]:
        """Write some changes; the future is done when they are on disk.

        Returns:
            For each change True; or False if its capability is not enrolled, or None if it says
            other than was said first: then it is not stored.

        Raises:
            queue.Full: Too much waits already; nothing was taken.
        """
        return self._writer.submit(changes)

    def add_collection(self, digest: str, content: dict[str, Any]) -> None:
        """Note the public parameters that reports will name; again and again is fine."""
        with self._engine.begin() as connection:
            row = {"digest": digest, "content": json.dumps(content)}
            connection.execute(insert_once(connection, collections), row)

    def latest_epoch(self, content: Mapping[str, Any]) -> int | None:
        """The last epoch of which reports are stored, of terms that are otherwise the same."""
        used = select(reports.c.collection).distinct()
        asked = select(collections.c.content).where(collections.c.digest.in_(used))
        with self._engine.connect() as connection:
            found = [json.loads(terms) for (terms,) in connection.execute(asked)]
        wanted = _but_epoch(content)
        return max((terms["epoch"] for terms in found if _but_epoch(terms) == wanted), default=None)

    def note_built(self, digest: str) -> None:
        """A file with this SHA-256 is the service's own work, now or soon."""
        with self._engine.begin() as connection:
            row = {"name": _built_name(digest), "value": digest}
            connection.execute(insert_once(connection, about), row)

    def has_built(self, digest: str) -> bool:
        """Whether a file is the service's own work."""
        with self._engine.connect() as connection:
            return connection.execute(_built(digest)).first() is not None

    def is_enrolled(self, digest: bytes) -> bool:
        """Whether a capability with this digest was given out and not taken back."""
        return digest in self.enrolled({digest})

    def enrolled(self, digests: set[bytes]) -> set[bytes]:
        """Those of some capabilities' digests that were given out and not taken back."""
        asked = select(people.c.digest).where(people.c.digest.in_(sorted(digests)))
        with self._engine.connect() as connection:
            return {bytes(digest) for (digest,) in connection.execute(asked)}

    def read(self, digest: bytes) -> bytes | None:
        """What was last sent with a capability, as it is stored."""
        asked = select(reports.c.content).join(people).where(people.c.digest == digest)
        with self._engine.connect() as connection:
            content = connection.execute(asked).scalar()
        return None if content is None else bytes(content)

    def size(self, digest: bytes) -> int | None:
        """How many bytes `read` would give; None if there is nothing."""
        asked = select(func.length(reports.c.content)).join(people)
        with self._engine.connect() as connection:
            found = connection.execute(asked.where(people.c.digest == digest)).scalar()
        return None if found is None else int(found)

    def contents(self, collection: str) -> Iterator[bytes]:
        """Everything that was sent under a collection, page by page: memory stays bounded."""
        after = -1
        while True:
            asked = (
                select(reports.c.person, reports.c.content)
                .where(reports.c.person > after, reports.c.collection == collection)
                .order_by(reports.c.person)
                .limit(_PAGE)
            )
            with self._engine.connect() as connection:
                page = connection.execute(asked).all()
            if not page:
                return
            yield from (bytes(content) for _, content in page)
            after = page[-1].person

    def figures(self, collection: str) -> dict[str, int]:
        """How many are enrolled, how many reports there are, how many of this collection."""
        sent = select(func.count()).select_from(reports)
        asked = {
            "enrolled": select(func.count()).select_from(people),
            "reports": sent,
            "reports_of_collection": sent.where(reports.c.collection == collection),
        }
        with self._engine.connect() as connection:
            return {name: connection.execute(q).scalar_one() for name, q in asked.items()}

    def ping(self) -> bool:
        """Whether the database answers."""
        try:
            with self._engine.connect() as connection:
                return connection.execute(text("SELECT 1")).scalar() == 1
        except SQLAlchemyError:
            return False

    def close(self) -> None:
        """Write whatever still waits, and let go of the database."""
        self._writer.close()
        self._engine.dispose()


def _make_tables(connection: Connection) -> None:
    """Make the tables, or those of the version before into these.

    Raises:
        InputError: They are of a version that is not known here.
    """
    if connection.dialect.name == "postgresql":
        lock = text("SELECT pg_advisory_xact_lock(:number)")
        connection.execute(lock, {"number": _MAKING_TABLES})
    metadata.create_all(connection)
    row = {"name": "version", "value": str(VERSION)}
    connection.execute(insert_once(connection, about), row)
    asked = about.c.name == "version"
    found = connection.execute(select(about.c.value).where(asked)).scalar()
    if found == "1":
        # What was sent before has no slot here: a build counts it by what it says itself.
        connection.execute(text("ALTER TABLE reports ADD COLUMN slot BIGINT"))
        one_a_slot.create(connection)
        connection.execute(update(about).where(asked).values(value=str(VERSION)))
    elif found != str(VERSION):
        raise InputError(f"the database has tables of version {found}, not {VERSION}")


def _but_epoch(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "epoch"}


def _built_name(digest: str) -> str:
    return f"built {digest[:32]}"


def _built(digest: str) -> Any:
    return select(about.c.value).where(about.c.name == _built_name(digest))


def _unusable(place: URL, error: SQLAlchemyError) -> InputError:
    """What a database says before anything is asked of it holds nothing of what people sent.

    Its password is left out, should the driver repeat it.
    """
    if not isinstance(error, DBAPIError):
        return InputError(f"the database cannot be opened: {type(error).__name__}")
    if place.drivername == "sqlite":
        return InputError(f"cannot be used as a database: {error.orig}", path=str(place.database))
    said = next(iter(str(error.orig).splitlines()), "")
    if place.password and str(place.password) in said:
        said = ""
    reason = f"{type(error.orig).__name__}" + (f": {said}" if said else "")
    return InputError(f"the database cannot be opened: {reason}")


def _engine(url: URL) -> Engine:
    # Parameters never appear in errors: they are what people sent.
    options: dict[str, Any] = {"hide_parameters": True, "pool_size": _READERS, "max_overflow": 2}
    options["pool_timeout"] = PATIENCE / 1000
    if url.drivername != "sqlite":
        waits = {"connect_timeout": _CONNECT, "options": f"-c lock_timeout={PATIENCE}"}
        return create_engine(url, pool_pre_ping=True, connect_args=waits, **options)
    path = Path(str(url.database))
    _make_private(path)
    _check_ours(path)
    engine = create_engine(url, **options)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _make_private(path: Path) -> None:
    """The file, if it is new, so that its owner alone reads it; SQLite's others take after it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror or error}", path=path) from None


def _check_ours(path: Path) -> None:
    """Open it read-only, so that a file of another program stays as it is."""
    place = f"{path.resolve().as_uri()}?mode=ro"
    asked = "SELECT name FROM sqlite_master WHERE type = 'table'"
    try:
        with contextlib.closing(sqlite3.connect(place, PATIENCE / 1000, uri=True)) as connection:
            found = {name for (name,) in connection.execute(asked)}
    except sqlite3.Error as error:
        raise InputError(f"cannot be used as a database: {error}", path=path) from None
    if found and about.name not in found:
        raise InputError("is a database of something else; name a new file", path=path)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout = {PATIENCE}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        # What is deleted or replaced is overwritten, not only forgotten.
        "secure_delete = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
