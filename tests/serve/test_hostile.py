"""Attacks on availability, each of which held others up in version 0.1.0."""

from __future__ import annotations

import json
import logging
import resource
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import InputError
from discreet.serve import Server, check_token
from discreet.serve import _changes as changes
from discreet.serve._connections import HTTPTOOLS, allowed_connections
from discreet.serve._logs import Collapse, JsonLines
from serve._running import TOKEN, Talk, make_report, make_settings, running


class Raw:
    """A connection on which anything can be sent."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=20)

    def send(self, text: str | bytes) -> Raw:
        self._socket.sendall(text if isinstance(text, bytes) else text.encode())
        return self

    def some(self) -> str:
        """What comes next."""
        return self._socket.recv(65536).decode()

    def rest(self) -> str:
        """All that comes until the other side closes the connection."""
        parts = []
        while True:
            try:
                part = self._socket.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            parts.append(part)
        return b"".join(parts).decode()

    def close(self) -> None:
        self._socket.close()


def head(method: str, path: str, *headers: str) -> str:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""])


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    with running(make_settings(tmp_path)) as talking:
        yield talking


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/report", 405),
        ("PUT", "/nowhere", 404),
        ("GET", "/v1/catalog", 200),
        ("PUT", "/v1/report", 401),
        ("POST", "/v1/admin/rebuild", 401),
    ],
)
@pytest.mark.parametrize("body", ["Transfer-Encoding: chunked", "Content-Length: 1000000"])
def test_an_answer_to_an_unread_body_is_the_last(
    talk: Talk, method: str, path: str, status: int, body: str
) -> None:
    raw = Raw(talk.url).send(head(method, path, body)).send("1\r\nx\r\n")
    answer = raw.rest()
    raw.close()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert "connection: close" in answer.lower()


def test_a_body_that_was_read_keeps_its_connection(talk: Talk) -> None:
    answer = talk.send(talk.enrol(), make_report())
    assert answer.status == 204
    assert "connection" not in answer.headers
    assert "connection" not in talk.ask("POST", "/v1/enrolments", content_length="0").headers


def test_idle_connections_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.serve._app.allowed_connections", lambda: 6)
    with running(make_settings(tmp_path)) as talk:
        idle = [Raw(talk.url) for _ in range(6)]
        # Everybody else is served all the same; the longest idle connection is closed.
        assert talk.ask("GET", "/v1").status == 200
        assert idle[0].rest() == ""
        last = Raw(talk.url).send(head("GET", "/v1", "Connection: close"))
        assert last.rest().startswith("HTTP/1.1 200 ")
        for each in [*idle, last]:
            each.close()


def test_busy_connections_do_not_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.serve._app.allowed_connections", lambda: 3)
    with running(make_settings(tmp_path)) as talk:
        me = talk.enrol()
        told = (f"Authorization: Bearer {me}", "Content-Length: 90", "Expect: 100-continue")
        busy = []
        for _ in range(3):
            # By the time it is told to go on, the request is under way.
            busy.append(Raw(talk.url).send(head("PUT", "/v1/report", *told)))
            assert busy[-1].some().startswith("HTTP/1.1 100 ")
        late = Raw(talk.url)
        assert late.rest() == ""
        assert busy[0].send(" " * 90).some().startswith("HTTP/1.1 400 ")
        for each in [*busy, late]:
            each.close()


def test_a_head_that_does_not_come_ends_the_connection(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.serve._connections._HEAD_SECONDS", 0.1)
    for before, sent in (("", ""), ("", "GET /v1 HT"), (head("GET", "/v1"), "GET /v1 HT")):
        raw = Raw(talk.url).send(before)
        if before:
            assert raw.some().startswith("HTTP/1.1 200 ")
        assert "HTTP/1.1" not in raw.send(sent).rest()
        raw.close()


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (head("GET", "/v1")[:-2], "X-Y: z\r\n"),
        (head("GET", "/v1")[:-2] + "X-Y: ", "z"),
        ("GET /v1?", "z"),
        (head("PUT", "/v1/report", "BEARER", "Transfer-Encoding: chunked"), "1;x=y"),
        (head("PUT", "/v1/report", "BEARER", "Transfer-Encoding: chunked") + "0\r\n", "X-Y: z\r\n"),
    ],
    ids=["fields", "field", "address", "extension", "trailers"],
)
def test_what_is_not_a_body_does_not_go_on_for_ever(talk: Talk, begun: str, more: str) -> None:
    raw = Raw(talk.url).send(begun.replace("BEARER", f"Authorization: Bearer {talk.enrol()}"))
    with pytest.raises(ConnectionError):
        for _ in range(300):
            raw.send(more * (50_000 // len(more)))
    raw.close()
    assert talk.ask("GET", "/v1").status == 200


@pytest.mark.skipif(not HTTPTOOLS, reason="h11 reads no further before it has answered")
def test_only_a_few_requests_wait_on_a_connection(talk: Talk) -> None:
    few = Raw(talk.url).send(head("GET", "/v1") * 9 + head("GET", "/v1", "Connection: close"))
    assert few.rest().count("HTTP/1.1 200 ") == 10
    many = Raw(talk.url).send(head("GET", "/v1") * 2000)
    answer = many.rest()
    assert answer.count("HTTP/1.1 200 ") < 100 and "HTTP/1.1 400 " in answer
    for each in (few, many):
        each.close()


def test_a_body_in_chunks_of_one_byte_is_read(talk: Talk) -> None:
    body = json.dumps(make_report()).encode()
    told = (f"Authorization: Bearer {talk.enrol()}", "Transfer-Encoding: chunked")
    raw = Raw(talk.url).send(head("PUT", "/v1/report", *told))
    for at in range(0, len(body), 500):
        raw.send(b"".join(b"1\r\n%c\r\n" % byte for byte in body[at : at + 500]))
    assert raw.send(b"0\r\n\r\n").some().startswith("HTTP/1.1 204 ")
    raw.close()


def test_there_are_fewer_connections_than_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = [(1024, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))
    assert allowed_connections(2000) == 2000
    assert limits[-1] == (2064, 4096)
    limits[:] = [(1024, 1024)]
    assert allowed_connections(2000) == 960
    limits[:] = [(resource.RLIM_INFINITY, resource.RLIM_INFINITY)]
    assert allowed_connections(2000) == 2000 and len(limits) == 1


def test_lines_that_repeat_are_collapsed() -> None:
    now = [0.0]
    collapse = Collapse(lambda: now[0])

    def line(number: int, text: str = "x") -> logging.LogRecord:
        return logging.LogRecord("a", logging.INFO, "file", number, text, (), None)

    assert [collapse.filter(line(1)) for _ in range(8)] == [True] * 5 + [False] * 3
    assert collapse.filter(line(2))
    now[0] = 11.0
    last = line(1, "again")
    assert collapse.filter(last)
    assert last.getMessage() == "again (and 3 more like it)"


def test_malformed_requests_hardly_write_to_the_log(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(40):
        raw = Raw(talk.url).send("\x01\x02 nonsense\r\n\r\n")
        assert raw.rest().startswith("HTTP/1.1 400 ")
        raw.close()
    assert sum("Invalid HTTP" in each for each in caplog.messages) <= 5


def test_stalled_batches_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.serve._service._BATCHES_BYTES", 100_000)
    with running(make_settings(tmp_path)) as talk:
        begun = head("POST", "/v1/reports", "Content-Length: 60000")
        stalled = [Raw(talk.url).send(begun).send(b" " * 40_000) for _ in range(2)]
        body = {"reports": [{"capability": talk.enrol(), "report": make_report()}]}
        sent = json.dumps(body).encode().ljust(59_000)
        answer = talk.ask("POST", "/v1/reports", sent)
        assert answer.status == 200 and answer.json()["results"] == [{"stored": True}]
        assert stalled[0].rest().startswith("HTTP/1.1 503 ")
        for each in stalled:
            each.close()


def test_the_administrator_s_token_cannot_be_guessed_quickly(talk: Talk) -> None:
    tried = [talk.ask("GET", "/metrics", secret=f"guess-{n}-abcdefgh").status for n in range(15)]
    assert tried == [401] * 10 + [429] * 5
    # Otherwise a right guess would show.
    assert talk.ask("GET", "/v1/admin/statistics", secret=TOKEN).status == 429
    assert talk.ask("GET", "/v1").status == 200


@pytest.mark.parametrize("token", ["k7-Hq0_zXw92LmPs", "a" * 40, "abcabcabcabcabcabcabcabcabc"])
def test_short_tokens_are_refused(token: str) -> None:
    with pytest.raises(InputError, match="24 or more visible"):
        check_token(token)


def test_a_locked_database_is_seen_and_answered_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.serve._store.PATIENCE", 50)
    with running(make_settings(tmp_path)) as talk:
        me = talk.enrol()
        monkeypatch.setattr("discreet.serve._service._READY_SECONDS", 0.0)
        assert talk.ask("GET", "/readyz").status == 200
        with closing(sqlite3.connect(tmp_path / "reports.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            # Before anybody has sent anything: /readyz looks for itself.
            assert talk.ask("GET", "/readyz").status == 503
            refused = talk.send(me, make_report())
            assert refused.status == 503 and "nothing was" in refused.reason
            other.execute("ROLLBACK")
        assert talk.ask("GET", "/readyz").status == 200
        assert talk.send(me, make_report()).status == 204


def test_a_database_that_hangs_has_one_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.serve._service.DEADLINE", 0.3)
    free, make = threading.Event(), changes.make

    def hanging(connection: Any, wanted: Any) -> Any:
        assert free.wait(20)
        return make(connection, wanted)

    with running(make_settings(tmp_path)) as talk:
        me, you = talk.enrol(), talk.enrol()
        monkeypatch.setattr("discreet.serve._writer.make", hanging)
        monkeypatch.setattr("discreet.serve._service._READY_SECONDS", 0.0)
        assert "may have stored" in talk.send(me, make_report(1)).reason
        # Those behind it never reach the database: it is certain that they are not stored.
        assert "nothing was" in talk.send(you, make_report(2)).reason
        assert talk.ask("GET", "/readyz").status == 503
        free.set()
        assert talk.ask("GET", "/readyz").status == 200
        assert talk.ask("GET", "/v1/report", secret=me).status == 200
        assert talk.ask("GET", "/v1/report", secret=you).status == 404


def test_nobody_is_sent_elsewhere(talk: Talk) -> None:
    for path in ("/v1/", "/v1/catalog/", "//elsewhere.example/"):
        answer = talk.ask("GET", path, Host="elsewhere.example")
        assert answer.status == 404 and "location" not in answer.headers


def test_all_methods_of_a_path_are_named(talk: Talk) -> None:
    refused = talk.ask("PATCH", "/v1/report")
    assert refused.status == 405
    assert refused.headers["allow"] == "DELETE, GET, HEAD, PUT"
    assert talk.ask("PATCH", "/v1/release").headers["allow"] == "GET, HEAD"
    raw = Raw(talk.url).send(head("PATCH", "/v1/report", "Connection: close"))
    assert raw.rest().lower().count("\r\nallow:") == 1
    raw.close()


def test_believing_every_proxy_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Server(make_settings(tmp_path), "127.0.0.1", 0, proxies="127.0.0.1").close()
    assert not caplog.messages
    Server(make_settings(tmp_path), "127.0.0.1", 0, proxies="*").close()
    assert any("X-Forwarded-For" in each for each in caplog.messages)


def test_half_sent_bodies_do_not_hold_up_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(make_settings(tmp_path)) as talk:
        me = talk.enrol()
        told = (f"Authorization: Bearer {me}", "Content-Length: 1000")
        raw = Raw(talk.url).send(head("PUT", "/v1/report", *told)).send(b"{" * 500)
        batch = Raw(talk.url).send(head("POST", "/v1/reports", told[1])).send(b"{" * 500)
        talk.ask("GET", "/v1")  # by now both are being read
    for each in (raw, batch):
        answer = each.rest()
        each.close()
        assert answer.startswith("HTTP/1.1 503 ") and "being stopped" in answer
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


def test_lines_can_be_json() -> None:
    record = logging.LogRecord("discreet.serve", logging.WARNING, "f", 1, "%s: gone", ("a",), None)
    line = json.loads(JsonLines().format(record))
    assert line["message"] == "a: gone" and line["level"] == "warning"
    assert line["logger"] == "discreet.serve" and line["time"].endswith("Z")
