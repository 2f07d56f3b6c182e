"""What is published: byte for byte, compressed, in ranges, only if it changed (RFC 9110)."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from discreet.domain import Catalog, InputError, Scale
from discreet.release import Release, Signature, load, signature_path

_log = logging.getLogger("discreet.serve")

# Bytes read at a time.
_CHUNK = 256 << 10
# Bytes; compressed copies are kept in memory.
_COMPRESSED_UP_TO = 64 << 20
# Of the plain size; noise hardly compresses.
_WORTH_IT = 0.95
# zlib's own default, a fair trade of time for size.
_GZIP_LEVEL = 6


class FileContent:
    """A file's bytes; they stay what they were even if the file's name is given to another.

    Raises:
        InputError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error
        # Closed after its last reader: answers under way may outlive their release.
        weakref.finalize(self, os.close, self._descriptor)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, begin: int, length: int) -> bytes:
        """Bytes from `begin` on."""
        return os.pread(self._descriptor, length, begin)


class MemoryContent:
    """Bytes in memory."""

    def __init__(self, content: bytes) -> None:
        self._content, self.size = content, len(content)

    def read(self, begin: int, length: int) -> bytes:
        """Bytes from `begin` on."""
        return self._content[begin : begin + length]


Content = FileContent | MemoryContent


@dataclass(frozen=True, eq=False)
class Representation:
    """One thing to fetch.

    Attributes:
        media_type: What its bytes are.
        digest: SHA-256 of the bytes as they are, in hexadecimal.
        plain: The bytes as they are.
        compressed: The same through gzip, where that makes them fewer.
        headers: What answers say beside it.
    """

    media_type: str
    digest: str
    plain: Content
    compressed: Content | None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Content, media_type: str) -> Representation:
        """Read it once: its digest, and gzip up to 64 MiB."""
        compressed: Content | None = None
        if content.size <= _COMPRESSED_UP_TO:
            # No time in its header: the same bytes always compress to the same.
            packed = gzip.compress(content.read(0, content.size), _GZIP_LEVEL, mtime=0)
            if len(packed) <= _WORTH_IT * content.size:
                compressed = MemoryContent(packed)
        return cls(media_type, sha256_of(content), content, compressed)

    @classmethod
    def of_json(cls, content: Any) -> Representation:
        """A JSON document."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return cls.of(MemoryContent(text.encode()), "application/json")


def sha256_of(content: Content) -> str:
    """SHA-256 of the bytes, in hexadecimal."""
    sha = hashlib.sha256()
    for chunk in chunks(content):
        sha.update(chunk)
    return sha.hexdigest()


def chunks(content: Content, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The bytes from `begin` up to `end`, some at a time.

    Raises:
        OSError: A file was cut short under our hands.
    """
    end = content.size if end is None else end
    while begin < end:
        chunk = content.read(begin, min(_CHUNK, end - begin))
        if not chunk:
            raise OSError("the release's file was cut short while it was read")
        begin += len(chunk)
        yield chunk


Made = dict[str, Representation]
"""A release as it is served: see `open_release`."""


def open_release(path: Path) -> Made:
    """Check a release file whole and make it ready to be served, from a copy of our own.

    Whatever becomes of the file, what is returned stays what it was: it may be replaced, deleted,
    or written over in its place.

    Returns:
        The `release` byte for byte, its `catalog`, `about`: what it is and promises, and where its
        `signature` is beside it, that.

    Raises:
        InputError: It is not a release, or damaged, or cannot be copied (then an OSError is its
            cause).
    """
    try:
        # Deleted at the end of the block; descriptors and mappings keep its bytes.
        with tempfile.NamedTemporaryFile(prefix="discreet.") as copy:
            shutil.copyfile(path, copy.name)
            content = FileContent(Path(copy.name))
            release = load(copy.name, verify=True)
    except OSError as error:
        reason = f"cannot be read or copied: {error.strerror or error}"
        raise InputError(reason, path=path) from error
    except InputError as error:
        raise InputError(error.reason, path=path) from None
    file = Representation.of(content, "application/octet-stream")
    signed = _signature(path, file.digest)
    if signed is not None:
        # So the page need not ask for it: what it asks for is shown to the person, and the same
        # for everybody.
        header = f"{signed.public_key} {signed.signature}"
        file = replace(file, headers={"discreet-signature": header})
    return {
        "release": file,
        "catalog": catalog_document(release.catalog, release.scale),
        "about": Representation.of_json(_about(release, file)),
        **({} if signed is None else {"signature": Representation.of_json(asdict(signed))}),
    }


