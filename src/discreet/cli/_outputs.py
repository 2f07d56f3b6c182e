"""What would keep a file from being written, found out before any work is done."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _console
from discreet.domain import InputError
from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file
from discreet.release import load

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that an earlier run wrote.")
]
Picture = Annotated[
    Path | None, typer.Option("--output", "-o", help="Draw a picture: a .png file.")
]


class _Tried(Exception):
    """The file could be made; it is not to be kept."""


def check_writable(path: Path) -> None:
    """Try it: make a file beside the output and remove it again.

    Raises:
        InputError: The folder is missing or not writable, or the output is not an ordinary file.
    """
    try:
        with whole_file(path):
            raise _Tried
    except _Tried:
        return


def check_new(path: Path, overwrite: bool) -> None:
    """Refuse to replace a file without `--overwrite`.

    Raises:
        InputError: There is one.
    """
    if path.exists() and not overwrite:
        raise InputError("exists; choose another name, or give --overwrite", path=path)


def check_replaceable(path: Path) -> None:
    """Refuse to replace anything but a release: ratings, a catalogue, a ledger.

    Raises:
        InputError: Another kind of file is there.
    """
    if not path.is_file():
        return
    try:
        load(path)
    except InputError:
        raise InputError("exists and is not a release; choose another name", path=path) from None


def check_room(path: Path, size: int) -> None:
    """Refuse a disk with less than `size` bytes left.

    Raises:
        InputError: There is too little room.
    """
    free = shutil.disk_usage(path.resolve().parent).free
    if free < size:
        needed, left = (_console.spell_size(n) for n in (size, free))
        raise InputError(f"needs {needed}, but its disk has only {left} left", path=path)


def check_drawing() -> None:
    """Refuse to draw where the library for it is missing.

    Raises:
        MissingPart: Matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPart.of("pictures need matplotlib", "plots")


def check_picture(path: Path | None) -> None:
    """Find out early whether a picture can be drawn and written; None if there is to be none.

    Raises:
        InputError: It cannot.
    """
    if path is None:
        return
    check_drawing()
    if path.suffix.lower() != ".png":
        raise InputError("a picture is a .png file", path=path)
    check_writable(path)
