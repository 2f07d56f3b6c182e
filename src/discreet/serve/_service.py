"""The parts of a running service, which the routes share."""

from __future__ import annotations

import asyncio
import datetime
import json
import logging
import math
import queue
import time
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from discreet.domain import InputError
from discreet.domain.errors import LedgerError
from discreet.privacy.ledger import Ledger
from discreet.protocols.servers import Claim, Protocol
from discreet.serve._builder import Builder, remove_leftovers
from discreet.serve._gate import Metrics
from discreet.serve._ledger import LEDGER_WAIT
from discreet.serve._published import (
    Made,
    MemoryContent,
    Representation,
    catalog_document,
    open_release,
)
from discreet.serve._requests import (
    Bodies,
    Buckets,
    Rate,
    Refused,
    check_admin,
    unknown_capability,
)
from discreet.serve._settings import Settings
from discreet.serve._store import Change, Outcome, Store
from discreet.serve._watch import Watch, mark_of

# Bytes; chosen for safety.
LARGEST_BATCH = 8 << 20
# Bytes of bodies in memory at once; chosen for safety.
_BODIES_BYTES = 64 << 20
# The same for batches: four of the largest.
_BATCHES_BYTES = 4 * LARGEST_BATCH
# Capabilities whose enrolment is remembered: about 10 MB.
_MOST_KNOWN = 100_000
# Seconds that a request waits for the database; SQLite's own patience (`PATIENCE`) and one more try
# fit into it. Chosen by hand.
DEADLINE = 5.0
# Threads that ask the database: as many as it has connections for readers.
_ASKING = 6
# Seconds after a write in which /readyz does not try another. Chosen by hand.
_READY_SECONDS = 1.0
# Wrong administrator's tokens from one network. Chosen for safety.
_GUESSES = Rate(per_minute=10, burst=10)
_log = logging.getLogger("discreet.serve")
_BUSY = "too much is waiting to be stored; try again"
_UNKNOWN = "the database does not answer; it may have stored what was sent; send it again"
_DOWN = "what was sent cannot be stored now; nothing was; try again"
_PUBLISHES = "this service publishes a release and collects nothing"
LIMITED = {
    "capability": "too many requests with this capability",
    "enrolment": "too many enrolments from this address",
}
"""What is said to whom passes a limit, by its name."""
_ABSENT = {"release": "no release has been built yet", "collection": _PUBLISHES}


