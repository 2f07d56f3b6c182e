"""The release's file changes while it is served: the new one is served whole, or the old stays."""

from __future__ import annotations

import hashlib
import http.client
import itertools
import logging
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from discreet.domain import Scale
from discreet.protocols.common.http import ServiceClient
from discreet.release import Release
from discreet.serve import Server, Settings, _watch
from discreet.serve._published import open_release
from release._making import random_release
from serve._running import (
    FREE,
    TOKEN,
    Talk,
    make_catalog,
    make_report,
    make_settings,
    running,
    until,
)

# Beyond every buffer between the service and somebody who does not read on.
_LARGE = 60_000, 64


@pytest.fixture
def often() -> Iterator[None]:
    """Look at the file so often that no test waits for it."""
    with mock.patch.object(_watch, "LOOK_SECONDS", 0.01):
        yield


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was refused; other tests may have left the log more talkative."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def tag(talk: Talk) -> str:
    return talk.ask("HEAD", "/v1/release").headers["etag"].strip('"')


def publishing(folder: Path, release: Release | None = None) -> Settings:
    (release or random_release(60, 3)).save(folder / "films.discreet")
    return Settings(folder / "films.discreet", admin_token=TOKEN, **FREE)


def replace_in_place(path: Path, content: bytes) -> None:
    """As `cp` does it: the same file, written over bit by bit."""
    with path.open("r+b") as file:
        file.truncate(0)
        for begin in range(0, len(content), 50_000):
            file.write(content[begin : begin + 50_000])
            file.flush()
            time.sleep(0.001)


@pytest.mark.usefixtures("often")
def test_everything_that_is_told_of_a_release_follows_its_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = publishing(tmp_path)
    with running(settings) as talk:
        old = talk.ask("GET", "/v1/release")
        assert talk.statistics()["served"]["built"] == "before the start"
        new = random_release(70, 5, seed=2)
        new.save(settings.release, overwrite=True)
        until(lambda: tag(talk) == digest_of(settings.release))
        assert talk.ask("GET", "/v1/release").body == settings.release.read_bytes() != old.body
        about = talk.ask("GET", "/v1/release/about").json()
        assert about["sha256"] == digest_of(settings.release)
        assert (about["promise"], about["items"]) == (str(new.guarantee), 70)
        assert talk.ask("GET", "/v1/catalog").json()["ids"] == list(new.catalog.ids)
        served = talk.statistics()["served"]
        assert served["sha256"] == about["sha256"]
        assert served["built"].startswith("elsewhere, noticed 2")
        size = settings.release.stat().st_size
        metrics = talk.ask("GET", "/metrics", secret=TOKEN).body.decode()
        assert f"discreet_published_bytes {size}" in metrics
        # What names the old version gets the new one whole, or is told that there is another.
        before = old.headers["etag"]
        for headers in ({"If_None_Match": before}, {"Range": "bytes=9-", "If_Range": before}):
            answer = talk.ask("GET", "/v1/release", **headers)
            assert (answer.status, answer.body) == (200, settings.release.read_bytes())
        refused = talk.ask("GET", "/v1/release", Range="bytes=9-", If_Match=before)
        assert (refused.status, refused.reason) == (412, "another version is served by now")
        now = {"Range": "bytes=9-", "If_Match": refused.headers["etag"]}
        assert talk.ask("GET", "/v1/release", **now).status == 206
        assert talk.ask("GET", "/v1/release", If_Match="*").status == 200
    said = [record.getMessage() for record in caplog.records if record.name == "discreet.serve"]
    assert said == ["films.discreet: the new release is served"]


@pytest.mark.usefixtures("often")
def test_who_is_downloading_gets_the_version_that_was_begun(tmp_path: Path) -> None:
    settings = publishing(tmp_path, random_release(*_LARGE))
    old = settings.release.read_bytes()
    with running(settings) as talk:
        slow = http.client.HTTPConnection(talk.url.removeprefix("http://"))
        slow.request("GET", "/v1/release")
        answer = slow.getresponse()
        begun = answer.read(1000)
        replace_in_place(settings.release, b"nothing of a release" * 1000)
        for seed in (2, 3):
            random_release(60, 3, seed=seed).save(settings.release, overwrite=True)
            until(lambda: tag(talk) == digest_of(settings.release))
        assert begun + answer.read() == old
        slow.close()


class Visitor(threading.Thread):
    """Fetches the release and what belongs to it until told to stop; keeps what was wrong."""

    def __init__(self, url: str, known: set[str]) -> None:
        super().__init__()
        self._talk, self._known = Talk(url), known
        self.stopped = threading.Event()
        self.wrong: list[object] = []
        self.seen: list[str] = []

    def run(self) -> None:
        paths = itertools.cycle(["/v1/release", "/v1/release", "/v1/release/about", "/v1/catalog"])
        try:
            while not self.stopped.is_set():
                self._fetch(next(paths))
        except Exception as error:  # noqa: BLE001  (told by the test)
            self.wrong.append(error)
        finally:
            self._talk.close()

    def _fetch(self, path: str) -> None:
        answer = self._talk.ask("GET", path)
        digest = hashlib.sha256(answer.body).hexdigest()
        if (answer.status, answer.headers.get("etag")) != (200, f'"{digest}"'):
            self.wrong.append((path, answer.status, answer.headers))
        if path == "/v1/release":
            self.seen.append(digest)
        elif path == "/v1/release/about":
            self.seen.append(answer.json()["sha256"])
        if self.seen and self.seen[-1] not in self._known:
            self.wrong.append((path, self.seen[-1]))


