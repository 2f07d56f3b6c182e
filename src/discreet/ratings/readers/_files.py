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

BEGINNING = 1 << 16
"""Bytes that a header must fit into; chosen for safety."""
PIECE = 1 << 21
"""How many bytes are read at a time: what is found in them stays in a processor's cache. Of 2, 8
and 32 MiB, this read CSV fastest (`benchmarks/readers.py`)."""

T = TypeVar("T")

_OTHERS = {
    b"\xff\xfe": "is not UTF-8 but UTF-16; save it as UTF-8",
    b"\xfe\xff": "is not UTF-8 but UTF-16; save it as UTF-8",
    b"PK\x03\x04": "is a zip archive; unpack it first",
    b"\x1f\x8b": "is gzip, but its name does not end in .gz; rename it",
    b"PAR1": "is Parquet, but its name does not end in .parquet; rename it",
}
"""What a file may be instead of text, by its first bytes."""


@dataclass(frozen=True)
class Piece:
    """Some bytes of a file."""

    data: bytes
    is_last: bool
    done: int
    """How many of the file's bytes have been read by now."""


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the operating system and the decompressors raise into one clear line.

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


def beginning(path: Path, *, for_text: bool, size: int = BEGINNING) -> bytes:
    """The first bytes of a file, unpacked.

    Args:
        path: The file.
        for_text: Whether it must be text with a header. Its first bytes are then public, and what
            they say of another format is worth telling.
        size: How many bytes.

    Raises:
        InputError: It cannot be read, or is no text.
    """
    with reading(path), _open(path) as file:
        data = file.read(size)
    if for_text:
        check_is_text(data, path)
    return data


def check_is_text(data: bytes, path: str | Path) -> None:
    """Look at the first bytes of a file with a header.

    Raises:
        InputError: They are not those of text.
    """
    for mark, what in _OTHERS.items():
        if data.startswith(mark):
            raise InputError(what, path=path)
    if b"\0" in data.partition(b"\n")[0]:
        raise InputError("is not a text file", path=path)


def is_parquet(path: Path) -> bool:
    """Whether the file is called Parquet. Its bytes are not asked: they may be somebody's row."""
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
