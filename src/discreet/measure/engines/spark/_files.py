"""Parquet files that tasks read themselves, by the code that reads them on one machine.

Spark would turn every row into one of Java's and then into Arrow's: five times what reading costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import CHANGED, plain_path, spark_errors
from discreet.measure.engines.spark._parts import Dealt, Maker
from discreet.measure.engines.spark._session import Table
from discreet.ratings.readers import Batch, ParquetTable
from discreet.ratings.readers.text import TableDescription

# Bytes of a piece in memory, about, so that a task takes seconds. Chosen by hand.
_PIECE = 1 << 26
# Files whose footers are read here, one after another; more are left to Spark. Chosen by hand.
_MOST_FILES = 10_000
# Types that mean the same to Spark and to the readers, as either names them.
_SAME = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}

Piece = tuple[str, tuple[int, ...]]
"""A file, and the row groups of it that one task reads."""


@dataclass(frozen=True)
class Files:
    """What tasks read.

    Attributes:
        description: Which column is which.
        pieces: What each task reads.
    """

    description: TableDescription
    pieces: list[Piece]


def plain_schema(path: str) -> str | None:
    """The schema of one Parquet file of plain types, in Spark's words: then Spark need not find it.

    None if it must: for folders, and for whatever Spark may read differently.
    """
    place = Path(plain_path(path))
    try:
        schema = pq.read_schema(place) if place.is_file() else None
    except (pa.ArrowException, OSError):
        return None
    kinds = {kind: name for name, kind in _SAME.items()}
    if schema is None or any(field.type not in kinds or "`" in field.name for field in schema):
        return None
    return ", ".join(f"`{field.name}` {kinds[field.type]}" for field in schema)


def find_files(table: Table, places: dict[str, int], implicit: bool) -> Files | None:
    """The files that hold a table, all of it and nothing else; None if Spark must read it.

    There are some if it is Parquet of plain types at paths that this machine has too, all files
    have the same columns, and nothing was done to the table since it was opened.

    Args:
        table: As the caller has it.
        places: The column of each role.
        implicit: Whether rows are interactions.
    """
    kinds = {name: _SAME.get(kind) for name, kind in table.dtypes}
    columns: dict[str, str | None] = {role: table.columns[at] for role, at in places.items()}
    wanted = {name: kinds[name] for name in columns.values() if name is not None}
    if None in wanted.values() or len(kinds) < len(table.columns):
        return None
    try:
        paths = _paths(table) if _is_parquet(table) else []
    except spark_errors():
        return None
    if not 0 < len(paths) <= _MOST_FILES:
        return None
    pieces: list[Piece] = []
    for path in paths:
        groups = _groups(path, wanted)
        if groups is None:
            return None
        pieces += [(path, each) for each in groups]
    described: dict[str, str | None] = {"time": None}
    description = TableDescription(described | columns, implicit=implicit)
    return Files(description, pieces) if pieces else None


def deal_pieces(
    maker: Maker, description: TableDescription, pieces: Iterator[Piece]
) -> Iterator[tuple[int, Dealt]]:
    """The rows of a task's pieces, dealt to partitions by user."""
    return maker.deal_batches(_batches(description, pieces))


def _batches(description: TableDescription, pieces: Iterator[Piece]) -> Iterator[Batch]:
    for path, groups in pieces:
        try:
            yield from ParquetTable([Path(path)], description, groups).batches()
        except InputError:
            # It was whole when the pieces were cut.
            raise InputError(CHANGED) from None


def _is_parquet(table: Table) -> bool:
    """Whether a table is Parquet files as Spark opened them, without folders that name columns."""
    plan = table._jdf.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "LogicalRelation":
        return False
    source = plan.relation()
    if source.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    kind = source.fileFormat().getClass().getName()
    is_plain = kind == "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
    return is_plain and bool(source.partitionSchema().isEmpty())


def _paths(table: Table) -> list[str]:
    """The files, if all are on disks of this machine."""
    files: list[str] = sorted(table.inputFiles())
    return [plain_path(file) for file in files] if all(f.startswith("file:") for f in files) else []


def _groups(path: str, wanted: dict[str, Any]) -> list[tuple[int, ...]] | None:
    """The row groups of a file, some at a time; None if it is not what it should be."""
    try:
        with pq.ParquetFile(path) as file:
            found, names = file.metadata, file.schema_arrow.names
            types = {name: file.schema_arrow.field(name).type for name in wanted if name in names}
    except (pa.ArrowException, OSError):
        return None
    if types != wanted or any(names.count(name) > 1 for name in wanted):
        return None
    pieces: list[tuple[int, ...]] = []
    held: list[int] = []
    size = 0
    for group in range(found.num_row_groups):
        held.append(group)
        size += found.row_group(group).total_byte_size
        if size >= _PIECE or group == found.num_row_groups - 1:
            pieces.append(tuple(held))
            held, size = [], 0
    return pieces
