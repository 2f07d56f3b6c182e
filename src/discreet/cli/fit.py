"""`discreet fit`: from ratings to a release."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _budget, _console, _inputs, _outputs
from discreet.cli._budget import Method, Noise
from discreet.cli._inputs import BadRows, Engine
from discreet.cli._progress import stages
from discreet.cli.inspect import release_data
from discreet.domain import InputError
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger

if TYPE_CHECKING:
    from discreet.measure.engines.spark import SparkRatings
    from discreet.ratings import Ratings
    from discreet.release import Release

    _Private = Ratings | SparkRatings


class Cleaning(enum.StrEnum):
    """How a noisy covariance becomes factors."""

    AUTO = "auto"
    PAPER = "paper"
    NONE = "none"


_Output = Annotated[Path, typer.Option("--output", "-o", help="The release's file.")]
_Epsilon = Annotated[float | None, typer.Option(help="The budget; inf adds no noise. [default: 1]")]
_Delta = Annotated[
    float | None,
    typer.Option(help="The chance left aside. [default: 1e-06; 0 with Laplace noise]"),
]
_Theta = Annotated[float | None, typer.Option(help="The budget as McSherry and Mironov say it.")]
_Clean = Annotated[
    Cleaning | None,
    typer.Option(help="How noise is taken out, for method covariance. [default: auto]"),
]
_Dense = Annotated[
    bool, typer.Option("--dense", help="Publish the covariance matrix too, for knn: covariance.")
]
_MOST_HEAD = 25_000
_FREE = 2
"""Factors that every release of method refined may have: popularity and item effects."""
_UNBOOKED = "Warning: no ledger given, so this release's privacy cost is not recorded anywhere."
_LedgerFile = Annotated[
    Path | None, typer.Option(help="Charge this ledger: see discreet ledger init.")
]


def fit(
    ratings: _inputs.RatingsPath,
    output: _Output,
    protect: _budget.Protect = Unit.USER,
    epsilon: _Epsilon = None,
    delta: _Delta = None,
    theta: _Theta = None,
    noise: _budget.NoiseKind = Noise.GAUSSIAN,
    method: _budget.MethodName = Method.REFINED,
    rank: _budget.Rank = None,
    clean: _Clean = None,
    dense: _Dense = False,
    features: _inputs.FeaturesFile = None,
    ledger: _LedgerFile = None,
    implicit: _inputs.Implicit = False,
    scale: _inputs.ScaleText = None,
    catalog: _inputs.CatalogName = None,
    columns: _inputs.ColumnsText = None,
    separator: _inputs.Separator = None,
    quoting: _inputs.QuotingName = None,
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    most_ratings: _inputs.MostRatings = None,
    engine: _inputs.EngineName = Engine.LOCAL,
    master: _inputs.Master = None,
    json: _inputs.Json = False,
) -> None:
    """Measure ratings under a guarantee and write a release, which may be published."""
    _budget.check(epsilon, delta, theta, noise)
    options = _options(method, rank, clean, dense, features)
    _outputs.check_replaceable(output)
    _outputs.check_writable(output)
    book = _open(ledger, epsilon)
    how = (layout, on_bad_rows, implicit, most_ratings, separator, quoting)
    budget = {"protect": protect, "epsilon": epsilon, "delta": delta, "theta": theta}
    with _inputs.read_on(engine, master, ratings, scale, catalog, columns, *how) as private:
        public = _inputs.read_features(features, private.catalog)
        width = public["features"].shape[1] if public else 0
        _check_room(output, len(private.catalog), rank, dense or method.of_pairs, width)
        _warn(private, epsilon, delta, noise)
        _warn_unbooked(book, epsilon)
        options |= public | budget | {"noise": noise.value, "ledger": book or "unbooked"}
        with _telling_of_charges(book):
            release = _measure(private, options)
            release.save(output)
    _show(release, output, theta, json)
    _tell_of_effects(release, dense, width)


def _options(
    method: Method, rank: int | None, clean: Cleaning | None, dense: bool, features: Path | None
) -> dict[str, Any]:
    """What `fit` is told of the method; refuses what belongs to the other one."""
    options: dict[str, Any] = {"method": method.value}
    if features is not None and method is not Method.REFINED:
        raise InputError("--features is for --method refined")
    if method is Method.COVARIANCE:
        options |= {"clean": (clean or Cleaning.AUTO).value, "dense": dense}
    elif clean is not None or dense:
        raise InputError("--clean and --dense are for --method covariance")
    if rank is not None and method.of_pairs:
        raise InputError(f"--rank is for factors, which --method {method} has none of")
    return options if rank is None else options | {"rank": rank}


def _check_room(output: Path, items: int, rank: int | None, pairs: bool, features: int) -> None:
    """Before anything is charged: rows of factors, and two triangles of the head's if there are."""
    head = min(items, _MOST_HEAD) if pairs else 0
    factors = _FREE + (20 if rank is None else rank) + features
    _outputs.check_room(output, 4 * items * (4 + factors) + 4 * head * (head + 1))


def _open(path: Path | None, epsilon: float | None) -> Ledger | None:
    if path is None:
        return None
    if epsilon is not None and math.isinf(epsilon):
        raise InputError("no ledger has room for an infinite epsilon; leave --ledger out")
    return Ledger.open(path)


def _warn_unbooked(ledger: Ledger | None, epsilon: float | None) -> None:
    """Without noise there is no cost that a ledger could record."""
    if ledger is None and not (epsilon is not None and math.isinf(epsilon)):
        _console.err.print(_UNBOOKED, style="yellow", markup=False, soft_wrap=True)


def _warn(private: _Private, epsilon: float | None, delta: float | None, noise: Noise) -> None:
    _budget.warn_epsilon(1.0 if epsilon is None else epsilon)
    if noise is Noise.GAUSSIAN:
        _budget.warn_delta(_budget.DELTA if delta is None else delta, _inputs.count_users(private))


def _measure(private: _Private, arguments: dict[str, Any]) -> Release:
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.methods import fit
    from discreet.ratings import Ratings

    with stages() as progress:
        if isinstance(private, Ratings):
            return fit(private, progress=progress, **arguments)
        private.progress = progress
        return fit(private, **arguments)


@contextmanager
def _telling_of_charges(ledger: Ledger | None) -> Iterator[None]:
    """If what follows fails after the charge, say so: what is booked stays booked."""
    # Imported where it is used: `discreet --help` stays quick.
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
        raise InputError(reason, path=error.path, line=error.line) from error
    except KeyboardInterrupt:
        if was_charged():
            _console.note(CHARGED)
        raise


def _tell_of_effects(release: Release, dense: bool, features: int) -> None:
    """What became of options that a small budget leaves without effect."""
    if dense and "covariance" not in release.arrays:
        _console.note("--dense has no effect: the budget is too small to learn the covariance")
    if features:
        used = release.parameters.get("feature_columns")
        became = "used" if used else "left out: nobody's ratings were seen to go along them"
        _console.note(f"{features:,} columns of features were read and {became}")


def _ranks_alike(release: Release) -> bool:
    """Whether nothing was learnt of how people differ."""
    if "factors" in release.arrays:
        return bool(release.arrays["factors"].shape[1] == 0)
    return "head" not in release.arrays


def _show(release: Release, path: Path, theta: float | None, as_json: bool) -> None:
    if as_json:
        _console.write_json({"path": str(path), "theta": theta} | release_data(release))
        return
    _console.say(str(path))
    _console.say(str(release.guarantee))
    if _ranks_alike(release):
        _console.say("The budget was too small to learn tastes: it ranks alike for everybody.")
