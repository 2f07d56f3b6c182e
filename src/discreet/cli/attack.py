"""`discreet attack`: attacks carried out for real."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import _console, _inputs
from discreet.cli._inputs import BadRows
from discreet.cli._progress import stages
from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.audit.attacks import AttackResult, Outcome
    from discreet.ratings import Ratings

# The rooms that do the work are imported where they are used: `discreet --help` stays quick.

_READING = ("scale", "catalog", "columns", "separator", "quoting", "layout", "on_bad_rows")
_TOLERANCE = 1e-9
_ON_MADE_UP = "Attacked are ratings that were made up in the shape of ml-100k; --data names others."
_HEADINGS = ("against, in %", "protected", "success", "guessing", "at most", "tries")
_PASSED = 1
"""The exit code where an attack was right more often than its bound allows."""
_ON_PASSED = (
    "PASSED: this attack is right more often than its bound allows. By chance that is seen in one "
    "row of forty at most; if it stays with another --seed, the epsilon is wrong."
)
_ON_DATA = "For the curator's eyes only: these figures were read off private ratings."

_Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAMES", help="Attacks, or all of them. See --list."),
]
_List = Annotated[bool, typer.Option("--list", help="List the attacks, and attack nothing.")]
_Data = Annotated[
    str | None, typer.Option(help="Ratings to attack. [default: made up, like ml-100k]")
]
_Seed = Annotated[int, typer.Option(help="Of victims, noise and made-up ratings.", min=0)]


def attack(
    context: typer.Context,
    names: _Names = None,
    listing: _List = False,
    data: _Data = None,
    seed: _Seed = 0,
    scale: _inputs.ScaleText = None,
    catalog: _inputs.CatalogName = None,
    columns: _inputs.ColumnsText = None,
    separator: _inputs.Separator = None,
    quoting: _inputs.QuotingName = None,
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    json: _inputs.Json = False,
) -> None:
    """Attack what is published: with our protection, without it, and beside guessing."""
    if listing:
        _list(names or [], json)
        return
    if not names:
        raise InputError("say which attack, or all; discreet attack --list tells them")
    _check(names)
    ratings = None
    if data is None:
        _refuse(context, _READING, "without --data ratings are made up and none are read")
    else:
        _check_there(data)
        ratings = _inputs.read(
            data, scale, catalog, columns, layout, on_bad_rows, False, None, separator, quoting
        )
    results = _run(names, ratings, seed)
    note = _ON_MADE_UP if data is None else _ON_DATA
    if json:
        _console.write_json({"note": note, "attacks": [each.as_json() for each in results]})
    else:
        _show(results, note)
    if not all(each.is_within_bounds for each in results):
        raise typer.Exit(_PASSED)


def _refuse(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Options that would be told in vain.

    Raises:
        InputError: One was told.
    """
    sources = {name: context.get_parameter_source(name) for name in names}
    told = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if told:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in told)
        raise InputError(f"{reason}: leave {options} out")


def _check_there(data: str) -> None:
    """Say where a public data set comes from that is not there yet.

    Raises:
        InputError: It is not.
    """
    from discreet.ratings.download import data_sets

    path = Path(data)
    if not path.exists() and path.name in {known.name for known in data_sets()}:
        raise InputError(f"no such folder; discreet data get {path.name} fetches it", path=path)


def _check(names: list[str]) -> None:
    """Before anything is read."""
    from discreet.audit.attacks import ATTACKS

    for name in names:
        if name not in (*ATTACKS, "all"):
            raise InputError(f"'{name}' is no attack; there are {', '.join(ATTACKS)} and all")


def _run(names: list[str], ratings: Ratings | None, seed: int) -> list[AttackResult]:
    from discreet.audit.attacks import run_attacks

    with stages() as progress:
        return run_attacks(
            names,
            ratings,
            seed=seed,
            progress=lambda _, done, total: progress("attacking", done, total),
        )


def _list(names: list[str], as_json: bool) -> None:
    from discreet.audit.attacks import ATTACKS

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
    _console.say(f"{note} Bands are of 95 %.")
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
            _say_wrapped(_ON_PASSED)


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
    if outcome.bound is None:
        return ""
    most = math.ceil(1000 * outcome.bound * (1 - _TOLERANCE)) / 10  # a bound is never told too low
    return f"{most:.1f}{'' if outcome.is_within_bound else ' PASSED'}"


def _rate(value: float, band: tuple[float, float]) -> str:
    return f"{100 * value:.1f} ({100 * band[0]:.1f}-{100 * band[1]:.1f})"
