"""Ratings as files: Parquet or CSV, in blocks, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domain import Catalog, InputError
from discreet.domain.files import whole_file
from discreet.ratings._ratings import Ratings

Progress = Callable[[int, int], None]
"""Called with how many ratings are written and how many there will be."""

# Ratings that are written at a time; chosen by hand.
_BLOCK = 1 << 20


def write_ratings(
    ratings: Ratings, path: str | os.PathLike[str], *, progress: Progress | None = None
) -> None:
    """Write ratings as columns `user`, `item`, `rating` and, where known, `time`.

    Users are called what the source called them, or by their number; items by their catalogue id;
    times are seconds since 1970. `read_ratings` reads the file back, given the scale and the
    catalogue (`write_catalog`). Users without a rating are not in the file.

    Args:
        ratings: What to write.
        path: A file ending in `.parquet` or `.csv`, replaced if it exists.
        progress: Called after every block.

    Raises:
        InputError: The file's ending is another one, or it cannot be written.
    """
    check_target(path)
    write = _WRITERS[Path(path).suffix.lower()]
    with whole_file(path) as temporary:
        write(temporary, _schema(ratings), _tables(ratings, progress))


def check_target(path: str | os.PathLike[str]) -> None:
    """Find out early what would keep `write_ratings` from writing.

    Raises:
        InputError: The file's ending is neither `.parquet` nor `.csv`, or its folder is missing.
    """
    target = Path(path)
    if target.suffix.lower() not in _WRITERS:
        raise InputError("ratings are written as .parquet or .csv", path=target)
    if not target.parent.is_dir():
        raise InputError("cannot be written: its folder does not exist", path=target)


def write_catalog(catalog: Catalog, path: str | os.PathLike[str]) -> None:
    """Write a catalogue as a CSV file with the columns `id` and `title`.

    Raises:
        InputError: The file cannot be written.
    """
    frame = pl.DataFrame({"id": catalog.ids, "title": catalog.titles})
    with whole_file(path) as temporary:
        frame.write_csv(temporary)


def _write_parquet(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    # Without the Arrow schema other readers see plain columns, not dictionaries.
    options = {"compression": "zstd", "store_schema": False}
    with pq.ParquetWriter(path, schema, **options) as writer:
        for table in tables:
            writer.write_table(table)


def _write_csv(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(schema.names) + "\n")
        for table in tables:
            frame = pl.from_arrow(table)
            assert isinstance(frame, pl.DataFrame)
            file.write(frame.write_csv(include_header=False))


_WRITERS = {".parquet": _write_parquet, ".pq": _write_parquet, ".csv": _write_csv}


def _tables(ratings: Ratings, progress: Progress | None) -> Iterator[pa.Table]:
    schema, ids, levels = _schema(ratings), pa.array(ratings.catalog.ids), _levels(ratings)
    done = 0
    for first, block in _numbered(ratings):
        users = pa.DictionaryArray.from_arrays(block.user_of_rating(), _names(block, first))
        items = pa.DictionaryArray.from_arrays(block.items, ids)
        columns = [users, items, _values(block, levels)]
        if block.times is not None:
            columns.append(pa.array(block.times.astype(np.int64)))
        yield pa.table(columns, schema=schema)
        done += len(block)
        if progress is not None:
            progress(done, len(ratings))


def _numbered(ratings: Ratings) -> Iterator[tuple[int, Ratings]]:
    """Blocks, each with the number of its first user."""
    first = 0
    for block in ratings.blocks(_BLOCK):
        yield first, block
        first += block.user_count


def _names(block: Ratings, first: int) -> pa.Array:
    if block.users is None:
        return pa.array(np.arange(first, first + block.user_count, dtype=np.int64))
    return _as_arrow(block.users)


def _as_arrow(users: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> pa.Array:
    return pa.array(users if users.dtype.kind in "iu" else users.astype(object).tolist())


def _levels(ratings: Ratings) -> pa.Array | None:
    """The scale's ratings as they look in a file: whole numbers where all of them are."""
    levels = ratings.scale.levels
    if levels is None:
        return None
    # 0.1 + 0.2 is 0.3 in a file; levels of a scale differ by far more than this.
    tidy = np.round(levels, 9)
    return pa.array(tidy.astype(np.int64) if (tidy == np.rint(tidy)).all() else tidy)


def _values(block: Ratings, levels: pa.Array | None) -> pa.Array:
    if levels is None:
        return pa.array(block.codes)
    return pa.DictionaryArray.from_arrays(block.codes, levels)


def _schema(ratings: Ratings) -> pa.Schema:
    first = ratings.select_users(0, min(1, ratings.user_count))
    columns = [
        ("user", pa.dictionary(pa.int32(), _names(first, 0).type)),
        ("item", pa.dictionary(pa.int32(), pa.string())),
        ("rating", _values(first, _levels(ratings)).type),
    ]
    if ratings.times is not None:
        columns.append(("time", pa.int64()))
    return pa.schema(columns)
