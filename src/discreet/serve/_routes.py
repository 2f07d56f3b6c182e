"""The routes: what is published, what people send, what the administrator asks for."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse, Response

from discreet import __version__
from discreet.domain import InputError
from discreet.domain.errors import FieldError, LedgerError
from discreet.protocols.common import Fields, capability_digest, make_capability
from discreet.protocols.servers import Claim
from discreet.serve._admission import LARGEST_PROOF
from discreet.serve._gate import Figure
from discreet.serve._ledger import read_history
from discreet.serve._published import answer
from discreet.serve._requests import (
    Refused,
    capability_of,
    network_of,
    parse_json,
    read_body,
    said_otherwise,
    unknown_capability,
)
from discreet.serve._service import LARGEST_BATCH, LIMITED, Service
from discreet.serve._store import Change, Enrol, Forget, Put, Store, Withdraw

_REASONS = {
    304: "It has not changed.",
    400: "The body is not JSON.",
    401: "The Authorization header carries no secret, or one that is not known here.",
    403: "There is no administrator; or what an enrolment asks for is missing, wrong or used.",
    404: "There is no such thing here.",
    408: "The body took too long.",
    409: "A release is being built already; or other tags were sent first in this period.",
    412: "Another version is served by now than If-Match names.",
    413: "The body is too large.",
    415: "The body is compressed.",
    416: "The range begins after the end.",
    422: "The message does not fit the collection.",
    429: "Too many requests; see Retry-After.",
    503: "Not now; nothing was stored; see Retry-After.",
}
_REASON_SCHEMA = {
    "type": "object",
    "required": ["reason"],
    "properties": {"reason": {"type": "string"}},
}
_SECRETS = {
    "capability": {"type": "http", "scheme": "bearer", "description": "From an enrolment."},
    "administrator": {"type": "http", "scheme": "bearer"},
}
# HTTP statuses that any request with a body may get.
_BODY_REFUSALS = (400, 408, 413, 415, 422)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers that are not what was asked for."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, 429}):
        found[status] = {"description": _REASONS[status]}
        if status != 304:
            found[status]["content"] = {"application/json": {"schema": _REASON_SCHEMA}}
    return found


def describe(
    summary: str,
    *statuses: int,
    needs: str | None = None,
    body: dict[str, Any] | None = None,
    gives: dict[str, Any] | None = None,
    media: str = "application/json",
    ok: int = 200,
) -> dict[str, Any]:
    """The arguments of a route: its summary, what it needs, takes and gives, how it can refuse.

    Args:
        summary: A sentence.
        statuses: How it can refuse, beyond the rate limit.
        needs: Which secret its Authorization header carries.
        body: The schema of its JSON body.
        gives: The schema of its answer.
        media: The answer's media type.
        ok: The status of a good answer.
    """
    extra: dict[str, Any] = {}
    if needs:
        extra["security"] = [{needs: []}]
        statuses = (*statuses, 401)
    if body is not None:
        content = {"application/json": {"schema": body}}
        extra["requestBody"] = {"required": True, "content": content}
        statuses = (*statuses, *_BODY_REFUSALS)
    responses = refusals(*statuses)
    responses[ok] = {"description": summary}
    if gives is not None:
        responses[ok]["content"] = {media: {"schema": gives}}
    return {
        "summary": summary,
        "responses": responses,
        "openapi_extra": extra,
        "response_model": None,
        "response_class": Response,
        "status_code": ok,
    }


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The whole document with the kinds of secrets."""
    document.setdefault("components", {})["securitySchemes"] = _SECRETS
    return document


_OBJECT = {"type": "object"}
_BYTES = {"type": "string", "format": "binary"}


def add_public_routes(router: APIRouter, service: Service) -> None:
    """What is published and collected, and how the service does."""
    _add_file(router, service, "release", "The release's file", binary=True)
    _add_file(
        router, service, "about", "What the release is and promises", path="/v1/release/about"
    )
    _add_file(
        router, service, "signature", "Who signed the release's file", path="/v1/release/signature"
    )
    _add_file(router, service, "catalog", "The items, in order")
    _add_file(router, service, "collection", "What is collected, and how")
    _add_file(
        router, service, "directory", "Closed clusters: everybody's keys, signed", binary=True
    )
    _add_health(router, service)


def _add_file(
    router: APIRouter,
    service: Service,
    name: str,
    summary: str,
    *,
    path: str | None = None,
    binary: bool = False,
) -> None:
    async def get(request: Request) -> Response:
        return answer(service.find(name), request.headers)

    async def head(request: Request) -> Response:
        return answer(service.find(name), request.headers, head=True)

    at = path or f"/v1/{name}"
    media = "application/octet-stream" if binary else "application/json"
    route = describe(summary, 304, 404, 412, 416, gives=_BYTES if binary else _OBJECT, media=media)
    route["responses"][206] = {"description": "The part asked for."}
    router.get(at, name=name, **route)(get)
    router.head(at, name=f"{name}_head", include_in_schema=False)(head)


