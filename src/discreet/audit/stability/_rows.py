"""Rows to read: victims in populations that look alike, and attackers' rows that look odd."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ITEMS = ("1", "2", "3", "10", "007", "x y", "9223372036854775807")
"""The public catalogue: integers, text that looks like one, and the largest 64-bit integer."""
MOVIES = ITEMS[:4]
"""Those that a Netflix file can have."""
VICTIMS = 150
"""People in a population; each is compared in every pair of files."""
_BLANKS = " \t\ufeff"
_MOST_BITS = 2_048  # of integers that are taken for identifiers in columns of any objects


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
