"""Opening files, in pieces, with errors that a person can read."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from discreet.domain import InputError

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
