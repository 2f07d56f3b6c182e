"""The search for a counter-example to `ratings/PROOF.md`: one person's rows, and all others'.

Pairs of sources that differ in one person's rows are read, and must agree in everybody else's.
"""

from __future__ import annotations

import math
import random
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from discreet.audit._neighbours import one_thread
from discreet.domain import InputError

# Rows: victims in populations whose names look alike, and attackers' rows that look odd.

ITEMS = ("1", "2", "3", "10", "007", "x y", "9223372036854775807")
"""The public catalogue: integers, text that looks like one, and the largest 64-bit integer."""
MOVIES = ITEMS[:4]
"""Those that a Netflix file can have."""
# People in a population; each is compared in every pair of files. Chosen by hand: more than one
# batch of a small reader, and still milliseconds to read.
VICTIMS = 150
_BLANKS = " \t\ufeff"
# The longest integer, in bits, that readers take for an identifier in columns of any objects.
_MOST_BITS = 2_048


class Quoted(str):
    """A cell that is written in quotes, those in it doubled, where the layout has quotes."""

    __slots__ = ()


Cell = Any
"""Text, bytes (as they are, even if they are not UTF-8), a number, None, or any other object."""
Row = tuple[Cell, ...]
"""User, item, rating, time; or any other number of cells."""
Key = tuple[str, str]
"""A user and an item, as text."""


@dataclass(frozen=True)
class Addition:
    """One person's rows, and which of the places (0 first, 1 last) they are put at."""

    rows: tuple[Row, ...]
    place: float


def identifier(cell: Cell) -> str | None:
    """What a cell means as an identifier, by the documentation; None if it means nothing."""
    if isinstance(cell, bytes):
        try:
            cell = cell.decode()
        except UnicodeDecodeError:
            return None
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, int):
        return str(cell) if cell.bit_length() <= _MOST_BITS else None
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return None
        return str(int(cell)) if cell == int(cell) else repr(cell)
    return cell.strip(_BLANKS) or None if isinstance(cell, str) else None


_Name = Callable[[int], Cell]
POPULATIONS: Mapping[str, _Name | None] = {
    "nobody": None,
    "integers": str,
    "a tab before": lambda n: f"\t{n}",
    "a space behind": lambda n: f"{n} ",
    "leading zeros": lambda n: f"0{n}",
    "names": lambda n: f"user {n}",
    "large": lambda n: str(2**62 + n),
    "beyond 64 bits": lambda n: str(10**20 + n),
    "full-width digits": lambda n: "".join(chr(0xFF10 + int(digit)) for digit in str(n)),
    "marks": lambda n: f"\ufeff{n}",
    "quoted": lambda n: Quoted(f'{n}, "the {n}th"'),
    "whole": lambda n: n,
    "large whole": lambda n: 2**62 + n,
    "floats": float,
    "any": lambda n: (str(n), f" {n}", n, float(n), f"0{n}", f"u{n}")[n % 6],
}
"""What people are called, by population: alike, so that an odd one among them is the attacker."""

