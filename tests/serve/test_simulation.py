"""Writer, network, database file and ledger under faults that a seed decides.

`python tests/serve/test_simulation.py 100000` runs more seeds than the tests do, from a random
first one, and prints every seed that fails.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

sys.path.insert(0, str(Path(__file__).parents[1]))  # where this file is run as a program
from discreet.domain.errors import BudgetExceeded, LedgerError
from discreet.privacy import PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.protocols.common import make_capability
from discreet.serve import Invitations, _writer
from discreet.serve._changes import Enrol, Put
from discreet.serve._store import Store
from discreet.serve._writer import GroupWriter
from serve._running import Talk, make_report, make_settings, running

_SEEDS, _TORN_SEEDS, _LEDGER_SEEDS, _NETWORK_SEEDS = 2000, 400, 25, 40


# The writer over a database that is simulated: every call may fail, before or after it has worked.


def _failure() -> OperationalError:
    return OperationalError("simulated", {}, Exception())


@dataclass
class Database:
    """What is on disk, and what a seed does to calls."""

    rng: random.Random
    rate: float
    disk: list[bytes] = field(default_factory=list)
    poison: set[bytes] = field(default_factory=set)

    def connect(self) -> Any:
        self._fail()
        return Connection(self)

    def _fail(self) -> None:
        if self.rng.random() < self.rate:
            raise _failure()


class Connection:
    """A connection whose commits fail, and may have been made all the same."""

    dialect = SimpleNamespace(name="simulated")

    def __init__(self, database: Database) -> None:
        self.database, self.pending = database, list[bytes]()

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        self.pending = []
        self.database._fail()
        yield
        self.database._fail()  # lost: nothing reached the disk
        self.database.disk += self.pending
        self.database._fail()  # written, and the answer lost; or fsync failed after the write

    def invalidate(self) -> None: ...

    def close(self) -> None: ...


def _make(connection: Any, changes: Sequence[Any]) -> list[bool]:
    connection.database._fail()
    if any(each.digest in connection.database.poison for each in changes):
        raise IntegrityError("simulated", {}, Exception())
    connection.pending += [each.digest for each in changes]
    return [True] * len(changes)


def run_writer(seed: int) -> None:
    """Requests come, wait, are taken back when their time is up; nothing acknowledged is lost."""
    rng = random.Random(seed)
    database = Database(rng, rng.choice((0.0, 0.02, 0.2, 0.6)))
    writer = GroupWriter(database, threaded=False)  # type: ignore[arg-type]
    sent: dict[bytes, Future[Any]] = {}
    taken_back: set[bytes] = set()
    with mock.patch.object(_writer, "make", _make):
        for number in range(rng.randrange(1, 25)):
            digest = number.to_bytes(4, "big")
            if rng.random() < 0.1:
                database.poison.add(digest)
            sent[digest] = writer.submit([Enrol(digest)])
            if rng.random() < 0.2:  # a deadline passes, by a clock that jumps
                late = rng.choice(list(sent))
                if writer.take_back(sent[late]):
                    taken_back.add(late)
            if rng.random() < 0.1:  # whoever asked has gone
                rng.choice(list(sent.values())).cancel()
            if rng.random() < 0.4:
                writer.turn()
        while writer._waiting:
            writer.turn()
    on_disk = set(database.disk)
    assert not taken_back & on_disk, "taken back and written"
    assert not database.poison & on_disk
    for digest, future in sent.items():
        assert future.done(), "somebody waits for ever"
        if not future.cancelled() and future.exception() is None:
            assert future.result() == [True] and digest in on_disk, "acknowledged and lost"
    if database.rate == 0:  # one request's fault is nobody else's
        for digest, future in sent.items():
            wrong = digest in database.poison
            assert future.cancelled() or (future.exception() is not None) == wrong


@pytest.mark.parametrize("first", range(0, _SEEDS, 500))
def test_nothing_acknowledged_is_lost_whatever_the_database_does(first: int) -> None:
    for seed in range(first, first + 500):
        run_writer(seed)


def test_the_simulation_notices_a_writer_that_acknowledges_too_early() -> None:
    def early(self: GroupWriter, changes: Sequence[Any]) -> list[bool]:
        with contextlib.suppress(OperationalError):
            self._write(changes)
        return [True] * len(changes)

    with (
        mock.patch.object(GroupWriter, "_try", early),
        pytest.raises(AssertionError, match="acknowledged and lost"),
    ):
        for seed in range(500):
            run_writer(seed)


# The network: requests that are lost, doubled, late, or whose answers are lost; whoever hears
# nothing tries again.


@dataclass
class Person:
    """What somebody did, and what the service has of it: the last that arrived."""

    invitation: str
    capability: str
    is_enrolled: bool = False
    is_gone: bool = False
    stored: dict[str, Any] | None = None


@dataclass
class Network:
    """A service, and what a seed does to requests to it."""

    talk: Talk
    rng: random.Random
    late: list[Callable[[], int]] = field(default_factory=list)

    def send(self, deliver: Callable[[], int]) -> int:
        """Try until an answer is heard."""
        while True:
            match self.rng.randrange(6):
                case 0:  # lost
                    continue
                case 1:  # it arrived, and its answer was lost
                    deliver()
                case 2:  # it arrives later, after its own repetition and other requests
                    self.late.append(deliver)
                case 3:
                    deliver()
                    return deliver()
                case _:
                    return deliver()

    def arrive(self) -> None:
        """Something that was late."""
        if self.late:
            self.late.pop(self.rng.randrange(len(self.late)))()

    def enrol(self, person: Person) -> int:
        asked = {"invitation": person.invitation, "capability": person.capability}
        answer = self.talk.ask("POST", "/v1/enrolments", asked)
        assert answer.status == (403 if person.is_gone else 201), "an invitation was lost"
        person.is_enrolled = not person.is_gone
        return answer.status

    def put(self, person: Person, report: dict[str, Any]) -> int:
        status = self.talk.send(person.capability, report).status
        assert status == (401 if person.is_gone else 204), "somebody came back, or was refused"
        if status == 204:
            person.stored = report
        return status

    def forget(self, person: Person) -> int:
        status = self.talk.ask("DELETE", "/v1/enrolment", secret=person.capability).status
        assert status == (401 if person.is_gone else 204)
        person.is_gone, person.stored = True, None
        return status

    def look(self, person: Person) -> None:
        """What is there is what arrived last, and nobody else's."""
        answer = self.talk.ask("GET", "/v1/report", secret=person.capability)
        if person.stored is not None:
            assert answer.json() == person.stored, "acknowledged and lost"
        else:
            assert answer.status == (401 if person.is_gone else 404)


