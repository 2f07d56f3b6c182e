"""Tables that already have types: data frames, Arrow tables, Parquet files."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domain import InputError
from discreet.domain.files import reading
from discreet.ratings.readers._batch import (
    LARGEST_WHOLE,
    Batch,
    Coded,
    Rows,
    Source,
    batch_of_frame,
)
from discreet.ratings.readers._columns import ROLES
from discreet.ratings.readers.text import TableDescription

# Rows that are read at a time: tens of megabytes. Chosen by hand.
_ROWS = 1 << 20
# Types of text, and those of the bytes that they are.
_TEXTS = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
# Halves of characters, which Python's text may hold and UTF-8 may not.
_SURROGATES = re.compile("[\ud800-\udfff]")
# Longer integers are not taken for identifiers: Python itself prints no more than some 14,000 bits,
# and floats reach to 1,024. Chosen by hand, between the two.
_MOST_BITS = 2_048
_FAILS = "the table fails when its rows are asked for; ask for them yourself to see why"

Choose = Callable[[Sequence[str]], Mapping[Any, int]]
"""From the names of a table's columns to the positions of those that are wanted, by new names."""


@dataclass(frozen=True, repr=False)
class FrameTable(Source):
    """Ratings in a table in memory, with columns named for their roles."""

    frame: pl.DataFrame

    @property
    def size(self) -> int:
        """How many rows there are to read."""
        return self.frame.height

    def batches(self) -> Iterator[Batch]:
        # At least once, so that a column of a wrong type is refused whoever has rows in it.
        for first in range(0, max(1, self.frame.height), _ROWS):
            part = self.frame.slice(first, _ROWS)
            lines = np.arange(first + 1, first + part.height + 1)
            yield batch_of_frame(part, Rows(None), lines, first + part.height)


@dataclass(frozen=True)
class ParquetTable(Source):
    """Ratings in Parquet files that have the same columns, read a row group at a time."""

    paths: Sequence[Path]
    description: TableDescription
    groups: Sequence[int] | None = None
    """The row groups of each file that are read; None for all."""

    @property
    def size(self) -> int:
        """How many rows there are to read."""
        return sum(open_parquet(path).metadata.num_rows for path in self.paths)

    def batches(self) -> Iterator[Batch]:
        rows, description = 0, self.description
        for path in self.paths:
            file = open_parquet(path)
            names = file.schema_arrow.names
            places = description.places(names, path)
            # By the first file's names, so that every file of several is read alike.
            columns: dict[str, str | None] = {
                role: names[places[role]] if role in places else None for role in ROLES
            }
            description = replace(description, columns=columns)
            item = names[places["item"]]
            if file.schema_arrow.field(places["item"]).type in _TEXTS:
                # Few different words, which Parquet keeps apart: each is looked at once.
                file = open_parquet(path, words=[item])
            yield from _parquet_batches(path, file, columns, rows, self.groups)
            rows += file.metadata.num_rows


def open_frame(source: object, description: TableDescription) -> FrameTable:
    """A table that `columns_of` reads, or a list of dicts.

    Raises:
        InputError: It is neither, or a column is missing.
    """
    if isinstance(source, list | tuple):
        return FrameTable(_frame_of_rows(source, description))
    return FrameTable(columns_of(source, description.places, "ratings"))


def _frame_of_rows(rows: Sequence[object], description: TableDescription) -> pl.DataFrame:
    """A list of dicts, each cell read by itself.

    Which keys are read is public: those that `columns` names, or `user`, `item` and `rating`. Keys
    that a row happens to have do not count, since another person's row could have others; a row
    without a key has an empty cell there.

    Raises:
        InputError: There is something else than dicts in the list, or columns are counted.
    """
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError("a list of ratings holds dicts, like {'user': 1, 'item': 7, 'rating': 5}")
    roles = [
        role for role in ROLES if role != "time" and not (description.implicit and role == "rating")
    ]
    keys: dict[str, str | int | None] = {role: role for role in roles} | dict(
        description.columns or {}
    )
    names = [key for key in keys.values() if key is not None]
    if not all(isinstance(name, str) for name in names):
        raise InputError("columns of a list of dicts are keys, like columns={'user': 'customer'}")
    described = replace(description, columns=keys | ({} if "time" in keys else {"time": None}))
    places = described.places([str(name) for name in names])
    known: Any = rows
    return pl.DataFrame(
        {
            role: pl.Series([_cell_text(row.get(names[at])) for row in known], dtype=pl.String)
            for role, at in places.items()
        }
    )


