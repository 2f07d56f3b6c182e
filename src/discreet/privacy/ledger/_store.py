"""The file: SQLite, one connection an operation, rolled back or on disk when a call returns.

A connection lives for one operation, so that nothing is shared with threads or forked processes,
and a ledger that was moved or replaced in the meantime is noticed instead of charged blindly.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from discreet.domain.errors import LedgerError
from discreet.domain.files import flush
from discreet.privacy.ledger._entries import Publication, Row, Title

FORMAT = 3
"""The newest layout that this code reads, and the one it writes. Older ones are read as they are,
and made into the newest by the first transaction that writes."""
FIRST = 1
"""The layout of discreet 0.1.0, without configurations and publications."""
_SECOND = 2
"""The layout without periods of series, and without units that have a period."""
_APPLICATION = 0x64736C67  # "dslg"
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA application_id = {application};
PRAGMA user_version = {format};
CREATE TABLE title (
    population TEXT NOT NULL, created TEXT NOT NULL, limits TEXT NOT NULL,
    charges INTEGER NOT NULL, head TEXT NOT NULL
);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, purpose TEXT NOT NULL,
    is_private INTEGER NOT NULL, events TEXT NOT NULL, spent TEXT NOT NULL, digest TEXT NOT NULL
);
"""
# A new file is made by the same steps as an old one is upgraded, so there is one layout only.
# Adding a column rewrites no row, and all steps are undone together where a transaction is.
_TO_SECOND = (
    "ALTER TABLE charges ADD COLUMN configuration TEXT",
    "ALTER TABLE title ADD COLUMN publications INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE title ADD COLUMN last_publication TEXT",
    """CREATE TABLE publications (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, charge INTEGER NOT NULL UNIQUE,
    charge_digest TEXT NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL
)""",
    f"PRAGMA user_version = {_SECOND}",
)
_TO_THIRD = (
    "ALTER TABLE charges ADD COLUMN series TEXT",
    f"PRAGMA user_version = {FORMAT}",
)
_STEPS = {FIRST: _TO_SECOND + _TO_THIRD, _SECOND: _TO_THIRD, FORMAT: ()}
_FIELDS = "SELECT number, time, purpose, is_private, events, spent"
_ROWS = {
    FIRST: f"{_FIELDS}, NULL, NULL, digest FROM charges",
    _SECOND: f"{_FIELDS}, configuration, NULL, digest FROM charges",
    FORMAT: f"{_FIELDS}, configuration, series, digest FROM charges",
}

_BUSY = "another process is using it; try again when that one is done"
_UNWRITABLE = "cannot be written; make the file and its folder writable for this account"
_FULL = "the disk is full; make room and try again"
_DAMAGED = (
    "is damaged; restore a copy made after its last charge, or count its budget as spent "
    "(the file was left as it is)"
)
_REASONS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
    sqlite3.SQLITE_PERM: _UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: _UNWRITABLE,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: "the disk refused to read or write it; see to the disk and try again",
    sqlite3.SQLITE_NOTADB: "is not a ledger; name a file that 'discreet ledger init' made",
}


