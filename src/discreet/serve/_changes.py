"""The database's tables, and how a group of changes is made in one transaction.

No name, no address, no time is stored: a row says that somebody enrolled, and what they last sent.

Several services may share a database. Whatever a group touches it locks first and in one order:
people by their numbers, claims by collection and slot, reports by their people's numbers. So no
two groups wait for each other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from discreet.protocols.servers import Claim

VERSION = 2
"""Of these tables; in the first, reports had no slot."""

# Bytes that a database must have room for to be ready: more than most reports take. Chosen by hand.
_ROOM = 32 << 10

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

It stays when what was sent is deleted, so that deleting it does not allow a different claim.
"""

admissions = Table("admissions", metadata, Column("digest", LargeBinary(32), primary_key=True))
"""What has admitted somebody already; of nobody in particular."""

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


@dataclass(frozen=True, repr=False)
class Enrol:
    """A new capability, by its digest; and what it was admitted for, which admits once."""

    digest: bytes
    once: bytes | None = None


@dataclass(frozen=True, repr=False)
class Put:
    """What a person sends, in place of what they sent before."""

    digest: bytes
    collection: str
    content: bytes
    claim: Claim | None = None

    @property
    def slot(self) -> int | None:
        """The slot that it is about."""
        return None if self.claim is None else self.claim.slot


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
"""Done; or the capability is not enrolled (False), or other was said first (None); for an
enrolment None says that what it was admitted for has admitted somebody already."""

_Key = tuple[str, int]


def insert_once(connection: Connection, table: Any) -> Any:
    """An insertion that leaves a row with the same key as it is."""
    return _dialect(connection).insert(table).on_conflict_do_nothing()


