"""Reading requests: who asks, how often, and a body that is never larger than it may be."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from discreet.domain import InputError
from discreet.protocols.common import capability_digest

# Addresses or capabilities remembered: about 20 MB.
_MOST_KEYS = 100_000
_BURST_SHARE, _LEAST_BURST = 3, 5


@dataclass(frozen=True)
class Rate:
    """Requests per minute in the long run, and `burst` at once; 0 per minute: no limit."""

    per_minute: float
    burst: int

    def __post_init__(self) -> None:
        if not 0 <= self.per_minute < math.inf or self.burst < 1:
            raise InputError("a rate is 0 or more a minute, and its burst 1 or more")

    @classmethod
    def a_minute(cls, count: float) -> Rate:
        """This many per minute; a third of them at once, and never fewer than 5."""
        most = int(count / _BURST_SHARE) if 0 <= count < math.inf else 0
        return cls(count, max(most, _LEAST_BURST))


class Buckets:
    """What each key may still ask for.

    Args:
        rate: What each may.
        most: How many keys are remembered; beyond that the longest unseen are forgotten, and
            begin anew.
        clock: Seconds.
    """

    def __init__(
        self, rate: Rate, most: int = _MOST_KEYS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def wait(self, key: Hashable, *, take: bool = True) -> int:
        """Take one: 0, or the seconds until there is one again (and none was taken).

        Args:
            key: Whose.
            take: False to look without taking.
        """
        if self._rate.per_minute == 0:
            return 0
        speed, now = self._rate.per_minute / 60, self._clock()
        left, then = self._left.pop(key, (float(self._rate.burst), now))
        left = min(left + (now - then) * speed, self._rate.burst)
        taken = left >= 1
        self._left[key] = (left - 1 if taken and take else left, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return 0 if taken else max(math.ceil((1 - left) / speed), 1)


def network_of(address: str) -> str:
    """Whom an address stands for: itself, or its /64 where it is IPv6, of which many have 2^64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return address


_BEARER = "bearer "
_CHALLENGE = {"www-authenticate": "Bearer"}


class Refused(Exception):
    """A request that is answered with a reason and changes nothing.

    Args:
        status: 4xx or 503.
        reason: One line; it never repeats what was sent.
        headers: What the answer also says.
    """

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers or {}


def capability_of(request: Request) -> bytes:
    """The digest of the capability that the request's Authorization header carries.

    Raises:
        Refused: 401; there is none, or it has not the shape of one.
    """
    try:
        return capability_digest(_bearer(request))
    except InputError as error:
        raise Refused(401, error.reason, _CHALLENGE) from None


def unknown_capability(*, unread: bool = False) -> Refused:
    """The answer to a capability that was never given out, or was taken back.

    Args:
        unread: The body was not read, so the connection cannot be used again.
    """
    headers = _CHALLENGE | ({"connection": "close"} if unread else {})
    return Refused(401, "this capability is not enrolled here", headers)


STOPPING = "the service is being stopped; try again"
_CROWDED = "too much is being sent at this moment; try again"


def given_up(reason: str) -> Refused:
    """The answer to a body that is not read to its end."""
    return Refused(503, reason, {"retry-after": "1", "connection": "close"})


def said_otherwise() -> Refused:
    """The answer to tags that differ from the first ones of their slot and epoch."""
    return Refused(409, "other tags were sent for this slot in this period; the first ones stay")


