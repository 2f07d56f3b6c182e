"""What the OpenAPI document says of each route."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

_REASONS = {
    304: "It has not changed.",
    400: "The body is no JSON.",
    401: "The Authorization header carries no secret, or one that is not known here.",
    403: "There is no administrator.",
    404: "There is no such thing here.",
    408: "The body took too long.",
    409: "A release is being built already; or other tags were sent first in this epoch.",
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
_BODY_REFUSALS = (400, 408, 413, 415, 422)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers that are not what was asked for."""
    told: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, 429}):
        told[status] = {"description": _REASONS[status]}
        if status != 304:
            told[status]["content"] = {"application/json": {"schema": _REASON_SCHEMA}}
    return told


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
