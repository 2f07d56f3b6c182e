"""Around every request: the address's rate, counts for Prometheus, and errors that reveal nothing.

Counts are sums over everybody, and for the administrator alone: whoever reads a sum before and
after a person's request has that person's part of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Set
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.serve._requests import STOPPING, Buckets, network_of

Figure = tuple[str, str, float]
"""A name, what it means, a value."""

# Seconds; the edges of the latency histogram.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters that requests add to; all on the event loop's thread."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: Counter[float] = Counter()
        self.seconds_sum = 0.0
        self.stored = 0
        self.limited: Counter[str] = Counter()
        self.builds: Counter[str] = Counter()
        self.build_seconds = 0.0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answer."""
        self.requests[method, route, status] += 1
        self.seconds[next((b for b in _BOUNDS if seconds <= b), float("inf"))] += 1
        self.seconds_sum += seconds

    def upload(self) -> None:
        """One report that is on disk; not its size, which tells how much a person rated."""
        self.stored += 1

    def text(self, gauges: Iterable[Figure] = (), counters: Iterable[Figure] = ()) -> str:
        """Everything in Prometheus' text format, and these gauges and counters beside it."""
        lines = _head("discreet_requests_total", "counter", "Answers by route and status.")
        for (method, route, status), count in sorted(self.requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"discreet_requests_total{{{labels}}} {count}")
        lines += self._latency()
        for name, help_text, value in (
            ("discreet_reports_stored_total", "Reports put on disk.", self.stored),
            ("discreet_build_seconds_total", "Time spent on releases.", self.build_seconds),
            *counters,
        ):
            lines += [*_head(name, "counter", help_text), f"{name} {value}"]
        for name, help_text, label, counts in (
            ("discreet_rate_limited_total", "Requests over a limit.", "limit", self.limited),
            ("discreet_builds_total", "Releases built, or not.", "outcome", self.builds),
        ):
            lines += _head(name, "counter", help_text)
            lines += [f'{name}{{{label}="{each}"}} {n}' for each, n in sorted(counts.items())]
        for name, help_text, value in gauges:
            lines += [*_head(name, "gauge", help_text), f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _latency(self) -> list[str]:
        name = "discreet_request_seconds"
        lines = _head(name, "histogram", "From a request's head to its answer's end.")
        below = 0
        for bound in _BOUNDS:
            below += self.seconds[bound]
            lines.append(f'{name}_bucket{{le="{bound}"}} {below}')
        total = self.seconds.total()
        lines.append(f'{name}_bucket{{le="+Inf"}} {total}')
        return [*lines, f"{name}_sum {self.seconds_sum}", f"{name}_count {total}"]


def _head(name: str, kind: str, help_text: str) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


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
        unread = _has_body(scope)

        async def receiving() -> Message:
            nonlocal unread
            message = await receive()
            if not message.get("more_body", False):
                unread = False
            return message

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.setdefault("x-content-type-options", "nosniff")
                headers.setdefault("cache-control", "no-store")
                if unread:
                    # What is left of the body would have to be parsed for ever.
                    headers["connection"] = "close"
            await send(message)

        try:
            wait = self._wait(scope)
            if wait:
                await _say(sending, 429, "too many requests from this address", wait)
            else:
                await self._app(scope, receiving, sending)
        except asyncio.CancelledError:
            # The service stops and has waited long enough: it is not an error of anybody's.
            if not status:
                await _say(sending, 503, STOPPING)
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


def _has_body(scope: Scope) -> bool:
    """Whether a body may follow the head."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0"))
        for name, value in scope["headers"]
    )


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
