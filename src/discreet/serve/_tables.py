"""What the database holds: digests of capabilities, what was sent with each, what is said once.

No name, no address, no time: a row says that somebody enrolled, and what they last sent.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    event,
)

VERSION = 2
"""Of these tables; in the first, reports had no slot."""

metadata = MetaData()
_Number = BigInteger().with_variant(Integer(), "sqlite")

about = Table(
    "about",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

collections = Table(
    "collections",
    metadata,
    Column("digest", String(128), primary_key=True),
    Column("content", Text, nullable=False),
)
"""The public parameters under which something was ever sent, as JSON."""

people = Table(
    "people",
    metadata,
    Column("person", _Number, primary_key=True),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
)

reports = Table(
    "reports",
    metadata,
    Column(
        "person",
        _Number,
        ForeignKey(people.c.person, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("collection", ForeignKey(collections.c.digest), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("slot", _Number),
)
one_a_slot = Index("one_report_a_slot", reports.c.collection, reports.c.slot, unique=True)
"""Where a report is about a slot: whichever capability it came with, there is one."""

claims = Table(
    "claims",
    metadata,
    Column("collection", ForeignKey(collections.c.digest), primary_key=True),
    Column("slot", _Number, primary_key=True, autoincrement=False),
    Column("stop", _Number, nullable=False),
    Column("mark", LargeBinary(32), nullable=False),
)
"""What a protocol lets be said once: for a slot how far it was said, and a digest of it.

`collection` is the scope in which it may be said once, which several collections can share.

It stays when what was sent is deleted, so that nobody says another thing by deleting the first.
"""

# Noise does not compress: PostgreSQL need not try.
event.listen(
    reports,
    "after_create",
    lambda _table, connection, **_: (
        connection.exec_driver_sql("ALTER TABLE reports ALTER COLUMN content SET STORAGE EXTERNAL")
        if connection.dialect.name == "postgresql"
        else None
    ),
)
