"""`discreet evaluate`: how good releases would be, for the curator's eyes only."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from discreet.cli import _budget, _console, _evaluation_picture, _inputs, _outputs
from discreet.cli._budget import Method, Noise
from discreet.cli._inputs import BadRows
from discreet.cli._progress import stages
from discreet.domain import InputError
from discreet.privacy import Unit

if TYPE_CHECKING:
    from discreet.evaluate import Row
    from discreet.ratings import Ratings, Split

_WARNING = (
    "For the curator's eyes only: these figures were read off private ratings and are not private."
)


class Splitting(enum.StrEnum):
    """How ratings are parted into training and test."""

    RANDOM = "random"
    TIME = "time"
    LEAVE_OUT = "leave-out"
    NETFLIX = "netflix"


_Epsilons = Annotated[str, typer.Option(help="Budgets, with commas between them.")]
_Delta = Annotated[float, typer.Option(help="Of each budget.")]
_Draws = Annotated[int, typer.Option(help="How often each noise is drawn.")]
_Predictors = Annotated[
    str | None,
    typer.Option(help="posterior, svd, knn, or several: svd,knn. [default: the method's own]"),
]
_Popularity = Annotated[float, typer.Option(help="How much being popular counts in lists.")]
_Models = Annotated[
    str | None,
    typer.Option(
        help="Some of private,non-private,global-mean,item-mean,user-mean,popularity. "
        "[default: all that make sense]"
    ),
]
_Split = Annotated[
    Splitting,
    typer.Option(help="Test on a random or the latest share, one per user, or a probe."),
]
_Share = Annotated[float, typer.Option(help="Of the ratings, for testing.")]
_Seed = Annotated[int, typer.Option(help="Of the split and of the noise.")]
_People = Annotated[int | None, typer.Option(help="Judge by at most so many. [default: all]")]
_Picture = Annotated[
    Path | None, typer.Option("--output", "-o", help="Draw a picture: a .png file.")
]


def evaluate(
    ratings: _inputs.RatingsPath,
    protect: _budget.Protect = Unit.USER,
    epsilon: _Epsilons = "1",
    delta: _Delta = _budget.DELTA,
    noise: _budget.NoiseKind = Noise.GAUSSIAN,
    draws: _Draws = 3,
    method: _budget.MethodName = Method.REFINED,
    predictor: _Predictors = None,
    popularity: _Popularity = 0.0,
    models: _Models = None,
    split: _Split = Splitting.RANDOM,
    share: _Share = 0.1,
    seed: _Seed = 1,
    people: _People = None,
    rank: _budget.Rank = None,
    features: _inputs.FeaturesFile = None,
    output: _Picture = None,
    implicit: _inputs.Implicit = False,
    scale: _inputs.ScaleText = None,
    catalog: _inputs.CatalogName = None,
    columns: _inputs.ColumnsText = None,
    separator: _inputs.Separator = None,
    quoting: _inputs.QuotingName = None,
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    most_ratings: _inputs.MostRatings = None,
    json: _inputs.Json = False,
) -> None:
    """Compare private releases with others on a split, for the curator's eyes only."""
    budgets = _epsilons(epsilon)
    _check(budgets, delta, noise, output)
    how = (layout, on_bad_rows, implicit, most_ratings, separator, quoting)
    private = _inputs.read(ratings, scale, catalog, columns, *how)
    parted = _part(private, split, share, seed)
    told = {"protect": protect, "epsilons": budgets, "delta": delta, "noise": noise.value}
    told |= {"draws": draws, "seed": seed, "people": people, "popularity": popularity}
    told |= {"method": method.value} | _inputs.read_features(features, private.catalog)
    told |= {} if predictor is None else {"predictors": _names(predictor)}
    told |= {} if rank is None else {"rank": rank}
    told |= {} if models is None else {"models": _names(models)}
    rows = _judge(parted, told)
    _show(rows, json)
    if popularity == 0:
        _hint(rows)
    if output is not None:
        _evaluation_picture.draw(output, rows)
        _console.note(f"the picture is in {output}")


def _check(budgets: list[float], delta: float, noise: Noise, output: Path | None) -> None:
    """What can be known to be wrong before anything is read."""
    for budget in budgets:
        _budget.check(budget, delta if noise is Noise.GAUSSIAN else None, None, noise)
        _budget.warn_epsilon(budget)
    if output is not None:
        _evaluation_picture.check_installed()
        if output.suffix.lower() != ".png":
            raise InputError("a picture is a .png file", path=output)
        _outputs.check_writable(output)


def _judge(parted: Split, told: dict[str, Any]) -> list[Row]:
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.evaluate import evaluate

    with stages() as progress:
        return evaluate(parted, progress=progress, **told)


def _epsilons(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError("--epsilon is a list of numbers, like --epsilon 0.5,1,4") from None


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _part(private: Ratings, how: Splitting, share: float, seed: int) -> Split:
    from discreet import ratings as room

    if how is Splitting.RANDOM:
        return room.split_random(private, share, seed)
    if how is Splitting.TIME:
        return room.split_by_time(private, share)
    if how is Splitting.LEAVE_OUT:
        return room.split_leave_out(private, 1, seed)
    return room.split_netflix(private, seed)


def _show(rows: list[Row], as_json: bool) -> None:
    if as_json:
        _console.write_json({"note": _WARNING, "rows": [row.as_json() for row in rows]})
        return
    _console.say(f"{_WARNING}\n")
    for line in dict.fromkeys(_budget_line(row) for row in rows if row.epsilon is not None):
        _console.say(line)
    table = Table(box=None, pad_edge=False)
    for heading in ("model", "predictor"):
        table.add_column(heading, no_wrap=True)
    of_ratings = ("RMSE", "MAE") if any(row.rmse is not None for row in rows) else ()
    for heading in ("epsilon", *of_ratings, "NDCG@10", "recall@20"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    _console.out.print(table)


def _hint(rows: list[Row]) -> None:
    """If private lists are worse than those of popularity alone, say what may mend it."""
    floor = max((row.ndcg_at_10 for row in rows if row.model == "popularity"), default=0.0)
    worst = min((row.ndcg_at_10 for row in rows if row.model == "private"), default=floor)
    if worst < floor:
        _console.note(
            f"private lists are worse than those of popularity alone (NDCG@10 {worst:.4f}, not "
            f"{floor:.4f}): try --popularity 1, here and in recommend"
        )


def _budget_line(row: Row) -> str:
    draws = "1 draw" if row.draws == 1 else f"{row.draws} draws"
    return f"{row.model}: epsilon per {row.protect}, delta {row.delta:g}, {draws} of the noise"


def _cells(row: Row) -> list[str]:
    epsilon = "" if row.epsilon is None else f"{row.epsilon:g}"
    cells = [row.model, row.predictor or "", epsilon]
    if row.rmse is None:
        cells += [_spread(row, row.ndcg_at_10, row.ndcg_sd)]
    else:
        cells += [_spread(row, row.rmse, row.rmse_sd), f"{row.mae:.4f}", f"{row.ndcg_at_10:.4f}"]
    return [*cells, f"{row.recall_at_20:.4f}"]


def _spread(row: Row, mean: float, deviation: float | None) -> str:
    return f"{mean:.4f}" + (f" ± {deviation:.4f}" if row.draws > 1 else " " * 9)
