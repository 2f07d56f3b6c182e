"""`discreet recommend`: what one person may like, computed at home."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from discreet.cli import _console, _own_ratings
from discreet.cli._console import Json
from discreet.domain import InputError
from discreet.predict import Order, load
from discreet.release import Recommender


def recommend(
    file: _own_ratings.ReleaseFile,
    ratings: _own_ratings.RatingsFile = None,
    like: _own_ratings.Likes = None,
    n: Annotated[int, typer.Option("-n", "--number", help="How many items to recommend.")] = 10,
    predictor: _own_ratings.PredictorName = None,
    order: Annotated[
        Order,
        typer.Option(
            help="best: what goes with your items and you probably like; expected: by expected "
            "rating alone."
        ),
    ] = "best",
    only: _own_ratings.Only = None,
    exclude: _own_ratings.Exclude = None,
    where: _own_ratings.Conditions = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which own ratings count most for each item.")
    ] = False,
    json: Json = False,
) -> None:
    """Recommend items from a release and one person's own ratings.

    Everything is computed on this machine and nothing is sent. If the release predicts ratings,
    the expected rating is shown beside each item.
    """
    if n < 1:
        raise InputError(f"-n is how many items to recommend, at least 1, not {n}")
    release = load(file)
    given = _own_ratings.read(ratings, like, presence=release.scale.presence)
    model = release.predictor(predictor, order=order)
    own = model.read(given)
    filters = _own_ratings.filters(release.catalog, only, exclude, where)
    found = model.recommend(own, n, explain=explain, **filters)
    _own_ratings.report_unknown(found.unknown, release.catalog)
    ordered_by = _ordered_by(model, order, has_history=len(own) > 0)
    if json:
        _console.write_json(
            {
                "ordered_by": ordered_by,
                "learnt": release.learnt.sentences(),
                "recommendations": [asdict(entry) for entry in found],
                "unknown": list(found.unknown),
            }
        )
        return
    if not given:
        _console.note("no own ratings given: these are recommendations for an unknown person")
    left = ("title", "because of") if explain else ("title",)
    right = ("expected",) if model.predicts_ratings else ()
    rows = [
        (
            entry.title,
            *([", ".join(title for title, _ in entry.because)] if explain else []),
            *([] if entry.expected is None else [f"{entry.expected:.2f}"]),
        )
        for entry in found
    ]
    _console.out.print(_console.table(left, right, rows, wraps=True))
    _console.say(f"\nOrdered by {ordered_by}.")
    if release.learnt.is_little:
        _console.say(release.learnt.sentences()[0])
        if explain and any(entry.because for entry in found):
            _console.say(
                "Take the reasons lightly: so little was learnt about tastes that they mostly "
                "reflect how popular your items are."
            )


def _ordered_by(model: Recommender, order: Order, *, has_history: bool) -> str:
    """What a list is ordered by, in words."""
    if order == "expected":
        return "expected rating"
    has_lists = "list_rows" in model.release.arrays
    if not has_lists and not model.predicts_ratings:
        return "how likely you are to have each item"
    # Releases made by others may not say how many directions they found.
    personal = has_lists and has_history and model.release.parameters.get("list_directions", 1)
    first = "how well each item goes with yours" if personal else "popularity"
    return f"{first} and how likely you are to like it" if model.predicts_ratings else first
