"""For everybody: the release, its catalogue, the collection; health and numbers."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from discreet import __version__
from discreet.serve._conditional import answer
from discreet.serve._documents import describe
from discreet.serve._published import Representation
from discreet.serve._requests import Refused
from discreet.serve._service import Service

_OBJECT = {"type": "object"}
_FRESH = "public, no-cache"
"""May be kept, and is to be asked for again: a release can be swapped at any time."""


def add_public_routes(router: APIRouter, service: Service) -> None:
    """What is published and collected, and how the service does."""

    def release() -> Representation:
        if service.published is None:
            raise Refused(404, "no release has been built yet")
        return service.published.release

    def about() -> Representation:
        if service.published is None:
            raise Refused(404, "no release has been built yet")
        return service.published.about

    def collection() -> Representation:
        service.collecting()
        assert service.collection is not None
        return service.collection

    _offer(router, "/v1/release", release, "The release's file", "application/octet-stream")
    _offer(router, "/v1/release/about", about, "What the release is and promises")
    _offer(router, "/v1/catalog", lambda: service.catalog, "The items, in order")
    _offer(router, "/v1/collection", collection, "What is collected, and how")
    _add_health(router, service)


def _offer(
    router: APIRouter,
    path: str,
    find: Callable[[], Representation],
    summary: str,
    media: str = "application/json",
) -> None:
    async def get(request: Request) -> Response:
        return answer(find(), request.headers, cache=_FRESH)

    async def head(request: Request) -> Response:
        return answer(find(), request.headers, cache=_FRESH, head=True)

    schema = _OBJECT if media == "application/json" else {"type": "string", "format": "binary"}
    told = describe(summary, 304, 404, 416, gives=schema, media=media)
    told["responses"][206] = {"description": "The part asked for."}
    name = path.removeprefix("/v1/").replace("/", "_")
    router.get(path, name=name, **told)(get)
    router.head(path, name=f"{name}_head", include_in_schema=False)(head)


def _add_health(router: APIRouter, service: Service) -> None:
    @router.get("/", **describe("What is here", gives=_OBJECT))
    async def index() -> Response:
        kind = None if service.collector is None else service.collector.kind
        told = {"service": "discreet", "version": __version__, "collects": kind}
        return JSONResponse(told | {"openapi": "/openapi.json"})

    @router.get("/healthz", **describe("It runs", gives=_OBJECT))
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @router.get("/readyz", **describe("It can answer and store", 503, gives=_OBJECT))
    async def ready() -> Response:
        if not await service.is_ready():
            raise Refused(503, "the database does not answer, or its last transaction failed")
        return JSONResponse({"status": "ready"})

    @router.get(
        "/metrics",
        **describe("Sums over everybody, for Prometheus", gives={"type": "string"}, media=_TEXT),
    )
    async def metrics() -> Response:
        return PlainTextResponse(service.metrics.text(_gauges(service)), media_type=_TEXT)


_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def _gauges(service: Service) -> list[tuple[str, str, float]]:
    published = service.published
    size = 0 if published is None else published.release.plain.size
    gauges: list[tuple[str, str, float]] = [
        ("discreet_release_bytes", "The size of the release that is served.", size)
    ]
    if service.store is not None:
        writer = service.store.writer
        gauges += [
            ("discreet_commits", "Transactions since the start.", writer.commits),
            ("discreet_commit_changes", "Changes in them.", writer.changes),
            ("discreet_commit_failures", "Transactions that failed.", writer.failures),
        ]
    return gauges
