"""Capabilities, message fields from somebody else's hand, and the client's own file."""

from __future__ import annotations

import base64
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.privacy import PureEvent, Unit
from discreet.privacy.accounting import compose
from discreet.protocols.common import (
    Fields,
    StateFile,
    capability_digest,
    make_capability,
    numbers_text,
    spell_sum,
)


def test_capabilities_differ_and_only_their_digest_is_kept() -> None:
    one, other = make_capability(), make_capability()
    assert one != other and len(one) == 43
    assert capability_digest(one) == capability_digest(one) != capability_digest(other)
    assert len(capability_digest(one)) == 32 and one.encode() not in capability_digest(one)


@pytest.mark.parametrize("wrong", ["", "x", "a" * 42, "a" * 44, "ä" * 43, "a" * 42 + "\n"])
def test_what_is_no_capability_is_refused_and_not_repeated(wrong: str) -> None:
    with pytest.raises(InputError, match="43 letters") as refused:
        capability_digest(wrong)
    assert not wrong.strip() or wrong.strip() not in str(refused.value)


@pytest.mark.parametrize(
    ("epsilon", "periods", "twelve", "all_"),
    [
        (2.0, 1, "24", "the one so far, 2"),
        (0.125, 3, "1.5", "all 3 so far, 0.375"),
        (0.1, 10, "1.2", "all 10 so far, 1"),
        (0.001, 1, "0.012", "the one so far, 0.001"),
        (50.0, 52_000, "600", "all 52,000 so far, 2,600,000"),
        # Never below the bound, and with three decimals.
        (0.00004, 1, "0.001", "the one so far, 0.001"),
    ],
)
def test_what_periods_add_up_to(epsilon: float, periods: int, twelve: str, all_: str) -> None:
    event = PureEvent(unit=Unit.RATING, label="a report", epsilon=epsilon, mechanism="coins")
    assert spell_sum(event, periods) == (
        f"for somebody who takes part in 12 periods the epsilon is {twelve}; in {all_}"
    )
    # What the accountant says of as many single reports.
    drawn = compose([event] * min(periods, 100)).epsilon(0.0)
    assert drawn == pytest.approx(epsilon * min(periods, 100))


def test_numbers_come_back() -> None:
    for dtype, values in (("int32", [1, -5, 2**31 - 1]), ("float32", [0.5, -2.0]), ("uint8", [])):
        wanted = np.array(values, dtype)
        found = Fields({"a": numbers_text(wanted, dtype)}, "report", ("a",)).numbers("a", dtype, 3)
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({}, lambda f: f.whole("a", 0, 9)),
        ({"a": None}, lambda f: f.whole("a", 0, 9)),
        ({"a": 10}, lambda f: f.whole("a", 0, 9)),
        ({"a": True}, lambda f: f.whole("a", 0, 9)),
        ({"a": 1.0}, lambda f: f.whole("a", 0, 9)),
        ({"a": float("nan")}, lambda f: f.number("a", 0, 9)),
        ({"a": "1"}, lambda f: f.number("a", 0, 9)),
        ({"a": "x" * 201}, lambda f: f.text("a")),
        ({"a": "a\x00b"}, lambda f: f.text("a")),
        ({"a": 5}, lambda f: f.choice("a", ("b",))),
        ({"a": "!!!!"}, lambda f: f.content("a", 0, 9)),
        ({"a": base64.b64encode(bytes(10)).decode()}, lambda f: f.content("a", 0, 9)),
        ({"a": "A" * 10**6}, lambda f: f.content("a", 0, 9)),
        ({"a": base64.b64encode(bytes(5)).decode()}, lambda f: f.numbers("a", "int32", 9)),
        (
            {"a": numbers_text(np.array([np.nan]), "float64")},
            lambda f: f.numbers("a", "float64", 9),
        ),
        ({"a": {}}, lambda f: f.objects("a", 9)),
        ({"a": [1] * 10}, lambda f: f.objects("a", 9)),
    ],
)
def test_what_is_not_as_it_should_be_is_refused(content: dict[str, Any], read: Any) -> None:
    with pytest.raises(InputError, match=r"^report: 'a'"):
        read(Fields(content, "report", ("a",)))


def test_foreign_fields_and_no_objects_are_refused() -> None:
    with pytest.raises(InputError, match="it has a, b"):
        Fields({"secret": 1}, "report", ("a", "b"))
    for wrong in (None, 5, "x", [1]):
        with pytest.raises(InputError, match="an object"):
            Fields(wrong, "report", ("a",))


def test_a_state_is_private_whole_and_its_protocol_s(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "me.state", "local")
    assert file.read() == {}
    file.write({"answers": [1, 2]})
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    with file.change() as state:
        state["answers"].append(3)
    assert file.read() == {"answers": [1, 2, 3]}
    with pytest.raises(RuntimeError), file.change() as state:
        state.clear()
        raise RuntimeError
    assert file.read() == {"answers": [1, 2, 3]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["me.state", "me.state.lock"]
    with pytest.raises(
        InputError, match="is the state of another protocol's client, not of 'open'"
    ):
        StateFile(file.path, "open").read()
    file.path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        file.read()
    file.write({})
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 2}', '{"version": 1, "kind": "local"}']
)
def test_a_damaged_state_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "me.state"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="state"):
        StateFile(path, "local").read()


@pytest.mark.parametrize("by_link", [False, True])
def test_two_changes_of_one_state_wait_for_each_other(tmp_path: Path, by_link: bool) -> None:
    """Otherwise one would be lost, and with it an answer that was given."""
    path = tmp_path / "me.state"
    other = tmp_path / "link.state" if by_link else path
    if by_link:
        other.symlink_to(path)

    def add(number: int, name: Path) -> None:
        for _ in range(20):
            with StateFile(name, "local").change() as state:
                state["sum"] = state.get("sum", 0) + number

    told = ((1, path), (100, other))
    threads = [threading.Thread(target=add, args=each) for each in told]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert StateFile(path, "local").read() == {"sum": 2020}


def test_a_change_of_nothing_writes_nothing(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "me.state", "local")
    with file.change():
        pass
    assert not file.path.exists()