def create(path: Path, title: Title) -> None:
    """Make the file, whole or not at all; never over anything that is there.

    Raises:
        LedgerError: Something is at `path` already, or the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.touch(exist_ok=False)
        with _explained(path):
            _build(temporary, title)
        flush(temporary)
        _appear(temporary, path)
        flush(path.parent)
    except OSError as error:
        raise _unmade(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    """A connection that sees one state of the ledger throughout.

    Raises:
        LedgerError: The file is missing, foreign, too new, damaged, locked or not to be read.
    """
    with _explained(path), _connected(path, wait) as connection:
        connection.execute("BEGIN")
        _check_kind(path, connection)
        yield connection


@contextlib.contextmanager
def writing(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    """A transaction that is on disk when the block has ended well, and undone otherwise.

    It holds the ledger's write lock from the start: of two at once the second waits. A ledger of
    an older format becomes one of the newest in the same transaction.

    Raises:
        LedgerError: As `reading`; or the file cannot be written.
    """
    with _explained(path), _connected(path, wait) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _check_kind(path, connection)
            _upgrade(connection)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says into one line for a person."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # Where damage has left no text, neither a value nor SQLite's own message can be decoded.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        raise LedgerError(f"{path}: {_REASONS.get(code & 0xFF, _DAMAGED)}") from error


def read_title(path: Path, connection: sqlite3.Connection) -> Title:
    """The first page."""
    rows = connection.execute("SELECT population, created, limits FROM title").fetchall()
    if len(rows) != 1:
        raise _damaged(path)
    return Title(*rows[0])


def read_rows(path: Path, connection: sqlite3.Connection, title: Title) -> Iterator[Row]:
    """Every charge in order, each checked against the chain of digests.

    Raises:
        LedgerError: A row, the title or the number of rows is not what was written.
    """
    previous, number = title.digest, 0
    select = _ROWS[_version_of(connection)]
    for *fields, digest in connection.execute(f"{select} ORDER BY number"):
        row = Row(previous, *fields)
        if (row.number, row.digest) != (number + 1, digest):
            raise _damaged(path)
        yield row
        previous, number = digest, row.number
    if (number, previous) != _head(connection):
        raise _damaged(path)


def read_last(path: Path, connection: sqlite3.Connection, title: Title) -> Row | None:
    """The last charge, checked against the one before it and against the title; None if none."""
    select = _ROWS[_version_of(connection)]
    rows = connection.execute(f"{select} ORDER BY number DESC LIMIT 2").fetchall()
    count, head = _head(connection)
    if not rows:
        if (count, head) != (0, title.digest):
            raise _damaged(path)
        return None
    *fields, digest = rows[0]
    row = Row(rows[1][-1] if len(rows) > 1 else title.digest, *fields)
    if (row.number, row.digest, digest) != (count, digest, head):
        raise _damaged(path)
    return row


def append(connection: sqlite3.Connection, row: Row) -> None:
    """Write one more charge."""
    fields = [row.number, row.time, row.purpose, row.is_private, row.events, row.spent]
    connection.execute(
        "INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [*fields, row.digest, row.configuration, row.series],
    )
    connection.execute("UPDATE title SET charges = ?, head = ?", [row.number, row.digest])


def read_charge(connection: sqlite3.Connection, number: int) -> tuple[str | None, bool]:
    """The digest of a charge, None if there is no such charge; and whether it is of a series.

    Only while writing, which makes a file one of the newest format.
    """
    select = "SELECT digest, series IS NOT NULL FROM charges WHERE number = ?"
    found = connection.execute(select, [number]).fetchone()
    return (None, False) if found is None else (found[0], bool(found[1]))


def read_publications(
    path: Path, connection: sqlite3.Connection, title: Title
) -> Iterator[Publication]:
    """Every publication in order, each checked against the chain and against its charge.

    Raises:
        LedgerError: One of them, or their number, is not what was written.
    """
    if _version_of(connection) == FIRST:
        return
    previous, number = title.digest, 0
    found = connection.execute(
        "SELECT p.number, p.time, p.charge, p.charge_digest, p.content, p.digest, c.digest "
        "FROM publications AS p LEFT JOIN charges AS c ON c.number = p.charge ORDER BY p.number"
    )
    for *fields, digest, charge_digest in found:
        publication = Publication(previous, *fields)
        stated = (publication.number, publication.digest, publication.charge_digest)
        if stated != (number + 1, digest, charge_digest):
            raise _damaged(path)
        yield publication
        previous, number = digest, publication.number
    if (number, previous) != _last_publication(connection, title):
        raise _damaged(path)


def content_of(connection: sqlite3.Connection, charge: int) -> str | None:
    """The digest of what a charge paid for; None if nothing is recorded."""
    select = "SELECT content FROM publications WHERE charge = ?"
    found = connection.execute(select, [charge]).fetchone()
    return None if found is None else found[0]


def append_publication(
    path: Path,
    connection: sqlite3.Connection,
    title: Title,
    time: str,
    charge: tuple[int, str],
    content: str,
) -> None:
    """Write one more publication, of the charge with this number and digest.

    Raises:
        LedgerError: The last publication is not what was written.
    """
    number, previous = _last_publication(connection, title)
    select = "SELECT number, digest FROM publications ORDER BY number DESC LIMIT 1"
    if (connection.execute(select).fetchone() or (0, title.digest)) != (number, previous):
        raise _damaged(path)
    new = Publication(previous, number + 1, time, *charge, content)
    connection.execute(
        "INSERT INTO publications VALUES (?, ?, ?, ?, ?, ?)",
        [new.number, new.time, new.charge, new.charge_digest, new.content, new.digest],
    )
    connection.execute(
        "UPDATE title SET publications = ?, last_publication = ?", [new.number, new.digest]
    )


def _last_publication(connection: sqlite3.Connection, title: Title) -> tuple[int, str]:
    """The number and the digest of the last publication, as the title has them."""
    count, last = connection.execute("SELECT publications, last_publication FROM title").fetchone()
    return count, title.digest if last is None else last


def check_pages(path: Path, connection: sqlite3.Connection) -> None:
    """Let SQLite look at every page.

    Raises:
        LedgerError: The file is damaged.
    """
    if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
        raise _damaged(path)


def _damaged(path: Path) -> LedgerError:
    """The error for a file that is not as it was written."""
    return LedgerError(f"{path}: {_DAMAGED}")


def _head(connection: sqlite3.Connection) -> tuple[int, str]:
    count, head = connection.execute("SELECT charges, head FROM title").fetchone()
    return count, head


def _version_of(connection: sqlite3.Connection) -> int:
    """The format of the file."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _upgrade(connection: sqlite3.Connection) -> None:
    for step in _STEPS[_version_of(connection)]:
        connection.execute(step)


