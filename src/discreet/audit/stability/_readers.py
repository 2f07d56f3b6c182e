"""The real readers: `read_ratings` on files and tables of every layout, written for the search."""

from __future__ import annotations

import datetime
import gzip
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.audit._registry import Entry
from discreet.audit.stability._search import (
    ITEMS,
    MOVIES,
    BadRows,
    Cell,
    Key,
    Quoted,
    Reader,
    Reading,
    Refused,
    Row,
    identifier,
)
from discreet.domain import Catalog, InputError
from discreet.ratings import Ratings
from discreet.ratings.readers import Quoting, read_ratings

_HEADER: Row = ("user", "item", "rating", "time")
_COUNTED = {"user": 0, "item": 1, "rating": 2, "time": 3}
# In Jester's layout.
_JOKES = 100
# People who rated the same jokes alike: more than there are.
_TWINS = 20

CATALOG = Catalog(ITEMS)
# Lowest and highest rating, and the step.
SCALE = (1, 5, 1)


def records_of(ratings: Ratings) -> Reading:
    """Each record by user and item, as text."""
    users = [str(user) for user in ratings.users.tolist()] if ratings.users is not None else []
    names = [users[user] for user in ratings.user_of_rating().tolist()]
    items = [ratings.catalog.ids[item] for item in ratings.items.tolist()]
    times = [None] * len(ratings) if ratings.times is None else ratings.times.tolist()
    values = zip(ratings.codes.tolist(), times, strict=True)
    return Reading(dict(zip(zip(names, items, strict=True), values, strict=True)), ratings.skipped)


