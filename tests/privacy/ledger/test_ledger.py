"""A ledger in peace: charging, refusing, remembering."""

from __future__ import annotations

import datetime
import math
import sqlite3
import threading
from pathlib import Path

import pytest

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded, LedgerError
from discreet.privacy import (
    GaussianEvent,
    GeometricEvent,
    NotCharged,
    PureEvent,
    SeededRandomness,
    Unit,
)
from discreet.privacy.accounting import Totals, calibrate_gaussian, gaussian_mu
from discreet.privacy.ledger import Ledger, Limit

USER = Limit(Unit.USER, 1.0, 1e-6)


def pure(epsilon: float, unit: Unit = Unit.USER, bound: int | None = None) -> PureEvent:
    return PureEvent(
        unit=unit, label="answers", epsilon=epsilon, mechanism="rr", ratings_per_user=bound
    )


def gaussian(mu: float, unit: Unit = Unit.USER) -> GaussianEvent:
    return GaussianEvent(unit=unit, label="item counts", sensitivity=mu, sigma=1.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "customers.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, "customers of the shop", [USER])


# --- Making and opening -----------------------------------------------------------------------


def test_a_new_ledger_is_one_file_and_has_spent_nothing(ledger: Ledger, path: Path) -> None:
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert ledger.spent(Unit.USER) == ledger.spent(Unit.RATING) == Totals()
    assert ledger.history() == []
    again = Ledger.open(path, "customers of the shop")
    assert (again.population, again.limits) == ("customers of the shop", (USER,))
    assert abs(datetime.datetime.now(datetime.UTC) - again.created) < datetime.timedelta(minutes=5)


@pytest.mark.parametrize("content", [b"", b"my thesis"])
def test_nothing_is_overwritten(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(path, "others", [USER])
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_ledger_is_not_made_over_a_ledger(ledger: Ledger) -> None:
    ledger.charge([pure(0.5)], "x")
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(ledger.path, "customers of the shop", [USER])
    assert len(Ledger.open(ledger.path).history()) == 1


def test_a_file_system_without_hard_links_serves_as_well(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    Ledger.create(path, "customers", [USER]).charge([pure(0.5)], "x")
    assert len(Ledger.open(path).history()) == 1
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(path, "customers", [USER])
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_opening_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="discreet ledger init"):
        Ledger.open(tmp_path / "none.ledger")
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be made: No such file"):
        Ledger.create(tmp_path / "none" / "x.ledger", "customers", [USER])


def test_odd_file_names_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#b %41'ü.ledger"
    Ledger.create(path, "customers", [USER]).charge([pure(0.5)], "x")
    assert len(Ledger.open(path).history()) == 1
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_ledger_of_others_is_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="of 'customers of the shop', not of 'staff'"):
        Ledger.open(ledger.path, "staff")


def test_a_newer_format_is_refused(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 4")
    connection.close()
    for use in (Ledger.open, lambda _: ledger.charge([pure(0.1)], "x")):
        with pytest.raises(LedgerError, match=r"format 4.* install a newer one"):
            use(ledger.path)


@pytest.mark.parametrize("limits", [[], [USER, Limit(Unit.USER, 2.0, 0.0)]])
def test_a_ledger_needs_one_limit_a_unit(path: Path, limits: list[Limit]) -> None:
    with pytest.raises(InputError, match="a ledger needs a limit"):
        Ledger.create(path, "customers", limits)
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 301, "bell\a"])
def test_names_and_purposes_are_one_line(ledger: Ledger, path: Path, name: str) -> None:
    with pytest.raises(InputError, match="one line"):
        Ledger.create(path.with_name("b"), name, [USER])
    with pytest.raises(InputError, match="one line"):
        ledger.charge([pure(0.1)], name)
    assert ledger.history() == []


# --- Charging ---------------------------------------------------------------------------------


