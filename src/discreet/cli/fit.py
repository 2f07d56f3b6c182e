"""`discreet fit`: from ratings to a release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from discreet.cli import _console, _inputs, _outputs
from discreet.cli._console import Json, stages
from discreet.cli._inputs import BudgetOptions, ReadingOptions
from discreet.domain import InputError
from discreet.methods import DEFAULT_EPSILON, Cleaning, MethodName
from discreet.privacy import Noise, Unit
from discreet.privacy.ledger import Ledger
from discreet.ratings import Ratings
from discreet.release import Release

# Imported where they are used: measuring is heavy, and neither help nor refusals need it.
if TYPE_CHECKING:
    from discreet.measure.engines.disk import DiskRatings
    from discreet.measure.engines.spark import SparkRatings

_Private: TypeAlias = "Ratings | DiskRatings | SparkRatings"

# Factors that a release of method refined has besides those of --rank: popularity, item effects.
_FREE_FACTORS = 2
_NOT_RECORDED = "Warning: without a ledger, this release's privacy cost is not recorded anywhere."

_Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write the release to.")]
_Epsilon = Annotated[
    float | None, typer.Option(help="The privacy budget; inf adds no noise. [default: 1]")
]
_Theta = Annotated[
    float | None,
    typer.Option(help="The budget in McSherry and Mironov's parametrization, instead of epsilon."),
]
_Clean = Annotated[
    Cleaning | None,
    typer.Option(help="How noise is removed from the covariance (covariance). [default: auto]"),
]
_Dense = Annotated[
    bool,
    typer.Option("--dense", help="Publish the covariance matrix too, for knn (covariance)."),
]
_KeepColumns = Annotated[
    str | None,
    typer.Option(
        help="Further columns of the list of items to publish with it, for filters: genres,year."
    ),
]
_LedgerFile = Annotated[
    Path | None,
    typer.Option(
        help="The ledger to charge: see discreet ledger init. Needed unless --no-ledger is given."
    ),
]
_NoLedger = Annotated[
    bool,
    typer.Option(
        "--no-ledger", help="Charge no ledger; the release says that its cost is not recorded."
    ),
]
_Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the release that an earlier run wrote.")
]
_Engine = Annotated[
    Literal["local", "disk", "spark"],
    typer.Option(
        help="Measure on this machine, in memory or by way of its disk (for more ratings than "
        "memory holds), or on Spark."
    ),
]
_Scratch = Annotated[
    Path | None,
    typer.Option(
        help="A folder for --engine disk, with room for some 20 bytes per rating; private rows "
        "are there until the command ends. [default: the system's temporary folder]"
    ),
]
_Master = Annotated[
    str | None,
    typer.Option(
        help="Where Spark runs: local[4], spark://host:7077. [default: Spark's own settings]"
    ),
]


@_inputs.share_options()
def fit(
    ratings: _inputs.RatingsPath,
    output: _Output,
    *,
    epsilon: _Epsilon = None,
    budget: BudgetOptions,
    theta: _Theta = None,
    method: _inputs.MethodChoice = None,
    rank: _inputs.Rank = None,
    clean: _Clean = None,
    dense: _Dense = False,
    features: _inputs.FeaturesFile = None,
    keep_columns: _KeepColumns = None,
    ledger: _LedgerFile = None,
    no_ledger: _NoLedger = False,
    overwrite: _Overwrite = False,
    reading: ReadingOptions,
    engine: _Engine = "local",
    scratch: _Scratch = None,
    master: _Master = None,
    json: Json = False,
) -> None:
    """Make a release from ratings, under a differential privacy guarantee.

    Only noisy sums over everybody go into the release, so it may be published.
    """
    _check_budget(budget, epsilon, theta)
    if method is None:
        method = MethodName.LISTS if reading.is_presence else MethodName.REFINED
    options = _method_options(method, rank, clean, dense, features)
    _outputs.check_replaceable(output)
    _outputs.check_writable(output)
    _outputs.check_new(output, overwrite)
    book = open_book(ledger, no_ledger, epsilon)
    keep = _inputs.parse_names(keep_columns) or []
    if scratch is not None and engine != "disk":
        raise InputError("--scratch is for --engine disk")
    with _read(ratings, reading, engine, master, keep, scratch) as private:
        public = _inputs.read_features(features, private.catalog)
        width = public["features"].shape[1] if public else 0
        pairs = dense or method in (MethodName.SLOPE_ONE, MethodName.COSINE)
        _check_room(output, len(private.catalog), rank, pairs, width)
        _warn(private, budget, epsilon, theta, book)
        options |= public | {"epsilon": epsilon, "theta": theta, "ledger": book or "unbooked"}
        options |= {"protect": budget.protect, "delta": budget.delta, "noise": budget.noise}
        with _telling_of_charges(book):
            release = _measure(private, options)
            release.save(output, overwrite=overwrite)
    _show(release, output, theta, json)
    _note_unused(release, dense, width)


def _check_budget(budget: BudgetOptions, epsilon: float | None, theta: float | None) -> None:
    if epsilon is not None and theta is not None:
        raise InputError("give the budget as --epsilon or as --theta, not both")
    if theta is not None and not (math.isfinite(theta) and theta > 0):
        raise InputError(f"theta must be a number above 0, not {theta:g}; the paper uses 0.15")
    budget.check([] if epsilon is None else [epsilon])


def _method_options(
    method: MethodName, rank: int | None, clean: Cleaning | None, dense: bool, features: Path | None
) -> dict[str, Any]:
    """The arguments of the method; refuses those of another method."""
    options: dict[str, Any] = {"method": method}
    if features is not None and method not in (MethodName.REFINED, MethodName.LISTS):
        raise InputError("--features is for --method refined and lists")
    if method is MethodName.COVARIANCE:
        options |= {"clean": clean or Cleaning.AUTO, "dense": dense}
    elif clean is not None or dense:
        raise InputError("--clean and --dense are for --method covariance")
    if rank is not None and method not in (MethodName.REFINED, MethodName.COVARIANCE):
        raise InputError(f"--rank is for factors, which --method {method} does not have")
    return options if rank is None else options | {"rank": rank}


def open_book(path: Path | None, unrecorded: bool, epsilon: float | None = None) -> Ledger | None:
    """The ledger to charge; None if its user chose none, or without noise, which none can record.

    Raises:
        InputError: Neither choice was made, or both.
    """
    is_infinite = epsilon is not None and math.isinf(epsilon)
    if path is None:
        if not unrecorded and not is_infinite:
            raise InputError(
                "a release costs privacy: name the ledger to charge with --ledger (discreet ledger "
                "init makes one), or give --no-ledger if its cost is not to be recorded anywhere"
            )
        return None
    if unrecorded:
        raise InputError("give --ledger or --no-ledger, not both")
    if is_infinite:
        raise InputError("no ledger has room for an infinite epsilon; leave --ledger out")
    return Ledger.open(path)


@contextmanager
def _read(
    path: str,
    options: ReadingOptions,
    engine: str,
    master: str | None,
    keep: list[str],
    scratch: Path | None,
) -> Iterator[_Private]:
    """Ratings on this machine or on Spark; released in the end.

    Raises:
        InputError: Something is missing, cannot be read or is wrong.
    """
    if engine == "spark":
        with _read_on_spark(path, options, master, keep) as ratings:
            yield ratings
        return
    if master is not None:
        raise InputError("--master is for --engine spark")
    if engine == "disk":
        with options.read_on_disk(path, keep, scratch) as stored:
            yield stored
        return
    yield options.read(path, keep)


@contextmanager
def _read_on_spark(
    path: str, options: ReadingOptions, master: str | None, keep: list[str]
) -> Iterator[SparkRatings]:
    """What can be seen to be wrong is refused before Spark starts."""
    from discreet.measure.engines import spark

    if options.layout not in ("auto", "table"):
        raise InputError("--engine spark reads tables; --layout is for --engine local")
    columns, dialect = options.parsed_columns, options.dialect
    scale, items = spark.read_public(
        options.scale, options.implicit, options.catalog, keep, options.parsed_catalog_columns
    )
    spark.check_source(path, master)
    with ExitStack() as held:
        with stages() as progress:
            session = held.enter_context(spark.session_for_now(master))
            table = spark.open_table(
                session,
                path,
                columns=columns,
                implicit=scale.presence,
                progress=progress,
                **dialect,
            )
            ratings = held.enter_context(
                spark.read_spark(
                    table,
                    scale=scale,
                    catalog=items or options.catalog,
                    columns=columns,
                    on_bad_rows=options.on_bad_rows,
                    most_ratings=options.most_ratings,
                    progress=progress,
                )
            )
            found = ratings.survey()
        _inputs.note_skipped(found.skipped)
        if found.duplicates:
            _console.note(
                f"{found.duplicates:,} rows repeat a user and an item: the latest of them counts, "
                "and of several latest the highest"
            )
        yield ratings


def _check_room(output: Path, items: int, rank: int | None, pairs: bool, features: int) -> None:
    """Refuse a full disk before anything is charged.

    A file holds rows of factors in 4 bytes each, and two triangles of pairs if there are any.
    """
    from discreet.methods import MOST_HEAD, RefinedMethod

    head = min(items, MOST_HEAD) if pairs else 0
    factors = _FREE_FACTORS + (RefinedMethod.rank if rank is None else rank) + features
    _outputs.check_room(output, 4 * items * (4 + factors) + 4 * head * (head + 1))


def _warn(
    private: _Private,
    budget: BudgetOptions,
    epsilon: float | None,
    theta: float | None,
    ledger: Ledger | None,
) -> None:
    """Warn of a budget that protects little, and of a cost that is recorded nowhere."""
    if theta is None:
        _inputs.warn_of_epsilon(DEFAULT_EPSILON if epsilon is None else epsilon, budget.protect)
    if budget.protect is Unit.RATING and private.intake.most_ratings is None:
        _console.warn(
            "single ratings are protected, not people: nothing bounds what the release reveals "
            "about all ratings of a person; --protect user or --most-ratings does"
        )
    if budget.noise is Noise.GAUSSIAN and budget.gaussian_delta * private.user_count >= 1:
        _console.warn(
            f"delta {budget.gaussian_delta:g} is not below 1 divided by the number of users: it "
            "would allow somebody's ratings to be published as they are; use a much smaller one"
        )
    # Without noise there is no cost that a ledger could record.
    if ledger is None and not (epsilon is not None and math.isinf(epsilon)):
        warn_of_no_ledger()


def warn_of_no_ledger() -> None:
    """Say that nothing records what a release costs."""
    _console.err.print(_NOT_RECORDED, style="yellow", markup=False, soft_wrap=True)


def _measure(private: _Private, arguments: dict[str, Any]) -> Release:
    from discreet.methods import fit as measure

    with stages() as progress:
        if isinstance(private, Ratings):
            return measure(private, progress=progress, **arguments)
        private.progress = progress
        return measure(private, **arguments)


@contextmanager
def _telling_of_charges(ledger: Ledger | None) -> Iterator[None]:
    """If what follows fails after the charge, say so: the ledger never takes a charge back."""
    from discreet.measure import CHARGED

    before = 0 if ledger is None else len(ledger.history())

    def was_charged() -> bool:
        return ledger is not None and len(ledger.history()) > before

    try:
        yield
    except InputError as error:
        if not was_charged() or error.reason.endswith(CHARGED):
            raise
        reason = f"{error.reason}; {CHARGED}"
        raise InputError(reason, path=error.path, line=error.line, hints=error.hints) from error
    except MemoryError as error:
        if not was_charged():
            raise
        raise InputError(f"there is not enough memory for this; {CHARGED}") from error
    except KeyboardInterrupt:
        if was_charged():
            _console.note(CHARGED)
        raise


def _note_unused(release: Release, dense: bool, features: int) -> None:
    """Say which options a small budget left without effect."""
    if dense and "covariance" not in release.arrays:
        _console.note("--dense has no effect: the budget is too small to learn the covariance")
    if features and "factors" in release.arrays:
        used = release.parameters.get("feature_columns")
        outcome = "used" if used else "not used: they do not help to predict these ratings"
        _console.note(f"{features:,} columns of features were read and {outcome}")


def _show(release: Release, path: Path, theta: float | None, as_json: bool) -> None:
    if as_json:
        _console.write_json({"path": str(path), "theta": theta} | release.describe())
        return
    _console.say(str(path))
    _console.say(str(release.guarantee))
    for sentence in release.learnt.sentences():
        _console.say(sentence)