def _add_health(router: APIRouter, service: Service) -> None:
    @router.get("/v1", **describe("What is here", gives=_OBJECT))
    async def index(_: Request) -> Response:
        kind = None if service.protocol is None else service.protocol.short_name
        index_ = {"service": "discreet", "version": __version__, "collects": kind}
        return JSONResponse(index_ | {"openapi": "/openapi.json"})

    @router.get("/healthz", **describe("It runs", gives=_OBJECT))
    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    @router.get("/readyz", **describe("It can answer and store", 503, gives=_OBJECT))
    async def ready(_: Request) -> Response:
        if not await service.is_ready():
            raise Refused(503, "the database does not answer, or its last transaction failed")
        return JSONResponse({"status": "ready"})


_CAPABILITY = {"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$"}
# Bytes of JSON around one report of a batch.
_ENVELOPE_BYTES = 256
_MARKS = 64
"""The most commas, colons and brackets that a batch may have for each report it may hold."""
_LARGE = 256 << 10
"""Bodies beyond this are checked beside the event loop, so that other requests need not wait."""


def add_people_routes(router: APIRouter, service: Service) -> None:
    """Every one of them is 404 where nothing is collected."""
    _add_report(router, service)
    _add_reading(router, service)
    _add_batch(router, service)
    _add_enrolment(router, service)


def _person(service: Service, request: Request) -> bytes:
    service.collecting()
    # The service knows capabilities by their digests alone: a copy of its database opens nothing.
    digest = capability_of(request)
    # Before anybody looks whether it is enrolled: guessing is limited too.
    service.limit("capability", service.capabilities, digest)
    return digest


def _checked(service: Service, body: bytes) -> tuple[bytes, Claim | None]:
    return service.checked(parse_json(body))


async def _change(service: Service, change: Change) -> None:
    done = (await service.write([change]))[0]
    if done is None:
        raise said_otherwise()
    if not done:
        # Somebody deleted the enrolment meanwhile, perhaps through another process.
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

    @router.get("/v1/enrolments", **describe("What an enrolment asks for", 404, gives=_OBJECT))
    async def ask(_: Request) -> Response:
        service.collecting()
        admission = service.settings.admission
        return JSONResponse({"admission": "open"} if admission is None else admission.ask())

    route = describe(
        "A new capability", 400, 403, 404, 408, 413, 415, 422, 503, gives=gives, ok=201
    )

    @router.post("/v1/enrolments", **route)
    async def enrol(request: Request) -> Response:
        service.collecting()
        # By network: whoever has an IPv6 prefix has more addresses than one can count.
        host = network_of(request.client.host) if request.client else ""
        service.limit("enrolment", service.enrolments, host)
        once, capability = await _admission(service, request)
        # The capability itself goes to the person and is kept nowhere.
        digest = capability_digest(capability)
        # Written before it is handed out: a capability that was seen is never forgotten by a crash.
        # Whoever missed the answer asks again with the capability that they named.
        if (await service.write([Enrol(digest, once)]))[0] is None:
            raise Refused(403, "this was used for an enrolment already")
        service.remember(digest)
        return JSONResponse({"capability": capability}, 201)

    route = describe(
        "All that was sent is deleted, and the capability", 404, 503, needs="capability", ok=204
    )

    @router.delete("/v1/enrolment", **route)
    async def forget(request: Request) -> Response:
        digest = _person(service, request)
        service.forget(digest)
        await _change(service, Forget(digest))
        return Response(status_code=204)


async def _admission(service: Service, request: Request) -> tuple[bytes | None, str]:
    """What an enrolment is admitted for, which admits once, and the capability that it makes.

    The first is None where anybody may enrol. The second is new, unless the person names one.
    """
    admission = service.settings.admission
    if admission is None:
        return None, make_capability()
    with service.batches.room() as room:
        seconds = service.settings.body_seconds
        body = await read_body(request, LARGEST_PROOF, seconds, room)
    if not body:
        raise Refused(403, f"an enrolment here needs more: {admission.kind}")
    content = parse_json(body)
    named = content.pop("capability", None) if isinstance(content, dict) else None
    capability = make_capability() if named is None else str(named)
    try:
        capability_digest(capability)
    except InputError as error:
        raise Refused(422, error.reason) from None
    try:
        return await run_in_threadpool(admission.admit, content), capability
    except FieldError as error:
        raise Refused(422, error.reason) from None
    except InputError as error:
        raise Refused(403, error.reason) from None