@pytest.mark.usefixtures("often")
def test_under_load_every_answer_is_one_whole_version(tmp_path: Path) -> None:
    versions = [tmp_path / f"{n}.discreet" for n in range(4)]
    for seed, version in enumerate(versions):
        random_release(3000 + seed, 8, seed=seed).save(version, overwrite=True)
    settings = publishing(tmp_path)
    shutil.copyfile(versions[0], settings.release)
    known = {digest_of(version) for version in versions}
    with running(settings) as talk:
        visitors = [Visitor(talk.url, known) for _ in range(3)]
        for visitor in visitors:
            visitor.start()
        try:
            for turn, version in enumerate(versions[1:] + versions):
                if turn % 2:
                    replace_in_place(settings.release, version.read_bytes())
                else:
                    shutil.copyfile(version, tmp_path / "whole")
                    (tmp_path / "whole").replace(settings.release)
                until(lambda: tag(talk) == digest_of(version))  # noqa: B023
                with ServiceClient(talk.url) as client:
                    client.fetch_release(tmp_path / "mine.discreet")
                assert digest_of(tmp_path / "mine.discreet") == digest_of(version)
        finally:
            for visitor in visitors:
                visitor.stopped.set()
                visitor.join()
    assert [visitor.wrong for visitor in visitors] == [[]] * 3
    assert set().union(*(visitor.seen for visitor in visitors)) == known


@pytest.mark.usefixtures("often")
def test_two_in_quick_succession_end_with_the_second(tmp_path: Path) -> None:
    settings = publishing(tmp_path)
    with running(settings) as talk:
        for seed in range(2, 12, 2):
            random_release(60, 3, seed=seed).save(settings.release, overwrite=True)
            random_release(60, 3, seed=seed + 1).save(settings.release, overwrite=True)
            until(lambda: tag(talk) == digest_of(settings.release))


