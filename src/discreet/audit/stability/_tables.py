"""Tables whose columns have types: polars, pandas, Arrow, Parquet."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.audit.stability._folder import Folder
from discreet.audit.stability._records import CATALOG, SCALE, records_of
from discreet.audit.stability._rows import ITEMS, Cell, Key, Row, identifier
from discreet.audit.stability._search import BadRows, Reading, Refused
from discreet.ratings.readers import read_ratings

_COLUMNS = ("user", "item", "rating", "time")
_WHOLE = {"int64": (-(2**63), 2**63), "uint64": (0, 2**64)}
_LARGEST_FLOAT = 2**53
_TEXT = ("text", "dictionary")
_DTYPES = {"text": pl.String, "int64": pl.Int64, "uint64": pl.UInt64, "float": pl.Float64}


@dataclass(frozen=True)
class TableReader:
    """Rows as a table with typed columns.

    Args:
        about: What it is, in a few words.
        build: Makes the table, or a file, of columns by name.
        kinds: The type of each column: `text`, `dictionary`, `int64`, `uint64`, `float`, `object`.
    """

    about: str
    build: Callable[[dict[str, list[Cell]], Mapping[str, str]], Any]
    kinds: Mapping[str, str]
    items: Sequence[str] = ITEMS

    def source(self, rows: Sequence[Row]) -> Any:
        if any(len(row) != len(_COLUMNS) for row in rows):
            raise Refused
        columns = {
            name: [_held(row[at], self.kinds[name], name) for row in rows]
            for at, name in enumerate(_COLUMNS)
        }
        return self.build(columns, self.kinds)

    def touches(self, row: Row) -> set[Key]:
        user, item = (
            _identifier(_held(row[at], self.kinds[name], name), self.kinds[name])
            for at, name in enumerate(_COLUMNS[:2])
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


def table_readers() -> dict[str, Callable[[], TableReader]]:
    """What makes each of them, by name."""
    made: dict[str, Callable[[], TableReader]] = {}
    for library, (build, all_kinds) in _TABLES.items():
        for kind in all_kinds:
            if kind == "object":
                kinds = dict.fromkeys(_COLUMNS, kind)
            else:
                kinds = _kinds(kind) if kind in _TEXT else _kinds(kind, *_NUMBERS)
            about = f"{library}, identifiers of type {kind}"
            made[f"{library}/{kind}"] = partial(_made, about, build, kinds)
    return made


def _made(about: str, build: Any, kinds: Mapping[str, str]) -> TableReader:
    return TableReader(about, build or ParquetFile(), kinds)
