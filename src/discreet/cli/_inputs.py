"""The options that say where ratings are and how to read them, for every command that does."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import _console
from discreet.cli._progress import bar, stages
from discreet.domain import Catalog, InputError, Scale

if TYPE_CHECKING:
    from discreet.measure.engines.spark import SparkRatings
    from discreet.ratings import Ratings
    from discreet.ratings.readers import Columns, Layout


class Quoting(enum.StrEnum):
    """What a quote does in text."""

    LINES = "lines"
    MULTILINE = "multiline"
    NONE = "none"


class Engine(enum.StrEnum):
    """Where sums over everybody are computed."""

    LOCAL = "local"
    SPARK = "spark"


class BadRows(enum.StrEnum):
    """What to do with rows that cannot be used."""

    REFUSE = "refuse"
    SKIP = "skip"


_ANY_SCALE = Scale(-1e9, 1e9, None)
RatingsPath = Annotated[str, typer.Argument(help="A file, or the folder of a known data set.")]
ScaleText = Annotated[
    str | None, typer.Option(help="The rating scale: 1..5, 0.5..5/0.5, -10..10/continuous.")
]
CatalogName = Annotated[
    str | None, typer.Option(help="A CSV file with the columns id and title, or from-data.")
]
ColumnsText = Annotated[
    str | None,
    typer.Option(
        help="What the columns are called (user=uid,item=mid,rating=r); or, in a file without a "
        "header, where they are and how many fields a line has (user=0,item=1,rating=3,fields=5)."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates fields: one character, :: or tab. [default: by the file's ending, or "
        "by its header]"
    ),
]
QuotingName = Annotated[
    Quoting | None,
    typer.Option(
        help="What quotes do: surround a field of one line, surround one that may contain line "
        "breaks (multiline), or nothing (none). [default: lines]"
    ),
]
Implicit = Annotated[
    bool,
    typer.Option(
        "--implicit", help="Rows say only that they are there, like clicks: no ratings are read."
    ),
]
LayoutName = Annotated[str, typer.Option(help="auto, table, movielens, netflix or jester.")]

EngineName = Annotated[Engine, typer.Option(help="Measure on this machine, or on Spark.")]
Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: local[4], spark://host:7077. [default: its own settings]"),
]
OnBadRows = Annotated[BadRows, typer.Option(help="Refuse the file, or skip the rows.")]
MostRatings = Annotated[
    int | None,
    typer.Option(
        help="Keep at most this many ratings of each user, so that a guarantee per rating is one "
        "per user too. [default: all]",
        min=1,
    ),
]
FeaturesFile = Annotated[
    Path | None,
    typer.Option(help="A public table by item: genre, year, author. For method refined."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read(
    path: str,
    scale: str | None,
    catalog: str | None,
    columns: str | None,
    layout: str,
    on_bad_rows: BadRows,
    implicit: bool = False,
    most_ratings: int | None = None,
    separator: str | None = None,
    quoting: Quoting | None = None,
) -> Ratings:
    """Read ratings as the options say, with a progress bar.

    Raises:
        InputError: Something is missing, cannot be read or is wrong.
    """
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.ratings.readers import read_ratings

    with bar("reading") as advance:
        ratings = read_ratings(
            path,
            scale=None if scale is None else Scale.parse(scale),
            catalog=catalog,
            layout=cast("Layout", layout),
            columns=parse_columns(columns),
            on_bad_rows=on_bad_rows.value,
            implicit=implicit,
            most_ratings=most_ratings,
            **parse_text(separator, quoting),
            progress=advance,
        )
    if ratings.skipped:
        _console.note(f"{ratings.skipped:,} bad rows were skipped")
    if not len(ratings):
        _console.note(
            f"Warning: {path} has no usable ratings. That is private too, so it is treated as any "
            "other data are, and a ledger is charged."
        )
    if ratings.scale.presence and _has_ratings(path, columns, layout, separator, quoting):
        _console.note(
            f"{path} has ratings, which are not read: every row counts alike, as presence"
        )
    return ratings


@contextmanager
def read_on(
    engine: Engine,
    master: str | None,
    path: str,
    scale: str | None,
    catalog: str | None,
    columns: str | None,
    layout: str,
    on_bad_rows: BadRows,
    implicit: bool,
    most_ratings: int | None = None,
    separator: str | None = None,
    quoting: Quoting | None = None,
) -> Iterator[Ratings | SparkRatings]:
    """Ratings as the options say, read on this machine or on Spark; let go of in the end.

    Raises:
        InputError: Something is missing, cannot be read or is wrong.
    """
    if engine is Engine.LOCAL:
        if master is not None:
            raise InputError("--master is for --engine spark")
        rows = (layout, on_bad_rows, implicit, most_ratings, separator, quoting)
        yield read(path, scale, catalog, columns, *rows)
        return
    if layout not in ("auto", "table"):
        raise InputError("--engine spark reads tables; --layout is for --engine local")
    how = (on_bad_rows, implicit, most_ratings, parse_text(separator, quoting))
    with _read_on_spark(master, path, scale, catalog, columns, *how) as ratings:
        yield ratings


@contextmanager
def _read_on_spark(
    master: str | None,
    path: str,
    scale: str | None,
    catalog: str | None,
    columns: str | None,
    on_bad_rows: BadRows,
    implicit: bool,
    most_ratings: int | None,
    text: dict[str, Any],
) -> Iterator[SparkRatings]:
    """The same on Spark; what can be seen to be wrong is said before Spark starts."""
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.measure.engines import spark

    named = parse_columns(columns)
    known, items = spark.read_public(scale, implicit, catalog)
    spark.check_source(path, master)
    told: dict[str, Any] = {"scale": known, "catalog": items or catalog, "columns": named}
    with ExitStack() as held:
        with stages() as progress:
            session = held.enter_context(spark.session_for_now(master))
            text |= {"columns": named, "implicit": known.presence}
            table = spark.open_table(session, path, progress=progress, **text)
            told |= {"on_bad_rows": on_bad_rows.value, "progress": progress}
            told |= {"most_ratings": most_ratings}
            ratings = held.enter_context(spark.read_spark(table, **told))
            found = ratings.survey()
        if found.skipped:
            _console.note(f"{found.skipped:,} bad rows were skipped")
        if found.duplicates:
            _console.note(
                f"{found.duplicates:,} rows gave way to another of the same user and item: the "
                "latest counts, and of those the highest"
            )
        yield ratings


def count_users(ratings: Ratings | SparkRatings) -> int:
    """How many people there are; for the curator's eyes alone."""
    return ratings.survey().users if hasattr(ratings, "survey") else ratings.user_count


