"""The application and the server that runs it with uvicorn until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, request_response

from discreet import __version__
from discreet.domain import InputError
from discreet.serve._connections import (
    MOST_CONNECTIONS,
    Connection,
    ConnectionServer,
    allowed_connections,
)
from discreet.serve._gate import Gate
from discreet.serve._logs import collapse_lines
from discreet.serve._page import add_page_routes
from discreet.serve._recommend import add_recommend_routes
from discreet.serve._requests import Refused
from discreet.serve._routes import add_admin_routes, add_people_routes, add_public_routes, completed
from discreet.serve._service import Service
from discreet.serve._settings import Settings


class _PlainRoute(APIRoute):
    """A route whose handler takes the request and nothing else.

    FastAPI describes it, and Starlette calls it: what FastAPI does around a call is for handlers
    with other arguments, and took a sixth of an upload's time on the event loop.
    """

    def __init__(self, *args: Any, **told: Any) -> None:
        super().__init__(*args, **told)
        self.app = request_response(self.endpoint)


def make_app(settings: Settings) -> FastAPI:
    """The ASGI application of a service; any ASGI server runs it, `run` with uvicorn.

    Raises:
        InputError: The release or the database cannot be used.
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch.run())
        yield
        watching.cancel()
        await asyncio.wait([watching])
        await service.close()

    # Its documentation pages would load scripts from elsewhere, so there are none.
    # Nor is anybody sent elsewhere for a slash too many: to where, the request would say itself.
    app = FastAPI(
        title="discreet",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.router.route_class = _PlainRoute
    app.state.service = service
    # In the order of how often they are asked for: routes are tried one after the other.
    for add_routes in (add_people_routes, add_public_routes, add_admin_routes):
        add_routes(app.router, service)
    if settings.recommends:
        add_recommend_routes(app.router, service)
    collects = settings.protocol.name if settings.protocol else None
    free = add_page_routes(app.router, collects=collects)
    app.add_exception_handler(Refused, _refuse)
    app.add_exception_handler(HTTPException, _not_here)
    app.add_middleware(Gate, metrics=service.metrics, addresses=service.addresses, free=free)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


async def _refuse(_: Request, refused: Any) -> Response:
    return JSONResponse({"reason": refused.reason}, refused.status, refused.headers)


async def _not_here(request: Request, error: Any) -> Response:
    """What no route takes: 404 or 405."""
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 405:
        # Several routes share a path, and the error names one's own methods alone.
        taken = [
            each for each in request.app.routes if each.matches(request.scope)[0] != Match.NONE
        ]
        methods = {name for each in taken for name in getattr(each, "methods", None) or ()}
        headers["allow"] = ", ".join(sorted(methods))
    return JSONResponse({"reason": error.detail.lower()}, error.status_code, headers)


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        app.openapi_schema = completed(document)
    return app.openapi_schema


_log = logging.getLogger("discreet.serve")

# For requests under way when the service is stopped.
_GRACE_SECONDS = 10
# Connections that wait to be accepted.
_BACKLOG = 2048
# TCP's last port.
_LAST_PORT = 65535
# For one thread, while others wait; Python's default of 0.005 delays the event loop.
_TURN_SECONDS = 0.0005
# The descriptor of standard error, where the log goes.
_STDERR = 2


class Server:
    """A service that listens from the moment it is made, and answers while `run` runs.

    It holds a port and the database until it has run or is closed: `with Server(...) as server`.

    Args:
        settings: What to serve.
        host: The address to listen on.
        port: The port; 0 for any free one.
        proxies: The addresses of proxies, whose X-Forwarded-For names whom rate limits are for.

    Raises:
        InputError: The release or the database cannot be used, or the address is taken.
    """

    def __init__(
        self, settings: Settings, host: str, port: int, *, proxies: str | None = None
    ) -> None:
        self._socket = _listen(host, port)
        try:
            self.app = make_app(settings)
        except BaseException:
            self._socket.close()
            raise
        collapse_lines()
        stopping = self.app.state.service.refuse_bodies
        self._server = ConnectionServer(_config(self.app, proxies), stopping)
        at = f"[{host}]" if ":" in host else host
        self.url = f"http://{at}:{self._socket.getsockname()[1]}"

    def __str__(self) -> str:
        return self.url

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the port and the database; after `run`, or in its place."""
        self._socket.close()
        self.app.state.service.let_go()

    def figures(self) -> dict[str, int]:
        """How many are enrolled and how many reports are stored, under these terms and in all."""
        found: dict[str, int] = self.app.state.service.figures()
        return found

    def run(self) -> None:
        """Serve until `stop`; requests under way are finished, and what was sent is stored."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.close()

    def look(self) -> None:
        """Look at the release's file at once; from any thread."""
        self.app.state.service.watch.ask()

    def stop(self) -> None:
        """Take no more requests; from any thread."""
        self._server.should_exit = True


def run(
    settings: Settings,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    proxies: str | None = None,
    ready: Callable[[Server], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT; on SIGHUP look at the release's file; see `Server`.

    Args:
        settings: What to serve.
        host: The address to listen on.
        port: The port; 0 for any free one.
        proxies: See `Server`.
        ready: Given the server as soon as connections are taken; as text it is its URL.

    Raises:
        InputError: See `Server`.
    """
    with Server(settings, host, port, proxies=proxies) as server:
        # The thread that writes and the event loop take turns; five milliseconds are a long turn.
        sys.setswitchinterval(_TURN_SECONDS)
        # uvicorn raises the signal again when it is done; to end well is not to die of it.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: server.stop())
        attended = os.isatty(_STDERR)
        # A terminal that was closed sends it too, and is a terminal no more: whoever had started
        # the service there is gone.
        signal.signal(
            signal.SIGHUP,
            lambda *_: server.stop() if attended and not os.isatty(_STDERR) else server.look(),
        )
        ready(server)
        server.run()


def _config(app: object, proxies: str | None) -> uvicorn.Config:
    if proxies is not None and "*" in proxies:
        _log.warning(
            "every sender's X-Forwarded-For is believed: whoever reaches this port gives any "
            "address they like, and limits by address hold for nobody; name the proxies"
        )
    # Nothing is logged of a request: neither address nor path nor headers.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        access_log=False,
        log_config=None,
        ws="none",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        http=_protocol(),
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
    )


def _protocol() -> type[asyncio.Protocol]:
    """Connections, as many as this process may have."""
    most = allowed_connections()
    if most < MOST_CONNECTIONS:
        _log.warning("only %d connections at once: raise the limit of open files", most)
    return type("Connection", (Connection,), {"most": most})


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _LAST_PORT:
        raise InputError(f"a port is a number from 0 to {_LAST_PORT}, not {port}")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        # Named as TCP: asyncio turns Nagle's delay (40 ms an answer) off only where it is.
        listening = socket.socket(*found[0][:3])
    except OSError as error:
        raise _cannot_listen(host, port, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[0][4])
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise _cannot_listen(host, port, error) from None
    return listening


def _cannot_listen(host: str, port: int, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(f"cannot listen at {host}, port {port}: {reason}")
