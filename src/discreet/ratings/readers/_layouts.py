"""Which layout a path is in, and what that says: by names of files and by headers.

What MovieLens' layouts say of the scale, without a look at a rating:

    u.data, u1.base, ...        ml-100k: whole stars, 1 to 5
    ratings.dat, movies.dat     ml-1m if movies.dat has 3,883 lines: whole stars, 1 to 5;
                                ml-10m if it has 10,681: half stars, 0.5 to 5;
                                otherwise (MovieTweetings, a subset) the caller must say
    ratings.csv, movies.csv     with MovieLens' own header: half stars, 0.5 to 5
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from discreet.domain import Catalog, CatalogOrigin, Hint, InputError, Scale
from discreet.ratings.readers._batch import MORE_FIELDS, Batch, Lines, Source
from discreet.ratings.readers._catalog_file import read_catalog
from discreet.ratings.readers._cells import batch_of_cells
from discreet.ratings.readers._columns import Columns, Role, find_columns, given_positions
from discreet.ratings.readers._files import ahead, is_parquet, reading, size_of, whole
from discreet.ratings.readers._frames import ParquetTable
from discreet.ratings.readers._jester import Jester
from discreet.ratings.readers._netflix import Netflix
from discreet.ratings.readers._text import (
    Dialect,
    Quoting,
    header_line,
    read_cells,
    separator_of_header,
    split_header,
    usual_separator,
)

Layout = Literal["auto", "table", "movielens", "netflix", "jester"]
"""How files are laid out; `auto` goes by their names, and by a header where they have one."""

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

_WHOLE_STARS, _HALF_STARS = Scale(1, 5), Scale(0.5, 5, 0.5)
_SCALE_BY_MOVIES = {3_883: _WHOLE_STARS, 10_681: _HALF_STARS}
_PLACES: dict[Role, int] = {"user": 0, "item": 1, "rating": 2, "time": 3}
_HEADER = "userId,movieId,rating,timestamp"
_TAB_NAME = re.compile(r"u\.data|u[1-5ab]\.(base|test)")
_HEADER_HINT = " (if line 1 is a header, name the columns instead of counting them)"
_BALANCED = (
    "the file's quotes are as a program that writes CSV leaves them, so that nobody's text can end "
    "a field or a line (quoting is multiline)"
)


@dataclass(frozen=True)
class TextTable:
    """Ratings in lines of separated fields, in UTF-8, gzip or not.

    Args:
        path: The file.
        dialect: How it is written.
        places: The position of each role's field.
        header: Whether the first line names the columns.
        scale: The scale, where the layout says it.
        find_catalog: How to get the catalogue, where the layout has one.
    """

    path: Path
    dialect: Dialect
    places: dict[Role, int]
    header: bool = False
    scale: Scale | None = None
    find_catalog: Callable[[], Catalog] | None = None
    keep_user_ids: bool = True

    @property
    def assumes(self) -> tuple[str, ...]:
        """Where a line break may stand in quotes, one quote too many would swallow others' rows."""
        return (_BALANCED,) if self.dialect.quoting == "multiline" else ()

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return size_of(self.path)

    def batches(self) -> Iterator[Batch]:
        """The rows, a few megabytes at a time.

        Raises:
            InputError: The file cannot be read.
        """
        origin = Lines(self.path, "" if self.header else _HEADER_HINT)
        slots: dict[str, int] = {role: slot for slot, role in enumerate(self.places)}
        fields = f"does not have the {self.dialect.fields} fields that every line must have"
        if not self.header:
            fields += f"; if every line has more fields, say how many, like {MORE_FIELDS}"
        wanted = list(self.places.values())
        for cells in ahead(read_cells(self.path, self.dialect, wanted, header=self.header)):
            bad = np.flatnonzero(cells.faults)
            cut = cells.is_cut and len(bad) == 1 and bad[0] == len(cells) - 1
            said = f"{fields}; the file seems to be cut short" if cut else fields
            yield batch_of_cells(cells, slots, origin, said)


