"""Public features of items: what anybody may know of an item without a single rating.

Columns of a public table become columns of numbers. Rows come in the catalogue's order, so that the
same items listed in any order give the same features to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, InputError
from discreet.ratings.readers._batch import REASONS, Fault, Ids, read_ids
from discreet.ratings.readers._collect import UNKNOWN, CatalogLookup
from discreet.ratings.readers._public import PublicTable, TableSource, open_public

Floats = npt.NDArray[np.float32]

# What tables write, in lower case, where they have nothing to say.
_NOTHING = ("", "na", "n/a", "nan", "null", "none", "\\n", "(no genres listed)")
# A text column with more distinct values than this share of all its values tells items apart, as
# titles do. Chosen by hand.
_ALL_DIFFERENT = 0.9
# A value that one item alone has says nothing of any other.
_LEAST_ITEMS = 2
# Numbers that differ by less than this share of the largest are the same: some thousand roundings.
_SAME = 1e-12
_YEAR = r"\(([12][0-9]{3})\)\s*$"
_VALUES = {"row": pl.UInt32, "column": pl.Int32, "value": pl.String, "name": pl.String}
_LISTED = {"column": pl.Int32, "value": pl.String, "items": pl.UInt32, "name": pl.String}


@dataclass(frozen=True, eq=False, repr=False)
class ItemFeatures:
    """A row for each item of a catalogue, a column for each thing known about items.

    Public, like the catalogue: made from public tables and never from a rating, so that using it
    costs no privacy.

    Args:
        names: What each column says, like `genres=Comedy` or `year`.
        values: Finite numbers, items in the catalogue's order; zeros for items nothing is known of.
        lacking: How many items of the catalogue the table lacks.
        ignored: How many items of the table the catalogue lacks.

    Raises:
        InputError: The values are no finite table with a column for each name.
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float32]
    lacking: int = 0
    ignored: int = 0

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise InputError("features are numbers in a row for each item, a column for each name")
        if values.shape[1] != len(self.names):
            raise InputError(f"{len(self.names):,} names but {values.shape[1]:,} feature columns")
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(values, dtype=np.float32)
        if not np.isfinite(values).all():
            raise InputError("a feature is not a finite number")
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"ItemFeatures({len(self.names):,} columns, {len(self):,} items)"


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
    table = open_public(source)
    key = table.find_id(item)
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


def _chosen(table: PublicTable, key: str, columns: Sequence[str] | None) -> list[str]:
    """The names of the columns to make features of."""
    if columns is None:
        columns = [name for name in table.frame.columns if name != key]
    if isinstance(columns, str):
        raise InputError(f"columns is a list of names, like ['{columns}']")
    for name in columns:
        if name == key or name not in table.frame.columns:
            what = "is the column of ids" if name == key else "is not a column"
            raise table.error(f"makes no feature of '{name}', which {what}{table.listed()}")
    if not columns:
        raise table.error(f"yields no feature: no column except '{key}' is used")
    return list(dict.fromkeys(columns))


def _checked_ids(table: PublicTable, key: str) -> Ids:
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
        raise table.row_error(place, REASONS[Fault(faults[place])])
    again = (~pl.Series(ids).is_first_distinct()).arg_true()
    if len(again):
        place = int(again[0])
        raise table.row_error(place, f"lists item '{ids[place]}' a second time")
    return ids


@dataclass(frozen=True)
class _Kinds:
    """A table's columns, sorted by what becomes of them."""

    numbers: dict[int, tuple[str, Floats]]
    """By position: a name and standardised values."""
    values: pl.DataFrame
    """Text: which row has which value of which column."""


def feature_columns(table: pl.DataFrame, most: int) -> tuple[tuple[str, ...], Floats]:
    """The features that a table gives: their names, and a row of them for each of its rows.

    Args:
        table: A row for each item.
        most: How many columns there may be. Numbers come first, in the table's order, then the
            values that most items have.
    """
    kinds = _sorted_out(table)
    numbers = dict(list(kinds.numbers.items())[:most])
    chosen = _most_frequent(kinds.values, table.height, most - len(numbers))
    rows = [(column, "", 0, name) for column, (name, _) in numbers.items()]
    listed = pl.concat([pl.DataFrame(rows, _LISTED, orient="row"), chosen.select(*_LISTED)])
    listed = listed.sort("column", "items", "value", descending=[False, True, False])
    listed = listed.with_row_index("place")
    features = np.zeros((table.height, listed.height), np.float32)
    hits = kinds.values.join(listed.select("column", "value", "place"), on=["column", "value"])
    features[hits["row"].to_numpy(), hits["place"].to_numpy()] = 1
    for place, column in listed.filter(items=0).select("place", "column").iter_rows():
        features[:, place] = numbers[column][1]
    return tuple(listed["name"].to_list()), features


