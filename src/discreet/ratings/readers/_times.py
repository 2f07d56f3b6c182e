"""Times of any kind into whole seconds since 1970."""

from __future__ import annotations

import polars as pl

_DAY = 86_400
_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f%:z")


def seconds(column: pl.Series) -> pl.Series | None:
    """The column as 64-bit seconds since 1970, null where a cell cannot be read.

    Integers and floats are taken as seconds; dates begin at midnight UTC; datetimes without a
    zone are UTC; text may be any of these, as digits or in ISO 8601. Fractions are cut off.

    Returns:
        None if a column of this type never holds times.
    """
    if column.dtype.is_integer():
        return column.cast(pl.Int64, strict=False)
    if column.dtype.is_float():
        return column.floor().cast(pl.Int64, strict=False)
    if column.dtype == pl.Date:
        return column.cast(pl.Int64) * _DAY
    if column.dtype == pl.Datetime:
        return column.dt.epoch("s")
    if column.dtype == pl.Null:
        return column.cast(pl.Int64)
    return _from_text(column) if column.dtype == pl.String else None


def _from_text(column: pl.Series) -> pl.Series:
    frame, text = column.alias("text").to_frame(), pl.col("text")
    moment = text.str.replace("[Tt ]", " ").str.replace("[Zz]$", "")
    readings = [
        text.cast(pl.Int64, strict=False),
        text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64) * _DAY,
        *(moment.str.to_datetime(f, strict=False, time_unit="us").dt.epoch("s") for f in _FORMATS),
        text.cast(pl.Float64, strict=False).floor().cast(pl.Int64, strict=False),
    ]
    found = pl.Series("found", dtype=pl.Int64).extend_constant(None, len(column))
    for reading in readings:
        found = frame.select(pl.coalesce(found, reading))["found"]
        if found.null_count() == column.null_count():
            break
    return found
