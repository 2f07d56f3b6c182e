"""Where builds work: folders beside the release, which a killed process may leave behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LONGEST = 100


@contextlib.contextmanager
def build_folder(target: Path) -> Iterator[Path]:
    """A folder beside a file, locked while the block runs and removed at its end."""
    target = target.resolve()
    with tempfile.TemporaryDirectory(
        prefix=_prefix(target), dir=target.parent, ignore_cleanup_errors=True
    ) as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def remove_leftovers(target: Path) -> int:
    """Remove the folders in which builds of a file were cut short: how many.

    A folder is ours by its name, and nobody's any more if no living process has locked it.
    """
    target = target.resolve()
    ours = re.compile(re.escape(_prefix(target)) + "[a-z0-9_]{8}")
    found = [path for path in target.parent.glob(".build.*") if ours.fullmatch(path.name)]
    return sum(map(_remove, found))


def _prefix(target: Path) -> str:
    return f".build.{target.name[:_LONGEST]}."


def _remove(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        shutil.rmtree(folder, ignore_errors=True)
        return True
    finally:
        os.close(handle)
