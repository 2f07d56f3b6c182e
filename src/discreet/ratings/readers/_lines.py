"""Text tables as bytes: where records begin and end, before anybody looks at what they say.

A record ends at a newline outside quotes. Blank lines are no records. A record with another
number of fields than its table has is broken; its line is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.ratings.readers._files import PIECE, beginning, pieces
from discreet.ratings.readers._survey import (
    ESCAPED,
    NEWLINE,
    NO_QUOTE,
    NOT_ASCII,
    ODD,
    QUOTE,
    SINGLE,
    STRAY,
    compacted,
    count_bytes,
    is_plain,
    survey,
)

_LONGEST_RECORD = 2 * PIECE
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Args:
        separator: What stands between fields: one byte, or `::`.
        fields: How many fields a record has.
        quoted: Whether `"` may surround fields that contain separators and newlines.
        id_fields: The positions of the fields that hold identifiers.
        strict: Whether a `"` in the middle of a field is refused; else it opens quotes there.
    """

    separator: str
    fields: int
    quoted: bool = True
    id_fields: tuple[int, int] = (-1, -1)
    strict: bool = True

    @property
    def byte(self) -> str:
        """The one byte that separates fields in `Records.data`."""
        return chr(SINGLE) if len(self.separator) == 2 else self.separator


@dataclass(frozen=True, repr=False)
class Records:
    """Whole records, one after the other, each with the right number of fields."""

    data: bytes
    lines: npt.NDArray[np.int64]
    """The 1-based line on which each record begins."""
    done: int
    """How many of the file's bytes have been read by now."""
    broken_lines: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The lines of the records that were left out for their number of fields."""
    is_odd: bool = False
    """Whether an identifier may differ from the integer it looks like: `007`, `+7`, ` 7`."""
    is_sure: bool = True
    """Whether every record was looked at. Otherwise there are as many separators as there should
    be in all, but one record may lack a field that another has too many."""
    is_cut_short: bool = False
    """Whether the only broken record is the file's last and lacks its newline."""

    @property
    def ends_broken(self) -> bool:
        """Whether the last record alone is broken."""
        if len(self.broken_lines) != 1:
            return False
        return not len(self.lines) or bool(self.lines[-1] < self.broken_lines[0])


def records(path: Path, dialect: Dialect, *, header: bool, size: int = PIECE) -> Iterator[Records]:
    """A text table's records, in runs of about `size` bytes.

    Args:
        path: A file in UTF-8, gzip or not, with or without a byte order mark.
        dialect: How it is written.
        header: Whether the first record names the columns and is to be left out.
        size: How many bytes to read at a time.

    Raises:
        InputError: The file cannot be read, is not UTF-8 or leaves a quote open.
    """
    rest, (skip, line) = b"", _first_record(path, header)
    for piece in pieces(path, size):
        data, skip = rest + piece.data[skip:], max(0, skip - len(piece.data))
        ends_open = piece.is_last and not data.endswith(b"\n")
        if ends_open:
            data += b"\n"
        run, used, line_count = _run(data, path, dialect, line, piece.done)
        rest, line = data[used:], line + line_count
        yield replace(run, is_cut_short=ends_open and run.ends_broken)
        if rest and (piece.is_last or len(rest) > _LONGEST_RECORD):
            raise InputError("a quote is opened here and never closed", path=path, line=line)


def _first_record(path: Path, header: bool) -> tuple[int, int]:
    """Where the records begin, below a mark and a header: the byte, and the line."""
    data = beginning(path)
    begin = len(_BOM) if data.startswith(_BOM) else 0
    if not header:
        return begin, 1
    text = data[begin:]
    blank = len(text) - len(text.lstrip(b"\r\n"))
    end = text.find(b"\n", blank) + 1 or len(text)
    return begin + end, text.count(b"\n", 0, end) + 1


def _run(
    data: bytes, path: Path, dialect: Dialect, line: int, done: int
) -> tuple[Records, int, int]:
    """The whole records in `data`, how many bytes they take, and how many lines."""
    used = data.rfind(b"\n") + 1
    if len(dialect.separator) == 1 and used:
        array, separator = np.frombuffer(data, np.uint8, used), ord(dialect.separator)
        newlines, separators = count_bytes(array, separator)
        if separators == newlines * (dialect.fields - 1) and is_plain(array, separator):
            lines = np.arange(line, line + newlines)
            return Records(data[:used], lines, done, is_sure=False), used, newlines
    return _surveyed(data, path, dialect, line, done)


def make_sure(run: Records, path: Path, dialect: Dialect) -> Records:
    """The same records, each looked at; raises as `records` does."""
    if run.is_sure:
        return run
    return _surveyed(run.data, path, dialect, int(run.lines[0]), run.done)[0]


def _surveyed(
    data: bytes, path: Path, dialect: Dialect, line: int, done: int
) -> tuple[Records, int, int]:
    array = np.frombuffer(data, np.uint8)
    room = int(np.count_nonzero(array == NEWLINE))
    begins, ends, lines = (np.empty(room, np.int64) for _ in range(3))
    separator, quote = ord(dialect.separator[0]), QUOTE if dialect.quoted else NO_QUOTE
    doubled, (first, second) = len(dialect.separator) == 2, dialect.id_fields
    used, kept, broken, line_count, blank, marks, wrong = survey(
        array, separator, quote, doubled, dialect.fields, first, second, begins, ends, lines
    )
    if marks & NOT_ASCII:
        check_utf8(data[:used], path, line)
    if marks & ESCAPED or (marks & STRAY and dialect.strict):
        # Read as it stands, a record would end where somebody's text has a newline, or would not
        # end: what that text says next would be a record of anybody, or others' would be text.
        raise InputError(
            'has a quote inside a field; such a field is quoted whole, quotes in it doubled: ""',
            path=path,
            line=line + wrong,
        )
    text = data[:used]
    if broken or blank or doubled:
        text = compacted(array, begins[:kept], ends[:kept], separator, doubled).tobytes()
    run = Records(
        text,
        lines[:kept] + line,
        done,
        broken_lines=lines[room - broken :][::-1] + line,
        is_odd=bool(marks & ODD),
    )
    return run, used, line_count


def check_utf8(data: bytes, path: Path, line: int = 1) -> None:
    """Refuse bytes that are not UTF-8, naming the line.

    Raises:
        InputError: They are not.
    """
    try:
        data.decode()
        return
    except UnicodeDecodeError as error:
        bad_line = line + data.count(b"\n", 0, error.start)
    raise InputError(
        "is not UTF-8; convert it, for instance with: iconv -f latin1 -t utf-8",
        path=path,
        line=bad_line,
    )
