"""The real readers: `read_ratings` on files and tables of every layout."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.audit.stability._folder import Folder
from discreet.audit.stability._records import CATALOG, SCALE, records_of
from discreet.audit.stability._rows import ITEMS, MOVIES, Key, Quoted, Row, identifier
from discreet.audit.stability._search import BadRows, Reader, Reading, Refused
from discreet.audit.stability._tables import table_readers
from discreet.domain import InputError
from discreet.ratings.readers import read_ratings

_HEADER: Row = ("user", "item", "rating", "time")
_COUNTED = {"user": 0, "item": 1, "rating": 2, "time": 3}
_JOKES = 100
_TWINS = 20
"""People who rated the same jokes alike; more than there are."""


@dataclass(frozen=True)
class TextReader:
    """Rows as lines of separated fields."""

    about: str
    file: str
    separator: str = ","
    quoting: str = "lines"
    header: bool = True
    newline: str = "\n"
    bom: bool = False
    more: int = 0
    """Fields behind the time, which nobody reads."""
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Folder = field(default_factory=Folder)
    items: Sequence[str] = ITEMS

    def source(self, rows: Sequence[Row]) -> bytes:
        lines = [self._line(row) for row in ([_HEADER] if self.header else []) + list(rows)]
        data = ("\ufeff" * self.bom).encode()
        data += b"".join(line + self.newline.encode() for line in lines)
        return gzip.compress(data, 1) if self.file.endswith(".gz") else data

    def touches(self, row: Row) -> set[Key]:
        fields: list[bytes] = []
        for cell in self._complete(row):
            if isinstance(cell, Quoted) and self.quoting != "none":
                if "\n" in cell and self.quoting == "lines":
                    raise InputError("a quote is not closed on its line")
                fields.append(cell.encode())
                continue
            data = self._bytes(cell)
            if b'"' in data and self.quoting == "lines":
                raise InputError("a quote stands inside a field")
            fields += data.split(self.separator.encode())
        names = [identifier(each) for each in fields[:2]]
        if len(fields) != len(_HEADER) + self.more or not _is_utf8(b"".join(fields)):
            return set()
        return {(names[0], names[1])} if names[0] and names[1] else set()

    def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
        path = self.folder.write(self.file, source)
        options: dict[str, Any] = {"scale": SCALE, "catalog": CATALOG, **self.options}
        return records_of(read_ratings(path, on_bad_rows=on_bad_rows, **options))

    def _complete(self, row: Row) -> Row:
        return (*row, *["."] * self.more) if len(row) == len(_HEADER) else row

    def _line(self, row: Row) -> bytes:
        line = self.separator.encode().join(self._bytes(cell) for cell in self._complete(row))
        may_break = self.quoting != "none" and any(isinstance(cell, Quoted) for cell in row)
        if b"\n" in line and not may_break:
            raise Refused
        return line

    def _bytes(self, cell: Any) -> bytes:
        if isinstance(cell, Quoted):
            doubled = cell.replace('"', '""')
            return f'"{doubled}"'.encode()
        data = cell if isinstance(cell, bytes) else _encoded(cell)
        if b'"' in data and self.quoting == "multiline":
            # Whoever says multiline says that every quote is doubled.
            raise Refused
        return data


@dataclass(frozen=True)
class NetflixReader:
    """Customers' lines under the lines of movies, which are public."""

    about: str = "Netflix: customer,rating,date under movie: lines"
    folder: Folder = field(default_factory=Folder)
    items: Sequence[str] = MOVIES

    def source(self, rows: Sequence[Row]) -> bytes:
        lines: dict[str, list[bytes]] = {movie: [f"{movie}:".encode()] for movie in MOVIES}
        for row in rows:
            line = b",".join(self._fields(row))
            if b"," not in line or b"\n" in line:
                raise Refused
            lines[row[1]].append(line)
        return b"".join(line + b"\n" for movie in MOVIES for line in lines[movie])

    def touches(self, row: Row) -> set[Key]:
        fields = b",".join(self._fields(row)).split(b",")
        user = identifier(fields[0])
        is_whole = len(fields) == len(_HEADER) - 1 and _is_utf8(b"".join(fields))
        return {(user, row[1])} if is_whole and user else set()

    def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
        path = self.folder.write("combined_data_1.txt", source)
        return records_of(read_ratings(path, catalog=CATALOG, on_bad_rows=on_bad_rows))

    @staticmethod
    def _fields(row: Row) -> list[bytes]:
        if len(row) < 3 or row[1] not in MOVIES:
            raise Refused
        return [cell if isinstance(cell, bytes) else _encoded(cell) for cell in row[:1] + row[2:]]


