"""Where features come from: a public table with a row for each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from discreet.domain import InputError
from discreet.ratings.readers._catalog_file import ID_NAMES
from discreet.ratings.readers._columns import by_name
from discreet.ratings.readers._public_tables import PublicTable, TableSource, open_public

# fmt: off
_GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary",
    "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi",
    "Thriller", "War", "Western",
)
# fmt: on
_ML_100K = ("id", "title", "released", "video", "address", *_GENRES)
_LISTS = {
    "u.item": ("|", _ML_100K, len(_ML_100K)),
    "movies.dat": ("::", ("id", "title", "genres"), 2),
    "movie_titles.txt": (",", ("id", "year", "title"), 3),
    "movie_titles.csv": (",", ("id", "year", "title"), 3),
}


@dataclass(frozen=True)
class Table(PublicTable):
    """A public table of features."""

    def find_item(self, told: str | None) -> str:
        """The name of the column with the items' ids.

        Raises:
            InputError: There is none, or it could be one of several.
        """
        names = self.frame.columns
        if told is not None:
            if told not in names:
                raise self.error(f"has no column '{told}' with the item's id{self.listed()}")
            return told
        try:
            place = by_name(names, "item", ID_NAMES)
        except InputError as error:
            reason = error.reason.partition(";")[0]
            raise self.error(f"{reason}; rename or remove one of them") from None
        if place is None:
            reason = "needs a column of item ids, named like id, item_id or movieId"
            raise self.error(f"{reason}{self.listed()}")
        return names[place]

    def listed(self) -> str:
        """The columns' names, for the end of a complaint."""
        return f" (it has {', '.join(self.frame.columns)})"

    def error(self, reason: str) -> InputError:
        """A complaint about the table as a whole."""
        if self.path is None:
            return InputError(f"the table of features {reason}")
        return InputError(reason, path=self.path)


def open_features(source: TableSource) -> Table:
    """The table, with every column that has a name.

    Raises:
        InputError: It cannot be read, or has two columns of one name.
    """
    found = open_public(source, _LISTS)
    frame = found.frame
    if found.path is not None and found.path.name == "u.item":
        frame = frame.select("id", "title", genres=_flagged(_GENRES[1:]))
    return Table(frame, found.lines, found.origin, found.path)


def _flagged(names: Sequence[str]) -> pl.Expr:
    """The names of the columns that say 1, as one text."""
    flags = [pl.when(pl.col(name) == "1").then(pl.lit(name)) for name in names]
    return pl.concat_str(flags, separator="|", ignore_nulls=True)
