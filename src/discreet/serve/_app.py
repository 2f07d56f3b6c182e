"""The application: routes, errors that speak, the gate around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.serve._documents import completed
from discreet.serve._gate import Gate
from discreet.serve._requests import Refused
from discreet.serve._routes_admin import add_admin_routes
from discreet.serve._routes_page import add_page_routes
from discreet.serve._routes_people import add_people_routes
from discreet.serve._routes_public import add_public_routes
from discreet.serve._service import Service
from discreet.serve._settings import Settings


def make_app(settings: Settings) -> FastAPI:
    """The ASGI application of a service; any ASGI server runs it, `run` with uvicorn.

    Raises:
        InputError: The release or the database cannot be used.
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    # Its documentation pages would load scripts from elsewhere, so there are none.
    app = FastAPI(
        title="discreet", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.service = service
    # In the order of how often they are asked for: routes are tried one after the other.
    for add_routes in (add_people_routes, add_public_routes, add_admin_routes):
        add_routes(app.router, service)
    collector = settings.collector
    free = add_page_routes(app.router, collects=collector.kind if collector else None)
    app.add_exception_handler(Refused, _refuse)
    app.add_exception_handler(HTTPException, _not_here)
    app.add_middleware(Gate, metrics=service.metrics, addresses=service.addresses, free=free)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


async def _refuse(_: Request, refused: Any) -> Response:
    return JSONResponse({"reason": refused.reason}, refused.status, refused.headers)


async def _not_here(_: Request, error: Any) -> Response:
    """What no route takes: 404 or 405."""
    return JSONResponse({"reason": error.detail.lower()}, error.status_code, error.headers)


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        app.openapi_schema = completed(document)
    return app.openapi_schema