# fmt: off
IDS: tuple[Cell, ...] = (
    "abc", "\t7", " 7 ", "7 ", "05", "+7", "-0", "-7", "0", "７", "\ufeff7", "\ufeff", "a,b",
    "a;b;c", "a;b;c;d;e;f", "a\tb\tc\td\te\tf", "a|b|c|d|e|f", "a\tb", "a|b", "a::b", "a b",
    "1.0", "1e3", "7\0", "\0", "", " ", "user", "userId", "0x7", "1_000",
    "PAR1", "PK\x03\x04", "5:", "nan", "None", "null", "\\", "'", "#7", "7.", "x" * 300, "9" * 40,
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615",
    Quoted("7"), Quoted(" 7"), Quoted("a,b"), Quoted('a"b'), Quoted(""), Quoted("a\tb;c::d"),
    b"\xff", b"\xff\xfe7", b"\x1f\x8b", b"\xed\xa0\x80", b"7\xc3",
    7, 0, -7, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30, 10**5000,
    7.0, 7.5, -0.0, float(2**53), 1e308, math.nan, math.inf, None, True, b"7", (), "\ud800",
)
"""Identifiers that may make a reader think again."""
RATINGS: tuple[Cell, ...] = (
    "3", " 3 ", "03", "+3", "3.", "3e0", "3.0000000000000000000001", "1e308", "1e99999", "nan",
    "inf", "-1", "three", "3,0", "3;0", "", "\0", "3\0", "３", Quoted("3"), b"\xff",
    "0." + "3" * 400,
    3, 3.5, 1e308, math.nan, math.inf, None, True, 2**63, "\ufeff3", "3 3", "rating",
)
TIMES: tuple[Cell, ...] = (
    "1000", "1000.5", "-1", "4294967296", "1e9", "1e400", "2005-12-31", "2005-02-30", "noon", "",
    "2005-12-31T23:59:59.5+01:00", "31.12.2005", "１", Quoted("2005-12-31 10:00"), b"\xff",
    1000, -1, 2**40, 1000.5, math.nan, None, "time", "0" * 50 + "7",
)
_BROKEN: tuple[Row, ...] = (
    (), ("",), (" ",), ("\ufeff",), ("7",), ("7", "1"), ("7", "1", "3"), ("7", "1", "3", "5", "9"),
    ("",) * 4, ("",) * 40, ("user", "item", "rating", "time"), ("a\rb", "1", "3", "5"),
    ("userId", "movieId", "rating", "timestamp"), ("x" * 5000, "1", "3", "5"),
    ('"great', "1", "3", "5"), ('bad"', "1", "3", "5"), ("7", "1", "3", '"'), ('"', "1", "3", "5"),
    ('a"b', "1", "3", "5"), (b'"a\\"b"', "1", "3", "5"), ('"a"b', "1", "3", "5"),
    (Quoted("a\nb"), "1", "3", "5"), (Quoted("a\r\nb"), "1", "3", "5"),
)
"""Lines with too few or too many fields, or with quotes that are not what they should be."""
_CLASSIC: tuple[Row, ...] = (
    ("abc", "1", "3", "5"), (" 6", "1", "3", "5"), ("05", "1", "3", "5"), ("\t7", "1", "3", "5"),
    ("7", "1", "3", "5", "9"), ("a;b;c;d;e;f", "1", "3", "5"), ('"great', "1", "3", "5"),
)
"""Rows that changed how 0.1.0 read others."""
# fmt: on


def victims(name: _Name | None, rng: random.Random) -> list[Row]:
    """People who are called alike, each with an item or two; all of their rows are good."""
    if name is None:
        return []
    rows: list[Row] = []
    for number in range(1, VICTIMS + 1):
        for item in rng.sample(MOVIES, rng.randint(1, 2)):
            rating = rng.choice(("1", "3", "5", "4.0", " 2", "2.99999999999999999999"))
            rows.append((name(number), item, rating, rng.choice(("1000", "2005-12-31", "77.5"))))
    rng.shuffle(rows)
    return rows


_WHOLE_ROWS = {"broken": _BROKEN, "classic": _CLASSIC}
_KINDS = ("id", "id", "id", "item", "rating", "time", "several", "classic", *_WHOLE_ROWS)


def addition(rng: random.Random, items: Sequence[str]) -> Addition:
    """One person's rows: an odd cell somewhere, or a line that is broken."""
    place = rng.choice((0.0, 0.0, 0.5, 1.0, rng.random()))
    kind = rng.choice(_KINDS)
    if kind in _WHOLE_ROWS:
        return Addition((rng.choice(_WHOLE_ROWS[kind]),), place)
    user: Cell = rng.choice(IDS) if kind in ("id", "several") else rng.choice(("7", "new", 7))
    rows = []
    for item in rng.sample(items, rng.randint(2, len(items)) if kind == "several" else 1):
        rating = rng.choice(RATINGS) if kind in ("rating", "several") else "4"
        time = rng.choice(TIMES) if kind in ("time", "several") else "2000"
        rows.append((user, rng.choice(IDS) if kind == "item" else item, rating, time))
    return Addition(tuple(rows), place)


# The search.

# Pairs of sources for each reader. With `VICTIMS` people in each, that is more than a hundred
# thousand pairs of a victim and an attacker over all readers, in some seconds.
FILES = 24
# The same for planted bugs, which are quick to read; each is found many times over.
PLANTED_FILES = 200
# One in this many pairs is read under `refuse` too.
_REFUSING = 3
# Violations that are described.
_EXAMPLES = 3
# Additions tried for one pair of sources that the layout can carry, before the search gives up.
_TRIES = 50
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
    with one_thread():
        return _search(ReaderFinding(name), reader, files, random.Random(f"{seed} {name}"))


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
    while bases and found.files < files and tried < _TRIES * files:
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
