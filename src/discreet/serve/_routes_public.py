"""For everybody: the release, its catalogue, the collection; health."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.serve._conditional import answer
from discreet.serve._documents import describe
from discreet.serve._requests import Refused
from discreet.serve._service import Service

_OBJECT = {"type": "object"}
_BYTES = {"type": "string", "format": "binary"}


def add_public_routes(router: APIRouter, service: Service) -> None:
    """What is published and collected, and how the service does."""
    _offer(router, service, "release", "The release's file", binary=True)
    _offer(router, service, "about", "What the release is and promises", path="/v1/release/about")
    _offer(router, service, "catalog", "The items, in order")
    _offer(router, service, "collection", "What is collected, and how")
    _offer(router, service, "directory", "Closed clusters: everybody's keys, signed", binary=True)
    _add_health(router, service)


def _offer(
    router: APIRouter,
    service: Service,
    name: str,
    summary: str,
    *,
    path: str | None = None,
    binary: bool = False,
) -> None:
    async def get(request: Request) -> Response:
        return answer(service.find(name), request.headers)

    async def head(request: Request) -> Response:
        return answer(service.find(name), request.headers, head=True)

    at = path or f"/v1/{name}"
    media = "application/octet-stream" if binary else "application/json"
    told = describe(summary, 304, 404, 416, gives=_BYTES if binary else _OBJECT, media=media)
    told["responses"][206] = {"description": "The part asked for."}
    router.get(at, name=name, **told)(get)
    router.head(at, name=f"{name}_head", include_in_schema=False)(head)


def _add_health(router: APIRouter, service: Service) -> None:
    @router.get("/v1", **describe("What is here", gives=_OBJECT))
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
