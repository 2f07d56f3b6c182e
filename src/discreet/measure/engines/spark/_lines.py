"""Text on Spark: the lines of files into cells, by the kernels that read text on one machine.

Spark only cuts files at line breaks. Tasks read every line for itself, so it does not matter which
lines a task is given: what a line means is a function of its bytes (`ratings/PROOF.md`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.domain import Hint, InputError
from discreet.measure.engines.spark._errors import CHANGED, shown_path
from discreet.measure.engines.spark._jobs import map_in_arrow
from discreet.measure.engines.spark._session import Session, Table
from discreet.ratings.readers.text import (
    NO_LINE,
    Cells,
    Dialect,
    TableDescription,
    check_is_text,
    decoded_header,
    split_lines,
)

# The last column of a table that was text: a hash of the name of the file that a row is from.
FILE = "_discreet_file"
# What Spark calls the column of lines: no folder is named after that.
_LINE = "discreet: line"
_CODECS = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_QUOTING_HINTS = (Hint("quoting", "multiline"), Hint("quoting", "none"))
_MULTILINE = (
    f"read it on one machine with {_QUOTING_HINTS[0]}, or convert it to Parquet: on Spark every "
    "line is read by itself"
)
_QUOTES = (
    "a quote is not closed on its line, or stands inside a field; if fields have line breaks in "
    f"quotes, {_MULTILINE}; if quotes mean nothing in this file, {_QUOTING_HINTS[1]}"
)
_NO_HEADER = "begins with too many blank lines: its header is not in the first block of the file"
_FOUND = "file string, header binary, wrong boolean"
_FOUND_SCHEMA = pa.schema([("file", pa.string()), ("header", pa.binary()), ("wrong", pa.bool_())])


def open_text(spark: Session, path: str, description: TableDescription) -> Table:
    """A table of text cells, a row for each line that is not blank; the files are looked through.

    Cells are without blanks at their ends. All cells of a line with too few or too many fields, or
    that is not UTF-8, are null: a bad row whatever is made of the table.

    Args:
        spark: The session.
        path: A file, a folder or a pattern.
        description: What the caller says of it.

    Raises:
        InputError: Files have different headers, or quotes do not say where fields end.
    """
    if description.quoting == "multiline":
        reason = f"fields with line breaks are not read on Spark: {_MULTILINE}"
        raise InputError(reason, path=path, hints=_QUOTING_HINTS)
    every = _lines(spark, path, recursiveFileLookup=True)
    dialect, names = description.dialect(plain_name(path), lambda: _first_header(every, path))
    header = names is not None
    _check(every, dialect, header)
    lines = _lines(spark, path)
    if set(lines.inputFiles()) != set(every.inputFiles()):
        raise InputError("its files lie in several folders; Spark leaves some out", path=path)
    names = names or [f"_c{place}" for place in range(dialect.fields)]
    folders = lines.columns[1:]
    if set(folders) & set(names):
        raise InputError("a folder and the files in it name the same column", path=path)
    functions = import_module("pyspark.sql.functions")
    # The file's name itself would take more room than the line.
    file = functions.xxhash64(functions.input_file_name())
    plain = [f"c{place}" for place in range(len(names) + len(folders))]
    schema = ", ".join([*(f"{name} string" for name in plain), f"{FILE} long"])
    cells = map_in_arrow(_located(lines, file, folders), ReadLines(dialect, header), schema)
    return cells.toDF(*names, *folders, FILE)


def plain_name(path: str) -> Path:
    """A path without what says how it is compressed."""
    found = Path(path)
    return found.with_suffix("") if found.suffix.lower() in _CODECS else found


def names_of_files(table: Table) -> dict[int, str]:
    """The name behind each hash in the column `FILE`."""
    functions = import_module("pyspark.sql.functions")
    names = table.sparkSession.createDataFrame([(name,) for name in table.inputFiles()], "n string")
    return {
        row["h"]: row["n"]
        for row in names.select("n", functions.xxhash64("n").alias("h")).collect()
    }


def _lines(spark: Session, path: str, **options: Any) -> Table:
    """Every line, and what folders are named after. A carriage return is part of a line."""
    return spark.read.schema(f"`{_LINE}` string").text(path, lineSep="\n", **options)


def _located(lines: Table, file: Any, folders: list[str]) -> Table:
    """Lines as the bytes that they are in files, and where they are from."""
    line = lines[f"`{_LINE}`"].cast("binary")
    start = lines["_metadata.file_block_start"]
    named = (lines[f"`{name}`"] for name in folders)
    return lines.select(line.alias("line"), file.alias("file"), start.alias("start"), *named)


def _first_header(lines: Table, path: str) -> str:
    """The header of any file: which it is does not matter, since all must have the same.

    Raises:
        InputError: No file has a line, or it is not text.
    """
    functions = import_module("pyspark.sql.functions")
    rows = _located(lines, functions.input_file_name(), [])
    is_blank = functions.trim(lines[f"`{_LINE}`"], functions.lit("\r")) == ""
    filled = rows.where(~is_blank)
    # Lines of a block come in the order of the file: so the first is the first of its file.
    found = filled.where(rows["start"] == 0).head()
    if found is None:
        raise InputError(NO_LINE if filled.head() is None else _NO_HEADER, path=path)
    line, file = bytes(found["line"]), shown_path(found["file"])
    check_is_text(line, file)
    return decoded_header(line, file)


def _check(lines: Table, dialect: Dialect, header: bool) -> None:
    """Look through all files.

    Raises:
        InputError: One has another header, or its quotes do not say where fields end.
    """
    functions = import_module("pyspark.sql.functions")
    rows = _located(lines, functions.input_file_name(), [])
    found = map_in_arrow(rows, LookThrough(dialect, header), _FOUND).collect()
    if header:
        headers = {row["file"]: row["header"] for row in found if row["header"] is not None}
        _check_headers(sorted({row["file"] for row in found}), headers)
    if wrong := sorted(row["file"] for row in found if row["wrong"]):
        raise InputError(_QUOTES, path=shown_path(wrong[0]), hints=_QUOTING_HINTS)


def _check_headers(files: list[str], headers: dict[str, bytes]) -> None:
    first = min(headers, default="")
    for file in files:
        if file not in headers:
            raise InputError(_NO_HEADER, path=shown_path(file))
        if headers[file] != headers[first]:
            raise InputError(
                f"its first line is not that of {shown_path(first)}; all files must have the same "
                "header, or none of them one and columns be counted",
                path=shown_path(file),
            )


@dataclass(frozen=True)
class _LineTask:
    """What a task does with lines.

    Attributes:
        dialect: How the files are written.
        header: Whether the first line of each that is not blank names the columns.
    """

    dialect: Dialect
    header: bool


class LookThrough(_LineTask):
    """Finds which files have lines, what their headers are, and whether quotes are wrong."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen: set[str] = set()
        for lines, file, header in _runs(batches, self.header):
            cells = _split(lines, self.dialect, [])
            wrong = cells.has_wrong_quotes
            if header is not None or wrong or (len(cells) and file not in seen):
                seen.add(file)
                columns = {"file": [file], "header": [header], "wrong": [wrong]}
                yield pa.RecordBatch.from_pydict(columns, _FOUND_SCHEMA)


