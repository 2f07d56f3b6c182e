"""Columns of a public table into columns of numbers.

Rows come in the catalogue's order, so that the same items listed in any order give the same
features to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float32]

_NOTHING = ("", "na", "n/a", "nan", "null", "none", "\\n", "(no genres listed)")
"""What tables write, in lower case, where they have nothing to say."""

_ALL_DIFFERENT = 0.9
"""A text column with more distinct values than this share of all its values tells items apart."""
_LEAST_ITEMS = 2
"""A value that one item alone has says nothing of any other."""
_SAME = 1e-12
"""Numbers that differ by less than this share of the largest are the same."""

_YEAR = r"\(([12][0-9]{3})\)\s*$"
_VALUES = {"row": pl.UInt32, "column": pl.Int32, "value": pl.String, "name": pl.String}
_LISTED = {"column": pl.Int32, "value": pl.String, "items": pl.UInt32, "name": pl.String}


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
