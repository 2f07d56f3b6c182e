"""A person's side of the HTTP service: one connection, and the capability in the person's file.

    with ServiceClient("https://example.org", "me.state") as service:
        service.enroll()
        collection = Collection.from_json(service.collection(), service.catalog())
        service.report(LocalClient(collection, "me.state").report({"Alien": 5}).as_json())
        service.fetch_release("movies.discreet")
        service.delete()

Ratings never come here: only messages that a protocol's client has made.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import os
import re
import ssl
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.errors import Refusal
from discreet.domain.files import whole_file
from discreet.protocols.common._state import StateFile
from discreet.protocols.common._work import MOST_BITS, work

__all__ = ["Refusal", "ServiceClient"]

# Bytes of an answer; chosen for safety, well above a directory of a million members.
_MOST_BYTES = 1 << 28
# Bytes of a release read at a time.
_CHUNK = 1 << 18
# How often a broken download is resumed.
_TRIES = 3
# Characters of a server's reason that are shown.
_LONGEST = 200
# Where the person's file has the capabilities, by server.
_KEY = "service"
_PORTS = {"http": 80, "https": 443}
_VOID, _NOTHING, _NOT_ALLOWED = 401, 404, 405
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
_SECONDS = re.compile("[0-9]{1,6}")
_TAG = re.compile(r'"([0-9a-f]{64})"')


class ServiceClient:
    """Speaks to one service.

    Args:
        server: Its URL, https://... or, on this very machine, http://...
        state: The person's own file, which the protocol's client shares; without one nothing that
            needs a capability can be done.
        insecure: Take http:// to another machine: everybody on the way can then read and use the
            capability.
        timeout: Seconds to wait for an answer.

    Attributes:
        server: The URL in its one spelling.
        answered: Whether there was an answer to the last request, whatever it said.

    Raises:
        InputError: The URL cannot be used.
    """

    def __init__(
        self,
        server: str,
        state: str | os.PathLike[str] | None = None,
        *,
        insecure: bool = False,
        timeout: float = 60.0,
    ) -> None:
        parts = urllib.parse.urlsplit(server.strip())
        host, port = parts.hostname, _port(parts)
        wrong = parts.query or parts.fragment or parts.username or parts.password
        if parts.scheme not in _PORTS or host is None or wrong:
            raise InputError("a server is a URL such as https://example.org")
        if parts.scheme == "http" and not insecure and not _is_here(host):
            raise InputError(f"http:// to {host} is readable on the way; use https://")
        self._prefix = parts.path.rstrip("/")
        # One spelling for one server. Not so for localhost and 127.0.0.1: the first may be ::1 as
        # well, where another's program may listen, and would be sent the capability.
        named = f"[{host}]" if ":" in host else host
        there = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
        self.server = f"{parts.scheme}://{named}{there}{self._prefix}"
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = kind(host, port, timeout=timeout)
        self._path = None if state is None else Path(state)
        self._collection: dict[str, Any] | None = None
        self.answered = False

    def __repr__(self) -> str:
        return f"ServiceClient({self.server})"

    def __enter__(self) -> ServiceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection; the next request makes a new one."""
        self._connection.close()

    def collection(self) -> dict[str, Any]:
        """What the server collects: the announcement of a protocol's `Collection`."""
        if self._collection is None:
            self._collection = self._object("GET", "/v1/collection")
        return self._collection

    def catalog(self) -> Catalog:
        """The items.

        Raises:
            InputError: The answer is not a catalogue, or not the one its digest names.
        """
        document = self._object("GET", "/v1/catalog")
        try:
            found = Catalog(document["ids"], document["titles"], CatalogOrigin(document["origin"]))
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{self.server} sent no catalogue") from None
        if found.digest() != document.get("digest"):
            raise InputError(f"{self.server} sent a catalogue that is not what its digest says")
        return found

    def scale(self) -> Scale:
        """The scale that ratings live on."""
        return Scale.parse(str(self._object("GET", "/v1/catalog").get("scale")))

    def enroll(self, invitation: str | None = None) -> bool:
        """Get a capability and keep it: False if there is one already that the server knows.

        One that the server does not know any more is replaced; what the protocol's client
        remembers stays. Where the server asks for work, it is done.

        Args:
            invitation: A code or a signed token, where the server asks for one.
        """
        # The lock is held meanwhile: what could not be kept is not asked for.
        with self._file().change() as state:
            held = self._known(state)
            if held is not None and self._is_valid(held):
                return False
            proof = self._proof(invitation)
            made = self._parsed(self._ask("POST", "/v1/enrolments", proof))
            capability = made.get("capability")
            if not isinstance(capability, str):
                raise InputError(f"{self.server} sent no capability")
            state.setdefault(_KEY, {})[self.server] = capability
        return True

    def _proof(self, invitation: str | None) -> bytes:
        """What the body of an enrolment says."""
        if invitation is not None:
            return json.dumps({"invitation": invitation}).encode()
        try:
            asked = self._object("GET", "/v1/enrolments")
        except Refusal as refused:
            # A service of version 0.1.0 lets everybody enrol, and has nothing to say about it.
            if refused.status not in (_NOTHING, _NOT_ALLOWED):
                raise
            return b""
        challenge, bits = asked.get("challenge"), asked.get("bits")
        if asked.get("admission") != "work" or not isinstance(challenge, str):
            return b""
        if not isinstance(bits, int) or not 0 < bits <= MOST_BITS:
            raise InputError(f"{self.server} asks for more work than is done for anybody")
        return json.dumps({"challenge": challenge, "nonce": work(challenge, bits)}).encode()

    @property
    def enrolled(self) -> bool:
        """Whether the person's file has a capability for this server."""
        return self._known(self._file().read()) is not None

    def check_enrolled(self) -> None:
        """Go on only if the person's file has a capability for this server.

        Raises:
            InputError: It has none, or had one and left.
        """
        self._capability()

    def report(self, message: Mapping[str, Any]) -> None:
        """Send a message in place of the last one; it is on the server's disk when this returns."""
        self._use("PUT", "/v1/report", json.dumps(message).encode())

    def sent(self) -> dict[str, Any]:
        """What the server has of this person.

        Raises:
            Refusal: 404; it has nothing.
        """
        return self._parsed(self._use("GET", "/v1/report"))

    def withdraw(self) -> None:
        """Delete what was sent; the capability stays."""
        self._use("DELETE", "/v1/report")

    def delete(self) -> None:
        """Delete what was sent and the capability, at the server first and then here.

        What the protocol's client remembers stays: it keeps count of everything ever sent. A
        capability that the server does not know has been deleted: its answer may have been lost.
        """
        try:
            self._ask("DELETE", "/v1/enrolment", secret=self._capability())
        except Refusal as refused:
            if refused.status != _VOID:
                raise
        with self._file().change() as state:
            state[_KEY][self.server] = None

    def fetch_release(self, path: str | os.PathLike[str]) -> bool:
        """Bring a file up to the release that is served: False if it was so already.

        A fetch that breaks off goes on where it was; the file changes whole or not at all.

        Raises:
            InputError: It cannot be fetched, or is not what its digest says, or cannot be written.
        """
        return _download(self, "/v1/release", Path(path))

    def directory(self) -> bytes:
        """Closed clusters: everybody's keys; the protocol's client checks who signed them."""
        return self._ask("GET", "/v1/directory")

    def rebuild(self, token: str) -> dict[str, Any]:
        """For the administrator: begin to build a release."""
        self.close()  # on a new connection nothing is sent twice; the second would be refused
        return self._object("POST", "/v1/admin/rebuild", secret=token)

    def reload(self, token: str) -> dict[str, Any]:
        """For the administrator: closed clusters' directory is looked at again."""
        self.close()  # as above: the second would find nothing new
        return self._object("POST", "/v1/admin/reload", secret=token)

    def statistics(self, token: str) -> dict[str, Any]:
        """For the administrator: the numbers."""
        return self._object("GET", "/v1/admin/statistics", secret=token)

    def open(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPResponse:
        """Send a request; the answer's body is still to be read.

        Raises:
            InputError: There is none; `answered` says so too.
        """
        all_headers = ({"Content-Type": "application/json"} if body else {}) | dict(headers or {})
        kept = self._connection.sock is not None
        try:
            try:
                return self._exchange(method, path, body, all_headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                # A kept connection was most likely closed while it was idle; a new one was
                # not: the request was taken, and its outcome is unknown.
                if not kept:
                    raise
            return self._exchange(method, path, body, all_headers)
        except (http.client.HTTPException, OSError) as error:
            raise self._silent(error) from None

    def _exchange(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        self.answered = False
        try:
            self._connection.request(method, self._prefix + path, body, headers)
            answer = self._connection.getresponse()
            self.answered = True
            return answer
        except (http.client.HTTPException, OSError):
            self._connection.close()
            raise

    def _silent(self, error: Exception) -> InputError:
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            return InputError(f"{self.server} speaks no TLS: is it http://?")
        reason = getattr(error, "strerror", None) or type(error).__name__
        return InputError(f"{self.server} does not answer: {reason}")

    def _ask(self, method: str, path: str, body: bytes = b"", secret: str | None = None) -> bytes:
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        answer = self.open(method, path, body, headers)
        try:
            content = answer.read(_MOST_BYTES + 1)
        except (http.client.HTTPException, OSError):
            self._connection.close()
            raise InputError(f"{self.server} broke off its answer") from None
        if len(content) > _MOST_BYTES:
            self._connection.close()
            raise InputError(f"{self.server} sent more than {_MOST_BYTES:,} bytes")
        if answer.status >= 300:
            raise _refusal_of(self.server, answer, content)
        return content

    def _use(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Ask with the person's capability."""
        try:
            return self._ask(method, path, body, self._capability())
        except Refusal as refused:
            if refused.status != _VOID:
                raise
            raise refused.advised("discreet client enroll gets a new one") from None

    def _is_valid(self, capability: str) -> bool:
        """Whether the server knows a capability."""
        try:
            self._ask("HEAD", "/v1/report", secret=capability)
        except Refusal as refused:
            if refused.status == _NOTHING:
                return True
            if refused.status == _VOID:
                return False
            raise
        return True

    def _object(self, method: str, path: str, *, secret: str | None = None) -> dict[str, Any]:
        return self._parsed(self._ask(method, path, secret=secret))

    def _parsed(self, content: bytes) -> dict[str, Any]:
        try:
            document = json.loads(content)
        except (RecursionError, ValueError):
            document = None
        if not isinstance(document, dict):
            raise InputError(f"{self.server} sent something else than a JSON object")
        return document

    def _file(self) -> StateFile:
        if self._path is None:
            raise InputError("a state file is needed, where the capability is kept")
        return StateFile(self._path, str(self.collection().get("protocol")))

    def _known(self, state: Mapping[str, Any]) -> str | None:
        """The capability for this server; one file serves several, with one memory for all."""
        capabilities = state.get(_KEY, {})
        held = capabilities.get(self.server) if isinstance(capabilities, dict) else 0
        if held is not None and not isinstance(held, str):
            raise InputError("its capability is damaged", path=self._path)
        return held

    def _capability(self) -> str:
        state = self._file().read()
        found = self._known(state)
        if found is None and self.server in state.get(_KEY, {}):
            reason = "is not enrolled any more: what was sent with it was deleted"
            raise InputError(f"{reason}; discreet client enroll begins anew", path=self._path)
        if found is None:
            elsewhere = ", ".join(name for name, held in state.get(_KEY, {}).items() if held)
            at = f" here, only at {elsewhere}" if elsewhere else ""
            reason = f"is not enrolled{at or ' yet'}: discreet client enroll"
            raise InputError(reason, path=self._path)
        return found


def _port(parts: urllib.parse.SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        raise InputError("a server is a URL such as https://example.org:8000") from None


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _download(service: ServiceClient, path: str, target: Path) -> bool:
    """Fetch a file whose ETag is the SHA-256 of its bytes: False if `target` is the same already.

    Raises:
        InputError: It cannot be had, or is not what its digest says.
    """

    def ask(headers: dict[str, str]) -> tuple[http.client.HTTPResponse, str]:
        answer = service.open("GET", path, headers={"Accept-Encoding": "identity"} | headers)
        if answer.status >= 400:
            raise _refusal_of(service.server, answer)
        return answer, answer.headers.get("ETag", "")

    answer, tag = ask({"If-None-Match": f'"{_sha256(target)}"'} if target.is_file() else {})
    if answer.status == 304:
        answer.read()
        return False
    if answer.status != 200 or not _TAG.fullmatch(tag):
        answer.close()
        raise InputError(f"{service.server} sent no release ({answer.status})")
    with whole_file(target) as temporary:
        whole = _append(answer, temporary)
        for _ in range(_TRIES):
            if whole:
                break
            answer, now = ask({"Range": f"bytes={temporary.stat().st_size}-", "If-Range": tag})
            if answer.status == 200:  # another release by now: from the beginning
                temporary.write_bytes(b"")
                tag = now
            whole = _append(answer, temporary)
        if not whole or tag != f'"{_sha256(temporary)}"':
            raise InputError(f"{service.server} sent a release that is incomplete")
    return True


def _append(answer: http.client.HTTPResponse, target: Path) -> bool:
    """Append what comes; whether all of it came."""
    try:
        with target.open("ab") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
    except (http.client.HTTPException, ConnectionError, TimeoutError):
        answer.close()
        return False
    # If an answer ends early, read(n) does not say so.
    return answer.length in (0, None)


def _refusal_of(
    server: str, answer: http.client.HTTPResponse, content: bytes | None = None
) -> Refusal:
    """The refusal that an answer is, with the server's reason if it gave one."""
    if content is None:
        try:
            content = answer.read(1 << 16)
        except (http.client.HTTPException, OSError):
            content = b""
        finally:
            answer.close()
    try:
        reason = str(json.loads(content)["reason"])[:_LONGEST]
    except (KeyError, RecursionError, TypeError, ValueError):
        reason = ""
    plain = "".join(letter for letter in reason if letter.isprintable())
    wait = answer.headers.get("Retry-After", "")
    return Refusal(server, answer.status, plain, int(wait) if _SECONDS.fullmatch(wait) else None)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
