"""Separated text: files into cells, line by line, whatever other lines say.

The rules for what a line and a cell mean are in docs/reference/data.md, and why they protect people
in `ratings/PROOF.md`. Separator, header, quoting and the number of fields are public: they come
from the caller, from a published layout, from the file's name or from its header line, never from
rows.

Engines that hold the lines elsewhere read them through this module, so that they read them alike.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.domain import Hint, InputError
from discreet.domain.files import BEGINNING, PIECE, Piece, beginning, pieces
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._columns import Columns, Role, find_columns, given_positions
from discreet.ratings.readers._tokens import BLANKS

__all__ = [
    "BLANKS",
    "NOT_UTF8",
    "NO_LINE",
    "Cells",
    "Dialect",
    "Quoting",
    "TableDescription",
    "Text",
    "cells_of",
    "check_is_text",
    "decoded_header",
    "header_line",
    "read_cells",
    "separator_of_header",
    "split_header",
    "split_lines",
]

Quoting = Literal["lines", "multiline", "none"]
"""What a `"` does: surrounds a field of one line, surrounds one that may have line breaks, or
nothing at all."""

NOT_UTF8 = "is not UTF-8; convert it, for instance with: iconv -f latin1 -t utf-8"
NO_LINE = "is empty: not even a header that names its columns"
_TOO_LONG = (
    f"is longer than {_tokens.LONGEST_RECORD >> 20} MiB, or opens a quote that is never closed"
)
_BOM = b"\xef\xbb\xbf"
_USUAL = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".dat": "::"}
# What a header line may be separated by; the first that makes enough names of it is taken.
_SEPARATORS = ("\t", "::", ";", "|", ",", " ")
_QUOTING_HINTS = (Hint("quoting", "multiline"), Hint("quoting", "none"))
_WRONG_QUOTES = {
    "lines": "a quote is not closed on its line, or stands inside a field; if fields have line "
    f"breaks in quotes, give {_QUOTING_HINTS[0]}; if quotes mean nothing in this file, "
    f"{_QUOTING_HINTS[1]}",
    "multiline": 'a quote inside a field is not doubled (""), or is never closed',
}
# What a file may be instead of text, by its first bytes.
_OTHER_FORMATS = {
    b"\xff\xfe": "is not UTF-8 but UTF-16; save it as UTF-8",
    b"\xfe\xff": "is not UTF-8 but UTF-16; save it as UTF-8",
    b"PK\x03\x04": "is a zip archive; unpack it first",
    b"\x1f\x8b": "is gzip, but its name does not end in .gz; rename it",
    b"PAR1": "is Parquet, but its name does not end in .parquet; rename it",
}


@dataclass(frozen=True)
class Dialect:
    """How a text table is written; all of it public.

    Args:
        separator: What stands between fields: one byte, or `::`.
        fields: How many fields every record has.
        quoting: What a `"` does.
        lenient: Whether a quote inside a field that is not quoted is a letter like any other: for
            public tables only.
    """

    separator: str
    fields: int
    quoting: Quoting = "lines"
    lenient: bool = False

    def __post_init__(self) -> None:
        alone = len(self.separator.encode()) == 1 and self.separator not in '"\r\n'
        if not alone and self.separator != "::":
            raise InputError("separator must be one ASCII character, no quote or line break, or ::")
        if self.quoting not in get_args(Quoting):
            raise InputError(f"quoting must be lines, multiline or none, not '{self.quoting}'")


@dataclass(frozen=True)
class TableDescription:
    """What the caller says of a table; the rest is read off its header and its file's name.

    Args:
        columns: Which column is which; counted where text has no header.
        separator: What separates the fields of text.
        quoting: What a quote does in text.
        implicit: Whether rows are interactions, so that a table needs no ratings.
    """

    columns: Columns | None = None
    separator: str | None = None
    quoting: Quoting | None = None
    implicit: bool = False

    @property
    def is_given(self) -> bool:
        """Whether the caller says anything of it."""
        return any(each is not None for each in (self.columns, self.separator, self.quoting))

    def positions(self) -> tuple[dict[Role, int], int] | None:
        """The position of each role, and how many fields there are, where columns are counted.

        Raises:
            InputError: Some columns are counted and others named, or one that is needed is absent.
        """
        return given_positions(self.columns, implicit=self.implicit)

    def places(
        self, names: Sequence[str], path: Path | None = None, *, may_show: bool = True
    ) -> dict[Role, int]:
        """The position of each role's column among the names; see `find_columns`.

        Raises:
            InputError: A column is missing, or could be one of several.
        """
        try:
            return find_columns(names, self.columns, implicit=self.implicit, may_show=may_show)
        except InputError as error:
            raise InputError(error.reason, path=path, hints=error.hints) from None

    def dialect(self, path: Path, header: Callable[[], str]) -> tuple[Dialect, list[str] | None]:
        """How a text table is written, and the names in its header; None if columns are counted.

        Args:
            path: The file, whose ending may say what separates fields.
            header: Reads the header line; not called if columns are counted.

        Raises:
            InputError: Nothing says what separates the fields, or the header is wrong.
        """
        separator, counted = self.separator, self.positions()
        if counted is not None:
            separator = separator or _usual_separator(path)
            if separator is None:
                example = Hint("separator", "|")
                raise InputError(
                    f"its name does not say what separates its fields; give it, like {example}",
                    path=path,
                    hints=[example],
                )
            return self._dialect(separator, counted[1]), None
        line = header()
        if separator is None:
            separator = separator_of_header(line, path, least=2 if self.implicit else 3)
        found = self._dialect(separator, 0)  # refused, if it is wrong, before a line is split
        names = split_header(line, separator)
        return replace(found, fields=len(names)), names

    def _dialect(self, separator: str, fields: int) -> Dialect:
        # MovieLens' files with this separator have quotes inside fields.
        usual: Quoting = "none" if separator == "::" else "lines"
        return Dialect(separator, fields, self.quoting or usual)


class Text(NamedTuple):
    """Cells of text: where each begins and ends in some bytes, and whether quotes are doubled."""

    data: _tokens.Bytes
    begins: _tokens.Places
    ends: _tokens.Places
    escaped: _tokens.Flags

    def words(self) -> pl.Series:
        """The cells as text, without blanks at their ends, of doubled quotes one each."""
        bounds, data = _tokens.copy_texts(*self)
        buffers = [pa.py_buffer(bounds), pa.py_buffer(data)]
        words = pa.LargeStringArray.from_buffers(len(bounds) - 1, *buffers)
        return pl.Series(words, dtype=pl.String)

    def take(self, rows: _tokens.Places) -> Text:
        """Some of the cells."""
        return Text(self.data, self.begins[rows], self.ends[rows], self.escaped[rows])


@dataclass(frozen=True, repr=False)
class Cells:
    """The wanted cells of some records: where each is in the bytes. Private."""

    data: _tokens.Bytes
    begins: _tokens.Places
    """A row for each wanted field, a column for each record."""
    ends: _tokens.Places
    escaped: _tokens.Flags
    """Whether a cell contains doubled quotes."""
    lines: _tokens.Places
    """The 1-based line on which each record begins."""
    counts: _tokens.Places
    """How many fields each record has."""
    faults: _tokens.Kinds
    """What is wrong with each record: `_tokens.GOOD` and so on."""
    done: int
    """How many of the file's bytes have been read by now."""
    is_cut: bool = False
    """Whether the last record lacks its line break, as it does where a copy was interrupted."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def is_good(self) -> _tokens.Flags:
        """Which records have nothing wrong with them."""
        good: _tokens.Flags = self.faults == _tokens.GOOD
        return good

    @property
    def has_wrong_quotes(self) -> bool:
        """Whether quotes leave open where a field of any record ends."""
        return bool((self.faults == _tokens.WRONG_QUOTES).any())

    def text(self, slot: int) -> Text:
        """One wanted field of every record; empty where a record is broken, which is not read."""
        begins, ends = self.begins[slot], self.ends[slot]
        if self.faults.any():
            ends = np.where(self.is_good, ends, begins)
        return Text(self.data, begins, ends, self.escaped[slot])

    def where(self, kept: _tokens.Flags) -> Cells:
        """Some of the records."""
        return replace(
            self,
            begins=self.begins[:, kept],
            ends=self.ends[:, kept],
            escaped=self.escaped[:, kept],
            lines=self.lines[kept],
            counts=self.counts[kept],
            faults=self.faults[kept],
        )


def read_cells(
    path: Path, dialect: Dialect, wanted: Sequence[int], *, header: bool, size: int = PIECE
) -> Iterator[Cells]:
    """A text file's records, in runs of about `size` bytes.

    Args:
        path: A file in UTF-8, gzip if its name ends in `.gz`.
        dialect: How it is written.
        wanted: The positions of the fields to find.
        header: Whether the first line that is not blank names the columns and is to be left out.
        size: How many bytes to read at a time.

    Raises:
        InputError: The file cannot be read, or its quotes do not say where a field ends.
    """
    skip, lines = _header_size(path) if header else (0, 0)
    yield from cells_of(pieces(path, size), dialect, wanted, path, skip=skip, lines=lines)


def cells_of(
    read: Iterable[Piece],
    dialect: Dialect,
    wanted: Sequence[int],
    path: Path,
    *,
    skip: int = 0,
    lines: int = 0,
) -> Iterator[Cells]:
    """The records in a file's pieces, from byte `skip` on, before which there are `lines` lines."""
    rest = b""
    refusals = {
        _tokens.WRONG_QUOTES: _WRONG_QUOTES.get(dialect.quoting, ""),
        _tokens.TOO_LONG: _TOO_LONG,
    }
    for piece in read:
        # What is left of the last piece is the beginning of a record that goes on in this one.
        data, skip = rest + piece.data[skip:], max(0, skip - len(piece.data))
        # A last line without its break is read like any other, and noted: a copy may have been cut.
        is_cut = piece.is_last and bool(data) and not data.endswith(b"\n")
        data += b"\n" * is_cut
        whole = data.rfind(b"\n") + 1
        found, used, seen = _split(data[:whole], dialect, wanted, piece.done)
        for fault, reason in refusals.items():
            wrong = found.faults == fault
            if wrong.any():
                # The line's number is all that is said of it: what stands there is somebody's.
                first = int(found.lines[np.argmax(wrong)]) + lines
                raise InputError(reason, path=path, line=first, hints=_QUOTING_HINTS)
        yield replace(found, lines=found.lines + lines, is_cut=is_cut)
        rest, lines = data[used:], lines + seen
        # A quoted field took the rest of the file: which line opened it is where reading stopped.
        if used < whole and piece.is_last:
            raise InputError("a quote is opened here and never closed", path=path, line=lines + 1)
        if len(rest) > _tokens.LONGEST_RECORD:
            raise InputError(_TOO_LONG, path=path, line=lines + 1)


