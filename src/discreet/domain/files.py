"""Files: written completely or not at all, read in pieces, with errors that people can read."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

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


# Reading.

# Bytes that a header must fit into; chosen for safety.
BEGINNING = 1 << 16
# Bytes that are read at a time: what is found in them stays in a processor's cache. Of 2, 8 and 32
# MiB, this read CSV fastest (`benchmarks/readers.py`).
PIECE = 1 << 21

T = TypeVar("T")


@dataclass(frozen=True)
class Piece:
    """Some bytes of a file."""

    data: bytes
    is_last: bool
    done: int
    """How many of the file's bytes have been read by now."""


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of the operating system and of decompression into one clear line.

    Raises:
        InputError: The file is missing, a folder, not permitted, cut short or damaged.
    """
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", path=path) from None
    except PermissionError:
        raise InputError("no permission to read it", path=path) from None
    except EOFError:
        raise InputError("is cut short: the compressed data does not end", path=path) from None
    except (gzip.BadGzipFile, zlib.error):
        raise InputError("is damaged: the compressed data does not verify", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error


def beginning(path: Path) -> bytes:
    """The first bytes of a file, unpacked.

    Raises:
        InputError: It cannot be read.
    """
    with reading(path), _open(path) as file:
        return file.read(BEGINNING)


def is_parquet(path: Path) -> bool:
    """Whether the file is named like Parquet. Its bytes are not looked at: they may be private."""
    return path.suffix.lower() in (".parquet", ".pq")


def size_of(path: Path) -> int:
    """How many bytes the file has on disk.

    Raises:
        InputError: There is no such file.
    """
    with reading(path):
        return path.stat().st_size


def pieces(path: Path, size: int = PIECE) -> Iterator[Piece]:
    """The file's bytes in order, unpacked if its name ends in `.gz`.

    Raises:
        InputError: It cannot be read.
    """
    with reading(path), path.open("rb") as raw:
        file = _unpacked(path, raw)
        ahead = file.read(size)
        while True:
            data, ahead = ahead, file.read(size)
            yield Piece(data, not ahead, raw.tell())
            if not ahead:
                return


def ahead(parts: Iterator[T]) -> Iterator[T]:
    """The same parts, the next of them made in another thread while one is worked on."""
    with ThreadPoolExecutor(1) as maker:
        following = maker.submit(next, parts, None)
        while (part := following.result()) is not None:
            following = maker.submit(next, parts, None)
            yield part


def whole(path: Path) -> bytes:
    """All bytes of a small file, unpacked if it is gzip.

    Raises:
        InputError: It cannot be read.
    """
    with reading(path), _open(path) as file:
        return file.read()


@contextlib.contextmanager
def _open(path: Path) -> Iterator[io.BufferedIOBase]:
    with path.open("rb") as raw:
        yield _unpacked(path, raw)


def _unpacked(path: Path, raw: io.BufferedReader) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
