"""A ledger in trouble: killed processes, races, read-only and full disks.

This file is also the program that those processes run: `python test_faults.py NAME FOLDER` calls
the function NAME of `PROGRAMS` and prints what it returns as JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.domain.errors import BudgetExceeded, LedgerError, PeriodExists
from discreet.privacy import NoisePlan, PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit, Period, SeriesTerms, _store
from discreet.privacy.ledger._store import FORMAT

sys.path.insert(0, str(Path(__file__).parents[2]))  # where this file is run as a program
from privacy.ledger._first_format import version_of, write_first_format

_SMALL = PureEvent(unit=Unit.USER, label="x", epsilon=0.1, mechanism="rr")


def a_ledger(folder: Path, room: float = 1e5) -> Ledger:
    return Ledger.create(folder / "people.ledger", "people", [Limit(Unit.USER, room, 0.0)])


def fingerprints(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def run(program: Callable[[Path], Any], folder: Path) -> Any:
    """What `program` returns, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, program.__name__, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- kill -9 ----------------------------------------------------------------------------------

# Kills at least, and at most where too few of them have hit anything: on a busy machine.
_KILLS, _MOST_KILLS = 60, 600


def charge_and_mark(path: Path, marks: Path, ready: int) -> None:
    """Charge, record a file, then release: a byte in `marks`, on disk. Until killed."""
    ledger = Ledger.open(path)
    handle = os.open(marks, os.O_WRONLY | os.O_APPEND)
    os.write(ready, b"x")
    while True:
        charge = ledger.charge([_SMALL], "a release").charge
        assert charge is not None
        ledger.record_publication(charge, "f" * 64)
        os.write(handle, b"x")
        os.fsync(handle)


def killed_once(
    path: Path, marks: Path, after: float, work: Callable[[Path, Path, int], None] = charge_and_mark
) -> bool:
    """Let a child charge for a moment and kill it; whether that hit it within a transaction."""
    heard, ready = os.pipe()
    child = os.fork()
    if child == 0:
        work(path, marks, ready)
    os.read(heard, 1)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(heard)
    os.close(ready)
    return path.with_name(path.name + "-journal").exists()


def kill_at_random(folder: Path) -> Counter[str]:
    """Kill children, each on what the ones before it left; count what disagrees."""
    chance, seen = random.Random(7), Counter[str](lost=0, excess=0)
    while seen["kills"] < _KILLS or (not shows_something(seen) and seen["kills"] < _MOST_KILLS):
        place = folder / str(seen["kills"])
        place.mkdir()
        seen.update(kill_twenty(place, chance))
    return seen


def kill_twenty(folder: Path, chance: random.Random) -> Counter[str]:
    ledger, marks, seen = a_ledger(folder), folder / "marks", Counter[str]()
    began = time.monotonic()
    ledger.charge([_SMALL], "to see how long it takes")
    longest = 8 * (time.monotonic() - began)
    marks.write_bytes(b"x")
    for kills in range(1, 21):
        hit = killed_once(ledger.path, marks, chance.uniform(0, longest))
        history, released = Ledger.open(ledger.path).history(), marks.stat().st_size
        charges = len(history)
        published = 1 + sum(entry.published is not None for entry in history)
        lost = charges < published or published < released
        seen.update(kills=1, within=hit, lost=lost, excess=charges > released + kills)
    seen.update(charges=charges, released=released)
    return seen


def shows_something(seen: Counter[str]) -> bool:
    """Whether children came to release something, and a kill hit a transaction."""
    return seen["released"] > seen["kills"] // 4 and seen["within"] > 0


def test_killed_processes_waste_budget_at_most(tmp_path: Path) -> None:
    seen = run(kill_at_random, tmp_path)
    assert shows_something(Counter(seen))
    assert (seen["lost"], seen["excess"]) == (0, 0)


