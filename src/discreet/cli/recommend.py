"""`discreet recommend`: what one person may like, computed at home."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _console, _own_ratings
from discreet.cli._console import Json
from discreet.domain import InputError
from discreet.predict import Order, Recommendation, Recommendations, load


def recommend(
    file: _own_ratings.ReleaseFile,
    ratings: _own_ratings.RatingsFile = None,
    like: _own_ratings.Likes = None,
    n: Annotated[int, typer.Option("-n", "--number", help="How many items to recommend.")] = 10,
    predictor: _own_ratings.PredictorName = None,
    order: Annotated[
        Order,
        typer.Option(
            help="best: by what the person has and probably likes; expected: by expected rating."
        ),
    ] = "best",
    available: Annotated[
        Path | None,
        typer.Option(help="Recommend only these items: a file with an id or title per line."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which own ratings count most for each item.")
    ] = False,
    json: Json = False,
) -> None:
    """Recommend items from a release and one person's own ratings.

    Everything is computed on this machine and nothing is sent. The predicted rating is shown
    beside each item; for a release of interactions, approximately the probability that the person
    has the item.
    """
    if n < 1:
        raise InputError(f"-n is how many items to recommend, at least 1, not {n}")
    release = load(file)
    presence = release.scale.presence
    own = _own_ratings.read(ratings, like, presence=presence)
    names = None if available is None else _own_ratings.read_names(available)
    model = release.predictor(predictor, order=order)
    found: Recommendations = model.recommend(own, n, available=names, explain=explain)
    _own_ratings.report_unknown(found.unknown, release.catalog)
    if json:
        entries = [_as_json(entry, presence) for entry in found]
        _console.write_json({"recommendations": entries, "unknown": list(found.unknown)})
        return
    if not own:
        _console.note("no own ratings given: these are recommendations for an unknown person")
    left = ("id", "title", "because of") if explain else ("id", "title")
    rows = [
        (
            entry.id, entry.title, *([_reasons(entry)] if explain else []),
            _own_ratings.spell(entry.score, presence),
        )
        for entry in found
    ]  # fmt: skip
    _console.out.print(_console.table(left, (_own_ratings.heading(presence),), rows, wraps=True))


def _as_json(entry: Recommendation, presence: bool) -> dict[str, Any]:
    plain = asdict(entry)
    if presence:
        plain["chance"] = plain.pop("score")
    return plain


def _reasons(entry: Recommendation) -> str:
    return ", ".join(f"{title} ({by:+.2f})" for title, by in entry.because)