def run_network(seed: int, talk: Talk, reports: Sequence[dict[str, Any]], codes: Path) -> None:
    rng = random.Random(seed)
    network = Network(talk, rng)
    before = talk.statistics()
    people = [Person(f"invitation-{seed}-{n}", make_capability()) for n in range(3)]
    with codes.open("a") as file:
        file.writelines(f"{person.invitation:->20}\n" for person in people)
    for person in people:
        person.invitation = f"{person.invitation:->20}"
        network.send(partial(network.enrol, person))
    for _ in range(8):
        person = rng.choice(people)
        match rng.randrange(6):
            case 0:
                network.send(partial(network.forget, person))
            case 1:
                network.arrive()
            case 2:
                network.send(partial(network.enrol, person))
            case _:
                network.send(partial(network.put, person, rng.choice(reports)))
        network.look(person)
    while network.late:
        network.arrive()
    for person in people:
        network.look(person)
    now = talk.statistics()
    assert now["enrolled"] - before["enrolled"] == sum(not person.is_gone for person in people)
    sent = sum(person.stored is not None for person in people)
    assert now["reports"] - before["reports"] == sent


@contextlib.contextmanager
def network_of(folder: Path) -> Iterator[Callable[[int], None]]:
    codes = folder / "codes"
    codes.write_text("")
    reports = [make_report(number) for number in range(20)]
    with running(make_settings(folder, admission=Invitations(codes))) as talk:
        yield lambda seed: run_network(seed, talk, reports, codes)


def test_whatever_the_network_does_people_have_what_they_sent(tmp_path: Path) -> None:
    with network_of(tmp_path) as simulate:
        for seed in range(_NETWORK_SEEDS):
            simulate(seed)


# The database's file: power fails while a transaction is being written.


@dataclass(frozen=True)
class Trace:
    """The file, and its write-ahead file after each acknowledged transaction."""

    file: bytes
    logs: tuple[bytes, ...]


def record(folder: Path) -> Trace:
    path = folder / "reports.db"
    store = Store(str(path))
    store.add_collection("c", {"epoch": 1})
    logs = []
    for number in range(12):
        digest = bytes([number]) * 32
        assert store.submit([Enrol(digest), Put(digest, "c", bytes(700))]).result(30) == [True] * 2
        logs.append(Path(f"{path}-wal").read_bytes())
    with store._engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        assert raw.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL: flushed at each commit
    trace = Trace(path.read_bytes(), tuple(logs))
    store.close()
    return trace


