"""From a Spark table to ratings: the same checks, the same catalogue, as from any other table."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import get_args

import numpy as np
import pyarrow as pa

from discreet.domain import PRESENCE, Catalog, Hint, InputError, Scale
from discreet.measure.engines.spark._arrow import map_in_arrow
from discreet.measure.engines.spark._errors import spark_errors
from discreet.measure.engines.spark._jobs import Progress, run_stage
from discreet.measure.engines.spark._lines import FILE
from discreet.measure.engines.spark._parts import ITEM, Maker, Shape
from discreet.measure.engines.spark._ratings import SparkRatings
from discreet.measure.engines.spark._session import Table
from discreet.measure.engines.spark._table import chosen_columns
from discreet.measure.engines.spark._where import refusal
from discreet.measure.engines.spark._workers import check_workers
from discreet.ratings import Intake, read_catalog, read_ratings
from discreet.ratings.readers import BadRows, Columns, GivenScale

_FROM_DATA = "from-data"
_SOURCE_BYTES = 1 << 26
"""Of the source, for each partition: 12 million ratings in Parquet, about."""
_UNKNOWN_BYTES = 1 << 50
"""Spark's guess of a size that it does not know is larger."""
_MOST_PARTITIONS = 10_000


def read_spark(
    table: Table,
    *,
    scale: GivenScale | None = None,
    implicit: bool = False,
    catalog: Catalog | str | os.PathLike[str] | None = None,
    columns: Columns | None = None,
    on_bad_rows: BadRows = "refuse",
    most_ratings: int | None = None,
    partitions: int | None = None,
    progress: Progress | None = None,
) -> SparkRatings:
    """Ratings in a Spark table, as `read_ratings` would read them; see there for what is not here.

    A table on a cluster has no order: of several ratings of one item by one user the one with the
    latest time, in whole seconds, counts, and of those the highest.

    Args:
        table: A Spark DataFrame; if it is text, one that `open_table` opened.
        scale: Of the ratings; unless `implicit`.
        implicit: Rows say only that they are there.
        catalog: The list of items, or its file, or `from-data`: which reads the table once more.
        columns: What the columns are called.
        on_bad_rows: `refuse` or `skip`.
        most_ratings: Keep at most this many ratings of each user, the same that `read_ratings`
            keeps.
        partitions: How many; if not told, by the size of the source, and a core has one at least;
            where Spark does not know the size, `spark.sql.shuffle.partitions`.
        progress: Called with a stage's name, and how many of Spark's tasks are done of how many.

    Raises:
        InputError: Something is missing or wrong; or the workers cannot run discreet.
    """
    known, items = read_public(scale, implicit, catalog)
    chosen = chosen_columns(table, columns, implicit=known.presence)
    if on_bad_rows not in get_args(BadRows):
        raise InputError(f"on_bad_rows must be refuse or skip, not '{on_bad_rows}'")
    Intake(most_ratings=most_ratings)  # refuses a wrong bound before Spark does anything
    number = _partitions(table, partitions)
    check_workers(table.sparkSession)
    if items is None:
        items = _items_of(chosen, known, on_bad_rows, progress)
    return SparkRatings(chosen, known, items, on_bad_rows, number, progress, most_ratings)


def read_public(
    scale: GivenScale | None,
    implicit: bool,
    catalog: Catalog | str | os.PathLike[str] | None,
) -> tuple[Scale, Catalog | None]:
    """What is public of the ratings, which needs no Spark; no catalogue if it is from data.

    Args:
        scale: As for `read_spark`, like the others.
        implicit: Rows say only that they are there.
        catalog: The list of items.

    Raises:
        InputError: Something is missing or wrong.
    """
    return _scale(scale, implicit), None if catalog == _FROM_DATA else _catalog(catalog)


def _scale(given: GivenScale | None, implicit: bool) -> Scale:
    if given is None and not implicit:
        stars, presence = Hint("scale", (1, 5)), Hint("implicit", True)
        raise InputError(
            f"give the scale, like {stars}; or {presence} for presence alone",
            hints=[stars, presence],
        )
    try:
        told = Scale.parse(given) if isinstance(given, str) else given
        known = Scale(*told) if isinstance(told, tuple) else told or PRESENCE
    except TypeError:
        right = "(lo, hi), (lo, hi, step), text like 1..5, or a Scale"
        raise InputError(f"scale must be {right}") from None
    if implicit and known != PRESENCE:
        raise InputError("presence (implicit) is a scale of its own; leave the other scale out")
    return known


def _catalog(given: Catalog | str | os.PathLike[str] | None) -> Catalog:
    if isinstance(given, Catalog):
        return given
    if given is None:
        file, from_data = Hint("catalog", "items.csv"), Hint("catalog", _FROM_DATA)
        raise InputError(
            f"give the list of items, like {file}; {from_data} reads it off the private ratings, "
            "and every release will say so",
            hints=[file, from_data],
        )
    return read_catalog(given)


def _items_of(
    chosen: Table, scale: Scale, on_bad_rows: BadRows, progress: Progress | None
) -> Catalog:
    """The catalogue of the items that occur, in the order that `read_ratings` gives them."""
    maker = Maker(Shape(scale, None), on_bad_rows)
    run = partial(run_stage, chosen.sparkSession, progress)
    rows = map_in_arrow(chosen.drop(FILE), maker.items, ITEM).distinct()
    listed = run("catalogue", rows.collect)
    for row in listed:
        if row["error"] is not None:
            raise refusal(row["error"], chosen, maker, run)
    if not listed:
        raise InputError("no ratings, so no catalogue can be read off them; give a catalogue")
    items = pa.table({"user": np.zeros(len(listed), np.int64), "item": [r["item"] for r in listed]})
    return read_ratings(items, implicit=True, catalog=_FROM_DATA).catalog


def _partitions(table: Table, told: int | None) -> int:
    """As many as told; or one for each core, and no larger than a worker can well read.

    Where the size is unknown, as it is in a database, Spark's own setting is the best there is.
    """
    if told is not None:
        if not isinstance(told, int) or told < 1:
            raise InputError(f"partitions are a whole number, 1 or more, not {told!r}")
        return told
    spark = table.sparkSession
    cores = int(spark.sparkContext.defaultParallelism)
    size = _source_bytes(table)
    if size >= _UNKNOWN_BYTES:
        return max(cores, int(spark.conf.get("spark.sql.shuffle.partitions")))
    return max(cores, min(math.ceil(size / _SOURCE_BYTES), _MOST_PARTITIONS))


def _source_bytes(table: Table) -> int:
    """What Spark takes the source's size for; whatever is wrong with it will be said by a job."""
    try:
        return int(str(table._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    except spark_errors():
        return _UNKNOWN_BYTES
