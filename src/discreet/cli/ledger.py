"""`discreet ledger`: what the releases about a population have cost, and what they may cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _console
from discreet.cli._console import Json
from discreet.cli.inspect import pairing_data, say_pairing
from discreet.domain import InputError
from discreet.privacy import GaussianNoise, Unit, fit_unit
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger import (
    Entry,
    Ledger,
    Limit,
    Pairing,
    Plan,
    PlannedCost,
    planned_release,
)
from discreet.release import load

app = typer.Typer(
    help="Keep account of what the releases about a population have cost, and may cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# Thousandths: how finely the largest epsilon is printed.
_DIGITS = 1000

_Path = Annotated[Path, typer.Argument(help="The file of the ledger.")]


@app.command()
def init(
    path: _Path,
    population: Annotated[
        str, typer.Option(help="Whose data the releases are about: 'customers of the shop'.")
    ],
    protect: Annotated[
        list[Unit], typer.Option(help="The unit of a limit; repeatable, for several units.")
    ],
    epsilon: Annotated[list[float], typer.Option(help="The limit; one for each --protect.")],
    delta: Annotated[
        list[float] | None,
        typer.Option(
            help="What may be added to the probability of any outcome beyond the factor "
            "e^epsilon: one for all limits, or one for each --protect; 0 for pure differential "
            "privacy. [default: 1e-06]"
        ),
    ] = None,
    reserve: Annotated[
        list[float] | None,
        typer.Option(
            help="The part of epsilon reserved for pure charges after Gaussian ones. [default: 0]"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a ledger with a limit per user, rating, or user and period; limits never change."""
    count = len(protect)
    columns = (
        protect,
        _matched("--epsilon", epsilon, count),
        _matched("--delta", delta or [GaussianNoise.default_delta], count),
        _matched("--reserve", reserve or [0.0], count),
    )
    limits = [Limit(*row) for row in zip(*columns, strict=True)]
    _show(Ledger.create(path, population, limits), as_json)


@app.command()
def show(path: _Path, as_json: Json = False) -> None:
    """Show what is spent and what is left."""
    _show(Ledger.open(path), as_json)