def make(connection: Connection, changes: Sequence[Change]) -> list[Outcome]:
    """Make some changes, each as if those before it had been made; the caller commits.

    Without changes, a row as large as a report is written and deleted, to find out whether the
    database has room: on a nearly full disk a smaller row may still fit.
    """
    if not changes:
        # Under a name of its own, so that services do not wait for each other; of random
        # characters, so that no database compresses it.
        name = f"room {secrets.token_hex(16)}"
        connection.execute(insert(about), {"name": name, "value": secrets.token_hex(_ROOM // 2)})
        connection.execute(delete(about).where(about.c.name == name))
        return []
    # First, and at once: later changes of the same group may be theirs. Who is here already stays.
    if enrolled := _admitted(connection, changes):
        connection.execute(insert_once(connection, people), enrolled)
    persons = _persons(connection, {each.digest for each in changes})
    known = list(zip(changes, _known(changes, persons), strict=True))
    claimed = _claimed(connection, (each for each, here in known if here))
    group = _Group(connection, persons, claimed)
    outcomes = [group.take(each) if here else _unknown(each) for each, here in known]
    group.write()
    return outcomes


def _unknown(change: Change) -> Outcome:
    """What is said of a capability that is not enrolled."""
    return None if isinstance(change, Enrol) else False


def _admitted(connection: Connection, changes: Sequence[Change]) -> list[dict[str, bytes]]:
    """The people to enrol: what they were admitted for has admitted nobody, now or before.

    Whoever asks again, because an answer was lost, is here or among them, and uses up nothing.
    """
    enrols = [each for each in changes if isinstance(each, Enrol)]
    asking = [(each.once, each.digest) for each in enrols if each.once is not None]
    # Not locked: people are locked after admissions, by every process.
    asked = select(people.c.digest).where(people.c.digest.in_(sorted({d for _, d in asking})))
    here = {bytes(digest) for (digest,) in connection.execute(asked)} if asking else set()
    new = {each.digest for each in enrols if each.once is None}
    # Sorted: rows are locked in one order. Of two in a group the first by digest is let in.
    for once, digest in sorted(asking):
        if digest not in here | new:
            used = connection.execute(insert_once(connection, admissions), {"digest": once})
            new |= {digest} if used.rowcount else set()
    return [{"digest": each} for each in dict.fromkeys(e.digest for e in enrols) if each in new]


def _dialect(connection: Connection) -> Any:
    return postgresql if connection.dialect.name == "postgresql" else sqlite


def _persons(connection: Connection, digests: set[bytes]) -> dict[bytes, int]:
    asked = select(people.c.digest, people.c.person).where(people.c.digest.in_(sorted(digests)))
    # Locked in one order by every process, so that two transactions never wait for each other.
    asked = asked.order_by(people.c.person).with_for_update()
    return {bytes(digest): person for digest, person in connection.execute(asked)}


def _known(changes: Sequence[Change], persons: dict[bytes, int]) -> list[bool]:
    """Whether each change's capability is enrolled when its turn comes."""
    gone: set[bytes] = set()
    known = []
    for each in changes:
        known.append(each.digest in persons and each.digest not in gone)
        if isinstance(each, Forget):
            gone.add(each.digest)
    return known


def _claimed(connection: Connection, changes: Iterable[Change]) -> dict[_Key, tuple[int, bytes]]:
    """What was said first of each slot, how far and by which digest; now it has been said."""
    first: dict[_Key, Claim] = {}
    for each in changes:
        # The first of a group counts as said first: changes are made in their order.
        if isinstance(each, Put) and each.claim is not None:
            first.setdefault((each.claim.scope, each.claim.slot), each.claim)
    found = {}
    for scope in sorted({scope for scope, _ in first}):
        # Claims refer to what is known; the scope's parameters are in every collection of it.
        connection.execute(insert_once(connection, collections), {"digest": scope, "content": "{}"})
    # Insert, or leave what is there; then read and lock it: whichever process came first has said
    # it, and both see the same.
    for key in sorted(first):
        row = dict(zip(("collection", "slot"), key, strict=True))
        row |= {"stop": first[key].stop, "mark": first[key].mark}
        connection.execute(insert_once(connection, claims), row)
        asked = select(claims.c.stop, claims.c.mark).where(_place(claims, key)).with_for_update()
        said = connection.execute(asked).one()
        found[key] = said.stop, bytes(said.mark)
    return found


def _place(table: Any, key: _Key) -> Any:
    return and_(table.c.collection == key[0], table.c.slot == key[1])


class _Group:
    """The changes of one transaction, of which each person's last one counts in the end."""

    def __init__(
        self,
        connection: Connection,
        persons: dict[bytes, int],
        claimed: dict[_Key, tuple[int, bytes]],
    ) -> None:
        self._connection, self._persons, self._claimed = connection, persons, claimed
        self._last: dict[int, Put | Withdraw | Forget] = {}
        self._holders: dict[_Key, int] = {}
        self._said: dict[_Key, Claim] = {}

    def take(self, change: Change) -> Outcome:
        """One more change, of a capability that is enrolled."""
        if isinstance(change, Enrol):
            return True
        person = self._persons[change.digest]
        if isinstance(change, Put) and change.claim is not None:
            claim, key = change.claim, (change.collection, change.claim.slot)
            said = claim.scope, claim.slot
            # What was said may be repeated or continued, and not said otherwise.
            if not claim.follows(*self._claimed[said], self._stored(person)):
                return None
            self._claimed[said] = claim.stop, claim.mark
            self._said[said] = claim
            self._evict(key)
            self._holders[key] = person
        self._last[person] = change
        return True

    def write(self) -> None:
        """What is left of them."""
        # Sorted, like all of these: rows are locked in one order.
        for key, claim in sorted(self._said.items()):
            said = update(claims).where(_place(claims, key))
            self._connection.execute(said.values(stop=claim.stop, mark=claim.mark))
        puts = {p: each for p, each in sorted(self._last.items()) if isinstance(each, Put)}
        # Reports first, since those that replace them may claim the same slots; people last, since
        # their reports refer to them.
        removed = {p for p, each in self._last.items() if not isinstance(each, Put)}
        removed |= self._others(puts)
        self._remove(reports, removed)
        if puts:
            put = _dialect(self._connection).insert(reports)
            fresh = {name: put.excluded[name] for name in ("collection", "slot", "content")}
            put = put.on_conflict_do_update(index_elements=["person"], set_=fresh)
            rows = [
                {"person": p, "collection": e.collection, "slot": e.slot, "content": e.content}
                for p, e in puts.items()
            ]
            self._connection.execute(put, rows)
        self._remove(people, {p for p, each in self._last.items() if isinstance(each, Forget)})

    def _stored(self, person: int) -> bytes | None:
        """What the person has sent so far."""
        # Changes of this group that are not written yet come before what the database has.
        if person in self._last:
            last = self._last[person]
            return last.content if isinstance(last, Put) else None
        asked = select(reports.c.content).where(reports.c.person == person)
        stored = self._connection.execute(asked).scalar()
        return None if stored is None else bytes(stored)

    def _evict(self, key: _Key) -> None:
        """Take back what came for a slot before in this group."""
        # Persons are numbered from 1, so that -1 is nobody.
        before = self._last.get(self._holders.get(key, -1))
        if isinstance(before, Put) and (before.collection, before.slot) == key:
            self._last[self._holders[key]] = Withdraw(before.digest)

    def _others(self, puts: dict[int, Put]) -> set[int]:
        """Those whose reports about the same slots go, and who are not in this group."""
        slots: dict[str, dict[int, int]] = {}
        for person, each in puts.items():
            if each.slot is not None:
                slots.setdefault(each.collection, {})[each.slot] = person
        others = set()
        for collection, holders in slots.items():
            here = reports.c.collection == collection, reports.c.slot.in_(sorted(holders))
            asked = select(reports.c.person, reports.c.slot).where(*here)
            found = self._connection.execute(asked).all()
            others |= {row.person for row in found if holders[row.slot] != row.person}
        if others:
            # Their people are not locked yet: lock all reports of this group, in their order.
            touched = reports.c.person.in_(sorted(others | set(self._last)))
            lock = select(reports.c.person).where(touched).order_by(reports.c.person)
            self._connection.execute(lock.with_for_update()).all()
        return others

    def _remove(self, table: Any, persons: set[int]) -> None:
        if persons:
            statement = delete(table).where(table.c.person == bindparam("gone"))
            self._connection.execute(statement, [{"gone": p} for p in sorted(persons)])
