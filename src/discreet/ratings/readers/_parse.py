"""Records into columns, by polars."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from discreet.ratings.readers._lines import Dialect

Kind = type[pl.DataType]


def parse(
    data: bytes, dialect: Dialect, columns: Mapping[str, tuple[int, Kind]], *, is_sure: bool = True
) -> pl.DataFrame | None:
    """Some columns of whole records, each with a name, a position and a type.

    Empty fields are null.

    Args:
        data: The records.
        dialect: How they are written.
        columns: Position and type by name.
        is_sure: Whether every record is known to have the right number of fields. If only their
            sum is known to be right, one record with too many means another with too few, which
            then has no last field.

    Returns:
        None if a field cannot be read as its column's type, or a record may lack a field. The
        reason is dropped on purpose: polars quotes the field, which is private.
    """
    names = [f"unused {place}" for place in range(dialect.fields)]
    for name, (place, _) in columns.items():
        names[place] = name
    kinds = {name: kind for name, (_, kind) in columns.items()}
    places = {place for place, _ in columns.values()}
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            schema={name: kinds.get(name, pl.String) for name in names},
            columns=sorted(places if is_sure else places | {dialect.fields - 1}),
            separator=dialect.byte,
            quote_char='"' if dialect.quoted else None,
        )
    except pl.exceptions.PolarsError:
        return None
    if not is_sure and frame[names[-1]].null_count():
        return None
    return frame.select(list(columns))
