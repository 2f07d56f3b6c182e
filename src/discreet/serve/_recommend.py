"""For back ends, where an operator asks for it: own ratings in, a list out.

Elsewhere the model goes to the person and their ratings stay; here ratings leave the device, so
the routes are off by default and the page never uses them. Nothing of a request is kept: not on
disk, not in a log, not beyond its answer.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from discreet.domain import InputError, Recommendations
from discreet.predict import load
from discreet.release import Recommender
from discreet.serve._published import Representation, chunks
from discreet.serve._requests import Refused, parse_json, read_body
from discreet.serve._routes import describe
from discreet.serve._service import Service

# Bytes of a body: ten thousand ratings with their titles. Chosen for safety.
_LARGEST_BODY = 1 << 20
# Items of a list: the most (chosen for safety), and the default, which is that of `recommend`.
_LONGEST, _USUAL = 1_000, 10
# Items of a catalogue whose lists take about a millisecond: handing that to another thread and back
# is not worth it. Chosen by hand.
_SMALL_CATALOG = 20_000

_Found = TypeVar("_Found")

_NAMES = {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer", "minimum": 0, "maximum": _LONGEST, "default": _USUAL}
_FILTERS = {
    "n": _COUNT,
    "only": _NAMES,
    "exclude": _NAMES,
    "where": {"type": "object", "additionalProperties": {"type": "string"}},
}
_ASKED: dict[str, Any] = {
    "title": "Asked",
    "type": "object",
    "required": ["ratings"],
    "additionalProperties": False,
    "properties": {
        "ratings": {
            "description": "By title or id; of interactions, each is 1.",
            "type": "object",
            "additionalProperties": {"type": "number"},
        },
        "explain": {"type": "boolean", "default": False},
        **_FILTERS,
    },
}
_ALIKE: dict[str, Any] = {
    "title": "Alike",
    "type": "object",
    "required": ["item"],
    "additionalProperties": False,
    "properties": {"item": {"type": "string"}, **_FILTERS},
}
_ITEM = {"id": {"type": "string"}, "title": {"type": "string"}}
_BECAUSE = {
    "type": "object",
    "required": ["title", "amount"],
    "properties": {"title": {"type": "string"}, "amount": {"type": "number"}},
}


def _listing(title: str, of: dict[str, Any]) -> dict[str, Any]:
    entry = {
        "title": f"{title}Item",
        "type": "object",
        "required": [*_ITEM, *(name for name in of if name != "because")],
        "properties": _ITEM | of,
    }
    return {
        "title": title,
        "type": "object",
        "required": ["release", "items", "unknown"],
        "properties": {
            "release": {"type": "string", "description": "SHA-256 of the release's file."},
            "items": {"type": "array", "items": entry},
            "unknown": _NAMES | {"description": "Names that the catalogue does not have."},
        },
    }


_RECOMMENDED = _listing(
    "Recommended",
    {
        "score": {"type": "number"},
        "expected": {"type": ["number", "null"]},
        "because": {"type": "array", "items": _BECAUSE},
    },
)
_SIMILAR = _listing("Similar", {"similarity": {"type": "number"}})


class _Models:
    """The predictor of the release that is served, made anew when another one is."""

    def __init__(self, service: Service) -> None:
        self._service, self._digest = service, ""
        self._model: Recommender | None = None

    async def get(self) -> tuple[str, Recommender]:
        """The digest of the release that is served, and its predictor.

        Raises:
            Refused: 404; there is no release yet.
        """
        found = self._service.find("release")
        if self._model is None or self._digest != found.digest:
            made = await run_in_threadpool(_open, found)
            self._digest, self._model = found.digest, made
        return self._digest, self._model


def _open(found: Representation) -> Recommender:
    with tempfile.TemporaryDirectory(prefix="discreet.") as folder:
        path = Path(folder) / "release"
        with path.open("wb") as file:
            file.writelines(chunks(found.plain))
        return load(path).predictor()


def add_recommend_routes(router: APIRouter, service: Service) -> None:
    """`POST /v1/recommend` and `/v1/similar`."""
    models = _Models(service)
    summary = "A list for these ratings, which are not kept"

    @router.post(
        "/v1/recommend",
        name="recommend",
        **describe(summary, 404, body=_ASKED, gives=_RECOMMENDED),
    )
    async def recommend(request: Request) -> Response:
        asked = await _read(request, service, _ASKED)
        ratings = _ratings(asked)
        explain = asked.get("explain") is True
        digest, model = await models.get()

        def work() -> Recommendations:
            return model.recommend(ratings, explain=explain, **_filters(asked))

        found = await _answer(work, model)
        items = [
            {
                "id": each.id,
                "title": each.title,
                "score": each.score,
                "expected": each.expected,
                "because": [{"title": title, "amount": amount} for title, amount in each.because],
            }
            for each in found
        ]
        return JSONResponse({"release": digest, "items": items, "unknown": list(found.unknown)})

    @router.post(
        "/v1/similar",
        name="similar",
        **describe("The items most like one", 404, body=_ALIKE, gives=_SIMILAR),
    )
    async def similar(request: Request) -> Response:
        asked = await _read(request, service, _ALIKE)
        item = asked.get("item")
        if not isinstance(item, str):
            raise Refused(422, "'item' is an id or a title")
        digest, model = await models.get()
        found = await _answer(lambda: model.similar(item, **_filters(asked)), model)
        items = [
            {"id": each.id, "title": each.title, "similarity": each.similarity} for each in found
        ]
        return JSONResponse({"release": digest, "items": items, "unknown": list(found.unknown)})


async def _read(request: Request, service: Service, schema: dict[str, Any]) -> dict[str, Any]:
    """The body, whose fields are those of the schema; of the filters, n and names are checked.

    Raises:
        Refused: It cannot be read, or is something else.
    """
    fields = schema["properties"]
    with service.bodies.room() as room:
        body = await read_body(request, _LARGEST_BODY, service.settings.body_seconds, room)
        asked = parse_json(body)
    if not isinstance(asked, dict) or not asked.keys() <= fields.keys():
        raise Refused(422, f"the body is an object with {', '.join(fields)}")
    n = asked.get("n", _USUAL)
    if not isinstance(n, int) or isinstance(n, bool) or not 0 <= n <= _LONGEST:
        raise Refused(422, f"n is a whole number up to {_LONGEST:,}")
    for name in ("only", "exclude"):
        names = asked.get(name, [])
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise Refused(422, f"'{name}' is a list of ids or titles")
    return asked


def _ratings(asked: dict[str, Any]) -> dict[str, float]:
    ratings = asked.get("ratings")
    if not isinstance(ratings, dict) or any(
        isinstance(value, bool) or not isinstance(value, int | float) for value in ratings.values()
    ):
        raise Refused(422, "'ratings' is an object of numbers by title or id")
    return ratings


def _filters(asked: dict[str, Any]) -> dict[str, Any]:
    """What both routes pass on as it is."""
    return {
        "n": asked.get("n", _USUAL),
        "only": asked.get("only"),
        "exclude": asked.get("exclude", ()),
        "where": asked.get("where"),
    }


async def _answer(work: Callable[[], _Found], model: Recommender) -> _Found:
    try:
        if len(model.catalog) <= _SMALL_CATALOG:
            return work()
        return await run_in_threadpool(work)
    except InputError:
        # The error names what was sent, and an answer repeats nothing.
        pass
    raise Refused(422, "the ratings, the item or a filter do not fit the release")