class Bodies:
    """The bytes of bodies that are being read or worked on.

    Bytes count as they come: who announces many and sends none takes no room from others. Where
    there is no room, bodies that are still arriving give way, the longest under way first: who
    sends slowly keeps nobody out.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        # Those still arriving, in the order of their beginning.
        self._arriving: dict[Room, None] = {}
        self._stopping = False

    @contextmanager
    def room(self) -> Iterator[Room]:
        """Room for one body, given back at the end."""
        room = Room(self)
        try:
            yield room
        finally:
            self.arrived(room)
            self._held -= room.held

    def widen(self, most: int) -> None:
        """Raise the limit to at least this."""
        self._most = max(self._most, most)

    def arriving(self, room: Room, deadline: asyncio.Timeout) -> None:
        """A body begins to arrive, and is given up by rescheduling its deadline."""
        room.deadline = deadline
        self._arriving[room] = None
        if self._stopping:
            self._give_up(room, STOPPING)

    def arrived(self, room: Room) -> None:
        """It is there, and keeps its room."""
        self._arriving.pop(room, None)

    def refuse_all(self) -> None:
        """The service stops: nothing more arrives."""
        self._stopping = True
        for room in list(self._arriving):
            self._give_up(room, STOPPING)

    def hold(self, size: int, room: Room) -> None:
        """Count some more for a room; others may have to give way.

        Raises:
            Refused: 503; that would be too many.
        """
        while self._held + size > self._most:
            slowest = next(iter(self._arriving), None)
            if slowest is None or slowest is room:
                raise given_up(_CROWDED)
            self._give_up(slowest, _CROWDED)
        self._held += size
        room.held += size

    def _give_up(self, room: Room, reason: str) -> None:
        del self._arriving[room]
        self._held -= room.held
        room.held, room.refused = 0, reason
        assert room.deadline is not None
        room.deadline.reschedule(asyncio.get_running_loop().time())


class Room:
    """What one body takes.

    Attributes:
        held: Its bytes so far.
        refused: Why it is given up; empty if it is not.
        deadline: Of its arrival.
    """

    def __init__(self, bodies: Bodies) -> None:
        self.bodies, self.held, self.refused = bodies, 0, ""
        self.deadline: asyncio.Timeout | None = None

    def take(self, size: int) -> None:
        """Take some more; see `Bodies.hold`."""
        if not self.refused:
            self.bodies.hold(size, self)


def check_admin(request: Request, token: str | None, guesses: Buckets) -> None:
    """Let only the administrator pass.

    Args:
        request: Carries the token.
        token: The right one.
        guesses: How many wrong ones may come from a network; beyond that the right one waits too.

    Raises:
        Refused: 401, 429, or 403 if there is no administrator.
    """
    if token is None:
        raise Refused(403, "this service was started without an administrator's token")
    network = network_of(request.client.host) if request.client else ""
    wait = guesses.wait(network, take=False)
    if wait:
        reason = "too many wrong administrator's tokens from this address"
        raise Refused(429, reason, {"retry-after": str(wait)})
    # Digests have one length, so comparing them tells nothing of the token, not even its length.
    given, known = (hashlib.sha256(t.encode()).digest() for t in (_bearer(request), token))
    if not hmac.compare_digest(given, known):
        guesses.wait(network)
        raise Refused(401, "this is not the administrator's token", _CHALLENGE)


def _bearer(request: Request) -> str:
    value = request.headers.get("authorization", "")
    if not value.lower().startswith(_BEARER):
        raise Refused(401, "an Authorization header is needed: Bearer and a secret", _CHALLENGE)
    return value[len(_BEARER) :].strip()


async def read_body(request: Request, most: int, seconds: float, room: Room) -> bytes:
    """The whole body.

    Raises:
        Refused: 413 as soon as it is too large, 408 if it does not come in time, 415 if it is
            compressed, 400 if it breaks off, 503 if too much comes from everybody.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "send the body as it is, without a content encoding")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 15 or int(length) > most):
        _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds) as deadline:
            room.bodies.arriving(room, deadline)
            async for part in request.stream():
                size += len(part)
                if size > most:
                    _too_large(most)
                room.take(len(part))
                parts.append(part)
        room.bodies.arrived(room)
    except TimeoutError:
        if room.refused:
            raise given_up(room.refused) from None
        raise Refused(408, "the body took too long to arrive", {"connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "the body broke off") from None
    return b"".join(parts)


def _too_large(most: int) -> NoReturn:
    # The rest of the body is not read, so the connection cannot be used again.
    raise Refused(413, f"the body may have {most:,} bytes at most", {"connection": "close"})


def parse_json(body: bytes) -> Any:
    """What a JSON document holds.

    Raises:
        Refused: 400; it is none, or names a field twice, or has a number that is not finite or half
            of a character.
    """
    try:
        # Decoded here: given bytes, the parser would take UTF-16 as well.
        found = json.loads(
            body.decode(), object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite
        )
        if b"\\u" in body:
            # Escapes can spell halves of characters, which no text has and no answer could repeat.
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except (RecursionError, ValueError):  # wrong UTF-8 is a ValueError too
        pass
    raise Refused(400, "the body should be JSON: UTF-8, finite numbers, no name twice")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number
