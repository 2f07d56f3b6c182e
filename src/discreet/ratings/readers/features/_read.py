"""`read_features`: what is publicly known of items, beside a catalogue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.domain import Catalog, InputError
from discreet.ratings.readers._batch import REASONS, Fault, Ids
from discreet.ratings.readers._cells import read_ids
from discreet.ratings.readers._ids import UNKNOWN, CatalogLookup
from discreet.ratings.readers._public_tables import TableSource
from discreet.ratings.readers.features._columns import feature_columns
from discreet.ratings.readers.features._item_features import ItemFeatures
from discreet.ratings.readers.features._table import Table, open_features


def read_features(
    source: TableSource,
    catalog: Catalog,
    *,
    item: str | None = None,
    columns: Sequence[str] | None = None,
    most: int = 64,
) -> ItemFeatures:
    """Read what is publicly known of items: genres, years, prices.

    The table must be public. Nothing protects it: what is read here may go into releases as it is,
    and costs no budget. Never give a table that was made from people's ratings or doings, like
    average ratings, sales or tags.

    Numbers (and dates) become one column each, with mean 0 and variance 1 over the items that have
    one, 0 where it is missing. Text becomes a column of 0 and 1 for each value, like
    `genres=Comedy`; `|` separates several values of one item. Text that is different for almost
    every item, like a title, gives none; but if most end in a year in parentheses, the first such
    column gives decades, like `decade=1990`. Values that only one item or every item has, and
    numbers that are the same for every item, are left out. Everything is counted over the items
    that the catalogue and the table share.

    Args:
        source: A table with a row for each item: CSV, TSV or Parquet, a pandas or polars data
            frame, a polars lazy frame or an Arrow table; or `movies.dat`, `u.item` or `movies.csv`
            of MovieLens, or `movie_titles.txt` of the Netflix Prize.
        catalog: The items that features are for.
        item: The name of the column with the items' ids, where it is not a usual one.
        columns: The names of the columns to use; all if absent.
        most: How many columns may come out. Numbers come first, then the values that most items
            have; rarer ones are left out.

    Raises:
        InputError: The table cannot be read, lacks a column, lists an item twice or none of the
            catalogue's, or has nothing that makes a feature.
    """
    if most < 1:
        raise InputError(f"most is how many columns there may be, 1 or more, not {most}")
    table = open_features(source)
    key = table.find_item(item)
    chosen = _chosen(table, key, columns)
    ids = _checked_ids(table, key)
    places = CatalogLookup(catalog).find(ids)
    known = np.flatnonzero(places != UNKNOWN)
    if not len(known):
        raise table.error(f"lists none of the catalogue's {len(catalog):,} items")
    known = known[np.argsort(places[known])]
    names, found = feature_columns(table.frame.select(chosen)[known], most)
    if not names:
        reason = "empty, the same for every item or different for every item"
        raise table.error(f"makes no feature: what it says is {reason}")
    values = np.zeros((len(catalog), len(names)), np.float32)
    values[places[known]] = found
    lacking, ignored = len(catalog) - len(known), len(places) - len(known)
    return ItemFeatures(names, values, lacking=lacking, ignored=ignored)


def _chosen(table: Table, key: str, columns: Sequence[str] | None) -> list[str]:
    """The names of the columns to make features of."""
    if columns is None:
        columns = [name for name in table.frame.columns if name != key]
    if isinstance(columns, str):
        raise InputError(f"columns is a list of names, like ['{columns}']")
    for name in columns:
        if name == key or name not in table.frame.columns:
            what = "is the column of ids" if name == key else "is no column"
            raise table.error(f"makes no feature of '{name}', which {what}{table.listed()}")
    if not columns:
        raise table.error(f"makes no feature: no column beside '{key}' is used")
    return list(dict.fromkeys(columns))


def _checked_ids(table: Table, key: str) -> Ids:
    """The items' ids; none may be empty or occur twice."""
    column = table.frame[key].alias("item")
    faults = np.zeros(len(column), np.uint8)
    try:
        ids = read_ids(column, faults, Fault.ITEM_EMPTY, Fault.ITEM_FRACTION)
    except InputError as error:
        raise table.error(f"cannot be read: {error.reason}") from None
    wrong = faults != Fault.NONE
    if wrong.any():
        place = int(np.argmax(wrong))
        raise table.origin.complaint(int(table.lines[place]), REASONS[Fault(faults[place])])
    again = (~pl.Series(ids).is_first_distinct()).arg_true()
    if len(again):
        place = int(again[0])
        raise table.origin.complaint(
            int(table.lines[place]), f"lists item '{ids[place]}' a second time"
        )
    return ids
