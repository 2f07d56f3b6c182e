"""Readers with faults, planted so that the search can show that it finds them.

Each imitates in a few lines what a reader of 0.1.0 did: it lets one row decide how others are read.
Nothing else uses these.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from discreet.audit._registry import Entry
from discreet.audit.stability._readers import TextReader
from discreet.audit.stability._search import ITEMS, BadRows, Key, Reader, Reading, Refused, Row
from discreet.domain import InputError

_Lines = list[list[str]]
"""Fields, line by line, the header left out."""
# User, item, rating, time.
_FIELDS = 4


@dataclass(frozen=True)
class PlantedReader:
    """A CSV file, with a header or without, read wrongly.

    Args:
        fields_of: Splits the text into lines and fields.
        settle: What it makes of them all before it looks at each.
        header: Whether there is one.
        least: How many records a file must have to be accepted.
    """

    fields_of: Callable[[str], _Lines]
    settle: Callable[[_Lines], _Lines]
    header: bool = True
    least: int = 0
    items: Sequence[str] = ITEMS

    def source(self, rows: Sequence[Row]) -> bytes:
        data = self._text.source(rows)
        try:
            data.decode()
        except UnicodeDecodeError:
            raise Refused from None
        return data

    def touches(self, row: Row) -> set[Key]:
        """With blanks and without: only what happens to others counts."""
        keys = self._text.touches(row)
        return keys | {(f"{row[0]}", item) for _, item in keys}

    def read(self, source: bytes, on_bad_rows: BadRows) -> Reading:
        lines = self.fields_of(source.decode())[int(self.header) :]
        good: dict[Key, tuple[str, ...]] = {}
        bad = 0
        for fields in self.settle(lines):
            if len(fields) == _FIELDS and fields[0] and fields[1] in ITEMS:
                good[fields[0], fields[1]] = tuple(fields[2:])
            else:
                bad += 1
        if (bad and on_bad_rows == "refuse") or len(good) < self.least:
            raise InputError("refused")
        return Reading(good, bad)

    @property
    def _text(self) -> TextReader:
        return TextReader("r.csv", header=self.header, quoting="none", folder=None)  # type: ignore[arg-type]


def by_commas(text: str) -> _Lines:
    """Line by line, which is right."""
    return [line.split(",") for line in text.split("\n") if line]


def _by_first_row(text: str) -> _Lines:
    first = text.partition("\n")[0]
    separator = max(";,\t|", key=first.count)
    return [line.split(separator) for line in text.split("\n") if line]


def _by_quotes(text: str) -> _Lines:
    return list(csv.reader(io.StringIO(text, newline="")))


def stripped(lines: _Lines) -> _Lines:
    """Blanks removed from every cell, whatever other cells are: nothing is wrong with that."""
    return [[cell.strip(" \t\ufeff") for cell in fields] for fields in lines]


def _typed(lines: _Lines) -> _Lines:
    """Numbers if all users are; int() leaves blanks out, text keeps them."""
    try:
        return [[str(int(fields[0])), *fields[1:]] for fields in lines]
    except ValueError:
        return lines


def _stripped_if_odd(lines: _Lines) -> _Lines:
    if any(fields[0][:1] in ("0", " ", "\t") for fields in lines):
        return [[fields[0].strip(), *fields[1:]] for fields in lines]
    return lines


def _as_many_as_first(lines: _Lines) -> _Lines:
    """Lines of another number of fields than the first are bad."""
    count = len(lines[0]) if lines else 0
    return stripped([fields[:_FIELDS] if len(fields) == count else [] for fields in lines])


def _half_in_order(lines: _Lines) -> _Lines:
    """A side for each row, drawn one after the other."""
    coins = random.Random(1)
    return stripped([fields for fields in lines if coins.random() < 1 / 2])


def _bug(about: str, *faults: Any, **more: Any) -> Entry[Reader]:
    return Entry(about, partial(PlantedReader, *faults, **more))


PLANTED_READERS: Mapping[str, Entry[Reader]] = MappingProxyType({
    "reader-bug/column-type": _bug(
        "users are numbers if all of them are, else text", by_commas, _typed
    ),
    "reader-bug/odd-cell": _bug(
        "blanks are removed from all users if one is odd", by_commas, _stripped_if_odd
    ),
    "reader-bug/first-row-fields": _bug(
        "lines must have as many fields as the first", by_commas, _as_many_as_first, header=False
    ),
    "reader-bug/first-row-separator": _bug(
        "the separator is guessed from the first row", _by_first_row, stripped, header=False
    ),
    "reader-bug/quotes": _bug("quotes that are open swallow line breaks", _by_quotes, stripped),
    "reader-bug/split-in-order": _bug(
        "half of the rows, drawn one after the other", by_commas, _half_in_order
    ),
    "reader-bug/nobody": _bug("a file without ratings is refused", by_commas, stripped, least=1),
})  # fmt: skip
"""Every planted reader bug, by name."""
