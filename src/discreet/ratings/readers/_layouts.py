"""Which layout a path is in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from discreet.domain import InputError
from discreet.ratings.readers._columns import Columns
from discreet.ratings.readers._files import is_parquet, reading
from discreet.ratings.readers._frames import ParquetTable
from discreet.ratings.readers._jester import Jester
from discreet.ratings.readers._movielens import (
    is_movielens_csv,
    is_movielens_tab,
    open_movielens,
)
from discreet.ratings.readers._netflix import Netflix
from discreet.ratings.readers._source import Source
from discreet.ratings.readers._text_table import open_table

Layout = Literal["auto", "table", "movielens", "netflix", "jester"]
"""How files are laid out; `auto` goes by their names, and by a header where they have one."""

_LAYOUTS: tuple[str, ...] = get_args(Layout)

_NETFLIX = ("mv_*.txt", "combined_data_*.txt")
_JESTER = "jester-data*.csv"
_FILES = {
    "u.data": ("movielens",),
    "ratings.dat": ("movielens", "table"),
    "ratings.csv": ("movielens", "table"),
    "mv_*.txt": ("netflix",),
    "combined_data_*.txt": ("netflix",),
    _JESTER: ("jester",),
    "*.parquet": ("table",),
}
"""What to look for in a folder, and the layouts it may be in."""


def open_path(
    path: Path,
    layout: str,
    columns: Columns | None,
    separator: str | None,
    *,
    implicit: bool = False,
) -> Source:
    """The source at a path, with whatever its layout tells.

    Args:
        path: A file or a folder.
        layout: A `Layout`.
        columns: What the caller says of the columns of a table.
        separator: What separates the fields of a table.
        implicit: Whether presence alone is read, so that a table needs no ratings.

    Raises:
        InputError: There is nothing, nothing known, or more than one thing.
    """
    if layout not in _LAYOUTS:
        raise InputError(f"layout '{layout}' is none of {', '.join(_LAYOUTS)}")
    with reading(path):
        path.stat()
    files = _found_in(path, layout) if path.is_dir() else [path]
    described = columns is not None or separator is not None
    if layout == "auto":
        layout = "table" if described else _recognised(files[0])
    if described and layout != "table":
        raise InputError(f"columns and separator are for tables; {layout} tells its own")
    if layout == "netflix":
        return Netflix(files)
    if len(files) > 1 and not (layout == "table" and is_parquet(files[0])):
        raise InputError(f"holds {len(files)} files of ratings; give one of them", path=path)
    if layout == "movielens":
        return open_movielens(files[0], implicit=implicit)
    if layout == "jester":
        return Jester(files[0])
    if is_parquet(files[0]):
        return ParquetTable(files, columns, implicit)
    return open_table(files[0], columns, separator, implicit=implicit)


def _found_in(folder: Path, layout: str) -> list[Path]:
    """A folder's rating files, all of one kind."""
    places = [folder, folder / "training_set"]
    patterns = [name for name, layouts in _FILES.items() if layout == "auto" or layout in layouts]
    found = {
        pattern: files
        for place in places
        for pattern in patterns
        if (files := sorted(file for file in place.glob(pattern) if file.is_file()))
    }
    if not found:
        raise InputError(
            f"is a folder without {', '.join(patterns)}; give the file with the ratings",
            path=folder,
        )
    if len(found) > 1:
        raise InputError(
            f"is a folder with {' and '.join(found)}; say which file to read", path=folder
        )
    return next(iter(found.values()))


def _recognised(file: Path) -> str:
    if any(file.match(pattern) for pattern in _NETFLIX):
        return "netflix"
    if file.match(_JESTER):
        return "jester"
    if is_movielens_tab(file) or file.name == "ratings.dat":
        return "movielens"
    if not is_parquet(file) and file.suffix == ".csv" and is_movielens_csv(file):
        return "movielens"
    return "table"