@dataclass(frozen=True)
class JesterReader:
    """A line a person without a name; people are told apart by what they rated."""

    about: str = "Jester: 101 numbers a line"
    folder: Folder = field(default_factory=Folder)
    items: Sequence[str] = MOVIES

    def source(self, rows: Sequence[Row]) -> bytes:
        return b"".join(b",".join(self._fields(row)) + b"\n" for row in rows)

    def touches(self, row: Row) -> set[Key]:
        fields = b",".join(self._fields(row)).split(b",")
        try:
            numbers = [float(each.strip(b" \t")) for each in fields]
        except ValueError:
            return set()
        rated = [(joke, rating) for joke, rating in enumerate(numbers[1:], 1) if rating != 99]
        if len(numbers) != _JOKES + 1 or numbers[0] != len(rated):
            return set()
        kept = [(joke, float(np.float32(rating))) for joke, rating in rated if abs(rating) <= 10]
        return {(f"{kept} {n}", str(joke)) for n in range(_TWINS) for joke, _ in rated}

    def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
        path = self.folder.write("jester-data-1.csv", source)
        ratings = read_ratings(path, on_bad_rows=on_bad_rows)
        places: dict[str, int] = {}
        records: dict[Key, tuple[Any, ...]] = {}
        for user in range(ratings.user_count):
            theirs = slice(ratings.starts[user], ratings.starts[user + 1])
            jokes, values = (ratings.items[theirs] + 1).tolist(), ratings.codes[theirs].tolist()
            kept = list(zip(jokes, values, strict=True))
            number = next(n for n in count() if places.setdefault(f"{kept} {n}", user) == user)
            for joke, value in kept:
                records[f"{kept} {number}", str(joke)] = (value,)
        return Reading(records, ratings.skipped)

    @staticmethod
    def _fields(row: Row) -> list[bytes]:
        """A line that depends on the row in all cells: which jokes, which ratings, how many."""
        if len(row) != len(_HEADER):
            raise Refused
        user, item, rating, time = (
            cell if isinstance(cell, bytes) else _encoded(cell) for cell in row
        )
        if b"\n" in user + item + rating + time:
            raise Refused
        number = sum(user) * 31 + sum(time)
        jokes = {number % _JOKES: rating, (number * 7 + sum(item)) % _JOKES: b"-3.5"}
        counted = b"%d" % len(jokes) if user.strip(b" \t").isdigit() else user
        return [counted, *(jokes.get(joke, b"99") for joke in range(_JOKES))]


def _encoded(cell: Any) -> bytes:
    if not isinstance(cell, str):
        raise Refused
    try:
        return cell.encode()
    except UnicodeEncodeError:
        raise Refused from None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_TEXTS: Mapping[str, Callable[[], Reader]] = {
    "csv": partial(TextReader, "CSV with a header", "r.csv"),
    "csv/semicolon": partial(TextReader, "semicolons, with a header", "r.csv", ";"),
    "csv/tab": partial(TextReader, "tabs, with a header", "r.tsv", "\t"),
    "csv/crlf": partial(TextReader, "CSV, lines end in CRLF", "r.csv", newline="\r\n"),
    "csv/bom": partial(TextReader, "CSV, a byte order mark first", "r.csv", bom=True),
    "csv/gzip": partial(TextReader, "CSV in gzip", "r.csv.gz"),
    "csv/positions": partial(
        TextReader, "CSV without a header", "r.csv", header=False, options={"columns": _COUNTED}
    ),
    "csv/multiline": partial(
        TextReader, "CSV with line breaks in quotes", "r.csv", quoting="multiline",
        options={"quoting": "multiline"},
    ),
    "csv/no-quotes": partial(
        TextReader, "CSV where quotes mean nothing", "r.csv", quoting="none",
        options={"quoting": "none"},
    ),
    "csv/presence": partial(
        TextReader, "CSV of clicks", "r.csv", options={"scale": None, "implicit": True}
    ),
    "tsv/positions": partial(
        TextReader, "tabs, no header, six fields", "r.tsv", "\t", header=False, more=2,
        options={"columns": {**_COUNTED, "fields": 6}},
    ),
    "txt/separator": partial(
        TextReader, "text without a header, separated by |", "r.txt", "|", header=False, bom=True,
        options={"columns": _COUNTED, "separator": "|"},
    ),
    "movielens/dat": partial(
        TextReader, "MovieLens: ratings.dat", "ratings.dat", "::", "none", header=False
    ),
    "movielens/data": partial(
        TextReader, "MovieLens: u.data", "u.data", "\t", "none", header=False
    ),
    "netflix": NetflixReader,
    "jester": JesterReader,
}  # fmt: skip

READERS: Mapping[str, Callable[[], Reader]] = MappingProxyType(
    {f"reader/{name}": make for name, make in {**_TEXTS, **table_readers()}.items()}
)
"""What makes each of them."""
