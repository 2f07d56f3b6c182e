"""Public tables of items, and catalogues read from them: files or tables in memory.

They are no secret, so nothing here has to be stable, and errors may show what a table says.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Union

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.domain import Catalog, CatalogOrigin, Hint, InputError
from discreet.domain.files import is_parquet, whole
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import REASONS, Fault, Lines, Origin, Rows
from discreet.ratings.readers._columns import (
    ITEM_IDS,
    ITEM_NAMES,
    ITEM_TITLES,
    ITEM_WORDS,
    by_name,
    given_place,
)
from discreet.ratings.readers._frames import columns_of, open_parquet, read_parquet
from discreet.ratings.readers.text import (
    BLANKS,
    Dialect,
    header_line,
    read_cells,
    separator_of_header,
    split_header,
)

if TYPE_CHECKING:
    import pandas as pd


class ArrowStream(Protocol):
    """What hands its columns over by Arrow's protocol: data frames, DuckDB relations, Ibis."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with a stream of batches."""


TableSource = Union[
    str, os.PathLike[str], "pd.DataFrame", pl.DataFrame, pl.LazyFrame, "pa.Table", ArrowStream
]
"""A file, or a table in memory."""

CatalogColumns = Mapping[str, str | int | None]
"""Which column is the `id` and which the `title`: a name, or a position counted from 0."""

# What columns are called, in groups: see `by_name`.
_ID_NAMES = (ITEM_IDS | {"id"}, ITEM_WORDS)
_TITLE_NAMES = (ITEM_TITLES, ITEM_NAMES)
_NAMED_LIKE = "a column of item ids, named like id, item_id or movieId"

# fmt: off
_GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)
# fmt: on


class _PublishedList(NamedTuple):
    """A published file without a header."""

    separator: str
    names: tuple[str, ...]
    """Of its fields; the last may contain the separator."""
    needed: int
    """How many of them every line must have."""


_ML_100K = ("id", "title", "released", "video", "address", *_GENRES)
_TITLES = _PublishedList(",", ("id", "year", "title"), 3)
_LISTS = {
    "u.item": _PublishedList("|", _ML_100K, len(_ML_100K)),
    "movies.dat": _PublishedList("::", ("id", "title", "genres"), 2),
    "movie_titles.txt": _TITLES,
    "movie_titles.csv": _TITLES,
}


@dataclass(frozen=True)
class PublicTable:
    """A public table: its columns as they are, and where each row is."""

    frame: pl.DataFrame
    lines: pl.Series
    origin: Origin
    path: Path | None = None

    def find_id(self, given: str | None) -> str:
        """The name of the column with the items' ids: the one given, or the one named like that.

        Raises:
            InputError: There is none, or it could be one of several.
        """
        names = self.frame.columns
        if given is not None:
            if given not in names:
                raise self.error(f"has no column '{given}' with the item's id{self.listed()}")
            return given
        try:
            place = by_name(names, "item", _ID_NAMES)
        except InputError as error:
            reason = error.reason.partition(";")[0]
            raise self.error(f"{reason}; rename or remove one of them") from None
        if place is None:
            raise self.error(f"needs {_NAMED_LIKE}{self.listed()}")
        return names[place]

    def kept(self, name: str) -> list[str]:
        """A column as texts, empty where a cell is.

        Raises:
            InputError: There is no such column.
        """
        if name not in self.frame.columns:
            raise self.error(f"has no column '{name}' to keep{self.listed()}")
        texts = self.frame[name].cast(pl.String, strict=False).fill_null("")
        return texts.str.strip_chars(BLANKS).to_list()

    def listed(self) -> str:
        """The columns' names, for the end of an error."""
        return f" (it has {', '.join(self.frame.columns)})"

    def error(self, reason: str) -> InputError:
        """An error about the table as a whole."""
        if self.path is None:
            return InputError(f"the table of features {reason}")
        return InputError(reason, path=self.path)

    def row_error(self, row: int, reason: str) -> InputError:
        """An error about one row."""
        return self.origin.complaint(int(self.lines[row]), reason)


