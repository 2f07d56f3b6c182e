"""Zip archives, unpacked whole or not at all and never outside their folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from discreet.domain.errors import DownloadError
from discreet.ratings.download._transfer import Progress

_CHUNK = 1 << 20
_NOISE = "__MACOSX"


def unpack(archive: Path, target: Path, needed: tuple[str, ...], progress: Progress) -> None:
    """Unpack a zip archive to the folder `target`, which appears complete or not at all.

    A single folder that holds the whole content is stripped.

    Raises:
        DownloadError: The archive is damaged, has an entry that would land outside the folder,
            lacks one of the `needed` files, or the disk is full.
    """
    try:
        with _workshop(target) as room:
            with zipfile.ZipFile(archive) as zipped:
                _extract(zipped, room, progress)
            content = _strip(room)
            missing = [name for name in needed if not (content / name).is_file()]
            if missing:
                raise DownloadError(f"{archive.name} does not contain {', '.join(missing)}")
            content.chmod(0o777 & ~_umask())
            content.rename(target)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise DownloadError(f"{archive.name} is not a zip archive that can be read") from error
    except OSError as error:
        raise DownloadError(f"{target}: cannot be written: {error.strerror or error}") from error


def _extract(zipped: zipfile.ZipFile, room: Path, progress: Progress) -> None:
    entries = [entry for entry in zipped.infolist() if not entry.is_dir()]
    total, done = sum(entry.file_size for entry in entries), 0
    for entry in entries:
        path = _safe_path(entry)
        if path.parts[0] == _NOISE:
            continue
        place = room / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with zipped.open(entry) as source, place.open("xb") as file:
            while chunk := source.read(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                progress("unpacking", done, total)


def _safe_path(entry: zipfile.ZipInfo) -> PurePosixPath:
    """Where the entry goes, relative to the folder.

    Raises:
        DownloadError: It is a link, or would leave the folder.
    """
    path = PurePosixPath(entry.filename)
    outside = path.is_absolute() or ".." in path.parts or not path.parts
    if outside or "\\" in entry.filename or ":" in entry.filename:
        raise DownloadError("the archive has an entry that would land outside its folder")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise DownloadError("the archive has a link in it, which is not unpacked")
    return path


def _strip(room: Path) -> Path:
    inside = list(room.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else room


@contextlib.contextmanager
def _workshop(target: Path) -> Iterator[Path]:
    """A folder beside the target that is gone in the end."""
    room = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
