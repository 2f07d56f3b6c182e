"""`discreet choose-epsilon`: an epsilon by its consequences, for a person who has to choose one."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from discreet.audit import Choice, Consequence
from discreet.audit import choose_epsilon as choose
from discreet.cli import _console, _inputs, _outputs, _pictures
from discreet.cli._console import Json
from discreet.cli._inputs import BudgetOptions, ReadingOptions
from discreet.domain import InputError
from discreet.ratings import Shape, find_shape

_SHAPE = "2000,100,40000"

_Path = Annotated[
    str | None,
    typer.Argument(
        help="Public ratings: a file, or the folder of a data set. [default: synthetic ratings]"
    ),
]
_Value = Annotated[
    float, typer.Option(help="The value of predictions as good as the best without noise.")
]
_Cost = Annotated[float, typer.Option(help="The cost of an attacker learning every rating.")]
_Methods = Annotated[
    str | None,
    typer.Option(
        help="Some of refined,covariance,slope-one,cosine,modified-laplace,randomized-response,"
        "slope-one-answers. [default: all that apply]"
    ),
]
_Epsilons = Annotated[str, typer.Option(help="The epsilons to choose from, separated by commas.")]
_Attacks = Annotated[int, typer.Option(help="How many attacks to run per method and epsilon.")]
_Draws = Annotated[int, typer.Option(help="How many times to draw the noise of each release.")]
_Seed = Annotated[int, typer.Option(help="Seed of synthetic ratings, victims and noise.", min=0)]
_ShapeName = Annotated[
    str,
    typer.Option(
        help="The shape of synthetic ratings: users,items,ratings, or a name from discreet data "
        "list."
    ),
]


@_inputs.share_options(without=["noise", "most_ratings"])
def choose_epsilon(
    ratings: _Path = None,
    *,
    value_of_utility: _Value,
    cost_of_breach: _Cost,
    methods: _Methods = None,
    epsilons: _Epsilons = "0.1,0.3,1,3,10,30",
    budget: BudgetOptions,
    attacks: _Attacks = 80,
    draws: _Draws = 4,
    seed: _Seed = 1,
    shape: _ShapeName = _SHAPE,
    output: _outputs.Picture = None,
    reading: ReadingOptions,
    json: Json = False,
) -> None:
    """Run real attacks against releases and choose the epsilon with the best value.

    The value of an epsilon is the value of utility times the utility of the predictions, less the
    cost of a breach times the rate at which the best attack succeeds.
    """
    weights = value_of_utility, cost_of_breach
    tried = _inputs.parse_numbers("--epsilons", epsilons)
    _check(weights, tried, budget)
    _outputs.check_picture(output)
    data = _shape(shape) if ratings is None else reading.read(ratings)
    with _console.stages() as progress:
        chosen = choose(
            data,
            value_of_utility=value_of_utility,
            cost_of_breach=cost_of_breach,
            methods=_inputs.parse_names(methods),
            epsilons=tried,
            protect=budget.protect,
            delta=budget.gaussian_delta,
            attacks=attacks,
            draws=draws,
            seed=seed,
            implicit=reading.implicit,
            progress=progress,
        )
    rows, choices = list(chosen.rows), list(chosen.choices)
    if json:
        _console.write_json(chosen.as_json())
    else:
        _show(rows, choices, weights, chosen.note, chosen.sentence)
    for line in chosen.left_out:
        _console.note(line)
    if choices[0].is_edge:
        _console.note(
            f"epsilon {choices[0].best.epsilon:g} is at the end of those that were tried: try "
            "others beyond it with --epsilons"
        )
    if output is not None:
        _pictures.draw_choice(output, rows, choices, weights, private=ratings is not None)
        _console.note(f"the picture is in {output}")


def _check(weights: tuple[float, float], epsilons: list[float], budget: BudgetOptions) -> None:
    """Refuse what is known to be wrong before anything is read."""
    for option, weight in zip(("--value-of-utility", "--cost-of-breach"), weights, strict=True):
        if not (math.isfinite(weight) and weight >= 0):
            raise InputError(f"{option} is a number from 0 on, not {weight:g}")
    if any(map(math.isinf, epsilons)):
        raise InputError("without noise nothing is private: epsilons must be finite")
    budget.check(epsilons)


def _shape(text: str) -> Shape:
    parts = text.split(",")
    if len(parts) == 3 and all(part.strip().isdecimal() for part in parts):
        users, items, ratings = map(int, parts)
        return Shape(users=users, items=items, ratings=ratings)
    if len(parts) == 1:
        return find_shape(text)
    raise InputError(f"--shape is users,items,ratings, like {_SHAPE}, or a name like ml-100k")


def _show(
    rows: list[Consequence],
    choices: list[Choice],
    weights: tuple[float, float],
    warning: str,
    sentence: str,
) -> None:
    _console.say(f"{warning}\n")
    figures = ("epsilon", "", "utility", "risk", "RMSE", "value")
    cells = [_cells(row, choices, weights) for row in rows]
    _console.out.print(_console.table(("method",), figures, cells))
    best = choices[0].best
    _console.say(
        "\n* the smallest epsilon of a method that is as good as its best; + as good, at 95 %.\n"
        "Epsilon: " + "; ".join(_units(choices)) + ".\n"
        "Utility: 1 for the best of these methods without noise, 0 for a constant prediction.\n"
        "Risk: how often an attacker is right who knows all other records and sees everything\n"
        f"that the method publishes. Guessing alone: {best.prior:.2f} from the other ratings, "
        f"{best.majority:.2f} by majority."
    )
    if best.people < best.candidates:
        _console.say(
            f"Utility was measured on {best.people:,} of {best.candidates:,} people, chosen at "
            "random."
        )
    _console.say(f"\n{sentence}")


def _cells(row: Consequence, choices: list[Choice], weights: tuple[float, float]) -> list[str]:
    choice = next(choice for choice in choices if choice.best.method == row.method)
    mark = "*" if row is choice.best else "+" if row in choice.as_good else ""
    return [
        row.method,
        f"{row.epsilon:g}",
        mark,
        _interval(row.utility, row.utility_band),
        _interval(row.risk, row.risk_band),
        "" if row.error is None else f"{row.error:.3f}",
        f"{row.value(*weights):.4g}",
    ]


def _units(choices: list[Choice]) -> list[str]:
    """What each method's epsilon protects, methods of one kind together."""
    kinds: dict[str, list[str]] = {}
    for choice in choices:
        kinds.setdefault(choice.best.of, []).append(choice.best.method)
    return [f"per {of} for {', '.join(names)}" for of, names in kinds.items()]


def _interval(middle: float, band: tuple[float, float]) -> str:
    return f"{middle:.2f} ± {(band[1] - band[0]) / 2:.2f}"
