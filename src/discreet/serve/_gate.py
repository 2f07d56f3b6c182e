"""Around every request: the address's rate, the count, and no exception that says too much."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Set
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.serve._metrics import Metrics
from discreet.serve._rates import Buckets, network_of

_log = logging.getLogger("discreet.serve")
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
_INTERNAL = "something is wrong here; it was not your request's fault"


class Gate:
    """The outermost part of the application.

    Args:
        app: What is behind it.
        metrics: Where answers are counted.
        addresses: What each address may ask for.
        free: Paths that are not counted: the page's files are many, each as cheap as a refusal.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, addresses: Buckets, free: Set[str] = frozenset()
    ) -> None:
        self._app, self._metrics, self._addresses = app, metrics, addresses
        self._free = _UNLIMITED | free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.setdefault("x-content-type-options", "nosniff")
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            wait = self._wait(scope)
            if wait:
                await _say(sending, 429, "too many requests from this address", wait)
            else:
                await self._app(scope, receive, sending)
        except Exception as error:  # noqa: BLE001  (logged without its message)
            _complain(scope, error)
            if not status:
                await _say(sending, 500, _INTERNAL)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            elapsed = time.perf_counter() - begun
            self._metrics.request(method, route_of(scope), status, elapsed)

    def _wait(self, scope: Scope) -> int:
        if scope["path"] in self._free or not scope.get("client"):
            return 0
        wait = self._addresses.wait(network_of(scope["client"][0]))
        self._metrics.limited["address"] += wait > 0
        return wait


def route_of(scope: Scope) -> str:
    """The route's own path, never the one that was asked for."""
    route = scope.get("route")
    return getattr(route, "path", "unknown")


async def _say(send: Send, status: int, reason: str, wait: int = 0) -> None:
    body = json.dumps({"reason": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if wait:
        headers.append((b"retry-after", b"%d" % wait))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _complain(scope: Scope, error: Exception) -> None:
    """Where it happened and of what kind; its message may hold what somebody sent."""
    frames: list[Any] = traceback.extract_tb(error.__traceback__)[-5:]
    places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
    _log.error("%s at %s: %s", type(error).__name__, route_of(scope), places)
