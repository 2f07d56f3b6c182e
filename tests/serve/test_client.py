"""The Python client against a real service, and against one that misbehaves."""

from __future__ import annotations

import hashlib
import json
import stat
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from discreet.domain import InputError
from discreet.protocols.common import StateFile
from discreet.protocols.common.http import Refusal, ServiceClient
from discreet.protocols.local_reports.client import LocalClient
from discreet.protocols.local_reports.messages import Collection
from loopback import Handler, Site, serving
from release._making import random_release
from serve._running import TOKEN, Talk, make_catalog, make_settings, running

OWN = {"Title 3 é": 5, "i4": 2, "i5": 4}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    folder = tmp_path_factory.mktemp("client")
    random_release(60, 3, catalog=make_catalog()).save(folder / "made.discreet")
    with running(make_settings(folder)) as talk:
        yield talk


@pytest.fixture
def service(talk: Talk, tmp_path: Path) -> Iterator[ServiceClient]:
    with ServiceClient(talk.url, tmp_path / "me.state") as service:
        yield service


def test_a_person_takes_part_and_leaves(service: ServiceClient, tmp_path: Path) -> None:
    state = tmp_path / "me.state"
    collection = Collection.from_json(service.collection(), service.catalog())
    assert collection.scale == service.scale() and service.answered
    assert not service.enrolled
    service.enroll()
    held = state.read_text()
    assert not service.enroll()
    assert state.read_text() == held
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    message = LocalClient(collection, state).report(OWN).as_json()
    service.report(message)
    assert service.sent() == message
    # Another session of the same person: the same answers, and the same capability.
    again = ServiceClient(service.server, state)
    assert LocalClient(collection, state).report(OWN).as_json() == again.sent()
    again.withdraw()
    with pytest.raises(InputError, match="404"):
        again.sent()
    again.delete()
    again.close()
    assert not service.enrolled
    calls: tuple[Callable[[], Any], ...] = (lambda: service.report(message), service.sent)
    for call in calls:
        with pytest.raises(InputError, match="not enrolled any more: what was sent") as caught:
            call()
        assert "yet" not in str(caught.value)
    assert LocalClient(collection, state).spent.reports == 1
    assert service.enroll()
    service.report(message)


def test_a_void_capability_is_replaced_and_the_memory_stays(
    service: ServiceClient, talk: Talk, tmp_path: Path
) -> None:
    state = tmp_path / "me.state"
    with pytest.raises(InputError, match="not enrolled yet"):
        service.check_enrolled()
    assert service.enroll()
    collection = Collection.from_json(service.collection(), service.catalog())
    message = LocalClient(collection, state, limit=2).report(OWN).as_json()
    capability = json.loads(state.read_text())["state"]["service"][talk.url]
    assert talk.ask("DELETE", "/v1/enrolment", secret=capability).status == 204
    with pytest.raises(InputError, match=r"refused \(401\).*; discreet client enroll gets a new"):
        service.report(message)
    assert service.enrolled
    assert service.enroll()
    assert json.loads(state.read_text())["state"]["service"][talk.url] != capability
    client = LocalClient(collection, state)
    assert (client.spent.reports, client.limit.value) == (1, 2.0)
    assert client.report({}).as_json() == message
    service.report(message)
    assert not service.enroll()


def test_a_release_is_fetched_once(service: ServiceClient, talk: Talk, tmp_path: Path) -> None:
    file = tmp_path / "movies.discreet"
    assert service.fetch_release(file)
    assert file.read_bytes() == talk.ask("GET", "/v1/release").body
    assert not service.fetch_release(file)
    file.write_bytes(b"damaged")
    assert service.fetch_release(file)


def test_the_administrators_calls(service: ServiceClient) -> None:
    assert service.statistics(TOKEN)["build"]["state"] == "none since the start"
    with pytest.raises(InputError, match=r"refused \(401\)") as caught:
        service.rebuild("x" * 20)
    assert "x" * 20 not in str(caught.value)


def test_a_refusal_is_told_with_its_reason(service: ServiceClient) -> None:
    service.enroll()
    with pytest.raises(InputError, match=r"refused \(422\): report: 'protocol' is missing"):
        service.report({})


