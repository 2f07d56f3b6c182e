"""`discreet choose-epsilon`: an epsilon by its consequences, for a person who has to choose one."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from discreet.cli import _budget, _choice_picture, _console, _evaluation_picture, _inputs, _outputs
from discreet.cli._budget import Noise
from discreet.cli._inputs import BadRows
from discreet.cli._progress import stages
from discreet.domain import PRESENCE, InputError
from discreet.privacy import Unit

if TYPE_CHECKING:
    from discreet.audit import Choice, Consequence
    from discreet.ratings import Ratings

_MADE_UP = "Made-up ratings: nobody's were looked at, so the choice gives nothing away."
_LOOKED = (
    "For the curator's eyes only: these figures and the choice were read off the ratings given. If "
    "those are private, an epsilon chosen here gives some of them away when it is told; choose on "
    "public ratings like yours, or leave RATINGS out for made-up ones."
)
_SHAPE = "2000,100,40000"

_Path = Annotated[
    str | None,
    typer.Argument(help="Public ratings: a file, or a data set's folder. [default: made up]"),
]
_Value = Annotated[float, typer.Option(help="What it is worth to predict as if without noise.")]
_Cost = Annotated[float, typer.Option(help="What it costs if an attacker knows any rating.")]
_Methods = Annotated[
    str | None,
    typer.Option(
        help="Some of refined,covariance,slope-one,cosine,modified-laplace,randomized-response,"
        "slope-one-answers. [default: all that make sense]"
    ),
]
_Epsilons = Annotated[str, typer.Option(help="What to choose from, with commas between them.")]
_Delta = Annotated[float, typer.Option(help="Of releases.")]
_Attacks = Annotated[int, typer.Option(help="For each method and epsilon.")]
_Draws = Annotated[int, typer.Option(help="How often each noise is drawn.")]
_Seed = Annotated[int, typer.Option(help="Of made-up ratings, victims and noise.", min=0)]
_Shape = Annotated[
    str, typer.Option(help="Of made-up ratings: users,items,ratings, or a name as in data make.")
]
_Picture = Annotated[
    Path | None, typer.Option("--output", "-o", help="Draw a picture: a .png file.")
]


def choose_epsilon(
    ratings: _Path = None,
    *,
    value_of_utility: _Value,
    cost_of_breach: _Cost,
    methods: _Methods = None,
    epsilons: _Epsilons = "0.1,0.3,1,3,10,30",
    protect: _budget.Protect = Unit.USER,
    delta: _Delta = _budget.DELTA,
    attacks: _Attacks = 80,
    draws: _Draws = 4,
    seed: _Seed = 1,
    shape: _Shape = _SHAPE,
    output: _Picture = None,
    implicit: _inputs.Implicit = False,
    scale: _inputs.ScaleText = None,
    catalog: _inputs.CatalogName = None,
    columns: _inputs.ColumnsText = None,
    separator: _inputs.Separator = None,
    quoting: _inputs.QuotingName = None,
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    json: _inputs.Json = False,
) -> None:
    """Attack releases for real and choose the epsilon that is worth most."""
    budgets = _numbers(epsilons)
    _check((value_of_utility, cost_of_breach), budgets, delta, output)
    if ratings is None:
        data = _make_up(shape, seed, implicit)
    else:
        how = (layout, on_bad_rows, implicit, None, separator, quoting)
        data = _inputs.read(ratings, scale, catalog, columns, *how)
    told = {"protect": protect, "delta": delta, "attacks": attacks, "draws": draws, "seed": seed}
    named = None if methods is None else [name.strip() for name in methods.split(",")]
    rows = _attack(data, named, budgets, told)
    choices = _choose(rows, value_of_utility, cost_of_breach)
    sentence = _sentence(choices[0], data.scale.presence)
    warning = _MADE_UP if ratings is None else _LOOKED
    if json:
        _console.write_json(_as_json(rows, choices, sentence, warning))
    else:
        _show(rows, choices, (value_of_utility, cost_of_breach), warning, sentence)
    _hint(choices[0])
    if output is not None:
        weights = (value_of_utility, cost_of_breach)
        _choice_picture.draw(output, rows, choices, weights, private=ratings is not None)
        _console.note(f"the picture is in {output}")


def _check(
    weights: tuple[float, float], budgets: list[float], delta: float, output: Path | None
) -> None:
    """What can be known to be wrong before anything is read."""
    for option, told in zip(("--value-of-utility", "--cost-of-breach"), weights, strict=True):
        if not (math.isfinite(told) and told >= 0):
            raise InputError(f"{option} is a number from 0 on, not {told:g}")
    if not any(weights):
        raise InputError("if neither utility nor a breach counts, every epsilon is as good")
    for budget in budgets:
        if math.isinf(budget):
            raise InputError("without noise nothing is private: epsilons must be finite")
        _budget.check(budget, delta, None, Noise.GAUSSIAN)
        _budget.warn_epsilon(budget)
    if output is not None:
        _evaluation_picture.check_installed()
        if output.suffix.lower() != ".png":
            raise InputError("a picture is a .png file", path=output)
        _outputs.check_writable(output)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError("--epsilons is a list of numbers, like --epsilons 0.5,1,4") from None


def _make_up(text: str, seed: int, implicit: bool) -> Ratings:
    # Imported where it is used: `discreet --help` stays quick.
    import numpy as np

    from discreet.ratings import Shape, find_shape, make_ratings

    parts = text.split(",")
    if len(parts) == 3 and all(part.strip().isdecimal() for part in parts):
        users, items, ratings = map(int, parts)
        made = make_ratings(Shape(users=users, items=items, ratings=ratings), seed=seed)
    elif len(parts) == 1:
        made = make_ratings(find_shape(text), seed=seed)
    else:
        raise InputError(f"--shape is users,items,ratings, like {_SHAPE}, or a name like ml-100k")
    if not implicit:
        return made
    return dataclasses.replace(made, scale=PRESENCE, codes=np.ones(len(made), np.uint8))


def _attack(
    data: Ratings, methods: list[str] | None, budgets: list[float], told: dict[str, Any]
) -> list[Consequence]:
    from discreet.audit import consequences

    with stages() as progress:
        return consequences(data, methods, budgets, progress=progress, **told)


def _choose(rows: list[Consequence], utility: float, breach: float) -> list[Choice]:
    from discreet.audit import choose_epsilons

    return choose_epsilons(rows, value_of_utility=utility, cost_of_breach=breach)


def _sentence(choice: Choice, presence: bool) -> str:
    best, (low, high) = choice.best, choice.neighbourhood
    found = "whether a record is there" if presence else "a rating"
    as_good = "no other epsilon that was tried is as good"
    if low < high:
        as_good = f"anything from {low:g} to {high:g} is as good"
    return (
        f"With {best.method} at epsilon {best.epsilon:g} per {best.of}, predictions are "
        f"{_percent(best.utility)} of the way from telling everybody the same to the best that "
        f"can be done without noise, and the best attack finds out {found} {_percent(best.risk)} "
        f"of the time, where guessing alone does {_percent(best.prior)} of the time; {as_good} "
        "within the accuracy of this experiment."
    )


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _hint(choice: Choice) -> None:
    if choice.is_edge:
        _console.note(
            f"epsilon {choice.best.epsilon:g} is at the end of those that were tried: "
            "try others beyond it with --epsilons"
        )


def _as_json(
    rows: list[Consequence], choices: list[Choice], sentence: str, warning: str
) -> dict[str, Any]:
    return {
        "note": warning,
        "sentence": sentence,
        "choices": [
            {
                "method": choice.best.method,
                "epsilon": choice.best.epsilon,
                "of": choice.best.of,
                "value": choice.value,
                "margin": choice.margin,
                "as_good": [row.epsilon for row in choice.as_good],
            }
            for choice in choices
        ],
        "rows": [row.as_json() for row in rows],
    }


def _show(
    rows: list[Consequence],
    choices: list[Choice],
    weights: tuple[float, float],
    warning: str,
    sentence: str,
) -> None:
    _console.say(f"{warning}\n")
    table = Table(box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for heading in ("epsilon", "", "utility", "risk", "RMSE", "value"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row, choices, weights))
    _console.out.print(table)
    best = choices[0].best
    _console.say(
        "\n* the smallest epsilon worth as much as any of this method's; + as good, at 95 %.\n"
        "Epsilon: " + "; ".join(_units(choices)) + ".\n"
        "Utility: 1 is what the best of these methods foresees without noise, 0 the same for all.\n"
        "Risk: how often an adversary is right who knows all other records and sees everything\n"
        f"that the method gives out. Guessing alone: {best.prior:.2f} by the other ratings, "
        f"{best.majority:.2f} by majority."
    )
    _console.say(f"\n{sentence}")


def _cells(row: Consequence, choices: list[Choice], weights: tuple[float, float]) -> list[str]:
    choice = next(choice for choice in choices if choice.best.method == row.method)
    mark = "*" if row is choice.best else "+" if row in choice.as_good else ""
    return [
        row.method,
        f"{row.epsilon:g}",
        mark,
        _banded(row.utility, row.utility_band),
        _banded(row.risk, row.risk_band),
        "" if row.error is None else f"{row.error:.3f}",
        f"{row.value(*weights):.4g}",
    ]


def _units(choices: list[Choice]) -> list[str]:
    """What each method's epsilon is of, those of one kind together."""
    kinds: dict[str, list[str]] = {}
    for choice in choices:
        kinds.setdefault(choice.best.of, []).append(choice.best.method)
    return [f"per {of} for {', '.join(names)}" for of, names in kinds.items()]


def _banded(middle: float, band: tuple[float, float]) -> str:
    return f"{middle:.2f} ± {(band[1] - band[0]) / 2:.2f}"
