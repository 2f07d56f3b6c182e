"""A disk that is full, by a limit that the system sets on the service's files, and room again."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.protocols.local_reports.messages import Collection
from discreet.release import load
from release._making import random_release
from serve._running import Talk, make_report

# Bytes that a file of the service may have: the database is made, and some reports fit.
_ROOM = 128 << 10
# More than fit.
_MOST_REPORTS = 400


@pytest.fixture
def service(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, in a process of its own, which alone has the limit."""
    if not hasattr(resource, "prlimit"):
        pytest.skip("only Linux lets a limit of another process be changed")
    random_release(60, 3).save(tmp_path / "films.discreet")
    told = ["--collect", "local-reports", "--term", "epsilon=2", "--db", "sent.db"]
    free = ["--per-address", "0", "--per-capability", "0", "--enrolments", "0", "--port", "0"]
    command = [sys.executable, "-m", "discreet", "serve", "films.discreet", *told, *free]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def limit(process: subprocess.Popen[str], size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))


def address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if " at http://" in line:
            return line.rpartition(" ")[2].strip()
    raise AssertionError("it does not start")


def test_a_full_disk_refuses_says_so_and_loses_nothing(
    service: subprocess.Popen[str], tmp_path: Path
) -> None:
    talk = Talk(address(service))
    terms = talk.ask("GET", "/v1/collection").json()
    collection = Collection.from_json(terms, load(tmp_path / "films.discreet").catalog)
    people = [talk.enrol() for _ in range(_MOST_REPORTS)]
    stored = {}
    limit(service, _ROOM)
    for number, person in enumerate(people):
        report = make_report(number, collection)
        answer = talk.send(person, report)
        if answer.status != 204:
            break
        stored[person] = report
    assert answer.status == 503 and "cannot be stored now; nothing was" in answer.reason
    assert answer.headers["retry-after"] == "5"
    assert stored
    # Whoever asks is told, time and again; what needs no room is answered.
    for _ in range(2):
        assert talk.ask("GET", "/readyz").status == 503
    assert talk.ask("GET", "/healthz").status == talk.ask("GET", "/v1/release").status == 200
    for person, report in stored.items():
        assert talk.ask("GET", "/v1/report", secret=person).json() == report
    limit(service, resource.RLIM_INFINITY)
    assert talk.ask("GET", "/readyz").status == 200
    assert talk.send(people[-1], make_report(1000, collection)).status == 204
    talk.close()
    service.terminate()
    assert service.wait(60) == 0
    assert service.stderr is not None
    log = service.stderr.read()
    assert "the database refused a transaction: OperationalError" in log
    assert "Traceback" not in log