class Folder:
    """A folder whose files are written one over the other; it goes when nobody holds it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="discreet-"))
        weakref.finalize(self, shutil.rmtree, self.path, True)

    def write(self, name: str, data: bytes) -> Path:
        """Where the data are now."""
        path = self.path / name
        path.write_bytes(data)
        return path


# Text.


@dataclass(frozen=True)
class TextReader:
    """Rows as lines of separated fields."""

    file: str
    separator: str = ","
    quoting: Quoting = "lines"
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
    """A line a person without a name; people are distinguished by what they rated."""

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


# Tables with typed columns: polars, pandas, Arrow, Parquet.

# Integers that a column can hold: from the first to before the second.
_WHOLE = {"int64": (-(2**63), 2**63), "uint64": (0, 2**64)}
# Up to here a double holds every integer.
_LARGEST_FLOAT = 2**53
_TEXT = ("text", "dictionary")
_DTYPES = {"text": pl.String, "int64": pl.Int64, "uint64": pl.UInt64, "float": pl.Float64}


@dataclass(frozen=True)
class TableReader:
    """Rows as a table with typed columns.

    Args:
        build: Makes the table, or a file, of columns by name.
        kinds: The type of each column: `text`, `dictionary`, `int64`, `uint64`, `float`, `object`.
    """

    build: Callable[[dict[str, list[Cell]], Mapping[str, str]], Any]
    kinds: Mapping[str, str]
    items: Sequence[str] = ITEMS

    def source(self, rows: Sequence[Row]) -> Any:
        if any(len(row) != len(_HEADER) for row in rows):
            raise Refused
        columns = {
            name: [_held(row[at], self.kinds[name], name) for row in rows]
            for at, name in enumerate(_HEADER)
        }
        return self.build(columns, self.kinds)

    def touches(self, row: Row) -> set[Key]:
        user, item = (
            _identifier(_held(row[at], self.kinds[name], name), self.kinds[name])
            for at, name in enumerate(_HEADER[:2])
        )
        return {(user, item)} if user and item else set()

    def read(self, source: Any, on_bad_rows: BadRows) -> Reading:
        options: dict[str, Any] = {"scale": SCALE, "catalog": CATALOG, "on_bad_rows": on_bad_rows}
        return records_of(read_ratings(source, **options))


def _identifier(cell: Cell, kind: str) -> str | None:
    if kind == "float" and cell is not None:
        is_whole = abs(cell) <= _LARGEST_FLOAT and cell == math.floor(cell)
        return str(int(cell)) if is_whole else None
    return None if kind == "object" and isinstance(cell, bytes) else identifier(cell)


def _held(cell: Cell, kind: str, name: str) -> Cell:
    """The cell as a column of this kind holds it.

    Raises:
        Refused: It cannot.
    """
    if kind == "object":
        return cell
    if cell is None:
        return None
    if kind in _TEXT:
        return _text(cell)
    if isinstance(cell, str):
        cell = _number(cell, name)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise Refused
    if kind == "float":
        return _float(cell)
    low, high = _WHOLE[kind]
    if not isinstance(cell, int) or not low <= cell < high:
        raise Refused
    return cell


def _text(cell: Cell) -> bytes:
    try:
        return cell if isinstance(cell, bytes) else cell.encode()
    except (AttributeError, UnicodeEncodeError):
        raise Refused from None


def _float(cell: float) -> float:
    try:
        return float(cell)
    except OverflowError:
        raise Refused from None


def _number(cell: str, name: str) -> float:
    """The number that a column of numbers would have in the place of this text."""
    try:
        if name == "time" and cell[4:5] == "-":
            midnight = datetime.datetime.fromisoformat(cell).replace(tzinfo=datetime.UTC)
            return int(midnight.timestamp())
        number = float(cell)
    except ValueError:
        raise Refused from None
    if name in ("user", "item"):
        if cell.lstrip("-").isdecimal() and cell == str(int(cell)):
            return int(cell)
        raise Refused
    return int(number) if name == "time" and math.isfinite(number) else number


def _decoded(cells: list[Cell]) -> list[Cell]:
    try:
        return [cell.decode() if isinstance(cell, bytes) else cell for cell in cells]
    except UnicodeDecodeError:
        raise Refused from None


def polars_table(columns: dict[str, list[Cell]], kinds: Mapping[str, str]) -> pl.DataFrame:
    """Text must be UTF-8 here."""
    made = {}
    for name, cells in columns.items():
        kind = kinds[name]
        series = pl.Series(name, _decoded(cells), _DTYPES.get(kind, pl.String))
        made[name] = series.cast(pl.Categorical) if kind == "dictionary" else series
    return pl.DataFrame(made)


def arrow_table(columns: dict[str, list[Cell]], kinds: Mapping[str, str]) -> pa.Table:
    """Text may be any bytes here: Arrow does not look."""
    types = {"int64": pa.int64(), "uint64": pa.uint64(), "float": pa.float64()}
    made = {}
    for name, cells in columns.items():
        if kinds[name] not in _TEXT:
            made[name] = pa.array(cells, types[kinds[name]])
            continue
        texts = pa.array(cells, pa.binary())
        if kinds[name] == "dictionary":
            codes = texts.dictionary_encode()
            words = codes.dictionary.view(pa.string())
            made[name] = pa.DictionaryArray.from_arrays(codes.indices, words)
        else:
            made[name] = texts.view(pa.string())
    return pa.table(made)


def pandas_table(columns: dict[str, list[Cell]], kinds: Mapping[str, str]) -> Any:
    """Columns of Python objects, of numpy's numbers, of text or of categories."""
    import pandas as pd

    made = {}
    for name, cells in columns.items():
        kind = kinds[name]
        if kind == "object":
            made[name] = pd.Series(cells, dtype=object)
        elif kind in _TEXT:
            column = pd.Series(_decoded(cells), dtype="str")
            made[name] = column.astype("category") if kind == "dictionary" else column
        elif kind == "float":
            made[name] = pd.Series(cells, dtype="float64")
        else:
            made[name] = pd.Series(cells, dtype=kind.replace("int", "Int").replace("uI", "UI"))
    return pd.DataFrame(made)


