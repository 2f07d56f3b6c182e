"""`discreet similar`: the items most like one, from a release alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from discreet.cli import _console, _own_ratings
from discreet.cli._console import Json
from discreet.domain import InputError
from discreet.predict import load


def similar(
    file: _own_ratings.ReleaseFile,
    title: Annotated[str, typer.Argument(help="An item's title or id.")],
    n: Annotated[int, typer.Option("-n", "--number", help="How many items to list.")] = 10,
    only: _own_ratings.Only = None,
    exclude: _own_ratings.Exclude = None,
    where: _own_ratings.Conditions = None,
    json: Json = False,
) -> None:
    """List the items most like one, from a release alone.

    Similarity is at most 1, for items that the same people have. Everything is computed on this
    machine and nothing is sent.
    """
    if n < 1:
        raise InputError(f"-n is how many items to list, at least 1, not {n}")
    release = load(file)
    catalog = release.catalog
    if catalog.find(title) is None:
        meant = _own_ratings.meant(title, catalog)
        raise InputError(f"'{title}' is not in the catalogue of {len(catalog):,} items{meant}")
    filters = _own_ratings.filters(catalog, only, exclude, where)
    found = release.predictor().similar(title, n, **filters)
    _own_ratings.report_unknown(found.unknown, catalog)
    if json:
        entries = [asdict(entry) for entry in found]
        _console.write_json({"similar": entries, "unknown": list(found.unknown)})
        return
    if not found:
        _console.note(f"the release knows of no items like '{title}' that fit")
        return
    rows = [(entry.title, f"{entry.similarity:.2f}") for entry in found]
    _console.out.print(_console.table(("title",), ("similarity",), rows, wraps=True))
    if "list_rows" in release.arrays and not release.learnt.list_directions:
        _console.note(
            "take this lightly: too little was learnt about who has which items together to tell "
            "similar items apart"
        )
