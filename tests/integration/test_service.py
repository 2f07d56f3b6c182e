"""The service as a process: both databases, SIGTERM, kill -9, a database that crashes."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discreet.protocols.common import capability_digest
from discreet.ratings import write_catalog
from discreet.serve import _changes
from discreet.serve._store import Enrol, Forget, Put, Store, Withdraw
from serve._postgres import Postgres, postgres
from serve._running import (
    TOKEN,
    Talk,
    make_catalog,
    make_report,
    make_settings,
    running,
)

_PEOPLE = 25


@pytest.fixture(scope="module")
def server(postgres_bin: Path) -> Iterator[Postgres]:
    with postgres(postgres_bin) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "reports.db")
    made: Postgres = request.getfixturevalue("server")
    return made.new_database()


@contextmanager
def serving(folder: Path, db: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`discreet serve` in a process of its own, and its URL."""
    write_catalog(make_catalog(), folder / "items.csv")
    command = [
        sys.executable, "-m", "discreet", "serve", str(folder / "made.discreet"),
        "--collect", "local-reports", "--term", "epsilon=2", "--term",
        "mechanism=modified-laplace", "--catalog", str(folder / "items.csv"),
        "--scale", "1..5", "--port", "0", "--per-address", "0", "--per-capability", "0",
        "--enrolments", "0",
    ]  # fmt: skip
    told = os.environ | {"DISCREET_DATABASE": db, "DISCREET_ADMIN_TOKEN": TOKEN}
    stderr, stdout = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=told, stderr=stderr, stdout=stdout, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert " at http://" in said, said
            yield process, said.rpartition(" ")[2].strip()
        finally:
            process.kill()


class Uploader(threading.Thread):
    """Enrols people and replaces their reports until the service is gone; keeps what was told."""

    def __init__(self, url: str, reports: list[dict[str, Any]]) -> None:
        super().__init__()
        self._url, self._reports = url, reports
        self.acknowledged: dict[str, int] = {}
        self.under_way: dict[str, int] = {}
        self.refused: list[int] = []

    def run(self) -> None:
        talk = Talk(self._url)
        try:
            while True:
                answer = talk.ask("POST", "/v1/enrolments")
                person = answer.json().get("capability", "")
                for number in range(3):
                    if answer.status >= 300:
                        self.refused.append(answer.status)
                        return
                    self.under_way[person] = number
                    answer = talk.send(person, self._reports[number])
                    if answer.status == 204:
                        self.acknowledged[person] = number
        except (OSError, http.client.HTTPException):
            pass
        finally:
            talk.close()

    def check(self, store: Store) -> int:
        """Everybody's last acknowledged report is there, or one that was sent after it."""
        for person, number in self.acknowledged.items():
            content = store.read(capability_digest(person))
            assert content is not None
            possible = (number, self.under_way[person])
            assert json.loads(content) in [self._reports[n] for n in possible]
        return len(self.acknowledged)


@contextmanager
def load(url: str) -> Iterator[list[Uploader]]:
    """Uploads from several connections while the block runs, and until the service is gone."""
    reports = [make_report(n) for n in range(3)]
    uploaders = [Uploader(url, reports) for _ in range(6)]
    for each in uploaders:
        each.start()
    while sum(len(each.acknowledged) for each in uploaders) < _PEOPLE:
        assert any(each.is_alive() for each in uploaders), "the service went away"
        time.sleep(0.02)
    yield uploaders
    for each in uploaders:
        each.join(60)


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(tmp_path: Path, db: str) -> None:
    with serving(tmp_path, db) as (process, url), load(url) as uploaders:
        process.kill()
    store = Store(db)
    assert sum(each.check(store) for each in uploaders) >= _PEOPLE
    store.close()


def test_sigterm_ends_it_in_order_while_people_are_sending(tmp_path: Path) -> None:
    db = str(tmp_path / "reports.db")
    with serving(tmp_path, db) as (process, url):
        with load(url) as uploaders:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
        assert process.returncode == 0
    assert "Traceback" not in said
    assert "Error" not in said
    assert not any(person in said for each in uploaders for person in each.acknowledged)
    store = Store(db)
    assert sum(each.check(store) for each in uploaders) >= _PEOPLE
    store.close()


def test_nothing_acknowledged_is_lost_when_postgresql_crashes(
    tmp_path: Path, server: Postgres
) -> None:
    db = server.new_database()
    with serving(tmp_path, db) as (_, url):
        with load(url) as uploaders:
            server.crash()
        # Whoever was refused was told so, and what it cannot store it does not take.
        assert {status for each in uploaders for status in each.refused} == {503}
        talk = Talk(url)
        assert talk.ask("GET", "/readyz").status == 503
        talk.close()
        server.start()
        talk = Talk(url)
        # Before anybody sends anything: else a balancer would never send anybody here again.
        assert talk.ask("GET", "/readyz").status == 200
        assert talk.send(talk.enrol(), make_report()).status == 204
        assert talk.ask("GET", "/readyz").status == 200
        talk.close()
    store = Store(db)
    assert sum(each.check(store) for each in uploaders) >= _PEOPLE
    store.close()


def test_the_whole_cycle_on_postgresql(tmp_path: Path, server: Postgres) -> None:
    with running(make_settings(tmp_path, server.new_database())) as talk:
        people = [talk.enrol() for _ in range(4)]
        entries = [{"capability": c, "report": make_report(n)} for n, c in enumerate(people)]
        assert talk.ask("POST", "/v1/reports", {"reports": entries}).json()["stored"] == 4
        assert talk.ask("GET", "/v1/report", secret=people[1]).json() == entries[1]["report"]
        assert talk.ask("DELETE", "/v1/enrolment", secret=people[0]).status == 204
        assert talk.send(people[0], make_report()).status == 401
        assert talk.rebuild()["reports"] == 3
        assert talk.ask("GET", "/v1/release").status == 200


