"""What every source yields: a run of rows in columns, what its cells mean, and what is wrong.

A cell is an identifier, a number or a time. Text cells go through the kernels of `_tokens`; typed
columns are converted here. Text is the same whether it comes from a CSV file, from Parquet or from
a data frame, so that a cell of the same bytes means the same everywhere. The types of Parquet and
data frame columns are public: they are the schema, and no row can change them.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.domain import Catalog, Hint, InputError, Scale
from discreet.domain.files import size_of
from discreet.ratings.readers import _tokens
from discreet.ratings.readers.text import NOT_UTF8, Cells, Text

Progress = Callable[[int, int], None]
"""Called now and then with how much of the source is read and how much there is: bytes or rows."""

Ids = npt.NDArray[np.int64] | pl.Series
"""Identifiers: integers, or text in a polars series of strings without nulls."""

Faults = npt.NDArray[np.uint8]
"""A `Fault` beside each row."""


class Fault(enum.IntEnum):
    """Why a row cannot be used; the first that is noted, where a row has several."""

    NONE = 0
    FIELDS = 1
    NOT_UTF8 = 2
    USER_EMPTY = 3
    USER_FRACTION = 4
    ITEM_EMPTY = 5
    ITEM_FRACTION = 6
    RATING_EMPTY = 7
    RATING_NOT_NUMBER = 8
    TIME_EMPTY = 9
    TIME_UNREADABLE = 10
    NOT_NETFLIX = 11
    NOT_JESTER = 12
    TIME_RANGE = 13
    OFF_SCALE = 14
    UNKNOWN_ITEM = 15


_NO_TIMES = Hint("columns", {"time": None})
SKIP_ROWS = Hint("on_bad_rows", "skip")
MORE_FIELDS = Hint("columns", {"fields": 5})
ROW_HINTS = (_NO_TIMES, SKIP_ROWS, MORE_FIELDS)
"""What a complaint about a row may mention."""

REASONS = {
    Fault.NOT_UTF8: NOT_UTF8,
    Fault.USER_EMPTY: "the user is empty",
    Fault.USER_FRACTION: "the user is a number, but not a whole number up to 2^53",
    Fault.ITEM_EMPTY: "the item is empty",
    Fault.ITEM_FRACTION: "the item is a number, but not a whole number up to 2^53",
    Fault.RATING_EMPTY: "the rating is empty",
    Fault.RATING_NOT_NUMBER: "the rating is not a number; decimals need a point, like 3.5",
    Fault.TIME_EMPTY: f"the time is empty; {_NO_TIMES} leaves times out",
    Fault.TIME_UNREADABLE: (
        "the time is neither a whole number of seconds since 1970 nor a date like 2005-12-31 or "
        "2005-12-31T23:59:59"
    ),
    Fault.TIME_RANGE: (
        "the time is outside the years 1970 to 2106; times are seconds since 1970, so divide "
        "milliseconds by 1000"
    ),
    Fault.NOT_NETFLIX: "is neither 'movie:' nor 'customer,rating,YYYY-MM-DD' below a 'movie:'",
    Fault.NOT_JESTER: (
        "must be 101 numbers: how many jokes are rated, then one for each joke, 99 for none"
    ),
}
"""What each fault says to a person, where that does not depend on the source."""


class Origin(Protocol):
    """Where rows came from, for the person who has to correct them."""

    def complaint(self, line: int, reason: str) -> InputError:
        """The error that names this line, or row."""


@dataclass(frozen=True)
class Lines:
    """Lines of a text file, counted from 1."""

    path: Path
    hint: str = ""
    """What to add to a complaint about the first line."""

    def complaint(self, line: int, reason: str) -> InputError:
        """The error that names this line."""
        whole = reason + self.hint * (line == 1)
        return InputError(whole, path=self.path, line=line, hints=ROW_HINTS)


@dataclass(frozen=True)
class Rows:
    """Rows of a table that has no lines, counted from 1."""

    path: Path | None

    def complaint(self, line: int, reason: str) -> InputError:
        """The error that names this row."""
        return InputError(f"row {line:,}: {reason}", path=self.path, hints=ROW_HINTS)


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows of a source, in its order; what bad rows hold means nothing.

    Private: it is handed from a source to the collector and nowhere else.
    """

    origin: Origin
    lines: npt.NDArray[np.int64]
    """Each row's place in the origin."""
    users: Ids
    items: Ids
    ratings: npt.NDArray[np.float64] | None
    """None where only presence was read."""
    times: npt.NDArray[np.int64] | None
    """Seconds since 1970, not yet checked for fitting 32 bits; None where there are none."""
    faults: Faults
    done: int
    """How much of the source has been read by now."""
    fields: str = ""
    """The reason that is given for a row with the fault `FIELDS`."""

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, kw_only=True, repr=False)
class Source(abc.ABC):
    """Somewhere that ratings come from, with what its layout says about them."""

    path: Path | None = None
    """The file, where there is one."""
    scale: Scale | None = None
    """The scale that ratings of this layout are on, where the layout says it."""
    find_catalog: Callable[[Sequence[str]], Catalog] | None = None
    """Reads the catalogue that is part of the layout, where there is one; keeps columns of it."""
    keep_user_ids: bool = True
    """Whether users have names in this layout."""
    assumes: tuple[str, ...] = ()
    """What must be true of the source for reading to be stable, each a clause after "that"."""

    @property
    def size(self) -> int:
        """How much there is to read, in the unit of `Batch.done`; bytes, unless overridden."""
        assert self.path is not None
        return size_of(self.path)

    @abc.abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows in order, a few megabytes at a time.

        Raises:
            InputError: The source cannot be read.
        """


def mark(faults: Faults, where: npt.NDArray[np.bool_], fault: Fault) -> None:
    """Note a fault on the rows `where` that have none yet."""
    if where.any():
        faults[where & (faults == Fault.NONE)] = fault


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
