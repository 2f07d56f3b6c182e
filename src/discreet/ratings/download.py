"""Public data sets: what there is, and how to get it: downloaded, checked, unpacked.

The MD5 sums are the publisher's own, from the `.md5` file beside each archive; the SHA-256 sums
were recorded from the same archives by others. An archive must agree with every sum listed here.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ipaddress
import os
import re
import shutil
import stat
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from discreet.domain import InputError
from discreet.domain.errors import DownloadError

__all__ = ["DataSet", "Fetched", "data_sets", "fetch", "find_data_set"]

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how many bytes are done, and how many there will be if known."""

# Bytes of a file that are read at a time; chosen by hand.
_CHUNK = 1 << 20
# Bytes of a connection that are waited for at a time; chosen by hand.
_NETWORK_CHUNK = 1 << 18
# Bytes of a file of checksums that are read, far more than one has; chosen for safety.
_SMALL = 4096
# Connections that are tried for one file; chosen by hand.
_TRIES = 4
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_MD5 = re.compile(r"\b[0-9a-fA-F]{32}\b")
# A folder that macOS adds to archives.
_MACOS_EXTRAS = "__MACOSX"
_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_RESEARCH = (
    "For research, with acknowledgement; commercial use needs GroupLens' permission; see the "
    "README inside before passing it on."
)
_DAT = ("ratings.dat", "movies.dat")
_CSV = ("ratings.csv", "movies.csv")


@dataclass(frozen=True)
class DataSet:
    """A public data set of ratings, as its publisher describes it."""

    name: str
    """What `discreet data get` calls it, and the folder it is unpacked to."""
    title: str
    address: str
    """The archive, over HTTPS."""
    ratings: int
    users: int
    items: int
    """How many items its catalogue lists; a few have no rating."""
    scale: str
    """The rating scale, as `Scale.parse` reads it."""
    files: tuple[str, ...]
    """The files that reading needs: the ratings, then the catalogue."""
    terms: str
    """What its licence asks for, in a sentence."""
    layout: str = "movielens"
    """How `read_ratings` reads its folder: `movielens` implies scale and catalogue; for a
    `table` they must be given."""
    size: int | None = None
    """The archive's length in bytes, where known."""
    checksums: tuple[str, ...] = ()
    """`md5:...` or `sha256:...`, all of which the archive must match; empty where none is known."""
    changes: bool = False
    """Whether the publisher replaces the archive from time to time. It is then checked against the
    `.md5` file that lies beside it, and the counts here are those of one edition."""


def data_sets() -> tuple[DataSet, ...]:
    """Every public data set that can be fetched, small to large."""
    return _DATA_SETS


def find_data_set(name: str) -> DataSet:
    """The data set of this name.

    Raises:
        InputError: There is no such data set.
    """
    for data_set in _DATA_SETS:
        if data_set.name == name:
            return data_set
    known = ", ".join(data_set.name for data_set in _DATA_SETS)
    raise InputError(f"'{name}' is not a public data set that can be fetched; there are {known}")


def _movielens(
    name: str, title: str, *, md5: str, sha256: str, scale: str = "0.5..5/0.5", **more: Any
) -> DataSet:
    """One of GroupLens' archives that stay as they are."""
    address, sums = f"{_GROUPLENS}{name}.zip", (f"md5:{md5}", f"sha256:{sha256}")
    return DataSet(name, title, address, scale=scale, terms=_RESEARCH, checksums=sums, **more)


