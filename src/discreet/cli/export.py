"""`discreet export`: a release's items as vectors, for an index of nearest neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _console, _own_ratings
from discreet.domain import Hint, InputError
from discreet.predict import load, vectors


def export(
    file: _own_ratings.ReleaseFile,
    vectors_file: Annotated[
        Path, typer.Option("--vectors", help="The file to write: .parquet, .arrow or .npz.")
    ],
    order: Annotated[
        str,
        typer.Option(
            help="What lists are ordered by: best (as recommend), lists (by what a person has), or "
            "expected (by expected rating)."
        ),
    ] = "best",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a release's items as vectors, for an index of nearest neighbours.

    The highest inner products with a person's query vector, which discreet.vectors(release).query
    makes, are their list. A query vector is as private as the ratings that it is made from.
    """
    if vectors_file.exists() and not overwrite:
        hint = Hint("overwrite", True)
        raise InputError(
            f"exists; choose another name, or give {hint}", path=vectors_file, hints=[hint]
        )
    chosen: Any = order
    found = vectors(load(file), order=chosen)
    found.save(vectors_file)
    count, size = found.items.shape
    _console.note(
        f"wrote {count:,} vectors of {size} numbers to {vectors_file}, ordered by {found.order}"
    )
