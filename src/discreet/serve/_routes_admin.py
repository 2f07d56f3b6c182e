"""For the administrator: build a release, take a newer directory, look at the numbers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from discreet.serve._documents import describe
from discreet.serve._metrics import Figure
from discreet.serve._requests import Refused, check_admin
from discreet.serve._service import Service
from discreet.serve._store import Store

_OBJECT = {"type": "object"}
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def add_admin_routes(router: APIRouter, service: Service) -> None:
    """Each needs the administrator's token in its Authorization header."""
    _add_building(router, service)
    _add_reload(router, service)
    _add_reading(router, service)


def _add_reading(router: APIRouter, service: Service) -> None:
    told = describe(
        "Sums over everybody, for Prometheus",
        403,
        needs="administrator",
        gives={"type": "string"},
        media=_TEXT,
    )

    @router.get("/metrics", **told)
    async def metrics(request: Request) -> Response:
        check_admin(request, service.settings.admin_token)
        told = service.metrics.text(_gauges(service), _counters(service))
        return PlainTextResponse(told, media_type=_TEXT)


def _add_building(router: APIRouter, service: Service) -> None:
    def admitted(request: Request) -> None:
        check_admin(request, service.settings.admin_token)

    told = describe(
        "A release is being built from what was sent",
        403,
        404,
        409,
        needs="administrator",
        gives=_OBJECT,
        ok=202,
    )

    @router.post("/v1/admin/rebuild", **told)
    async def rebuild(request: Request) -> Response:
        admitted(request)
        service.collecting()
        if not service.build():
            raise Refused(409, "a release is being built already")
        return JSONResponse(service.builder.last, 202)

    @router.get(
        "/v1/admin/statistics",
        **describe("Numbers", 403, 503, needs="administrator", gives=_OBJECT),
    )
    async def statistics(request: Request) -> Response:
        admitted(request)
        collected = {} if service.store is None else await _collected(service, service.store)
        return JSONResponse({**collected, "served": service.served(), **await service.ledger()})


async def _collected(service: Service, store: Store) -> dict[str, Any]:
    """Figures that only a service has that collects."""
    return {
        **await service.ask(store.figures, service.digest),
        "collection": service.collection_digest,
        "stored_since_start": service.metrics.stored,
        "commits_since_start": store.writer.commits,
        "least_people": service.settings.least_people,
        "build": service.builder.last,
    }


def _add_reload(router: APIRouter, service: Service) -> None:
    told = describe(
        "Closed clusters: the directory's file is looked at again",
        403,
        404,
        422,
        503,
        needs="administrator",
        gives={"type": "object", "properties": {"reloaded": {"type": "boolean"}}},
    )

    @router.post("/v1/admin/reload", **told)
    async def reload(request: Request) -> Response:
        check_admin(request, service.settings.admin_token)
        return JSONResponse({"reloaded": await service.reload()})


def _gauges(service: Service) -> list[Figure]:
    return [("discreet_published_bytes", "The size of what is served.", service.published_bytes)]


def _counters(service: Service) -> list[Figure]:
    if service.store is None:
        return []
    writer = service.store.writer
    return [
        ("discreet_commits_total", "Transactions.", writer.commits),
        ("discreet_commit_changes_total", "Changes in them.", writer.changes),
        ("discreet_commit_failures_total", "Transactions that failed.", writer.failures),
    ]
