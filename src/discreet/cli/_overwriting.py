"""Files that are there already: written over only where that was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.domain import InputError

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what an earlier run of this command wrote.")
]


def check_new(path: Path, overwrite: bool) -> None:
    """Refuse to write over a file that nobody said may be replaced.

    Raises:
        InputError: There is one.
    """
    if path.exists() and not overwrite:
        raise InputError("exists; choose another name, or say --overwrite", path=path)