def split_lines(data: bytes, dialect: Dialect, wanted: Sequence[int]) -> Cells:
    """The records in whole lines, of which none may go on in the next; faults are only noted."""
    assert dialect.quoting != "multiline"
    return _split(data, dialect, wanted, 0)[0]


def _split(
    data: bytes, dialect: Dialect, wanted: Sequence[int], done: int
) -> tuple[Cells, int, int]:
    """The records in whole lines, how many bytes they take, and how many lines."""
    array = np.frombuffer(data, np.uint8)
    slots = np.full(dialect.fields, -1, np.int64)
    # For each field of a line its place among the wanted ones; the kernel passes over those of -1.
    slots[list(wanted)] = np.arange(len(wanted))
    begins, ends, escaped, lines, counts, faults, used, seen = _tokens.split_records(
        array,
        ord(dialect.separator[0]),
        len(dialect.separator) == 2,
        dialect.quoting != "none",
        dialect.quoting == "multiline",
        dialect.lenient,
        slots,
        # There are at most as many records as lines: so much room is made for them beforehand.
        int(np.count_nonzero(array == ord("\n"))),
    )
    return Cells(array, begins, ends, escaped, lines + 1, counts, faults, done), used, seen


def check_is_text(data: bytes, path: str | Path) -> None:
    """Look at the first bytes of a file with a header, which are public.

    Raises:
        InputError: They are not those of text.
    """
    for mark, what in _OTHER_FORMATS.items():
        if data.startswith(mark):
            raise InputError(what, path=path)
    if b"\0" in data.partition(b"\n")[0]:
        raise InputError("is not a text file", path=path)