@contextlib.contextmanager
def _connected(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    _check_there(path)
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)
    try:
        # EXTRA: the folder is flushed after the journal is gone. Without it a power cut could
        # bring the journal back, and with it undo a charge whose release is out.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA cell_size_check = ON")
        yield connection
    finally:
        connection.close()


def _check_there(path: Path) -> None:
    """Refuse with a reason what SQLite would not distinguish; never opens the file.

    Closing a second descriptor of the file would drop the locks that SQLite holds on it elsewhere
    in this process.
    """
    try:
        if path.is_dir():
            raise LedgerError(f"{path}: is a folder; name the ledger's file in it")
        if path.stat().st_size == 0:
            raise LedgerError(f"{path}: is empty, not a ledger; restore it from a copy")
        if not os.access(path, os.R_OK):
            raise LedgerError(f"{path}: may not be read by this account")
    except FileNotFoundError:
        raise LedgerError(
            f"{path}: there is no ledger; make one with 'discreet ledger init {path} "
            "--population WHOSE --protect user --epsilon 3'"
        ) from None
    except OSError as error:
        raise LedgerError(f"{path}: cannot be read: {error.strerror}") from error


def _check_kind(path: Path, connection: sqlite3.Connection) -> None:
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    )
    if application != _APPLICATION:
        raise LedgerError(f"{path}: is an SQLite database but not a ledger; name another file")
    if version > FORMAT:
        raise LedgerError(
            f"{path}: has format {version}, and this version of discreet reads up to {FORMAT}; "
            "install a newer one"
        )
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if version not in _ROWS or mode != "delete":
        raise _damaged(path)


def _build(temporary: Path, title: Title) -> None:
    connection = sqlite3.connect(temporary, isolation_level=None)
    try:
        connection.executescript(_SCHEMA.format(application=_APPLICATION, format=FIRST))
        fields = [title.population, title.created, title.limits, title.digest]
        connection.execute("INSERT INTO title VALUES (?, ?, ?, 0, ?)", fields)
        _upgrade(connection)
    finally:
        connection.close()


def _appear(temporary: Path, path: Path) -> None:
    """Give the finished file its name, or fail with FileExistsError."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: claim the name first, then fill it in one step.
        path.touch(exist_ok=False)
        try:
            temporary.replace(path)
        except OSError:
            path.unlink()
            raise


def _unmade(path: Path, error: OSError) -> LedgerError:
    if isinstance(error, FileExistsError):
        return LedgerError(f"{path}: exists, and a ledger is never overwritten")
    return LedgerError(f"{path}: cannot be made: {error.strerror or error}")
