"""Ratings on a Spark cluster: whole users in every partition, and only sums come back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any

import pyarrow as pa

from discreet.domain import Catalog, Scale
from discreet.measure.engines.spark._bad_rows import refusal
from discreet.measure.engines.spark._errors import spark_errors
from discreet.measure.engines.spark._files import Files, deal_pieces
from discreet.measure.engines.spark._jobs import (
    Progress,
    Work,
    map_in_arrow,
    run_job,
    stream_rows,
)
from discreet.measure.engines.spark._lines import FILE
from discreet.measure.engines.spark._parts import PACKED, Maker, Shape, deal_packed, unpack
from discreet.measure.engines.spark._session import Rows, Table
from discreet.measure.engines.spark._sums import RatingsInParts, add_tiles
from discreet.ratings import Intake
from discreet.ratings.readers import BadRows

# Bytes of sums that one task adds, and that come to the driver in one piece: 64 MiB, chosen by hand
# so that a driver and executors with Spark's default gigabyte hold several.
_AT_ONCE = 1 << 26


@dataclass(frozen=True, repr=False)
class Survey:
    """What reading found; about private records, for the curator's eyes alone.

    Attributes:
        users: How many there are.
        ratings: How many there are.
        duplicates: How many records gave way to another of the same user and item.
        skipped: How many bad rows were left out.
    """

    users: int
    ratings: int
    duplicates: int
    skipped: int

    def __repr__(self) -> str:
        return "Survey(private)"


class SparkRatings(RatingsInParts):
    """Everybody's ratings in a Spark table, read once and kept by the executors.

    Nothing is read before it is needed: that is the first sum, or `survey`. What the executors
    keep, in memory or on their disks, takes 5 bytes per rating, 9 with times; `close` frees it.

    Args:
        table: With columns user, item, and perhaps rating and time.
        scale: Of the ratings.
        catalog: Of the items.
        on_bad_rows: Refuse them, or skip them.
        partitions: How many.
        progress: Called during every stage; may be changed later.
        most_ratings: Keep at most this many of each user; None for all.
        source: The files that the table is, if tasks can read them without Spark.
    """

    def __init__(
        self,
        table: Table,
        scale: Scale,
        catalog: Catalog,
        on_bad_rows: BadRows,
        partitions: int,
        progress: Progress | None,
        most_ratings: int | None = None,
        source: Files | None = None,
    ) -> None:
        self.intake = Intake(bad_rows=on_bad_rows, most_ratings=most_ratings)
        self._spark, self.progress = table.sparkSession, progress
        sent = self._spark.sparkContext.broadcast(catalog)
        # A table's columns are public, as its scale is.
        shape = Shape(scale, sent, most_ratings, has_times="time" in table.columns)
        super().__init__(scale, catalog, shape, partitions)
        self._table, self._maker = table, Maker(shape, on_bad_rows, partitions)
        plan = partial(self._planned, source)
        try:
            # Starts nothing, but Spark plans it, and may find it wrong.
            self._parts = run_job(self._spark, "plan", plan)
        except BaseException:
            sent.unpersist()
            raise
        self._survey: Survey | None = None

    def _planned(self, source: Files | None) -> Rows:
        """The parts, which executors will keep: rows dealt to partitions by user, whole users."""
        maker = self._maker
        if source is not None:
            pieces = self._spark.sparkContext.parallelize(source.pieces, len(source.pieces))
            read = partial(deal_pieces, maker, source.description)
            dealt = pieces.mapPartitions(read)
        else:
            packed = map_in_arrow(self._table.drop(FILE), partial(deal_packed, maker), PACKED)
            dealt = packed.rdd.map(unpack)
        level = import_module("pyspark").StorageLevel.MEMORY_AND_DISK
        whole = dealt.partitionBy(self._partitions, int).values()
        return whole.mapPartitions(maker.parts).persist(level)

    def __repr__(self) -> str:
        return f"SparkRatings(private, catalogue of {len(self.catalog):,} items)"

    def __enter__(self) -> SparkRatings:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free what the executors keep; nothing is left to do where Spark has ended."""
        with suppress(OSError, *spark_errors()):
            self._parts.unpersist()
            self._shape.catalog.unpersist()

    @property
    def user_count(self) -> int:
        """How many users there are; private."""
        return self.survey().users

    def survey(self) -> Survey:
        """Read everything, if that was not done yet, and report what was found.

        Raises:
            InputError: A row is bad and bad rows are refused.
        """
        if self._survey is None:
            names = [field.name for field in fields(Survey)]
            facts = self._parts.mapPartitions(partial(facts_of, [*names, "error"]))
            found = self._run("reading", facts.collect)
            if errors := sorted(row["error"] for row in found if row["error"] is not None):
                raise refusal(errors[0], self._table, self._maker, self._run)
            self._survey = Survey(**{name: sum(row[name] for row in found) for name in names})
        return self._survey

    def _counted(self) -> tuple[int, int]:
        found = self.survey()
        return found.users, found.ratings

    def _sums(self, name: str, work: Work, volume: int) -> Iterator[Any]:
        rows = self._parts.mapPartitions(work)
        tasks = max(1, math.ceil(volume / _AT_ONCE))
        if self._bundles > 1:
            rows = _added(rows, tasks * self._bundles, ("bundle", "leaf", "tile"))
        rows = _added(rows, tasks, ("leaf", "tile"))
        if tasks == 1:
            found: list[pa.RecordBatch] = self._run(name, rows.collect)
            return (row for batch in found for row in batch.to_pylist())
        return self._one_by_one(name, rows)

    def _one_by_one(self, name: str, rows: Rows) -> Iterator[Any]:
        """Rows that are too many to be held at once: a partition of them at a time."""
        kept = rows.persist(import_module("pyspark").StorageLevel.DISK_ONLY)
        try:
            self._run(name, kept.count)
            for batch in stream_rows(self._spark, name, kept):
                yield from batch.to_pylist()
        finally:
            kept.unpersist()

    def _run(self, name: str, action: Callable[[], Any]) -> Any:
        return run_job(self._spark, name, action, self.progress)


def facts_of(names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """These columns of each part, without its ratings."""
    for batch in batches:
        yield from batch.select(names).to_pylist()


def _added(rows: Rows, tasks: int, place: tuple[str, ...]) -> Rows:
    """Tiles of the same place added up, by `tasks` tasks."""
    at = partial(_task_of, place, tasks)
    return rows.keyBy(at).partitionBy(tasks, int).values().mapPartitions(add_tiles)


def _task_of(place: tuple[str, ...], tasks: int, tile: pa.RecordBatch) -> int:
    """Which task adds a tile: a function of its place, whose numbers hash to themselves."""
    return hash(tuple(tile[name][0].as_py() for name in place)) % tasks
