"""For the administrator: build a release, look at the numbers, read closed clusters."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from discreet.serve._conditional import answer
from discreet.serve._documents import describe
from discreet.serve._requests import Refused, check_admin
from discreet.serve._service import Service

_OBJECT = {"type": "object"}
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_PRIVATE = "no-store"


def add_admin_routes(router: APIRouter, service: Service) -> None:
    """Each needs the administrator's token in its Authorization header."""
    _add_building(router, service)
    _add_reading(router, service)


def _add_reading(router: APIRouter, service: Service) -> None:
    @router.get(
        "/v1/clusters",
        **describe(
            "Closed clusters: who is together",
            304, 403, 404, 416, needs="administrator", gives=_OBJECT,
        ),
    )  # fmt: skip
    async def clusters(request: Request) -> Response:
        check_admin(request, service.settings.admin_token)
        return answer(service.find("clusters"), request.headers, cache=_PRIVATE)

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
        return PlainTextResponse(service.metrics.text(_gauges(service)), media_type=_TEXT)


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
        if not service.builder.start():
            raise Refused(409, "a release is being built already")
        return JSONResponse(service.builder.last, 202)

    @router.get(
        "/v1/admin/statistics",
        **describe("Numbers", 403, 404, 503, needs="administrator", gives=_OBJECT),
    )
    async def statistics(request: Request) -> Response:
        admitted(request)
        store = service.collecting()
        figures = await service.ask(store.figures, service.digest)
        return JSONResponse(
            {
                **figures,
                "collection": service.digest,
                "stored_since_start": service.metrics.stored,
                "commits_since_start": store.writer.commits,
                "build": service.builder.last,
            }
        )


def _gauges(service: Service) -> list[tuple[str, str, float]]:
    size = service.published_bytes
    gauges: list[tuple[str, str, float]] = [
        ("discreet_published_bytes", "The size of what is served.", size)
    ]
    if service.store is not None:
        writer = service.store.writer
        gauges += [
            ("discreet_commits", "Transactions since the start.", writer.commits),
            ("discreet_commit_changes", "Changes in them.", writer.changes),
            ("discreet_commit_failures", "Transactions that failed.", writer.failures),
        ]
    return gauges