def test_a_charge_is_remembered_and_gives_leave_to_draw(ledger: Ledger) -> None:
    events = [gaussian(0.05), pure(0.25)]
    receipt = ledger.charge(events, "the weekly figures")
    assert receipt.ledger == "customers of the shop"
    assert receipt.is_private
    receipt.redeem(events[0])
    with pytest.raises(NotCharged):
        receipt.redeem(events[0])
    (entry,) = Ledger.open(ledger.path).history()
    assert (entry.number, entry.purpose, entry.events) == (1, "the weekly figures", tuple(events))
    assert entry.is_private
    assert entry.time.tzinfo is datetime.UTC
    assert entry.spent[Unit.USER] == ledger.spent(Unit.USER)
    assert ledger.spent(Unit.USER).pure == pytest.approx(0.25, rel=1e-12)
    assert ledger.spent(Unit.USER).mu_squared == pytest.approx(0.0025, rel=1e-12)


def test_every_kind_of_event_comes_back_as_it_was(ledger: Ledger) -> None:
    events = (
        GaussianEvent(unit=Unit.USER, label="sums", sensitivity=0.1, sigma=12345.678, count=3),
        GeometricEvent(unit=Unit.USER, label="counts 'ü'", sensitivity=1.0, scale=1e3),
        pure(0.001),
    )
    ledger.charge(events, "all kinds")
    assert ledger.history()[0].events == events


def test_seeded_noise_is_charged_alike_and_said_to_be_seeded(ledger: Ledger) -> None:
    receipt = ledger.charge([pure(0.5)], "a rehearsal", randomness=SeededRandomness(1))
    assert not receipt.is_private
    assert not ledger.history()[0].is_private
    assert ledger.spent(Unit.USER).pure == 0.5


def test_nothing_to_charge_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="nothing to charge"):
        ledger.charge([], "x")


def test_a_charge_past_the_limit_is_refused_with_all_figures(ledger: Ledger) -> None:
    ledger.charge([pure(0.75)], "first")
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge([pure(0.5)], "second")
    for part in (
        "'customers of the shop'",
        "epsilon 1 at delta 1e-06 per user",
        "spent is 0.75",
        "alone is 0.5",
        "together 1.25",
        "a pure one of epsilon 0.25",
        "nothing was charged",
    ):
        assert part in str(refusal.value)
    assert ledger.path.read_bytes() == before
    ledger.charge([pure(0.25)], "third")
    assert [entry.purpose for entry in ledger.history()] == ["first", "third"]


def test_an_exhausted_ledger_says_that_nothing_fits(ledger: Ledger) -> None:
    ledger.charge([pure(1.0)], "all")
    assert ledger.remaining(Unit.USER).pure == 0
    with pytest.raises(BudgetExceeded, match="what still fits is nothing"):
        ledger.charge([pure(0.001)], "more")


def test_gaussian_charges_add_up_by_their_squares(ledger: Ledger) -> None:
    most = gaussian_mu(1.0, 1e-6)
    for number in range(16):
        ledger.charge([gaussian(most / 4)], f"release {number}")
    with pytest.raises(BudgetExceeded):
        ledger.charge([gaussian(most / 100)], "one more")
    assert len(ledger.history()) == 16


def test_noise_calibrated_to_the_limit_is_charged(ledger: Ledger) -> None:
    sigma = calibrate_gaussian(3.0, 1.0, 1e-6)
    ledger.charge([GaussianEvent(unit=Unit.USER, label="x", sensitivity=3.0, sigma=sigma)], "all")
    assert ledger.remaining(Unit.USER).epsilon < 1e-3


def test_a_pure_charge_after_a_gaussian_one_is_booked_as_gaussian(ledger: Ledger) -> None:
    ledger.charge([pure(0.1), gaussian(0.05)], "together")
    ledger.charge([pure(0.1)], "later")
    spent = ledger.spent(Unit.USER)
    assert spent.pure == pytest.approx(0.1)
    # mu = 2 Phi^-1(e^0.1/(1 + e^0.1)) is close to 0.1 sqrt(pi/2) for so small an epsilon.
    assert spent.mu_squared == pytest.approx(0.0025 + 0.01 * math.pi / 2, rel=1e-3)