def flipped(good: bytes) -> bytes:
    return good[:-5] + bytes([good[-5] ^ 1]) + good[-4:]


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda good: good[: len(good) // 2], "is cut short: "),
        (flipped, "is damaged: array 'catalog_titles' does not match its digest"),
        (
            lambda _: b"<html>not found</html>",
            "is not a release file: it is not a safetensors file",
        ),
        (lambda _: b"", "is empty, not a release file"),
    ],
    ids=["half", "a bit", "something else", "empty"],
)
def test_what_is_no_release_is_said_once_and_the_old_one_stays(
    tmp_path: Path,
    spoil: Callable[[bytes], bytes],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = publishing(tmp_path)
    good = settings.release.read_bytes()
    random_release(60, 3, seed=2).save(tmp_path / "next")
    with running(settings) as talk:
        wrong = tmp_path / "wrong"
        wrong.write_bytes(spoil((tmp_path / "next").read_bytes()))
        wrong.replace(settings.release)
        until(lambda: warned(caplog))
        for _ in range(20):
            assert talk.ask("GET", "/v1/release").body == good
        assert talk.ask("GET", "/readyz").status == 200
        # Another one is said again, and a good one is served at last.
        wrong.write_bytes(b"still nothing")
        wrong.replace(settings.release)
        until(lambda: len(warned(caplog)) > 1)
        (tmp_path / "next").replace(settings.release)
        until(lambda: tag(talk) == digest_of(settings.release))
    said = warned(caplog)
    assert len(said) == 2, said
    assert said[0].startswith(f"films.discreet: {reason}"), said
    assert said[0].endswith("; what was served before stays")


@pytest.mark.usefixtures("often")
def test_a_file_that_is_gone_is_said_once_and_may_come_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = publishing(tmp_path)
    good = settings.release.read_bytes()
    with running(settings) as talk:
        settings.release.unlink()
        until(lambda: warned(caplog))
        assert talk.ask("GET", "/v1/release").body == good
        assert talk.ask("GET", "/readyz").status == 200
        settings.release.mkdir()
        until(lambda: len(warned(caplog)) > 1)
        settings.release.rmdir()
        random_release(60, 3, seed=2).save(settings.release, overwrite=True)
        until(lambda: tag(talk) == digest_of(settings.release))
    said = warned(caplog)
    assert said[0] == "films.discreet: is gone; what was served before stays"
    # Whether it was seen between the two depends on the moment.
    assert any("Is a directory" in each for each in said)
    assert len(said) <= 3


@pytest.mark.usefixtures("often")
def test_what_the_machine_refuses_is_tried_again_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = publishing(tmp_path)
    copy, tries = shutil.copyfile, itertools.count()

    def full(*paths: str) -> None:
        if next(tries) < 5:
            raise OSError(28, "No space left on device")
        copy(*paths)

    with running(settings) as talk, mock.patch("shutil.copyfile", full):
        random_release(60, 3, seed=2).save(settings.release, overwrite=True)
        until(lambda: tag(talk) == digest_of(settings.release))
    said = warned(caplog)
    assert len(said) == 1
    assert "cannot be read or copied: No space left on device" in said[0]


@pytest.mark.usefixtures("often")
def test_a_fault_of_our_own_ends_neither_serving_nor_watching(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = publishing(tmp_path)
    good = settings.release.read_bytes()
    with running(settings) as talk:
        with mock.patch.object(_watch, "open_release", side_effect=RuntimeError("unexpected")):
            random_release(60, 3, seed=2).save(settings.release, overwrite=True)
            until(lambda: warned(caplog))
        assert talk.ask("GET", "/v1/release").body == good
        random_release(60, 3, seed=3).save(settings.release, overwrite=True)
        until(lambda: tag(talk) == digest_of(settings.release))
    said = warned(caplog)
    assert said == ["films.discreet: cannot be opened: RuntimeError; what was served before stays"]


@pytest.mark.usefixtures("often")
def test_while_collecting_only_the_same_items_are_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(make_settings(tmp_path)) as talk:
        file = tmp_path / "made.discreet"
        assert talk.ask("GET", "/v1/release").status == 404
        ours = random_release(60, 3, catalog=make_catalog())
        ours.save(file, overwrite=True)
        until(lambda: talk.ask("GET", "/v1/release").status == 200)
        assert tag(talk) == (good := digest_of(file))
        assert warned(caplog) == []
        random_release(60, 3, seed=2).save(file, overwrite=True)
        until(lambda: len(warned(caplog)) == 1)
        other_scale = Release(
            ours.method, Scale(1, 10), ours.catalog, ours.guarantee, ours.parameters, ours.arrays
        )
        other_scale.save(file, overwrite=True)
        until(lambda: len(warned(caplog)) == 2)
        assert tag(talk) == good
        assert talk.ask("GET", "/v1/catalog").json()["digest"] == make_catalog().digest()
    said = {each.partition(";")[0] for each in warned(caplog)}
    assert said == {"made.discreet: has other items or another scale than what is collected"}


@pytest.mark.usefixtures("often")
def test_what_the_service_builds_itself_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with running(make_settings(tmp_path)) as talk:
        opened = mock.Mock(wraps=open_release)
        for n in range(3):
            talk.send(talk.enrol(), make_report(n))
        with mock.patch.object(_watch, "open_release", opened):
            talk.rebuild()
            until(lambda: opened.called)
        built = talk.statistics()["served"]
        assert built["sha256"] == tag(talk) == digest_of(tmp_path / "made.discreet")
        assert not built["built"].startswith("elsewhere")
    assert "new release" not in caplog.text


@contextmanager
def serving(settings: Settings) -> Iterator[tuple[Server, Talk]]:
    server = Server(settings, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    server.look()  # before it answers: nothing is lost, and nothing is new
    thread.start()
    talk = Talk(server.url)
    try:
        yield server, talk
    finally:
        talk.close()
        server.stop()
        thread.join()
    server.look()  # after its end, to no effect


def test_who_asks_need_not_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    settings = publishing(tmp_path)
    with mock.patch.object(_watch, "LOOK_SECONDS", 3600), serving(settings) as (server, talk):
        until(lambda: "films.discreet has not changed" in caplog.text)
        random_release(60, 3, seed=2).save(settings.release, overwrite=True)
        server.look()
        until(lambda: tag(talk) == digest_of(settings.release))
        # A file that has only just changed is looked at once more; then it is known.
        caplog.clear()
        for _ in range(2):
            server.look()
            until(lambda: "has not changed" in caplog.text)
        assert "served" not in caplog.text


def command(release: Path) -> list[str]:
    return [sys.executable, "-m", "discreet", "serve", os.fspath(release), "--port", "0"]


def test_the_command_looks_by_itself_and_on_a_signal(tmp_path: Path) -> None:
    settings = publishing(tmp_path)
    with subprocess.Popen(command(settings.release), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            talk = Talk(process.stderr.readline().rpartition(" ")[2].strip())
            for number in (None, signal.SIGHUP):
                new = random_release(60, 3, seed=2 if number is None else 3)
                new.save(settings.release, overwrite=True)
                if number is not None:
                    process.send_signal(number)
                assert "films.discreet: the new release is served" in process.stderr.readline()
                assert tag(talk) == digest_of(settings.release)
            talk.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_terminal_that_is_closed_ends_the_service_that_was_started_there(tmp_path: Path) -> None:
    settings = publishing(tmp_path)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(settings.release),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        try:
            os.close(theirs)
            assert b" at http://" in os.read(ours, 1000)
            os.close(ours)
            process.send_signal(signal.SIGHUP)  # as the shell does that had the terminal
            assert process.wait(60) == 0
        finally:
            process.kill()
