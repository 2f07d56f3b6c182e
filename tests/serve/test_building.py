"""Building a release from what was sent, beside serving."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from starlette.concurrency import run_in_threadpool

from discreet.domain import InputError
from discreet.release import load
from discreet.serve import Settings
from discreet.serve._builder import Builder, build_folder, remove_leftovers
from discreet.serve._gate import Metrics
from release._making import random_release
from serve._running import (
    TOKEN,
    Talk,
    make_catalog,
    make_collection,
    make_report,
    make_settings,
    running,
)


def test_who_deleted_is_absent_from_the_next_release(tmp_path: Path) -> None:
    with running(make_settings(tmp_path), own_process=True) as talk:
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
    go_on, work = threading.Event(), Builder._work

    async def held(*told: Any) -> Any:
        assert await run_in_threadpool(go_on.wait, 20)
        return await work(*told)

    with running(make_settings(tmp_path)) as talk, mock.patch.object(Builder, "_work", held):
        for n in range(3):
            talk.send(talk.enrol(), make_report(n))
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 202
        assert talk.send(talk.enrol(), make_report(3)).status == 204
        assert talk.ask("GET", "/v1/release").status == 404
        assert talk.statistics()["build"] == {"state": "running"}
        go_on.set()
        built = talk.built()
        assert (built["state"], built["reports"], built["people"]) == ("built", 4, 4)
        assert talk.ask("GET", "/v1/release").status == 200


def test_what_is_being_put_in_its_place_when_the_service_ends_is_told_as_built(
    tmp_path: Path,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    taken: list[Any] = []

    def slowly(*_: Any) -> tuple[dict[str, Any], None]:
        begun.set()
        assert go_on.wait(10)
        return {"release": "new"}, None

    async def scenario(builder: Builder) -> None:
        builder.start(mock.Mock(order=dict), mock.Mock())
        assert await run_in_threadpool(begun.wait, 10)
        stopping = asyncio.create_task(builder.stop())
        for _ in range(5):
            await asyncio.sleep(0)
        assert builder.last == {"state": "running"}
        go_on.set()
        await stopping

    builder = Builder(make_settings(tmp_path), Metrics(), taken.append, asyncio.Lock())
    with (
        mock.patch.object(Builder, "_work", mock.AsyncMock(return_value={"reports": 3})),
        mock.patch.object(Builder, "_move", slowly),
    ):
        asyncio.run(scenario(builder))
    assert (builder.last["state"], builder.last["reports"]) == ("built", 3)
    assert taken == [{"release": "new"}]


def test_only_one_build_at_a_time_and_a_failure_leaves_the_old_release(tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        talk.send(talk.enrol(), make_report())
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 202
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 409
        build = talk.built()
        assert build["state"] == "failed"
        assert "at least 2" in build["reason"]
        assert talk.ask("GET", "/v1/release").status == 404
        # And the service ends in time though a build is under way.
        assert talk.ask("POST", "/v1/admin/rebuild", secret=TOKEN).status == 202


def test_too_few_people_make_no_release_and_the_curators_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "made.discreet"
    random_release(60, 3, catalog=make_catalog()).save(file)
    before = file.read_bytes()
    with running(make_settings(tmp_path, least_people=4)) as talk:
        people = [talk.enrol() for _ in range(4)]
        for n, person in enumerate(people[:3]):
            talk.send(person, make_report(n))
        build = talk.rebuild()
        assert build["state"] == "failed"
        # How many there are is rounded wherever it is said.
        assert build["reason"].startswith("too few people: fewer than the 4 that a release needs")
        assert "3" not in build["reason"]
        assert file.read_bytes() == before
        assert sorted(path.name for path in tmp_path.glob("*.previous*")) == []
        talk.send(people[3], make_report(3))
        assert talk.rebuild()["state"] == "built"
    assert "failed after" in caplog.text
    assert "fewer than the 4 that" in caplog.text
    with pytest.raises(InputError, match="1 person or more"):
        make_settings(tmp_path, least_people=0)
    assert Settings(file).least_people == 50


def test_a_file_that_the_service_has_not_made_is_kept_once(tmp_path: Path) -> None:
    file, spare = tmp_path / "made.discreet", tmp_path / "made.discreet.previous"
    random_release(60, 3, catalog=make_catalog()).save(file)
    curators = file.read_bytes()
    settings = make_settings(tmp_path)
    with running(settings) as talk:
        for n in range(3):
            talk.send(talk.enrol(), make_report(n))
        assert talk.rebuild()["previous"] == spare.name
        assert spare.read_bytes() == curators != file.read_bytes()
        talk.send(talk.enrol(), make_report(3))
        assert "previous" not in talk.rebuild()
    with running(settings) as talk:  # and it knows its own work after a restart
        talk.send(talk.enrol(), make_report(4))
        assert "previous" not in talk.rebuild()
        assert spare.read_bytes() == curators
        # A second file of the curator's takes nothing from the first.
        random_release(60, 4, catalog=make_catalog()).save(file, overwrite=True)
        second = file.read_bytes()
        assert talk.rebuild()["previous"] == f"{spare.name}2"
    assert spare.read_bytes() == curators
    assert spare.with_name(f"{spare.name}2").read_bytes() == second


def test_what_is_served_is_told_though_it_was_built_before(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    with running(settings) as talk:
        assert talk.statistics()["served"] is None
        for n in range(3):
            talk.send(talk.enrol(), make_report(n))
        talk.rebuild()
        built = talk.statistics()["served"]
        assert built["built"].endswith("+00:00")
        assert built["method"] == "covariance"
        body = talk.ask("GET", "/v1/release").body
        assert built["sha256"] == hashlib.sha256(body).hexdigest()
        told = talk.statistics()
        assert told["collection"] == make_collection().digest == make_report()["collection"]
    with running(settings) as talk:
        told = talk.statistics()
        assert told["served"] == built | {"built": "before the start"}
        assert told["build"] == {"state": "none since the start"}


@pytest.mark.parametrize("error", [RuntimeError("secret"), KeyError("secret"), OSError()])
def test_whatever_goes_wrong_a_build_ends_as_failed(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with running(make_settings(tmp_path)) as talk:
        with mock.patch.object(Builder, "_work", side_effect=error):
            build = talk.rebuild()
        assert build["state"] == "failed"
        assert type(error).__name__ in build["reason"]
        assert "secret" not in str(build) + caplog.text
        assert (
            'builds_total{outcome="failed"} 1'
            in talk.ask("GET", "/metrics", secret=TOKEN).body.decode()
        )
        for n in range(3):
            talk.send(talk.enrol(), make_report(n))
        assert talk.rebuild()["state"] == "built"


def test_folders_of_builds_that_were_killed_are_removed_at_the_next_start(tmp_path: Path) -> None:
    left = tmp_path / ".build.made.discreet.abcd_123"
    others = [
        tmp_path / ".build.other.discreet.abcd_123",
        tmp_path / ".build.made.discreet.of mine",
        tmp_path / ".build.abcd_123",
    ]
    for folder in (left, *others):
        folder.mkdir()
        (folder / "made").write_text("half")
    with running(make_settings(tmp_path)):
        assert not left.exists()
        assert all((folder / "made").exists() for folder in others)


def test_a_folder_where_somebody_builds_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "made"
    with build_folder(target) as folder:
        (folder / "x").write_text("being written")
        assert remove_leftovers(target) == 0
        assert (folder / "x").exists()
    assert not folder.exists()
    link = tmp_path / ".build.made.abcd_123"
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    assert remove_leftovers(target) == 0
    assert link.exists()


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
