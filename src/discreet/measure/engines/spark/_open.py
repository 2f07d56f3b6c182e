"""Tables by their names: text line by line, as on one machine; the rest as Spark has it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import condition_of, plain_path, spark_errors, spoken
from discreet.measure.engines.spark._jobs import Progress, run_stage
from discreet.measure.engines.spark._lines import open_text, plain_name
from discreet.measure.engines.spark._session import Session, Table, runs_here
from discreet.measure.engines.spark._workers import check_workers
from discreet.ratings.readers import Columns, Quoting

_NAMED = "table:"
_ABSENT = "PATH_NOT_FOUND"
_TEXT = (".csv", ".tsv", ".tab", ".dat", ".txt")
_NO_TEXT = (".parquet", ".pq", ".orc")
_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN = re.compile(r"[*?\[{]")


def open_table(
    spark: Session,
    source: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    implicit: bool = False,
    separator: str | None = None,
    quoting: Quoting | None = None,
    progress: Progress | None = None,
) -> Table:
    """A table that Spark can read, by its name.

    Text is read line by line, as `read_ratings` reads it: a table of text cells, without blanks at
    their ends. It is looked through once, to see that every file has the same header and that
    quotes are closed on their lines. All cells of a line with too few or too many fields, or that
    is not UTF-8, are null, so that it is a bad row whatever is made of the table: `read_spark`
    refuses or skips it. The last column, `_discreet_file`, serves to name the file of a bad row.

    Args:
        spark: The session.
        source: Parquet, ORC or text (compressed or not), by the ending, or a folder of one of
            them, at any address that the cluster reaches; or `table:` and the name of a table or
            view. Text ends in .csv, .tsv, .tab, .dat or .txt, or is anything that a `separator` or
            `quoting` is given for.
        columns: As for `read_spark`. It matters here where columns are counted: then text has no
            header, and `fields` says how many fields a line has.
        implicit: As for `read_spark`.
        separator: What separates the fields of text, as for `read_ratings`.
        quoting: `lines` or `none`, as for `read_ratings`; `multiline` is not for Spark.
        progress: Called with a stage's name, and how many of Spark's tasks are done of how many.

    Raises:
        InputError: It cannot be read.
    """
    path = os.fspath(source)
    check_source(path, spark.sparkContext.master)
    ending = plain_name(path).suffix.lower()
    is_described = separator is not None or quoting is not None
    if is_described and (path.startswith(_NAMED) or ending in _NO_TEXT):
        raise InputError("separator and quoting are for text", path=path)
    if is_described or (ending in _TEXT and not path.startswith(_NAMED)):
        check_workers(spark)
        text = partial(open_text, spark, path, columns, separator, quoting, implicit=implicit)
        return run_stage(spark, progress, "opening", partial(_opened, path, text))
    table = partial(_typed, spark, path)
    return run_stage(spark, progress, "opening", partial(_opened, path, table))


def check_source(path: str, master: str | None) -> None:
    """Look whether a file is there, if it is to be on this machine; needs no Spark.

    Args:
        path: As for `open_table`.
        master: As for `start_session`.

    Raises:
        InputError: It is absent.
    """
    if path.startswith(_NAMED) or _ELSEWHERE.match(path) or _PATTERN.search(path):
        return
    if not path.startswith("file:") and (not runs_here(master) or "HADOOP_CONF_DIR" in os.environ):
        return
    if not Path(plain_path(path)).exists():
        raise InputError("no such file", path=path)


def _opened(path: str, open_it: Callable[[], Table]) -> Table:
    """What a function opens; failures in one line.

    Raises:
        InputError: It cannot be opened.
    """
    try:
        return open_it()
    except spark_errors() as error:
        kind = condition_of(error)
        if kind == _ABSENT:
            raise InputError("no such file", path=path) from None
        said = spoken(error)
        if isinstance(said, InputError) and said.path is not None:
            raise said from None
        raise InputError(f"Spark cannot read it ({kind})", path=path) from None


def _typed(spark: Session, path: str) -> Table:
    if path.startswith(_NAMED):
        return spark.table(path.removeprefix(_NAMED))
    return spark.read.orc(path) if path.endswith(".orc") else spark.read.parquet(path)
