"""Catalogues from files: tables, and the item lists of MovieLens and the Netflix Prize."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError
from discreet.ratings.readers._batch import Lines, Origin, Rows
from discreet.ratings.readers._columns import ITEM_IDS, ITEM_WORDS, by_name, told_place
from discreet.ratings.readers._files import beginning, is_parquet, whole
from discreet.ratings.readers._frames import open_parquet, read_parquet
from discreet.ratings.readers._lines import Dialect, make_sure, records
from discreet.ratings.readers._parse import parse
from discreet.ratings.readers._text_table import first_line, guess_separator, split_line

CatalogColumns = Mapping[str, str | int | None]
"""Which column is the `id` and which the `title`: a name, or a position counted from 0."""

_ID_NAMES = (ITEM_IDS | {"id"}, ITEM_WORDS)
_TITLE_NAMES = (
    frozenset(["title", "itemtitle", "movietitle", "booktitle", "producttitle"]),
    frozenset(["name", "itemname", "moviename", "productname"]),
)

_LISTS = {
    "u.item": ("|", 3, 1),
    "movies.dat": ("::", 3, 1),
    "movie_titles.txt": (",", 3, 2),
    "movie_titles.csv": (",", 3, 2),
}
"""By a published file's name: what separates, into how many fields at most, which is the title."""


def read_catalog(
    path: str | os.PathLike[str],
    *,
    columns: CatalogColumns | None = None,
    origin: CatalogOrigin = CatalogOrigin.GIVEN,
) -> Catalog:
    """Read the public list of items.

    Args:
        path: CSV, TSV or Parquet with a column of ids and perhaps one of titles; or `u.item`,
            `movies.dat` or `movies.csv` of MovieLens, or `movie_titles.txt` of the Netflix Prize.
        columns: Names of the `id` and the `title` column, where they are not usual ones.
        origin: Where the list comes from.

    Raises:
        InputError: The file cannot be read, lacks the column, or lists an item twice.
    """
    file = Path(path)
    if file.name in _LISTS and columns is None:
        return _from_list(file, origin)
    if is_parquet(file):
        arrow = open_parquet(file)
        names = arrow.schema_arrow.names
        roles = {role: names[place] for role, place in _places(names, columns, file).items()}
        frame = _as_words(read_parquet(arrow, list(roles.values()), file), roles, file)
        return _catalog(frame, pl.Series(range(1, frame.height + 1)), Rows(file), origin)
    return _from_text(file, columns, origin)


def _from_text(file: Path, columns: CatalogColumns | None, origin: CatalogOrigin) -> Catalog:
    first = first_line(file)
    separator = guess_separator(first, file, least=1)
    names = split_line(first, separator)
    places = _places(names, columns, file)
    dialect = Dialect(separator, len(names), quoted=separator != "::")
    frames, lines = [], []
    for glanced in records(file, dialect, header=True):
        run = make_sure(glanced, file, dialect)
        if len(run.broken_lines):
            raise InputError(
                f"does not have the {len(names)} fields that every line must have",
                path=file,
                line=int(run.broken_lines[0]),
            )
        if len(run.lines):
            frame = parse(run.data, dialect, {r: (at, pl.String) for r, at in places.items()})
            if frame is None or frame.height != len(run.lines):
                raise InputError('has fields with unbalanced quotes (")', path=file)
            frames.append(frame)
            lines.append(pl.Series(run.lines))
    if not frames:
        raise InputError("has a header but no items below it", path=file)
    return _catalog(pl.concat(frames), pl.concat(lines), Lines(file), origin)


def _from_list(file: Path, origin: CatalogOrigin) -> Catalog:
    """A published list without a header, in UTF-8 or, as most of them are, in latin-1."""
    separator, parts, title = _LISTS[file.name]
    beginning(file)
    raw = whole(file)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    lines = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", 1)
    lines = lines.with_columns(pl.col("text").str.strip_chars_end("\r"))
    lines = lines.filter(pl.col("text") != "")
    fields = lines["text"].str.splitn(separator, parts).struct.unnest()
    chosen = fields.select(id="field_0", title=f"field_{title}")
    lacking = chosen["title"].is_null()
    if lacking.any():
        line = int(lines["line"].filter(lacking)[0])
        raise InputError(
            f"does not have the {title + 1} fields that every line must have", path=file, line=line
        )
    return _catalog(chosen, lines["line"], Lines(file), origin)


def _places(names: list[str], columns: CatalogColumns | None, file: Path) -> dict[str, int]:
    told = columns or {}
    if not told.keys() <= {"id", "title"}:
        raise InputError("the columns of a catalogue are id and title")
    places: dict[str, int] = {}
    try:
        for role, groups in (("id", _ID_NAMES), ("title", _TITLE_NAMES)):
            place = (
                told_place(names, role, told[role])
                if role in told
                else by_name(names, role, groups)
            )
            if place is not None:
                places[role] = place
    except InputError as error:
        raise InputError(f"as a catalogue, {error.reason}", path=file) from None
    if "id" not in places:
        raise InputError(
            "as a catalogue it needs a column of item ids, named like id, item_id or movieId; or "
            'say which with read_catalog(..., columns={"id": ...})',
            path=file,
        )
    return places


def _as_words(frame: pl.DataFrame, roles: dict[str, str], file: Path) -> pl.DataFrame:
    named = frame.select(pl.col(name).alias(role) for role, name in roles.items())
    kind = named.schema["id"]
    if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum)):
        raise InputError("as a catalogue, its ids must be integers or text", path=file)
    return named.select(pl.all().cast(pl.String, strict=False))


def _catalog(
    frame: pl.DataFrame, lines: pl.Series, where: Origin, origin: CatalogOrigin
) -> Catalog:
    """A catalogue from text columns `id` and perhaps `title`, checked row by row."""
    if not frame.height:
        raise where.complaint(1, "the catalogue lists no items")
    ids = frame["id"].str.strip_chars(" ").fill_null("")
    if (ids == "").any():
        raise where.complaint(int(lines.filter(ids == "")[0]), "the item's id is empty")
    again = ~ids.is_first_distinct()
    if again.any():
        place = int(again.arg_true()[0])
        raise where.complaint(int(lines[place]), f"lists item '{ids[place]}' a second time")
    if "title" not in frame.columns:
        return Catalog(ids.to_list(), origin=origin)
    titles = frame.select(pl.coalesce("title", ids).str.strip_chars(" "))["title"]
    return Catalog(ids.to_list(), titles.to_list(), origin=origin)
