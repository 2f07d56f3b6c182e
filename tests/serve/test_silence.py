"""Nothing that identifies a person is logged, counted or told in an error."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discreet.domain import InputError
from discreet.protocols.local_reports.server import LocalReports
from serve._running import TOKEN, make_report, make_settings, running


def everything_logged(caplog: pytest.LogCaptureFixture, captured: Any) -> str:
    said = captured.readouterr()
    full = [f"{r.getMessage()} {r.args} {r.exc_info}" for r in caplog.records]
    return "\n".join([caplog.text, *full, said.out, said.err])


def test_a_whole_day_of_requests_leaves_no_trace_of_anybody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    with running(make_settings(tmp_path)) as talk:
        people = [talk.enrol() for _ in range(3)]
        report = make_report()
        for person in people:
            talk.send(person, report)
            talk.ask("GET", f"/v1/report?me={person}", secret=person)
        talk.send(people[0], {"wrong": people[0]})
        talk.ask("POST", "/v1/reports", {"reports": [{"capability": people[1], "report": report}]})
        talk.rebuild()
        talk.ask("DELETE", "/v1/enrolment", secret=people[2])
        metrics = talk.ask("GET", "/metrics", secret=TOKEN).body.decode()
        statistics = str(talk.statistics())
    logged = everything_logged(caplog, capfd)
    assert "build: built" in logged
    for text in (logged, metrics, statistics):
        for secret in (*people, TOKEN, report["values"], "127.0.0.1:"):
            assert secret not in text
    assert "127.0.0.1" not in metrics
    content = b"".join(path.read_bytes() for path in tmp_path.glob("reports.db*"))
    assert content
    assert not any(person.encode() in content for person in people)


def test_an_unexpected_error_is_told_by_place_and_not_by_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    with running(make_settings(tmp_path)) as talk:
        me = talk.enrol()
        broken = mock.patch.object(LocalReports, "check", side_effect=RuntimeError(f"secret {me}"))
        with broken:
            answer = talk.send(me, make_report())
        assert answer.status == 500
        assert "not your request's fault" in answer.reason
        assert talk.send(me, make_report()).status == 204
    logged = everything_logged(caplog, capfd)
    assert "RuntimeError at /v1/report" in logged
    assert me not in logged
    assert "secret" not in logged.replace("DeprecationWarning", "")


def test_a_refusal_never_repeats_what_was_sent(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        me = talk.enrol()
        word = "Xyzzy"
        for body in ({word: word}, {"protocol": word}, make_report() | {"values": word}, word):
            answer = talk.send(me, body)
            assert answer.status == 422
            assert word not in answer.reason
        assert word not in talk.ask("GET", f"/{word}?{word}").reason


def test_metrics_are_prometheus_text_and_count(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        me, report = talk.enrol(), make_report()
        for _ in range(3):
            talk.send(me, report)
        talk.ask("PROPFIND", "/v1/report")
        for secret in (None, me):
            assert talk.ask("GET", "/metrics", secret=secret).status == 401
        answer = talk.ask("GET", "/metrics", secret=TOKEN)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.body.decode()
    assert 'discreet_requests_total{method="PUT",route="/v1/report",status="204"} 3' in text
    assert "discreet_reports_stored_total 3" in text
    assert 'method="other"' in text
    assert "PROPFIND" not in text
    assert "report_bytes" not in text
    line = re.compile(
        r'(# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)'
    )
    assert all(line.fullmatch(each) for each in text.splitlines())
    types = dict(re.findall(r"# TYPE (\S+) (\S+)", text))
    assert types["discreet_commits_total"] == types["discreet_commit_changes_total"] == "counter"
    assert types["discreet_commit_failures_total"] == "counter"
    for name, kind in types.items():
        assert name.endswith("_total") == (kind == "counter"), name
    assert int(re.findall(r"^discreet_commits_total (\d+)", text, re.M)[0]) >= 1


def test_a_database_that_fails_is_503_and_not_ready_and_nothing_is_acknowledged(
    tmp_path: Path,
) -> None:
    with running(make_settings(tmp_path)) as talk:
        me = talk.enrol()
        from sqlalchemy.exc import OperationalError

        failing = OperationalError("select", {}, Exception("gone"))
        with mock.patch("discreet.serve._writer.make", side_effect=failing):
            answer = talk.send(me, make_report())
            assert answer.status == 503
            assert answer.headers["retry-after"]
            assert talk.ask("GET", "/readyz").status == 503
        # It is seen without anybody's sending that one can write again.
        assert talk.ask("GET", "/readyz").status == 200
        assert talk.ask("GET", "/v1/report", secret=me).status == 404
        assert talk.send(me, make_report()).status == 204
        assert talk.ask("GET", "/readyz").status == 200


@pytest.mark.parametrize(
    "url",
    ["mysql://me:hush@x/y", "sqlite://", "sqlite:///:memory:", "postgresql://me:hush@[/x", ""],
)
def test_a_database_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, url: str) -> None:
    with (
        pytest.raises(InputError) as caught,
        running(make_settings(tmp_path, db=url or "/no/x.db")),
    ):
        pass
    assert "hush" not in str(caught.value)
    assert "\n" not in str(caught.value)
