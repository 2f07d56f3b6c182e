"""`read_ratings`: everybody's ratings from wherever they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from discreet.domain import PRESENCE, Catalog, CatalogOrigin, Hint, InputError, Scale
from discreet.domain.files import ahead
from discreet.ratings._keyed import bound_contributions
from discreet.ratings._ratings import Intake, Ratings
from discreet.ratings.readers._batch import Progress, Source
from discreet.ratings.readers._collect import BadRows, Collector
from discreet.ratings.readers._columns import Columns
from discreet.ratings.readers._frames import open_frame
from discreet.ratings.readers._layouts import Layout, open_path
from discreet.ratings.readers._public import (
    CatalogColumns,
    TableSource,
    read_catalog,
    refuse_columns,
)
from discreet.ratings.readers.text import Quoting, TableDescription

RatingSource = TableSource | Sequence[Mapping[str, Any]]
"""A file or folder, a table in memory, or a list of dicts."""

GivenScale = Scale | tuple[float, float] | tuple[float, float, float | None] | str
"""A scale, or `(lo, hi)`, or `(lo, hi, step)`, or text like `0.5..5/0.5` or `presence`."""

FROM_DATA = CatalogOrigin.FROM_DATA.value
"""Given as a catalogue: read it off the private ratings."""


def read_ratings(
    source: RatingSource,
    *,
    scale: GivenScale | None = None,
    implicit: bool = False,
    catalog: Catalog | str | os.PathLike[str] | None = None,
    catalog_columns: CatalogColumns | None = None,
    keep_columns: Sequence[str] = (),
    layout: Layout = "auto",
    columns: Columns | None = None,
    separator: str | None = None,
    quoting: Quoting | None = None,
    on_bad_rows: BadRows = "refuse",
    most_ratings: int | None = None,
    between: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> Ratings:
    """Read ratings and check every one of them.

    How a source is read is public: the scale, the catalogue, the columns, the separator, what
    quotes mean. All of it is given by the caller, part of a published layout, or read off a file's
    name or header, never inferred from rows. So one person's rows change that person's records
    and nobody else's (`ratings/PROOF.md`). A source without rows gives ratings of nobody.

    Users are numbered in the order of their ids, so that the same ratings read from any layout
    give the same columns. Of several ratings of one item by one user the last wins.

    With `implicit` a row is an interaction: a click, a purchase, a play. That too is a public
    declaration. Rows need a user and an item, may have a time, and nobody looks at a rating
    (so leave out rows that say "shown, but not clicked" before). Several rows of one user and item
    are one record with the earliest of their times, in whatever order they come.

    Args:
        source: A file or folder, a pandas or polars data frame, a polars lazy frame, an Arrow
            table, anything that speaks Arrow's protocol (a DuckDB relation, an Ibis table), or a
            list of dicts with the keys `user`, `item` and `rating`, or those that `columns` names
            (and only then a `time`). Files are CSV, TSV or another separated text (gzip or not),
            Parquet, or the files of MovieLens, the Netflix Prize or Jester.
        scale: The scale, unless the layout says it: `(1, 5)`, `(0.5, 5, 0.5)`,
            `(-10, 10, None)`, `"0.5..5/0.5"` or a `Scale`. `"presence"` is another way to say
            `implicit`.
        implicit: Read presence alone; the scale is `PRESENCE` then, and no other may be given.
        catalog: The list of items, unless the layout has one: a `Catalog`, a file that
            `read_catalog` reads, or the word `"from-data"`. The last reads the list off the
            private ratings: that an item is listed then shows that somebody rated it, and every
            release made from these ratings says so.
        catalog_columns: Names of the `id` and the `title` column of the list of items, where
            they are not usual ones.
        keep_columns: Further columns of the list of items to keep: see `read_catalog`.
        layout: How files are laid out; `auto` recognises published layouts by their file names.
        columns: Which column is the `user`, the `item`, the `rating` and the `time`, where names
            do not say it: names, or positions counted from 0 for text without a header, and then
            `fields`, how many every line has. `{"time": None}` leaves times out.
        separator: What separates fields, where neither the file's ending nor its header says it.
        quoting: What a `"` does in text. `lines`, the default: it surrounds
            a field, quotes in it doubled, and a line that ends inside quotes is refused.
            `multiline`: a field in quotes may contain line breaks; the release then says that it
            relies on whoever wrote the file to have doubled every quote. `none`: nothing.
        on_bad_rows: `refuse` raises on the first bad row, naming file and line; `skip` leaves bad
            rows out and counts them in `Ratings.skipped`. It is about private rows: a list of
            items is public and part of every release, so a bad one is always refused.
        most_ratings: Keep at most this many ratings of each user (`bound_contributions`), so that
            a promise per rating is one per user too. Choose it without looking at the ratings.
        between: Keep only rows from the first of two seconds since 1970 until before the second,
            if rows have times: a series' period, so that of several rows of one user and item,
            one of this period counts, whatever other periods have. Bad rows of other times are bad
            rows too.
        progress: Called with how much is read and how much there is.

    Raises:
        InputError: Something is missing, cannot be read or is wrong; the message is one line that
            says where and what would be right, and never shows a user, an item or a rating. That
            rows were refused, and which, depends on private rows: it is for the curator's eyes.

    Example:
        >>> import discreet
        >>> import polars as pl
        >>> table = pl.DataFrame({"user": ["ann", "bob"], "item": ["7", "8"], "rating": [5, 3]})
        >>> films = discreet.Catalog(["7", "8", "9"], ["Alien", "Heat", "Ran"])
        >>> ratings = discreet.read_ratings(table, scale=(1, 5), catalog=films)
        >>> len(ratings), ratings
        (2, Ratings(private, catalogue of 3 items, scale 1..5 in steps of 1))
    """
    reading = Reading.of(
        source,
        on_bad_rows,
        most_ratings,
        scale=scale,
        implicit=implicit,
        catalog=catalog,
        catalog_columns=catalog_columns,
        keep_columns=keep_columns,
        layout=layout,
        columns=columns,
        separator=separator,
        quoting=quoting,
    )
    with reading.naming_source():
        collector = Collector(*reading.rules, between=between)
        reading.collect(collector, progress)
        ratings = collector.finish()
        if most_ratings is not None:
            ratings = bound_contributions(ratings, most_ratings)
        return ratings


@dataclass(frozen=True)
class Reading:
    """A source that was opened, and everything public about how its rows are read.

    Attributes:
        source: The batches.
        scale: Of the ratings.
        catalog: Of the items; None if it is to be read from the ratings.
        on_bad_rows: Refuse them, or skip them.
    """

    source: Source
    scale: Scale
    catalog: Catalog | None
    on_bad_rows: BadRows

    @classmethod
    def of(
        cls,
        source: RatingSource,
        on_bad_rows: BadRows,
        most_ratings: int | None,
        *,
        scale: GivenScale | None = None,
        implicit: bool = False,
        catalog: Catalog | str | os.PathLike[str] | None = None,
        catalog_columns: CatalogColumns | None = None,
        keep_columns: Sequence[str] = (),
        layout: Layout = "auto",
        columns: Columns | None = None,
        separator: str | None = None,
        quoting: Quoting | None = None,
    ) -> Reading:
        """Open a source; the arguments are those of `read_ratings`.

        Raises:
            InputError: Something is missing or wrong that can be seen before rows are read.
        """
        if on_bad_rows not in get_args(BadRows):
            raise InputError(f"on_bad_rows must be refuse or skip, not '{on_bad_rows}'")
        Intake(most_ratings=most_ratings)  # refuses a wrong bound before anything is read
        given = parse_scale(scale, implicit)
        implicit = given == PRESENCE
        found = _open(source, layout, TableDescription(columns, separator, quoting, implicit))
        known_scale = _scale(given, found)
        try:
            known_catalog = _catalog(catalog, found, catalog_columns, keep_columns)
        except InputError as error:
            if on_bad_rows == "refuse" or error.line is None:
                raise
            reason = f"{error.reason}; the list of items is public, so its rows are never skipped"
            raise InputError(reason, path=error.path, line=error.line) from None
        return cls(found, known_scale, known_catalog, on_bad_rows)

    @property
    def rules(self) -> tuple[Scale, Catalog | None, BadRows, bool, tuple[str, ...]]:
        """What a `Collector` takes."""
        found = self.source
        return self.scale, self.catalog, self.on_bad_rows, found.keep_user_ids, found.assumes

    def collect(self, collector: Collector, progress: Progress | None) -> None:
        """Hand all batches to a collector.

        Raises:
            InputError: The source cannot be read, or the collector refuses a row.
        """
        size = self.source.size if progress else 0
        for batch in ahead(self.source.batches()):
            collector.add(batch)
            if progress:
                progress(min(batch.done, size), size)

    @contextmanager
    def naming_source(self) -> Iterator[None]:
        """Name the file in errors that do not."""
        try:
            yield
            return
        except InputError as error:
            if error.path is not None or self.source.path is None:
                raise
            located = InputError(error.reason, path=self.source.path, hints=error.hints)
        raise located


def parse_scale(given: GivenScale | None, implicit: bool) -> Scale | None:
    """The scale that a caller gave, if any: that of presence where rows are interactions.

    Raises:
        InputError: It is not a scale, or another one than presence where `implicit` says presence.
    """
    if given is None:
        return PRESENCE if implicit else None
    try:
        known = Scale.parse(given) if isinstance(given, str) else given
        known = Scale(*known) if isinstance(known, tuple) else known
    except TypeError:
        known = None
    if not isinstance(known, Scale):
        raise InputError("scale must be (lo, hi), (lo, hi, step), text like 1..5, or a Scale")
    if implicit and known != PRESENCE:
        raise InputError("presence (implicit) is a scale of its own; leave the other scale out")
    return known


def _open(source: RatingSource, layout: str, description: TableDescription) -> Source:
    if isinstance(source, str | os.PathLike):
        return open_path(Path(source), layout, description)
    is_text = description.separator is not None or description.quoting is not None
    if layout not in ("auto", "table") or is_text:
        raise InputError("layout, separator and quoting are for files, not for tables in memory")
    return open_frame(source, description)


def _scale(given: Scale | None, source: Source) -> Scale:
    if given is not None:
        return given
    if source.scale is None:
        whole, half = Hint("scale", (1, 5)), Hint("scale", (0.5, 5, 0.5))
        raise InputError(
            f"the scale is not known from the layout; give it, like {whole} for whole stars or "
            f"{half} for half stars",
            hints=[whole, half],
            path=source.path,
        )
    return source.scale


def _catalog(
    given: Catalog | str | os.PathLike[str] | None,
    source: Source,
    columns: CatalogColumns | None,
    keep: Sequence[str],
) -> Catalog | None:
    """The catalogue, or None if it is to be read from the ratings."""
    is_file = given is not None and not isinstance(given, Catalog) and given != FROM_DATA
    if columns is not None and not is_file:
        raise InputError("catalog_columns are for a list of items in a file of its own")
    if isinstance(given, Catalog) or given == FROM_DATA:
        refuse_columns(keep)
        return given if isinstance(given, Catalog) else None
    if given is not None:
        return read_catalog(given, columns=columns, keep_columns=keep)
    if source.find_catalog is None:
        file, from_data = Hint("catalog", "items.csv"), Hint("catalog", FROM_DATA)
        raise InputError(
            f"the list of items is not known from the layout; give it, like {file}. {from_data} "
            "reads it off the private ratings, which shows that somebody rated each item, and "
            "every release will say so",
            hints=[file, from_data],
            path=source.path,
        )
    return source.find_catalog(keep)