def test_a_state_has_a_capability_for_each_server_and_one_memory(
    service: ServiceClient, talk: Talk, tmp_path: Path
) -> None:
    """With a file for each, what was made up would be made up twice, and spent twice."""
    service.enroll()
    other = ServiceClient(talk.url.replace("127.0.0.1", "localhost"), tmp_path / "me.state")
    with pytest.raises(InputError, match=rf"is not enrolled here, only at {talk.url}: "):
        other.report({})
    assert other.enroll() and other.enrolled and service.enrolled
    other.delete()
    assert service.enrolled and not other.enrolled
    with pytest.raises(InputError, match="is not enrolled any more"):
        other.report({})
    other.close()
    alone = ServiceClient(talk.url)
    with pytest.raises(InputError, match="state file is needed"):
        alone.enroll()
    alone.close()


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://example.org", "http://", "https://me:secret@example.org",
            "https://example.org/?x=1", "https://example.org:port"],
)  # fmt: skip
def test_what_is_no_server_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="a server is a URL"):
        ServiceClient(url)


@pytest.mark.parametrize(
    ("told", "plain"),
    [
        ("HTTPS://Example.ORG/", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://127.0.0.1:80/here/", "http://127.0.0.1/here"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost:443", "http://localhost:443"),
    ],
)
def test_one_server_has_one_spelling(told: str, plain: str) -> None:
    assert ServiceClient(told).server == plain


@pytest.mark.parametrize(
    ("after", "said"),
    [("7", "; try again in 7 seconds"), ("1", "; try again in 1 second"), ("soon", "")],
)
def test_when_to_try_again_is_told(after: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy(Handler):
        def answer(self, content: bytes) -> None:
            self.send_response(429)
            self.send_header("retry-after", after)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    monkeypatch.setattr("loopback.Handler", Busy)
    site = Site()
    site.files = dict.fromkeys(("/v1/collection", "/v1/release"), b'{"reason": "hectic"}')
    with serving(site) as url, ServiceClient(url) as service:
        for ask in (service.collection, lambda: service.fetch_release("nowhere")):
            with pytest.raises(Refusal, match=rf"refused \(429\): hectic{said}$") as caught:
                ask()
            assert caught.value.status == 429
            assert caught.value.wait == (int(after) if said else None)


def test_plain_http_to_another_machine_is_refused() -> None:
    with pytest.raises(InputError, match="readable on the way"):
        ServiceClient("http://192.0.2.1")
    ServiceClient("http://192.0.2.1", insecure=True)
    ServiceClient("http://[::1]:8000")


def test_a_server_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    service = ServiceClient("http://127.0.0.1:9", tmp_path / "s")
    with pytest.raises(InputError, match="does not answer: Connection refused"):
        service.enroll()
    assert not (tmp_path / "s").exists() and not service.answered


def test_a_server_without_tls_is_said_to_have_none(talk: Talk) -> None:
    service = ServiceClient(talk.url.replace("http:", "https:"))
    with pytest.raises(InputError, match=r"https://127.0.0.1:\d+ speaks no TLS: is it http://\?$"):
        service.collection()


class Tagged(Handler):
    """Says the digest of what it sends; of ranges it takes what a resumed fetch asks for."""

    def end_headers(self) -> None:
        content = self.site.files.get(self.path, b"")
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        super().end_headers()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr("loopback.Handler", Tagged)
    site = Site()
    site.files["/v1/release"] = bytes(range(256)) * 4000
    return site


@pytest.mark.parametrize("ranges", [True, False])
def test_a_fetch_that_breaks_off_goes_on(site: Site, tmp_path: Path, ranges: bool) -> None:
    site.ranges = ranges
    site.breaks = [(300_000, "close"), (200_000, "close")]
    with serving(site) as url:
        service = ServiceClient(url)
        assert service.fetch_release(tmp_path / "r")
        service.close()
    assert (tmp_path / "r").read_bytes() == site.files["/v1/release"]
    assert [asked for _, asked in site.asked][:2] == [None, "bytes=300000-"]


def test_a_fetch_that_never_ends_well_leaves_the_old_file(site: Site, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"old")
    site.breaks = [(1000, "close")] * 20
    with serving(site) as url:
        service = ServiceClient(url)
        with pytest.raises(InputError, match="incomplete"):
            service.fetch_release(tmp_path / "r")
        service.close()
    assert (tmp_path / "r").read_bytes() == b"old"


class Losing(BaseHTTPRequestHandler):
    """Does what it is asked, and closes the connection in place of some answers."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []
    answers: ClassVar[dict[str, list[tuple[int, bytes] | None]]] = {}

    def answer(self) -> None:
        name = f"{self.command} {self.path}"
        self.asked.append(name)
        told = self.answers[name].pop(0) if self.answers.get(name) else (200, b"{}")
        if told is None:
            self.close_connection = True
            return
        self.send_response(told[0])
        self.send_header("Content-Length", str(len(told[1])))
        self.end_headers()
        self.wfile.write(told[1])

    do_GET = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def losing(tmp_path: Path) -> Iterator[ServiceClient]:
    Losing.asked.clear()
    Losing.answers.clear()
    Losing.answers["GET /v1/collection"] = [(200, b'{"protocol": "local-reports"}')]
    with ThreadingHTTPServer(("127.0.0.1", 0), Losing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        held = {"service": {url: "x" * 43}}
        StateFile(tmp_path / "me", "local-reports").write(held)
        with ServiceClient(url, tmp_path / "me") as service:
            yield service
        server.shutdown()
        thread.join()


def test_who_left_has_left_though_the_answer_was_lost(losing: ServiceClient) -> None:
    Losing.answers["DELETE /v1/enrolment"] = [None, (401, b"{}")]
    losing.delete()
    assert Losing.asked == ["GET /v1/collection"] + ["DELETE /v1/enrolment"] * 2
    assert not losing.enrolled
    with pytest.raises(InputError, match="is not enrolled any more: what was sent"):
        losing.sent()


def test_a_refusal_to_delete_that_is_another_leaves_the_file_as_it_is(
    losing: ServiceClient,
) -> None:
    Losing.answers["DELETE /v1/enrolment"] = [(503, b"{}")]
    with pytest.raises(Refusal, match="503"):
        losing.delete()
    assert losing.enrolled


@pytest.mark.parametrize("path", ["rebuild", "reload"])
def test_what_must_not_be_done_twice_is_sent_once(losing: ServiceClient, path: str) -> None:
    name = f"POST /v1/admin/{path}"
    Losing.answers[name] = [None]
    losing.collection()
    with pytest.raises(InputError, match="does not answer"):
        getattr(losing, path)(TOKEN)
    assert Losing.asked.count(name) == 1


def test_a_request_is_repeated_on_a_kept_connection_alone(losing: ServiceClient) -> None:
    name = "GET /v1/admin/statistics"
    Losing.answers[name] = [None, None]
    with pytest.raises(InputError, match="does not answer"):
        losing.statistics(TOKEN)
    assert Losing.asked == [name]
    losing.collection()
    assert losing.statistics(TOKEN) == {}
    assert Losing.asked == [name, "GET /v1/collection", name, name]


def test_whether_one_is_enrolled_is_asked_without_the_report(losing: ServiceClient) -> None:
    assert not losing.enroll()
    assert Losing.asked == ["GET /v1/collection", "HEAD /v1/report"]


FOREIGN = {"ids": ["a"], "titles": None, "origin": "given", "digest": "0"}


@pytest.mark.parametrize(
    ("content", "about"),
    [
        (b"nonsense", "JSON object"),
        (b"[]", "JSON object"),
        (b"{}", "no catalogue"),
        (json.dumps(FOREIGN).encode(), "digest"),
    ],
)
def test_answers_that_make_no_sense_are_refused(content: bytes, about: str) -> None:
    site = Site()
    site.files["/v1/catalog"] = content
    with serving(site) as url:
        service = ServiceClient(url)
        with pytest.raises(InputError, match=about):
            service.catalog()
        service.close()