def columns_of(source: object, choose: Choose, what: str) -> pl.DataFrame:
    """Some columns of a table in memory.

    Args:
        source: A pandas or polars data frame, a polars lazy frame, an Arrow table, or anything else
            that hands its columns over by Arrow's protocol (`__arrow_c_stream__`): a DuckDB
            relation, an Ibis table, a narwhals data frame.
        choose: Says which.
        what: What is to be read, for the error.

    Raises:
        InputError: It is none of these, or `choose` refuses it.
    """
    take: Callable[[int], pl.Series]
    if isinstance(source, pl.LazyFrame):
        names = source.collect_schema().names()
        chosen = (pl.col(names[at]).alias(name) for name, at in choose(names).items())
        return _collected(source.select(chosen))
    if isinstance(source, pl.DataFrame):
        names, take = source.columns, source.to_series
    elif isinstance(source, pa.Table):
        names, take = source.column_names, lambda at: series_of(source.column(at))
    elif type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        pandas: Any = source
        names = [str(name) for name in pandas.columns]
        take = lambda at: from_pandas(pandas.iloc[:, at])  # noqa: E731
    elif hasattr(source, "__arrow_c_stream__"):
        return _streamed(source, choose)
    else:
        raise InputError(
            f"{what} are read from a path, a data frame, an Arrow table or whatever else speaks "
            f"Arrow's protocol, not from {type(source).__name__}"
        )
    return pl.DataFrame({name: take(at) for name, at in choose(names).items()})


def _streamed(source: object, choose: Choose) -> pl.DataFrame:
    """Some columns of a stream of Arrow batches; the others are let go batch by batch."""
    try:
        reader = pa.RecordBatchReader.from_stream(source)
    except Exception:  # noqa: BLE001  # whatever a library raises, its message may quote a cell
        reader = None
    if reader is None:
        raise InputError(_FAILS)
    chosen = choose(reader.schema.names)
    places = sorted(set(chosen.values()))
    schema = pa.schema([reader.schema.field(at) for at in places])
    try:
        parts = [pa.RecordBatch.from_arrays([part.column(at) for at in places], schema=schema)
                 for part in reader]  # fmt: skip
    except Exception:  # noqa: BLE001  # as above
        parts = None
    if parts is None:
        raise InputError(_FAILS)
    table = pa.Table.from_batches(parts, schema)
    return pl.DataFrame(
        {name: series_of(table.column(places.index(at))) for name, at in chosen.items()}
    )


def _parquet_batches(
    path: Path,
    file: Any,
    columns: dict[str, str | None],
    before: int,
    groups: Sequence[int] | None,
) -> Iterator[Batch]:
    roles = {name: role for role, name in columns.items() if name is not None}
    parts = file.iter_batches(batch_size=_ROWS, columns=list(roles), row_groups=groups)
    row, schema = 0, file.schema_arrow
    # At least once, as above. Not an empty table: Arrow would load pandas to make one.
    part = pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in schema], schema=schema)
    while part is not None:
        items = None
        if columns["item"] is not None and pa.types.is_dictionary(part[columns["item"]].type):
            items = _coded(part[columns["item"]])
        plain = {
            role: series_of(part[name])
            for name, role in roles.items()
            if role != "item" or items is None
        }
        lines = np.arange(row + 1, row + part.num_rows + 1)
        row += part.num_rows
        yield batch_of_frame(pl.DataFrame(plain), Rows(path), lines, before + row, items)
        part = _next_part(parts, path)


