"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from discreet.domain.errors import InputError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it when the block succeeds.

    The block writes the temporary path. On success the content is flushed to disk and renamed over
    `path` in one step; on any exception, an interrupt included, `path` is as it was. A file that
    was there keeps its permissions, a new one gets those of the umask. A symbolic link stays, and
    what it points to is replaced.

    Args:
        path: The file.
        private: Only the owner may read it, at any moment, whatever was there before.

    Raises:
        InputError: The folder is missing, not writable or full, or `path` is not an ordinary file.
    """
    given = Path(path)
    try:
        target = _destination(given)
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except OSError as error:
        raise _unwritable(given, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        flush(temporary)
        temporary.chmod(0o600 if private else _permissions(target))
        temporary.replace(target)
    except OSError as error:
        if _is_about_something_else(error, name):
            raise
        raise _unwritable(given, error) from error
    finally:
        temporary.unlink(missing_ok=True)
    # The file is in place; a folder that cannot be opened or flushed does not undo that.
    with contextlib.suppress(OSError):
        flush(target.parent)


def _destination(given: Path) -> Path:
    """The file that links lead to, checked that it can be replaced by renaming."""
    try:
        target = given.resolve()
    except RuntimeError:  # links in a circle, up to Python 3.12; later they are left as they are
        target = given
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.is_dir():
        raise InputError("is a folder, not a file", path=given)
    if target.exists() and not target.is_file():
        raise InputError("is a device or a pipe, not a file", path=given)
    return target


def _permissions(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def flush(path: Path) -> None:
    """Make sure that what was written to a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_about_something_else(error: OSError, name: str) -> bool:
    """Whether the block failed because of another file, a connection or a closed terminal."""
    return error.filename not in (None, name) or isinstance(error, ConnectionError | TimeoutError)


def _unwritable(target: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written: {error.strerror or error}", path=target)


def spell_size(size: int) -> str:
    """A number of bytes as people read it."""
    if size < 1e3:
        return f"{size} bytes"
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