def kill_upgrades(folder: Path) -> Counter[str]:
    """Kill children that make a ledger of format 1 into one of the newest; count what is left."""
    chance, seen = random.Random(8), Counter[str](wrong=0)
    longest = 0.01
    path, marks = folder / "old.ledger", folder / "marks"
    marks.write_bytes(b"")
    while seen["kills"] < _KILLS or (not shows_upgrades(seen) and seen["kills"] < _MOST_KILLS):
        path.with_name(path.name + "-journal").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        write_first_format(path, _SMALL, charges=2)
        hit = killed_once(path, marks, chance.uniform(0, longest))
        charges, version = len(Ledger.open(path).history()), version_of(path)
        is_right = charges == 2 if version == 1 else charges > 2
        seen.update(
            kills=1, within=hit, wrong=not is_right, old=version == 1, new=version == FORMAT
        )
        longest *= 0.9 if version == FORMAT else 1.1  # about as often too early as too late
    return seen


def shows_upgrades(seen: Counter[str]) -> bool:
    """Whether kills came before upgrades, after them, and hit a transaction."""
    return all(seen[each] > 0 for each in ("old", "new", "within"))


def test_a_killed_upgrade_leaves_the_old_format_or_the_new(tmp_path: Path) -> None:
    seen = run(kill_upgrades, tmp_path)
    assert shows_upgrades(Counter(seen))
    assert seen["wrong"] == 0


# --- Periods of a series ----------------------------------------------------------------------

_TERMS = SeriesTerms(
    "ab" * 16,
    Unit.USER_DAY,
    PureEvent(unit=Unit.USER_DAY, label="x", epsilon=0.1, mechanism="rr"),
    NoisePlan.fresh(),
)


def add_and_mark(path: Path, marks: Path, ready: int) -> None:
    """Add the next period, then release: a byte in `marks`, on disk. Until killed."""
    ledger = Ledger.open(path)
    handle = os.open(marks, os.O_WRONLY | os.O_APPEND)
    os.write(ready, b"x")
    for number in range(len(ledger.periods(_TERMS.series)) + 1, 10_000):
        charge = ledger.charge_period(_TERMS, Period(number, f"day {number}"), "a day").charge
        assert charge is not None
        ledger.record_publication(charge, f"{number:064x}")
        os.write(handle, b"x")
        os.fsync(handle)


def kill_adds(folder: Path) -> Counter[str]:
    """Kill children that add periods, each where the one before stopped."""
    chance, seen = random.Random(9), Counter[str](wrong=0, released=0)
    ledger, marks, longest = a_ledger(folder), folder / "marks", 0.02
    marks.write_bytes(b"")
    while seen["kills"] < _KILLS // 2 or (
        not (seen["released"] and seen["within"] and seen["unfinished"])
        and seen["kills"] < _MOST_KILLS
    ):
        hit = killed_once(ledger.path, marks, chance.uniform(0, longest), add_and_mark)
        history, released = Ledger.open(ledger.path).history(), marks.stat().st_size
        published = [entry.published is not None for entry in history]
        in_order = [entry.period.number for entry in history if entry.period] == [
            *range(1, len(history) + 1)
        ]
        # Every period has one charge, all are published but perhaps the last, none was lost.
        right = in_order and all(published[:-1]) and sum(published) >= released
        seen.update(kills=1, within=hit, wrong=not right, unfinished=not all(published))
        seen["released"] = released
        longest *= 1.2 if not hit else 1.0
    seen["spent"] = round(1000 * Ledger.open(ledger.path).spent(Unit.USER_DAY).pure)
    return seen


def test_killed_adds_are_charged_once_and_in_order(tmp_path: Path) -> None:
    seen = run(kill_adds, tmp_path)
    assert seen["wrong"] == 0
    assert seen["released"] > 0 and seen["unfinished"] > 0
    assert seen["spent"] == 100, "a user-day pays once, however many periods there are"