def header_line(path: Path) -> str:
    """The first line that is not blank: names of columns, which are public.

    Raises:
        InputError: The file cannot be read, holds nothing, is not text, or the line is not UTF-8.
    """
    data, begin, end = _header_bytes(path)
    if len(data) == BEGINNING and not data.endswith(b"\n", begin, end):
        raise InputError(f"its header is longer than {BEGINNING >> 10} KiB", path=path)
    return decoded_header(data[begin:end], path)


def decoded_header(line: bytes, path: str | Path) -> str:
    """A header's text.

    Raises:
        InputError: There is none, or it is not UTF-8.
    """
    if not line:
        raise InputError(NO_LINE, path=path)
    try:
        text = line.decode().strip("\r\n")
    except UnicodeDecodeError:
        raise InputError(NOT_UTF8, path=path, line=1) from None
    if "\r" in text:
        # Then everybody's rows would be part of the header, and none of them would be read.
        raise InputError("its lines end in a carriage return alone; save it with \\n", path=path)
    return text


def _header_size(path: Path) -> tuple[int, int]:
    """How many bytes and lines the header takes, blank lines before it included."""
    data, _, end = _header_bytes(path)
    return end, data.count(b"\n", 0, end)


def _header_bytes(path: Path) -> tuple[bytes, int, int]:
    """The beginning of a file, and where in it the header begins and ends."""
    data = beginning(path)
    check_is_text(data, path)
    mark = len(_BOM) if data.startswith(_BOM) else 0
    begin = mark + len(data[mark:]) - len(data[mark:].lstrip(b"\r\n"))
    return data, begin, data.find(b"\n", begin) + 1 or len(data)


def split_header(line: str, separator: str) -> list[str]:
    """A header's names, without quotes and surrounding blanks."""
    if separator == "::":
        return line.split("::")
    return [name.strip(BLANKS) for name in next(csv.reader([line], delimiter=separator))]


def _usual_separator(path: Path) -> str | None:
    """What separates fields in files that are named like this one."""
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return _USUAL.get(endings[-1] if endings else "")


def separator_of_header(line: str, path: Path, least: int) -> str:
    """The separator, by the file's ending and its header; a space only if nothing else does.

    Args:
        line: The header.
        path: The file.
        least: How many names it must make of the header.

    Raises:
        InputError: No usual separator does.
    """
    usual = _usual_separator(path)
    for fields in (max(least, 2), 2):
        for separator in (usual, *_SEPARATORS):
            if separator and len(split_header(line, separator)) >= fields:
                return separator
    if least == 1:
        return usual or "\t"
    hints = Hint("separator", "^"), Hint("columns", {"user": 0, "item": 1, "rating": 2})
    raise InputError(
        f"its first line has fewer than {least} fields with any usual separator: if it is a "
        f"header, say what separates them, like {hints[0]}; if there is no header, count the "
        f"columns, like {hints[1]}",
        path=path,
        hints=hints,
    )
