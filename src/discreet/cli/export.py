"""`discreet export`: a release for other systems: its items as vectors, a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.adapters.model_card import model_card
from discreet.cli import _console, _own_ratings
from discreet.domain import Hint, InputError
from discreet.domain.files import whole_file
from discreet.predict import load, vectors


def export(
    file: _own_ratings.ReleaseFile,
    vectors_file: Annotated[
        Path | None,
        typer.Option("--vectors", help="Write the items' vectors: .parquet, .arrow or .npz."),
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            help="What the vectors order lists by: best (as recommend), lists (what a person has), "
            "or expected (the expected rating)."
        ),
    ] = "best",
    card: Annotated[
        Path | None, typer.Option(help="Write a model card, as model hubs read it: README.md.")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="The card's title. [default: the file's name]")
    ] = None,
    licence: Annotated[
        str, typer.Option("--license", help="The card's licence, such as apache-2.0.")
    ] = "other",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
) -> None:
    """Write a release's items as vectors for an index of nearest neighbours, or a model card.

    The highest inner products with a person's query vector, which discreet.vectors(release).query
    makes, are their list. A query vector is as private as the ratings that it is made from.
    """
    if vectors_file is None and card is None:
        raise InputError("name what to write: --vectors items.parquet, or --card README.md")
    for path in (vectors_file, card):
        if path is not None and path.exists() and not overwrite:
            hint = Hint("overwrite", True)
            raise InputError(
                f"exists; choose another name, or give {hint}", path=path, hints=[hint]
            )
    release = load(file)
    if vectors_file is not None:
        chosen: Any = order
        found = vectors(release, order=chosen)
        found.save(vectors_file)
        count, size = found.items.shape
        said = f"{count:,} vectors of {size} numbers"
        _console.note(f"wrote {said} to {vectors_file}, ordered by {found.order}")
    if card is not None:
        text = model_card(release, title=title or file.stem, licence=licence)
        with whole_file(card) as temporary:
            temporary.write_text(text, encoding="utf-8")
        _console.note(f"wrote {card}")
