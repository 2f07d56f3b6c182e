"""On the workers: rows are checked and dealt to partitions by user; there they become parts.

A part is a block of `Ratings` as bytes, without names of users: 5 per rating on a stepped scale,
and 4 more where the table has times.
"""

from __future__ import annotations

import gc
import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from discreet import __version__
from discreet.domain import Catalog, InputError, Scale
from discreet.measure.engines.spark._errors import CHANGED, OTHER_VERSION
from discreet.ratings import Intake, Ratings, bound_contributions, build_ratings, read_ratings
from discreet.ratings.readers import (
    FROM_DATA,
    BadRows,
    Batch,
    IdColumn,
    Ids,
    RowDealer,
    code_kind,
    deal,
    open_frame,
)
from discreet.ratings.readers.text import TableDescription

PACKED = "partition int, dealt binary"
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

    def no_columns(self) -> tuple[Any, ...]:
        """Items, codes and perhaps times of nobody."""
        kinds = (np.int32, code_kind(self.scale), np.uint32)
        return tuple(np.empty(0, kind) for kind in kinds[: 3 if self.has_times else 2])

    def unpacked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Ratings]:
        """The parts of a partition."""
        self.check_version()
        kinds = dict(
            zip(_PACKED, (np.int64, np.int32, code_kind(self.scale), np.uint32), strict=True)
        )
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


@dataclass(frozen=True, repr=False)
class Dealt:
    """Some checked rows of one partition, or what is wrong with rows.

    Attributes:
        users: Whose they are.
        columns: Items, codes and perhaps times.
        skipped: How many bad rows were left out where these come from.
        error: Why rows are refused.
    """

    users: Ids
    columns: tuple[Any, ...]
    skipped: int = 0
    error: str | None = None


class _Hands(RowDealer):
    """Deals rows to partitions by user; `full` has what was dealt and not yet taken away."""

    def __init__(self, maker: Maker) -> None:
        super().__init__(maker.shape.scale, maker.catalog, maker.on_bad_rows, True)
        self._partitions = maker.partitions
        self.full: list[tuple[int, Dealt]] = []

    def _deal(self, users: Ids, columns: list[Any]) -> None:
        for number, names, some in deal(users, columns, self._partitions):
            self.full.append((number, Dealt(names, tuple(some))))