class ReadLines(_LineTask):
    """Makes cells of text of lines, and adds what folders say of them."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slots = range(self.dialect.fields)
        for lines, _, _ in _runs(batches, self.header):
            cells = _split(lines, self.dialect, slots)
            if cells.has_wrong_quotes:
                raise InputError(CHANGED)
            rows = pa.array(cells.lines - 1)
            found = [cells.text(slot).words().to_arrow().cast(pa.string()) for slot in slots]
            found += [column.take(rows) for column in lines.columns[3:]]
            whole = [pc.if_else(cells.is_good, column, None) for column in found]
            columns = [*whole, lines["file"].take(rows)]
            names = [*(f"c{place}" for place in range(len(whole))), FILE]
            yield pa.RecordBatch.from_arrays(columns, names)


def _runs(
    batches: Iterator[pa.RecordBatch], has_header: bool
) -> Iterator[tuple[pa.RecordBatch, Any, bytes | None]]:
    """Lines in a row of one block of a file, the file, and its header where it begins there.

    The header and blank lines before it are left out of the lines. Spark gives a block's lines in
    order and without others between them.
    """
    block, awaits = None, False
    for batch in batches:
        for lines in _cut(batch):
            file, start = lines["file"][0].as_py(), lines["start"][0].as_py()
            if (file, start) != block:
                block, awaits = (file, start), has_header and start == 0
            header, above = None, 0
            if awaits:
                texts = enumerate(line.as_py().strip(b"\r") for line in lines["line"])
                last, header = next((each for each in texts if each[1]), (len(lines), None))
                above, awaits = last + 1, header is None
            yield lines.slice(above), file, header


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch where file or block change."""
    keys = (batch["file"], batch["start"])
    changes = pc.or_(*(pc.not_equal(key.slice(1), key.slice(0, len(key) - 1)) for key in keys))
    inner = np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1
    for begin, end in pairwise([0, *inner.tolist(), len(batch)]):
        if begin < end:
            yield batch.slice(begin, end - begin)


def _split(lines: pa.RecordBatch, dialect: Dialect, wanted: Any) -> Cells:
    """The cells of lines; a record's `lines` is the number of its row, counted from 1."""
    if not len(lines):
        return split_lines(b"", dialect, wanted)
    ended = pc.binary_join_element_wise(lines["line"], b"", b"\n").cast(pa.large_binary())
    _, offsets, data = ended.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ended.offset : ended.offset + len(ended) + 1]
    text = data.slice(bounds[0], bounds[-1] - bounds[0]).to_pybytes()
    return split_lines(text, dialect, wanted)
