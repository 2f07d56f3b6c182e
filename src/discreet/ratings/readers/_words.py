"""Public tables as text: every field a word, every row with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from discreet.domain import InputError
from discreet.ratings.readers._files import beginning, whole
from discreet.ratings.readers._lines import Dialect, make_sure, records
from discreet.ratings.readers._parse import parse
from discreet.ratings.readers._text_table import first_line, guess_separator, split_line

Words = tuple[pl.DataFrame, pl.Series]
"""Columns of text, null where a field is empty, and each row's line."""


def read_header(file: Path, least: int = 1) -> tuple[list[str], str]:
    """The names in a text table's first line, and what separates them.

    Args:
        file: The table.
        least: How many names there must be.

    Raises:
        InputError: The file cannot be read, or its first line does not fall into so many.
    """
    first = first_line(file)
    separator = guess_separator(first, file, least)
    return split_line(first, separator), separator


def read_words(file: Path, separator: str, fields: int, places: Mapping[str, int]) -> Words:
    """Some columns of a text table with a header, by position.

    Args:
        file: The table.
        separator: What stands between fields.
        fields: How many fields every line has.
        places: The position of each column, by the name that it is to have.

    Raises:
        InputError: The file cannot be read, a line has another number of fields, or there is none.
    """
    dialect = Dialect(separator, fields, quoted=separator != "::", strict=False)
    frames, lines = [], []
    for glanced in records(file, dialect, header=True):
        run = make_sure(glanced, file, dialect)
        if len(run.broken_lines):
            raise _lacking(fields, file, int(run.broken_lines[0]))
        if len(run.lines):
            frame = parse(run.data, dialect, {n: (at, pl.String) for n, at in places.items()})
            if frame is None or frame.height != len(run.lines):
                raise InputError('has fields with unbalanced quotes (")', path=file)
            frames.append(frame)
            lines.append(pl.Series(run.lines))
    if not frames:
        raise InputError("has a header but no items below it", path=file)
    return pl.concat(frames), pl.concat(lines)


def read_list(file: Path, separator: str, names: Sequence[str], needed: int) -> Words:
    """A published list without a header, in UTF-8 or, as most of them are, in latin-1.

    Args:
        file: The list.
        separator: What stands between fields; the last field may contain it.
        names: What the fields are called.
        needed: How many of them every line must have.

    Raises:
        InputError: The file cannot be read, or a line has too few fields.
    """
    beginning(file)
    raw = whole(file)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    lines = pl.DataFrame({"text": text.split("\n")}).with_row_index("line", 1)
    lines = lines.with_columns(pl.col("text").str.strip_chars_end("\r"))
    lines = lines.filter(pl.col("text") != "")
    fields = lines["text"].str.splitn(separator, len(names)).struct.rename_fields(list(names))
    frame = fields.struct.unnest()
    lacking = frame[names[needed - 1]].is_null()
    if lacking.any():
        raise _lacking(needed, file, int(lines["line"].filter(lacking)[0]))
    return frame, lines["line"]


def _lacking(fields: int, file: Path, line: int) -> InputError:
    reason = f"does not have the {fields} fields that every line must have"
    return InputError(reason, path=file, line=line)
