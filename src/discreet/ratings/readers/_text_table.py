"""CSV, TSV and their kin."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings.readers._batch import Batch, Broken, Fault, Lines
from discreet.ratings.readers._cells import to_batch
from discreet.ratings.readers._columns import Columns, Role, find_columns, given_positions
from discreet.ratings.readers._files import beginning, size_of
from discreet.ratings.readers._ids import as_integers
from discreet.ratings.readers._lines import Dialect, Records, check_utf8, make_sure, records
from discreet.ratings.readers._parse import Kind, parse

_SEPARATORS = ("\t", "::", ";", "|", ",")
_USUAL = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_SAMPLE = 1000
_HEADER_HINT = " (if line 1 is a header, name the columns instead of counting them)"
_KINDS: dict[Role, Kind] = {
    "user": pl.Int64,
    "item": pl.Int64,
    "rating": pl.Float64,
    "time": pl.Int64,
}
_IDS: frozenset[Role] = frozenset(["user", "item"])


@dataclass
class TextTable:
    """Ratings in lines of separated fields, in UTF-8, gzip or not.

    Args:
        path: The file.
        separator: One byte, or `::`.
        fields: How many fields each line has.
        places: The position of each role's field.
        header: Whether the first line names the columns.
        quoted: Whether `"` may surround fields.
        scale: The scale, where the layout tells it.
        find_catalog: How to get the catalogue, where the layout has one.
    """

    path: Path
    separator: str
    fields: int
    places: dict[Role, int]
    header: bool = False
    quoted: bool = True
    scale: Scale | None = None
    find_catalog: Callable[[], Catalog] | None = None
    keep_user_ids: bool = True
    _text: set[Role] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return size_of(self.path)

    def batches(self) -> Iterator[Batch]:
        """The rows, a few megabytes at a time.

        Raises:
            InputError: The file cannot be read, or holds no ratings.
        """
        ids = (self.places["user"], self.places["item"])
        dialect = Dialect(self.separator, self.fields, self.quoted, ids)
        lines = 0
        for run in records(self.path, dialect, header=self.header):
            lines += len(run.lines) + len(run.broken_lines)
            if len(run.lines) or len(run.broken_lines):
                yield self._batch(run, dialect)
        if not lines:
            below = "has a header but no ratings below it" if self.header else "holds no ratings"
            raise InputError(below, path=self.path)

    def _batch(self, run: Records, dialect: Dialect) -> Batch:
        frame = self._parsed(run, dialect, self._text) if not run.is_sure else None
        if frame is None:
            run = make_sure(run, self.path, dialect)
            frame = self._typed(run, dialect) if len(run.lines) else self._nothing()
        if frame.height != len(run.lines):
            raise InputError('has fields with unbalanced quotes (")', path=self.path)
        broken = Broken(run.broken_lines, Fault.FIELDS, self._fields_reason(run))
        origin = Lines(self.path, "" if self.header else _HEADER_HINT)
        return to_batch(frame, origin, run.lines, run.done, broken if len(broken) else None)

    def _typed(self, run: Records, dialect: Dialect) -> pl.DataFrame:
        """The rows as numbers where that works, as text where it does not."""
        frame = self._parsed(run, dialect, self._text | _IDS if run.is_odd else self._text)
        if frame is None:
            frame = self._parsed(run, dialect, set(self.places))
            if frame is None:
                raise InputError("cannot be read as a table of text", path=self.path)
            self._learn(frame)
        if run.is_odd:
            frame = frame.with_columns(pl.col(pl.String).str.strip_chars(" "))
        return frame

    def _parsed(
        self, run: Records, dialect: Dialect, text: AbstractSet[Role]
    ) -> pl.DataFrame | None:
        columns: dict[str, tuple[int, Kind]] = {
            role: (place, pl.String if role in text else _KINDS[role])
            for role, place in self.places.items()
        }
        return parse(run.data, dialect, columns, is_sure=run.is_sure)

    def _learn(self, frame: pl.DataFrame) -> None:
        """Remember which columns are text, so that the next rows are not parsed twice."""
        for role in self.places:
            sample = frame[role].head(_SAMPLE).drop_nulls()
            if role != "rating" and as_integers(sample) is None:
                self._text.add(role)

    def _nothing(self) -> pl.DataFrame:
        return pl.DataFrame({role: [] for role in self.places}, dict.fromkeys(self.places, pl.Null))

    def _fields_reason(self, run: Records) -> str:
        reason = f"does not have the {self.fields} fields that every line must have"
        return f"{reason}; the file seems to be cut short" if run.is_cut_short else reason


def open_table(
    path: Path, columns: Columns | None, separator: str | None, *, implicit: bool = False
) -> TextTable:
    """A text table whose columns are named by its first line or by the caller.

    Args:
        path: The file.
        columns: What the caller says of the columns.
        separator: What separates fields; None to find it out.
        implicit: Whether presence alone is read, so that no rating is looked for.

    Raises:
        InputError: It cannot be read, or a column is missing.
    """
    first = first_line(path)
    if separator is None:
        separator = guess_separator(first, path, least=2 if implicit else 3)
    if separator != "::" and (len(separator.encode()) != 1 or separator in '"\r\n'):
        raise InputError("the separator must be one ASCII character, no quote or newline, or ::")
    names = split_line(first, separator)
    quoted = separator != "::"
    places = given_positions(columns, implicit=implicit)
    if places is not None:
        if max(places.values()) >= len(names):
            raise InputError(
                f"has {len(names)} fields, so columns count from 0 to {len(names) - 1}", path=path
            )
        return TextTable(path, separator, len(names), places, quoted=quoted)
    try:
        places = find_columns(names, columns, implicit=implicit, may_show=False)
    except InputError as error:
        raise InputError(error.reason, path=path) from None
    return TextTable(path, separator, len(names), places, header=True, quoted=quoted)


def first_line(path: Path) -> str:
    """The first line that is not blank.

    Raises:
        InputError: The file cannot be read, holds nothing, or the line is not UTF-8.
    """
    lines = beginning(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    number, line = next(((n, x) for n, x in enumerate(lines, 1) if x.strip()), (0, b""))
    if not number:
        raise InputError("is empty", path=path)
    check_utf8(line, path, number)
    return line.decode().rstrip("\r")


def split_line(line: str, separator: str) -> list[str]:
    """A line's fields, without quotes and surrounding spaces."""
    if separator == "::":
        return line.split("::")
    return [name.strip() for name in next(csv.reader([line], delimiter=separator))]


def guess_separator(line: str, path: Path, least: int = 3) -> str:
    """The separator, by the file's ending and its first line; a space only if nothing else does.

    Args:
        line: The first line.
        path: The file.
        least: How many fields it must make of the line.

    Raises:
        InputError: No usual separator does.
    """
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    usual = _USUAL.get(endings[-1] if endings else "")
    for candidates in ((usual, *_SEPARATORS), " "):
        for fields in range(max(3, least), max(2, least) - 1, -1):
            for separator in candidates:
                if separator and len(split_line(line, separator)) >= fields:
                    return separator
    if least == 1:
        return usual or "\t"
    presence = ", or implicit=True if they are presence alone, without ratings" * (least > 2)
    raise InputError(
        f"its first line does not fall into {least} fields or more; say what separates them, like "
        f'separator="^"{presence}',
        path=path,
    )
