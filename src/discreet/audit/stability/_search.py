"""The search: pairs of sources that differ in one person's rows, and what must be alike in both."""

from __future__ import annotations

import random
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numba

from discreet.audit.stability._rows import POPULATIONS, Addition, Key, Row, addition, victims
from discreet.domain import InputError

FILES = 24
"""Pairs of sources for each reader. With `VICTIMS` people in each, that is more than a hundred
thousand pairs of a victim and an attacker over all readers, in some seconds."""
PLANTED_FILES = 200
"""The same for planted bugs, which are quick to read; each is found many times over."""
_REFUSING = 3
"""Every so many pairs are read under `refuse` too."""
_EXAMPLES = 3
BadRows = Literal["skip", "refuse"]


@dataclass(frozen=True)
class Reading:
    """What was read: each record's value and time by user and item, and how many rows were bad."""

    records: Mapping[Key, tuple[Any, ...]]
    skipped: int


class Refused(Exception):
    """A layout cannot carry a row at all, so nobody can add it."""


class Reader(Protocol):
    """Something that reads rows, and how to write rows for it."""

    @property
    def about(self) -> str:
        """What it reads, in a few words."""

    @property
    def items(self) -> Sequence[str]:
        """The items that an attacker's row may be about."""

    def source(self, rows: Sequence[Row]) -> Any:
        """What to read: bytes or a table.

        Raises:
            Refused: The layout cannot carry one of these rows.
        """

    def touches(self, row: Row) -> set[Key]:
        """The records that a row may change: one, or none if it is bad; a whole line of Jester's.

        Raises:
            InputError: The documentation says that such a row makes the whole source unreadable.
        """

    def read(self, source: Any, on_bad_rows: BadRows) -> Reading:
        """All records.

        Raises:
            InputError: The source is refused.
        """


@dataclass
class ReaderFinding:
    """What a search found of one reader."""

    reader: str
    files: int = 0
    """Pairs of sources that were read and compared."""
    pairs: int = 0
    """Pairs of a victim and an attacker: each victim's records were compared in each of them."""
    violations: int = 0
    """Pairs of sources that refute the theorem."""
    examples: list[str] = field(default_factory=list)
    """Some of them, in words."""

    @property
    def is_violated(self) -> bool:
        """Whether the reader is not stable."""
        return self.violations > 0

    def as_json(self) -> dict[str, Any]:
        """For `discreet audit --json`."""
        return {
            "reader": self.reader,
            "files": self.files,
            "pairs": self.pairs,
            "violations": self.violations,
            "examples": self.examples,
        }

    def note(self, population: str, added: Addition, what: str) -> None:
        """Count a violation."""
        self.violations += 1
        if len(self.examples) < _EXAMPLES:
            shown = _shown(added.rows)
            self.examples.append(f"{population}, at {added.place:.2f} {shown}: {what}")


def _shown(rows: Sequence[Row]) -> str:
    try:
        return reprlib.repr(rows)
    except ValueError:
        return "(an integer that is too long to print)"  # Python prints 4,300 digits and no more


def search(name: str, reader: Reader, *, files: int = FILES, seed: int = 0) -> ReaderFinding:
    """Look for a person whose rows change how others' rows are read.

    Args:
        name: What to call the reader.
        reader: The reader.
        files: How many pairs of sources to compare; those that the layout cannot carry are not
            counted and others are tried.
        seed: Makes it repeatable.
    """
    threads = numba.get_num_threads()
    numba.set_num_threads(1)  # so small sources take longer to share out than to read
    try:
        return _search(ReaderFinding(name), reader, files, random.Random(f"{seed} {name}"))
    finally:
        numba.set_num_threads(threads)


def _search(found: ReaderFinding, reader: Reader, files: int, rng: random.Random) -> ReaderFinding:
    bases = {}
    for population, naming in POPULATIONS.items():
        rows = victims(naming, rng)
        if not _carries(reader, rows):
            continue
        try:
            bases[population] = (rows, reader.read(reader.source(rows), "refuse"))
        except InputError:
            found.note(population, Addition((), 0.0), "refused, though every row is good")
    tried = 0
    while bases and found.files < files and tried < 50 * files:
        tried += 1
        population = rng.choice(list(bases))
        rows, before = bases[population]
        added = addition(rng, reader.items)
        place = round(added.place * len(rows))
        try:
            source = reader.source([*rows[:place], *added.rows, *rows[place:]])
        except Refused:
            continue
        found.files += 1
        found.pairs += max(1, len({user for user, _ in before.records}))
        wrong = _wrong(reader, source, added, before, found.files % _REFUSING == 0)
        if wrong is not None:
            found.note(population, added, wrong)
    return found


def _carries(reader: Reader, rows: Sequence[Row]) -> bool:
    """Whether the layout can carry all of these rows, each a good one."""
    try:
        reader.source(rows)
        return all(reader.touches(row) for row in rows)
    except (Refused, InputError):
        return False


def _wrong(
    reader: Reader, source: Any, added: Addition, before: Reading, try_refusing: bool
) -> str | None:
    """What refutes the theorem in this pair, or None."""
    try:
        may_change = set().union(*map(reader.touches, added.rows))
    except InputError:
        return _not_refused(reader, source)
    try:
        after = reader.read(source, "skip")
    except InputError:
        return "accepted without these rows and refused with them"
    except Exception as error:  # noqa: BLE001 - whatever it is, one person's row caused it
        return f"{type(error).__name__} with these rows"
    records = before.records.keys() | after.records.keys()
    changed = {key for key in records if before.records.get(key) != after.records.get(key)}
    if not changed <= may_change:
        return f"{len(changed - may_change):,} records that are not the attacker's changed"
    bad = after.skipped - before.skipped
    if not 0 <= bad <= len(added.rows):
        return f"{bad} rows more are bad, though {len(added.rows)} were added"
    return _wrong_when_refusing(reader, source, after, bad) if try_refusing else None


def _not_refused(reader: Reader, source: Any) -> str | None:
    """A source whose quotes do not say where a field ends must be refused as a whole."""
    try:
        reader.read(source, "skip")
    except InputError:
        return None
    return "read, though its quotes do not say where a field ends"


def _wrong_when_refusing(reader: Reader, source: Any, skipping: Reading, bad: int) -> str | None:
    """With `refuse` a bad row refuses the source, and nothing else does or changes anything."""
    try:
        refusing = reader.read(source, "refuse")
    except InputError:
        return None if bad else "refused, though no row is bad"
    if bad:
        return "accepted under refuse, though a row is bad"
    return None if refusing == skipping else "read otherwise under refuse than under skip"
