"""What a cell means: an identifier, a number or a time.

Text cells go through the kernels of `_tokens`; typed columns are converted here. Text is the same
whether it comes from a CSV file, from Parquet or from a data frame, so that a cell of the same
bytes means the same everywhere. The types of Parquet and
data frame columns are public: they are the schema, and no row can change them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.domain import InputError
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import Batch, Fault, Faults, Ids, Origin, mark
from discreet.ratings.readers.text import Cells, Text

# Seconds.
_DAY = 86_400
# Larger floats have lost digits, so two identifiers may have become one.
LARGEST_WHOLE = 2.0**53
_LINE_FAULTS = {_tokens.WRONG_FIELDS: Fault.FIELDS, _tokens.NOT_UTF8: Fault.NOT_UTF8}


def batch_of_cells(cells: Cells, slots: dict[str, int], origin: Origin, fields: str = "") -> Batch:
    """A batch from the cells of a text file, `slots` saying which column is for which role."""
    faults = np.zeros(len(cells), np.uint8)
    for line_fault, fault in _LINE_FAULTS.items():
        faults[cells.faults == line_fault] = fault
    columns = {role: cells.text(slot) for role, slot in slots.items()}
    users = ids_of_text(columns["user"], faults, Fault.USER_EMPTY)
    items = ids_of_text(columns["item"], faults, Fault.ITEM_EMPTY)
    ratings = _ratings_of_text(columns["rating"], faults) if "rating" in columns else None
    times = _times_of_text(columns["time"], faults) if "time" in columns else None
    return Batch(origin, cells.lines, users, items, ratings, times, faults, cells.done, fields)


class Coded(NamedTuple):
    """A column of text in which few words occur, each looked at once: a cell means what it is."""

    words: pl.Series
    which: npt.NDArray[np.integer]
    """For each row its word's place, or -1 where there is none."""


def batch_of_frame(
    frame: pl.DataFrame,
    origin: Origin,
    lines: npt.NDArray[np.int64],
    done: int,
    coded: Coded | None = None,
) -> Batch:
    """A batch from columns `user`, `item` and perhaps `rating` and `time`, of any sensible types.

    Args:
        frame: The columns.
        origin: Where they are from.
        lines: Each row's place there.
        done: How much of the source has been read by now.
        coded: The items, if they are not in the frame.

    Raises:
        InputError: A column's type can never hold what it should.
    """
    faults = np.zeros(frame.height, np.uint8)
    users = read_ids(frame["user"], faults, Fault.USER_EMPTY, Fault.USER_FRACTION)
    if coded is None:
        items = read_ids(frame["item"], faults, Fault.ITEM_EMPTY, Fault.ITEM_FRACTION)
    else:
        items = _coded_ids(coded, faults, Fault.ITEM_EMPTY, Fault.ITEM_FRACTION)
    ratings = _ratings(frame["rating"], faults) if "rating" in frame.columns else None
    times = _times(frame["time"], faults) if "time" in frame.columns else None
    return Batch(origin, lines, users, items, ratings, times, faults, done)


def read_ids(column: pl.Series, faults: Faults, empty: Fault, fraction: Fault) -> Ids:
    """A column of identifiers, with the empty ones and the fractions noted.

    Raises:
        InputError: Its type can never hold identifiers.
    """
    if column.dtype.is_float():
        column = _whole(column, faults, fraction)
    if column.dtype.is_integer():
        mark(faults, column.is_null().to_numpy(), empty)
        numbers = column.fill_null(0).cast(pl.Int64, strict=False)
        if not numbers.null_count():
            return numbers.to_numpy()
        column = column.cast(pl.String)  # beyond 64 bits, so the text that it prints as
    return ids_of_text(_text(column, faults, "integers or text"), faults, empty)


def _coded_ids(coded: Coded, faults: Faults, empty: Fault, fraction: Fault) -> Ids:
    """`read_ids` of the rows' words; where there is none, the cell is empty."""
    words = pl.concat([coded.words, pl.Series([None], dtype=coded.words.dtype)])
    of_words = np.zeros(len(words), np.uint8)
    ids = read_ids(words, of_words, empty, fraction)
    if of_words.any():
        of_rows = of_words[coded.which]
        faults[faults == Fault.NONE] = of_rows[faults == Fault.NONE]
    # The last word is the one that is none, which -1 is the place of, here and in polars.
    return ids.gather(coded.which) if isinstance(ids, pl.Series) else ids[coded.which]


def ids_of_text(cells: Text, faults: Faults, empty: Fault) -> Ids:
    """Identifiers in text; integers where every one is what an integer prints as."""
    numbers, kinds = _tokens.read_ids(*cells[:3])
    mark(faults, kinds == _tokens.EMPTY, empty)
    return cells.words() if (kinds == _tokens.TEXT).any() else numbers


