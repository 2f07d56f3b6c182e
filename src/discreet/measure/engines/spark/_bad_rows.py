"""Which file a bad row is in: asked only once there is one, by reading the table again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import CHANGED, shown_path, spark_errors
from discreet.measure.engines.spark._jobs import map_in_arrow
from discreet.measure.engines.spark._lines import FILE, names_of_files
from discreet.measure.engines.spark._parts import Maker, row_groups, use_own_cores_only
from discreet.measure.engines.spark._session import Table
from discreet.ratings.readers import ROW_HINTS

_FOUND = "file string, error string"
_FOUND_SCHEMA = pa.schema([("file", pa.string()), ("error", pa.string())])
_PYTHON = re.compile(r"MapIn(Arrow|Pandas)")
# What `read_ratings` says of a line whose cells are all null (`open_table`).
_EMPTY = "the user is empty"


def refusal(
    reason: str, table: Table, maker: Maker, run: Callable[[str, Callable[[], Any]], Any]
) -> InputError:
    """The error that says what is wrong, and in which file where the table comes from files.

    Args:
        reason: What was wrong in a partition.
        table: With columns named for their roles.
        maker: What the partition was read by.
        run: Runs an action of Spark under a name.
    """
    try:
        found = run("looking for the file", lambda: _look(table, maker))
    except InputError as error:
        if error.path is not None:  # it cannot be read at all
            return error
        found = []
    named = sorted((row["file"], row["error"]) for row in found if row["file"])
    if not named and reason == CHANGED:
        return InputError(reason)
    if not named:
        return InputError(f"in one partition of the table, {reason}", hints=ROW_HINTS)
    file, found_there = named[0]
    if found_there == _EMPTY and FILE in table.columns:
        found_there += (
            ", or the line is not UTF-8, or does not have the fields that every line must have"
        )
    return InputError(found_there, path=shown_path(file), hints=ROW_HINTS)


def _look(table: Table, maker: Maker) -> list[Any]:
    """A bad row's file and reason from every task that has one."""
    functions = import_module("pyspark.sql.functions")
    try:
        if not table.inputFiles():
            return []
        if FILE in table.columns:
            return _look_in_text(table, maker)
        if _PYTHON.search(str(table._jdf.queryExecution().analyzed().toString())):
            return []  # Spark reads ahead of what Python has worked on
        rows = table.withColumn("file", functions.input_file_name())
    except spark_errors():  # several sources in one
        return []
    found: list[Any] = map_in_arrow(rows, _FirstBad(maker), _FOUND).collect()
    return found


def _look_in_text(table: Table, maker: Maker) -> list[Any]:
    """The same for text, whose column `FILE` says which file a row is from."""
    rows = table.withColumn("file", table[FILE].cast("string")).drop(FILE)
    names = names_of_files(table)
    found = map_in_arrow(rows, _FirstBad(maker), _FOUND).collect()
    return [row.asDict() | {"file": names.get(int(row["file"] or 0))} for row in found]


@dataclass(frozen=True)
class _FirstBad:
    """The first bad row of a partition that is as it was in the files."""

    maker: Maker

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_own_cores_only()
        for table in row_groups(batches):
            for file in table["file"].unique().to_pylist():
                rows = table.filter(pc.equal(table["file"], file)).drop_columns("file")
                try:
                    self.maker.read(rows)
                except InputError as error:
                    reason = self.maker.refusal(error)
                    if reason is not None:
                        columns = {"file": [file], "error": [reason]}
                        yield pa.RecordBatch.from_pydict(columns, _FOUND_SCHEMA)
                        return
