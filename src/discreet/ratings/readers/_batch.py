"""What every source yields: a run of rows in columns, with what is wrong with each."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import InputError

Progress = Callable[[int, int], None]
"""Told now and then how much of the source is read and how much there is: bytes, or rows."""

Ids = npt.NDArray[np.int64] | pl.Series
"""Identifiers: integers, or text in a polars series of strings without nulls."""


class Fault(enum.IntEnum):
    """Why a row cannot be used; the first that is noted, where a row has several."""

    NONE = 0
    FIELDS = 1
    USER_EMPTY = 2
    ITEM_EMPTY = 3
    RATING_EMPTY = 4
    RATING_NOT_NUMBER = 5
    TIME_EMPTY = 6
    TIME_UNREADABLE = 7
    NOT_NETFLIX = 8
    NOT_JESTER = 9
    TIME_RANGE = 10
    OFF_SCALE = 11
    UNKNOWN_ITEM = 12


REASONS = {
    Fault.USER_EMPTY: "the user is empty",
    Fault.ITEM_EMPTY: "the item is empty",
    Fault.RATING_EMPTY: "the rating is empty",
    Fault.RATING_NOT_NUMBER: "the rating is not a number",
    Fault.TIME_EMPTY: 'the time is empty; columns={"time": None} leaves times out',
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


@dataclass(frozen=True)
class Broken:
    """Lines that do not even fall into columns."""

    lines: npt.NDArray[np.int64]
    fault: Fault
    reason: str | None = None
    """What is said instead of the fault's usual reason."""

    def __len__(self) -> int:
        return len(self.lines)


class Origin(Protocol):
    """Where rows came from, for the person who has to mend them."""

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
        return InputError(reason + self.hint * (line == 1), path=self.path, line=line)


@dataclass(frozen=True)
class Rows:
    """Rows of a table that has no lines, counted from 1."""

    path: Path | None

    def complaint(self, line: int, reason: str) -> InputError:
        """The error that names this row."""
        return InputError(f"row {line:,}: {reason}", path=self.path)


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows of a source, in its order.

    Private: it is handed from a source to the collector and nowhere else.
    """

    origin: Origin
    lines: npt.NDArray[np.int64]
    """Each row's place in the origin."""
    users: Ids
    items: Ids
    ratings: npt.NDArray[np.float64] | None
    """NaN where there is a fault; None where only presence was read."""
    times: npt.NDArray[np.int64] | None = None
    """Seconds since 1970, not yet checked for fitting 32 bits."""
    faults: npt.NDArray[np.uint8] | None = None
    """A `Fault` beside each row, where any row has one."""
    broken: Broken | None = None
    """Lines between the rows that are no rows."""
    done: int = 0
    """How much of the source has been read by now."""

    def __len__(self) -> int:
        return len(self.lines)


def mark(
    faults: npt.NDArray[np.uint8] | None, where: npt.NDArray[np.bool_], fault: Fault
) -> npt.NDArray[np.uint8] | None:
    """Note a fault on the rows `where` that have none yet; None stays None while all is well."""
    if not where.any():
        return faults
    if faults is None:
        faults = np.zeros(len(where), dtype=np.uint8)
    faults[where & (faults == Fault.NONE)] = fault
    return faults
