"""Control-C in the middle of a charge."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import discreet.privacy.ledger as package
from discreet.privacy import PureEvent, Receipt, Unit
from discreet.privacy.ledger import Ledger, Limit

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
    before = sys.gettrace()
    sys.settrace(InterruptAt(number))
    try:
        return ledger.charge([_SMALL], "x")
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
