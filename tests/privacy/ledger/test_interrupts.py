"""Control-C in the middle of a charge."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import discreet.privacy.ledger as package
from discreet.privacy import NoisePlan, PureEvent, Receipt, Unit
from discreet.privacy.ledger import Ledger, Limit, Period, SeriesTerms
from discreet.privacy.ledger._store import FORMAT
from privacy.ledger._first_format import version_of, write_first_format, write_second_format

_SMALL = PureEvent(unit=Unit.USER, label="x", epsilon=0.1, mechanism="rr")


def people(folder: Path) -> Ledger:
    return Ledger.create(folder / "people.ledger", "people", [Limit(Unit.USER, 1e5, 0.0)])


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th line that runs in the ledger's modules."""

    def __init__(self, number: int) -> None:
        self._left = number
        self._home = str(Path(package.__file__).parent)

    def __call__(self, frame: FrameType, event: str, _: Any) -> InterruptAt | None:
        if not frame.f_code.co_filename.startswith(self._home):
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt
        return self


def interrupted_at(ledger: Ledger, number: int) -> Receipt | None:
    return interrupted(number, lambda: ledger.charge([_SMALL], "x"))


def interrupted(number: int, work: Callable[[], Any]) -> Any:
    before = sys.gettrace()
    sys.settrace(InterruptAt(number))
    try:
        return work()
    except KeyboardInterrupt:
        return None
    finally:
        sys.settrace(before)


def test_an_interrupt_at_any_line_leaves_a_whole_charge_or_none(tmp_path: Path) -> None:
    ledger = Ledger.open(people(tmp_path).path, wait=0.2)
    ledger.charge([_SMALL], "the first, which runs fewer lines")
    outcomes = []
    for number in range(1, 2000):
        before = len(ledger.history())
        receipt = interrupted_at(ledger, number)
        outcomes.append(len(Ledger.open(ledger.path).history()) - before)
        if receipt is not None:
            break
    assert outcomes[-1] == 1
    assert set(outcomes[:-1]) == {0, 1}, "interrupts came both before and after the commit"
    assert outcomes == sorted(outcomes)
    assert [path.name for path in tmp_path.iterdir()] == [ledger.path.name]


def test_an_interrupt_at_any_line_of_an_upgrade_leaves_either_format_whole(tmp_path: Path) -> None:
    path, old = tmp_path / "people.ledger", tmp_path / "old"
    write_first_format(old, _SMALL, charges=2)
    outcomes = []
    for number in range(1, 2000):
        shutil.copy(old, path)
        receipt = interrupted_at(Ledger.open(path, wait=0.2), number)
        outcomes.append((version_of(path), len(Ledger.open(path).history())))
        if receipt is not None:
            break
    assert outcomes[-1] == (FORMAT, 3)
    assert set(outcomes[:-1]) == {(1, 2), (FORMAT, 3)}
    assert outcomes == sorted(outcomes)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["old", path.name]


def test_an_interrupt_at_any_line_leaves_a_whole_publication_or_none(tmp_path: Path) -> None:
    ledger = Ledger.open(people(tmp_path).path, wait=0.2)
    outcomes = []
    for number in range(1, 2000):
        charge = ledger.charge([_SMALL], "x").charge
        assert charge is not None

        def publish(charge: Any = charge) -> list[object]:
            ledger.record_publication(charge, "f" * 64)
            return []

        done = interrupted(number, publish)
        outcomes.append(Ledger.open(ledger.path).history()[-1].published is not None)
        if done is not None:
            break
    assert outcomes[-1] and set(outcomes[:-1]) == {False, True}
    assert outcomes == sorted(outcomes)


def test_an_interrupt_at_any_line_charges_a_period_once_or_not_at_all(tmp_path: Path) -> None:
    """Whatever was interrupted, the same again goes on with the same charge."""
    path, old = tmp_path / "people.ledger", tmp_path / "old"
    event = PureEvent(unit=Unit.USER_DAY, label="x", epsilon=0.1, mechanism="rr")
    terms = SeriesTerms("ab" * 16, Unit.USER_DAY, event, NoisePlan.fresh())
    write_second_format(old, _SMALL, charges=1)
    outcomes = []
    for number in range(1, 4000):
        shutil.copy(old, path)
        ledger = Ledger.open(path, wait=0.2)
        done = interrupted(number, lambda: ledger.charge_period(terms, Period(1, "a"), "x"))  # noqa: B023
        after = Ledger.open(path)
        outcomes.append((version_of(path), len(after.history())))
        again = after.charge_period(terms, Period(1, "a"), "x").charge
        assert again is not None and again.number == 2 == len(after.history())
        assert after.spent(Unit.USER_DAY).pure == pytest.approx(0.3)
        if done is not None:
            assert done.charge == again
            break
    assert outcomes[-1] == (FORMAT, 2)
    assert set(outcomes[:-1]) == {(2, 1), (FORMAT, 2)}
    assert outcomes == sorted(outcomes)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["old", path.name]
