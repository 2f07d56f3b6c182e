"""`discreet attack`: attacks on releases, carried out for real."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from discreet.audit.attacks import ATTACKS, AttackResult, Outcome, run_attacks
from discreet.cli import _console, _inputs
from discreet.cli._console import Json
from discreet.cli._inputs import ReadingOptions
from discreet.domain import InputError
from discreet.ratings import Ratings
from discreet.ratings.download import data_sets

_READING = ("scale", "catalog", "columns", "separator", "quoting", "layout", "on_bad_rows")
# Relative slack in rounding up: 12.3 % stays 12.3 % though 0.123 has no exact binary form.
_TOLERANCE = 1e-9
_ON_SYNTHETIC = "The ratings under attack are synthetic, in the shape of ml-100k; see --data."
_ON_DATA = "For the curator's eyes only: these figures were computed from private ratings."
_HEADINGS = ("against, in %", "protected", "success", "guessing", "at most", "tries")
# The exit code if an attack succeeds more often than its bound allows.
_EXCEEDED = 1
_ON_EXCEEDED = (
    "PASSED: this attack succeeds more often than its bound allows. By chance that happens in at "
    "most one row of forty; if it persists with another --seed, the epsilon is wrong."
)

_Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAMES", help="Attacks by name, or all. See --list."),
]
_List = Annotated[bool, typer.Option("--list", help="List the attacks without running any.")]
_Data = Annotated[
    str | None,
    typer.Option(help="The ratings to attack. [default: synthetic ratings, like ml-100k]"),
]
_Seed = Annotated[int, typer.Option(help="Seed of victims, noise and synthetic ratings.", min=0)]


@_inputs.share_options(without=["implicit", "most_ratings"])
def attack(
    context: typer.Context,
    names: _Names = None,
    listing: _List = False,
    data: _Data = None,
    seed: _Seed = 0,
    *,
    reading: ReadingOptions,
    json: Json = False,
) -> None:
    """Attack releases, with and without protection, and compare with guessing.

    The exit code is 1 if an attack succeeds more often than its bound allows.
    """
    if listing:
        _list(names or [], json)
        return
    if not names:
        raise InputError("say which attack, or all; see discreet attack --list")
    _check(names)
    ratings = None
    if data is None:
        _refuse(context, _READING, "without --data no ratings are read")
    else:
        _check_fetched(Path(data))
        ratings = reading.read(data)
    results = _run(names, ratings, seed)
    note = _ON_SYNTHETIC if data is None else _ON_DATA
    if json:
        _console.write_json({"note": note, "attacks": [each.as_json() for each in results]})
    else:
        _show(results, note)
    if not all(each.is_within_bounds for each in results):
        raise typer.Exit(_EXCEEDED)


def _refuse(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Refuse options that would have no effect.

    Raises:
        InputError: One was given.
    """
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InputError(f"{reason}: leave {options} out")


def _check_fetched(path: Path) -> None:
    """Say where a public data set comes from that has not been fetched yet.

    Raises:
        InputError: It has not.
    """
    if not path.exists() and path.name in {known.name for known in data_sets()}:
        raise InputError(f"no such folder; discreet data get {path.name} fetches it", path=path)


def _check(names: list[str]) -> None:
    """Refuse unknown names before anything is read."""
    for name in names:
        if name not in (*ATTACKS, "all"):
            raise InputError(f"unknown attack '{name}'; there are {', '.join(ATTACKS)} and all")


def _run(names: list[str], ratings: Ratings | None, seed: int) -> list[AttackResult]:
    with _console.stages() as progress:
        return run_attacks(
            names,
            ratings,
            seed=seed,
            progress=lambda _, done, total: progress("attacking", done, total),
        )


def _list(names: list[str], as_json: bool) -> None:
    _check(names)
    rows = [(name, each.about, each.source) for name, each in ATTACKS.items()]
    if names and "all" not in names:
        rows = [row for row in rows if row[0] in names]
    if as_json:
        _console.write_json(
            [{"name": name, "about": about, "source": source} for name, about, source in rows]
        )
        return
    width = max(len(name) for name, _, _ in rows)
    for name, about, source in rows:
        _console.say(f"{name:<{width}}  {about} ({source})")


def _show(results: list[AttackResult], note: str) -> None:
    _console.say(f"{note} Intervals are at 95 %.")
    for result in results:
        _console.say(f"\n{result.name}")
        for what, text in (
            ("knows", result.knows),
            ("tries to", result.tries_to),
            ("success", result.counts),
        ):
            _say_wrapped(f"{what}: {text}")
        _show_table([_HEADINGS, *(_cells(outcome) for outcome in result.outcomes)])
        _say_wrapped(result.remark)
        if not result.is_within_bounds:
            _say_wrapped(_ON_EXCEEDED)


def _say_wrapped(text: str) -> None:
    _console.say(fill(text, 90, initial_indent="  ", subsequent_indent="    "))


def _show_table(rows: list[tuple[str, ...]]) -> None:
    """Names to the left, numbers to the right; never cut off, however narrow the terminal is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    _console.say("")
    for name, protected, *numbers in rows:
        cells = [f"{name:<{widths[0]}}", f"{protected:<{widths[1]}}"]
        cells += [f"{each:>{width}}" for each, width in zip(numbers, widths[2:], strict=True)]
        _console.say(f"  {'  '.join(cells)}")
    _console.say("")


def _cells(outcome: Outcome) -> tuple[str, ...]:
    return (
        outcome.against,
        "yes" if outcome.is_protected else "no",
        _rate(outcome.success, outcome.band),
        _rate(outcome.baseline, outcome.baseline_band),
        _bound(outcome),
        f"{outcome.tries:,}",
    )


def _bound(outcome: Outcome) -> str:
    """The bound in per cent, rounded up so that it is never shown too low."""
    if outcome.bound is None:
        return ""
    most = math.ceil(1000 * outcome.bound * (1 - _TOLERANCE)) / 10
    return f"{most:.1f}{'' if outcome.is_within_bound else ' PASSED'}"


def _rate(value: float, band: tuple[float, float]) -> str:
    return f"{100 * value:.1f} ({100 * band[0]:.1f}-{100 * band[1]:.1f})"
