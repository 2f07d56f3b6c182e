"""For the administrator: build a release, look at the numbers."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from discreet.serve._documents import describe
from discreet.serve._requests import Refused, check_admin
from discreet.serve._service import Service

_OBJECT = {"type": "object"}


def add_admin_routes(router: APIRouter, service: Service) -> None:
    """Each needs the administrator's token in its Authorization header."""

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
