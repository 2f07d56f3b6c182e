"""Ratings that are on a Spark cluster: measured there, released here.

    import discreet.spark

    spark = discreet.spark.start_session()
    table = spark.read.parquet("hdfs:///ratings")
    release = discreet.spark.fit(table, scale=(1, 5), catalog="items.csv", ledger="people.ledger")

docs/how-to/spark.md says what a cluster needs, and what leaves it.
"""

from __future__ import annotations

import os
from typing import Any

from discreet.domain import Catalog
from discreet.measure.engines.spark import (
    SparkRatings,
    Survey,
    open_table,
    start_session,
)
from discreet.measure.engines.spark import read_spark as read
from discreet.methods import fit as _fit
from discreet.ratings.readers import BadRows, Columns, GivenScale
from discreet.release import Release

__all__ = ["SparkRatings", "Survey", "fit", "open_table", "read", "start_session"]


def fit(
    table: Any,
    *,
    scale: GivenScale | None = None,
    implicit: bool = False,
    catalog: Catalog | str | os.PathLike[str] | None = None,
    columns: Columns | None = None,
    on_bad_rows: BadRows = "refuse",
    partitions: int | None = None,
    progress: Any = None,
    **options: Any,
) -> Release:
    """Measure ratings in a Spark table under a guarantee and make a release.

    The integers that noise is added to are those that `discreet.fit` would have. The ledger is
    charged before a task reads the table, but for `catalog="from-data"`. Where rows may be bad, or
    the scale may be wrong, look before you pay: `read(table, ...)`, then `survey()`, then
    `discreet.fit` of it.

    A table on a cluster has no order, which is why one rule differs from `discreet.fit`: of several
    ratings of one item by one user the one with the latest time counts, and of those, or where
    there are no times, the highest; `discreet.fit` takes the last row. The two agree where nobody
    rated an item twice, and where rows are in the order of times that differ by whole seconds: the
    rest of a time does not count. Of several interactions both keep the earliest.

    Args:
        table: A Spark DataFrame: from Parquet, a warehouse's table, JDBC; from text if `open_table`
            opened it.
        scale: As for `read`, like all up to `progress`.
        implicit: Treat rows as interactions; ignore ratings.
        catalog: The list of items.
        columns: What the columns are called.
        on_bad_rows: `refuse` or `skip`.
        partitions: How many.
        progress: Called with a stage's name, and how many of Spark's tasks are done of how many.
        options: Whatever `discreet.fit` takes: `protect`, `epsilon`, `method`, `ledger`...

    Raises:
        BudgetExceeded: The ledger has no room; nothing was measured.
        InputError: The table or the budget cannot be used.
    """
    with read(
        table,
        scale=scale,
        implicit=implicit,
        catalog=catalog,
        columns=columns,
        on_bad_rows=on_bad_rows,
        partitions=partitions,
        progress=progress,
    ) as ratings:
        return _fit(ratings, **options)
