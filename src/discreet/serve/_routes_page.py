"""The page for a browser: the files of `web/`, read at the start."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.serve._conditional import answer
from discreet.serve._published import MemoryContent, Representation

_FRESH = "public, no-cache"
"""May be kept, and is to be asked for again: a new version of the page counts at once."""

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_COMMENT = re.compile(
    rb"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/[ \t]*)(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_ALIASES = {"index.html": "/", "operator.html": "/operator"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def find_page() -> Path | None:
    """The folder of the page's files: in the installed package, or at the root of a checkout."""
    here = Path(__file__).resolve()
    checkout = here.parents[3] / "web" if here.parents[2].name == "src" else None
    for folder in (here.parent / "web", checkout):
        if folder is not None and (folder / "index.html").is_file():
            return folder
    return None


def without_comments(script: bytes) -> bytes:
    """A script without the comments that have lines to themselves; nothing else changes.

    That is `// ...` and `/** ... */` with no code before or after them. What stands in a template
    literal is not told from code, so none may have a line that looks like a comment.
    """
    return _COMMENT.sub(b"", script)


def read_page(folder: Path) -> dict[str, Representation]:
    """Each file of the page by the path it is served at; hidden and other files are left out.

    Documents and styles are as they are, scripts without their comments: these are for whoever
    reads the source, and would be a fifth of what a browser has to fetch.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        media_type = _MEDIA_TYPES.get(path.suffix)
        if media_type is not None and path.is_file() and not name.startswith("."):
            whole = path.read_bytes()
            content = MemoryContent(without_comments(whole) if path.suffix == ".js" else whole)
            found[_ALIASES.get(name, f"/{name}")] = Representation.of(content, media_type)
    return found


def add_page_routes(router: APIRouter, folder: Path | None = None) -> frozenset[str]:
    """A route for each file, and none for anything else.

    Args:
        router: Where they go.
        folder: The page's files; those that came with the package if absent. If there are none,
            there is no page.

    Returns:
        Their paths.
    """
    folder = folder or find_page()
    page = read_page(folder) if folder else {}
    for path, found in page.items():
        _offer(router, path, found)
    return frozenset(page)


def _offer(router: APIRouter, path: str, found: Representation) -> None:
    async def get(request: Request) -> Response:
        return _dressed(answer(found, request.headers, cache=_FRESH))

    async def head(request: Request) -> Response:
        return _dressed(answer(found, request.headers, cache=_FRESH, head=True))

    for method, take in (("GET", get), ("HEAD", head)):
        router.add_api_route(
            path, take, methods=[method], include_in_schema=False, response_model=None
        )


def _dressed(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response
