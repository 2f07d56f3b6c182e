"""For whoever holds a capability: send, replace, read back, delete."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from discreet.domain import InputError
from discreet.protocols.common import Fields, capability_digest, make_capability
from discreet.serve._documents import describe
from discreet.serve._rates import network_of
from discreet.serve._requests import (
    Refused,
    capability_of,
    parse_json,
    read_body,
    said_otherwise,
    unknown_capability,
)
from discreet.serve._service import LARGEST_BATCH, LIMITED, Service
from discreet.serve._store import Change, Claim, Enrol, Forget, Put, Withdraw

_OBJECT = {"type": "object"}
_CAPABILITY = {"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$"}
_ENVELOPE_BYTES = 256
_MARKS = 64
"""The most commas, colons and brackets that a batch may have for each report it may hold."""
_LARGE = 256 << 10
"""Bodies beyond this are checked beside the event loop, so that nobody else waits for them."""


def add_people_routes(router: APIRouter, service: Service) -> None:
    """Every one of them is 404 where nothing is collected."""
    _add_report(router, service)
    _add_reading(router, service)
    _add_batch(router, service)
    _add_enrolment(router, service)


def _person(service: Service, request: Request) -> bytes:
    service.collecting()
    digest = capability_of(request)
    service.limit("capability", service.capabilities, digest)
    return digest


def _checked(service: Service, body: bytes) -> tuple[bytes, Claim | None]:
    return service.checked(parse_json(body))


async def _change(service: Service, change: Change) -> None:
    done = (await service.write([change]))[0]
    if done is None:
        raise said_otherwise()
    if not done:
        service.forget(change.digest)
        raise unknown_capability()


async def _nothing(service: Service, digest: bytes) -> Refused:
    """The answer where there is no report: 401 or 404."""
    if not await service.ask(service.collecting().is_enrolled, digest):
        return unknown_capability()
    return Refused(404, "nothing was sent with this capability, or it was deleted")


def _add_enrolment(router: APIRouter, service: Service) -> None:
    gives = {
        "type": "object",
        "required": ["capability"],
        "properties": {"capability": _CAPABILITY},
    }

    @router.post("/v1/enrolments", **describe("A new capability", 404, 503, gives=gives, ok=201))
    async def enrol(request: Request) -> Response:
        service.collecting()
        host = network_of(request.client.host) if request.client else ""
        service.limit("enrolment", service.enrolments, host)
        capability = make_capability()
        digest = capability_digest(capability)
        await service.write([Enrol(digest)])
        service.remember(digest)
        return JSONResponse({"capability": capability}, 201)

    told = describe(
        "All that was sent is deleted, and the capability", 404, 503, needs="capability", ok=204
    )

    @router.delete("/v1/enrolment", **told)
    async def forget(request: Request) -> Response:
        digest = _person(service, request)
        service.forget(digest)
        await _change(service, Forget(digest))
        return Response(status_code=204)


def _add_report(router: APIRouter, service: Service) -> None:
    told = describe(
        "Send a report, in place of the last one",
        404,
        409,
        503,
        needs="capability",
        body=_OBJECT,
        ok=204,
    )

    @router.put("/v1/report", **told)
    async def put(request: Request) -> Response:
        digest = _person(service, request)
        await service.admit(digest)
        with service.bodies.room() as room:
            seconds = service.settings.body_seconds
            body = await read_body(request, service.largest, seconds, room)
            if len(body) > _LARGE:
                content, claim = await run_in_threadpool(_checked, service, body)
            else:
                content, claim = _checked(service, body)
            await _change(service, Put(digest, service.digest, content, claim))
        service.metrics.upload()
        return Response(status_code=204)

    @router.delete(
        "/v1/report", **describe("What was sent is deleted", 404, 503, needs="capability", ok=204)
    )
    async def withdraw(request: Request) -> Response:
        await _change(service, Withdraw(_person(service, request)))
        return Response(status_code=204)


def _add_reading(router: APIRouter, service: Service) -> None:
    @router.get(
        "/v1/report", **describe("What was sent last", 404, 503, needs="capability", gives=_OBJECT)
    )
    async def get(request: Request) -> Response:
        digest = _person(service, request)
        content = await service.ask(service.collecting().read, digest)
        if content is None:
            raise await _nothing(service, digest)
        return Response(content, media_type="application/json")

    @router.head("/v1/report", include_in_schema=False)
    async def head(request: Request) -> Response:
        digest = _person(service, request)
        size = await service.ask(service.collecting().size, digest)
        if size is None:
            raise await _nothing(service, digest)
        told = {"content-length": str(size)}
        return Response(None, headers=told, media_type="application/json")


def _add_batch(router: APIRouter, service: Service) -> None:
    most = service.settings.batch
    entry = {
        "type": "object",
        "required": ["capability", "report"],
        "additionalProperties": False,
        "properties": {"capability": _CAPABILITY, "report": _OBJECT},
    }
    entries = {"type": "array", "items": entry, "maxItems": most}
    body = {"type": "object", "required": ["reports"], "properties": {"reports": entries}}
    told = describe(
        "Many reports, each with its own capability", 404, 503, body=body, gives=_OBJECT
    )

    @router.post("/v1/reports", **told)
    async def batch(request: Request) -> Response:
        service.collecting()
        largest = min(most * (service.largest + _ENVELOPE_BYTES), LARGEST_BATCH)
        with service.batches.room() as room:
            body = await read_body(request, largest, service.settings.body_seconds, room)
            results = await _take_batch(service, body)
        return JSONResponse({"stored": sum(each["stored"] for each in results), "results": results})


async def _take_batch(service: Service, body: bytes) -> list[dict[str, Any]]:
    """Store what can be: for each report whether it is, and if not, why."""
    # Beside the event loop: a hundred reports take some milliseconds to check.
    entries = await run_in_threadpool(_entries, service, body)
    read = [_sender(entry) for entry in entries]
    senders = {each for each in read if isinstance(each, bytes)}
    enrolled = await service.ask(service.collecting().enrolled, senders) if senders else set()
    for index, each in enumerate(read):
        if isinstance(each, bytes):
            read[index] = _admitted(service, each, enrolled)
    changes = await run_in_threadpool(
        lambda: [_read_entry(service, *pair) for pair in zip(entries, read, strict=True)]
    )
    return await _store_batch(service, changes)


def _entries(service: Service, body: bytes) -> list[Any]:
    """A batch's entries, as they came."""
    # Counted before it is parsed: small parts take many times their bytes as objects.
    if sum(map(body.count, (b",", b":", b"[", b"{"))) > _MARKS * (service.settings.batch + 1):
        raise Refused(422, "batch: it has more parts than that many reports")
    try:
        fields = Fields(parse_json(body), "batch", ("reports",))
        return fields.objects("reports", service.settings.batch)
    except InputError as error:
        raise Refused(422, error.reason) from None


