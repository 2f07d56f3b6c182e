"""MovieLens: text tables whose names, headers and lists of movies say what the scale is.

    u.data, u1.base, ...        ml-100k: whole stars, 1 to 5
    ratings.dat, movies.dat     ml-1m if movies.dat has 3,883 lines: whole stars, 1 to 5;
                                ml-10m if it has 10,681: half stars, 0.5 to 5;
                                otherwise (MovieTweetings, a subset) the caller must say
    ratings.csv, movies.csv     with MovieLens' own header: half stars, 0.5 to 5

Nobody looks at a rating for that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings.readers._columns import Role
from discreet.ratings.readers._files import whole
from discreet.ratings.readers._public import read_catalog
from discreet.ratings.readers._tables import TextTable
from discreet.ratings.readers.text import Dialect, header_line

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