class _Enough(Exception):
    """Ratings could be read; no more of them are wanted."""


def _has_ratings(
    path: str, columns: str | None, layout: str, separator: str | None, quoting: Quoting | None
) -> bool:
    """Whether ratings that were read as presence have values: some of them are tried."""
    from discreet.ratings.readers import read_ratings

    def stop(_: int, __: int) -> None:
        raise _Enough

    try:
        read_ratings(
            path,
            scale=_ANY_SCALE,
            catalog="from-data",
            layout=cast("Layout", layout),
            columns=parse_columns(columns),
            on_bad_rows="skip",
            progress=stop,
            **parse_text(separator, quoting),
        )
    except _Enough:
        return True
    except InputError:
        return False
    return True


def read_features(path: Path | None, catalog: Catalog) -> dict[str, Any]:
    """Public features as `fit` takes them; nothing if there is no file.

    Raises:
        InputError: The table cannot be used.
    """
    if path is None:
        return {}
    from discreet.ratings import read_features as read_table

    found = read_table(path, catalog)
    if found.lacking:
        _console.note(f"{found.lacking:,} items are not in {path}: nothing is known of them")
    return {"features": found.values}


def parse_columns(text: str | None) -> Columns | None:
    """`user=uid,item=mid,time=`: by name, by position counted from 0, or no such column."""
    if text is None:
        return None
    columns: dict[str, str | int | None] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals:
            raise InputError(
                f"'{part}' names no column; write --columns user=uid,item=mid,rating=r"
            )
        columns[role.strip()] = int(name) if name.isdecimal() else name.strip() or None
    return columns


def parse_text(separator: str | None, quoting: Quoting | None) -> dict[str, Any]:
    """How text is written, as `read_ratings` takes it; a tab has a name, since shells eat it."""
    named = {"tab": "\t", "\\t": "\t"}
    return {
        "separator": None if separator is None else named.get(separator, separator),
        "quoting": None if quoting is None else quoting.value,
    }


def spell(scale: Scale) -> str:
    """The scale as `Scale.parse` reads it."""
    return scale.spelling
