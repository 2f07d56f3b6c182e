"""A small HTTP server on the loopback that misbehaves on request."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What the server has and how it behaves; and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.ranges = True
        self.says_length = True
        self.misplaces = False
        self.breaks: list[tuple[int, str]] = []
        """After how many bytes each coming answer ends, and how: "close", "reset" or "silence"."""
        self.asked: list[tuple[str, str | None]] = []
        self.released = threading.Event()


class Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.asked.append((self.path, self.headers.get("Range")))
        if self.path in self.site.redirects:
            self.send_response(302)
            self.send_header("Location", self.site.redirects[self.path])
            self.end_headers()
        elif self.path not in self.site.files:
            self.send_error(404)
        else:
            self.answer(self.site.files[self.path])

    def answer(self, content: bytes) -> None:
        begin = 0
        asked = self.headers.get("Range")
        if asked and self.site.ranges:
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(content):
                self.send_error(416)
                return
            said = begin + 1 if self.site.misplaces else begin
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {said}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if self.site.says_length:
            self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        self.deliver(content[begin:])

    def deliver(self, content: bytes) -> None:
        if not self.site.breaks:
            self.wfile.write(content)
            return
        after, how = self.site.breaks.pop(0)
        self.wfile.write(content[:after])
        self.wfile.flush()
        if how == "silence":
            self.site.released.wait(20)
        if how == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def log_request(self, *_: object) -> None:
        pass

    def log_error(self, *_: object) -> None:
        pass


@contextmanager
def serving(site: Site) -> Iterator[str]:
    handler = type("BoundHandler", (Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        site.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
