"""Opening files, in pieces, with errors that a person can read."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet.domain import InputError

PIECE = 1 << 25
"""How many bytes are read at a time: enough for every core, small beside the ratings."""

_GZIP, _ZIP, _PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


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


def beginning(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked.

    Raises:
        InputError: It cannot be read, is empty, or is no text file.
    """
    with reading(path), _open(path) as file:
        data = file.read(size)
    if not data:
        raise InputError("is empty", path=path)
    if data.startswith(_UTF16):
        raise InputError("is not UTF-8 but UTF-16; save it as UTF-8", path=path)
    if data.startswith(_ZIP):
        raise InputError("is a zip archive; unpack it first", path=path)
    if b"\0" in data and not data.startswith(_PARQUET):
        raise InputError("is not a text file", path=path)
    return data


def is_parquet(path: Path) -> bool:
    """Whether the file says that it is Parquet, by its name or its first bytes."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    with reading(path), path.open("rb") as file:
        return file.read(4) == _PARQUET


def size_of(path: Path) -> int:
    """How many bytes the file has on disk.

    Raises:
        InputError: There is no such file.
    """
    with reading(path):
        return path.stat().st_size


def pieces(path: Path, size: int = PIECE) -> Iterator[Piece]:
    """The file's bytes in order, unpacked if it is gzip.

    Raises:
        InputError: It cannot be read.
    """
    with reading(path), path.open("rb") as raw:
        file = _unpacked(raw)
        ahead = file.read(size)
        while True:
            data, ahead = ahead, file.read(size)
            yield Piece(data, not ahead, raw.tell())
            if not ahead:
                return


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
        yield _unpacked(raw)


def _unpacked(raw: io.BufferedReader) -> io.BufferedIOBase:
    packed = raw.read(2) == _GZIP
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if packed else raw
