"""Which layout a path is in: by names of files and by headers. A new reader registers here.

MovieLens has text tables whose names, headers and lists of movies say what the scale is:

    u.data, u1.base, ...        ml-100k: whole stars, 1 to 5
    ratings.dat, movies.dat     ml-1m if movies.dat has 3,883 lines: whole stars, 1 to 5;
                                ml-10m if it has 10,681: half stars, 0.5 to 5;
                                otherwise (MovieTweetings, a subset) the caller must say
    ratings.csv, movies.csv     with MovieLens' own header: half stars, 0.5 to 5

Nobody looks at a rating for that. Jester has a dense table with one person per line: how many jokes
they rated, then a field for each. Other tables are text with a header, or with columns that the
caller counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.files import ahead, is_parquet, reading, whole
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import (
    MORE_FIELDS,
    Batch,
    Fault,
    Lines,
    Source,
    batch_of_cells,
    numbers_of_text,
)
from discreet.ratings.readers._columns import Role
from discreet.ratings.readers._frames import ParquetTable
from discreet.ratings.readers._netflix import open_netflix
from discreet.ratings.readers._public import read_catalog, refuse_columns
from discreet.ratings.readers.text import (
    Cells,
    Dialect,
    TableDescription,
    Text,
    header_line,
    read_cells,
)

_WHOLE_STARS, _HALF_STARS = Scale(1, 5), Scale(0.5, 5, 0.5)
_SCALE_BY_MOVIES = {3_883: _WHOLE_STARS, 10_681: _HALF_STARS}
_PLACES: dict[Role, int] = {"user": 0, "item": 1, "rating": 2, "time": 3}
_HEADER = "userId,movieId,rating,timestamp"
_TAB_NAME = re.compile(r"u\.data|u[1-5ab]\.(base|test)")


def is_movielens(path: Path) -> bool:
    """Whether a file is one of MovieLens', by its name and what lies beside it."""
    if _TAB_NAME.fullmatch(path.name) or path.name == "ratings.dat":
        return True
    beside = path.suffix == ".csv" and path.with_name("movies.csv").is_file()
    return beside and header_line(path).strip() == _HEADER


def open_movielens(path: Path, *, implicit: bool) -> TextTable:
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

    def find_catalog(keep_columns: Sequence[str]) -> Catalog:
        return read_catalog(movies, keep_columns=keep_columns, origin=CatalogOrigin.LAYOUT)

    return TextTable(
        path=path,
        dialect=Dialect(separator, len(_PLACES), "lines" if header else "none"),
        places={role: at for role, at in _PLACES.items() if not (implicit and role == "rating")},
        header=header,
        scale=scale,
        find_catalog=find_catalog if movies.is_file() else None,
    )


def _line_count(path: Path) -> int:
    data = whole(path)
    return data.count(b"\n") + (not data.endswith(b"\n"))


# Jokes in Jester's first data set.
_JOKES = 100
# What its files write for a joke that is not rated.
_NOT_RATED = 99.0
_SCALE = Scale(-10, 10, step=None)
_DIALECT = Dialect(",", _JOKES + 1, quoting="none")


def _jokes(keep_columns: Sequence[str]) -> Catalog:
    """The jokes' numbers: the same in every Jester file."""
    refuse_columns(keep_columns)
    numbers = [str(joke) for joke in range(1, _JOKES + 1)]
    titles = [f"Joke {number}" for number in numbers]
    return Catalog(numbers, titles, origin=CatalogOrigin.LAYOUT)


@dataclass(frozen=True, kw_only=True)
class Jester(Source):
    """Ratings of 100 jokes from -10 to 10; 99 stands for none. People have no names here."""

    path: Path
    scale: Scale | None = _SCALE
    find_catalog: Callable[[Sequence[str]], Catalog] | None = _jokes
    keep_user_ids: bool = False

    def batches(self) -> Iterator[Batch]:
        for cells in read_cells(self.path, _DIALECT, range(_JOKES + 1), header=False):
            yield self._batch(cells)

    def _batch(self, cells: Cells) -> Batch:
        begins, ends = cells.begins.T.ravel(), cells.ends.T.ravel()
        values, kinds = numbers_of_text(Text(cells.data, begins, ends, cells.escaped.T.ravel()))
        fields, known = values.reshape(-1, _JOKES + 1), kinds.reshape(-1, _JOKES + 1)
        known = (known != _tokens.NO_NUMBER) & (known != _tokens.EMPTY)
        rated = fields[:, 1:] != _NOT_RATED
        wrong = (~cells.is_good) | ~known.all(axis=1)
        wrong |= fields[:, 0] != np.count_nonzero(rated, axis=1)
        # A wrong line is one bad row; a right one a row for each joke that is rated.
        rated &= ~wrong[:, np.newaxis]
        rated[:, 0] |= wrong
        people, jokes = np.nonzero(rated)
        faults = np.where(wrong[people], Fault.NOT_JESTER, Fault.NONE).astype(np.uint8)
        # A person is called by their line, which orders people as the file does.
        lines = cells.lines[people]
        ratings = fields[:, 1:][rated]
        return Batch(Lines(self.path), lines, lines, jokes + 1, ratings, None, faults, cells.done)


