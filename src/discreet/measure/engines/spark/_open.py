"""Tables by their names: what Spark reads, with lines that do not fall into columns marked."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import condition_of, plain_path, spark_errors, spoken
from discreet.measure.engines.spark._jobs import run_job
from discreet.measure.engines.spark._session import Session, Table, runs_here

BROKEN = "discreet: what is wrong with the line"
"""A column of text tables: empty where a line has as many fields as it must have."""

_NAMED = "table:"
_ABSENT = "PATH_NOT_FOUND"
_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN = re.compile(r"[*?\[{]")


def open_table(spark: Session, source: str | os.PathLike[str], *, header: bool = True) -> Table:
    """A table that Spark can read, by its name; its columns are not looked at yet.

    Lines of text that have too few or too many fields are marked: `read_spark` refuses or skips
    them, as `read_ratings` does, and a blank around a field is no part of it.

    Args:
        spark: The session.
        source: Parquet, ORC, CSV or TSV (compressed or not), or a folder of one of them, at any
            address that the cluster reaches; or `table:` and the name of a table or view.
        header: Whether text begins with names of the columns.

    Raises:
        InputError: It cannot be read.
    """
    path = os.fspath(source)
    check_source(path, spark.sparkContext.master)
    return run_job(spark, "discreet: opening", lambda: _opened(spark, path, header), None)


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
            return _text(spark, path, {"header": header, "sep": separator})
        return spark.read.orc(path) if path.endswith(".orc") else spark.read.parquet(path)
    except spark_errors() as error:
        kind = condition_of(error)
        if kind == _ABSENT:
            raise InputError("no such file", path=path) from None
        said = spoken(error)
        if isinstance(said, InputError) and said.path is not None:
            raise said from None
        raise InputError(f"Spark cannot read it ({kind})", path=path) from None


def _text(spark: Session, path: str, told: dict[str, Any]) -> Table:
    # Each file's own header counts: by the first one's alone, a folder whose files order their
    # columns differently would make several people of one.
    told |= {"quote": '"', "escape": '"', "enforceSchema": False}
    schema = spark.read.csv(path, **told).schema
    names = list(schema.names)
    if not names:
        raise InputError("is empty", path=path)
    told |= {"schema": schema.add(BROKEN, "string"), "columnNameOfCorruptRecord": BROKEN}
    # Spark counts fields only where it reads all of them.
    lines = spark.read.option("columnPruning", "false").csv(path, mode="PERMISSIVE", **told)
    functions = import_module("pyspark.sql.functions")
    fields = lines.toDF(*(f"c{place}" for place in range(len(names))), "line")
    reason = f"a line does not have the {len(names)} fields that every line must have"
    return fields.select(
        *(functions.trim(fields[f"c{at}"]).alias(name) for at, name in enumerate(names)),
        functions.when(fields["line"].isNotNull(), reason).alias(BROKEN),
    )


def _separator(path: str) -> str | None:
    plain = path.rstrip("/").lower()
    for ending in (".gz", ".bz2", ".zst", ".lz4"):
        plain = plain.removesuffix(ending)
    return {".csv": ",", ".txt": ",", ".tsv": "\t"}.get(Path(plain).suffix)
