"""Tables and ratings on Spark: the same checks, the same catalogue, as from any other source."""

from __future__ import annotations

import math
import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa

from discreet import __version__
from discreet.domain import Catalog, Hint, InputError, Scale
from discreet.measure.engines.spark._bad_rows import refusal
from discreet.measure.engines.spark._errors import (
    condition_of,
    plain_path,
    safe_error,
    spark_errors,
)
from discreet.measure.engines.spark._files import find_files, plain_schema
from discreet.measure.engines.spark._jobs import Progress, map_in_arrow, run_job
from discreet.measure.engines.spark._lines import FILE, open_text, plain_name
from discreet.measure.engines.spark._parts import ITEM, Maker, Shape
from discreet.measure.engines.spark._ratings import SparkRatings
from discreet.measure.engines.spark._session import Session, Table, runs_here
from discreet.measure.engines.spark._table import chosen_columns
from discreet.ratings import Intake, read_catalog, read_ratings
from discreet.ratings.readers import (
    FROM_DATA,
    BadRows,
    CatalogColumns,
    Columns,
    GivenScale,
    Quoting,
    parse_scale,
)
from discreet.ratings.readers.text import TableDescription

_NAMED = "table:"
_ABSENT = "PATH_NOT_FOUND"
_TEXT = (".csv", ".tsv", ".tab", ".dat", ".txt")
_NO_TEXT = (".parquet", ".pq", ".orc")
_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN = re.compile(r"[*?\[{]")
# Bytes of the source for each partition: 12 million ratings in Parquet, about, which a worker with
# Spark's default gigabyte reads at once.
_SOURCE_BYTES = 1 << 26
# Spark's guess of a size that it does not know is larger (2^63 - 1), and no source is.
_UNKNOWN_BYTES = 1 << 50
# Chosen for safety: beyond this, tasks cost Spark's scheduler more than they save.
_MOST_PARTITIONS = 10_000
_checked_applications: set[str] = set()


def open_table(
    spark: Session,
    source: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    implicit: bool = False,
    separator: str | None = None,
    quoting: Quoting | None = None,
    progress: Progress | None = None,
) -> Table:
    """A table that Spark can read, by its name.

    Text is read line by line, as `read_ratings` reads it: a table of text cells, without blanks at
    their ends. It is looked through once, to see that every file has the same header and that
    quotes are closed on their lines. All cells of a line with too few or too many fields, or that
    is not UTF-8, are null, so that it is a bad row whatever is made of the table: `read_spark`
    refuses or skips it. The last column, `_discreet_file`, serves to name the file of a bad row.

    Args:
        spark: The session.
        source: Parquet, ORC or text (compressed or not), by the ending, or a folder of one of
            them, at any address that the cluster reaches; or `table:` and the name of a table or
            view. Text ends in .csv, .tsv, .tab, .dat or .txt, or is anything that a `separator` or
            `quoting` is given for.
        columns: As for `read_spark`. It matters here where columns are counted: then text has no
            header, and `fields` says how many fields a line has.
        implicit: As for `read_spark`.
        separator: What separates the fields of text, as for `read_ratings`.
        quoting: `lines` or `none`, as for `read_ratings`; `multiline` is not for Spark.
        progress: Called with a stage's name, and how many of Spark's tasks are done of how many.

    Raises:
        InputError: It cannot be read.
    """
    path = os.fspath(source)
    check_source(path, spark.sparkContext.master)
    ending = plain_name(path).suffix.lower()
    is_described = separator is not None or quoting is not None
    if is_described and (path.startswith(_NAMED) or ending in _NO_TEXT):
        raise InputError("separator and quoting are for text", path=path)
    opened: Callable[[], Table] = partial(_open_typed, spark, path)
    if is_described or (ending in _TEXT and not path.startswith(_NAMED)):
        check_workers(spark)
        description = TableDescription(columns, separator, quoting, implicit)
        opened = partial(open_text, spark, path, description)
    return run_job(spark, "opening", partial(_checked_open, path, opened), progress)


def check_source(path: str, master: str | None) -> None:
    """Check that a file exists, if it is to be on this machine; needs no Spark.

    Args:
        path: As for `open_table`.
        master: As for `start_session`.

    Raises:
        InputError: It is absent.
    """
    if _is_here(path, master) and not Path(plain_path(path)).exists():
        raise InputError("no such file", path=path)