def test_a_store_keeps_one_report_a_person(db: str) -> None:
    store = Store(db)
    store.add_collection("c", {"any": "thing"})
    store.add_collection("c", {"any": "thing"})
    store.add_collection("d", {})
    digests = [n.to_bytes(32, "big") for n in range(450)]
    assert store.submit([Enrol(d) for d in digests]).result() == [True] * 450
    puts = [Put(d, "c", d + b"\x00\xff") for d in digests]
    assert store.submit([*puts, Put(b"?" * 31, "c", b"")]).result() == [True] * 450 + [False]
    assert [c[:32] for c in store.contents("c")] == digests
    assert store.submit([Put(digests[0], "d", b"new")]).result() == [True]
    assert (store.read(digests[0]), store.read(digests[1])) == (b"new", puts[1].content)
    gone: list[Any] = [Withdraw(digests[1]), Forget(digests[2]), Forget(b"!" * 32)]
    assert store.submit(gone).result() == [True, True, False]
    assert [store.is_enrolled(d) for d in digests[:4]] == [True, True, False, True]
    told = {"enrolled": 449, "reports": 448, "reports_of_collection": 447}
    assert store.figures("c") == told
    store.close()
    again = Store(db)
    assert again.figures("c") == told
    assert next(iter(again.contents("d"))) == b"new"
    again.close()


def test_uploads_that_come_together_share_a_transaction(db: str) -> None:
    store = Store(db)
    store.add_collection("c", {})
    digests = [n.to_bytes(32, "big") for n in range(200)]
    store.submit([Enrol(digest) for digest in digests]).result()
    before = store.writer.commits
    begun, go_on, persons = threading.Event(), threading.Event(), _changes._persons

    def slowly(*told: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return persons(*told)

    with mock.patch.object(_changes, "_persons", slowly):
        first = store.submit([Put(digests[0], "c", b"first")])
        assert begun.wait(10)
        waiting = [store.submit([Put(digest, "c", b"x" * 1000)]) for digest in digests]
        go_on.set()
        assert all(each.result(10) == [True] for each in (first, *waiting))
    assert store.writer.commits - before == 2
    store.close()


@dataclass(frozen=True)
class Said:
    """What a slot says: the same, whoever sends it."""

    slot: int
    scope: str = "an epoch"
    stop: int = 1
    mark: bytes = b"mark"

    def follows(self, stop: int, mark: bytes, stored: bytes | None) -> bool:
        return (stop, mark) == (self.stop, self.mark)


def begin(db: str, together: threading.Barrier) -> int:
    """A service's start, as far as the database sees it."""
    together.wait(10)
    store = Store(db)
    try:
        store.add_collection("c", {})
        store.note_built("a" * 64)
        return store.figures("c")["reports"]
    finally:
        store.close()


def test_services_that_begin_at_the_same_time_make_the_tables_once(server: Postgres) -> None:
    for _ in range(3):
        db, together = server.new_database(), threading.Barrier(4)
        with ThreadPoolExecutor(4) as threads:
            begun = [threads.submit(begin, db, together) for _ in range(4)]
            assert [each.result(30) for each in begun] == [0] * 4


def test_two_services_on_one_database_never_fail_each_other(server: Postgres) -> None:
    db = server.new_database()
    stores = [Store(db), Store(db)]
    stores[0].add_collection("c", {})
    digests = [n.to_bytes(32, "big") for n in range(60)]
    stores[0].submit([Enrol(digest) for digest in digests]).result(10)
    rng = random.Random(1)
    waiting = []
    for _ in range(40):
        for store in stores:
            # The same people and slots from both sides, in another order each time.
            for n in rng.sample(range(60), 30):
                slot = Said(rng.choice((n, (n + 1) % 60)))
                put = Put(digests[n], "c", b"x" * 500, slot)
                waiting.append(store.submit([rng.choice((put, put, Withdraw(digests[n])))]))
    assert {outcome for each in waiting for outcome in each.result(60)} == {True}
    assert [store.writer.failures for store in stores] == [0, 0]
    for n, digest in enumerate(digests):
        assert stores[n % 2].submit([Put(digest, "c", b"last", Said(n))]).result(10) == [True]
    assert stores[0].figures("c")["reports_of_collection"] == 60
    for store in stores:
        store.close()


def test_people_may_send_now_to_one_service_and_now_to_another(
    tmp_path: Path, server: Postgres
) -> None:
    db = server.new_database()
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    reports = [make_report(n) for n in range(2)]
    with (
        running(make_settings(folders[0], db)) as one,
        running(make_settings(folders[1], db)) as two,
    ):
        people = [one.enrol() for _ in range(20)]

        def send(url: str, turn: int) -> set[int]:
            talk = Talk(url)
            told = {talk.send(person, reports[turn]).status for person in people[:: 1 - 2 * turn]}
            talk.close()
            return told

        with ThreadPoolExecutor(4) as threads:
            urls = (one.url, two.url) * 2
            sent = [threads.submit(send, url, n // 2) for n, url in enumerate(urls)]
            assert [each.result(60) for each in sent] == [{204}] * 4
        for person in people:
            assert two.ask("GET", "/v1/report", secret=person).json() in reports
        assert one.ask("DELETE", "/v1/enrolment", secret=people[0]).status == 204
        assert two.send(people[0], reports[0]).status == 401
        assert two.rebuild()["people"] == 19
