"""Whatever is too large, too fast, too slow or not what it should be gets 4xx and is not stored."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discreet.domain import InputError
from discreet.protocols.local_reports.server import LocalReports
from discreet.serve import Rate
from discreet.serve._requests import Bodies, Refused, parse_json
from serve._running import TOKEN, Talk, make_report, make_settings, running


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with running(make_settings(tmp_path_factory.mktemp("limits"), batch=3)) as talk:
        yield talk


@pytest.fixture
def me(talk: Talk) -> Iterator[str]:
    capability = talk.enrol()
    yield capability
    assert talk.ask("GET", "/v1/report", secret=capability).status == 404


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[1, 2", b"nonsense", b"\xff\xfe\x00", b'{"a": NaN}', b'{"a": Infinity}',
        b'{"a": 1e999}', b'{"a": 1, "a": 2}', json.dumps("ok").encode("utf-16"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused(talk: Talk, me: str, body: bytes) -> None:
    answer = talk.send(me, body)
    assert answer.status == 400
    assert answer.reason


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 4000, b'{"a": ' + b"1" * 5000 + b"}",
        # Halves of characters: an answer that repeats a name could not be written.
        b'{"a": "\\ud800"}', b'{"\\uDC00x": 1}',
    ],
)  # fmt: skip
def test_what_no_parser_follows_is_no_json(body: bytes) -> None:
    with pytest.raises(Refused, match="should be JSON") as caught:
        parse_json(body)
    assert caught.value.status == 400
    assert parse_json(b'["\\ud83d\\ude00"]') == ["\U0001f600"]


def altered(**changes: Any) -> dict[str, Any]:
    return {k: v for k, v in (make_report() | changes).items() if v is not ...}


@pytest.mark.parametrize(
    ("body", "about"),
    [
        (None, "object"), (7, "object"), ([], "object"), ("x", "object"),
        (altered(values=...), "values"), (altered(values=7), "values"),
        (altered(values="????"), "values"), (altered(reported="AAAA"), "reported"),
        (altered(more=1), "field"), (altered(epoch=2), "period"), (altered(epoch=True), "epoch"),
        (altered(version=9), "version"), (altered(protocol="open-clusters"), "protocol"),
        (altered(collection="0" * 64), "collection"), (altered(values=""), "marked"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_collection_is_refused(
    talk: Talk, me: str, body: Any, about: str
) -> None:
    answer = talk.send(me, json.dumps(body).encode())
    assert answer.status == 422
    assert about in answer.reason


def test_a_body_that_says_it_is_too_large_is_not_even_read(talk: Talk, me: str) -> None:
    with _raw(talk, f"PUT /v1/report HTTP/1.1\r\nauthorization: Bearer {me}", 10**9) as raw:
        assert b" 413 " in raw.recv(1000).split(b"\r\n")[0]


def test_a_body_that_grows_too_large_is_cut_off_while_it_comes(talk: Talk, me: str) -> None:
    head = f"PUT /v1/report HTTP/1.1\r\nauthorization: Bearer {me}\r\ntransfer-encoding: chunked"
    with _raw(talk, head, None) as raw:
        sent = 0
        try:
            while sent < 5_000_000:
                raw.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                sent += 4096
        except OSError:
            pass
        else:
            pytest.fail("five megabytes were taken")


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    with running(make_settings(tmp_path, body_seconds=0.2)) as talk:
        me = talk.enrol()
        with _raw(talk, f"PUT /v1/report HTTP/1.1\r\nauthorization: Bearer {me}", 100) as raw:
            raw.sendall(b'{"half')
            assert b" 408 " in raw.recv(1000).split(b"\r\n")[0]
        # One that breaks off is nobody's business either.
        with _raw(talk, f"PUT /v1/report HTTP/1.1\r\nauthorization: Bearer {me}", 100) as raw:
            raw.sendall(b'{"half')
        assert talk.ask("GET", "/v1/report", secret=me).status == 404
        assert talk.statistics()["reports"] == 0


def test_nothing_is_read_of_who_is_not_enrolled(talk: Talk) -> None:
    head = f"PUT /v1/report HTTP/1.1\r\nauthorization: Bearer {'x' * 43}"
    with _raw(talk, head, 500) as raw:
        answer = raw.recv(1000).lower()
    assert b" 401 " in answer.split(b"\r\n")[0]
    assert b"connection: close" in answer


def test_a_batch_is_cut_off_at_eight_megabytes(tmp_path: Path) -> None:
    head = "POST /v1/reports HTTP/1.1"
    settings = make_settings(tmp_path, batch=200)
    with running(settings) as talk, _raw(talk, head, (8 << 20) + 1) as raw:
        assert b" 413 " in raw.recv(1000).split(b"\r\n")[0]
    with pytest.raises(InputError, match="1 to 200"):
        make_settings(tmp_path, batch=201)


def test_a_batch_of_many_small_parts_is_refused_before_it_is_parsed(talk: Talk) -> None:
    body = b'{"reports":[' + b"[]," * 1000 + b"[]]}"
    with mock.patch("discreet.serve._routes.parse_json") as parse:
        answer = talk.ask("POST", "/v1/reports", body)
    assert answer.status == 422
    assert "more parts" in answer.reason
    assert not parse.called


def test_reports_of_a_batch_are_checked_only_for_who_is_enrolled(talk: Talk) -> None:
    entry = {"capability": "x" * 43, "report": make_report()}
    with mock.patch.object(LocalReports, "check") as check:
        answer = talk.ask("POST", "/v1/reports", {"reports": [entry]})
    assert "not enrolled" in answer.json()["results"][0]["reason"]
    assert not check.called


def test_bodies_of_everybody_have_room_for_so_many_bytes() -> None:
    bodies = Bodies(100)
    with bodies.room() as one:
        one.take(60)
        with bodies.room() as other:
            other.take(40)
            with pytest.raises(Refused, match="at this moment") as refused:
                other.take(1)
            assert refused.value.status == 503
            assert refused.value.headers["retry-after"] == "1"
        one.take(40)
    with bodies.room() as again:
        again.take(100)
        assert again.held == 100


def test_without_room_an_upload_is_503_and_later_welcome(talk: Talk) -> None:
    person = talk.enrol()
    with mock.patch.object(Bodies, "hold", side_effect=Refused(503, "no room")):
        assert talk.send(person, make_report()).status == 503
        assert talk.ask("POST", "/v1/reports", {"reports": []}).status == 503
    assert talk.send(person, make_report()).status == 204


def test_a_compressed_body_is_refused(talk: Talk, me: str) -> None:
    answer = talk.ask("PUT", "/v1/report", b"x", me, Content_Encoding="gzip")
    assert answer.status == 415


@pytest.mark.parametrize(
    "body", [[], {}, {"reports": {}}, {"reports": [], "x": 1}, {"reports": [1] * 4}]
)
def test_a_batch_that_is_none_or_too_long_is_refused(talk: Talk, body: Any) -> None:
    answer = talk.ask("POST", "/v1/reports", body)
    assert answer.status == 422
    assert answer.reason


def test_unknown_paths_and_methods_say_so(talk: Talk) -> None:
    assert talk.ask("GET", "/v1/nothing").reason == "not found"
    answer = talk.ask("POST", "/v1/report")
    assert answer.status == 405
    assert answer.reason == "method not allowed"


def test_one_capability_cannot_ask_too_often(tmp_path: Path) -> None:
    with running(make_settings(tmp_path, per_capability=Rate(1, 3))) as talk:
        me, other = talk.enrol(), talk.enrol()
        report = make_report()
        statuses = [talk.send(me, report).status for _ in range(5)]
        assert statuses == [204, 204, 204, 429, 429]
        answer = talk.ask("GET", "/v1/report", secret=me)
        assert answer.status == 429
        assert 0 < int(answer.headers["retry-after"]) <= 60
        assert talk.send(other, report).status == 204
        entry = {"capability": me, "report": report}
        assert (
            "too many"
            in talk.ask("POST", "/v1/reports", {"reports": [entry]}).json()["results"][0]["reason"]
        )


def test_one_address_cannot_ask_or_enrol_too_often(tmp_path: Path) -> None:
    told: dict[str, Any] = {"per_address": Rate(1, 6), "enrolments": Rate(1, 2)}
    with running(make_settings(tmp_path, **told)) as talk:
        enrolled = [talk.ask("POST", "/v1/enrolments") for _ in range(3)]
        assert [answer.status for answer in enrolled] == [201, 201, 429]
        assert enrolled[2].reason == "too many enrolments from this address"
        assert 0 < int(enrolled[2].headers["retry-after"]) <= 60
        assert [talk.ask("GET", "/v1/collection").status for _ in range(4)] == [200, 200, 200, 429]
        # Whoever watches over the service is not shut out.
        assert talk.ask("GET", "/healthz").status == 200
        metrics = talk.ask("GET", "/metrics", secret=TOKEN).body.decode()
        assert 'rate_limited_total{limit="address"} 1' in metrics
        assert 'rate_limited_total{limit="enrolment"} 1' in metrics


@pytest.mark.parametrize(("proxies", "expected"), [(None, 429), ("127.0.0.1", 200)])
def test_whom_a_proxy_speaks_for_is_believed_only_of_known_proxies(
    tmp_path: Path, proxies: str | None, expected: int
) -> None:
    with running(make_settings(tmp_path, per_address=Rate(1, 1)), proxies=proxies) as talk:
        path = "/v1/collection"
        assert talk.ask("GET", path, X_Forwarded_For="192.0.2.1").status == 200
        assert talk.ask("GET", path, X_Forwarded_For="192.0.2.2").status == expected
        assert talk.ask("GET", path, X_Forwarded_For="192.0.2.1").status == 429


@pytest.mark.parametrize("told", [(-1, 1), (float("nan"), 1), (1, 0)])
def test_a_rate_that_makes_no_sense_is_refused(told: tuple[float, int]) -> None:
    with pytest.raises(InputError, match="a rate"):
        Rate(*told)


@contextmanager
def _raw(talk: Talk, head: str, length: int | None) -> Iterator[socket.socket]:
    """A request's head on a socket of its own; the test sends the rest."""
    host, _, port = talk.url.removeprefix("http://").partition(":")
    told = "" if length is None else f"\r\ncontent-length: {length}"
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(f"{head}\r\nhost: x{told}\r\n\r\n".encode())
        yield raw
