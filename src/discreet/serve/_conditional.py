"""Conditional and partial answers: ETag, Range, If-Range, Accept-Encoding (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from discreet.serve._published import Content, MemoryContent, Representation, chunks

_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
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
    told = {
        "etag": tag,
        "cache-control": cache,
        "vary": "accept-encoding",
        "accept-ranges": "bytes",
    }
    if _matches(headers.get("if-none-match"), found.digest):
        return Response(status_code=304, headers=told)
    if span == ():
        told["content-range"] = f"bytes */{found.plain.size}"
        return Response('{"reason":"the range begins after the end"}', 416, told)
    content = packed or found.plain
    begin, end = span or (0, content.size)
    if packed:
        told["content-encoding"] = "gzip"
    if span:
        told["content-range"] = f"bytes {begin}-{end - 1}/{content.size}"
    told["content-length"] = str(end - begin)
    status = 206 if span else 200
    if head:
        return Response(None, status, told, media_type=found.media_type)
    if isinstance(content, MemoryContent) and end - begin <= _SMALL:
        return Response(content.read(begin, end - begin), status, told, found.media_type)
    body = _stream(content, begin, end)
    return StreamingResponse(body, status, told, media_type=found.media_type)


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


def _matches(told: str | None, digest: str) -> bool:
    """Whether If-None-Match names this content, in any encoding."""
    if told is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in told.split(",")}
    return not tags.isdisjoint({"*", f'"{digest}"', f'"{digest}-gzip"'})


def _takes_gzip(accepted: str) -> bool:
    for part in accepted.lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", quality)
    return False
