"""An add that ends anywhere can be repeated: charged once, and nothing came out before it counts.

This file is also the program that processes run: `python test_interrupts.py STEP FOLDER` adds a
period and kills itself at a step.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # where this file is run as a program
from discreet.domain import InputError
from discreet.domain.errors import PeriodExists
from discreet.measure import RunningSpender
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger
from discreet.release import load
from discreet.series import Series, _series
from discreet.series._state import Folder, read_state
from series._films import WEEKS, a_ledger, a_series, films

# Where an add is cut off, in the order of its steps; whether it is charged by then, and recorded.
STEPS: dict[str, tuple[Any, str, bool, bool]] = {
    "charge": (Ledger, "charge_period", False, False),
    "measure": (RunningSpender, "measure_size", True, False),
    "state": (_series, "write_state", True, False),
    "secret": (_series, "write_secret", True, False),
    "draft": (Folder, "write_draft", True, False),
    "record": (Ledger, "record_publication", True, False),
    "commit": (Folder, "commit", True, True),
    "rename": (Folder, "write", True, True),
    "tidy": (Folder, "remove_others", True, True),
}


class Cut(Exception):
    """The power is gone."""


def cut_before(step: str, end: Callable[[], None], patch: Callable[..., None]) -> None:
    """End just before a step; `tidy` is called at the start too, so its second call ends."""
    owner, name, *_ = STEPS[step]
    real, calls = getattr(owner, name), [0]

    def ending(*args: Any, **more: Any) -> Any:
        calls[0] += 1
        if step != "tidy" or calls[0] == 2:
            end()
        return real(*args, **more)

    patch(owner, name, ending)


def raise_cut() -> None:
    raise Cut


def finished(folder: Path) -> list[str]:
    """What can be seen of a series from outside: files that count, of its latest generation."""
    content = json.loads((folder / "films.series" / "series.json").read_text())
    return [each["period"]["name"] for each in content["periods"]]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [0, 1])
def test_an_add_that_was_cut_off_is_repeated(
    tmp_path: Path, step: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, book = a_series(tmp_path), a_ledger(tmp_path)
    for earlier in range(number):
        series.add(films([earlier]), WEEKS[earlier], ledger=book)
    is_charged = STEPS[step][2]
    with monkeypatch.context() as patch:
        cut_before(step, raise_cut, patch.setattr)
        with pytest.raises(Cut):
            series.add(films([number]), WEEKS[number], ledger=book, out=tmp_path / "out")
    check_what_is_left(tmp_path, series, book, number, step)
    spent = book.spent(Unit.USER_WEEK)
    try:
        release = Series.open(series.path).add(
            films([number]), WEEKS[number], ledger=book, out=tmp_path / "out"
        )
        assert load(tmp_path / "out").digest() == release.digest()
    except PeriodExists:
        assert step == "tidy", "it counted before it was cut off"
    assert len(book.history()) == number + 1
    if is_charged:
        assert book.spent(Unit.USER_WEEK) == spent
    again = Series.open(series.path)
    assert [each.period.name for each in again.periods] == list(WEEKS[: number + 1])
    assert again.periods[-1].release == book.history()[-1].published
    assert again.release_path is not None
    assert load(again.release_path).digest() == again.periods[-1].release
    generation = number + 1
    assert {path.name for path in again.path.iterdir()} - {"lock"} == {
        "series.json",
        f"state-{generation}.safetensors",
        f"noise-{generation}.secret",
        f"release-{generation}.discreet",
    } or step == "tidy"
    streams, _ = read_state(again.path / f"state-{generation}.safetensors")
    assert {stream.steps for stream in streams.values()} == {number + 1}
    again.add(films([number + 1]), WEEKS[number + 1], ledger=book)


def check_what_is_left(folder: Path, series: Series, book: Ledger, number: int, step: str) -> None:
    """Nothing came out, nothing can be read by others, and the ledger has what was charged."""
    _, _, is_charged, is_recorded = STEPS[step]
    counts = step == "tidy"
    assert not (folder / "out").exists()
    assert finished(folder) == list(WEEKS[: number + counts])
    for path in series.path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    history = book.history()
    assert len(history) == number + is_charged
    if is_charged:
        assert (history[-1].published is not None) == is_recorded


def test_what_was_drawn_before_is_not_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated add draws anew; the first draws are gone."""
    series, book = a_series(tmp_path), a_ledger(tmp_path)
    with monkeypatch.context() as patch:
        cut_before("record", raise_cut, patch.setattr)
        with pytest.raises(Cut):
            series.add(films([0]), WEEKS[0], ledger=book)
    draft = json.loads((series.path / "draft-1.json").read_text())
    release = series.add(films([0]), WEEKS[0], ledger=book)
    assert draft["periods"][0]["release"] != release.digest()
    assert not list(series.path.glob("draft*"))


