"""One client at a time on one state file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from discreet.domain import InputError


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock beside a file while the block runs; others wait.

    The lock ends with the process at the latest. The empty file stays: removing it would let two
    processes hold locks on two files of one name.

    Raises:
        InputError: The folder cannot be written.
    """
    # By links, too, it is one file: what is written replaces what they lead to.
    path = path.resolve()
    beside = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"cannot be locked: {error.strerror}", path=path) from error
    try:
        _wait(handle)
        yield
    finally:
        os.close(handle)


if os.name == "nt":  # pragma: no cover

    def _wait(handle: int) -> None:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]

else:

    def _wait(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
