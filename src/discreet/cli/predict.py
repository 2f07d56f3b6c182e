"""`discreet predict`: what one person would rate, computed at home."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import _console, _own_ratings
from discreet.cli._console import Json
from discreet.domain import Catalog, InputError
from discreet.predict import load


def predict(
    file: _own_ratings.ReleaseFile,
    ratings: _own_ratings.RatingsFile = None,
    like: _own_ratings.Likes = None,
    items: Annotated[
        list[str] | None, typer.Option(help="An item's id or title; repeatable. [default: all]")
    ] = None,
    predictor: _own_ratings.PredictorName = None,
    json: Json = False,
) -> None:
    """Predict one person's ratings from a release and their own ratings.

    Everything is computed on this machine and nothing is sent.
    """
    release = load(file)
    model = release.predictor(predictor)
    if not model.predicts_ratings:
        raise InputError("predicts no ratings; see discreet recommend", path=file)
    own = _own_ratings.read(ratings, like)
    known = model.read(own)
    catalog = model.catalog
    wanted, missing = _find(catalog, items)
    unknown = [*known.unknown, *missing]
    _own_ratings.report_unknown(unknown, catalog)
    predicted = zip(wanted, model.predict(known, wanted).tolist(), strict=True)
    if json:
        entries = [
            {"item": i, "id": catalog.ids[i], "title": catalog.titles[i], "rating": rating}
            for i, rating in predicted
        ]
        _console.write_json({"predictions": entries, "unknown": unknown})
        return
    rows = [(catalog.ids[i], catalog.titles[i], f"{rating:.2f}") for i, rating in predicted]
    _console.out.print(_console.table(("id", "title"), ("expected",), rows, wraps=True))


def _find(catalog: Catalog, items: list[str] | None) -> tuple[list[int], list[str]]:
    """The indices of the wanted items, all if none are named, and the names that are unknown."""
    if not items:
        return list(range(len(catalog))), []
    found = {name: catalog.find(name) for name in items}
    known = [index for index in found.values() if index is not None]
    if not known:
        meant = _own_ratings.meant(items[0], catalog)
        raise InputError(f"none of --items is in the catalogue of {len(catalog):,} items{meant}")
    return known, [name for name, index in found.items() if index is None]
