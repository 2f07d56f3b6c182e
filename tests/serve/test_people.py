"""Whoever holds a capability sends, reads back, replaces, deletes: their own and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.protocols.common import make_capability
from serve._running import TOKEN, Talk, make_collection, make_report, make_settings, running


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with running(make_settings(tmp_path_factory.mktemp("people"))) as talk:
        yield talk


@pytest.mark.parametrize("path", ["/v1/report", "/v1/enrolment"])
def test_what_is_deleted_is_in_none_of_the_files_after_a_moment(tmp_path: Path, path: str) -> None:
    def copies() -> int:
        return sum(f.read_bytes().count(sought) for f in tmp_path.glob("reports.db*"))

    report = make_report()
    sought = str(report["values"]).encode()
    with running(make_settings(tmp_path)) as talk:
        for _ in range(2):  # the second comes before a second has passed
            me = talk.enrol()
            assert talk.send(me, report).status == 204
            assert copies() > 0
            assert talk.ask("DELETE", path, secret=me).status == 204
        until = time.monotonic() + 60
        while copies() and time.monotonic() < until:
            time.sleep(0.1)
        assert copies() == 0
        assert talk.send(talk.enrol(), report).status == 204


def test_what_is_sent_is_read_back_replaced_and_deleted(talk: Talk) -> None:
    me = talk.enrol()
    assert talk.ask("GET", "/v1/report", secret=me).status == 404
    first, second = make_report(1), make_report(2)
    assert talk.send(me, first).status == 204
    assert talk.ask("GET", "/v1/report", secret=me).json() == first
    assert talk.send(me, second).status == 204
    answer = talk.ask("GET", "/v1/report", secret=me)
    assert answer.json() == second
    assert answer.headers["cache-control"] == "no-store"
    assert talk.ask("DELETE", "/v1/report", secret=me).status == 204
    assert talk.ask("GET", "/v1/report", secret=me).status == 404
    assert talk.send(me, first).status == 204


def test_whether_there_is_something_is_told_without_it(talk: Talk) -> None:
    me, report = talk.enrol(), make_report()
    assert talk.ask("HEAD", "/v1/report", secret=me).status == 404
    assert talk.send(me, report).status == 204
    head, whole = (talk.ask(m, "/v1/report", secret=me) for m in ("HEAD", "GET"))
    assert (head.status, head.body) == (200, b"")
    for name in ("content-length", "content-type", "cache-control"):
        assert head.headers[name] == whole.headers[name]
    assert talk.ask("HEAD", "/v1/report", secret=make_capability()).status == 401


def test_leaving_takes_everything_along(talk: Talk) -> None:
    me, before = talk.enrol(), talk.statistics()
    talk.send(me, make_report())
    assert talk.ask("DELETE", "/v1/enrolment", secret=me).status == 204
    after = talk.statistics()
    assert (after["enrolled"], after["reports"]) == (before["enrolled"] - 1, before["reports"])
    for method, path in (
        ("GET", "/v1/report"),
        ("DELETE", "/v1/report"),
        ("DELETE", "/v1/enrolment"),
    ):
        assert talk.ask(method, path, secret=me).status == 401
    assert talk.send(me, make_report()).status == 401


def test_one_capability_reaches_nobody_elses_report(talk: Talk) -> None:
    me, other = talk.enrol(), talk.enrol()
    mine, theirs = make_report(3), make_report(4)
    talk.send(me, mine)
    talk.send(other, theirs)
    assert talk.ask("DELETE", "/v1/enrolment", secret=other).status == 204
    assert talk.ask("GET", "/v1/report", secret=me).json() == mine


@pytest.mark.parametrize(
    "secret", [None, "", "short", "x" * 44, "é" * 43, TOKEN, "n0b0dys" + "-" * 36]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_without_the_right_capability_nothing_happens(
    talk: Talk, method: str, secret: str | None
) -> None:
    before = talk.statistics()["reports"]
    body = make_report() if method == "PUT" else None
    told = None if secret is None else secret.encode("utf-8").decode("latin-1")
    answer = talk.ask(method, "/v1/report", body, told)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.reason
    assert talk.statistics()["reports"] == before


def test_a_capability_in_the_url_or_in_another_scheme_is_not_taken(talk: Talk) -> None:
    me = talk.enrol()
    talk.send(me, make_report())
    assert talk.ask("GET", f"/v1/report?capability={me}").status == 401
    assert talk.ask("GET", "/v1/report", Authorization=f"Basic {me}").status == 401
    assert talk.ask("GET", f"/v1/report/{me}").status == 404


def test_many_reports_in_one_request_each_with_its_own_capability(talk: Talk) -> None:
    people = [talk.enrol() for _ in range(3)]
    reports = [make_report(n) for n in range(3)]
    entries = [{"capability": c, "report": r} for c, r in zip(people, reports, strict=True)]
    wrong = [
        {"capability": make_capability(), "report": reports[0]},
        {"capability": "short", "report": reports[0]},
        {"capability": people[0], "report": {"nothing": 1}},
        {"capability": people[0]},
        {"capability": people[0], "report": reports[0], "more": 1},
        7,
    ]
    answer = talk.ask("POST", "/v1/reports", {"reports": [*wrong, *entries]})
    assert answer.status == 200
    told = answer.json()
    assert told["stored"] == 3
    assert [each["stored"] for each in told["results"]] == [False] * len(wrong) + [True] * 3
    assert all(each["reason"] for each in told["results"][: len(wrong)])
    for person, report in zip(people, reports, strict=True):
        assert talk.ask("GET", "/v1/report", secret=person).json() == report


def test_of_two_reports_of_one_person_in_a_batch_the_last_stays(talk: Talk) -> None:
    me = talk.enrol()
    entries = [{"capability": me, "report": make_report(n)} for n in (5, 6)]
    assert talk.ask("POST", "/v1/reports", {"reports": entries}).json()["stored"] == 2
    assert talk.ask("GET", "/v1/report", secret=me).json() == entries[1]["report"]


def test_everything_is_there_after_a_restart_and_a_new_epoch_counts_anew(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        me, report = talk.enrol(), make_report()
        talk.send(me, report)
    with running(make_settings(tmp_path, collection=make_collection(epoch=2))) as talk:
        assert talk.ask("GET", "/v1/report", secret=me).json() == report
        figures = talk.statistics()
        assert (figures["reports"], figures["reports_of_collection"]) == (1, 0)
        assert "period 2" in talk.send(me, report).reason
        assert talk.send(me, make_report(0, make_collection(epoch=2))).status == 204
        figures = talk.statistics()
        assert (figures["reports"], figures["reports_of_collection"]) == (1, 1)
