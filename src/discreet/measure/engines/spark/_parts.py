"""On the workers: rows of a partition, which holds whole users, into parts and back.

A part is a block of `Ratings` as bytes, without names of users: 5 per rating on a stepped scale,
and 4 more where the table has times.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from discreet import __version__
from discreet.domain import Catalog, InputError, Scale
from discreet.measure.engines.spark._errors import CHANGED, OTHER_VERSION
from discreet.ratings import Intake, Ratings, bound_contributions, read_ratings
from discreet.ratings.readers import FROM_DATA, BadRows

PART = (
    "users long, ratings long, duplicates long, skipped long, error string, "
    "starts binary, items binary, codes binary, times binary"
)
# Ratings in a part, about: 20 MiB, 36 with times, within the 64 MiB of a batch (`_jobs.NEEDED`).
_BLOCK = 1 << 22
# Rows that are read at a time, about, where they need not be all of a user's. Chosen by hand.
_ROWS = 1 << 20
_FACTS = ("users", "ratings", "duplicates", "skipped")
_PACKED = ("starts", "items", "codes", "times")
_NONE_LEFT = "no ratings, so no catalogue"
# Where in its partition a row is, and how many such rows are there: of no use on the driver.
_PLACE = re.compile(r"^row [\d,]+: | \(in all [^)]*\)")


@dataclass(frozen=True)
class Shape:
    """What is public of the ratings.

    Attributes:
        scale: Of the ratings.
        catalog: A broadcast of the catalogue; None if that is read off the ratings.
        most_ratings: The most that a user has; None if nothing bounds it.
        has_times: Whether records say when they were made.
        version: Of discreet, where the fit is.
    """

    scale: Scale
    catalog: Any
    most_ratings: int | None = None
    has_times: bool = False
    version: str = __version__

    def check_version(self) -> None:
        """Refuse to count as another version would, on a worker that joined after the check."""
        if self.version != __version__:
            raise InputError(OTHER_VERSION)

    def ratings(self, starts: Any, items: Any, codes: Any, times: Any = None) -> Ratings:
        """A part; its users are in no other, because Spark has partitioned by user."""
        intake = Intake(most_ratings=self.most_ratings)
        return Ratings(self.scale, self.catalog.value, starts, items, codes, times, intake=intake)

    def unpacked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Ratings]:
        """The parts of a partition."""
        self.check_version()
        code = np.float32 if self.scale.step is None else np.uint8
        kinds = dict(zip(_PACKED, (np.int64, np.int32, code, np.uint32), strict=True))
        if not self.has_times:
            del kinds["times"]
        for batch in batches:
            for row in range(batch.num_rows):
                reason = batch["error"][row].as_py()
                if reason is not None:
                    # Nothing is dropped in silence: it was read again, and is not what it was.
                    raise InputError(CHANGED)
                if not batch["users"][row].as_py():
                    continue
                # Copied: Spark's bytes may lie anywhere, and kernels want numbers aligned.
                yield self.ratings(
                    **{
                        name: np.frombuffer(batch[name][row].as_buffer(), kind).copy()
                        for name, kind in kinds.items()
                    }
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
        self._begin()
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        table = pa.Table.from_batches(found)
        try:
            ratings = self.read(table)
        except InputError as error:
            reason = self.refusal(error)
            yield _row(0, 0, 0, 0 if reason else table.num_rows, reason)
            return
        if self.shape.most_ratings is not None:
            ratings = bound_contributions(ratings, self.shape.most_ratings)
        facts = (ratings.duplicates, ratings.skipped)
        for block in ratings.blocks(_BLOCK):
            columns = {name: getattr(block, name) for name in _PACKED}
            packed = {name: c.tobytes() for name, c in columns.items() if c is not None}
            yield _row(block.user_count, len(block), *facts, None, **packed)
            facts = (0, 0)
        if not ratings.user_count:
            yield _row(0, 0, *facts, None)

    def items(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The items that occur in a partition, for a catalogue from data; or what is wrong."""
        self._begin()
        for table in row_groups(batches):
            try:
                listed = list(self.read(table).catalog.ids)
            except InputError as error:
                reason = self.refusal(error)
                if reason is not None:
                    yield pa.RecordBatch.from_pydict({"item": [None], "error": [reason]}, _ITEMS)
                    return
            else:
                columns = {"item": listed, "error": [None] * len(listed)}
                yield pa.RecordBatch.from_pydict(columns, _ITEMS)

    def read(self, table: pa.Table) -> Ratings:
        """Some whole users' rows.

        Raises:
            InputError: They cannot be used.
        """
        catalog = FROM_DATA if self.shape.catalog is None else self.shape.catalog.value
        return read_rows(table, self.shape.scale, catalog, self.on_bad_rows)

    def refusal(self, error: InputError) -> str | None:
        """What is wrong with rows; None if all of them were skipped as bad, which is no error."""
        if self.on_bad_rows == "skip" and error.reason.startswith(_NONE_LEFT):
            return None
        return _PLACE.sub("", error.reason)

    def _begin(self) -> None:
        self.shape.check_version()
        use_own_cores_only()


