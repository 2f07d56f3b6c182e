"""A relay in front of the service that keeps every byte that a browser sends."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Sent:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Recorder:
    """Relays connections to a service, byte for byte, until it is closed.

    Args:
        url: The service's.
    """

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._to = (host, int(port))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._streams: list[bytearray] = []
        self._sockets: list[socket.socket] = [self._listening]
        self._threads: list[threading.Thread] = []
        self._run(self._take)

    @property
    def raw(self) -> bytes:
        """Everything that was sent, on all connections."""
        return b"".join(map(bytes, self._streams))

    def requests(self) -> list[Sent]:
        """Everything that was sent, read as HTTP."""
        return [sent for stream in self._streams for sent in _read(bytes(stream))]

    def close(self) -> None:
        """Break all connections off and take no more."""
        for each in self._sockets:
            with suppress(OSError):  # it had ended before
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _run(self, work: object, *about: object) -> None:
        thread = threading.Thread(target=work, args=about)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _take(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            service = socket.create_connection(self._to)
            stream = bytearray()
            self._streams.append(stream)
            self._sockets += [client, service]
            self._run(_relay, client, service, stream)
            self._run(_relay, service, client, bytearray())


def _relay(one: socket.socket, other: socket.socket, stream: bytearray) -> None:
    try:
        while chunk := one.recv(1 << 16):
            stream += chunk
            other.sendall(chunk)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        return  # either side went away


def _read(stream: bytes) -> Iterator[Sent]:
    while stream:
        head, _, rest = stream.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (re.split(r":\s*", line, maxsplit=1) for line in lines)
        headers = {name.lower(): value for name, value in pairs}
        assert "transfer-encoding" not in headers
        length = int(headers.get("content-length", 0))
        method, path, _ = first.split(" ")
        yield Sent(method, path, headers, rest[:length])
        stream = rest[length:]


@contextmanager
def recording(url: str) -> Iterator[Recorder]:
    """A relay while the block runs."""
    recorder = Recorder(url)
    try:
        yield recorder
    finally:
        recorder.close()
