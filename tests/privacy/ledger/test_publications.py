"""What a charge paid for: recorded once, checked on reading, and held against files."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.domain import CatalogOrigin
from discreet.domain.errors import LedgerError
from discreet.privacy import (
    PERIOD_UNITS,
    ChargeRecord,
    GaussianEvent,
    Guarantee,
    Provenance,
    PureEvent,
    Receipt,
    Unit,
    unbooked,
)
from discreet.privacy.ledger import Ledger, Limit, Pairing
from discreet.privacy.ledger._store import FORMAT
from privacy.ledger._first_format import version_of, write_first_format, write_second_format

EVENT = PureEvent(unit=Unit.USER, label="answers", epsilon=0.1, mechanism="rr")
ASKED, FILE, OTHER = "1" * 64, "2" * 64, "3" * 64


def make(path: Path, population: str = "people") -> Ledger:
    return Ledger.create(path, population, [Limit(Unit.USER, 9.0, 0.0)])


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return make(tmp_path / "people.ledger")


def paid(receipt: Receipt) -> ChargeRecord:
    assert receipt.charge is not None
    return receipt.charge


def charged(ledger: Ledger, content: str | None = FILE) -> ChargeRecord:
    record = paid(ledger.charge([EVENT], "a release", configuration=ASKED))
    if content is not None:
        ledger.record_publication(record, content)
    return record


def promise(record: ChargeRecord | None, configuration: str = ASKED) -> Guarantee:
    provenance = Provenance(
        version="0.2.0", catalog=CatalogOrigin.GIVEN, configuration=configuration, charge=record
    )
    return Guarantee(Unit.USER, (EVENT,), 0.0, provenance=provenance)


def by_hand(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


# --- Charges and publications -----------------------------------------------------------------


def test_a_receipt_names_its_charge(ledger: Ledger) -> None:
    first, second = charged(ledger), charged(ledger, OTHER)
    assert (first.ledger, first.population) == (ledger.fingerprint, "people")
    assert (first.number, second.number) == (1, 2)
    entries = Ledger.open(ledger.path).history()
    assert [entry.digest for entry in entries] == [first.digest, second.digest]
    assert [entry.published for entry in entries] == [FILE, OTHER]
    assert {entry.configuration for entry in entries} == {ASKED}


def test_the_fingerprint_never_changes(ledger: Ledger, tmp_path: Path) -> None:
    before = ledger.fingerprint
    charged(ledger)
    ledger.path.rename(tmp_path / "moved")
    assert Ledger.open(tmp_path / "moved").fingerprint == before
    assert make(tmp_path / "other").fingerprint != before


def test_one_charge_pays_for_one_file(ledger: Ledger) -> None:
    record = charged(ledger)
    ledger.record_publication(record, FILE)  # the same again
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match="charge 1 has paid for another file already"):
        ledger.record_publication(record, OTHER)
    assert ledger.path.read_bytes() == before
    assert [entry.published for entry in ledger.history()] == [FILE]


def test_publications_need_not_come_in_the_order_of_charges(ledger: Ledger) -> None:
    records = [charged(ledger, None) for _ in range(3)]
    ledger.record_publication(records[2], FILE)
    ledger.record_publication(records[0], OTHER)
    assert [e.published for e in Ledger.open(ledger.path).history()] == [OTHER, None, FILE]


def test_a_charge_of_another_ledger_is_not_published_here(ledger: Ledger, tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    charged(ledger, None)
    for record in (charged(other, None), replace(charged(ledger, None), number=9)):
        with pytest.raises(LedgerError, match="does not contain the charge that paid"):
            ledger.record_publication(record, FILE)
    assert {entry.published for entry in ledger.history()} == {None}


def test_a_replaced_ledger_learns_of_no_file(ledger: Ledger, tmp_path: Path) -> None:
    record = charged(ledger, None)
    make(tmp_path / "other").path.replace(ledger.path)
    with pytest.raises(LedgerError, match="is another ledger"):
        ledger.record_publication(record, FILE)


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE publications SET content = '{OTHER}' WHERE number = 1",
        "UPDATE publications SET charge = 3 WHERE number = 1",
        "UPDATE publications SET charge = 9 WHERE number = 2",
        "UPDATE publications SET time = '2020-01-01' WHERE number = 1",
        "UPDATE publications SET number = 7 WHERE number = 2",
        "DELETE FROM publications WHERE number = 2",
        "DELETE FROM publications WHERE number = 1",
        "DELETE FROM publications",
        "DROP TABLE publications",
        "UPDATE title SET publications = 1",
        "UPDATE title SET last_publication = NULL",
        "UPDATE charges SET configuration = NULL WHERE number = 1",
        f"UPDATE charges SET configuration = '{OTHER}' WHERE number = 2",
    ],
)
def test_edited_records_are_damage(ledger: Ledger, statement: str) -> None:
    charged(ledger), charged(ledger, OTHER), charged(ledger, None)
    by_hand(ledger.path, statement)
    before = ledger.path.read_bytes()
    for use in (lambda: Ledger.open(ledger.path), ledger.history):
        with pytest.raises(LedgerError, match="is damaged"):
            use()
    assert ledger.path.read_bytes() == before


# --- Files and ledgers that belong together, and those that do not ----------------------------


def only(pairing: Pairing) -> str:
    """The one problem there is."""
    assert not pairing.is_paid
    (problem,) = pairing.sentences()
    return problem


def test_a_pair(ledger: Ledger) -> None:
    charged(ledger, OTHER)
    found = ledger.pair(promise(charged(ledger)), FILE)
    assert found == Pairing(2)
    assert found.sentences() == ["Charge 2 of this ledger paid for this file."]


def test_a_file_that_says_nothing(ledger: Ledger) -> None:
    charged(ledger)
    found = ledger.pair(Guarantee(Unit.USER, (EVENT,), 0.0), FILE)
    assert "does not say which ledger paid for it" in only(found)
    assert not found.is_contradiction


def test_a_file_that_no_ledger_paid_for(ledger: Ledger) -> None:
    charged(ledger)
    found = ledger.pair(promise(unbooked([EVENT]).charge), FILE)
    assert "is not recorded in any ledger" in only(found)
    assert not found.is_contradiction


def test_a_ledger_of_other_people(ledger: Ledger, tmp_path: Path) -> None:
    """Of the same unit, method and cost: that is no reason to take its charge for the file's."""
    other = make(tmp_path / "other", "staff")
    record = charged(ledger)
    charged(other)
    found = other.pair(promise(record), FILE)
    assert "names another ledger: that of 'people' with" in only(found)
    assert "of 'staff'" in only(found) and not found.is_contradiction


