"""What was published with each charge: a chain of digests beside that of the charges."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from discreet.privacy.ledger._entries import Publication, Title
from discreet.privacy.ledger._store import FIRST, damaged, version_of


def read(path: Path, connection: sqlite3.Connection, title: Title) -> Iterator[Publication]:
    """Every publication in order, each checked against the chain and against its charge.

    Raises:
        LedgerError: One of them, or their number, is not what was written.
    """
    if version_of(connection) == FIRST:
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
            raise damaged(path)
        yield publication
        previous, number = digest, publication.number
    if (number, previous) != _last(connection, title):
        raise damaged(path)


def content_of(connection: sqlite3.Connection, charge: int) -> str | None:
    """The digest of what a charge paid for; None if nothing is recorded."""
    select = "SELECT content FROM publications WHERE charge = ?"
    found = connection.execute(select, [charge]).fetchone()
    return None if found is None else found[0]


def append(
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
    number, previous = _last(connection, title)
    select = "SELECT number, digest FROM publications ORDER BY number DESC LIMIT 1"
    if (connection.execute(select).fetchone() or (0, title.digest)) != (number, previous):
        raise damaged(path)
    new = Publication(previous, number + 1, time, *charge, content)
    connection.execute(
        "INSERT INTO publications VALUES (?, ?, ?, ?, ?, ?)",
        [new.number, new.time, new.charge, new.charge_digest, new.content, new.digest],
    )
    connection.execute(
        "UPDATE title SET publications = ?, last_publication = ?", [new.number, new.digest]
    )


def _last(connection: sqlite3.Connection, title: Title) -> tuple[int, str]:
    """The number and the digest of the last publication, as the title has them."""
    count, last = connection.execute("SELECT publications, last_publication FROM title").fetchone()
    return count, title.digest if last is None else last