def _coded(column: Any) -> Coded:
    """A column of few different words: these, and which of them each row has, -1 for none."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    # By way of polars: Arrow would load pandas to make numpy's array.
    which = pl.Series(column.indices).fill_null(-1).to_numpy()
    return Coded(series_of(column.dictionary), which)


def open_parquet(path: Path, words: Sequence[str] = ()) -> Any:
    """The file, as pyarrow has it; with some columns of text as dictionaries of their words.

    Raises:
        InputError: It cannot be read, or is damaged or cut short.
    """
    with reading(path), path.open("rb"):
        pass
    try:
        # Buffering ahead would keep the whole file in memory until the end.
        return pq.ParquetFile(
            path,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=list(words) or None,
        )
    except (pa.ArrowException, OSError):
        pass
    raise _damaged(path)


def read_parquet(file: Any, names: list[str], path: Path) -> pl.DataFrame:
    """Some columns of an open file, whole.

    Raises:
        InputError: It is damaged.
    """
    try:
        table = file.read(columns=names)
    except (pa.ArrowException, OSError):
        pass
    else:
        return pl.DataFrame({name: series_of(table[name]) for name in table.column_names})
    raise _damaged(path)


def series_of(column: Any) -> pl.Series:
    """A column of Arrow's; text is looked at, since polars trusts that it is UTF-8.

    Where some cells of text are not, they come as bytes, so that single cells can be refused.

    Raises:
        InputError: Columns of this type cannot be read.
    """
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        column, kind = column.cast(kind.value_type), kind.value_type
    if kind in _TEXTS:
        try:
            column.validate(full=True)
        except pa.ArrowException:
            column = column.cast(_TEXTS[kind])
    elif pa.types.is_timestamp(kind) and kind.unit == "s":
        # Polars would count them in milliseconds, which wrap around where seconds do not.
        column = column.cast(pa.int64())
    if not pa.types.is_decimal256(kind):
        try:
            return pl.Series(column)
        except (pa.ArrowException, pl.exceptions.PolarsError):
            pass
    raise InputError(f"a column of type {kind} cannot be read")


def _next_part(parts: Iterator[Any], path: Path) -> Any:
    try:
        return next(parts, None)
    except (pa.ArrowException, OSError):
        pass
    raise _damaged(path)


def _damaged(path: Path) -> InputError:
    return InputError("is not whole Parquet: damaged, cut short or another format", path=path)


def _collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    try:
        return lazy.collect()
    except (pl.exceptions.PolarsError, OSError):
        # The message may quote a cell.
        pass
    raise InputError("the lazy frame fails when it is collected; collect it to see why")


def from_pandas(column: Any) -> pl.Series:
    """A pandas column. Where its type is `object`, each cell says for itself what it is.

    So no cell's type depends on other cells: text stays text, numbers are the text that they print
    as (a whole float up to 2^53 without its `.0`), and what is neither, or cannot be UTF-8, is
    empty. Categories are read likewise.

    Raises:
        InputError: The column's type can never hold what is looked for.
    """
    if str(column.dtype) == "category":
        known = pl.Series([_cell_text(cell) for cell in column.cat.categories], dtype=pl.String)
        codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
        return known.gather(codes.set(codes < 0, None)).alias("")
    if hasattr(column.array, "__arrow_array__") and hasattr(column.array, "_pa_array"):
        return series_of(column.array.__arrow_array__())
    if column.dtype == object or getattr(column.dtype, "storage", None) == "python":
        return pl.Series([_cell_text(cell) for cell in column], dtype=pl.String)
    try:
        return pl.Series(pl.from_pandas(column))
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
        pass
    raise InputError(f"a column of type {column.dtype} cannot be read")


def _cell_text(cell: object) -> str | None:
    if isinstance(cell, str):
        return None if _SURROGATES.search(cell) else str(cell)
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, int | np.integer):
        return str(int(cell)) if int(cell).bit_length() <= _MOST_BITS else None
    if isinstance(cell, float | np.floating) and math.isfinite(cell):
        number = float(cell)
        is_whole = number == int(number) and abs(number) <= LARGEST_WHOLE
        return str(int(number)) if is_whole else repr(number)
    # A moment that is missing (NaT) is not even equal to itself.
    is_moment = isinstance(cell, datetime.date) and bool(cell == cell)
    return str(cell) if is_moment else None