def _is_here(path: str, master: str | None) -> bool:
    """Whether a path is that of one file or folder of this machine."""
    if path.startswith(_NAMED) or _ELSEWHERE.match(path) or _PATTERN.search(path):
        return False
    return path.startswith("file:") or (runs_here(master) and "HADOOP_CONF_DIR" not in os.environ)


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
    latest time, in whole seconds, counts, and of those the highest; of several interactions the
    earliest.

    Args:
        table: A Spark DataFrame; if it is text, one that `open_table` opened.
        scale: Of the ratings; unless `implicit`.
        implicit: Treat rows as interactions; ignore ratings.
        catalog: The list of items, or its file, or `from-data`: which reads the table once more.
        columns: What the columns are called.
        on_bad_rows: `refuse` or `skip`.
        most_ratings: Keep at most this many ratings of each user, the same that `read_ratings`
            keeps.
        partitions: How many; by default enough for the size of the source, and one for each core
            at least; where Spark does not know the size, `spark.sql.shuffle.partitions`.
        progress: Called with a stage's name, and how many of Spark's tasks are done of how many.

    Raises:
        InputError: Something is missing or wrong; or the workers cannot run discreet.
    """
    known, items = read_public(scale, implicit, catalog)
    chosen, places = chosen_columns(table, columns, implicit=known.presence)
    if on_bad_rows not in get_args(BadRows):
        raise InputError(f"on_bad_rows must be refuse or skip, not '{on_bad_rows}'")
    Intake(most_ratings=most_ratings)  # refuses a wrong bound before Spark does anything
    number = _partitions(table, partitions)
    check_workers(table.sparkSession)
    if items is None:
        items = _items_of(chosen, known, on_bad_rows, progress)
    source = find_files(table, places, known.presence)
    return SparkRatings(chosen, known, items, on_bad_rows, number, progress, most_ratings, source)


def read_public(
    scale: GivenScale | None,
    implicit: bool,
    catalog: Catalog | str | os.PathLike[str] | None,
    keep_columns: Sequence[str] = (),
    catalog_columns: CatalogColumns | None = None,
) -> tuple[Scale, Catalog | None]:
    """What is public of the ratings, which needs no Spark; no catalogue if it is from data.

    Args:
        scale: As for `read_spark`, like the others.
        implicit: Treat rows as interactions; ignore ratings.
        catalog: The list of items.
        keep_columns: Columns of it to keep: see `read_catalog`.
        catalog_columns: What its `id` and its `title` column are called.

    Raises:
        InputError: Something is missing or wrong.
    """
    known = parse_scale(scale, implicit)
    if known is None:
        stars, presence = Hint("scale", (1, 5)), Hint("implicit", True)
        raise InputError(
            f"give the scale, like {stars}; or {presence} for presence alone",
            hints=[stars, presence],
        )
    if catalog is None:
        file, from_data = Hint("catalog", "items.csv"), Hint("catalog", FROM_DATA)
        raise InputError(
            f"give the list of items, like {file}; {from_data} reads it off the private ratings, "
            "and every release will say so",
            hints=[file, from_data],
        )
    if isinstance(catalog, Catalog):
        return known, catalog
    if catalog == FROM_DATA:
        return known, None
    return known, read_catalog(catalog, columns=catalog_columns, keep_columns=keep_columns)


def check_workers(spark: Session) -> None:
    """Import discreet in as many tasks as run at a time, so on every worker; reads no data.

    Done once for an application: tasks check workers that join later (`Shape.check_version`).

    Raises:
        InputError: It is absent there, or another version, or another Python.
    """
    application = spark.sparkContext.applicationId
    if application in _checked_applications:
        return
    slots = max(int(spark.sparkContext.defaultParallelism), 1)
    rows = spark.sparkContext.parallelize(range(slots), slots).mapPartitions(_report_versions)
    here = _versions_here()
    for found in run_job(spark, "workers", rows.collect):
        if (found["python"], found["discreet"]) != here:
            raise InputError(
                f"Spark's worker on {found['host']} has Python {found['python']} with discreet "
                f"{found['discreet']}, here are Python {here[0]} with discreet {here[1]}; they "
                "must be the same"
            )
    _checked_applications.add(application)


def _versions_here() -> tuple[str, str]:
    return platform.python_version().rpartition(".")[0], __version__


def _report_versions(_: Iterator[int]) -> Iterator[dict[str, str]]:
    python, discreet = _versions_here()
    yield {"host": platform.node(), "python": python, "discreet": discreet}


def _checked_open(path: str, opened: Callable[[], Table]) -> Table:
    """What a function opens; failures in one line.

    Raises:
        InputError: It cannot be opened.
    """
    try:
        return opened()
    except spark_errors() as error:
        kind = condition_of(error)
        if kind == _ABSENT:
            raise InputError("no such file", path=path) from None
        shown = safe_error(error)
        if isinstance(shown, InputError) and shown.path is not None:
            raise shown from None
        raise InputError(f"Spark cannot read it ({kind})", path=path) from None


def _open_typed(spark: Session, path: str) -> Table:
    if path.startswith(_NAMED):
        return spark.table(path.removeprefix(_NAMED))
    if path.endswith(".orc"):
        return spark.read.orc(path)
    schema = plain_schema(path) if _is_here(path, spark.sparkContext.master) else None
    return (spark.read if schema is None else spark.read.schema(schema)).parquet(path)


def _items_of(
    chosen: Table, scale: Scale, on_bad_rows: BadRows, progress: Progress | None
) -> Catalog:
    """The catalogue of the items that occur, in the order that `read_ratings` gives them."""
    maker = Maker(Shape(scale, None), on_bad_rows)
    run = partial(run_job, chosen.sparkSession, progress=progress)
    rows = map_in_arrow(chosen.drop(FILE), maker.items, ITEM).distinct()
    listed = run("catalogue", rows.collect)
    for row in listed:
        if row["error"] is not None:
            raise refusal(row["error"], chosen, maker, run)
    if not listed:
        raise InputError("no ratings, so no catalogue can be read from them; give a catalogue")
    items = pa.table({"user": np.zeros(len(listed), np.int64), "item": [r["item"] for r in listed]})
    return read_ratings(items, implicit=True, catalog=FROM_DATA).catalog


def _partitions(table: Table, given: int | None) -> int:
    """As many as given; or one for each core, and no larger than a worker can well read."""
    if given is not None:
        if not isinstance(given, int) or given < 1:
            raise InputError(f"partitions are a whole number, 1 or more, not {given!r}")
        return given
    spark = table.sparkSession
    cores = int(spark.sparkContext.defaultParallelism)
    size = _source_bytes(table)
    if size >= _UNKNOWN_BYTES:
        # As in a database: Spark's own setting is the best guess there is.
        return max(cores, int(spark.conf.get("spark.sql.shuffle.partitions")))
    return max(cores, min(math.ceil(size / _SOURCE_BYTES), _MOST_PARTITIONS))


def _source_bytes(table: Table) -> int:
    """Spark's estimate of the source's size; what is wrong with the source, a job will say."""
    try:
        return int(str(table._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    except spark_errors():
        return _UNKNOWN_BYTES
