"""Catalogues from files: tables, and the item lists of MovieLens and the Netflix Prize."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError
from discreet.ratings.readers._columns import ITEM_IDS, ITEM_WORDS, by_name, told_place
from discreet.ratings.readers._public_tables import PublicTable, open_public

CatalogColumns = Mapping[str, str | int | None]
"""Which column is the `id` and which the `title`: a name, or a position counted from 0."""

ID_NAMES = (ITEM_IDS | {"id"}, ITEM_WORDS)
"""What a column of item ids is called, in groups: see `by_name`."""

BLANKS = " \t\ufeff"
"""What is no part of a cell's text at its ends: space, tab, byte order mark."""

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
    table = open_public(file, _LISTS if columns is None else {})
    places = _places(table.frame.columns, columns, file)
    frame = table.frame.select(
        pl.nth(place).cast(pl.String, strict=False).alias(role) for role, place in places.items()
    )
    kind = table.frame.dtypes[places["id"]]
    if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum)):
        raise InputError("as a catalogue, its ids must be integers or text", path=file)
    return _catalog(frame, table, origin)


def _places(names: list[str], columns: CatalogColumns | None, file: Path) -> dict[str, int]:
    given = columns or {}
    if not given.keys() <= {"id", "title"}:
        raise InputError("the columns of a catalogue are id and title")
    places: dict[str, int] = {}
    try:
        for role, groups in (("id", ID_NAMES), ("title", _TITLE_NAMES)):
            place = (
                told_place(names, role, given[role])
                if role in given
                else by_name(names, role, groups)
            )
            if place is not None:
                places[role] = place
    except InputError as error:
        reason = error.reason.partition(";")[0]
        raise InputError(
            f"as a catalogue, {reason}; rename or remove one of them", path=file
        ) from None
    if "id" not in places:
        raise InputError(
            "as a catalogue it needs a column of item ids, named like id, item_id or movieId",
            path=file,
        )
    return places


def _catalog(frame: pl.DataFrame, table: PublicTable, origin: CatalogOrigin) -> Catalog:
    """A catalogue from text columns `id` and perhaps `title`, checked row by row."""
    if not frame.height:
        raise table.origin.complaint(1, "the catalogue lists no items")
    ids = frame["id"].str.strip_chars(BLANKS).fill_null("")
    if (ids == "").any():
        line = int(table.lines.filter(ids == "")[0])
        raise table.origin.complaint(line, "the item's id is empty")
    again = ~ids.is_first_distinct()
    if again.any():
        place = int(again.arg_true()[0])
        reason = f"lists item '{ids[place]}' a second time"
        raise table.origin.complaint(int(table.lines[place]), reason)
    if "title" not in frame.columns:
        return Catalog(ids.to_list(), origin=origin)
    titles = frame.select(pl.coalesce("title", ids).str.strip_chars(BLANKS))["title"]
    return Catalog(ids.to_list(), titles.to_list(), origin=origin)