def test_a_ledger_swapped_under_the_same_path_and_name(ledger: Ledger, tmp_path: Path) -> None:
    record = charged(ledger)
    other = make(tmp_path / "other")
    charged(other)
    other.path.replace(ledger.path)
    assert "names another ledger" in only(Ledger.open(ledger.path).pair(promise(record), FILE))


def test_a_ledger_restored_from_an_older_copy(ledger: Ledger, tmp_path: Path) -> None:
    """Before its number is used again, and after."""
    charged(ledger, OTHER)
    shutil.copy(ledger.path, tmp_path / "copy")
    made = promise(charged(ledger))
    assert ledger.pair(made, FILE).charge == 2
    shutil.copy(tmp_path / "copy", ledger.path)
    found = ledger.pair(made, FILE)
    assert "has no charge 2" in only(found) and "older copy" in only(found)
    assert found.is_contradiction
    charged(ledger)  # the same configuration, and even the same file
    found = ledger.pair(made, FILE)
    assert "its row has another digest" in only(found) and found.is_contradiction


def test_a_file_edited_to_carry_another_charge(ledger: Ledger) -> None:
    """Of which it knows everything: the ledger has another file for that charge."""
    first, second = charged(ledger, OTHER), charged(ledger)
    named = replace(second, number=1)
    assert any("another digest" in said for said in ledger.pair(promise(named), FILE).problems)
    found = ledger.pair(promise(first), FILE)
    assert "paid for another file" in only(found) and found.is_contradiction