@dataclass(frozen=True)
class Maker:
    """Checks rows as `read_ratings` does, and makes parts of those of whole users.

    Attributes:
        shape: What the parts have in common.
        on_bad_rows: Refuse them, or skip them.
        partitions: To how many of them rows are dealt.
    """

    shape: Shape
    on_bad_rows: BadRows
    partitions: int = 1

    @property
    def catalog(self) -> Catalog:
        found: Catalog = self.shape.catalog.value
        return found

    def deal_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Dealt]]:
        """Good rows, each with the number of its user's partition; or why there are none."""
        implicit = self.shape.scale.presence
        tables = row_groups(batches)
        return self.deal_batches(each for table in tables for each in _batches(table, implicit))

    def deal_batches(self, batches: Iterator[Batch]) -> Iterator[tuple[int, Dealt]]:
        """The same, of rows that a source of `read_ratings` gives."""
        self._begin()
        hands = _Hands(self)
        try:
            for batch in batches:
                hands.add(batch)
                yield from hands.full
                hands.full.clear()
            hands.check_items()
        except InputError as error:
            yield 0, Dealt(np.empty(0, np.int64), (), error=_PLACE.sub("", error.reason))
        if hands.skipped:
            yield 0, Dealt(np.empty(0, np.int64), (), hands.skipped)

    def parts(self, dealt: Iterator[Dealt]) -> Iterator[pa.RecordBatch]:
        """A partition's parts; or one row that says why there are none."""
        self._begin()
        try:
            ratings = self.records(dealt)
        except InputError as error:
            yield _row(0, 0, 0, 0, error.reason)
            return
        facts = (ratings.duplicates, ratings.skipped)
        for block in ratings.blocks(_BLOCK):
            columns = {name: getattr(block, name) for name in _PACKED}
            packed = {name: c.tobytes() for name, c in columns.items() if c is not None}
            yield _row(block.user_count, len(block), *facts, None, **packed)
            facts = (0, 0)
        if not ratings.user_count and any(facts):
            yield _row(0, 0, *facts, None)

    def records(self, dealt: Iterator[Dealt]) -> Ratings:
        """All rows of a partition as ratings, in whatever order they come.

        Of several ratings of one item by one user the latest counts; of those, the highest. Of
        several interactions the earliest counts.

        Raises:
            InputError: Rows were refused.
        """
        users, kept, skipped = IdColumn(), [], 0
        for each in dealt:
            if each.error is not None:
                raise InputError(each.error)
            skipped += each.skipped
            if len(each.users):
                users.add(each.users)
                kept.append(each.columns)
        people, names = users.finish()
        if not kept:
            kept = [self.shape.no_columns()]
        columns = tuple(np.concatenate(some) for some in zip(*kept, strict=True))
        del kept
        build = partial(
            build_ratings,
            scale=self.shape.scale,
            catalog=self.catalog,
            user_ids=names,
            skipped=skipped,
        )
        found = build(people, *_three(columns))
        if found.duplicates and not self.shape.scale.presence:
            # The last row wins: so they come by time, and then by rating.
            order = np.lexsort(columns[1:])
            found = build(people[order], *_three(tuple(column[order] for column in columns)))
        if self.shape.most_ratings is not None:
            found = bound_contributions(found, self.shape.most_ratings)
        return found

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
        """Some rows by themselves.

        Raises:
            InputError: They cannot be used.
        """
        catalog = FROM_DATA if self.shape.catalog is None else self.catalog
        rules: dict[str, Any] = {"scale": self.shape.scale, "on_bad_rows": self.on_bad_rows}
        return read_ratings(table, catalog=catalog, columns=_roles(table), **rules)

    def refusal(self, error: InputError) -> str | None:
        """What is wrong with rows; None if all of them were skipped as bad, which is no error."""
        if self.on_bad_rows == "skip" and error.reason.startswith(_NONE_LEFT):
            return None
        return _PLACE.sub("", error.reason)

    def _begin(self) -> None:
        self.shape.check_version()
        use_own_cores_only()


def deal_packed(maker: Maker, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a maker deals, as SQL can hold it."""
    for number, dealt in maker.deal_rows(batches):
        columns = {"partition": [number], "dealt": [pickle.dumps(dealt)]}
        yield pa.RecordBatch.from_pydict(columns, _DEALT)


def unpack(row: Any) -> tuple[int, Dealt]:
    """What `deal_packed` packed."""
    return row["partition"], pickle.loads(row["dealt"])  # noqa: S301 - by `deal_packed`


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
_DEALT = pa.schema([("partition", pa.int32()), ("dealt", pa.binary())])
_ITEMS = pa.schema([("item", pa.string()), ("error", pa.string())])
_PARTS = pa.schema(
    [
        *((name, pa.int64()) for name in _FACTS),
        ("error", pa.string()),
        *((name, pa.binary()) for name in _PACKED),
    ]
)


def _roles(table: pa.Table) -> dict[str, str | None]:
    """Columns are named for their roles."""
    return {"time": None} | {name: name for name in table.column_names}


def _batches(table: pa.Table, implicit: bool) -> Iterator[Batch]:
    return open_frame(table, TableDescription(_roles(table), implicit=implicit)).batches()


def _three(columns: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Items, codes and times, which may be absent."""
    items, codes, *times = columns
    return items, codes, times[0] if times else None


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
        # Python's workers collect garbage after each task. Without what is loaded by now, that is
        # a tenth of a second less.
        gc.freeze()
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
