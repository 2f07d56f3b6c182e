"""Routes for back ends: off by default, the list of `recommend`, nothing kept, clear refusals."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.serve import Settings
from discreet.serve._published import open_release
from discreet.serve._recommend import _Models
from discreet.serve._service import Service
from release._making import random_release
from serve._running import FREE, Talk, running

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "backend"
OWN = {"title 0": 5.0, "title 3": 2.0, "nowhere": 4.0}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("recommend") / "films.discreet"
    random_release(12).save(found)
    return found


@pytest.fixture(scope="module")
def talk(path: Path) -> Iterator[Talk]:
    with running(Settings(path, **FREE, recommends=True)) as talk:
        yield talk


def test_they_are_off_by_default(path: Path) -> None:
    with running(Settings(path, **FREE)) as talk:
        for route in ("/v1/recommend", "/v1/similar"):
            assert talk.ask("POST", route, {"ratings": {}}).status in (404, 405)
            assert route not in talk.ask("GET", "/openapi.json").json()["paths"]


def test_a_list_is_that_of_recommend(path: Path, talk: Talk) -> None:
    asked = {"ratings": OWN, "n": 4, "exclude": ["title 5"], "explain": True}
    answer = talk.ask("POST", "/v1/recommend", asked)
    assert answer.status == 200 and answer.headers["cache-control"] == "no-store"
    found = answer.json()
    expected = discreet.recommend(path, OWN, 4, exclude=["title 5"], explain=True)
    assert [(e["id"], e["title"], e["score"], e["expected"]) for e in found["items"]] == [
        (film.id, film.title, film.score, film.expected) for film in expected
    ]
    assert found["unknown"] == ["nowhere"]
    alike = talk.ask("POST", "/v1/similar", {"item": "title 1", "n": 3}).json()
    assert [e["id"] for e in alike["items"]] == [f.id for f in discreet.similar(path, "title 1", 3)]


@pytest.mark.parametrize(
    "asked",
    [
        [],
        {},
        {"ratings": [1]},
        {"ratings": {"title 0": True}},
        {"ratings": {"title 0": "secret"}},
        {"ratings": {"title 0": 77}},
        {"ratings": {}, "n": -1},
        {"ratings": {}, "n": 1e9},
        {"ratings": {}, "n": True},
        {"ratings": {}, "only": "title 0"},
        {"ratings": {}, "exclude": [1]},
        {"ratings": {}, "where": 3},
        {"ratings": {}, "more": 3},
    ],
)
def test_what_does_not_fit_is_refused_without_repeating_it(talk: Talk, asked: Any) -> None:
    answer = talk.ask("POST", "/v1/recommend", asked)
    assert answer.status == 422
    assert "secret" not in answer.reason and "77" not in answer.reason


@pytest.mark.parametrize(
    "body",
    [b'{"ratings": {"\\ud800": 3}}', b'{"ratings": {}, "only": ["\\udfff"]}'],
)
def test_half_a_character_is_no_name(talk: Talk, body: bytes) -> None:
    assert talk.ask("POST", "/v1/recommend", body).status == 400


def test_nothing_is_logged(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="discreet"):
        talk.ask("POST", "/v1/recommend", {"ratings": {"title 0": 5}})
        talk.ask("POST", "/v1/recommend", {"ratings": {"title 0": 77}})
    assert "title 0" not in caplog.text


def test_another_release_is_used_at_once(path: Path, tmp_path: Path) -> None:
    served = tmp_path / "films.discreet"
    served.write_bytes(path.read_bytes())
    service = Service(Settings(served, recommends=True))
    models = _Models(service)
    first, model = asyncio.run(models.get())
    assert asyncio.run(models.get()) == (first, model)
    random_release(12, seed=9).save(served, overwrite=True)
    service._publish(open_release(served))
    second, other = asyncio.run(models.get())
    assert second != first
    assert other.recommend({}) == discreet.recommend(served, {})


def test_the_examples_client_is_written_from_the_document(
    talk: Talk, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "client.py"
    monkeypatch.setattr(sys, "argv", ["make_client.py", talk.url, str(target)])
    runpy.run_path(str(EXAMPLE / "make_client.py"), run_name="__main__")
    spec = importlib.util.spec_from_file_location("client", target)
    assert spec is not None and spec.loader is not None
    client: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    found = client.recommend(ratings=OWN, n=3)
    assert [e["id"] for e in found["items"]] == [f.id for f in discreet.recommend(path, OWN, 3)]
    assert client.similar(item="title 1")["items"]