def _sorted_out(table: pl.DataFrame) -> _Kinds:
    numbers: dict[int, tuple[str, Floats]] = {}
    values: list[pl.DataFrame] = [pl.DataFrame(schema=_VALUES)]
    has_years = False
    for place, column in enumerate(table.iter_columns()):
        cleaned = _cleaned(column)
        figures = _as_numbers(cleaned, is_text=column.dtype in (pl.Categorical, pl.Enum))
        if figures is not None:
            standard = _standardised(figures)
            if standard is not None:
                numbers[place] = (column.name, standard)
            continue
        found = _values(cleaned)
        if not _tells_apart(found):
            values.append(_labelled(found, place, column.name))
        elif not has_years and (decades := _decades(cleaned)) is not None:
            has_years = True
            values.append(_labelled(decades, place, "decade"))
    return _Kinds(numbers, pl.concat(values))


def _cleaned(column: pl.Series) -> pl.Series:
    """Text without what stands for nothing; other types as they are."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set(column.str.to_lowercase().is_in(_NOTHING), None)
    return column


def _as_numbers(column: pl.Series, *, is_text: bool) -> pl.Series | None:
    """The column as floats, if numbers are what it holds: every cell of it that is filled."""
    if column.dtype.is_temporal():
        column = column.cast(pl.Int64)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64, strict=False)
    if is_text or column.dtype != pl.String or column.null_count() == len(column):
        return None
    numbers = column.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else None


def _standardised(column: pl.Series) -> Floats | None:
    """Mean 0 and variance 1, 0 where a number is missing; None if all are the same."""
    values = column.fill_null(np.nan).to_numpy()
    known = np.isfinite(values)
    largest = float(np.max(np.abs(values[known]), initial=0.0))
    if largest == 0:
        return None
    # Of shares of the largest, so that no square is too large for a float.
    shares = np.where(known, values, 0.0) / largest
    deviation = float(shares[known].std())
    if deviation <= _SAME:
        return None
    distances = (shares - shares[known].mean()) / deviation
    return np.where(known, distances, 0.0).astype(np.float32)


def _values(column: pl.Series) -> pl.DataFrame:
    """Which row has which values: those that `|` separates, or a list's; none for other types."""
    if column.dtype == pl.String:
        column = column.str.split("|")
    if column.dtype not in (pl.List, pl.Array) or not _is_plain(column):
        return pl.DataFrame(schema={"row": pl.UInt32, "value": pl.String})
    rows = pl.DataFrame({"value": column}).with_row_index("row").explode("value")
    rows = rows.with_columns(_cleaned(rows["value"].cast(pl.String, strict=False)))
    return rows.drop_nulls().unique(maintain_order=True)


def _is_plain(column: pl.Series) -> bool:
    inner = column.dtype.inner  # type: ignore[attr-defined]
    return bool(inner.is_numeric() or inner in (pl.String, pl.Categorical, pl.Enum))


def _tells_apart(found: pl.DataFrame) -> bool:
    """Whether almost every value is another, as titles and addresses are."""
    return found["value"].n_unique() > _ALL_DIFFERENT * found.height


def _decades(column: pl.Series) -> pl.DataFrame | None:
    """The decade of the year in parentheses at the end of each text, if most texts have one."""
    if column.dtype != pl.String:
        return None
    years = column.str.extract(_YEAR).cast(pl.Int32)
    if 2 * years.count() <= column.count():
        return None
    decades = (years // 10 * 10).cast(pl.String)
    return pl.DataFrame({"value": decades}).with_row_index("row").drop_nulls()


def _labelled(found: pl.DataFrame, place: int, name: str) -> pl.DataFrame:
    labels = pl.concat_str(pl.lit(f"{name}="), "value")
    column = pl.lit(place, dtype=pl.Int32)
    return found.with_columns(column=column, name=labels).select(*_VALUES)


def _most_frequent(values: pl.DataFrame, rows: int, most: int) -> pl.DataFrame:
    """The values that most items have, of those that some have and others do not."""
    counts = values.group_by("column", "value", "name").agg(items=pl.len())
    counts = counts.filter(pl.col("items").is_between(_LEAST_ITEMS, rows - 1))
    ranked = counts.sort("items", "column", "value", descending=[True, False, False])
    return ranked.head(most)
