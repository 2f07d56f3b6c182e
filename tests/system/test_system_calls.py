"""Ledger and service's database where any one system call fails, tears, or is the last.

`python tests/system/test_system_calls.py 100` does the same with a hundred times as many seeds.
This file is also the program that `faults.c` is preloaded into: it forks one process for each
fault, which does the work, and looks at what is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discreet.domain.errors import LedgerError
from discreet.privacy import PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit

_HERE = Path(__file__).parent
# As in faults.c, after calls that are refused, find the disk full, or tear.
_POWER = 4
# Faults for each call, of which one kind is drawn after another: power failures lose something
# else each time.
_SEEDS = {"charge": 5, "create": 3, "upload": 2, "unflushed": 1}
_EVENT = PureEvent(unit=Unit.USER, label="x", epsilon=0.1, mechanism="rr")
Say = Callable[[bytes], object]


class Charging:
    """Two charges; what was charged before is there whatever happens."""

    def before(self, folder: Path) -> None:
        ledger = Ledger.create(folder / "a.ledger", "people", [Limit(Unit.USER, 9.0, 0.0)])
        ledger.charge([_EVENT], "before")

    def work(self, folder: Path, say: Say) -> None:
        for _ in range(2):
            with contextlib.suppress(LedgerError):
                Ledger.open(folder / "a.ledger").charge([_EVENT], "x" * 300)
                say(b"x")

    def check(self, folder: Path, said: int) -> None:
        ledger = Ledger.open(folder / "a.ledger")
        # A refused charge may have been made: that wastes budget and spends none unseen.
        assert 1 + said <= len(ledger.history()) <= 3, "acknowledged and lost"
        ledger.charge([_EVENT], "after")


class Creating:
    """A ledger is there whole or not at all, and for good once it was said to be."""

    def before(self, folder: Path) -> None: ...

    def work(self, folder: Path, say: Say) -> None:
        with contextlib.suppress(LedgerError):
            Ledger.create(folder / "a.ledger", "people", [Limit(Unit.USER, 9.0, 0.0)])
            say(b"x")

    def check(self, folder: Path, said: int) -> None:
        path = folder / "a.ledger"
        if path.exists():
            Ledger.open(path).charge([_EVENT], "after")
        else:
            assert not said, "acknowledged and lost"


class Uploading:
    """Reports, one by one, as the service stores them."""

    def before(self, folder: Path) -> None:
        # Imported here: without the service's parts the ledger is still tested.
        from discreet.serve._store import Store

        store = Store(str(folder / "a.db"))
        store.add_collection("c", {"epoch": 1})
        store.close()

    def work(self, folder: Path, say: Say) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        from discreet.domain import InputError
        from discreet.serve._changes import Enrol, Put
        from discreet.serve._store import Store

        with contextlib.suppress(SQLAlchemyError, InputError):
            store = Store(str(folder / "a.db"))
            for number in range(2):
                digest = bytes([number]) * 32
                with contextlib.suppress(SQLAlchemyError):
                    done = store.submit([Enrol(digest), Put(digest, "c", bytes(9000))]).result(20)
                    assert done == [True, True]
                    say(b"x")
            store.close()

    def check(self, folder: Path, said: int) -> None:
        with contextlib.closing(sqlite3.connect(folder / "a.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            counts = [
                connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("people", "reports")
            ]
        assert counts[0] == counts[1] and said <= counts[0] <= 2, "acknowledged and lost"


class Unflushed(Charging):
    """The same by a ledger that flushes nothing: faults have to show it."""

    def work(self, folder: Path, say: Say) -> None:
        connect = sqlite3.connect

        def careless(*told: Any, **more: Any) -> sqlite3.Connection:
            return connect(*told, **more, factory=_Careless)

        with mock.patch.object(sqlite3, "connect", careless):
            super().work(folder, say)


class _Careless(sqlite3.Connection):
    def execute(self, sql: str, *told: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("synchronous = EXTRA", "synchronous = OFF"), *told)


KINDS: dict[str, Any] = {
    "unflushed": Unflushed(),
    "charge": Charging(),
    "create": Creating(),
    "upload": Uploading(),
}


def attempt(kind: str, base: Path, folder: Path, plan: tuple[int, int, int]) -> int:
    """Do the work under a plan in a process of its own, and check; how many calls it made."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        faults = ctypes.CDLL(None)
        faults.fault_plan(ctypes.c_long(plan[0]), plan[1], plan[2], str(folder).encode())
        KINDS[kind].work(folder, lambda what: os.write(said, what))
        os.write(said, b"%8d" % faults.fault_calls())
        os._exit(0)
    os.close(said)
    with os.fdopen(heard, "rb") as file:
        told = file.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, 77), f"ended with {ended}"
    KINDS[kind].check(folder, told.count(b"x"))
    return int(told.replace(b"x", b"") or 0)


def plans(calls: int, seeds: int, rng: random.Random) -> Iterator[tuple[int, int, int]]:
    for at in range(1, calls + 1):
        first = rng.randrange(3)
        for number in range(seeds):
            # The first half is power failures, the rest the other three by turns.
            kind = _POWER if number < (seeds + 1) // 2 else 1 + (first + number) % 3
            yield at, kind, rng.getrandbits(31)


def run_all(kind: str, folder: Path, seeds: int, first: int) -> Counter[str]:
    """Every call of some work under every fault."""
    base, seen = folder / "base", Counter[str](failed=0)
    base.mkdir()
    KINDS[kind].before(base)
    calls = attempt(kind, base, folder / "at", (0, 0, 0))
    for plan in plans(calls, seeds, random.Random(first)):
        seen["plans"] += 1
        try:
            attempt(kind, base, folder / "at", plan)
        except (AssertionError, LedgerError, sqlite3.Error) as error:
            seen["failed"] += 1
            sys.stderr.write(f"{kind} {plan}: {error}\n")
    return seen + Counter(calls=calls, failed=0)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("faults"))


def compiled(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no C compiler, or this is not Linux")
    made = folder / "faults.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(_HERE / "faults.c")]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return made


def preloaded(faults: Path, kind: str, seeds: int, first: int) -> dict[str, int]:
    # In memory where there is some: flushing is simulated, and a disk would take its time.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        command = [sys.executable, __file__, kind, folder, str(seeds), str(first)]
        environment = os.environ | {"LD_PRELOAD": str(faults)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sys.stderr.write(done.stderr)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("kind", ["charge", "create", "upload"])
def test_whatever_system_call_fails_nothing_acknowledged_is_lost(faults: Path, kind: str) -> None:
    if kind == "upload":
        pytest.importorskip("sqlalchemy", reason="the service's parts are not installed")
    seen = preloaded(faults, kind, _SEEDS[kind], 1)
    assert seen["calls"] >= 8, "calls are not seen: nothing was tested"
    assert seen.get("failed", 0) == 0


def test_a_ledger_that_does_not_flush_is_found_out(faults: Path) -> None:
    assert preloaded(faults, "unflushed", _SEEDS["unflushed"], 1)["failed"] > 0


def main() -> None:
    if len(sys.argv) > 2:
        kind, folder, seeds, first = sys.argv[1:]
        json.dump(run_all(kind, Path(folder), int(seeds), int(first)), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as place:
        made, start = compiled(Path(place)), random.SystemRandom().randrange(1 << 30)
        for kind in ("charge", "create", "upload"):
            seen = preloaded(made, kind, int(sys.argv[1]) * _SEEDS[kind], start)
            sys.stdout.write(f"{kind}, seeds from {start}: {seen}\n")


if __name__ == "__main__":
    main()
