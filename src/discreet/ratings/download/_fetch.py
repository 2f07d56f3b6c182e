"""A public data set: downloaded, checked, unpacked."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from discreet.domain.errors import DownloadError
from discreet.ratings.download._data_sets import DataSet
from discreet.ratings.download._transfer import Progress, download, read_small
from discreet.ratings.download._unpack import unpack

_CHUNK = 1 << 20
_MD5 = re.compile(r"\b[0-9a-fA-F]{32}\b")


@dataclass(frozen=True)
class Fetched:
    """Where a data set is, and what is known about it."""

    path: Path
    """The folder with its files, ready for `read_ratings`."""
    was_there: bool = False
    """Whether it was there already; then nothing was downloaded or checked."""
    verified: bool = False
    """Whether the archive matched a published checksum."""
    sha256: str | None = None
    """The SHA-256 of the archive that was downloaded."""


def fetch(
    data_set: DataSet,
    folder: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    address: str | None = None,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> Fetched:
    """Download a public data set into `folder`, check it and unpack it.

    The files end up in `folder/<name>`, which appears complete or not at all. If it is there
    already, nothing happens. A download that broke off leaves a `.part` file, from which the next
    call goes on; an archive that fails its check is removed, so that the next call starts anew.

    Args:
        data_set: Which one, from `data_sets` or `find_data_set`.
        folder: Where to put it; made if absent.
        progress: Told what is being done, how many bytes are done and how many there will be.
        address: A mirror to ask instead of the publisher; the checksums stay the publisher's.
        timeout: How many seconds of silence end an attempt.
        pause: How many seconds to wait before taking up a broken connection again.

    Raises:
        DownloadError: It could not be fetched, or is not what was published.
    """
    target = Path(folder) / data_set.name
    if target.exists():
        return _already(target, data_set)
    report = progress or _silent
    address = address or data_set.address
    _make_folder(target.parent)
    archive = target.with_name(f"{data_set.name}.zip.part")
    checksums = _published(data_set, address, timeout)
    if not checksums:
        # Two halves of different editions could not be told from a whole: begin anew.
        archive.unlink(missing_ok=True)
    download(address, archive, size=data_set.size, timeout=timeout, pause=pause, progress=report)
    sha256 = _check(archive, data_set, checksums, report)
    unpack(archive, target, data_set.files, report)
    archive.unlink()
    return Fetched(target, verified=bool(checksums), sha256=sha256)


def _already(target: Path, data_set: DataSet) -> Fetched:
    missing = [name for name in data_set.files if not (target / name).is_file()]
    if missing:
        raise DownloadError(
            f"{target}: is there, but without {' and '.join(missing)}; move it away first"
        )
    return Fetched(target, was_there=True)


def _published(data_set: DataSet, address: str, timeout: float) -> tuple[str, ...]:
    """The checksums that the archive must match."""
    if not data_set.changes:
        return data_set.checksums
    told = _MD5.findall(read_small(f"{address}.md5", timeout=timeout) or "")
    return (f"md5:{told[0].lower()}",) if len(told) == 1 else ()


def _check(archive: Path, data_set: DataSet, checksums: tuple[str, ...], progress: Progress) -> str:
    """Compare the archive with what is published, and remove it if it differs.

    Returns:
        Its SHA-256.
    """
    length = archive.stat().st_size
    if data_set.size not in (None, length):
        archive.unlink()
        raise DownloadError(
            f"{data_set.name}: {length:,} bytes came where {data_set.size:,} are published; "
            "they were thrown away"
        )
    found = _digests(archive, {"sha256"} | {told.partition(":")[0] for told in checksums}, progress)
    for kind, _, wanted in (told.partition(":") for told in checksums):
        if found[kind] != wanted:
            archive.unlink()
            raise DownloadError(
                f"{data_set.name}: the {kind.upper()} of what came is {found[kind]}, published is "
                f"{wanted}; it was thrown away"
            )
    return found["sha256"]


def _digests(path: Path, kinds: set[str], progress: Progress) -> dict[str, str]:
    hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in sorted(kinds)}
    total, done = path.stat().st_size, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            for one in hashes.values():
                one.update(chunk)
            done += len(chunk)
            progress("checking", done, total)
    return {kind: one.hexdigest() for kind, one in hashes.items()}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"{folder}: cannot be made: {error.strerror or error}") from error


def _silent(what: str, done: int, total: int | None) -> None:
    pass