class Service:
    """What is published, what is collected, and who may ask how often.

    Args:
        settings: How to run.

    Raises:
        InputError: The release or the database cannot be used, or they do not belong together.
        LedgerError: The ledger is not one, or cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.metrics = settings, Metrics()
        self.addresses = Buckets(settings.per_address)
        self.capabilities = Buckets(settings.per_capability)
        self.enrolments = Buckets(settings.enrolments)
        self._guesses = Buckets(_GUESSES)
        # Whoever replaces the release's file or what is served of it.
        swapping = asyncio.Lock()
        self.builder = Builder(settings, self.metrics, self._publish, swapping)
        self.protocol = settings.protocol
        self.store: Store | None = None
        # Batches apart: anybody may send one, and must not crowd out who is enrolled.
        self.bodies, self.batches = Bodies(_BODIES_BYTES), Bodies(_BATCHES_BYTES)
        self._known: set[bytes] = set()
        self._asking = ThreadPoolExecutor(_ASKING, "discreet asks")
        self._looking = asyncio.Lock()
        self._announced: dict[str, Representation] = {}
        self._reloading, self._may_go_back = asyncio.Lock(), settings.allow_older_epoch
        self._published: Made = {}
        self._built = "before the start"
        self._read_ledger()
        self.watch = Watch(settings.release, mark_of(settings.release), swapping, self._take)
        if settings.release.is_file():
            self._published = open_release(settings.release)
        if self.protocol is not None and settings.database is not None:
            remove_leftovers(settings.release)
            self.store = Store(settings.database)
            try:
                self._announce(self._noted(self.protocol))
            except BaseException:
                self.store.close()
                raise

    async def reload(self) -> bool:
        """Closed clusters: look at the directory's file again; False if it is announced already.

        Raises:
            Refused: 404; there is no directory. 422: the file is refused. 503: the database does
                not answer. Then the one before stays announced, and the next call tries again.
        """
        protocol = self.protocol
        if protocol is None or "directory" not in self._announced:
            raise Refused(404, "this service has no directory: it does not collect closed clusters")
        async with self._reloading:
            try:
                await run_in_threadpool(protocol.reload)
                announced = await self.ask(self._noted, protocol)
            except InputError as error:
                raise Refused(422, error.reason) from None
            before = self._announced["directory"].digest
            self._announce(announced)
        return self._announced["directory"].digest != before

    def _noted(self, protocol: Protocol) -> dict[str, Representation]:
        """What a protocol announces, once the database knows its parameters.

        Raises:
            InputError: Reports of a later epoch of the same terms are stored; nothing changed.
        """
        store, document = self.collecting(), protocol.announce()
        latest = store.latest_epoch(document)
        if latest is not None and document["epoch"] < latest and not self._may_go_back:
            raise InputError(
                f"period {document['epoch']:,} is over: the database has reports of period "
                f"{latest:,} under the same terms; go on with {protocol.later_epoch(latest)}, or "
                "go back with allow_older_epoch"
            )
        store.add_collection(protocol.digest, document)
        others = {
            name: Representation.of(MemoryContent(content), "application/octet-stream")
            for name, content in protocol.documents().items()
        }
        return {
            "collection": Representation.of_json(document),
            "catalog": catalog_document(protocol.catalog, protocol.scale),
            **others,
        }

    def _announce(self, announced: dict[str, Representation]) -> None:
        assert self.protocol is not None
        self._announced = announced
        # Asked for with every upload, and the same every time.
        self.digest, self.largest = self.protocol.digest, self.protocol.largest
        self.bodies.widen(4 * self.largest)

    def figures(self) -> dict[str, int]:
        """How many reports are stored: see `Store.figures`; nothing where nothing is collected."""
        return {} if self.store is None else self.store.figures(self.digest)

    async def ledger(self) -> dict[str, Any]:
        """What the curator's ledger says now: what is spent of each limit; empty if it has none.

        If it cannot be read, why not.
        """
        try:
            return {"ledger": await run_in_threadpool(self._read_ledger)}
        except LedgerError as error:
            return {"ledger": [], "ledger_reason": str(error)}

    def _read_ledger(self) -> list[dict[str, Any]]:
        if self.settings.ledger is None:
            return []
        found = Ledger.open(self.settings.ledger, wait=LEDGER_WAIT)
        spent = [limit.spent_epsilon(found.spent(limit.unit)) for limit in found.limits]
        return [
            {
                "unit": limit.unit.value,
                "spent_epsilon": epsilon if math.isfinite(epsilon) else None,
                "limit_epsilon": limit.epsilon,
                "delta": limit.delta,
                "population": found.population,
            }
            for limit, epsilon in zip(found.limits, spent, strict=True)
        ]

    def build(self) -> bool:
        """Begin to build a release; False if one is being built.

        Raises:
            Refused: 404; this service does not collect.
        """
        store = self.collecting()
        assert self.protocol is not None
        return self.builder.start(self.protocol, store)

    def served(self) -> dict[str, Any] | None:
        """What is served: its method and SHA-256, and when it was built or came from elsewhere.

        None if there is nothing yet.
        """
        if not self._published:
            return None
        about = _read_json(self._published["about"])
        return {"method": about["method"], "sha256": about["sha256"], "built": self._built}

    def find(self, name: str) -> Representation:
        """What is offered by this name; of two catalogues the one that is collected on.

        Raises:
            Refused: 404; there is none.
        """
        found = self._announced.get(name) or self._published.get(name)
        if found is None:
            raise Refused(404, _ABSENT.get(name, f"this service has no {name}"))
        return found

    @property
    def published_bytes(self) -> int:
        """The size of the largest thing that was built."""
        return max((each.plain.size for each in self._published.values()), default=0)

    def collecting(self) -> Store:
        """The store.

        Raises:
            Refused: 404; this service does not collect.
        """
        if self.store is None:
            raise Refused(404, _PUBLISHES)
        return self.store

    def limit(self, what: str, buckets: Buckets, key: Hashable) -> None:
        """Take one from a bucket; `what` is the name of the limit.

        Raises:
            Refused: 429; it is empty.
        """
        wait = buckets.wait(key)
        if wait:
            self.metrics.limited[what] += 1
            raise Refused(429, LIMITED[what], {"retry-after": str(wait)})

    async def admit(self, digest: bytes) -> None:
        """Let only an enrolled capability go on; writing asks again.

        Raises:
            Refused: 401; it is not enrolled. 503: the database does not answer.
        """
        if digest in self._known:
            return
        if not await self.ask(self.collecting().is_enrolled, digest):
            raise unknown_capability(unread=True)
        self.remember(digest)

    def remember(self, digest: bytes) -> None:
        """This capability is enrolled: the database need not be asked when it comes next."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known.add(digest)

    def forget(self, digest: bytes) -> None:
        """Ask the database again when this capability comes next."""
        self._known.discard(digest)

    def checked(self, upload: Any) -> tuple[bytes, Claim | None]:
        """An upload that fits the collection, as it is stored, and what it says once and for all.

        Raises:
            Refused: 422; it does not fit, and why.
        """
        assert self.protocol is not None
        try:
            claim = self.protocol.check(upload)
        except InputError as error:
            raise Refused(422, error.reason) from None
        return json.dumps(upload, separators=(",", ":")).encode(), claim

    async def write(self, changes: Sequence[Change]) -> list[Outcome]:
        """Changes that are on disk when this returns, and how each went; see `Store.submit`.

        Raises:
            Refused: 503; they are not stored.
        """
        store = self.collecting()
        try:
            submitted = store.submit(changes)
            done = asyncio.wrap_future(submitted)
            # Whatever it ends with after the deadline is nobody's any more.
            done.add_done_callback(lambda each: each.cancelled() or each.exception())
            async with asyncio.timeout(DEADLINE):
                return await asyncio.shield(done)
        except queue.Full:
            raise Refused(503, _BUSY, {"retry-after": "1"}) from None
        except TimeoutError:
            # Taken back where that is still possible; else nobody knows, and trying again is safe.
            reason = _DOWN if store.writer.take_back(submitted) else _UNKNOWN
            _log.error("the database did not write in time")
            raise Refused(503, reason, {"retry-after": "5"}) from None
        except SQLAlchemyError as error:
            _log.error("the database refused a transaction: %s", type(error).__name__)
            raise Refused(503, _DOWN, {"retry-after": "5"}) from None

    async def ask(self, question: Any, *about: Any) -> Any:
        """What the store answers, without holding up others.

        Raises:
            Refused: 503; the database does not answer.
        """
        # Threads of their own: while the database hangs, files are still served.
        asked = asyncio.get_running_loop().run_in_executor(self._asking, question, *about)
        try:
            async with asyncio.timeout(DEADLINE):
                return await asked
        except (SQLAlchemyError, TimeoutError) as error:
            _log.error("the database did not answer: %s", type(error).__name__)
            raise Refused(503, "the database does not answer", {"retry-after": "5"}) from None

    async def is_ready(self) -> bool:
        """Whether requests would be answered well: whether something was stored, or can be, now."""
        if self.store is None:
            return bool(self._published)
        async with self._looking:
            writer = self.store.writer
            if writer.healthy and time.monotonic() < writer.written + _READY_SECONDS:
                return True
            try:
                await self.write(())
                return bool(await self.ask(self.store.ping))
            except Refused:
                return False

    def check_admin(self, request: Request) -> None:
        """Let only the administrator pass; see `check_admin`."""
        check_admin(request, self.settings.admin_token, self._guesses)

    def refuse_bodies(self) -> None:
        """The service stops: whose body is still arriving is told so."""
        self.bodies.refuse_all()
        self.batches.refuse_all()

    async def close(self) -> None:
        """Stop building; write whatever still waits."""
        await self.builder.stop()
        await run_in_threadpool(self.let_go)

    def let_go(self) -> None:
        """Write whatever still waits and let go of the database; again and again is fine."""
        if self.store is not None:
            self.store.close()
        self._asking.shutdown(wait=False, cancel_futures=True)

    def _publish(self, published: Made) -> None:
        # One assignment: every request sees the old release or the new one, whole.
        self._published = published
        self._built = _now()

    def _take(self, found: Made) -> bool:
        """Serve what somebody else put in the file's place; False if it is served already.

        Raises:
            InputError: It is about other items than are collected for.
        """
        about = _read_json(found["about"])
        if self.protocol is not None:
            collected = self.protocol.catalog.digest(), self.protocol.scale.spelling
            if (about["catalog"], about["scale"]) != collected:
                raise InputError("has other items or another scale than what is collected")
        if self._published and self._published["release"].digest == found["release"].digest:
            return False
        self._publish(found)
        self._built = f"elsewhere, noticed {_now()}"
        return True


def _read_json(document: Representation) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document.plain.read(0, document.plain.size))
    return found


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