def test_another_configuration(ledger: Ledger) -> None:
    found = ledger.pair(promise(charged(ledger), OTHER), FILE)
    assert "was made for another configuration" in only(found) and found.is_contradiction


def test_a_charge_whose_file_was_never_finished(ledger: Ledger) -> None:
    found = ledger.pair(promise(charged(ledger, None)), FILE)
    assert "has no file recorded" in only(found) and found.is_contradiction


def test_a_file_that_spent_more_than_its_charge(ledger: Ledger) -> None:
    made = promise(charged(ledger))
    gaussian = GaussianEvent(unit=Unit.USER, label="x", sensitivity=0.01, sigma=1.0)
    for events, delta in (((replace(EVENT, epsilon=0.2),), 0.0), ((EVENT, gaussian), 1e-6)):
        found = ledger.pair(replace(made, events=events, delta=delta), FILE)
        assert "is for less than what this file says" in only(found)
    rating = (replace(EVENT, unit=Unit.RATING, ratings_per_user=1),)
    assert not ledger.pair(replace(made, events=rating), FILE).is_paid
    parts = (replace(EVENT, epsilon=0.05), replace(EVENT, epsilon=0.05))
    assert ledger.pair(replace(made, events=parts), FILE).is_paid


# --- Ledgers of formats 1 and 2 ---------------------------------------------------------------


@pytest.fixture(params=[write_first_format, write_second_format])
def old(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "old.ledger"
    request.param(path, EVENT, charges=3)
    return path


def test_a_ledger_of_an_old_format_is_read_as_it_is(old: Path) -> None:
    before, version = old.read_bytes(), version_of(old)
    entries = Ledger.open(old).history()
    assert [entry.purpose for entry in entries] == ["release 1", "release 2", "release 3"]
    assert {(entry.configuration, entry.published) for entry in entries} == {(None, None)}
    assert Ledger.open(old).spent(Unit.USER).pure == pytest.approx(0.3)
    assert old.read_bytes() == before and version_of(old) == version < FORMAT


def test_units_that_an_old_ledger_does_not_know_have_spent_what_follows_from_its_charges(
    old: Path,
) -> None:
    ledger = Ledger.open(old)
    for unit in PERIOD_UNITS:  # a user's release is a user-period's twice
        assert ledger.spent(unit).pure == pytest.approx(0.6)
        assert [entry.spent[unit].pure for entry in ledger.history()] == pytest.approx(
            [0.2, 0.4, 0.6]
        )
    charged(ledger)
    assert ledger.spent(Unit.USER_MONTH).pure == pytest.approx(0.8)
    assert ledger.history()[0].spent[Unit.USER_MONTH].pure == pytest.approx(0.2)


def test_a_ledger_of_an_old_format_is_charged_and_becomes_one_of_the_newest(old: Path) -> None:
    before = Ledger.open(old)
    digests = [entry.digest for entry in before.history()]
    record = charged(before)
    assert version_of(old) == FORMAT and record.number == 4
    after = Ledger.open(old)
    assert after.fingerprint == before.fingerprint == record.ledger
    assert [entry.digest for entry in after.history()] == [*digests, record.digest]
    assert after.pair(promise(record), FILE).charge == 4
    assert after.spent(Unit.USER).pure == pytest.approx(0.4)


def test_a_refused_charge_leaves_the_first_format_alone(tmp_path: Path) -> None:
    from discreet.domain.errors import BudgetExceeded

    path = tmp_path / "old.ledger"
    write_first_format(path, EVENT, charges=3, limit=0.35)
    before = path.read_bytes()
    with pytest.raises(BudgetExceeded):
        Ledger.open(path).charge([EVENT], "one more")
    assert path.read_bytes() == before


def test_a_new_ledger_has_the_layout_of_an_upgraded_one(old: Path, ledger: Ledger) -> None:
    charged(Ledger.open(old))

    def layout(path: Path) -> list[tuple[str, str]]:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            select = "SELECT name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name"
            return list(connection.execute(select))

    assert layout(old) == layout(ledger.path)
    assert version_of(ledger.path) == FORMAT
