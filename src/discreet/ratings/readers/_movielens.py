"""MovieLens in all its layouts, and what looks like it.

What each tells of the scale, without a look at a rating:

    u.data, u1.base, ...        ml-100k: whole stars, 1 to 5
    ratings.dat, movies.dat     ml-1m if movies.dat has 3,883 lines: whole stars, 1 to 5;
                                ml-10m if it has 10,681: half stars, 0.5 to 5;
                                otherwise (MovieTweetings, a subset) the caller must say
    ratings.csv, movies.csv     with MovieLens' own header: half stars, 0.5 to 5
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings.readers._catalog_file import read_catalog
from discreet.ratings.readers._columns import Role
from discreet.ratings.readers._files import whole
from discreet.ratings.readers._text_table import TextTable, first_line

WHOLE_STARS = Scale(1, 5)
HALF_STARS = Scale(0.5, 5, 0.5)

_SCALE_BY_MOVIES = {3_883: WHOLE_STARS, 10_681: HALF_STARS}
_PLACES: dict[Role, int] = {"user": 0, "item": 1, "rating": 2, "time": 3}
_HEADER = "userId,movieId,rating,timestamp"
_TAB_NAME = re.compile(r"u\.data|u[1-5ab]\.(base|test)")


def is_movielens_tab(path: Path) -> bool:
    """Whether the file's name is that of ml-100k's ratings or one of its published splits."""
    return _TAB_NAME.fullmatch(path.name) is not None


def is_movielens_csv(path: Path) -> bool:
    """Whether it has MovieLens' own header, and a list of the movies beside it."""
    if not path.with_name("movies.csv").is_file():
        return False
    return first_line(path).strip() == _HEADER


def open_movielens(path: Path, *, implicit: bool = False) -> TextTable:
    """One of MovieLens' rating files; if implicit, read without its ratings.

    Raises:
        InputError: It cannot be read, or is none.
    """
    table = _open(path)
    if implicit:
        del table.places["rating"]
    return table


def _open(path: Path) -> TextTable:
    if path.suffix == ".dat":
        movies = path.with_name("movies.dat")
        scale = _SCALE_BY_MOVIES.get(_line_count(movies)) if movies.is_file() else None
        return _table(path, "::", scale, movies)
    if is_movielens_tab(path):
        return _table(path, "\t", WHOLE_STARS, path.with_name("u.item"))
    if first_line(path).strip() == _HEADER:
        return _table(path, ",", HALF_STARS, path.with_name("movies.csv"), header=True)
    raise InputError(
        f"is no MovieLens ratings file: u.data, ratings.dat, or CSV with the header {_HEADER}",
        path=path,
    )


def _table(
    path: Path, separator: str, scale: Scale | None, movies: Path, *, header: bool = False
) -> TextTable:
    find_catalog: Callable[[], Catalog] | None = None
    if movies.is_file():
        find_catalog = partial(read_catalog, movies, origin=CatalogOrigin.LAYOUT)
    return TextTable(
        path,
        separator,
        fields=4,
        places=dict(_PLACES),
        header=header,
        quoted=header,
        scale=scale,
        find_catalog=find_catalog,
    )


def _line_count(path: Path) -> int:
    data = whole(path)
    return data.count(b"\n") + (not data.endswith(b"\n"))