@dataclass(frozen=True)
class ParquetFile:
    """Writes Parquet, a few rows a group; one file over the other."""

    folder: Folder = field(default_factory=Folder)

    def __call__(self, columns: dict[str, list[Cell]], kinds: Mapping[str, str]) -> Path:
        path = self.folder.path / "ratings.parquet"
        pq.write_table(arrow_table(columns, kinds), path, row_group_size=64)
        return path


def _kinds(ids: str, rating: str = "text", time: str = "text") -> dict[str, str]:
    return {"user": ids, "item": ids, "rating": rating, "time": time}


_NUMBERS = ("float", "int64")
_TABLES = {
    "polars": (polars_table, ("text", "dictionary", "int64", "uint64", "float")),
    "arrow": (arrow_table, ("text", "dictionary", "int64", "float")),
    "pandas": (pandas_table, ("object", "text", "dictionary", "int64", "float")),
    "parquet": (None, ("text", "dictionary", "int64", "float")),
}


def _table_readers() -> dict[str, Entry[Reader]]:
    made: dict[str, Entry[Reader]] = {}
    for library, (build, all_kinds) in _TABLES.items():
        for kind in all_kinds:
            if kind == "object":
                kinds = dict.fromkeys(_HEADER, kind)
            else:
                kinds = _kinds(kind) if kind in _TEXT else _kinds(kind, *_NUMBERS)
            about = f"{library}, identifiers of type {kind}"
            made[f"{library}/{kind}"] = Entry(about, partial(_made, build, kinds))
    return made


def _made(build: Any, kinds: Mapping[str, str]) -> TableReader:
    return TableReader(build or ParquetFile(), kinds)


def _file(about: str, *layout: Any, **more: Any) -> Entry[Reader]:
    return Entry(about, partial(TextReader, *layout, **more))


_FILES: dict[str, Entry[Reader]] = {
    "csv": _file("CSV with a header", "r.csv"),
    "csv/semicolon": _file("semicolons, with a header", "r.csv", ";"),
    "csv/tab": _file("tabs, with a header", "r.tsv", "\t"),
    "csv/crlf": _file("CSV, lines end in CRLF", "r.csv", newline="\r\n"),
    "csv/bom": _file("CSV, a byte order mark first", "r.csv", bom=True),
    "csv/gzip": _file("CSV in gzip", "r.csv.gz"),
    "csv/positions": _file(
        "CSV without a header", "r.csv", header=False, options={"columns": _COUNTED}
    ),
    "csv/multiline": _file(
        "CSV with line breaks in quotes", "r.csv", quoting="multiline",
        options={"quoting": "multiline"},
    ),
    "csv/no-quotes": _file(
        "CSV where quotes mean nothing", "r.csv", quoting="none", options={"quoting": "none"}
    ),
    "csv/presence": _file("CSV of clicks", "r.csv", options={"scale": None, "implicit": True}),
    "tsv/positions": _file(
        "tabs, no header, six fields", "r.tsv", "\t", header=False, more=2,
        options={"columns": {**_COUNTED, "fields": 6}},
    ),
    "txt/separator": _file(
        "text without a header, separated by |", "r.txt", "|", header=False, bom=True,
        options={"columns": _COUNTED, "separator": "|"},
    ),
    "movielens/dat": _file("MovieLens: ratings.dat", "ratings.dat", "::", "none", header=False),
    "movielens/data": _file("MovieLens: u.data", "u.data", "\t", "none", header=False),
    "netflix": Entry("Netflix: customer,rating,date under movie: lines", NetflixReader),
    "jester": Entry("Jester: 101 numbers a line", JesterReader),
}  # fmt: skip

READERS: Mapping[str, Entry[Reader]] = MappingProxyType(
    {f"reader/{name}": entry for name, entry in (_FILES | _table_readers()).items()}
)
"""Every reader, by name."""
