"""Typed or textual columns into a batch: identifiers, ratings and times as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import InputError
from discreet.ratings.readers._batch import Batch, Broken, Fault, Ids, Origin, mark
from discreet.ratings.readers._times import seconds

_Faults = npt.NDArray[np.uint8] | None


def to_batch(
    frame: pl.DataFrame,
    origin: Origin,
    lines: npt.NDArray[np.int64],
    done: int,
    broken: Broken | None = None,
) -> Batch:
    """A batch from columns `user`, `item` and perhaps `rating` and `time`, of any sensible types.

    Raises:
        InputError: A column's type can never hold what it should.
    """
    users, faults = to_ids(frame["user"], None, Fault.USER_EMPTY)
    items, faults = to_ids(frame["item"], faults, Fault.ITEM_EMPTY)
    ratings = times = None
    if "rating" in frame.columns:
        ratings, faults = _ratings(frame["rating"], faults)
    if "time" in frame.columns:
        times, faults = _times(frame["time"], faults)
    return Batch(origin, lines, users, items, ratings, times, faults, broken, done)


def to_ids(column: pl.Series, faults: _Faults, empty: Fault) -> tuple[Ids, _Faults]:
    """A column of identifiers, with the empty ones noted.

    Raises:
        InputError: Its type can never hold identifiers.
    """
    if column.dtype.is_float():
        column = _whole(column)
    if column.dtype.is_integer():
        faults = mark(faults, _nulls(column), empty) if column.null_count() else faults
        numbers = column.fill_null(0).cast(pl.Int64, strict=False)
        if not numbers.null_count():
            return numbers.to_numpy(), faults
        column = column.cast(pl.String)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String and column.dtype != pl.Null:
        raise _wrong_type(column, "integers or text")
    words = column.cast(pl.String).fill_null("")
    return words, mark(faults, (words == "").to_numpy(), empty)


def _whole(column: pl.Series) -> pl.Series:
    """A float column of whole numbers, as tables with gaps often have, as integers."""
    column = column.fill_nan(None)
    numbers = column.cast(pl.Int64, strict=False)
    if not (numbers.cast(pl.Float64) == column.cast(pl.Float64)).fill_null(True).all():
        raise _wrong_type(column, "integers or text, not fractions")
    if numbers.null_count() != column.null_count():
        raise _wrong_type(column, "integers or text, not infinite")
    return numbers


def _ratings(column: pl.Series, faults: _Faults) -> tuple[npt.NDArray[np.float64], _Faults]:
    missing = column.is_null()
    if column.dtype == pl.String:
        column = column.str.strip_chars(" ")
        missing |= column == ""
    elif not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise _wrong_type(column, "numbers")
    if missing.any():
        faults = mark(faults, missing.fill_null(True).to_numpy(), Fault.RATING_EMPTY)
    numbers = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return numbers, mark(faults, np.isnan(numbers), Fault.RATING_NOT_NUMBER)


def _times(column: pl.Series, faults: _Faults) -> tuple[npt.NDArray[np.int64], _Faults]:
    if column.dtype == pl.String:
        column = column.str.strip_chars(" ")
        column = column.set(column == "", None)
    if column.null_count():
        faults = mark(faults, _nulls(column), Fault.TIME_EMPTY)
    numbers = seconds(column)
    if numbers is None:
        raise _wrong_type(column, "seconds since 1970, dates or datetimes")
    if numbers.null_count():
        faults = mark(faults, _nulls(numbers), Fault.TIME_UNREADABLE)
        numbers = numbers.fill_null(0)
    return numbers.to_numpy(), faults


def _nulls(column: pl.Series) -> npt.NDArray[np.bool_]:
    return column.is_null().to_numpy()


def _wrong_type(column: pl.Series, wanted: str) -> InputError:
    kind = str(column.dtype).partition("(")[0]
    return InputError(f"the {column.name} column must hold {wanted}; it is {kind}")