def test_an_unbooked_add_is_drawn_anew_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = a_series(tmp_path)
    with monkeypatch.context() as patch:
        cut_before("commit", raise_cut, patch.setattr)
        with pytest.raises(Cut):
            series.add(films([0]), WEEKS[0], ledger="unbooked")
    assert finished(tmp_path) == []
    series.add(films([0]), WEEKS[0], ledger="unbooked")
    assert finished(tmp_path) == [WEEKS[0]]


def test_another_period_finishes_the_one_that_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, book = a_series(tmp_path), a_ledger(tmp_path)
    with monkeypatch.context() as patch:
        cut_before("commit", raise_cut, patch.setattr)
        with pytest.raises(Cut):
            series.add(films([0]), WEEKS[0], ledger=book)
    series.add(films([1]), WEEKS[1], ledger=book)
    assert finished(tmp_path) == list(WEEKS[:2])


def add_and_die(step: str, folder: str) -> None:
    """Add the first period and be killed just before a step."""

    def end() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    cut_before(step, end, setattr)
    series = Series.open(Path(folder) / "films.series")
    series.add(films([0]), WEEKS[0], ledger=Path(folder) / "people.ledger")


def test_killed_processes(tmp_path: Path) -> None:
    """Two kills in a row, by the system and for good; the lock is gone with the process."""
    series, book = a_series(tmp_path), a_ledger(tmp_path)
    for step in ("record", "commit"):
        done = subprocess.run(
            [sys.executable, __file__, step, str(tmp_path)], timeout=120, check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert finished(tmp_path) == []
    recorded = book.history()[-1].published
    release = series.add(films([0]), WEEKS[0], ledger=book)
    assert release.digest() == recorded and len(book.history()) == 1


def test_two_adds_at_once_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series, book = a_series(tmp_path), a_ledger(tmp_path)
    measuring, go_on, real = threading.Event(), threading.Event(), RunningSpender.measure_size

    def slow(self: RunningSpender, *args: Any) -> None:
        measuring.set()
        assert go_on.wait(60)
        real(self, *args)

    monkeypatch.setattr(RunningSpender, "measure_size", slow)
    first = threading.Thread(
        target=series.add, args=(films([0]), WEEKS[0]), kwargs={"ledger": book}
    )
    first.start()
    try:
        assert measuring.wait(60)
        with pytest.raises(InputError, match="another process is adding a period"):
            Series.open(series.path).add(films([0]), WEEKS[0], ledger=book)
        other = [
            "from series.test_interrupts import *",
            f"s = Series.open({str(series.path)!r})",
            "s.add(films([0]), WEEKS[0], ledger='unbooked')",
        ]
        done = subprocess.run(
            [sys.executable, "-c", "; ".join(other)],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "another process is adding a period" in done.stderr
    finally:
        go_on.set()
        first.join()
    assert finished(tmp_path) == [WEEKS[0]] and len(book.history()) == 1


if __name__ == "__main__":
    add_and_die(*sys.argv[1:])
