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

from discreet.domain import Catalog, Scale
from discreet.measure.engines.spark._bad_rows import refusal
from discreet.measure.engines.spark._errors import spark_errors
from discreet.measure.engines.spark._jobs import (
    Progress,
    Work,
    map_in_arrow,
    run_job,
    stream_rows,
)
from discreet.measure.engines.spark._lines import FILE
from discreet.measure.engines.spark._parts import PART, Maker, Shape
from discreet.measure.engines.spark._session import Table
from discreet.measure.engines.spark._sums import TILES, RatingsInParts, add_tiles
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
    ) -> None:
        self.intake = Intake(bad_rows=on_bad_rows, most_ratings=most_ratings)
        self._spark, self.progress = table.sparkSession, progress
        sent = self._spark.sparkContext.broadcast(catalog)
        # A table's columns are public, as its scale is.
        shape = Shape(scale, sent, most_ratings, has_times="time" in table.columns)
        super().__init__(scale, catalog, shape, partitions)
        self._table, self._maker = table, Maker(shape, on_bad_rows)
        level = import_module("pyspark").StorageLevel.MEMORY_AND_DISK
        whole = table.drop(FILE).repartition(partitions, "user")
        rows = map_in_arrow(whole, self._maker.parts, PART)
        # Starts nothing, but Spark plans it, and may find it wrong.
        plan = partial(rows.persist, level)
        try:
            self._parts = run_job(self._spark, "plan", plan)
        except BaseException:
            sent.unpersist()
            raise
        self._survey: Survey | None = None

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
            functions = import_module("pyspark.sql.functions")
            names = [field.name for field in fields(Survey)]
            facts = [functions.sum(name).alias(name) for name in names]
            one = self._parts.agg(*facts, functions.min("error").alias("error"))
            (found,) = self._run("reading", one.collect)
            if found["error"] is not None:
                raise refusal(found["error"], self._table, self._maker, self._run)
            # Spark's sum over no row is null.
            self._survey = Survey(**{name: found[name] or 0 for name in names})
        return self._survey

    def _counted(self) -> tuple[int, int]:
        found = self.survey()
        return found.users, found.ratings

    def _sums(self, name: str, work: Work, volume: int) -> Iterator[Any]:
        rows = map_in_arrow(self._parts, work, TILES)
        tasks = max(1, math.ceil(volume / _AT_ONCE))
        if self._bundles > 1:
            rows = rows.repartition(tasks * self._bundles, "bundle", "leaf", "tile")
            rows = map_in_arrow(rows, add_tiles, TILES)
        rows = map_in_arrow(rows.repartition(tasks, "leaf", "tile"), add_tiles, TILES)
        if tasks == 1:
            return iter(self._run(name, rows.collect))
        return self._one_by_one(name, rows)

    def _one_by_one(self, name: str, rows: Table) -> Iterator[Any]:
        """Rows that are too many to be held at once: a partition of them at a time."""
        kept = rows.persist(import_module("pyspark").StorageLevel.DISK_ONLY)
        try:
            self._run(name, kept.count)
            yield from stream_rows(self._spark, name, kept)
        finally:
            kept.unpersist()

    def _run(self, name: str, action: Callable[[], Any]) -> Any:
        return run_job(self._spark, name, action, self.progress)
