"""Catalogues from files: tables, and the item lists of MovieLens and the Netflix Prize."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError
from discreet.ratings.readers._batch import Lines, Origin, Rows
from discreet.ratings.readers._columns import ITEM_IDS, ITEM_WORDS, by_name, told_place
from discreet.ratings.readers._files import is_parquet
from discreet.ratings.readers._frames import open_parquet, read_parquet
from discreet.ratings.readers._words import read_header, read_list, read_words

CatalogColumns = Mapping[str, str | int | None]
"""Which column is the `id` and which the `title`: a name, or a position counted from 0."""

ID_NAMES = (ITEM_IDS | {"id"}, ITEM_WORDS)
"""What a column of item ids is called, in groups: see `by_name`."""

_TITLE_NAMES = (
    frozenset(["title", "itemtitle", "movietitle", "booktitle", "producttitle"]),
    frozenset(["name", "itemname", "moviename", "productname"]),
)

_LISTS = {
    "u.item": ("|", ("id", "title", "others"), 2),
    "movies.dat": ("::", ("id", "title", "genres"), 2),
    "movie_titles.txt": (",", ("id", "year", "title"), 3),
    "movie_titles.csv": (",", ("id", "year", "title"), 3),
}
"""By a published file's name: what separates which fields, and how many there must be."""


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
        frame, lines = read_list(file, *_LISTS[file.name])
        return _catalog(frame.select("id", "title"), lines, Lines(file), origin)
    if is_parquet(file):
        arrow = open_parquet(file)
        names = arrow.schema_arrow.names
        roles = {role: names[place] for role, place in _places(names, columns, file).items()}
        frame = _as_words(read_parquet(arrow, list(roles.values()), file), roles, file)
        return _catalog(frame, pl.Series(range(1, frame.height + 1)), Rows(file), origin)
    return _from_text(file, columns, origin)


def _from_text(file: Path, columns: CatalogColumns | None, origin: CatalogOrigin) -> Catalog:
    names, separator = read_header(file)
    places = _places(names, columns, file)
    frame, lines = read_words(file, separator, len(names), places)
    return _catalog(frame, lines, Lines(file), origin)


def _places(names: list[str], columns: CatalogColumns | None, file: Path) -> dict[str, int]:
    told = columns or {}
    if not told.keys() <= {"id", "title"}:
        raise InputError("the columns of a catalogue are id and title")
    places: dict[str, int] = {}
    try:
        for role, groups in (("id", ID_NAMES), ("title", _TITLE_NAMES)):
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