def test_a_limit_of_delta_0_takes_pure_noise_only(path: Path) -> None:
    ledger = Ledger.create(path, "customers", [Limit(Unit.USER, 5.0, 0.0)])
    with pytest.raises(BudgetExceeded, match="use Laplace noise"):
        ledger.charge([pure(0.1), gaussian(0.1)], "x")
    assert ledger.history() == []
    ledger.charge([pure(5.0)], "y")


# --- Two units --------------------------------------------------------------------------------


def test_both_limits_must_hold(path: Path) -> None:
    limits = [Limit(Unit.USER, 3.0, 1e-6), Limit(Unit.RATING, 0.5, 1e-6)]
    ledger = Ledger.create(path, "customers", limits)
    with pytest.raises(BudgetExceeded, match="per rating"):
        ledger.charge([pure(0.3)], "a user more or less is two for a rating")
    with pytest.raises(BudgetExceeded, match="per user"):
        ledger.charge([pure(0.4, Unit.RATING, bound=10)], "ten ratings a user")
    assert ledger.history() == []
    ledger.charge([pure(0.25, Unit.RATING, bound=10)], "within both")
    assert ledger.spent(Unit.USER).pure == pytest.approx(2.5)
    assert ledger.spent(Unit.RATING).pure == pytest.approx(0.25)


def test_an_unbounded_charge_is_refused_where_users_are_limited(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="bound how many ratings of a user count"):
        ledger.charge([pure(1e-6, Unit.RATING)], "x")
    assert ledger.history() == []


def test_a_unit_without_a_limit_is_recorded(path: Path) -> None:
    ledger = Ledger.create(path, "customers", [Limit(Unit.RATING, 1.0, 1e-6)])
    ledger.charge([pure(0.1, Unit.RATING, bound=50)], "bounded")
    assert ledger.spent(Unit.USER).pure == pytest.approx(5.0)
    ledger.charge([pure(0.1, Unit.RATING)], "unbounded")
    assert ledger.spent(Unit.USER).pure == math.inf
    ledger.charge([gaussian(0.1, Unit.RATING), pure(0.1, Unit.RATING)], "more")
    assert ledger.spent(Unit.USER).pure == math.inf
    assert [entry.spent[Unit.USER].pure for entry in Ledger.open(path).history()][1:] == [
        math.inf,
        math.inf,
    ]
    with pytest.raises(InputError, match="no limit per user"):
        ledger.remaining(Unit.USER)


# --- Many at once -----------------------------------------------------------------------------


def test_threads_share_one_ledger(path: Path) -> None:
    ledger = Ledger.create(path, "customers", [Limit(Unit.USER, 2.0, 0.0)])
    receipts: list[str | None] = []
    refusals: list[str] = []

    def work() -> None:
        for _ in range(10):
            try:
                receipts.append(ledger.charge([pure(0.1)], "x").ledger)
            except BudgetExceeded as refusal:
                refusals.append(str(refusal))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(receipts), len(refusals)) == (20, 20)
    assert [entry.number for entry in ledger.history()] == list(range(1, 21))


def test_a_locked_ledger_is_refused_after_a_while(ledger: Ledger) -> None:
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    impatient = Ledger.open(ledger.path, wait=0.05)
    with pytest.raises(LedgerError, match="another process is using it"):
        impatient.charge([pure(0.1)], "x")
    other.execute("ROLLBACK")
    other.close()
    impatient.charge([pure(0.1)], "x")
    assert len(ledger.history()) == 1


def test_a_replaced_ledger_is_not_charged(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.create(tmp_path / "other", "customers of the shop", [Limit(Unit.USER, 9.0, 0.0)])
    other.path.replace(ledger.path)
    for use in (ledger.history, lambda: ledger.charge([pure(0.1)], "x")):
        with pytest.raises(LedgerError, match="is another ledger"):
            use()
    assert Ledger.open(ledger.path).history() == []


def test_a_deleted_ledger_is_not_made_again(ledger: Ledger) -> None:
    ledger.path.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.charge([pure(0.1)], "x")
    assert not ledger.path.exists()
