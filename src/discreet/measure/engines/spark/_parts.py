"""On the workers: rows of a partition, which holds whole users, into parts and back.

A part is a block of `Ratings` as bytes, 5 a rating on a stepped scale: without names of users,
without times.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings import Ratings, read_ratings
from discreet.ratings.readers import BadRows

PART = (
    "users long, ratings long, duplicates long, skipped long, error string, "
    "starts binary, items binary, codes binary"
)
_BLOCK = 1 << 22
"""Ratings in a part, about."""
_FACTS = ("users", "ratings", "duplicates", "skipped", "error", "starts", "items", "codes")
_NONE_LEFT = "no ratings:"


@dataclass(frozen=True)
class Shape:
    """What is public of the ratings.

    Attributes:
        scale: Of the ratings.
        catalog: A broadcast of the catalogue.
    """

    scale: Scale
    catalog: Any

    def ratings(self, starts: Any, items: Any, codes: Any) -> Ratings:
        return Ratings(self.scale, self.catalog.value, starts, items, codes)

    def unpacked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Ratings]:
        """The parts of a partition."""
        code = np.float32 if self.scale.step is None else np.uint8
        for batch in batches:
            for row in range(batch.num_rows):
                reason = batch["error"][row].as_py()
                if reason is not None:
                    # Nothing is dropped in silence: it was read again, and is not what it was.
                    raise InputError(f"the table changed while it was measured: {reason}")
                if not batch["users"][row].as_py():
                    continue
                # Copied: kernels are compiled for arrays that may be written to.
                columns = zip(("starts", "items", "codes"), (np.int64, np.int32, code), strict=True)
                yield self.ratings(
                    *(np.frombuffer(batch[n][row].as_buffer(), kind).copy() for n, kind in columns)
                )


@dataclass(frozen=True)
class Maker:
    """Reads the rows of a partition as `read_ratings` reads any table.

    Attributes:
        shape: What the parts have in common.
        on_bad_rows: Refuse them, or skip them.
    """

    shape: Shape
    on_bad_rows: BadRows

    def parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The partition's parts; or one row that says why there are none."""
        use_own_cores_only()
        table = _whole(batches)
        if table is None:
            return
        try:
            ratings = read_rows(table, self.shape.scale, self.shape.catalog.value, self.on_bad_rows)
        except InputError as error:
            yield _row(0, 0, 0, *self._refused(error, table))
            return
        facts = (ratings.duplicates, ratings.skipped)
        for block in ratings.blocks(_BLOCK):
            columns = (block.starts, block.items, block.codes)
            packed = (column.tobytes() for column in columns)
            yield _row(block.user_count, len(block), *facts, None, *packed)
            facts = (0, 0)

    def items(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The items that occur in a partition, for a catalogue from data; or what is wrong."""
        use_own_cores_only()
        table = _whole(batches)
        if table is None:
            return
        try:
            found = read_rows(table, self.shape.scale, "from-data", self.on_bad_rows).catalog.ids
        except InputError as error:
            _, reason = self._refused(error, table)
            found = ()
            if reason is not None:
                yield pa.RecordBatch.from_pydict({"item": [None], "error": [reason]}, _ITEMS)
        if found:
            columns = {"item": list(found), "error": [None] * len(found)}
            yield pa.RecordBatch.from_pydict(columns, _ITEMS)

    def _refused(self, error: InputError, table: pa.Table) -> tuple[int, str | None]:
        """How many rows were skipped, if it is only that none is left here; or the reason."""
        if self.on_bad_rows == "skip" and error.reason.startswith(_NONE_LEFT):
            return table.num_rows, None
        return 0, error.reason


ITEM = "item string, error string"
_ITEMS = pa.schema([("item", pa.string()), ("error", pa.string())])
_PARTS = pa.schema(
    [
        *((name, pa.int64()) for name in _FACTS[:4]),
        ("error", pa.string()),
        *((name, pa.binary()) for name in _FACTS[5:]),
    ]
)


def read_rows(
    table: pa.Table, scale: Scale, catalog: Catalog | str, on_bad_rows: BadRows
) -> Ratings:
    """Some whole users' rows, whose order must not count: a cluster hands them over in any.

    Of several ratings of one item by one user the latest counts; of those, the highest.
    """
    told: dict[str, Any] = {"scale": scale, "on_bad_rows": on_bad_rows}
    told["columns"] = {name: name for name in table.column_names}
    if "time" not in table.column_names:
        told["columns"]["time"] = None
    found = read_ratings(table, catalog=catalog, **told)
    if not found.duplicates or scale.presence:
        return found
    # One person a row: so nothing is folded, and the columns are read as they will be.
    numbers = pa.array(np.arange(table.num_rows))
    alone = table.set_column(table.column_names.index("user"), "user", numbers)
    single = read_ratings(alone, catalog=catalog, **told)
    assert single.users is not None
    keys = (single.codes,) if single.times is None else (single.codes, single.times)
    rows = np.asarray(single.users, dtype=np.int64)[np.lexsort(keys)]
    return replace(read_ratings(table.take(rows), catalog=catalog, **told), skipped=found.skipped)


def joined(shape: Shape, parts: list[Ratings]) -> Ratings:
    """Several parts as one."""
    if len(parts) == 1:
        return parts[0]
    begins = np.cumsum([0, *(len(part) for part in parts)])
    starts = [part.starts[:-1] + begin for part, begin in zip(parts, begins, strict=False)]
    items = [part.items for part in parts]
    codes: list[Any] = [part.codes for part in parts]
    ends = np.concatenate([*starts, begins[-1:]]).astype(np.int64)
    return shape.ratings(ends, np.concatenate(items), np.concatenate(codes))


def use_own_cores_only() -> None:
    """Kernels take as many threads as Spark gives the task cores."""
    context = task_context()
    if context is not None:
        numba.config.NUMBA_NUM_THREADS = max(int(context.cpus()), 1)


def task_context() -> Any:
    """Spark's task that this is; None outside of one."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.TaskContext.get()


def _whole(batches: Iterator[pa.RecordBatch]) -> pa.Table | None:
    found = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(found) if found else None


def _row(
    users: int,
    ratings: int,
    duplicates: int,
    skipped: int,
    error: str | None,
    *packed: bytes,
) -> pa.RecordBatch:
    values = (users, ratings, duplicates, skipped, error, *(packed or (b"", b"", b"")))
    columns = {name: [value] for name, value in zip(_FACTS, values, strict=True)}
    return pa.RecordBatch.from_pydict(columns, _PARTS)
