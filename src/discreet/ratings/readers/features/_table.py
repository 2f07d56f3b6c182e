"""Where features come from: a public table with a row for each item."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.domain import InputError
from discreet.ratings.readers._batch import Lines, Origin, Rows
from discreet.ratings.readers._catalog_file import ID_NAMES
from discreet.ratings.readers._columns import by_name
from discreet.ratings.readers._files import is_parquet
from discreet.ratings.readers._frames import collected, open_parquet, read_parquet
from discreet.ratings.readers._words import read_header, read_list, read_words

if TYPE_CHECKING:
    import pandas as pd

FeatureSource = Union[str, os.PathLike[str], "pd.DataFrame", pl.DataFrame, pl.LazyFrame, "pa.Table"]
"""A file, or a table in memory."""

# fmt: off
_GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)
# fmt: on
_ML_100K = ("id", "title", "released", "video", "address", *_GENRES)
_LISTS = {
    "u.item": ("|", _ML_100K, len(_ML_100K)),
    "movies.dat": ("::", ("id", "title", "genres"), 2),
    "movie_titles.txt": (",", ("id", "year", "title"), 3),
    "movie_titles.csv": (",", ("id", "year", "title"), 3),
}
"""By a published file's name: what separates which fields, and how many there must be."""


@dataclass(frozen=True)
class Table:
    """A public table: its columns as they are, and where each row is."""

    frame: pl.DataFrame
    lines: pl.Series
    origin: Origin
    path: Path | None = None

    def find_item(self, told: str | None) -> str:
        """The name of the column with the items' ids.

        Raises:
            InputError: There is none, or it could be one of several.
        """
        names = self.frame.columns
        if told is not None:
            if told not in names:
                raise self.error(f"has no column '{told}' with the item's id{self.listed()}")
            return told
        try:
            place = by_name(names, "item", ID_NAMES)
        except InputError as error:
            reason = error.reason.partition(";")[0]
            raise self.error(f'{reason}; say which: item="..."') from None
        if place is None:
            reason = "needs a column of item ids, named like id, item_id or movieId; or say which"
            raise self.error(f'{reason}: item="..."{self.listed()}')
        return names[place]

    def listed(self) -> str:
        """The columns' names, for the end of a complaint."""
        return f" (it has {', '.join(self.frame.columns)})"

    def error(self, reason: str) -> InputError:
        """A complaint about the table as a whole."""
        if self.path is None:
            return InputError(f"the table of features {reason}")
        return InputError(reason, path=self.path)


def open_features(source: FeatureSource) -> Table:
    """The table, with every column that has a name.

    Raises:
        InputError: It cannot be read, or has two columns of one name.
    """
    if isinstance(source, str | os.PathLike):
        return _from_file(Path(source))
    frame = _from_memory(source)
    return Table(frame, _counted(frame), Rows(None))


def _from_file(file: Path) -> Table:
    if file.name in _LISTS:
        frame, lines = read_list(file, *_LISTS[file.name])
        if file.name == "u.item":
            frame = frame.select("id", "title", genres=_flagged(_GENRES[1:]))
        return Table(frame, lines, Lines(file), file)
    if is_parquet(file):
        arrow = open_parquet(file)
        names = list(_named(arrow.schema_arrow.names, file))
        frame = read_parquet(arrow, names, file)
        return Table(frame, _counted(frame), Rows(file), file)
    names, separator = read_header(file)
    places = _named(names, file)
    # Read by position: no name can be mistaken for another column's then.
    by_place = {str(place): place for place in places.values()}
    frame, lines = read_words(file, separator, len(names), by_place)
    return Table(frame.rename({str(at): n for n, at in places.items()}), lines, Lines(file), file)


def _flagged(names: Sequence[str]) -> pl.Expr:
    """The names of the columns that say 1, as one text."""
    flags = [pl.when(pl.col(name) == "1").then(pl.lit(name)) for name in names]
    return pl.concat_str(flags, separator="|", ignore_nulls=True)


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
        return pl.DataFrame({name: pl.Series(source.column(at)) for name, at in places.items()})
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        places = _named([str(name) for name in source.columns])
        return pl.DataFrame({n: _from_pandas(source.iloc[:, at]) for n, at in places.items()})  # type: ignore[attr-defined]
    raise InputError(
        "features are read from a path, a pandas or polars data frame or an Arrow table, not from "
        f"{type(source).__name__}"
    )


def _from_pandas(column: Any) -> pl.Series:
    try:
        series = pl.Series(pl.from_pandas(column))
    except (pa.ArrowException, TypeError, ValueError):
        series = pl.Series(dtype=pl.Object)
    if series.dtype == pl.Object:
        # Of mixed types: as the text that each prints as.
        series = pl.Series(pl.from_pandas(column.map(str, na_action="ignore").astype("string")))
    return series
