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
    unknown_capability,
)
from discreet.serve._service import Service
from discreet.serve._store import Change, Enrol, Forget, Put, Withdraw

_OBJECT = {"type": "object"}
_CAPABILITY = {"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$"}
_ENVELOPE_BYTES = 256
_LARGEST_BATCH = 64 << 20
_LARGE = 256 << 10
"""Bodies beyond this are checked beside the event loop, so that nobody else waits for them."""


def add_people_routes(router: APIRouter, service: Service) -> None:
    """Every one of them is 404 where nothing is collected."""
    _add_report(router, service)
    _add_batch(router, service)
    _add_enrolment(router, service)


def _person(service: Service, request: Request) -> bytes:
    service.collecting()
    digest = capability_of(request)
    service.limit("capability", service.capabilities, digest)
    return digest


def _checked(service: Service, body: bytes) -> bytes:
    return service.checked(parse_json(body))


async def _change(service: Service, change: Change) -> None:
    if not (await service.write([change]))[0]:
        raise unknown_capability()


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
        service.limit("address", service.enrolments, host)
        capability = make_capability()
        await service.write([Enrol(capability_digest(capability))])
        return JSONResponse({"capability": capability}, 201)

    told = describe(
        "All that was sent is deleted, and the capability", 404, 503, needs="capability", ok=204
    )

    @router.delete("/v1/enrolment", **told)
    async def forget(request: Request) -> Response:
        await _change(service, Forget(_person(service, request)))
        return Response(status_code=204)


def _add_report(router: APIRouter, service: Service) -> None:
    told = describe(
        "Send a report, in place of the last one",
        404,
        503,
        needs="capability",
        body=_OBJECT,
        ok=204,
    )

    @router.put("/v1/report", **told)
    async def put(request: Request) -> Response:
        digest = _person(service, request)
        body = await read_body(request, service.largest, service.settings.body_seconds)
        if len(body) > _LARGE:
            content = await run_in_threadpool(_checked, service, body)
        else:
            content = _checked(service, body)
        await _change(service, Put(digest, service.digest, content))
        service.metrics.upload(len(content))
        return Response(status_code=204)

    @router.get(
        "/v1/report", **describe("What was sent last", 404, 503, needs="capability", gives=_OBJECT)
    )
    async def get(request: Request) -> Response:
        digest = _person(service, request)
        store = service.collecting()
        content = await service.ask(store.read, digest)
        if content is None:
            if not await service.ask(store.is_enrolled, digest):
                raise unknown_capability()
            raise Refused(404, "nothing was sent with this capability, or it was deleted")
        return Response(content, media_type="application/json")

    @router.delete(
        "/v1/report", **describe("What was sent is deleted", 404, 503, needs="capability", ok=204)
    )
    async def withdraw(request: Request) -> Response:
        await _change(service, Withdraw(_person(service, request)))
        return Response(status_code=204)


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
        largest = min(most * (service.largest + _ENVELOPE_BYTES), _LARGEST_BATCH)
        body = await read_body(request, largest, service.settings.body_seconds)
        # Beside the event loop: a hundred reports take some milliseconds to check.
        read = await run_in_threadpool(_read_batch, service, body)
        results = await _store_batch(service, read)
        return JSONResponse({"stored": sum(each["stored"] for each in results), "results": results})


def _read_batch(service: Service, body: bytes) -> list[Put | str]:
    """A change for each report, or why there is none."""
    try:
        fields = Fields(parse_json(body), "batch", ("reports",))
        entries = fields.objects("reports", service.settings.batch)
    except InputError as error:
        raise Refused(422, error.reason) from None
    return [_read_entry(service, entry) for entry in entries]


def _read_entry(service: Service, entry: Any) -> Put | str:
    try:
        fields = Fields(entry, "entry", ("capability", "report"))
        digest = capability_digest(fields.text("capability"))
        return Put(digest, service.digest, service.checked(entry.get("report")))
    except (InputError, Refused) as error:
        return error.reason


async def _store_batch(service: Service, read: list[Put | str]) -> list[dict[str, Any]]:
    for index, each in enumerate(read):
        if isinstance(each, Put) and service.capabilities.wait(each.digest):
            service.metrics.limited["capability"] += 1
            read[index] = "too many requests: limited per capability"
    puts = [each for each in read if isinstance(each, Put)]
    known = iter(await service.write(puts) if puts else [])
    results: list[dict[str, Any]] = []
    for each in read:
        if isinstance(each, str):
            results.append({"stored": False, "reason": each})
        elif next(known):
            service.metrics.upload(len(each.content))
            results.append({"stored": True})
        else:
            results.append({"stored": False, "reason": unknown_capability().reason})
    return results