def tear(seed: int, trace: Trace, folder: Path, lost: int = 0) -> None:
    """What was flushed is there; of what came after, some bytes, some sectors, in any order.

    Args:
        seed: Which.
        trace: What was written.
        folder: For the files that a restart finds.
        lost: Bytes of what was flushed that are lost all the same: a disk that lies.
    """
    rng = random.Random(seed)
    done = rng.randrange(len(trace.logs) - 1)
    flushed, after = trace.logs[done], bytearray(trace.logs[done + 1])
    for start in range(len(flushed), len(after), 512):
        match rng.randrange(3):
            case 0:
                after[start : start + 512] = bytes(len(after[start : start + 512]))
            case 1:
                at = rng.randrange(start, min(start + 512, len(after)))
                after[at] ^= 1 << rng.randrange(8)
    cut = len(flushed) + rng.randrange(len(after) - len(flushed) + 1) - lost
    path = folder / "torn.db"
    path.write_bytes(trace.file)
    Path(f"{path}-wal").write_bytes(after[:cut])
    Path(f"{path}-shm").unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        people = connection.execute("SELECT count(*) FROM people").fetchone()[0]
        reports = connection.execute("SELECT count(*) FROM reports").fetchone()[0]
        # A transaction is there whole or not at all, and all acknowledged ones are.
        assert people == reports
        assert done + 1 <= people <= done + 2, "acknowledged and lost"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return record(tmp_path_factory.mktemp("trace"))


def test_a_torn_write_loses_nothing_that_was_acknowledged(trace: Trace, tmp_path: Path) -> None:
    for seed in range(_TORN_SEEDS):
        tear(seed, trace, tmp_path)
    with pytest.raises(AssertionError, match="acknowledged and lost"):
        for seed in range(50):
            tear(seed, trace, tmp_path, lost=5000)


# The ledger: backups that are restored, files that are cut short, clocks that jump.

_EVENT = PureEvent(unit=Unit.USER, label="x", epsilon=0.5, mechanism="rr")


def run_ledger(seed: int, folder: Path) -> None:
    """Whatever happens, no more is spent than allowed, and a damaged file forgets nothing."""
    rng, path = random.Random(seed), folder / f"{seed}.ledger"
    Ledger.create(path, "people", [Limit(Unit.USER, 2.0, 0.0)])
    charges, backups = 0, [(0, path.read_bytes())]
    for _ in range(8):
        match rng.randrange(4):
            case 0 | 1:
                try:
                    Ledger.open(path).charge([_EVENT], "a release")
                    charges += 1
                except BudgetExceeded:
                    assert charges == 4
                assert charges <= 4
                assert len(Ledger.open(path).history()) == charges
            case 2:
                backups.append((charges, path.read_bytes()))
            case _:
                if rng.random() < 0.5:
                    charges, content = rng.choice(backups)
                    path.write_bytes(content)
                    continue
                whole = path.read_bytes()
                torn = bytearray(whole[: rng.randrange(len(whole))])
                if torn:
                    torn[rng.randrange(len(torn))] ^= 1 << rng.randrange(8)
                path.write_bytes(torn)
                try:
                    found = Ledger.open(path)
                    # A page that holds nothing may be missing; a charge may not.
                    assert len(found.history()) == charges, "a torn ledger forgot a charge"
                    found.charge([_EVENT], "on a damaged file")
                    assert charges < 4, "a torn ledger was charged beyond its limit"
                except (LedgerError, BudgetExceeded):
                    pass
                path.write_bytes(whole)


def test_a_ledger_forgets_no_charge_and_passes_no_limit(tmp_path: Path) -> None:
    for seed in range(_LEDGER_SEEDS):
        run_ledger(seed, tmp_path)


# How many times as long as others a seed takes.
_COST = {"ledger": 50, "network": 100}


def main(count: int) -> int:
    """Run many seeds; 1 if any fails."""
    first, failed = random.SystemRandom().randrange(1 << 40), 0
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        made = record(folder)
        simulate = stack.enter_context(network_of(folder))
        runs: dict[str, Callable[[int], None]] = {
            "network": simulate,
            "writer": run_writer,
            "torn": lambda seed: tear(seed, made, folder),
            "ledger": lambda seed: run_ledger(seed, folder),
        }
        for kind, run in runs.items():
            for seed in range(first, first + count // _COST.get(kind, 1)):
                try:
                    run(seed)
                except AssertionError as error:
                    failed += 1
                    sys.stdout.write(f"{kind} {seed} {str(error).splitlines()[0]}\n")
            sys.stdout.write(f"{kind}: seeds from {first}, {failed} failed so far\n")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
