"""Options that several commands share, each written once: how to read ratings, and the budget."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from discreet.cli import _console
from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.methods import MethodName
from discreet.privacy import (
    WEAK_EPSILON,
    GaussianNoise,
    Noise,
    Unit,
    fit_unit,
    spell_factor,
)
from discreet.ratings import Ratings
from discreet.ratings import read_features as read_feature_table
from discreet.ratings.readers import (
    BadRows,
    Columns,
    Layout,
    Quoting,
    catalog_columns,
    read_ratings,
)

if TYPE_CHECKING:
    from discreet.measure.engines.disk import DiskRatings

_DELTA = GaussianNoise.default_delta
# Wide enough for any rating: only whether a file has ratings at all is tried on it.
_ANY_SCALE = Scale(-1e9, 1e9, None)

RatingsPath = Annotated[str, typer.Argument(help="A file, or the folder of a known data set.")]
MethodChoice = Annotated[
    MethodName | None,
    typer.Option(
        help="refined: ratings and lists, best in most cases; lists: lists alone, as from clicks; "
        "covariance: after McSherry and Mironov; slope-one and cosine: compare pairs of items. "
        "[default: refined; with --implicit, lists]"
    ),
]
Rank = Annotated[
    int | None,
    typer.Option(help="The largest number of factors (refined and covariance). [default: 20]"),
]
FeaturesFile = Annotated[
    Path | None,
    typer.Option(help="A public table of item features: genre, year, author (refined and lists)."),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]


def share_options(*, without: Iterable[str] = ()) -> Callable[[Callable[..., None]], Any]:
    """Replace each parameter that is a record of options by one option for each of its fields.

    The command is called with the record, made from what the user gave.

    Args:
        without: Fields that the command does not offer; they keep their defaults.
    """
    left_out = set(without)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        records: dict[str, tuple[type[Any], list[str]]] = {}
        for name, parameter in inspect.signature(command).parameters.items():
            kind = hints[name]
            if not dataclasses.is_dataclass(kind):
                parameters.append(
                    parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
                )
                continue
            assert isinstance(kind, type)
            of_fields = get_type_hints(kind, include_extras=True)
            fields = [each for each in dataclasses.fields(kind) if each.name not in left_out]
            records[name] = kind, [each.name for each in fields]
            parameters += [
                inspect.Parameter(
                    each.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=each.default,
                    annotation=of_fields[each.name],
                )
                for each in fields
            ]

        @functools.wraps(command)
        def called(**given: Any) -> None:
            made = {
                name: kind(**{field: given.pop(field) for field in fields})
                for name, (kind, fields) in records.items()
            }
            command(**given, **made)

        # Typer reads both.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return decorate


@dataclass(frozen=True)
class ReadingOptions:
    """How to read ratings."""

    implicit: Annotated[
        bool,
        typer.Option(
            "--implicit", help="Treat rows as interactions (clicks, purchases); ignore ratings."
        ),
    ] = False
    scale: Annotated[
        str | None, typer.Option(help="The rating scale: 1..5, 0.5..5/0.5, -10..10/continuous.")
    ] = None
    catalog: Annotated[
        str | None,
        typer.Option(
            help="The list of items: a CSV file with the columns id and title, or from-data to "
            "take it from the private ratings."
        ),
    ] = None
    catalog_columns: Annotated[
        str | None,
        typer.Option(
            help="The names of the list's columns, where they are not usual ones: id=Game "
            "Number,title=Game Name."
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            help="The names of the columns (user=uid,item=mid,rating=r); for a file without a "
            "header, their positions from 0 and the number of fields "
            "(user=0,item=1,rating=3,fields=5)."
        ),
    ] = None
    separator: Annotated[
        str | None,
        typer.Option(
            help="The field separator: one character, :: or tab. [default: from the file's name "
            "or header]"
        ),
    ] = None
    quoting: Annotated[
        Quoting | None,
        typer.Option(
            help='What a quote (") does: quote a field of one line (lines), quote a field that '
            "may contain line breaks (multiline), or nothing (none). [default: lines]"
        ),
    ] = None
    layout: Annotated[Layout, typer.Option(help="The layout of the file or folder.")] = "auto"
    on_bad_rows: Annotated[
        BadRows, typer.Option(help="Refuse a file with bad rows, or skip those rows.")
    ] = "refuse"
    most_ratings: Annotated[
        int | None,
        typer.Option(
            help="Keep at most this many ratings per user, so that a guarantee per rating is also "
            "one per user. [default: all]",
            min=1,
        ),
    ] = None

    @property
    def is_presence(self) -> bool:
        """Whether rows say only that they are there."""
        return self.implicit or (self.scale is not None and Scale.parse(self.scale).presence)

    def read(self, path: str, keep_columns: Sequence[str] = ()) -> Ratings:
        """Read ratings, with a progress bar; keep these columns of the list of items.

        Raises:
            InputError: Something is missing, cannot be read or is wrong.
        """
        with _console.bar("reading") as advance:
            ratings = read_ratings(path, progress=advance, **self._reading(keep_columns))
        self._note_found(path, ratings)
        return ratings

    @contextmanager
    def read_on_disk(
        self, path: str, keep_columns: Sequence[str], scratch: Path | None
    ) -> Iterator[DiskRatings]:
        """The same by way of the disk, for more ratings than memory holds.

        Raises:
            InputError: Something is missing, cannot be read or is wrong, or the disk is full.
        """
        # Imported here: measuring is heavy, and help does without it.
        from discreet.measure.engines.disk import read_on_disk

        with ExitStack() as held:
            with _console.stages() as progress:
                opened = read_on_disk(
                    path, scratch=scratch, progress=progress, **self._reading(keep_columns)
                )
                ratings = held.enter_context(opened)
            self._note_found(path, ratings)
            yield ratings

    def _reading(self, keep_columns: Sequence[str]) -> dict[str, Any]:
        """The arguments of `read_ratings`."""
        return {
            "scale": None if self.scale is None else Scale.parse(self.scale),
            "catalog": self.catalog,
            "catalog_columns": self.parsed_catalog_columns,
            "keep_columns": keep_columns,
            "layout": self.layout,
            "columns": self.parsed_columns,
            "on_bad_rows": self.on_bad_rows,
            "implicit": self.implicit,
            "most_ratings": self.most_ratings,
            **self.dialect,
        }

    def _note_found(self, path: str, ratings: Ratings | DiskRatings) -> None:
        note_skipped(ratings.skipped)
        self.note_titles(ratings.catalog)
        if not len(ratings):
            _console.note(
                f"Warning: {path} has no usable ratings. That is private too, so it is treated "
                "like any other data, and a ledger is charged."
            )
        if ratings.scale.presence and self._finds_ratings(path):
            _console.note(
                f"{path} has ratings, which are ignored: every row counts as one interaction"
            )

    def read_with(
        self,
        path: str,
        scale: Scale,
        catalog: Catalog,
        most_ratings: int | None,
        between: tuple[int, int] | None = None,
    ) -> Ratings:
        """Read ratings whose scale and items are known, as those of a series are.

        `between` are the first second of the rows to keep, and the first after it; None for all.

        Raises:
            InputError: Something is missing, cannot be read or is wrong.
        """
        with _console.bar("reading") as advance:
            ratings = read_ratings(
                path,
                scale=None if scale.presence else scale,
                catalog=catalog,
                columns=self.parsed_columns,
                on_bad_rows=self.on_bad_rows,
                implicit=scale.presence,
                most_ratings=most_ratings,
                between=between,
                **self.dialect,
                progress=advance,
            )
        note_skipped(ratings.skipped)
        return ratings

    @property
    def parsed_columns(self) -> Columns | None:
        """`user=uid,item=mid,time=`: by name, by position counted from 0, or no such column."""
        return _named_columns(self.columns, "--columns user=uid,item=mid,rating=r")

    @property
    def parsed_catalog_columns(self) -> Columns | None:
        """`id=number,title=Game Name`: by name alone, as a list of items has a header."""
        example = "--catalog-columns id=number,title=name"
        named = _named_columns(self.catalog_columns, example)
        for role, column in (named or {}).items():
            if isinstance(column, int):
                raise InputError(
                    f"{role}={column} counts columns, and a list of items names them in its first "
                    f"line; write {example}"
                )
        return named

    def note_titles(self, catalog: Catalog) -> None:
        """Say so if a list of items has columns, and none of them was recognised as titles."""
        if self.catalog is None or catalog.origin is not CatalogOrigin.GIVEN:
            return
        if tuple(catalog.titles) != tuple(catalog.ids) or self.catalog_columns is not None:
            return
        columns = catalog_columns(self.catalog)
        if len(columns) > 1:
            _console.note(
                f"{self.catalog} has no column of titles that is recognised (it has "
                f"{', '.join(columns)}), so items are shown by their ids; name one with "
                "--catalog-columns title=NAME"
            )

    @property
    def dialect(self) -> dict[str, Any]:
        """How text is written; a tab has a name, since shells swallow it."""
        named = {"tab": "\t", "\\t": "\t"}
        separator = None if self.separator is None else named.get(self.separator, self.separator)
        return {"separator": separator, "quoting": self.quoting}

    def _finds_ratings(self, path: str) -> bool:
        """Whether a source that was read as interactions has ratings: the first ones are tried."""

        def stop(_: int, __: int) -> None:
            raise _EnoughRead

        try:
            read_ratings(
                path,
                scale=_ANY_SCALE,
                catalog="from-data",
                layout=self.layout,
                columns=self.parsed_columns,
                on_bad_rows="skip",
                progress=stop,
                **self.dialect,
            )
        except _EnoughRead:
            return True
        except InputError:
            return False
        return True


class _EnoughRead(Exception):
    """Ratings could be read; no more of them are wanted."""


def _named_columns(text: str | None, example: str) -> Columns | None:
    """Roles and columns as an option has them: by name, by position from 0, or none."""
    if text is None:
        return None
    columns: dict[str, str | int | None] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals:
            raise InputError(f"'{part}' names no column; write {example}")
        columns[role.strip()] = int(name) if name.isdecimal() else name.strip() or None
    return columns


def note_skipped(rows: int) -> None:
    """Say how many rows were left out, if any."""
    if rows:
        _console.note(f"{rows:,} bad rows were skipped")


def read_features(path: Path | None, catalog: Catalog) -> dict[str, Any]:
    """Public features as `fit` takes them; nothing if there is no file.

    Raises:
        InputError: The table cannot be used.
    """
    if path is None:
        return {}
    found = read_feature_table(path, catalog)
    if found.lacking:
        _console.note(f"{found.lacking:,} items are not in {path}: they have no features")
    return {"features": found.values}


@dataclass(frozen=True)
class BudgetOptions:
    """Whom to protect and by which noise; each command has its own `--epsilon`."""

    protect: Annotated[
        Unit,
        typer.Option(
            parser=fit_unit,
            metavar="[rating|user]",
            help="Protect single ratings, or each user with all their ratings.",
        ),
    ] = Unit.USER
    delta: Annotated[
        float | None,
        typer.Option(
            help="How much the probability of any outcome may change beyond the factor e^epsilon. "
            "[default: 1e-06; 0 with Laplace noise]"
        ),
    ] = None
    noise: Annotated[
        Noise, typer.Option(help="The kind of noise; with Laplace noise delta is 0.")
    ] = Noise.GAUSSIAN

    @property
    def gaussian_delta(self) -> float:
        """The delta of Gaussian noise."""
        return _DELTA if self.delta is None else self.delta

    def check(self, epsilons: Iterable[float]) -> None:
        """Refuse a budget that cannot be meant, before anything is read or charged.

        Raises:
            InputError: Says what would be right.
        """
        for epsilon in epsilons:
            if not epsilon > 0:
                raise InputError(f"epsilon must be above 0, not {epsilon:g}; 1 is a usual choice")
        if self.delta is None:
            return
        if not 0 <= self.delta < 1:
            raise InputError(
                f"delta must be at least 0 and below 1, not {self.delta:g}; {_DELTA:g} is usual"
            )
        if self.noise is Noise.GAUSSIAN and self.delta == 0:
            raise InputError(
                f"Gaussian noise needs a delta above 0: give {_DELTA:g}, or use --noise laplace, "
                "which has delta 0"
            )
        if self.noise is Noise.LAPLACE and self.delta > 0:
            raise InputError(
                "Laplace noise has delta 0: leave --delta out, or use --noise gaussian"
            )


def warn_of_epsilon(epsilon: float, unit: Unit) -> None:
    """Warn of an epsilon that hardly protects, with the factor that it stands for."""
    if math.isinf(epsilon):
        _console.warn("an infinite epsilon adds no noise: the release is not private")
    elif epsilon > WEAK_EPSILON:
        _console.warn(
            f"epsilon {epsilon:g} hardly protects anybody: it allows an outcome to become "
            f"{spell_factor(epsilon)} times as likely by one {unit}; 1 is a usual choice"
        )


def parse_numbers(option: str, text: str) -> list[float]:
    """The numbers of an option that takes several, with commas between them.

    Raises:
        InputError: One is not a number.
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"{option} takes numbers separated by commas, like {option} 0.5,1,4"
        ) from None


def parse_names(text: str | None) -> list[str] | None:
    """The names of an option that takes several, with commas between them."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