def open_public(
    source: TableSource, *, published: bool = True, only_titles: bool = False
) -> PublicTable:
    """The table, with every column that has a name.

    Args:
        source: A file, or a table in memory.
        published: Whether a file that is named like a published list is one.
        only_titles: Whether lines of such a list may end after the title.

    Raises:
        InputError: It cannot be read, or has two columns of one name.
    """
    if not isinstance(source, str | os.PathLike):
        frame = columns_of(source, _named, "features")
        return PublicTable(frame, _counted(frame), Rows(None))
    file = Path(source)
    if published and file.name in _LISTS:
        frame, lines = _read_list(file, _LISTS[file.name], only_titles)
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
    # Public lists may have line breaks in quotes and lines of other lengths: no row hides a person.
    dialect = Dialect(separator, fields, "none" if separator == "::" else "multiline", lenient=True)
    frames, lines = [], [pl.Series(dtype=pl.Int64)]
    for cells in read_cells(file, dialect, list(places.values()), header=True):
        if not cells.is_good.all():
            place = int(np.argmin(cells.is_good))
            is_short = cells.faults[place] == _tokens.WRONG_FIELDS
            reason = _lacking(fields) if is_short else REASONS[Fault.NOT_UTF8]
            raise InputError(reason, path=file, line=int(cells.lines[place]))
        columns = {name: cells.text(slot).words() for slot, name in enumerate(places)}
        frames.append(pl.DataFrame(columns).with_columns(pl.all().replace("", None)))
        lines.append(pl.Series(cells.lines))
    if not sum(map(len, lines)):
        raise InputError("has a header but no items below it", path=file)
    return pl.concat(frames), pl.concat(lines)


def _read_list(
    file: Path, published: _PublishedList, only_titles: bool
) -> tuple[pl.DataFrame, pl.Series]:
    """A published list without a header, in UTF-8 or, as most of them are, in latin-1."""
    raw = whole(file)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        # It can decode any bytes, so it comes second.
        text = raw.decode("latin-1")
    lines = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", 1)
    lines = lines.with_columns(pl.col("text").str.strip_chars_end("\r"))
    lines = lines.filter(pl.col("text") != "")
    if not lines.height:
        raise InputError("is empty", path=file)
    separator, names, needed = published
    if only_titles:
        needed = min(needed, names.index("title") + 1)
    fields = lines["text"].str.splitn(separator, len(names)).struct.rename_fields(list(names))
    frame = fields.struct.unnest()
    # `splitn` fills up from the left: where the last needed field is there, all before it are.
    lacking = frame[names[needed - 1]].is_null()
    if lacking.any():
        raise InputError(_lacking(needed), path=file, line=int(lines["line"].filter(lacking)[0]))
    if names[-1] == _GENRES[-1]:
        # A column for each genre, of which 1 says that it applies, becomes one like others have.
        flags = [pl.when(pl.col(name) == "1").then(pl.lit(name)) for name in _GENRES[1:]]
        genres = pl.concat_str(flags, separator="|", ignore_nulls=True)
        frame = frame.select("id", "title", genres=genres)
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