def add_everything(path: Path) -> int:
    """Add twenty periods against others who do the same; how many releases were ours."""
    ledger, ours = Ledger.open(path), 0
    for number in range(1, 21):
        mine = f"{os.getpid():032x}{number:032x}"
        while len(ledger.periods(_TERMS.series)) < number:
            with contextlib.suppress(PeriodExists, LedgerError):
                charge = ledger.charge_period(_TERMS, Period(number, f"{number}"), "a day").charge
                assert charge is not None
                time.sleep(0.002)  # so that others come to draw the same period
                ledger.record_publication(charge, mine)
                ours += 1
    return ours


def race_of_adds(folder: Path) -> list[int]:
    children = [forked(add_everything, folder / "people.ledger") for _ in range(3)]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_of_adds_at_once_one_is_published(tmp_path: Path) -> None:
    ledger = a_ledger(tmp_path)
    got = run(race_of_adds, tmp_path)
    assert sum(got) == 20, "each period was published once"
    history = ledger.history()
    assert [entry.period.number for entry in history if entry.period] == [*range(1, 21)]
    assert all(entry.published is not None for entry in history)


# --- Races ------------------------------------------------------------------------------------

_ROOM_FOR = 60


def charge_until_refused(path: Path) -> int:
    ledger, done = Ledger.open(path), 0
    with contextlib.suppress(BudgetExceeded):
        while True:
            ledger.charge([_SMALL], "mine")
            done += 1
            time.sleep(0.002)  # so that others, who wait longer and longer, get their turn
            while done == 1 and len(ledger.history()) < 2:
                time.sleep(0.002)  # nobody goes on alone, however late the others start
    return done


def forked(work: Callable[[Path], int], path: Path) -> int:
    """A child that ends with what `work` returns."""
    child = os.fork()
    if child == 0:
        os._exit(work(path))
    return child


def race(folder: Path) -> list[int]:
    """Four processes charge one ledger at once; how many charges each got."""
    children = [forked(charge_until_refused, folder / "people.ledger") for _ in range(4)]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_processes_at_once_never_pass_the_limit(tmp_path: Path) -> None:
    ledger = a_ledger(tmp_path, room=0.1 * _ROOM_FOR)
    got = run(race, tmp_path)
    assert sum(got) == _ROOM_FOR
    assert sum(count > 0 for count in got) > 1, "one process did all: there was no race"
    assert len(Ledger.open(ledger.path).history()) == _ROOM_FOR


# --- Read-only --------------------------------------------------------------------------------


def outcome(action: Callable[[], object]) -> str:
    """What a refusal says, or "done"."""
    try:
        action()
    except LedgerError as refusal:
        return str(refusal)
    return "done"