_HEADER_HINT = " (if line 1 is a header, name the columns instead of counting them)"
# Where a line break may stand in quotes, one quote too many would swallow other people's rows.
_BALANCED = (
    "the file's quotes are as a program that writes CSV leaves them, so that nobody's text can end "
    "a field or a line (quoting is multiline)"
)


@dataclass(frozen=True, kw_only=True)
class TextTable(Source):
    """Ratings in lines of separated fields, in UTF-8, gzip or not."""

    path: Path
    dialect: Dialect
    places: dict[Role, int]
    """The position of each role's field."""
    header: bool = False
    """Whether the first line names the columns."""

    def batches(self) -> Iterator[Batch]:
        origin = Lines(self.path, "" if self.header else _HEADER_HINT)
        slots: dict[str, int] = {role: slot for slot, role in enumerate(self.places)}
        fields = f"does not have the {self.dialect.fields} fields that every line must have"
        if not self.header:
            fields += f"; if every line has more fields, say how many, like {MORE_FIELDS}"
        wanted = list(self.places.values())
        for cells in ahead(read_cells(self.path, self.dialect, wanted, header=self.header)):
            bad = np.flatnonzero(cells.faults)
            is_cut = cells.is_cut and len(bad) == 1 and bad[0] == len(cells) - 1
            reason = f"{fields}; the file seems to be cut short" if is_cut else fields
            yield batch_of_cells(cells, slots, origin, reason)


def open_text_table(path: Path, description: TableDescription) -> TextTable:
    """A text table with a header, or whose columns the caller counted.

    Raises:
        InputError: It cannot be read, or it does not say which column is which.
    """
    dialect, names = description.dialect(path, lambda: header_line(path))
    if names is None:
        counted = description.positions()
        assert counted is not None
        places = counted[0]
    else:
        places = description.places(names, path, may_show=False)
    return TextTable(
        path=path,
        dialect=dialect,
        places=places,
        header=names is not None,
        assumes=(_BALANCED,) if dialect.quoting == "multiline" else (),
    )


Layout = Literal["auto", "table", "movielens", "netflix", "jester"]
"""How files are laid out; `auto` goes by their names, and by a header where they have one."""


@dataclass(frozen=True)
class _Reader:
    """A layout that can be read."""

    files: tuple[str, ...]
    """What its files of ratings are called in a folder."""
    recognises: Callable[[Path], bool]
    """Whether a file is in this layout."""
    open: Callable[[Sequence[Path], TableDescription], Source]
    """Opens files that `_check_count` lets through."""
    takes_several: Callable[[Sequence[Path]], bool] = lambda _: False
    """Whether several files may be one source."""


def _matches(*patterns: str) -> Callable[[Path], bool]:
    return lambda file: any(file.match(pattern) for pattern in patterns)


def _open_table(files: Sequence[Path], description: TableDescription) -> Source:
    if not is_parquet(files[0]):
        return open_text_table(files[0], description)
    if description.separator is not None or description.quoting is not None:
        raise InputError("separator and quoting are for text, not for Parquet", path=files[0])
    return ParquetTable(files, description, path=files[0])


_NETFLIX, _JESTER = ("mv_*.txt", "combined_data_*.txt"), ("jester-data*.csv",)
# The first that recognises a file reads it.
_READERS = {
    "netflix": _Reader(
        _NETFLIX, _matches(*_NETFLIX), lambda files, _: open_netflix(files), lambda _: True
    ),
    "jester": _Reader(_JESTER, _matches(*_JESTER), lambda files, _: Jester(path=files[0])),
    "movielens": _Reader(
        ("u.data", "ratings.dat", "ratings.csv"),
        is_movielens,
        lambda files, description: open_movielens(files[0], implicit=description.implicit),
    ),
    "table": _Reader(
        ("ratings.dat", "ratings.csv", "*.parquet"),
        lambda _: True,
        _open_table,
        lambda files: is_parquet(files[0]),
    ),
}


def open_path(path: Path, layout: str, description: TableDescription) -> Source:
    """The source at a path, with whatever its layout says.

    Args:
        path: A file or a folder.
        layout: A `Layout`.
        description: What the caller says of a table.

    Raises:
        InputError: There is nothing, nothing known, or more than one thing.
    """
    if layout not in get_args(Layout):
        raise InputError(f"layout '{layout}' is none of {', '.join(get_args(Layout))}")
    with reading(path):
        path.stat()
    files = _found_in(path, layout) if path.is_dir() else [path]
    if layout == "auto":
        layout = "table" if description.is_given else _recognised(files[0])
    if description.is_given and layout != "table":
        raise InputError(
            f"columns, separator and quoting are for tables; the layout {layout} has its own"
        )
    reader = _READERS[layout]
    if len(files) > 1 and not reader.takes_several(files):
        raise InputError(f"holds {len(files)} files of ratings; give one of them", path=path)
    return reader.open(files, description)


def _found_in(folder: Path, layout: str) -> list[Path]:
    """A folder's rating files, all of one kind."""
    readers = _READERS.values() if layout == "auto" else [_READERS[layout]]
    patterns = list(dict.fromkeys(pattern for reader in readers for pattern in reader.files))
    found = {
        pattern: files
        for place in (folder, folder / "training_set")
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
    return next(name for name, reader in _READERS.items() if reader.recognises(file))
