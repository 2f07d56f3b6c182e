"""A Spark table as the readers want it: a user, an item, perhaps a rating and a time."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pyarrow as pa

from discreet.domain import InputError
from discreet.measure.engines.spark._open import BROKEN
from discreet.measure.engines.spark._session import Table
from discreet.ratings import read_ratings
from discreet.ratings.readers import Columns

_WHOLE = re.compile(r"tinyint|smallint|int|bigint")
_UNDECODABLE = "\N{REPLACEMENT CHARACTER}"
"""What Spark makes of bytes that are not UTF-8: so two people could become one."""
_NUMBER = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)")


def chosen_columns(table: Table, columns: Columns | None, *, implicit: bool) -> Table:
    """The columns of a Spark table that matter, named for their roles, of types that Arrow has.

    Raises:
        InputError: A column is missing, or could be one of several, or can never hold ratings.
    """
    if not hasattr(table, "_jdf"):
        kind = f"{type(table).__module__.partition('.')[0]}'s {type(table).__name__}"
        if hasattr(table, "mapInArrow"):
            kind = "one of Spark Connect"
        raise InputError(f"ratings on Spark are in a DataFrame of a classic session, not {kind}")
    names, kinds = table.columns, [kind for _, kind in table.dtypes]
    places = _places([name for name in names if name != BROKEN], columns, implicit)
    # By position: two columns may have the same name as long as none of them is wanted.
    plain = table.toDF(*(f"c{place}" for place in range(len(kinds))))
    wanted = [_as(role, plain[f"c{at}"], kinds[at]).alias(role) for role, at in places.items()]
    if BROKEN in names:
        ids = [plain[f"c{places[role]}"] for role in ("user", "item")]
        wanted.append(_broken(plain[f"c{names.index(BROKEN)}"], ids).alias("broken"))
    return plain.select(*wanted)


def _broken(reason: Any, ids: list[Any]) -> Any:
    """What is wrong with a line of text, if it is that: no cell of it."""
    functions = import_module("pyspark.sql.functions")
    user, item = (column.contains(_UNDECODABLE) for column in ids)
    undecodable = functions.when(user | item, "an id of a user or an item is not UTF-8")
    return functions.coalesce(reason, undecodable)


def _places(names: list[str], columns: Columns | None, implicit: bool) -> dict[str, int]:
    """Where the columns are, found by reading one row that holds their positions."""
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


def _as(role: str, column: Any, kind: str) -> Any:
    if role in ("user", "item"):
        return _as_id(column, kind)
    if role == "rating" and kind != "string":
        if not _NUMBER.fullmatch(kind):
            raise InputError(f"the rating column must hold numbers; it is {kind}")
        return column.cast("double")
    return column


def _as_id(column: Any, kind: str) -> Any:
    """Whole numbers as they are, all else as text; two ids are one person if they are equal."""
    functions = import_module("pyspark.sql.functions")
    if _WHOLE.fullmatch(kind) or kind == "string":
        return column
    if kind in ("float", "double"):
        return column + functions.lit(0.0)  # there are two zeros, in two partitions
    if kind == "binary":
        return functions.hex(column)
    decimals = re.fullmatch(r"decimal\((\d+),0\)", kind)
    if decimals and int(decimals[1]) <= 18:
        return column.cast("bigint")
    if re.match(r"array|map|struct|variant", kind):
        raise InputError(f"the ids of users and items are numbers or text, not {kind}")
    return column.cast("string")