def as_nobody(root: Path) -> dict[str, dict[str, str]]:
    """Try everything without the rights of root, whom no file mode binds."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    return {name: try_everything(root / name) for name in MODES}


def try_everything(folder: Path) -> dict[str, str]:
    path, limit = folder / "people.ledger", Limit(Unit.USER, 1.0, 0.0)
    return {
        "open": outcome(lambda: Ledger.open(path).history()),
        "charge": outcome(lambda: Ledger.open(path).charge([_SMALL], "x")),
        "create": outcome(lambda: Ledger.create(folder / "new", "people", [limit])),
    }


MODES = {
    "file": (0o444, 0o777),
    "folder": (0o666, 0o555),
    "both": (0o444, 0o555),
    "secret": (0o000, 0o755),
}


@dataclass(frozen=True)
class Tried:
    """What was said in each folder of `MODES`, and whether its ledger stayed as it was."""

    said: dict[str, dict[str, str]]
    unchanged: dict[str, bool]


@pytest.fixture(scope="module")
def tried() -> Iterator[Tried]:
    """Everything tried by nobody in folders that every account can reach."""
    root = Path(tempfile.mkdtemp(prefix="ledger-"))
    root.chmod(0o755)
    before = {name: locked_up(root / name, *modes) for name, modes in MODES.items()}
    said = run(as_nobody, root)
    unchanged = {}
    for name in MODES:
        (root / name / "people.ledger").chmod(0o644)
        unchanged[name] = before[name].items() <= fingerprints(root / name).items()
    yield Tried(said, unchanged)
    for name in MODES:
        (root / name).chmod(0o755)
    shutil.rmtree(root)


def locked_up(folder: Path, file_mode: int, folder_mode: int) -> dict[str, str]:
    folder.mkdir()
    ledger = a_ledger(folder)
    ledger.charge([_SMALL], "before")
    before = fingerprints(folder)
    ledger.path.chmod(file_mode)
    folder.chmod(folder_mode)
    return before


@pytest.mark.parametrize("name", ["file", "folder", "both"])
def test_a_read_only_ledger_can_be_read_and_not_charged(tried: Tried, name: str) -> None:
    assert tried.said[name]["open"] == "done"
    assert "cannot be written; make the file and its folder" in tried.said[name]["charge"]
    assert tried.unchanged[name]


def test_a_ledger_is_not_made_in_a_read_only_folder(tried: Tried) -> None:
    assert tried.said["file"]["create"] == "done"
    assert "cannot be made: Permission denied" in tried.said["folder"]["create"]


def test_a_ledger_that_may_not_be_read_is_refused(tried: Tried) -> None:
    assert "may not be read by this account" in tried.said["secret"]["open"]
    assert "may not be read by this account" in tried.said["secret"]["charge"]
    assert tried.unchanged["secret"]


# --- Full disks -------------------------------------------------------------------------------


def test_a_full_disk_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connected = _store._connected

    @contextlib.contextmanager
    def full(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
        with connected(path, wait) as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            yield connection

    ledger = a_ledger(tmp_path)
    monkeypatch.setattr(_store, "_connected", full)
    charged = charge_until_full(ledger)
    assert len(ledger.history()) == charged
    monkeypatch.undo()
    ledger.charge([_SMALL], "there is room again")
    assert len(Ledger.open(ledger.path).history()) == charged + 1


def charge_until_full(ledger: Ledger) -> int:
    """How many charges fit until the disk is said to be full, twice over."""
    charged = 0
    with pytest.raises(LedgerError, match="the disk"):
        while True:
            assert ledger.charge([_SMALL], "x" * 200).ledger == "people"
            charged += 1
    before = fingerprints(ledger.path.parent)
    with pytest.raises(LedgerError, match="the disk"):
        ledger.charge([_SMALL], "x" * 200)
    assert fingerprints(ledger.path.parent) == before
    return charged


def under_a_file_size_limit(folder: Path) -> dict[str, Any]:
    """As a full disk, but by the operating system: no file may grow past 24 KiB, then 4 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (24 << 10, 24 << 10))
    charged = charge_until_full(Ledger.open(folder / "people.ledger"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 10, 4 << 10))
    (folder / "new").mkdir()
    return {"charged": charged, "create": outcome(lambda: a_ledger(folder / "new"))}


def test_a_write_that_the_system_refuses_is_a_refusal(tmp_path: Path) -> None:
    ledger = a_ledger(tmp_path)
    done = run(under_a_file_size_limit, tmp_path)
    assert done["charged"] > 0
    assert len(Ledger.open(ledger.path).history()) == done["charged"]
    ledger.charge([_SMALL], "there is room again")
    assert "the disk" in done["create"]
    assert list((tmp_path / "new").iterdir()) == []


def test_charges_are_flushed_to_disk_with_their_folder(tmp_path: Path) -> None:
    with _store.writing(a_ledger(tmp_path).path, 1.0) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


PROGRAMS: dict[str, Callable[[Path], Any]] = {
    program.__name__: program
    for program in (
        kill_at_random,
        kill_upgrades,
        kill_adds,
        race_of_adds,
        race,
        as_nobody,
        under_a_file_size_limit,
    )
}

if __name__ == "__main__":
    json.dump(PROGRAMS[sys.argv[1]](Path(sys.argv[2])), sys.stdout)
