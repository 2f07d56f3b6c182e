"""The OpenAPI document is served, and no request that it leads to ends in a 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from serve._running import TOKEN, Talk, make_report, make_settings, running

_CALM = settings(
    max_examples=12, suppress_health_check=list(HealthCheck), database=None, derandomize=True
)
_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with running(make_settings(tmp_path_factory.mktemp("openapi"))) as talk:
        yield talk


def test_every_route_is_documented_with_how_it_refuses(talk: Talk) -> None:
    document = talk.ask("GET", "/openapi.json").json()
    found = {(m, p) for p, methods in document["paths"].items() for m in methods}
    assert ("put", "/v1/report") in found
    assert ("post", "/v1/admin/rebuild") in found
    assert len(found) == 21
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert "429" in operation["responses"], path
    put = document["paths"]["/v1/report"]["put"]
    assert {"204", "400", "401", "413", "422", "503"} <= put["responses"].keys()
    assert put["security"] == [{"capability": []}]


def test_fuzzing_by_the_document_finds_no_5xx(talk: Talk) -> None:
    schema = schemathesis.openapi.from_url(f"{talk.url}/openapi.json")
    secrets = [talk.enrol(), TOKEN, "x" * 43]
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]
        if operation.path != "/v1/admin/rebuild":  # a process each time: test_building has it
            asked += fuzz(operation, GenerationMode.POSITIVE, secrets)
            if len(list(operation.body)):
                asked += fuzz(operation, GenerationMode.NEGATIVE, secrets)
    assert asked > 50


def fuzz(operation: Any, mode: GenerationMode, secrets: list[str]) -> int:
    """Ask for one operation in many ways: how many."""
    documented = {*operation.definition.raw["responses"], "405"}
    asked = 0

    @_CALM
    @given(case=operation.as_strategy(generation_mode=mode), secret=st.sampled_from(secrets))
    def ask(case: Any, secret: str) -> None:
        nonlocal asked
        asked += 1
        answer = case.call(headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code < 500, (operation.label, answer.status_code)
        assert str(answer.status_code) in documented, (operation.label, answer.status_code)

    ask()
    return asked


@_CALM
@given(data=st.data())
def test_reports_with_anything_in_them_are_stored_or_refused(talk: Talk, data: Any) -> None:
    report = make_report()
    for name in sorted(data.draw(st.sets(st.sampled_from(sorted(report))))):
        report[name] = data.draw(_JSON)
    if data.draw(st.booleans()):
        report |= data.draw(st.dictionaries(_TEXT, _JSON, max_size=2))
    assert talk.send(talk.enrol(), report).status in (204, 413, 422)
    entry = {"capability": data.draw(_JSON), "report": report}
    batch = data.draw(st.sampled_from([{"reports": [entry]}, {"reports": entry}, [entry]]))
    assert talk.ask("POST", "/v1/reports", batch).status in (200, 413, 422)


@_CALM
@given(headers=st.dictionaries(
    st.sampled_from(["Range", "If-None-Match", "If-Range", "Accept-Encoding", "Authorization"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30).map(str.strip)
    | st.from_regex(r"bytes=[0-9]{0,30}-[0-9]{0,30}", fullmatch=True),
))  # fmt: skip
def test_headers_with_anything_in_them_are_taken_or_refused(
    talk: Talk, headers: dict[str, str]
) -> None:
    assert talk.ask("GET", "/v1/catalog", **headers).status in (200, 206, 304, 400, 416)
    assert talk.ask("GET", "/v1/report", **headers).status in (400, 401)