@app.command()
def history(
    path: _Path,
    release: Annotated[
        Path | None, typer.Option(help="Check that one of the charges paid for this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List every charge, what was spent after it and which file it paid for.

    With --release, the exit code is 1 if the file and the ledger do not belong together.
    """
    ledger = Ledger.open(path)
    entries = ledger.history()
    pairing = None if release is None else _pair(ledger, release)
    if as_json:
        charges = [_entry_data(entry) for entry in entries]
        paid = None if pairing is None else pairing_data(ledger, pairing)
        _console.write_json(charges if paid is None else {"charges": charges, "release": paid})
    else:
        if pairing is not None:
            say_pairing(pairing)
        _print_history(ledger, entries)
    if pairing is not None and not pairing.is_paid:
        raise typer.Exit(1)


def _pair(ledger: Ledger, path: Path) -> Pairing:
    release = load(path, verify=True)
    return ledger.pair(release.guarantee, release.digest())


def _print_history(ledger: Ledger, entries: Sequence[Entry]) -> None:
    rows, units = [], ledger.units
    several = len({entry.terms.series for entry in entries if entry.terms is not None}) > 1
    for entry in entries:
        spent = [_epsilon_text(_reading(ledger, unit, entry.spent[unit])) for unit in units]
        file = "none recorded" if entry.published is None else entry.published[:8]
        rows.append([*_entry_cells(entry, several), *spent, file])
    headings = ("#", "time (UTC)", "purpose", *(f"per {unit}" for unit in units), "file (digest)")
    title = "Epsilon spent after each charge:"
    _console.out.print(_console.table(headings, rows=rows, title=title, wraps=True))


@app.command()
def plan(
    path: _Path,
    protect: Annotated[
        Unit,
        typer.Option(parser=fit_unit, metavar="[rating|user]", help="What each release protects."),
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="The epsilon of each release. Without it, the largest that all of them fit with "
            "is shown."
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(
            help="The delta of each release: what may be added to the probability of any outcome "
            "beyond the factor e^epsilon; 0 for pure differential privacy."
        ),
    ] = GaussianNoise.default_delta,
    times: Annotated[int, typer.Option(help="The number of releases.")] = 12,
    every: Annotated[
        str | None,
        typer.Option(help="The time between two releases, to be named in the output: month."),
    ] = None,
    ratings_per_user: Annotated[
        int | None,
        typer.Option(help="With --protect rating: the most ratings that a user may have."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what further releases would cost, or how large they may be; nothing is charged.

    The releases are independent of each other; discreet series plan is for those of a series. The
    exit code is 1 if not all of them fit.
    """
    ledger = Ledger.open(path)
    if epsilon is None:
        _show_largest(ledger, times, protect, delta, ratings_per_user, as_json)
        return
    planned = ledger.plan([planned_release(protect, epsilon, delta, ratings_per_user)], times)
    if as_json:
        _console.write_json(_plan_data(planned, every))
    else:
        _print_plan(planned, every)
    if not planned.fits:
        raise typer.Exit(1)


def _matched(option: str, values: Sequence[float], count: int) -> Sequence[float]:
    """One value for each limit; a single one serves all."""
    if len(values) == count:
        return values
    if len(values) != 1 or option == "--epsilon":
        raise InputError(
            f"{option} must be given once for each --protect: {count} times, not {len(values)}"
        )
    return [*values] * count


def _show_largest(
    ledger: Ledger,
    times: int,
    unit: Unit,
    delta: float,
    ratings_per_user: int | None,
    as_json: bool,
) -> None:
    most = ledger.largest(times, unit, delta, ratings_per_user=ratings_per_user)
    # Down to three digits; so little that none are left is nothing.
    shown = math.floor(most * _DIGITS) / _DIGITS
    limits = " and ".join(f"{limit.epsilon:g} per {limit.unit}" for limit in ledger.limits)
    limits = f"the limit is {limits}" if len(ledger.limits) == 1 else f"limits are {limits}"
    if not shown:
        words = f"Nothing is left for {_releases(times)} per {unit} ({limits})."
    else:
        each = "One release" if times == 1 else f"Each of {times:,} releases"
        words = f"{each} may have epsilon {shown:g} at delta {delta:g} per {unit} ({limits})."
    if as_json:
        _console.write_json({"times": times, "largest": most, "delta": delta, "words": words})
    else:
        _console.say(words)
    if not shown:
        raise typer.Exit(1)


def _releases(times: int) -> str:
    return "a release" if times == 1 else f"{times:,} releases"


def _show(ledger: Ledger, as_json: bool) -> None:
    charges = len(ledger.history())
    if as_json:
        _console.write_json(_ledger_data(ledger, charges))
        return
    made = f"{ledger.created:%Y-%m-%d}"
    line = f"{ledger.population}: {charges:,} charge{'s' * (charges != 1)} since {made} (UTC)"
    _console.say(line)
    headings = (
        "per",
        "spent",
        "limit",
        "delta",
        "room for a Gaussian release of",
        "or a pure one of",
    )
    rows = [_unit_cells(ledger, unit) for unit in ledger.units]
    _console.out.print(_console.table(headings, rows=rows, wraps=True))
    if any(ledger.limit(unit) is not None and ledger.spent(unit).mu > 0 for unit in ledger.units):
        _console.say(
            "Gaussian releases add up to less than the sum of their epsilons, so the room left "
            "is larger than the limit minus what is spent."
        )


def _unit_cells(ledger: Ledger, unit: Unit) -> list[str]:
    limit = ledger.limit(unit)
    spent = _epsilon_text(_reading(ledger, unit, ledger.spent(unit)))
    if limit is None:
        return [unit, spent, "none", f"{_delta(ledger, unit):g}", "", ""]
    room = ledger.remaining(unit)
    left = [f"{room.epsilon:.4g}", f"{room.pure:.4g}"]
    return [unit, spent, f"{limit.epsilon:g}", f"{limit.delta:g}", *left]


def _ledger_data(ledger: Ledger, charges: int) -> dict[str, Any]:
    return {
        "path": str(ledger.path),
        "population": ledger.population,
        "created": ledger.created.isoformat(),
        "fingerprint": ledger.fingerprint,
        "charges": charges,
        "units": {unit: _unit_data(ledger, unit) for unit in Unit},
    }


def _unit_data(ledger: Ledger, unit: Unit) -> dict[str, Any]:
    limit, spent = ledger.limit(unit), ledger.spent(unit)
    reading = _reading(ledger, unit, spent)
    return {
        "limit": None if limit is None else vars(limit),
        "spent": _totals_data(spent) | {"epsilon": _finite(reading), "delta": _delta(ledger, unit)},
        "remaining": None if limit is None else vars(ledger.remaining(unit)),
    }


def _totals_data(totals: Totals) -> dict[str, Any]:
    return {
        "bounded": math.isfinite(totals.pure),
        "pure": _finite(totals.pure),
        "mu": totals.mu,
    }


def _entry_data(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time.isoformat(),
        "purpose": entry.purpose,
        "private": entry.is_private,
        "events": [event.to_dict() for event in entry.events],
        "spent": {unit: _totals_data(total) for unit, total in entry.spent.items()},
        "digest": entry.digest,
        "configuration": entry.configuration,
        "published": entry.published,
        "series": _series_data(entry),
    }


def _series_data(entry: Entry) -> dict[str, Any] | None:
    if entry.terms is None or entry.period is None:
        return None
    return {"terms": entry.terms.to_dict(), "period": entry.period.to_dict()}


def _entry_cells(entry: Entry, names_series: bool) -> list[str]:
    purpose = entry.purpose if entry.is_private else f"{entry.purpose} (seeded: not private)"
    labels = dict.fromkeys(event.label for event in entry.events)
    what = ", ".join(label for label in labels if not entry.purpose.startswith(label))
    purpose = f"{purpose}: {what}" if what else purpose
    if entry.terms is not None and entry.period is not None:
        said = "" if entry.period.name in entry.purpose else f"period '{entry.period.name}'"
        series = f"series {entry.terms.series[:8]}" if names_series else ""
        more = " of ".join(filter(None, (said, series)))
        purpose += f" ({more})" if more else ""
    return [f"{entry.number:,}", f"{entry.time:%Y-%m-%d %H:%M}", purpose]


def _plan_data(planned: Plan, every: str | None) -> dict[str, Any]:
    return {
        "times": planned.times,
        "fits": planned.fits,
        "fitting": planned.fitting,
        "words": planned.words(every),
        "limits": [_cost_data(cost) for cost in planned.costs],
    }


def _cost_data(cost: PlannedCost) -> dict[str, Any]:
    epsilons = {name: _finite(getattr(cost, name)) for name in ("spent", "once", "all", "after")}
    return {"limit": vars(cost.limit), **epsilons, "fitting": cost.fitting}


def _print_plan(planned: Plan, every: str | None) -> None:
    _console.say(planned.words(every))
    rows = []
    for cost in planned.costs:
        epsilons = [_epsilon_text(e) for e in (cost.spent, cost.once, cost.all, cost.after)]
        limit = cost.limit
        row = [limit.unit, *epsilons, f"{limit.epsilon:g}", f"{limit.delta:g}"]
        rows.append([*row, f"{cost.fitting:,}"])
    headings = ("per", "spent", "one alone", "all alone", "after all", "limit", "delta", "fit")
    _console.out.print(_console.table(headings, rows=rows, wraps=True))
    _console.say(
        "These are releases of everything, each charged in full. In a series one rating, or one "
        "person's ratings of one period, is charged once for all releases: `discreet series plan`."
    )


def _delta(ledger: Ledger, unit: Unit) -> float:
    """The delta at which a unit's spending is expressed: its own limit's, or the other's."""
    return (ledger.limit(unit) or ledger.limits[0]).delta


def _reading(ledger: Ledger, unit: Unit, spent: Totals) -> float:
    return (ledger.limit(unit) or ledger.limits[0]).spent_epsilon(spent)


def _epsilon_text(epsilon: float) -> str:
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "unbounded"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
