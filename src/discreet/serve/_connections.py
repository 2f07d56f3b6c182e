"""Connections: how many there may be, and how long one may wait without a request."""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

MOST_CONNECTIONS = 2000
"""At once, if the limit of open files allows as many. Chosen for safety: about 100 MB."""

# Descriptors for the database, the release, the log and the like. Chosen for safety.
_OTHER_FILES = 64
# Seconds from a connection's beginning, or its last answer, to the whole head of a request. Chosen
# by hand.
_HEAD_SECONDS = 10.0
# Bytes of a request beside its body: head, trailers and the lengths of chunks. As h11 has it.
_MOST_BESIDE = 1 << 16
# Bytes of lengths for each byte of a body: a chunk of one byte has five. Chosen with room to spare.
_BESIDE_EACH = 15
# Requests that wait on a connection for those before them. Chosen by hand.
_MOST_WAITING = 16

HTTPTOOLS = AutoHTTPProtocol.__name__ == "HttpToolsProtocol"
"""Whether requests are parsed by httptools, else by h11: it takes a fifth off an upload's time."""

_log = logging.getLogger("discreet.serve")


def allowed_connections(wanted: int = MOST_CONNECTIONS) -> int:
    """How many connections fit below the limit of open files, which is raised as far as needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
        except (OSError, ValueError):  # not allowed here: there are fewer connections
            pass
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(min(wanted, soft - _OTHER_FILES), 1)


class Connection(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
    """One connection, of which there are never more than `most`.

    When there are as many, the one that has waited longest without a request gives way to a new
    one; where all are busy the new one is closed. One that does not send the head of a request in
    time is closed.
    """

    most = MOST_CONNECTIONS
    _is_refused = False
    # Of the request that arrives: all bytes, and those of its body.
    _size = _body = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Make room, or close it."""
        # Kept in the order of their beginning: the first idle one has waited longest.
        if len(self.connections) >= self.most and not self._make_room():
            transport.abort()
            self._is_refused = True
            return
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        if self._is_refused:
            return
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Time what is not the whole head of a request."""
        if self._is_refused:
            return
        self._size += len(data)
        super().data_received(data)
        if HTTPTOOLS and self._size - self._body > _MOST_BESIDE + _BESIDE_EACH * self._body:
            self.transport.abort()
        if not self.is_idle:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    # httptools, unlike h11, keeps heads, trailers and waiting requests of any length.

    def on_message_begin(self) -> None:
        """Refuse to let many requests wait; the parser makes of it an answer of 400."""
        if len(self.pipeline) >= _MOST_WAITING:
            raise ValueError("too many requests wait")
        self._size = self._body = 0
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """Count it."""
        self._body += len(body)
        super().on_body(body)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being worked on."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(_HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.is_idle and not self.transport.is_closing():
            self.transport.abort()

    def _make_room(self) -> bool:
        for other in self.connections:
            if other.is_idle and not other.transport.is_closing():
                # No longer counted: the transport reports its end in the next turn of the loop.
                self.connections.discard(other)
                other.transport.abort()
                return True
        return False


class ConnectionServer(uvicorn.Server):
    """uvicorn's server, which tells the service that it stops before it waits for requests."""

    def __init__(self, config: uvicorn.Config, stopping: Any) -> None:
        super().__init__(config)
        self._stopping = stopping
        # In the order of their beginning, which a set does not keep.
        self.server_state.connections = _Ordered()  # type: ignore[assignment]

    async def shutdown(self, sockets: Any = None) -> None:
        """Bodies that are half sent are refused; all others are finished."""
        self._stopping()
        await super().shutdown(sockets)


class _Ordered(dict[Any, None]):
    """As much of a set as uvicorn needs, in the order of insertion."""

    def add(self, each: Any) -> None:
        """Put it at the end."""
        self[each] = None

    def discard(self, each: Any) -> None:
        """Take it out, if it is there."""
        self.pop(each, None)
