"""Separated text: files into cells, line by line, whatever other lines say.

The rules for what a line and a cell mean are in docs/data.md, and why they protect people in
`ratings/PROOF.md`. Separator, header, quoting and the number of fields are public: they come from
the caller, from a published layout, from the file's name or from its header line, never from rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.domain import Hint, InputError
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._files import BEGINNING, PIECE, Piece, beginning, pieces

Quoting = Literal["lines", "multiline", "none"]
"""What a `"` does: surrounds a field of one line, surrounds one that may have line breaks, or
nothing at all."""

_TOO_LONG = (
    f"is longer than {_tokens.LONGEST_RECORD >> 20} MiB, or opens a quote that is never closed"
)
NOT_UTF8 = "is not UTF-8; convert it, for instance with: iconv -f latin1 -t utf-8"
NO_LINE = "is empty: not even a header that names its columns"
_BOM = b"\xef\xbb\xbf"
_USUAL = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".dat": "::"}
_SEPARATORS = ("\t", "::", ";", "|", ",", " ")
"""What a header line may be separated by, the first that makes enough names of it."""
_QUOTING_HINTS = (Hint("quoting", "multiline"), Hint("quoting", "none"))
_QUOTES_ADVICE = (
    "a quote is not closed on its line, or stands inside a field; if fields have line breaks in "
    f"quotes, give {_QUOTING_HINTS[0]}; if quotes mean nothing in this file, {_QUOTING_HINTS[1]}"
)
_WRONG_QUOTES = {
    "lines": _QUOTES_ADVICE,
    "multiline": 'a quote inside a field is not doubled (""), or is never closed',
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


@dataclass(frozen=True, repr=False)
class Cells:
    """The wanted cells of some records: where each is in the bytes. Private."""

    data: _tokens.Bytes
    begins: _tokens.Places
    """A row for each wanted field, a column for each record."""
    ends: _tokens.Places
    escaped: npt.NDArray[np.bool_]
    """Whether a cell contains doubled quotes."""
    lines: _tokens.Places
    """The 1-based line on which each record begins."""
    counts: _tokens.Places
    """How many fields each record has."""
    faults: npt.NDArray[np.uint8]
    """What is wrong with each record: `_tokens.GOOD` and so on."""
    done: int
    """How many of the file's bytes have been read by now."""
    is_cut: bool = False
    """Whether the last record lacks its line break, as it does where a copy was interrupted."""

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, slot: int) -> tuple[_tokens.Places, _tokens.Places, npt.NDArray[np.bool_]]:
        """One wanted field of every record: begins, ends, escaped."""
        return self.begins[slot], self.ends[slot], self.escaped[slot]


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
    skip, lines = header_size(path) if header else (0, 0)
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
    for piece in read:
        data, skip = rest + piece.data[skip:], max(0, skip - len(piece.data))
        is_cut = piece.is_last and bool(data) and not data.endswith(b"\n")
        data += b"\n" * is_cut
        whole = data.rfind(b"\n") + 1
        found, used, seen = _split(data[:whole], dialect, wanted, piece.done)
        for fault, reason in _refusals(dialect).items():
            wrong = found.faults == fault
            if wrong.any():
                first = int(found.lines[np.argmax(wrong)]) + lines
                raise InputError(reason, path=path, line=first, hints=_QUOTING_HINTS)
        yield replace(found, lines=found.lines + lines, is_cut=is_cut)
        rest, lines = data[used:], lines + seen
        if used < whole and piece.is_last:
            raise InputError("a quote is opened here and never closed", path=path, line=lines + 1)
        if len(rest) > _tokens.LONGEST_RECORD:
            raise InputError(_TOO_LONG, path=path, line=lines + 1)


def _refusals(dialect: Dialect) -> dict[int, str]:
    """Faults of a record for which the whole file is refused, and what is said of them."""
    return {
        _tokens.WRONG_QUOTES: _WRONG_QUOTES.get(dialect.quoting, ""),
        _tokens.TOO_LONG: _TOO_LONG,
    }


def _split(
    data: bytes, dialect: Dialect, wanted: Sequence[int], done: int
) -> tuple[Cells, int, int]:
    """The records in whole lines, how many bytes they take, and how many lines."""
    array = np.frombuffer(data, np.uint8)
    room = int(np.count_nonzero(array == ord("\n")))
    slots = np.full(dialect.fields, -1, np.int64)
    slots[list(wanted)] = np.arange(len(wanted))
    begins, ends = np.zeros((2, len(wanted), room), np.int64)
    escaped = np.zeros((len(wanted), room), np.bool_)
    lines, counts = np.empty((2, room), np.int64)
    faults = np.empty(room, np.uint8)
    used, rows, seen = _tokens.split_records(
        array,
        ord(dialect.separator[0]),
        len(dialect.separator) == 2,
        dialect.quoting != "none",
        dialect.quoting == "multiline",
        dialect.lenient,
        slots,
        begins,
        ends,
        escaped,
        lines,
        counts,
        faults,
    )
    cells = Cells(
        array,
        begins[:, :rows],
        ends[:, :rows],
        escaped[:, :rows],
        lines[:rows] + 1,
        counts[:rows],
        faults[:rows],
        done,
    )
    return cells, used, seen


def split_lines(data: bytes, dialect: Dialect, wanted: Sequence[int]) -> Cells:
    """The records in whole lines, of which none may go on in the next; faults are only noted."""
    assert dialect.quoting != "multiline"
    return _split(data, dialect, wanted, 0)[0]


def header_line(path: Path) -> str:
    """The first line that is not blank: names of columns, which are public.

    Raises:
        InputError: The file cannot be read, holds nothing, is no text, or the line is not UTF-8.
    """
    data = beginning(path, for_text=True)
    begin, end = _header_bytes(data)
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


def header_size(path: Path) -> tuple[int, int]:
    """How many bytes and lines the header takes, blank lines before it included."""
    data = beginning(path, for_text=True)
    _, end = _header_bytes(data)
    return end, data.count(b"\n", 0, end)


def _header_bytes(data: bytes) -> tuple[int, int]:
    mark = len(_BOM) if data.startswith(_BOM) else 0
    begin = mark + len(data[mark:]) - len(data[mark:].lstrip(b"\r\n"))
    return begin, data.find(b"\n", begin) + 1 or len(data)


def split_header(line: str, separator: str) -> list[str]:
    """A header's names, without quotes and surrounding blanks."""
    if separator == "::":
        return line.split("::")
    return [name.strip(" \t\ufeff") for name in next(csv.reader([line], delimiter=separator))]


def usual_separator(path: Path) -> str | None:
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
    usual = usual_separator(path)
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
