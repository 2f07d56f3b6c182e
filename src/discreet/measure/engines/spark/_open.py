"""Tables by their names; text as `read_ratings` reads it, or not at all."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import (
    condition_of,
    plain_path,
    shown_path,
    spark_errors,
    spoken,
)
from discreet.measure.engines.spark._jobs import Progress, run_stage
from discreet.measure.engines.spark._session import Session, Table, runs_here

_BROKEN = "discreet: a line with too few or too many fields"
_BACKSLASHED = '\\"'
_TEXT = {
    # A quoted field may hold line breaks: were lines cut there, whoever writes a review could write
    # lines of other people into it.
    "multiLine": True,
    "lineSep": "\n",
    "quote": '"',
    "escape": '"',
    "unescapedQuoteHandling": "RAISE_ERROR",
    "ignoreLeadingWhiteSpace": True,  # or a quote behind a blank would be none
    # Each file's own header counts: by the first one's alone, a folder whose files order their
    # columns differently would make several people of one.
    "enforceSchema": False,
}
"""How text is read: as `read_ratings` reads it, or not at all."""

_NAMED = "table:"
_ABSENT, _QUOTES = "PATH_NOT_FOUND", "TextParsingException"
_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN = re.compile(r"[*?\[{]")


def open_table(
    spark: Session,
    source: str | os.PathLike[str],
    *,
    header: bool = True,
    progress: Progress | None = None,
) -> Table:
    """A table that Spark can read, by its name; its columns are not looked at yet.

    Text is read once to see that it is UTF-8 and that its quotes are closed. All cells of a line
    with too few or too many fields are empty, whatever is made of the table then: `read_spark`
    refuses or skips such lines, as `read_ratings` does. A blank around a field is no part of it.

    Args:
        spark: The session.
        source: Parquet, ORC, CSV or TSV (compressed or not), or a folder of one of them, at any
            address that the cluster reaches; or `table:` and the name of a table or view.
        header: Whether text begins with names of the columns.
        progress: Called with a stage's name, and how many of Spark's tasks are done of how many.

    Raises:
        InputError: It cannot be read.
    """
    path = os.fspath(source)
    check_source(path, spark.sparkContext.master)
    return run_stage(spark, progress, "opening", lambda: _opened(spark, path, header))


def check_source(path: str, master: str | None) -> None:
    """Look whether a file is there, if it is to be on this machine; needs no Spark.

    Args:
        path: As for `open_table`.
        master: As for `start_session`.

    Raises:
        InputError: It is absent or empty.
    """
    if path.startswith(_NAMED) or _ELSEWHERE.match(path) or _PATTERN.search(path):
        return
    if not path.startswith("file:") and (not runs_here(master) or "HADOOP_CONF_DIR" in os.environ):
        return
    file = Path(plain_path(path))
    if not file.exists():
        raise InputError("no such file", path=path)
    if file.is_file() and not file.stat().st_size:
        raise InputError("is empty", path=path)


def _opened(spark: Session, path: str, header: bool) -> Table:
    try:
        if path.startswith(_NAMED):
            return spark.table(path.removeprefix(_NAMED))
        if (separator := _separator(path)) is not None:
            _check_text(spark, path)
            return _text(spark, path, _TEXT | {"header": header, "sep": separator})
        return spark.read.orc(path) if path.endswith(".orc") else spark.read.parquet(path)
    except spark_errors() as error:
        kind = condition_of(error)
        if kind == _ABSENT:
            raise InputError("no such file", path=path) from None
        if kind == _QUOTES:
            raise InputError('a quote (") inside a field is not doubled', path=path) from None
        said = spoken(error)
        if isinstance(said, InputError) and said.path is not None:
            raise said from None
        raise InputError(f"Spark cannot read it ({kind})", path=path) from None


def _check_text(spark: Session, path: str) -> None:
    """Look whether text is what `read_ratings` would read.

    Raises:
        InputError: A file is not UTF-8, or its quotes do not say where fields end.
    """
    functions = import_module("pyspark.sql.functions")
    lines = spark.read.text(path, lineSep="\n", recursiveFileLookup=True)
    value, any_of, lit = lines["value"], functions.bool_or, functions.lit
    quotes = functions.length(value) - functions.length(functions.translate(value, '"', ""))
    reason = (
        functions.when(~functions.bool_and(functions.is_valid_utf8(value)), "is not UTF-8")
        .when(any_of(functions.contains(value, lit("\0"))), "is not a text file")
        .when(
            any_of(functions.contains(value, lit(_BACKSLASHED))),
            'has a backslash before a quote; quotes inside a field are doubled ("")',
        )
        .when(functions.sum(quotes) % 2 != 0, 'a quote (") is opened and never closed')
    )
    files = lines.groupBy(lines["_metadata.file_path"].alias("file")).agg(reason.alias("reason"))
    rows = files.collect()
    found = sorted((file, said) for file, said in rows if said is not None)
    if found:
        raise InputError(found[0][1], path=shown_path(found[0][0]))
    folders = {shown_path(file).rpartition("/")[0] for file, _ in rows}
    if len(folders) > 1 and not _PATTERN.search(path):
        raise InputError("its files lie in several folders; Spark leaves some out", path=path)


def _text(spark: Session, path: str, told: dict[str, Any]) -> Table:
    schema = spark.read.csv(path, recursiveFileLookup=True, **told).schema
    names = list(schema.names)
    if not names:
        raise InputError("is empty", path=path)
    told |= {"schema": schema.add(_BROKEN, "string"), "columnNameOfCorruptRecord": _BROKEN}
    lines = spark.read.csv(path, mode="PERMISSIVE", **told)
    if lines.columns[: len(names) + 1] != [*names, _BROKEN]:
        raise InputError("a folder and the files in it name the same column", path=path)
    functions = import_module("pyspark.sql.functions")
    # By position, since names may hold anything; behind the files' own columns are the folders'.
    cells = lines.toDF(*(f"c{place}" for place in range(len(lines.columns))))
    is_whole = cells[f"c{len(names)}"].isNull()
    last = len(names) - 1  # before a line break there may be a carriage return
    trimmed = (
        functions.trim(cells[f"c{at}"], functions.lit(" \r" if at == last else " "))
        for at in range(len(lines.columns))
    )
    named = [
        functions.when(is_whole, cell).alias(name.rstrip("\r"))
        for cell, name in zip(trimmed, lines.columns, strict=True)
    ]
    return cells.select(*named[: last + 1], *named[last + 2 :])


def is_text(path: str) -> bool:
    """Whether a file, or a folder that it is in, is named as text is."""
    return any(_separator(part) is not None for part in path.split("/"))


def _separator(path: str) -> str | None:
    plain = path.rstrip("/").lower()
    for ending in (".gz", ".bz2", ".zst", ".lz4"):
        plain = plain.removesuffix(ending)
    return {".csv": ",", ".txt": ",", ".tsv": "\t"}.get(Path(plain).suffix)
