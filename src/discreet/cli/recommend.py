"""`discreet recommend`: what one person may like, worked out at home."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from discreet.cli import _console, _own_ratings
from discreet.cli._inputs import Json
from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.predict import Recommendation, Recommendations


def recommend(
    file: _own_ratings.ReleaseFile,
    ratings: _own_ratings.RatingsFile = None,
    like: _own_ratings.Likes = None,
    n: Annotated[int, typer.Option("-n", "--number", help="How many.")] = 10,
    predictor: _own_ratings.PredictorName = None,
    popularity: Annotated[
        float, typer.Option(help="How much being popular counts, beside the expected rating.")
    ] = 0.0,
    available: Annotated[
        Path | None, typer.Option(help="Choose among these: an id or title on each line.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which own ratings speak most for each item.")
    ] = False,
    json: Json = False,
) -> None:
    """Recommend items from a release and a person's own ratings, which go nowhere.

    Beside each is the rating to expect. If the release is of presence, it is the chance that the
    person has the item, about.
    """
    from discreet.predict import load

    if n < 1:
        raise InputError(f"-n is how many items to recommend, 1 or more, not {n}")
    release = load(file)
    own = _own_ratings.read(ratings, like, presence=release.scale.presence)
    names = None if available is None else _own_ratings.read_names(available)
    model = release.predictor(predictor, popularity=popularity)
    found: Recommendations = model.recommend(own, n, available=names, explain=explain)
    _own_ratings.report_unknown(found.unknown, release.catalog)
    presence = release.scale.presence
    if json:
        entries = [_as_json(entry, presence) for entry in found]
        _console.write_json({"recommendations": entries, "unknown": list(found.unknown)})
        return
    if not own:
        _console.note("no own ratings were given: these are for somebody unknown")
    _console.out.print(_table(found, explain, presence))


def _as_json(entry: Recommendation, presence: bool) -> dict[str, Any]:
    plain = asdict(entry)
    if presence:
        plain["chance"] = plain.pop("score")
    return plain


def _table(found: Recommendations, explain: bool, presence: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "title", *(["because of"] if explain else [])):
        table.add_column(heading)
    table.add_column("chance" if presence else "expected", justify="right")
    for entry in found:
        cells = [entry.id, entry.title, *([_reasons(entry)] if explain else [])]
        table.add_row(*map(Text, cells), _own_ratings.spell(entry.score, presence))
    return table


def _reasons(entry: Recommendation) -> str:
    return ", ".join(f"{title} ({by:+.2f})" for title, by in entry.because)
