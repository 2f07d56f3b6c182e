"""A ledger that is not what was written: refused in one line, and left as it is."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.domain.errors import LedgerError
from discreet.privacy import PureEvent, Unit
from discreet.privacy.ledger import Entry, Ledger, Limit

_EVENT = PureEvent(unit=Unit.USER, label="answers", epsilon=0.1, mechanism="rr")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Thirty charges on a handful of pages."""
    path = tmp_path_factory.mktemp("whole") / "people.ledger"
    ledger = Ledger.create(path, "people", [Limit(Unit.USER, 9.0, 0.0)])
    for number in range(30):
        ledger.charge([_EVENT], f"release {number}")
    return path.read_bytes()


@pytest.fixture
def ledger(whole: bytes, tmp_path: Path) -> Ledger:
    path = tmp_path / "people.ledger"
    path.write_bytes(whole)
    return Ledger.open(path)


def overwritten(start: int, stop: int, byte: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:start] + bytes([byte]) * (stop - start) + data[stop:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "no bytes": lambda _: b"",
    "a text file": lambda _: b"customers: 3 charges\n" * 50,
    "cut within the header": lambda data: data[:60],
    "cut within the first page": lambda data: data[:3000],
    "cut at the first page": lambda data: data[:4096],
    "cut at half": lambda data: data[: len(data) // 2],
    "cut by one byte": lambda data: data[:-1],
    "cut by one page": lambda data: data[:-4096],
    "no magic words": overwritten(0, 16, 0),
    "no header": overwritten(0, 100, 0xFF),
    "another page size": overwritten(16, 18, 0x02),
    "another application": overwritten(68, 72, 0),
    "no first page": overwritten(0, 4096, 0),
    "no schema": overwritten(100, 4096, 0),
    "a schema that is no text": lambda data: data.replace(b"E charges (", b"E \xe1harges ("),
    "a page of zeros": overwritten(8192, 12288, 0),
    "a page of ones": overwritten(8192, 12288, 0xFF),
    "another page twice": lambda data: data[:8192] + data[4096:8192] + data[12288:],
    "the last page of zeros": lambda data: data[:-4096] + bytes(4096),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_is_refused_and_left_alone(ledger: Ledger, damage: str) -> None:
    data = DAMAGES[damage](ledger.path.read_bytes())
    ledger.path.write_bytes(data)
    for use in (lambda: Ledger.open(ledger.path), ledger.history):
        with pytest.raises(LedgerError) as refusal:
            use()
        assert str(refusal.value).startswith(str(ledger.path))
        assert "\n" not in str(refusal.value)
    assert ledger.path.read_bytes() == data
    assert [path.name for path in ledger.path.parent.iterdir()] == [ledger.path.name]


@pytest.mark.parametrize("damage", ["no bytes", "a text file", "no magic words", "no first page"])
def test_a_damaged_ledger_is_not_charged(ledger: Ledger, damage: str) -> None:
    data = DAMAGES[damage](ledger.path.read_bytes())
    ledger.path.write_bytes(data)
    with pytest.raises(LedgerError):
        ledger.charge([_EVENT], "x")
    assert ledger.path.read_bytes() == data


def history_or_refusal(path: Path) -> list[Entry] | LedgerError:
    try:
        return Ledger.open(path).history()
    except LedgerError as refusal:
        return refusal


def test_a_flipped_bit_is_refused_or_changes_nothing(ledger: Ledger) -> None:
    path, data, truth = ledger.path, ledger.path.read_bytes(), ledger.history()
    chance, refused = random.Random(3), 0
    for _ in range(600):
        place = chance.randrange(len(data))
        flipped = bytearray(data)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        found = history_or_refusal(path)
        assert isinstance(found, LedgerError) or found == truth
        refused += isinstance(found, LedgerError)
        assert path.read_bytes() == flipped
    assert refused > 100


def by_hand(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE charges SET spent = replace(spent, '0.1', '0.0') WHERE number = 1",
        "UPDATE charges SET purpose = 'another' WHERE number = 15",
        "UPDATE charges SET is_private = 0 WHERE number = 30",
        "UPDATE charges SET events = CAST(events AS BLOB) WHERE number = 30",
        "UPDATE charges SET number = 31 WHERE number = 30",
        "DELETE FROM charges WHERE number = 30",
        "DELETE FROM charges WHERE number = 10",
        "DELETE FROM charges",
        "UPDATE title SET limits = replace(limits, '9.0', '99.0')",
        "UPDATE title SET population = 'others'",
        "UPDATE title SET charges = 29",
        "DELETE FROM title",
        "INSERT INTO title SELECT * FROM title",
        "DROP TABLE charges",
    ],
)
def test_an_altered_row_is_noticed(ledger: Ledger, statement: str) -> None:
    by_hand(ledger.path, statement)
    with pytest.raises(LedgerError, match="is damaged; restore a copy made after its last charge"):
        Ledger.open(ledger.path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE charges SET spent = replace(spent, '[', '[-') WHERE number = 30",
        "DELETE FROM charges WHERE number = 30",
        "DELETE FROM charges",
        "UPDATE title SET limits = replace(limits, '9.0', '99.0')",
    ],
)
def test_an_open_ledger_notices_what_its_next_charge_builds_on(
    ledger: Ledger, statement: str
) -> None:
    by_hand(ledger.path, statement)
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError):
        ledger.charge([_EVENT], "x")
    assert ledger.path.read_bytes() == before


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    by_hand(path, "CREATE TABLE charges (number INTEGER)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="SQLite database but not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_ledger_in_another_journal_mode_is_refused(ledger: Ledger) -> None:
    by_hand(ledger.path, "PRAGMA journal_mode = WAL")
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.charge([_EVENT], "x")