def _add_report(router: APIRouter, service: Service) -> None:
    route = describe(
        "Send a report, in place of the last one",
        404,
        409,
        503,
        needs="capability",
        body=_OBJECT,
        ok=204,
    )

    @router.put("/v1/report", **route)
    async def put(request: Request) -> Response:
        digest = _person(service, request)
        # Only who is enrolled may make the service read a body.
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
        # The database says how long it is, so that a report of megabytes is not read for its
        # length.
        size = await service.ask(service.collecting().size, digest)
        if size is None:
            raise await _nothing(service, digest)
        headers = {"content-length": str(size)}
        return Response(None, headers=headers, media_type="application/json")


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
    route = describe(
        "Many reports, each with its own capability", 404, 503, body=body, gives=_OBJECT
    )

    @router.post("/v1/reports", **route)
    async def batch(request: Request) -> Response:
        service.collecting()
        # Each report may be as long as one that comes alone, within what a batch may have in all.
        largest = min(most * (service.largest + _ENVELOPE_BYTES), LARGEST_BATCH)
        # Bodies in memory are bounded together, batches apart from reports, so that neither can
        # keep the other out.
        with service.batches.room() as room:
            body = await read_body(request, largest, service.settings.body_seconds, room)
            results = await _take_batch(service, body)
        return JSONResponse({"stored": sum(each["stored"] for each in results), "results": results})


async def _take_batch(service: Service, body: bytes) -> list[dict[str, Any]]:
    """Store what can be: for each report whether it is, and if not, why."""
    # Beside the event loop: a hundred reports take some milliseconds to check.
    entries = await run_in_threadpool(_entries, service, body)
    read = [_sender(entry) for entry in entries]
    # One question about all of them, in place of a hundred.
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
    # Each counts as if it had come alone, so that a batch is no way around the limit.
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
    # Outcomes come in the order of the changes, of which refused entries have none.
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


_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def add_admin_routes(router: APIRouter, service: Service) -> None:
    """Each needs the administrator's token in its Authorization header."""
    _add_building(router, service)
    _add_ledger(router, service)
    _add_reload(router, service)
    _add_numbers(router, service)


def _add_numbers(router: APIRouter, service: Service) -> None:
    route = describe(
        "Sums over everybody, for Prometheus",
        403,
        needs="administrator",
        gives={"type": "string"},
        media=_PROMETHEUS,
    )

    @router.get("/metrics", **route)
    async def metrics(request: Request) -> Response:
        service.check_admin(request)
        route = service.metrics.text(_gauges(service), _counters(service))
        return PlainTextResponse(route, media_type=_PROMETHEUS)


def _add_building(router: APIRouter, service: Service) -> None:
    def admitted(request: Request) -> None:
        service.check_admin(request)

    route = describe(
        "A release is being built from what was sent",
        403,
        404,
        409,
        needs="administrator",
        gives=_OBJECT,
        ok=202,
    )

    @router.post("/v1/admin/rebuild", **route)
    async def rebuild(request: Request) -> Response:
        admitted(request)
        service.collecting()
        # One at a time: a build reads everything that was sent.
        if not service.build():
            raise Refused(409, "a release is being built already")
        return JSONResponse(service.builder.last, 202)

    @router.get(
        "/v1/admin/statistics",
        **describe("Numbers", 403, 503, needs="administrator", gives=_OBJECT),
    )
    async def statistics(request: Request) -> Response:
        admitted(request)
        collected = {} if service.store is None else await _collected(service, service.store)
        return JSONResponse({**collected, "served": service.served(), **await service.ledger()})


def _add_ledger(router: APIRouter, service: Service) -> None:
    route = describe(
        "A curator's ledger over time, and what more charges like the last one would bring it to",
        403,
        404,
        503,
        needs="administrator",
        gives=_OBJECT,
    )

    @router.get("/v1/admin/ledger", **route)
    async def ledger(request: Request) -> Response:
        service.check_admin(request)
        path = service.settings.ledger
        if path is None:
            raise Refused(404, "this service was told of no ledger")
        try:
            return JSONResponse({"limits": await run_in_threadpool(read_history, path)})
        except LedgerError as error:
            raise Refused(503, str(error)) from error


async def _collected(service: Service, store: Store) -> dict[str, Any]:
    """Figures that only a service has that collects."""
    assert service.protocol is not None
    return {
        **await service.ask(store.figures, service.digest),
        "collection": service.protocol.public_digest,
        "stored_since_start": service.metrics.stored,
        "commits_since_start": store.writer.commits,
        "least_people": service.settings.least_people,
        "build": service.builder.last,
    }


def _add_reload(router: APIRouter, service: Service) -> None:
    route = describe(
        "Closed clusters: the directory's file is looked at again",
        403,
        404,
        422,
        503,
        needs="administrator",
        gives={"type": "object", "properties": {"reloaded": {"type": "boolean"}}},
    )

    @router.post("/v1/admin/reload", **route)
    async def reload(request: Request) -> Response:
        service.check_admin(request)
        return JSONResponse({"reloaded": await service.reload()})


def _gauges(service: Service) -> list[Figure]:
    return [("discreet_published_bytes", "The size of what is served.", service.published_bytes)]


def _counters(service: Service) -> list[Figure]:
    if service.store is None:
        return []
    writer = service.store.writer
    return [
        ("discreet_commits_total", "Transactions.", writer.commits),
        ("discreet_commit_changes_total", "Changes in them.", writer.changes),
        ("discreet_commit_failures_total", "Transactions that failed.", writer.failures),
    ]
