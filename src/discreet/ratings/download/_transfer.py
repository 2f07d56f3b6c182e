"""One file over HTTP, continued where an earlier attempt broke off."""

from __future__ import annotations

import http.client
import ipaddress
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from discreet.domain.errors import DownloadError

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how many bytes of it are, and how many there will be, where known."""

_CHUNK = 1 << 18
_TRIES = 4
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


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
        progress: Told of every piece.

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


def read_small(address: str, *, timeout: float, limit: int = 4096) -> str | None:
    """The text at an address, or None if there is none to be had."""
    try:
        with _open(address, 0, timeout) as response:
            content: bytes = response.read(limit)
            return content.decode("ascii", errors="replace")
    except (DownloadError, OSError, http.client.HTTPException):
        return None


def _continue(
    address: str, part: Path, size: int | None, timeout: float, progress: Progress
) -> None:
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
    if total is not None and _length(part) < total:
        raise _Broken(
            f"the connection broke after {_length(part):,} of {total:,} bytes; "
            "run it again to go on from there"
        )


def _open(address: str, begin: int, timeout: float) -> Any:
    """The server's answer to a request for everything from byte `begin` on."""
    if not _is_web(address):
        raise DownloadError("the address must begin with http:// or https:// and name a server")
    handlers: list[urllib.request.BaseHandler] = [SafeRedirects()]
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
        told = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if told is None or int(told[1]) != have:
            raise DownloadError("the server sent another part of the file than was asked for")
        return have, None if told[2] == "*" else int(told[2])
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
        chunk: bytes = response.read1(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(
            f"the connection broke ({_first_line(error)}); run it again to go on from there"
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
