"""A Spark table as the readers want it: a user, an item, perhaps a rating and a time."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pyarrow as pa

from discreet.domain import InputError
from discreet.measure.engines.spark._errors import safe_error, spark_errors
from discreet.measure.engines.spark._lines import FILE
from discreet.measure.engines.spark._session import Table
from discreet.ratings import read_ratings
from discreet.ratings.readers import FROM_DATA, Columns, find_columns
from discreet.ratings.readers.text import BLANKS

_WHOLE = re.compile(r"tinyint|smallint|int|bigint")
_FLOAT = re.compile(r"float|double")
_DECIMAL = re.compile(r"decimal\(\d+,\d+\)")
_TEXT = re.compile(r"string|(var)?char\(\d+\)")
_MOMENT = re.compile(r"date|timestamp|timestamp_ntz")


def chosen_columns(
    table: Table, columns: Columns | None, *, implicit: bool
) -> tuple[Table, dict[str, int]]:
    """The columns of a Spark table that matter, and where in the table they are.

    They are named for their roles, and of types that Arrow has.

    Raises:
        InputError: A column is missing, or could be one of several, or can never hold ratings; or
            it is text that Spark cut into fields.
    """
    if not hasattr(table, "_jdf"):
        kind = f"{type(table).__module__.partition('.')[0]}'s {type(table).__name__}"
        if hasattr(table, "mapInArrow"):
            kind = "one of Spark Connect"
        raise InputError(f"ratings on Spark are in a DataFrame of a classic session, not {kind}")
    try:
        _check_lines(table)
    except spark_errors() as error:
        raise safe_error(error) from None
    places = _places(table.columns, columns, implicit)
    # By position: two columns may have the same name as long as none of them is wanted.
    plain = table.toDF(*(f"c{place}" for place in range(len(table.columns))))
    kinds = [kind for _, kind in table.dtypes]
    chosen = [_AS[role](plain[f"c{at}"], kinds[at]).alias(role) for role, at in places.items()]
    if FILE in table.columns:
        chosen.append(plain[f"c{table.columns.index(FILE)}"].alias(FILE))
    return plain.select(*chosen), places


def _check_lines(table: Table) -> None:
    """Refuse text that Spark cut into fields: its rules let a line depend on others."""
    leaves = table._jdf.queryExecution().analyzed().collectLeaves()
    if any(_is_csv(leaves.apply(at)) for at in range(leaves.size())):
        raise InputError(
            "this table is CSV that Spark reads itself, so that a quote in one person's line can "
            "change how those of others are read: open it with discreet.spark.open_table"
        )


def _is_csv(leaf: Any) -> bool:
    """Whether a leaf of a plan is CSV, by either of Spark's interfaces to files."""
    kind = leaf.getClass().getSimpleName()
    if kind == "DataSourceV2Relation":
        return bool(leaf.table().getClass().getSimpleName() == "CSVTable")
    if kind != "LogicalRelation":
        return False
    source = leaf.relation()
    is_files = source.getClass().getSimpleName() == "HadoopFsRelation"
    return is_files and bool(source.fileFormat().toString() == "CSV")


def _places(names: list[str], columns: Columns | None, implicit: bool) -> dict[str, int]:
    """Where the columns are, found by reading one row that holds their positions."""
    # What is taken for names may be the first line of a file without any.
    find_columns(names, columns, implicit=implicit, may_show=False)
    positions = [pa.array([place]) for place in range(len(names))]
    found = read_ratings(
        pa.Table.from_arrays(positions, names=names),
        scale=None if implicit else (-1.0, float(len(names)), None),
        implicit=implicit,
        catalog=FROM_DATA,
        columns=columns,
    )
    assert found.users is not None
    places = {"user": int(found.users[0]), "item": int(found.catalog.ids[0])}
    if not implicit:
        places["rating"] = round(float(found.values()[0]))
    if found.times is not None:
        places["time"] = int(found.times[0])
    return places


def _as_id(column: Any, kind: str) -> Any:
    """Whole numbers as they are, floats for the readers to judge, all else as text.

    Text must not have a collation, which says that other text is equal; moments are other text in
    another time zone.
    """
    functions = import_module("pyspark.sql.functions")
    if any(known.fullmatch(kind) for known in (_WHOLE, _FLOAT, _TEXT)):
        return column
    if _DECIMAL.fullmatch(kind):
        # Not by comparing with the rounded one: Spark would round both before it compares.
        is_whole = column % 1 == functions.lit(0)
        text = functions.when(is_whole, column.cast("decimal(38,0)").cast("string"))
        return text.otherwise(column.cast("string"))
    if kind in ("binary", "date"):
        return column.cast("string")
    raise InputError(
        f"the ids of users and items are numbers or plain text, not {kind}; turn them into that"
    )


def _as_user(column: Any, kind: str) -> Any:
    """The same, and ids that the readers take for one person are equal for Spark too.

    Spark brings a person's rows together before the readers see them, so there must be one zero,
    and text must lack the blanks that the readers strip.
    """
    functions = import_module("pyspark.sql.functions")
    found = _as_id(column, kind)
    if _FLOAT.fullmatch(kind):
        return functions.when(found == 0, functions.lit(0).cast(kind)).otherwise(found)
    if _WHOLE.fullmatch(kind):
        return found
    # In text that is not UTF-8 Spark would take bytes for blanks; such a row is bad as it is.
    trimmed = functions.trim(found, functions.lit(BLANKS))
    return functions.when(functions.is_valid_utf8(found), trimmed).otherwise(found)


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


_AS = {"user": _as_user, "item": _as_id, "rating": _as_rating, "time": _as_time}
