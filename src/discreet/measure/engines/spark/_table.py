"""A Spark table as the readers want it: a user, an item, perhaps a rating and a time."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pyarrow as pa

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import spark_errors, spoken
from discreet.measure.engines.spark._session import Table
from discreet.ratings import read_ratings
from discreet.ratings.readers import Columns, find_columns

_WHOLE = re.compile(r"tinyint|smallint|int|bigint")
_FLOAT = re.compile(r"float|double")
_DECIMAL = re.compile(r"decimal\(\d+,\d+\)")
_TEXT = re.compile(r"string|(var)?char\(\d+\)")
_MOMENT = re.compile(r"date|timestamp|timestamp_ntz")


def chosen_columns(table: Table, columns: Columns | None, *, implicit: bool) -> Table:
    """The columns of a Spark table that matter, named for their roles, of types that Arrow has.

    Raises:
        InputError: A column is missing, or could be one of several, or can never hold ratings; or
            Spark was told to take a line break in quotes for the end of a line.
    """
    if not hasattr(table, "_jdf"):
        kind = f"{type(table).__module__.partition('.')[0]}'s {type(table).__name__}"
        if hasattr(table, "mapInArrow"):
            kind = "one of Spark Connect"
        raise InputError(f"ratings on Spark are in a DataFrame of a classic session, not {kind}")
    try:
        _check_lines(table)
    except spark_errors() as error:
        raise spoken(error) from None
    places = _places(table.columns, columns, implicit)
    # By position: two columns may have the same name as long as none of them is wanted.
    plain = table.toDF(*(f"c{place}" for place in range(len(table.columns))))
    kinds = [kind for _, kind in table.dtypes]
    return plain.select(
        *(_AS[role](plain[f"c{at}"], kinds[at]).alias(role) for role, at in places.items())
    )


def _check_lines(table: Table) -> None:
    """Look whether text was opened so that one person cannot write lines of others."""
    java = table.sparkSession._jvm.scala.jdk.javaapi.CollectionConverters
    leaves = table._jdf.queryExecution().analyzed().collectLeaves()
    for at in range(leaves.size()):
        leaf = leaves.apply(at)
        if leaf.getClass().getSimpleName() != "LogicalRelation":
            continue
        source = leaf.relation()
        if source.getClass().getSimpleName() != "HadoopFsRelation":
            continue
        told = {name.lower(): value for name, value in java.asJava(source.options()).items()}
        is_ours = told.get("multiline", "").lower() == "true" and told.get("escape") == '"'
        if source.fileFormat().toString() == "CSV" and not is_ours:
            raise InputError(
                "Spark reads this CSV so that a quote or a line break in quotes may end a line, "
                "and one person write those of others: open it with discreet.spark.open_table"
            )


def _places(names: list[str], columns: Columns | None, implicit: bool) -> dict[str, int]:
    """Where the columns are, found by reading one row that holds their positions."""
    # What is taken for names may be the first line of a file without any.
    find_columns(names, columns, implicit=implicit, may_show=False)
    positions = [pa.array([place]) for place in range(len(names))]
    told = {"catalog": "from-data", "columns": columns, "implicit": implicit}
    scale = None if implicit else (-1.0, float(len(names)), None)
    found = read_ratings(pa.Table.from_arrays(positions, names=names), scale=scale, **told)  # type: ignore[arg-type]
    assert found.users is not None
    places = {"user": int(found.users[0]), "item": int(found.catalog.ids[0])}
    if not implicit:
        places["rating"] = round(float(found.values()[0]))
    if found.times is not None:
        places["time"] = int(found.times[0])
    return places


def _as_id(column: Any, kind: str) -> Any:
    """Whole numbers as they are, all else as text; two ids are one person if they are equal.

    Equal must be what it looks like: so no text whose collation says otherwise, and no moments,
    which are other text in another time zone.
    """
    functions = import_module("pyspark.sql.functions")
    if any(known.fullmatch(kind) for known in (_WHOLE, _FLOAT, _TEXT)):
        return column
    if _DECIMAL.fullmatch(kind):
        # Not by comparing with the rounded one: Spark would round both before it compares.
        is_whole = column % 1 == functions.lit(0)
        text = functions.when(is_whole, column.cast("decimal(38,0)").cast("string"))
        return text.otherwise(column.cast("string"))
    if kind == "binary":
        return functions.hex(column)
    if kind == "date":
        return column.cast("string")
    raise InputError(
        f"the ids of users and items are numbers or plain text, not {kind}; turn them into that"
    )


def _as_rating(column: Any, kind: str) -> Any:
    if _TEXT.fullmatch(kind):
        return column
    if not any(known.fullmatch(kind) for known in (_WHOLE, _FLOAT, _DECIMAL)):
        raise InputError(f"the rating column must hold numbers; it is {kind}")
    return column.cast("double")


def _as_time(column: Any, kind: str) -> Any:
    if _DECIMAL.fullmatch(kind):
        return column.cast("double")
    if not any(known.fullmatch(kind) for known in (_WHOLE, _FLOAT, _TEXT, _MOMENT)):
        wanted = "seconds since 1970, dates or datetimes"
        raise InputError(f"the time column must hold {wanted}; it is {kind}")
    return column


_AS = {"user": _as_id, "item": _as_id, "rating": _as_rating, "time": _as_time}
