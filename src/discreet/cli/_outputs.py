"""Finding out early what would keep a file from being written."""

from __future__ import annotations

import shutil
from pathlib import Path

from discreet.cli import _console
from discreet.domain import InputError
from discreet.domain.files import whole_file


class _Tried(Exception):
    """The file could be made; it is not to be kept."""


def check_writable(path: Path) -> None:
    """Try it: a file beside the output is made and taken away again.

    Raises:
        InputError: The folder is missing or not writable, or the output is no ordinary file.
    """
    try:
        with whole_file(path):
            raise _Tried
    except _Tried:
        return


def check_replaceable(path: Path) -> None:
    """Refuse to write a release over anything but a release: ratings, a catalogue, a ledger.

    Raises:
        InputError: Another kind of file is there.
    """
    from discreet.release import load

    if not path.is_file():
        return
    try:
        load(path)
    except InputError:
        raise InputError("exists and is no release; choose another name", path=path) from None


def check_room(path: Path, size: int) -> None:
    """Refuse a folder that has less than `size` bytes left.

    Raises:
        InputError: There is too little room.
    """
    free = shutil.disk_usage(path.resolve().parent).free
    if free < size:
        needed, left = (_console.spell_size(n) for n in (size, free))
        raise InputError(f"needs {needed}, and its folder has {left} left", path=path)
