"""`discreet evaluate`: how good releases would be, for the curator's eyes only."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from discreet.cli import _console, _inputs, _outputs, _pictures
from discreet.cli._console import Json
from discreet.cli._inputs import BudgetOptions, ReadingOptions
from discreet.evaluate import FEW_RATINGS, MOST_PEOPLE, Results, Row
from discreet.evaluate import evaluate as measure_quality
from discreet.methods import MethodName
from discreet.predict import Order
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
_UNPAID = (
    "Evaluating charged no ledger. A release's guarantee does not cover what these figures reveal: "
    "keep them to yourself, and know that an epsilon or setting chosen by them says something "
    "about the ratings. discreet choose-epsilon chooses on synthetic ratings instead."
)

_Splitting = Literal["random", "time", "leave-out", "netflix"]
_HELD_OUT: dict[_Splitting, str] = {
    "random": "{share:g} % of the ratings, at random",
    "time": "the latest {share:g} % of the ratings",
    "leave-out": "one rating of each user, at random",
    "netflix": "of each user's latest ratings, as in the Netflix Prize",
}
# Splits after which a model has seen what people did after the ratings it is judged by.
_FLATTERING: tuple[_Splitting, ...] = ("random", "leave-out")
_Epsilons = Annotated[str, typer.Option(help="Privacy budgets, separated by commas.")]
_Draws = Annotated[int, typer.Option(help="How many times to draw the noise of each budget.")]
_Method = Annotated[
    MethodName | None,
    typer.Option(help="The method of the private releases, as in fit. [default: as in fit]"),
]
_Predictors = Annotated[
    str | None,
    typer.Option(
        help="Some of posterior,svd,knn, separated by commas. [default: the method's own]"
    ),
]
_OrderChoice = Annotated[
    Order,
    typer.Option(
        help="The order of lists, as in recommend. best: what goes with people's items and they "
        "probably like; expected: by expected rating alone."
    ),
]
_Models = Annotated[
    str | None,
    typer.Option(
        help="Some of private,non-private,global-mean,item-mean,user-mean,popularity,"
        "recent-popularity. [default: all that apply]"
    ),
]
_Split = Annotated[
    _Splitting | None,
    typer.Option(
        help="Hold out the latest share of the ratings (time), a random share (random), one rating "
        "per user (leave-out), or as the Netflix Prize did (netflix). [default: time where ratings "
        "have times, else random]"
    ),
]
_Share = Annotated[float, typer.Option(help="The share of the ratings to hold out.")]
_Seed = Annotated[int, typer.Option(help="Seed of the split and of the noise.")]
_Few = Annotated[
    int, typer.Option(help="Users with at most this many training ratings are also shown apart.")
]
_People = Annotated[
    int, typer.Option(help="Evaluate on at most this many people, chosen at random.")
]


@_inputs.share_options()
def evaluate(
    ratings: _inputs.RatingsPath,
    *,
    epsilon: _Epsilons = "1",
    budget: BudgetOptions,
    draws: _Draws = 3,
    method: _Method = None,
    predictor: _Predictors = None,
    order: _OrderChoice = "best",
    models: _Models = None,
    split: _Split = None,
    share: _Share = 0.1,
    seed: _Seed = 1,
    people: _People = MOST_PEOPLE,
    few: _Few = FEW_RATINGS,
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
        _inputs.warn_of_epsilon(each, budget.protect)
    _outputs.check_picture(output)
    private = reading.read(ratings)
    how = split or ("random" if private.times is None else "time")
    parts = _split(private, how, share, seed)
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
            order=order,
            few=few,
            method=method,
            progress=progress,
            **chosen,
        )
    held_out = _HELD_OUT[how].format(share=100 * share)
    if json:
        _console.write_json(_as_json(rows, how, held_out, few))
    else:
        _show(rows, held_out, few)
    for line in rows.left_out:
        _console.note(line)
    _compare_with_baselines(rows)
    if output is not None:
        _pictures.draw_evaluation(output, rows)
        _console.note(f"the picture is in {output}")


def _as_json(rows: Results, how: _Splitting, held_out: str, few: int) -> dict[str, Any]:
    return {
        "note": f"{_WARNING} {_UNPAID}",
        "split": {"kind": how, "held_out": held_out},
        "few": few,
        "left_out": list(rows.left_out),
        "people": {"judged": rows.judged, "candidates": rows.candidates},
        "rows": [row.as_json() for row in rows],
    }


def _split(private: Ratings, how: _Splitting, share: float, seed: int) -> Split:
    """The parts, with a warning where the training part knows what came later."""
    if how in _FLATTERING and private.times is not None:
        _console.warn(
            f"--split {how} flatters: the training part holds ratings that are later than those "
            "held out; --split time is closer to real use"
        )
    match how:
        case "random":
            return split_random(private, share, seed)
        case "time":
            return split_by_time(private, share)
        case "leave-out":
            return split_leave_out(private, 1, seed)
        case "netflix":
            return split_netflix(private, seed)


def _show(rows: Results, held_out: str, few: int) -> None:
    _console.say(f"{_WARNING}\n")
    _console.say(f"held out: {held_out}")
    if rows.judged < rows.candidates:
        _console.say(
            f"evaluated on {rows.judged:,} of {rows.candidates:,} people, chosen at random; "
            "--people N for more"
        )
    for line in dict.fromkeys(_budget_line(row) for row in rows if row.epsilon is not None):
        _console.say(line)
    rated = any(row.rmse is not None for row in rows)
    several = len({row.predictor for row in rows if row.predictor is not None}) > 1
    figures = ("epsilon", *(("RMSE",) if rated else ()), "NDCG@10", "recall@20", "coverage")
    cells = [_cells(row, rated, several) for row in rows]
    _console.out.print(_console.table(("model",), (*figures, "NDCG@10, few"), cells))
    _console.say(_few_line(rows[0], few))
    if drawn := [row for row in rows if row.draws > 1]:
        _console.say(_spread_line(drawn))
    _console.say(f"\n{_UNPAID}")


def _compare_with_baselines(rows: list[Row]) -> None:
    """Say if private lists are worse than those by popularity alone, or ratings than a mean."""
    floor = max((row.ndcg_at_10 for row in rows if row.model == "popularity"), default=0.0)
    worst = min((row.ndcg_at_10 for row in rows if row.model == "private"), default=floor)
    if worst < floor:
        _console.note(
            f"private lists are worse than lists by popularity alone (NDCG@10 {worst:.4f}, not "
            f"{floor:.4f}): try a larger epsilon, or more ratings"
        )
    compare_errors(rows)


def compare_errors(rows: list[Row]) -> None:
    """Say if a mean predicts ratings better than a private release does."""
    means = [(row.rmse, row) for row in rows if row.rmse is not None and row.method is None]
    private = [(row.rmse, row) for row in rows if row.rmse is not None and row.model == "private"]
    if not means or not private:
        return
    least, best = min(means, key=lambda pair: pair[0])
    most, worst = max(private, key=lambda pair: pair[0])
    if most > least:
        bare = [row.rmse for row in rows if row.model == "non-private" and row.rmse is not None]
        reason = (
            "so is our model without noise: earlier ratings say little about these later ones"
            if bare and min(bare) > least
            else "the noise costs more than knowing tastes gains; try a larger epsilon, or more "
            "ratings"
        )
        _console.note(
            f"private ratings at epsilon {worst.epsilon:g} are worse than {best.model}, which is "
            f"not private (RMSE {most:.4f}, not {least:.4f}): {reason}"
        )


def _budget_line(row: Row) -> str:
    draws = "1 draw" if row.draws == 1 else f"{row.draws} draws"
    return f"{row.model}: epsilon per {row.protect}, delta {row.delta:g}, {draws} of the noise"


def _few_line(row: Row, few: int) -> str:
    if row.few is None:
        return f"few: none of {row.people:,} users has at most {few:,} training ratings"
    return f"few: users with at most {few:,} training ratings, {row.few.people:,} of {row.people:,}"


def _spread_line(rows: list[Row]) -> str:
    """How far the figures of single draws lie apart."""
    errors = [row.rmse_sd for row in rows if row.rmse_sd is not None]
    spreads = [f"RMSE {max(errors):.4f}"] if errors else []
    spreads.append(f"NDCG@10 {max(row.ndcg_sd for row in rows):.4f}")
    return f"standard deviation over draws, at most: {', '.join(spreads)}"


def _cells(row: Row, rated: bool, several: bool) -> list[str]:
    named = f"{row.model}, {row.predictor}" if several and row.predictor else row.model
    cells = [named, "" if row.epsilon is None else f"{row.epsilon:g}"]
    if rated:
        cells.append("" if row.rmse is None else f"{row.rmse:.4f}")
    cells += [f"{row.ndcg_at_10:.4f}", f"{row.recall_at_20:.4f}", f"{100 * row.coverage:.1f} %"]
    return [*cells, "" if row.few is None else f"{row.few.ndcg_at_10:.4f}"]