_DATA_SETS = (
    _movielens(
        "ml-100k", "MovieLens 100K (1998)",
        ratings=100_000, users=943, items=1_682, scale="1..5",
        files=("u.data", "u.item"), size=4_924_029,
        md5="0e33842e24a9c977be4e0107933c0723",
        sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
    ),
    DataSet(
        "ml-latest-small", "MovieLens latest, small (2018 edition)",
        address=f"{_GROUPLENS}ml-latest-small.zip",
        ratings=100_836, users=610, items=9_742, scale="0.5..5/0.5",
        files=_CSV, changes=True,
        terms=(
            "For research, with acknowledgement; may be passed on under the same terms; commercial "
            "use needs GroupLens' permission."
        ),
    ),
    _movielens(
        "ml-1m", "MovieLens 1M (2003)",
        ratings=1_000_209, users=6_040, items=3_883, scale="1..5",
        files=_DAT, size=5_917_549,
        md5="c4d9eecfca2ab87c1945afe126590906",
        sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    ),
    DataSet(
        "goodbooks-10k", "Goodbooks-10k (2017)",
        address=(
            "https://github.com/zygmuntz/goodbooks-10k/releases/download/v1.0/goodbooks-10k.zip"
        ),
        ratings=5_976_479, users=53_424, items=10_000, scale="1..5",
        files=("ratings.csv", "books.csv"), layout="table",
        checksums=("sha256:261b97b56db61f3fb2ce5aadbb13704d30179fcc986c17ace665a0af9ed00731",),
        terms="Creative Commons Attribution-ShareAlike 4.0.",
    ),
    _movielens(
        "ml-10m", "MovieLens 10M (2009)",
        ratings=10_000_054, users=69_878, items=10_681,
        files=_DAT, size=65_566_137,
        md5="ce571fd55effeba0271552578f2648bd",
        sha256="813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    ),
    _movielens(
        "ml-20m", "MovieLens 20M (2016)",
        ratings=20_000_263, users=138_493, items=27_278,
        files=_CSV, size=198_702_078,
        md5="cd245b17a1ae2cc31bb14903e1204af3",
        sha256="96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    ),
    _movielens(
        "ml-25m", "MovieLens 25M (2019)",
        ratings=25_000_095, users=162_541, items=62_423,
        files=_CSV, size=261_978_986,
        md5="6b51fb2759a8657d3bfcbfc42b592ada",
        sha256="8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
    ),
    _movielens(
        "ml-32m", "MovieLens 32M (2023)",
        ratings=32_000_204, users=200_948, items=87_585,
        files=_CSV, size=238_950_008,
        md5="d472be332d4daa821edc399621853b57",
        sha256="e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    ),
)  # fmt: skip


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
        progress: Called with what is being done, and how many bytes are done of how many.
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
    # Beside the folder, on the same disk, and under a name that no reader takes for data.
    archive = target.with_name(f"{data_set.name}.zip.part")
    checksums = _published(data_set, address, timeout)
    if not checksums:
        # Two halves of different editions would look like a whole: begin anew.
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
    # An archive that its publisher replaces now and then has a checksum beside it; it guards
    # against a broken transfer, not against the publisher.
    sums = _MD5.findall(read_small(f"{address}.md5", timeout=timeout) or "")
    return (f"md5:{sums[0].lower()}",) if len(sums) == 1 else ()


def _check(archive: Path, data_set: DataSet, checksums: tuple[str, ...], progress: Progress) -> str:
    """Compare the archive with what is published, and remove it if it differs.

    Returns:
        Its SHA-256.
    """
    length = archive.stat().st_size
    # The length first: reading gigabytes to compute a checksum that cannot match is no use.
    if data_set.size not in (None, length):
        archive.unlink()
        raise DownloadError(
            f"{data_set.name}: {length:,} bytes came where {data_set.size:,} are published; "
            "they were deleted"
        )
    found = _digests(archive, {"sha256"} | {each.partition(":")[0] for each in checksums}, progress)
    for kind, _, wanted in (each.partition(":") for each in checksums):
        if found[kind] != wanted:
            archive.unlink()
            raise DownloadError(
                f"{data_set.name}: the {kind.upper()} of what came is {found[kind]}, published is "
                f"{wanted}; it was deleted"
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


class _Broken(Exception):
    """The connection ended early; what came is kept."""


def download(
    address: str,
    part: Path,
    *,
    size: int | None,
    timeout: float,
    pause: float,
    progress: Progress,
) -> None:
    """Bring the file `part` to its full length, starting from what it already holds.

    A server that cannot continue a file is asked for all of it again. A connection that breaks is
    taken up again, three times at most; a server that cannot be reached is not asked again.

    Args:
        address: An `http` or `https` address.
        part: The file to fill; left as far as it got on any failure.
        size: Its full length, where known; a server that announces another is not read.
        timeout: How many seconds of silence end an attempt.
        pause: How many seconds to wait before the next attempt.
        progress: Called after every piece.

    Raises:
        DownloadError: The server cannot be reached or will not give the file, or the disk is full.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            _continue(address, part, size, timeout, progress)
            break
        except _Broken as broken:
            if not tries_left:
                raise DownloadError(f"{_host(address)}: {broken}") from broken
        time.sleep(pause)


def read_small(address: str, *, timeout: float) -> str | None:
    """The text at an address, or None if there is none to be had."""
    try:
        with _open(address, 0, timeout) as response:
            content: bytes = response.read(_SMALL)
            return content.decode("ascii", errors="replace")
    except (DownloadError, OSError, http.client.HTTPException):
        return None


def _continue(
    address: str, part: Path, size: int | None, timeout: float, progress: Progress
) -> None:
    # What an earlier attempt, or an earlier run, left behind.
    have = _length(part)
    if size is not None and have == size:
        return
    with _open(address, have, timeout) as response:
        begin, total = _extent(response, have)
        if size is not None and total not in (None, size):
            raise DownloadError(
                f"{_host(address)}: offers {total:,} bytes where {size:,} are published; "
                "it is not the same file"
            )
        _copy(response, part, begin, total, progress)
    # Some connections end early without an error.
    if total is not None and _length(part) < total:
        raise _Broken(
            f"the connection broke after {_length(part):,} of {total:,} bytes; "
            "run it again to continue from there"
        )


def _open(address: str, begin: int, timeout: float) -> Any:
    """The server's answer to a request for everything from byte `begin` on."""
    if not _is_web(address):
        raise DownloadError("the address must begin with http:// or https:// and name a server")
    handlers: list[urllib.request.BaseHandler] = [SafeRedirects()]
    # A proxy would look for the address on its own machine.
    if _is_loopback(address):
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    opener.addheaders = [("User-Agent", "discreet"), ("Accept-Encoding", "identity")]
    if begin:
        opener.addheaders.append(("Range", f"bytes={begin}-"))
    try:
        return opener.open(address, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and begin:
            # Our piece is as long as the file or longer: only the whole can tell.
            return _open(address, 0, timeout)
        raise DownloadError(f"{_host(address)}: answered {error.code} {error.reason}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(
            f"{_host(address)}: cannot be reached ({_first_line(reason)}); check the network and "
            "the address"
        ) from error


def _extent(response: Any, have: int) -> tuple[int, int | None]:
    """Where in the file the answer begins, and how long the file is."""
    if response.status == http.client.PARTIAL_CONTENT:
        given = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if given is None or int(given[1]) != have:
            raise DownloadError("the server sent another part of the file than was asked for")
        return have, None if given[2] == "*" else int(given[2])
    # A server that does not know ranges sends the whole file, from its beginning.
    return 0, response.length


def _copy(response: Any, part: Path, begin: int, total: int | None, progress: Progress) -> None:
    done = begin
    progress("downloading", done, total)
    try:
        with part.open("ab" if begin else "wb") as file:
            while chunk := _read(response):
                file.write(chunk)
                done += len(chunk)
                progress("downloading", done, total)
    except OSError as error:
        raise DownloadError(f"{part}: cannot be written: {error.strerror or error}") from error


def _read(response: Any) -> bytes:
    try:
        # Not `read`: it would drop what came before the break.
        chunk: bytes = response.read1(_NETWORK_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(
            f"the connection broke ({_first_line(error)}); run it again to continue from there"
        ) from error
    return chunk


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a server's word to another address, but never from HTTPS to anything less."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Refuse what is not HTTP, or no longer HTTPS."""
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            fp.close()
            raise DownloadError(f"{req.host}: points to an address that is not safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2]


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _first_line(error: object) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


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
        if path.parts[0] == _MACOS_EXTRAS:
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