def _sender(entry: Any) -> bytes | str:
    """The digest of an entry's capability, or what is wrong with it."""
    try:
        fields = Fields(entry, "entry", ("capability", "report"))
        return capability_digest(fields.text("capability"))
    except InputError as error:
        return error.reason


def _admitted(service: Service, digest: bytes, enrolled: set[bytes]) -> bytes | str:
    if digest not in enrolled:
        return unknown_capability().reason
    if service.capabilities.wait(digest):
        service.metrics.limited["capability"] += 1
        return LIMITED["capability"]
    return digest


def _read_entry(service: Service, entry: Any, sender: bytes | str) -> Put | str:
    """A change, or why there is none."""
    if isinstance(sender, str):
        return sender
    try:
        return Put(sender, service.digest, *service.checked(entry.get("report")))
    except (InputError, Refused) as error:
        return error.reason


async def _store_batch(service: Service, read: list[Put | str]) -> list[dict[str, Any]]:
    puts = [each for each in read if isinstance(each, Put)]
    done = iter(await service.write(puts) if puts else [])
    results: list[dict[str, Any]] = []
    for each in read:
        outcome = False if isinstance(each, str) else next(done)
        if outcome:
            service.metrics.upload()
            results.append({"stored": True})
            continue
        refused = said_otherwise() if outcome is None else unknown_capability()
        reason = each if isinstance(each, str) else refused.reason
        results.append({"stored": False, "reason": reason})
    return results