def read_catalog(
    path: str | os.PathLike[str],
    *,
    columns: CatalogColumns | None = None,
    keep_columns: Sequence[str] = (),
    origin: CatalogOrigin = CatalogOrigin.GIVEN,
) -> Catalog:
    r"""Read the public list of items.

    Args:
        path: CSV, TSV or Parquet with a column of ids and perhaps one of titles; or `u.item`,
            `movies.dat` or `movies.csv` of MovieLens, or `movie_titles.txt` of the Netflix Prize.
        columns: Names of the `id` and the `title` column, where they are not usual ones.
        keep_columns: Names of further columns to keep (`genres`), for filters. They become part of
            every release, so they must be public.
        origin: Where the list comes from.

    Raises:
        InputError: The file cannot be read, lacks a column, or lists an item twice.

    Example:
        >>> import discreet, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "games.csv"
        >>> path.write_text("number,Spelt,kind\n1,Go,board\n2,Bridge,cards\n") > 0
        True
        >>> columns = {"id": "number", "title": "Spelt"}
        >>> games = discreet.read_catalog(path, columns=columns, keep_columns=["kind"])
        >>> games.titles, games.columns["kind"]
        (('Go', 'Bridge'), ('board', 'cards'))
    """
    file = Path(path)
    table = open_public(file, published=columns is None, only_titles=True)
    places = _catalog_places(table.frame.columns, columns, file)
    frame = table.frame.select(
        pl.nth(place).cast(pl.String, strict=False).alias(role) for role, place in places.items()
    )
    # Floats would make "1.0" of 1, and dates depend on how they are written.
    kind = table.frame.dtypes[places["id"]]
    if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum)):
        raise InputError("as a catalogue, its ids must be integers or text", path=file)
    kept = {name: table.kept(name) for name in keep_columns}
    return _catalog(frame, table, origin, kept)


def catalog_columns(path: str | os.PathLike[str]) -> list[str]:
    """The names of all columns of a list of items.

    Raises:
        InputError: The file cannot be read.
    """
    return list(open_public(path).frame.columns)


def refuse_columns(keep_columns: Sequence[str]) -> None:
    """Refuse to keep columns of a list of items that has none.

    Raises:
        InputError: There are columns to keep.
    """
    if keep_columns:
        raise InputError(
            f"there is no column '{keep_columns[0]}' to keep: the list of items is not from a file"
        )


def _catalog_places(names: list[str], columns: CatalogColumns | None, file: Path) -> dict[str, int]:
    given = columns or {}
    if not given.keys() <= {"id", "title"}:
        raise InputError("the columns of a catalogue are id and title")
    places: dict[str, int] = {}
    try:
        for role, groups in (("id", _ID_NAMES), ("title", _TITLE_NAMES)):
            place = (
                given_place(names, role, given[role])
                if role in given
                else by_name(names, role, groups)
            )
            if place is not None:
                places[role] = place
    except InputError as error:
        reason = error.reason.partition(";")[0]
        which = Hint("catalog_columns", {role: names[0]})
        raise InputError(
            f"as a catalogue, {reason}; say which, like {which} (it has {', '.join(names)})",
            path=file,
            hints=[which],
        ) from None
    if "id" not in places:
        which = Hint("catalog_columns", {"id": "NAME"})
        raise InputError(
            f"as a catalogue it needs {_NAMED_LIKE}; or say which it is, like {which} (it has "
            f"{', '.join(names)})",
            path=file,
            hints=[which],
        )
    return places


def _catalog(
    frame: pl.DataFrame, table: PublicTable, origin: CatalogOrigin, kept: dict[str, list[str]]
) -> Catalog:
    """A catalogue from text columns `id` and perhaps `title`, checked row by row."""
    if not frame.height:
        raise table.origin.complaint(1, "the catalogue lists no items")
    ids = frame["id"].str.strip_chars(BLANKS).fill_null("")
    empty = (ids == "").arg_true()
    if len(empty):
        raise table.row_error(int(empty[0]), "the item's id is empty")
    again = (~ids.is_first_distinct()).arg_true()
    if len(again):
        place = int(again[0])
        raise table.row_error(place, f"lists item '{ids[place]}' a second time")
    if "title" not in frame.columns:
        return Catalog(ids.to_list(), origin=origin, columns=kept)
    titles = frame.select(pl.coalesce("title", ids).str.strip_chars(BLANKS))["title"]
    return Catalog(ids.to_list(), titles.to_list(), origin=origin, columns=kept)
