"""Tables that already have types: data frames, Arrow tables, Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings.readers._batch import Batch, Rows
from discreet.ratings.readers._cells import to_batch
from discreet.ratings.readers._columns import ROLES, Columns, Role, find_columns
from discreet.ratings.readers._files import beginning

_ROWS = 1 << 20


@dataclass(frozen=True, repr=False)
class FrameTable:
    """Ratings in a table in memory, with columns named for their roles."""

    frame: pl.DataFrame
    path: Path | None = None
    scale: Scale | None = None
    find_catalog: Callable[[], Catalog] | None = None
    keep_user_ids: bool = True

    @property
    def size(self) -> int:
        """How many rows there are to read."""
        return self.frame.height

    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time.

        Raises:
            InputError: There are none, or a column's type cannot hold what it should.
        """
        height = self.frame.height
        if not height:
            raise InputError("the table holds no ratings")
        for first in range(0, height, _ROWS):
            part = self.frame.slice(first, _ROWS)
            lines = np.arange(first + 1, first + part.height + 1)
            yield to_batch(part, Rows(None), lines, first + part.height)


@dataclass(frozen=True)
class ParquetTable:
    """Ratings in Parquet files that have the same columns, read a row group at a time."""

    paths: Sequence[Path]
    columns: Columns | None
    implicit: bool = False
    scale: Scale | None = None
    find_catalog: Callable[[], Catalog] | None = None
    keep_user_ids: bool = True

    @property
    def path(self) -> Path:
        """The file, or the first of several."""
        return self.paths[0]

    @property
    def size(self) -> int:
        """How many rows there are to read."""
        return sum(open_parquet(path).metadata.num_rows for path in self.paths)

    def batches(self) -> Iterator[Batch]:
        """The rows, some at a time.

        Raises:
            InputError: A file cannot be read, or there are no rows at all.
        """
        rows, columns = 0, self.columns
        for path in self.paths:
            file = open_parquet(path)
            columns = _named(file.schema_arrow.names, columns, self.implicit, path)
            yield from _parquet_batches(path, file, columns, rows)
            rows += file.metadata.num_rows
        if not rows:
            raise InputError("holds no ratings", path=self.path)


def _parquet_batches(
    path: Path, file: Any, columns: dict[str, str | None], before: int
) -> Iterator[Batch]:
    roles = {name: role for role, name in columns.items() if name is not None}
    parts = file.iter_batches(batch_size=_ROWS, columns=list(roles))
    row = 0
    while (part := _next_part(parts, path)) is not None:
        frame = pl.DataFrame({roles[name]: _series(part[name], path) for name in roles})
        lines = np.arange(row + 1, row + frame.height + 1)
        row += frame.height
        yield to_batch(frame, Rows(path), lines, before + row)


def _named(
    names: Sequence[str], columns: Columns | None, implicit: bool, path: Path
) -> dict[str, str | None]:
    """The name of each role's column, so that every file of several is read alike."""
    places = _places(names, columns, implicit, path)
    return {role: names[places[role]] if role in places else None for role in ROLES}


def open_parquet(path: Path) -> Any:
    """The file, as pyarrow has it.

    Raises:
        InputError: It cannot be read, or is damaged or cut short.
    """
    beginning(path, 4)
    try:
        # Buffering ahead would keep the whole file in memory until the end.
        return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
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
        return pl.DataFrame({name: _series(table[name], path) for name in table.column_names})
    raise _damaged(path)


def _series(column: Any, path: Path | None = None) -> pl.Series:
    """A column of Arrow's, looked at: polars trusts that text is UTF-8.

    Raises:
        InputError: It is not.
    """
    try:
        column.validate(full=True)
    except pa.ArrowException:
        pass
    else:
        return pl.Series(column)
    raise InputError("holds text that is not UTF-8" if path else "text is not UTF-8", path=path)


def _next_part(parts: Iterator[Any], path: Path) -> Any:
    try:
        return next(parts, None)
    except (pa.ArrowException, OSError):
        pass
    raise _damaged(path)


def _damaged(path: Path) -> InputError:
    return InputError("is not whole Parquet: damaged, cut short or another format", path=path)


def open_frame(source: object, columns: Columns | None, *, implicit: bool = False) -> FrameTable:
    """A pandas or polars data frame, a polars lazy frame, or an Arrow table.

    Args:
        source: The table.
        columns: What the caller says of the columns.
        implicit: Whether presence alone is read, so that no rating is looked for.

    Raises:
        InputError: It is none of these, or a column is missing.
    """
    if isinstance(source, pl.LazyFrame):
        names = source.collect_schema().names()
        places = _places(names, columns, implicit)
        return FrameTable(
            collected(source.select(pl.col(names[at]).alias(r) for r, at in places.items()))
        )
    if isinstance(source, pl.DataFrame):
        places = _places(source.columns, columns, implicit)
        return FrameTable(pl.DataFrame({r: source.to_series(at) for r, at in places.items()}))
    if isinstance(source, pa.Table):
        places = _places(source.column_names, columns, implicit)
        return FrameTable(pl.DataFrame({r: _series(source.column(p)) for r, p in places.items()}))
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return FrameTable(_from_pandas(source, columns, implicit))
    raise InputError(
        "ratings are read from a path, a pandas or polars data frame or an Arrow table, not from "
        f"{type(source).__name__}"
    )


def collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    """The frame, computed.

    Raises:
        InputError: That fails.
    """
    try:
        return lazy.collect()
    except (pl.exceptions.PolarsError, OSError):
        # The message may quote a cell.
        pass
    raise InputError("the lazy frame fails when it is collected; collect it to see why")


def _from_pandas(source: Any, columns: Columns | None, implicit: bool) -> pl.DataFrame:
    places = _places([str(name) for name in source.columns], columns, implicit)
    series: dict[str, pl.Series] = {}
    for role, place in places.items():
        try:
            series[role] = pl.Series(pl.from_pandas(source.iloc[:, place]))
        except (pa.ArrowException, TypeError, ValueError):
            series[role] = pl.Series(dtype=pl.Object)
        if series[role].dtype == pl.Object:
            raise InputError(f"the {role} column mixes types; make it all numbers or all text")
    return pl.DataFrame(series)


def _places(
    names: Sequence[str], columns: Columns | None, implicit: bool, path: Path | None = None
) -> dict[Role, int]:
    try:
        return find_columns(names, columns, implicit=implicit)
    except InputError as error:
        raise InputError(error.reason, path=path) from None
