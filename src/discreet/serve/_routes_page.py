"""The page for a browser: the files of `web/`, read at the start."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.serve._conditional import answer
from discreet.serve._published import MemoryContent, Representation
from discreet.serve._slim import slim

_FRESH = "public, no-cache"
"""May be kept, and is to be asked for again: a new version of the page counts at once."""

_FOR_GOOD = "public, max-age=31536000, immutable"
"""Its address has its digest."""

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_WORKER = "worker.js"
_UNVERSIONED = ("icon.svg", "app.webmanifest")
_OPERATORS = {"js/operator.js"}
_PROTOCOLS = {
    "local": {"js/local_reports.js", "js/noise.js"},
    "open": {"js/open_clusters.js", "js/obfuscation.js", "js/same_hash.js"},
}
"""Scripts of one protocol alone, by its short name."""
_COLLECTING = {"js/coins.js", "js/page/contribute.js", "js/protocol.js", "js/random.js"}
"""Scripts of any protocol."""
_PREDICTORS = {
    "js/predict/posterior.js": {"refined", "covariance"},
    "js/predict/knn.js": {"refined", "covariance"},
    "js/predict/pairs.js": {"slope-one", "cosine"},
    "js/predict/clusters.js": {"open-clusters", "closed-clusters"},
}
"""Scripts that read releases of some methods alone, by these."""
_POINTERS = re.compile(rb'="(?=js/|style\.css")')
"""Where a document names a script or the style."""
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


class Page:
    """The page's files as a service has a use for them; hidden and other files are left out.

    Scripts are served slim, and of the protocols' those of the one that is collected by. Scripts
    and styles are below a folder whose name is the digest of all files, so that a page never mixes
    those of two versions, and a change of any of them is a new version.

    Args:
        folder: Where they are.
        collects: The short name of the protocol that the service collects by, or None.
    """

    def __init__(self, folder: Path, collects: str | None = None) -> None:
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
        needless = set().union(*(names for kind, names in _PROTOCOLS.items() if kind != collects))
        if collects not in _PROTOCOLS:
            needless |= _COLLECTING
        self._contents = {
            name: slim(path.read_bytes()) if path.suffix == ".js" else path.read_bytes()
            for name, path in files.items()
            if path.suffix in _MEDIA_TYPES and path.is_file() and not name.startswith(".")
            if name not in needless
        }
        self._version = _digest(self._contents)[:16]

    def files(self) -> dict[str, Representation]:
        """Each file but the worker by the path it is served at; documents point to the version."""
        pointed = f'="{self._version}/'.encode()
        found = {}
        for name, content in self._contents.items():
            if name == _WORKER:
                continue
            place = f"/{self._version}/{name}" if _is_versioned(name) else f"/{name}"
            is_document = name.endswith(".html")
            whole = _POINTERS.sub(pointed, content) if is_document else content
            found[_ALIASES.get(name, place)] = _represent(name, whole)
        return found

    def worker(self, method: str | None = None) -> Representation:
        """The worker, which is told the version and what to keep for offline.

        That is everything but scripts which releases of this method need not; these are served all
        the same, for a tab that was open when the release changed.

        Args:
            method: That of the release that is served, or None if there is none.
        """
        needless = {name for name, methods in _PREDICTORS.items() if method not in methods}
        kept = [name for name in self._contents if _is_versioned(name)]
        kept = [f"{self._version}/{name}" for name in kept if name not in needless | _OPERATORS]
        files = json.dumps(["./", *_UNVERSIONED, *kept], separators=(",", ":"))
        copy = f"{self._version}_{sha256(files.encode()).hexdigest()[:8]}"
        told = {"VERSION": json.dumps(self._version), "COPY": json.dumps(copy), "FILES": files}
        lines = "".join(f"const {name}={value};\n" for name, value in told.items())
        return _represent(_WORKER, lines.encode() + self._contents[_WORKER])


def _is_versioned(name: str) -> bool:
    return name.startswith("js/") or name.endswith(".css")


def _represent(name: str, content: bytes) -> Representation:
    return Representation.of(MemoryContent(content), _MEDIA_TYPES[Path(name).suffix])


def _digest(contents: dict[str, bytes]) -> str:
    """Of every file's name and content, each after its length: a document counts as scripts do."""
    parts = [part for name, content in contents.items() for part in (name.encode(), content)]
    return sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


def add_page_routes(
    router: APIRouter,
    folder: Path | None = None,
    *,
    collects: str | None = None,
    method: Callable[[], str | None] = lambda: None,
) -> frozenset[str]:
    """A route for each file, and none for anything else.

    Args:
        router: Where they go.
        folder: The page's files; those that came with the package if absent. If there are none,
            there is no page.
        collects: As `Page` takes it.
        method: Tells, whenever it is asked, the method of the release that is served.

    Returns:
        Their paths.
    """
    folder = folder or find_page()
    if folder is None:
        return frozenset()
    page = Page(folder, collects)
    worker = cache(page.worker)
    _offer(router, f"/{_WORKER}", lambda: worker(method()), _FRESH)
    files = page.files()
    for path in files:
        cached = _FOR_GOOD if path.count("/") > 1 else _FRESH
        _offer(router, path, partial(files.__getitem__, path), cached)
    return frozenset({f"/{_WORKER}", *files})


def _offer(router: APIRouter, path: str, find: Callable[[], Representation], cached: str) -> None:
    async def get(request: Request) -> Response:
        return _dressed(answer(find(), request.headers, cache=cached))

    async def head(request: Request) -> Response:
        return _dressed(answer(find(), request.headers, cache=cached, head=True))

    for method, take in (("GET", get), ("HEAD", head)):
        router.add_api_route(
            path, take, methods=[method], include_in_schema=False, response_model=None
        )


def _dressed(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response