def row_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of a partition, some at a time."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(each.num_rows for each in held) >= _ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


ITEM = "item string, error string"
_ITEMS = pa.schema([("item", pa.string()), ("error", pa.string())])
_PARTS = pa.schema(
    [
        *((name, pa.int64()) for name in _FACTS),
        ("error", pa.string()),
        *((name, pa.binary()) for name in _PACKED),
    ]
)


def read_rows(
    table: pa.Table, scale: Scale, catalog: Catalog | str, on_bad_rows: BadRows
) -> Ratings:
    """Some whole users' rows, whose order must not count: a cluster hands them over in any.

    Of several ratings of one item by one user the latest counts; of those, the highest. Of several
    interactions the earliest counts.

    Args:
        table: With columns named for their roles.
        scale: Of the ratings.
        catalog: Of the items, or `from-data`.
        on_bad_rows: Refuse them, or skip them.

    Raises:
        InputError: A row is bad and bad rows are refused, or none is left.
    """
    options: dict[str, Any] = {"scale": scale, "catalog": catalog, "on_bad_rows": on_bad_rows}
    options["columns"] = {"time": None} | {name: name for name in table.column_names}
    found = read_ratings(table, **options)
    if not found.duplicates or scale.presence:
        return found
    # Every row as a person of its own, so that nothing is folded: its codes and times then say in
    # which order the rows must come for `read_ratings`, whose last row wins.
    numbers = pa.array(np.arange(table.num_rows))
    alone = table.set_column(table.column_names.index("user"), "user", numbers)
    single = read_ratings(alone, **options)
    assert single.users is not None
    keys = (single.codes,) if single.times is None else (single.codes, single.times)
    rows = np.asarray(single.users, dtype=np.int64)[np.lexsort(keys)]
    return replace(read_ratings(table.take(rows), **options), skipped=found.skipped)


def joined(shape: Shape, parts: list[Ratings]) -> Ratings:
    """Several parts as one."""
    if len(parts) == 1:
        return parts[0]
    begins = np.cumsum([0, *(len(part) for part in parts)])
    starts = [part.starts[:-1] + begin for part, begin in zip(parts, begins, strict=False)]
    ends = np.concatenate([*starts, begins[-1:]]).astype(np.int64)
    names = _PACKED[1:] if shape.has_times else _PACKED[1:-1]
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return shape.ratings(ends, *columns)


def use_own_cores_only() -> None:
    """Kernels take as many threads as Spark gives the task cores."""
    context = task_context()
    if context is not None:
        numba.config.NUMBA_NUM_THREADS = max(int(context.cpus()), 1)


def task_context() -> Any:
    """Spark's task that this is; None outside of one."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.TaskContext.get()


def _row(
    users: int,
    ratings: int,
    duplicates: int,
    skipped: int,
    error: str | None,
    **packed: bytes,
) -> pa.RecordBatch:
    facts = zip(_FACTS, (users, ratings, duplicates, skipped), strict=True)
    columns: dict[str, list[Any]] = {name: [value] for name, value in facts}
    columns |= {"error": [error]} | {name: [packed.get(name)] for name in _PACKED}
    return pa.RecordBatch.from_pydict(columns, _PARTS)
