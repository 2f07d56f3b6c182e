"""Building a release from what was sent, beside serving."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from discreet.domain import InputError
from discreet.release import load
from discreet.serve import Settings
from serve._running import (
    TOKEN,
    Talk,
    make_collection,
    make_report,
    make_settings,
    running,
)


def test_who_deleted_is_absent_from_the_next_release(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        assert talk.ask("GET", "/v1/release").status == 404
        people = [talk.enrol() for _ in range(6)]
        for n, person in enumerate(people):
            talk.send(person, make_report(n))
        built = talk.rebuild()
        assert (built["state"], built["reports"]) == ("built", 6)
        first = talk.ask("GET", "/v1/release")
        assert first.status == 200
        talk.ask("DELETE", "/v1/report", secret=people[0])
        talk.ask("DELETE", "/v1/enrolment", secret=people[1])
        assert talk.rebuild()["reports"] == 4
        second = talk.ask("GET", "/v1/release")
        assert second.headers["etag"] != first.headers["etag"]
        told = talk.ask("GET", "/v1/release/about").json()
        assert told["parameters"]["local_reports"]["reports"] == 4
    file = tmp_path / "made.discreet"
    assert file.read_bytes() == second.body
    assert load(file, verify=True).catalog == make_collection().catalog
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_serving_goes_on_while_a_release_is_built(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        for n in range(3):
            talk.send(talk.enrol(), make_report(n))
        builder = Talk(talk.url)
        done = threading.Thread(target=builder.rebuild)
        done.start()
        answers = []
        while done.is_alive():
            answers.append(talk.send(talk.enrol(), make_report()).status)
        builder.close()
        assert len(answers) > 20
        assert set(answers) == {204}
        assert talk.ask("GET", "/v1/release").status == 200


def test_only_one_build_at_a_time_and_a_failure_leaves_the_old_release(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 202
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 409
        build = talk.built()
        assert build["state"] == "failed"
        assert "at least 2" in build["reason"]
        assert talk.ask("GET", "/v1/release").status == 404
        # And the service ends in time though a build is under way.
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 202


@pytest.mark.parametrize("secret", [None, "", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
@pytest.mark.parametrize(("method", "path"), [("POST", "rebuild"), ("GET", "statistics")])
def test_only_the_administrator_is_let_in(
    publishing: Talk, method: str, path: str, secret: str | None
) -> None:
    answer = publishing.ask(method, f"/v1/admin/{path}", secret=secret)
    assert answer.status == 401
    assert TOKEN not in answer.reason


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory):
    with running(make_settings(tmp_path_factory.mktemp("admin"))) as talk:
        yield talk


def test_a_capability_is_no_administrators_token(publishing: Talk) -> None:
    me = publishing.enrol()
    assert publishing.ask("GET", "/v1/admin/statistics", secret=me).status == 401
    assert publishing.ask("GET", f"/v1/admin/statistics?token={TOKEN}").status == 401


def test_without_a_token_there_is_no_administrator(tmp_path: Path) -> None:
    with running(make_settings(tmp_path, admin_token=None)) as talk:
        assert talk.ask("GET", "/v1/admin/statistics", secret="").status == 403


@pytest.mark.parametrize("token", ["", "short", "sixteen letters ", "ü" * 20])
def test_a_token_that_could_be_guessed_or_not_sent_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(InputError, match="openssl") as caught:
        make_settings(tmp_path, admin_token=token)
    assert not token or token not in str(caught.value)


def test_settings_show_no_secret(tmp_path: Path) -> None:
    shown = repr(make_settings(tmp_path, db="postgresql://me:secret@nowhere/x"))
    assert "me:secret" not in shown
    assert TOKEN not in shown
    with pytest.raises(InputError, match="both"):
        Settings(tmp_path / "x", None, "y.db")
