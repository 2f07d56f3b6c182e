"""What every source yields: a run of rows in columns, with what is wrong with each."""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, Hint, InputError, Scale
from discreet.ratings.readers._files import size_of
from discreet.ratings.readers.text import NOT_UTF8

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
    Fault.RATING_NOT_NUMBER: "the rating is not a number",
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
