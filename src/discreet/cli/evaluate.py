"""`discreet evaluate`: how good releases would be, for the curator's eyes only."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from discreet.cli import _console, _inputs, _outputs, _pictures
from discreet.cli._console import Json
from discreet.cli._inputs import BudgetOptions, ReadingOptions
from discreet.evaluate import Row
from discreet.evaluate import evaluate as measure_quality
from discreet.methods import MethodName
from discreet.privacy import Noise
from discreet.ratings import (
    Ratings,
    Split,
    split_by_time,
    split_leave_out,
    split_netflix,
    split_random,
)

_WARNING = (
    "For the curator's eyes only: these figures were computed from private ratings and are not "
    "private."
)

_Splitting = Literal["random", "time", "leave-out", "netflix"]
_Epsilons = Annotated[str, typer.Option(help="Privacy budgets, separated by commas.")]
_Draws = Annotated[int, typer.Option(help="How many times to draw the noise of each budget.")]
_Predictors = Annotated[
    str | None,
    typer.Option(
        help="Some of posterior,svd,knn, separated by commas. [default: the method's own]"
    ),
]
_Popularity = Annotated[
    float, typer.Option(help="The weight of popularity in recommendation lists.")
]
_Models = Annotated[
    str | None,
    typer.Option(
        help="Some of private,non-private,global-mean,item-mean,user-mean,popularity. "
        "[default: all that apply]"
    ),
]
_Split = Annotated[
    _Splitting,
    typer.Option(
        help="Hold out a random share of the ratings (random), the latest share (time), one rating "
        "per user (leave-out), or as the Netflix Prize did (netflix)."
    ),
]
_Share = Annotated[float, typer.Option(help="The share of the ratings to hold out.")]
_Seed = Annotated[int, typer.Option(help="Seed of the split and of the noise.")]
_People = Annotated[
    int | None,
    typer.Option(help="Evaluate on at most this many users, chosen at random. [default: all]"),
]


@_inputs.share_options()
def evaluate(
    ratings: _inputs.RatingsPath,
    *,
    epsilon: _Epsilons = "1",
    budget: BudgetOptions,
    draws: _Draws = 3,
    method: _inputs.MethodChoice = MethodName.REFINED,
    predictor: _Predictors = None,
    popularity: _Popularity = 0.0,
    models: _Models = None,
    split: _Split = "random",
    share: _Share = 0.1,
    seed: _Seed = 1,
    people: _People = None,
    rank: _inputs.Rank = None,
    features: _inputs.FeaturesFile = None,
    output: _outputs.Picture = None,
    reading: ReadingOptions,
    json: Json = False,
) -> None:
    """Compare private releases with baselines on held-out ratings.

    For the curator's eyes only: the figures are not private.
    """
    epsilons = _inputs.parse_numbers("--epsilon", epsilon)
    if budget.noise is Noise.LAPLACE:
        budget = replace(budget, delta=None)
    budget.check(epsilons)
    for each in epsilons:
        _inputs.warn_of_epsilon(each)
    _outputs.check_picture(output)
    private = reading.read(ratings)
    parts = _split(private, split, share, seed)
    chosen: dict[str, Any] = {
        "predictors": _inputs.parse_names(predictor),
        "rank": rank,
        "models": _inputs.parse_names(models),
    }
    chosen = {name: value for name, value in chosen.items() if value is not None}
    chosen |= _inputs.read_features(features, private.catalog)
    with _console.stages() as progress:
        rows = measure_quality(
            parts,
            protect=budget.protect,
            epsilons=epsilons,
            delta=budget.gaussian_delta,
            noise=budget.noise,
            draws=draws,
            seed=seed,
            people=people,
            popularity=popularity,
            method=method,
            progress=progress,
            **chosen,
        )
    _show(rows, json)
    if popularity == 0:
        _suggest_popularity(rows)
    if output is not None:
        _pictures.draw_evaluation(output, rows)
        _console.note(f"the picture is in {output}")


def _split(private: Ratings, how: _Splitting, share: float, seed: int) -> Split:
    match how:
        case "random":
            return split_random(private, share, seed)
        case "time":
            return split_by_time(private, share)
        case "leave-out":
            return split_leave_out(private, 1, seed)
        case "netflix":
            return split_netflix(private, seed)


def _show(rows: list[Row], as_json: bool) -> None:
    if as_json:
        _console.write_json({"note": _WARNING, "rows": [row.as_json() for row in rows]})
        return
    _console.say(f"{_WARNING}\n")
    for line in dict.fromkeys(_budget_line(row) for row in rows if row.epsilon is not None):
        _console.say(line)
    of_ratings = ("RMSE", "MAE") if any(row.rmse is not None for row in rows) else ()
    figures = ("epsilon", *of_ratings, "NDCG@10", "recall@20")
    _console.out.print(_console.table(("model", "predictor"), figures, map(_cells, rows)))


def _suggest_popularity(rows: list[Row]) -> None:
    """If private lists are worse than those by popularity alone, say what may help."""
    floor = max((row.ndcg_at_10 for row in rows if row.model == "popularity"), default=0.0)
    worst = min((row.ndcg_at_10 for row in rows if row.model == "private"), default=floor)
    if worst < floor:
        _console.note(
            f"private lists are worse than lists by popularity alone (NDCG@10 {worst:.4f}, not "
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
    # Without a deviation, blanks of the same width keep the numbers in one column.
    return f"{mean:.4f}" + (f" ± {deviation:.4f}" if row.draws > 1 else " " * 9)