def numbers_of_text(cells: Text) -> tuple[npt.NDArray[np.float64], _tokens.Kinds]:
    """Each cell's number, NaN if it is none, and its kind: `_tokens.EMPTY` and so on."""
    values, kinds = _tokens.read_numbers(*cells[:3])
    long = np.flatnonzero(kinds == _tokens.LONG)
    if len(long):
        # Digits beyond 64-bit arithmetic: Python rounds them as exactly. One at a time, since an
        # array of text would give every cell the room of the longest.
        texts = cells.take(long).words()
        values[long] = np.fromiter(map(float, texts), np.float64, len(long))
    return values, kinds


def _whole(column: pl.Series, faults: Faults, fraction: Fault) -> pl.Series:
    """A float column, as tables with gaps often have, as integers; what is not whole is noted."""
    numbers = column.cast(pl.Float64).fill_nan(None)
    values = numbers.fill_null(0.0).to_numpy()
    wrong = (np.abs(values) > LARGEST_WHOLE) | (values != np.floor(values))
    mark(faults, wrong, fraction)
    return numbers.set(pl.Series(wrong), 0.0).cast(pl.Int64)


def _text(column: pl.Series, faults: Faults, wanted: str) -> Text:
    """A text column's cells; a null is an empty one.

    Raises:
        InputError: The column is of another type.
    """
    if column.dtype not in (pl.String, pl.Binary, pl.Categorical, pl.Enum, pl.Null):
        raise _wrong_type(column, wanted)
    is_bytes = column.dtype == pl.Binary
    words = column if is_bytes else column.cast(pl.String)
    cells = words.fill_null(b"" if is_bytes else "").rechunk().to_arrow().cast(pa.large_binary())
    _, offsets, data = cells.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(cells) + 1, 8 * cells.offset)
    array = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    begins, ends = bounds[:-1], bounds[1:]
    if is_bytes:
        # From `_frames.series_of`: text some of whose cells are not UTF-8.
        wrong = ~_tokens.valid_utf8(array, begins, ends)
        mark(faults, wrong, Fault.NOT_UTF8)
        ends = np.where(wrong, begins, ends)
    return Text(array, begins, ends, np.zeros(len(cells), np.bool_))


def _ratings(column: pl.Series, faults: Faults) -> npt.NDArray[np.float64]:
    if not column.dtype.is_numeric():
        return _ratings_of_text(_text(column, faults, "numbers"), faults)
    mark(faults, column.is_null().to_numpy(), Fault.RATING_EMPTY)
    numbers = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    mark(faults, np.isnan(numbers), Fault.RATING_NOT_NUMBER)
    return numbers


def _ratings_of_text(cells: Text, faults: Faults) -> npt.NDArray[np.float64]:
    values, kinds = numbers_of_text(cells)
    mark(faults, kinds == _tokens.EMPTY, Fault.RATING_EMPTY)
    mark(faults, kinds == _tokens.NO_NUMBER, Fault.RATING_NOT_NUMBER)
    return values


def _times(column: pl.Series, faults: Faults) -> npt.NDArray[np.int64]:
    """Seconds: numbers are seconds, dates begin at midnight UTC, moments without a zone are UTC."""
    if column.dtype.is_integer():
        seconds = column.cast(pl.Int64, strict=False)
    elif column.dtype.is_float():
        seconds = column.floor().cast(pl.Int64, strict=False)
    elif column.dtype == pl.Date:
        seconds = column.cast(pl.Int64) * _DAY
    elif column.dtype == pl.Datetime:
        seconds = column.dt.epoch("s")
    else:
        wanted = "seconds since 1970, dates or datetimes"
        return _times_of_text(_text(column, faults, wanted), faults)
    mark(faults, column.is_null().to_numpy(), Fault.TIME_EMPTY)
    mark(faults, seconds.is_null().to_numpy(), Fault.TIME_UNREADABLE)
    return seconds.fill_null(0).to_numpy()


def _times_of_text(cells: Text, faults: Faults) -> npt.NDArray[np.int64]:
    """Whole seconds since 1970, other numbers rounded down to them, or dates."""
    seconds: npt.NDArray[np.int64]
    seconds, kinds = _tokens.read_ids(*cells[:3])
    mark(faults, kinds == _tokens.EMPTY, Fault.TIME_EMPTY)
    others = np.flatnonzero(kinds == _tokens.TEXT)
    if not len(others):
        return seconds
    rest = cells.take(others)
    values, kinds = numbers_of_text(rest)
    dates = _tokens.read_dates(*rest[:3])
    # Beyond 2^62 a double has no place among 64-bit integers; such a time is out of range anyway.
    bounded = np.clip(np.nan_to_num(np.floor(values)), -(2.0**62), 2.0**62).astype(np.int64)
    seconds[others] = np.where(kinds == _tokens.NO_NUMBER, dates, bounded)
    unreadable = np.zeros(len(seconds), np.bool_)
    unreadable[others] = (kinds == _tokens.NO_NUMBER) & (dates == _tokens.UNREADABLE)
    mark(faults, unreadable, Fault.TIME_UNREADABLE)
    return seconds


def _wrong_type(column: pl.Series, wanted: str) -> InputError:
    kind = str(column.dtype).partition("(")[0]
    return InputError(f"the {column.name} column must hold {wanted}; it is {kind}")
