"""`discreet predict`: what one person would rate, worked out at home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from discreet.cli import _console, _own_ratings
from discreet.cli._inputs import Json
from discreet.domain import Catalog, InputError

if TYPE_CHECKING:
    from discreet.predict import Predictor


def predict(
    file: _own_ratings.ReleaseFile,
    ratings: _own_ratings.RatingsFile = None,
    like: _own_ratings.Likes = None,
    items: Annotated[
        list[str] | None, typer.Option(help="An id or title; repeat for more. [default: all]")
    ] = None,
    predictor: _own_ratings.PredictorName = None,
    json: Json = False,
) -> None:
    """Predict ratings from a release and a person's own ratings, which go nowhere.

    If the release is of presence, it is the chance that the person has the item, about.
    """
    from discreet.predict import load

    release = load(file)
    own = _own_ratings.read(ratings, like, presence=release.scale.presence)
    model: Predictor = release.predictor(predictor)
    known = model.read(own)
    catalog, presence = model.catalog, release.scale.presence
    wanted, missing = _find(catalog, items)
    unknown = [*known.unknown, *missing]
    _own_ratings.report_unknown(unknown, catalog)
    expected = model.predict(known, wanted).tolist()
    if json:
        name = "chance" if presence else "rating"
        entries = [
            {"item": i, "id": catalog.ids[i], "title": catalog.titles[i], name: rating}
            for i, rating in zip(wanted, expected, strict=True)
        ]
        _console.write_json({"predictions": entries, "unknown": unknown})
        return
    table = Table("id", "title", box=None, pad_edge=False)
    table.add_column("chance" if presence else "expected", justify="right")
    for i, rating in zip(wanted, expected, strict=True):
        shown = _own_ratings.spell(rating, presence)
        table.add_row(Text(catalog.ids[i]), Text(catalog.titles[i]), shown)
    _console.out.print(table)


def _find(catalog: Catalog, items: list[str] | None) -> tuple[list[int], list[str]]:
    """The indices of the wanted items, all if none were told, and the names that are none."""
    if not items:
        return list(range(len(catalog))), []
    found = {name: catalog.find(name) for name in items}
    known = [index for index in found.values() if index is not None]
    if not known:
        meant = _own_ratings.meant(items[0], catalog)
        raise InputError(f"none of --items is in the catalogue of {len(catalog):,} items{meant}")
    return known, [name for name, index in found.items() if index is None]
