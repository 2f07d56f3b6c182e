"""Public tables of items: catalogues and features, from files or from memory.

They are no secret, so nothing here has to be stable; errors may show what a table says.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.domain import InputError
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import REASONS, Fault, Lines, Origin, Rows
from discreet.ratings.readers._cells import words_of
from discreet.ratings.readers._files import is_parquet, whole
from discreet.ratings.readers._frames import (
    collected,
    from_pandas,
    open_parquet,
    read_parquet,
    series_of,
)
from discreet.ratings.readers._text import (
    Dialect,
    header_line,
    read_cells,
    separator_of_header,
    split_header,
)

if TYPE_CHECKING:
    import pandas as pd

TableSource = Union[str, os.PathLike[str], "pd.DataFrame", pl.DataFrame, pl.LazyFrame, "pa.Table"]
"""A file, or a table in memory."""

Lists = Mapping[str, tuple[str, tuple[str, ...], int]]
"""By a published file's name: what separates which fields, and how many there must be."""


@dataclass(frozen=True)
class PublicTable:
    """A public table: its columns as they are, and where each row is."""

    frame: pl.DataFrame
    lines: pl.Series
    origin: Origin
    path: Path | None = None


def open_public(source: TableSource, lists: Lists) -> PublicTable:
    """The table, with every column that has a name.

    Args:
        source: A file, or a table in memory.
        lists: Published files that have no header, by name.

    Raises:
        InputError: It cannot be read, or has two columns of one name.
    """
    if isinstance(source, str | os.PathLike):
        return _from_file(Path(source), lists)
    frame = _from_memory(source)
    return PublicTable(frame, _counted(frame), Rows(None))


def _from_file(file: Path, lists: Lists) -> PublicTable:
    if file.name in lists:
        frame, lines = _read_list(file, *lists[file.name])
        return PublicTable(frame, lines, Lines(file), file)
    if is_parquet(file):
        arrow = open_parquet(file)
        frame = read_parquet(arrow, list(_named(arrow.schema_arrow.names, file)), file)
        return PublicTable(frame, _counted(frame), Rows(file), file)
    first = header_line(file)
    separator = separator_of_header(first, file, least=1)
    names = split_header(first, separator)
    frame, lines = _read_words(file, separator, len(names), _named(names, file))
    return PublicTable(frame, lines, Lines(file), file)


def _read_words(
    file: Path, separator: str, fields: int, places: Mapping[str, int]
) -> tuple[pl.DataFrame, pl.Series]:
    """Some columns of a text table with a header, null where a field is empty; each row's line."""
    dialect = Dialect(separator, fields, "none" if separator == "::" else "multiline", lenient=True)
    frames, lines = [], [pl.Series(dtype=pl.Int64)]
    for cells in read_cells(file, dialect, list(places.values()), header=True):
        wrong = cells.faults != _tokens.GOOD
        if wrong.any():
            place = int(np.argmax(wrong))
            is_short = cells.faults[place] == _tokens.WRONG_FIELDS
            reason = _lacking(fields) if is_short else REASONS[Fault.NOT_UTF8]
            raise InputError(reason, path=file, line=int(cells.lines[place]))
        columns = {n: words_of((cells.data, *cells.column(at))) for at, n in enumerate(places)}
        frames.append(pl.DataFrame(columns).with_columns(pl.all().replace("", None)))
        lines.append(pl.Series(cells.lines))
    if not sum(map(len, lines)):
        raise InputError("has a header but no items below it", path=file)
    return pl.concat(frames), pl.concat(lines)


def _read_list(
    file: Path, separator: str, names: Sequence[str], needed: int
) -> tuple[pl.DataFrame, pl.Series]:
    """A published list without a header, in UTF-8 or, as most of them are, in latin-1.

    The last field may contain the separator; `needed` fields must be there on every line.
    """
    raw = whole(file)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    lines = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", 1)
    lines = lines.with_columns(pl.col("text").str.strip_chars_end("\r"))
    lines = lines.filter(pl.col("text") != "")
    if not lines.height:
        raise InputError("is empty", path=file)
    fields = lines["text"].str.splitn(separator, len(names)).struct.rename_fields(list(names))
    frame = fields.struct.unnest()
    lacking = frame[names[needed - 1]].is_null()
    if lacking.any():
        raise InputError(_lacking(needed), path=file, line=int(lines["line"].filter(lacking)[0]))
    return frame, lines["line"]


def _lacking(fields: int) -> str:
    return f"does not have the {fields} fields that every line must have"


def _named(names: Sequence[str], file: Path | None = None) -> dict[str, int]:
    """The position of every column that has a name; no name may occur twice."""
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise InputError(f"more than one column is named '{twice[0]}'", path=file)
    return {name: place for place, name in enumerate(names) if name}


def _counted(frame: pl.DataFrame) -> pl.Series:
    return pl.Series(np.arange(1, frame.height + 1))


def _from_memory(source: object) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        return collected(source)
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pa.Table):
        places = _named(source.column_names)
        return pl.DataFrame({name: series_of(source.column(at)) for name, at in places.items()})
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        places = _named([str(name) for name in source.columns])
        return pl.DataFrame({n: from_pandas(source.iloc[:, at]) for n, at in places.items()})  # type: ignore[attr-defined]
    raise InputError(
        "features are read from a path, a pandas or polars data frame or an Arrow table, not from "
        f"{type(source).__name__}"
    )