def _signature(path: Path, sha256: str) -> Signature | None:
    """The signature of this very file; one of a file that was there before does not count."""
    beside = signature_path(path)
    if not beside.is_file():
        return None
    try:
        found = Signature.read(beside)
        if found.is_of(sha256):
            return found
    except InputError:
        pass
    _log.warning("%s is not the signature of this release, and is not shown", beside)
    return None


def catalog_document(catalog: Catalog, scale: Scale) -> Representation:
    """The items in their order, and the scale; titles only where they are not the ids."""
    document = {
        "digest": catalog.digest(),
        "origin": str(catalog.origin),
        "scale": scale.spelling,
        "ids": catalog.ids,
        "titles": None if catalog.titles == catalog.ids else catalog.titles,
    }
    return Representation.of_json(document)


def _about(release: Release, file: Representation) -> dict[str, Any]:
    return {
        "method": release.method,
        "items": len(release.catalog),
        "catalog": release.catalog.digest(),
        "scale": release.scale.spelling,
        "bytes": file.plain.size,
        "sha256": file.digest,
        "promise": str(release.guarantee),
        "guarantee": release.guarantee.to_dict(),
        "parameters": dict(release.parameters),
    }


_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
# Bytes that are sent at once rather than streamed.
_SMALL = 64 << 10

FRESH = "public, no-cache"
"""May be kept, and is to be asked for again: it can be swapped at any time."""


def answer(
    found: Representation, headers: Mapping[str, str], *, head: bool = False, cache: str = FRESH
) -> Response:
    """The bytes, or the part asked for, or that they have not changed.

    A part is always of the uncompressed bytes, so that a fetch that broke off can go on.

    Args:
        found: What is there.
        headers: What the request's headers say.
        head: Leave the bytes out.
        cache: What Cache-Control is to say.
    """
    span = _span(found, headers)
    packed = found.compressed
    if span is not None or packed is None or not _takes_gzip(headers.get("accept-encoding", "")):
        packed = None
    tag = f'"{found.digest}-gzip"' if packed else f'"{found.digest}"'
    fields = {
        "etag": tag,
        "cache-control": cache,
        "vary": "accept-encoding",
        "accept-ranges": "bytes",
        **found.headers,
    }
    if "if-match" in headers and not _matches(headers["if-match"], found.digest):
        return Response('{"reason":"another version is served by now"}', 412, fields)
    if _matches(headers.get("if-none-match"), found.digest):
        return Response(status_code=304, headers=fields)
    if span == ():
        fields["content-range"] = f"bytes */{found.plain.size}"
        return Response('{"reason":"the range begins after the end"}', 416, fields)
    content = packed or found.plain
    begin, end = span or (0, content.size)
    if packed:
        fields["content-encoding"] = "gzip"
        # A page that shows how much has come counts the bytes after decompression.
        fields["discreet-bytes"] = str(found.plain.size)
    if span:
        fields["content-range"] = f"bytes {begin}-{end - 1}/{content.size}"
    fields["content-length"] = str(end - begin)
    status = 206 if span else 200
    if head:
        return Response(None, status, fields, media_type=found.media_type)
    if isinstance(content, MemoryContent) and end - begin <= _SMALL:
        return Response(content.read(begin, end - begin), status, fields, found.media_type)
    body = _stream(content, begin, end)
    return StreamingResponse(body, status, fields, media_type=found.media_type)


async def _stream(content: Content, begin: int, end: int) -> AsyncIterator[bytes]:
    parts = chunks(content, begin, end)
    while (part := await run_in_threadpool(next, parts, None)) is not None:
        yield part


def _span(found: Representation, headers: Mapping[str, str]) -> tuple[int, int] | tuple[()] | None:
    """The first byte asked for and the one after the last; () if there is none; None for all."""
    asked = _ONE_RANGE.fullmatch(headers.get("range", ""))
    if asked is None or asked.groups() == ("", ""):
        return None  # several ranges, or no range at all, may be answered with everything
    if headers.get("if-range", f'"{found.digest}"') != f'"{found.digest}"':
        return None
    first, last = asked.groups()
    size = found.plain.size
    if first == "":
        begin, end = max(size - int(last), 0), size
    else:
        begin, end = int(first), min(int(last) + 1 if last else size, size)
        if last and int(last) < begin:
            return None
    return (begin, end) if begin < end else ()


def _matches(condition: str | None, digest: str) -> bool:
    """Whether If-Match or If-None-Match names this content, in any encoding."""
    if condition is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in condition.split(",")}
    return not tags.isdisjoint({"*", f'"{digest}"', f'"{digest}-gzip"'})


def _takes_gzip(accepted: str) -> bool:
    for part in accepted.lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", quality)
    return False