def open_path(
    path: Path,
    layout: str,
    columns: Columns | None,
    separator: str | None,
    quoting: Quoting | None,
    *,
    implicit: bool = False,
) -> Source:
    """The source at a path, with whatever its layout says.

    Args:
        path: A file or a folder.
        layout: A `Layout`.
        columns: What the caller says of the columns of a table.
        separator: What separates the fields of a table.
        quoting: What a quote does in a table.
        implicit: Whether presence alone is read, so that a table needs no ratings.

    Raises:
        InputError: There is nothing, nothing known, or more than one thing.
    """
    if layout not in get_args(Layout):
        raise InputError(f"layout '{layout}' is none of {', '.join(get_args(Layout))}")
    with reading(path):
        path.stat()
    files = _found_in(path, layout) if path.is_dir() else [path]
    described = any(given is not None for given in (columns, separator, quoting))
    if layout == "auto":
        layout = "table" if described else _recognised(files[0])
    if described and layout != "table":
        raise InputError(
            f"columns, separator and quoting are for tables; the layout {layout} has its own"
        )
    if layout == "netflix":
        return Netflix(files)
    if len(files) > 1 and not (layout == "table" and is_parquet(files[0])):
        raise InputError(f"holds {len(files)} files of ratings; give one of them", path=path)
    if layout == "movielens":
        return _open_movielens(files[0], implicit)
    if layout == "jester":
        return Jester(files[0])
    if is_parquet(files[0]):
        if separator is not None or quoting is not None:
            raise InputError("separator and quoting are for text, not for Parquet", path=files[0])
        return ParquetTable(files, columns, implicit)
    return _open_table(files[0], columns, separator, quoting, implicit)


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
    if _TAB_NAME.fullmatch(file.name) or file.name == "ratings.dat":
        return "movielens"
    beside = file.suffix == ".csv" and file.with_name("movies.csv").is_file()
    return "movielens" if beside and header_line(file).strip() == _HEADER else "table"


def _open_table(
    path: Path,
    columns: Columns | None,
    separator: str | None,
    quoting: Quoting | None,
    implicit: bool,
) -> TextTable:
    """A text table whose columns are named by its header, or counted by the caller."""
    dialect, names = describe_text(
        path, columns, separator, quoting, lambda: header_line(path), implicit=implicit
    )
    if names is None:
        counted = given_positions(columns, implicit=implicit)
        assert counted is not None
        return TextTable(path, dialect, counted[0])
    try:
        places = find_columns(names, columns, implicit=implicit, may_show=False)
    except InputError as error:
        raise InputError(error.reason, path=path, hints=error.hints) from None
    return TextTable(path, dialect, places, header=True)


def describe_text(
    path: Path,
    columns: Columns | None,
    separator: str | None,
    quoting: Quoting | None,
    header: Callable[[], str],
    *,
    implicit: bool,
) -> tuple[Dialect, list[str] | None]:
    """How a text table is written, and the names in its header.

    Args:
        path: The file, whose ending may say what separates fields.
        columns: What the caller says of the columns: without a header they are counted.
        separator: What separates fields, if the caller says it.
        quoting: What a quote does, if the caller says it.
        header: Reads the header line; not called if columns are counted.
        implicit: Whether presence alone is read, so that no rating is looked for.

    Returns:
        The dialect, and the names; None where there is no header.

    Raises:
        InputError: Nothing says what separates the fields, or something is wrong with the header.
    """
    counted = given_positions(columns, implicit=implicit)
    if counted is not None:
        separator = separator or usual_separator(path)
        if separator is None:
            example = Hint("separator", "|")
            raise InputError(
                f"its name does not say what separates its fields; give it, like {example}",
                path=path,
                hints=[example],
            )
        return _dialect(separator, counted[1], quoting), None
    line = header()
    if separator is None:
        separator = separator_of_header(line, path, least=2 if implicit else 3)
    dialect = _dialect(separator, 0, quoting)  # refused, if it is wrong, before a line is split
    names = split_header(line, separator)
    return replace(dialect, fields=len(names)), names


def _dialect(separator: str, fields: int, quoting: Quoting | None) -> Dialect:
    return Dialect(separator, fields, quoting or ("none" if separator == "::" else "lines"))


def _open_movielens(path: Path, implicit: bool) -> TextTable:
    """One of MovieLens' rating files; if implicit, read without its ratings.

    Raises:
        InputError: It cannot be read, or is none.
    """
    separator, scale, header = "::", None, False
    movies = path.with_name("movies.dat")
    if path.suffix == ".dat":
        scale = _SCALE_BY_MOVIES.get(_line_count(movies)) if movies.is_file() else None
    elif _TAB_NAME.fullmatch(path.name):
        separator, scale, movies = "\t", _WHOLE_STARS, path.with_name("u.item")
    elif header_line(path).strip() == _HEADER:
        separator, scale, header = ",", _HALF_STARS, True
        movies = path.with_name("movies.csv")
    else:
        raise InputError(
            f"is not a MovieLens file of ratings: u.data, ratings.dat, or CSV with {_HEADER}",
            path=path,
        )
    find_catalog: Callable[[], Catalog] | None = None
    if movies.is_file():
        find_catalog = partial(read_catalog, movies, origin=CatalogOrigin.LAYOUT)
    places = {role: at for role, at in _PLACES.items() if not (implicit and role == "rating")}
    dialect = Dialect(separator, len(_PLACES), "lines" if header else "none")
    return TextTable(path, dialect, places, header, scale, find_catalog)


def _line_count(path: Path) -> int:
    data = whole(path)
    return data.count(b"\n") + (not data.endswith(b"\n"))
