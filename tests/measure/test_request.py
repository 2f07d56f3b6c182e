"""Ledgers that are named, or said to be none; what is recorded of a release, and by whom."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded, LedgerError
from discreet.measure import (
    OutputFunction,
    OutputPlan,
    choose_best,
    private_sets,
    publish_item_counts,
    publish_rmse,
)
from discreet.measure._request import Request, configuration_digest
from discreet.methods import fit, record_fit
from discreet.privacy import FIT_UNITS, Guarantee, SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Intake, Ratings, Stability, find_shape, make_ratings
from discreet.release import Release, load


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(replace(find_shape("ml-100k").scaled(ratings=2_000), items=120), seed=1)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    limits = [Limit(Unit.RATING, 500.0, 1e-6)]
    return Ledger.create(tmp_path / "people.ledger", "people", limits)


def _answers(ratings: Ratings, **told: Any) -> Guarantee:
    function = OutputFunction("slope-one", ratings.scale, 10, 20)
    plan = OutputPlan(function=function, catalog=ratings.catalog, items=[0, 1], epsilon=1.0)
    return plan.answer(ratings, [0], **told).guarantee


def _sets(ratings: Ratings, **told: Any) -> Guarantee:
    scores = np.arange(9.0)
    usual = {"protect": "rating", "epsilon": 1.0, "sensitivity": 1.0, "moves": "all"}
    return private_sets(scores, 2, **usual, **told).guarantee  # type: ignore[arg-type]


def _guesses(ratings: Ratings) -> np.ndarray:
    return np.full(len(ratings), 3.0)


ENTRIES: dict[str, Callable[..., Guarantee]] = {
    "fit": lambda r, **told: fit(r, epsilon=1.0, **told).guarantee,
    "record_fit": lambda r, **told: record_fit(r, epsilon=1.0, **told).release.guarantee,
    "publish_item_counts": lambda r, **told: (
        publish_item_counts(r, protect=Unit.USER, epsilon=1.0, **told).guarantee
    ),
    "publish_rmse": lambda r, **told: publish_rmse(
        r, _guesses(r), protect=Unit.USER, epsilon=1.0, **told
    )[1],
    "choose_best": lambda r, **told: choose_best(
        r, [_guesses(r)] * 2, protect=Unit.USER, epsilon=1.0, **told
    )[1],
    "answers": _answers,
    "sets": _sets,
}


@pytest.mark.parametrize("name", ENTRIES)
def test_no_ledger_has_to_be_said(
    ratings: Ratings, ledger: Ledger, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = ENTRIES[name]
    with pytest.raises(InputError) as caught:
        entry(ratings)
    assert str(caught.value) == (
        'this costs privacy, so name the ledger to charge: ledger="people.ledger"; or say '
        'ledger="unbooked" if its cost shall not be recorded anywhere'
    )
    assert entry(ratings, ledger="unbooked").is_private
    assert not entry(ratings, randomness=SeededRandomness(1)).is_private
    for given in (ledger, ledger.path, str(ledger.path)):
        assert entry(ratings, ledger=given).is_private
    assert len(ledger.history()) == 3
    assert {entry.configuration is None for entry in ledger.history()} == {False}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match="unbooked: there is no ledger"):
        entry(ratings, ledger=Path("unbooked"))
    ledger.path.rename("unbooked")
    entry(ratings, ledger=Path("unbooked"))
    assert len(Ledger.open("unbooked").history()) == 4
    entry(ratings, ledger="unbooked")
    assert len(Ledger.open("unbooked").history()) == 4


def test_what_protects_nobody_needs_no_word(ratings: Ratings, ledger: Ledger) -> None:
    for made in (
        fit(ratings, epsilon=math.inf),
        fit(ratings, epsilon=math.inf, ledger="unbooked"),
    ):
        assert not made.guarantee.is_private
        assert "not recorded in any ledger" in str(made.guarantee)
    with pytest.raises(InputError, match="a release without noise cannot be booked"):
        fit(ratings, epsilon=math.inf, ledger=ledger)


@pytest.mark.parametrize("name", [name for name in ENTRIES if name != "sets"])
def test_a_guarantee_says_where_it_comes_from(ratings: Ratings, ledger: Ledger, name: str) -> None:
    intake = Intake(
        bad_rows="skip",
        part="half of the people",
        most_ratings=700,
        assumes=("the table lists everybody once",),
    )
    read = replace(ratings, intake=intake)
    unbooked = ENTRIES[name](read, ledger="unbooked")
    booked = ENTRIES[name](read, ledger=ledger)
    for made in (unbooked, booked):
        found = made.provenance
        assert found is not None
        assert (found.version, found.part) == (discreet.__version__, "half of the people")
        assert (found.bad_rows, found.most_ratings) == ("skip", 700)
        assert found.catalog is ratings.catalog.origin
        assert "the table lists everybody once" in made.assumes
    assert unbooked.provenance is not None and unbooked.provenance.charge is None
    (entry,) = ledger.history()
    assert booked.provenance is not None and booked.provenance.charge is not None
    assert booked.provenance.charge.digest == entry.digest
    assert booked.provenance.configuration == entry.configuration
    assert replace(booked.provenance, charge=None) == unbooked.provenance


CHOSEN = "chosen by looking at other people's ratings"


@pytest.mark.parametrize("name", [name for name in ENTRIES if name != "sets"])
def test_ratings_that_others_chose_protect_nobody(
    ratings: Ratings, ledger: Ledger, name: str
) -> None:
    read = replace(ratings, intake=Intake(stability=Stability.NONE))
    made = ENTRIES[name](read, ledger="unbooked")
    assert not made.is_private and CHOSEN in made.not_private[-1]
    seeded = ENTRIES[name](read, randomness=SeededRandomness(1))
    assert len(seeded.not_private) == 2
    with pytest.raises(InputError, match="this cannot be booked: it was made from a part"):
        ENTRIES[name](read, ledger=ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("unit", FIT_UNITS)
def test_a_person_s_own_rows_may_choose_among_their_ratings(
    ratings: Ratings, ledger: Ledger, unit: Unit
) -> None:
    """That changes one person's records, perhaps several: fine per user, and not per rating."""
    read = replace(ratings, intake=Intake(stability=Stability.USER))
    made = fit(read, protect=unit, epsilon=1.0, ledger="unbooked")
    assert made.guarantee.is_private == (unit is Unit.USER)
    if unit is Unit.USER:
        assert fit(read, protect=unit, epsilon=1.0, ledger=ledger).guarantee.is_private
    else:
        assert "one rating more may have changed" in str(made.guarantee)


def test_the_configuration_is_all_that_is_public_and_nothing_else(ratings: Ratings) -> None:
    def digest(read: Ratings = ratings, **told: Any) -> str:
        usual: dict[str, Any] = {"epsilon": 1.0, "randomness": SeededRandomness(1)}
        found = fit(read, **usual | told).guarantee.provenance
        assert found is not None
        return found.configuration

    same = digest()
    assert digest(randomness=SeededRandomness(2)) == same
    fewer = replace(ratings.where(np.arange(len(ratings)) % 2 == 0), intake=ratings.intake)
    assert digest(fewer) == same, "it must not depend on a rating"
    others = [
        digest(epsilon=2.0),
        digest(delta=1e-7),
        digest(noise="laplace"),
        digest(protect="rating"),
        digest(method="covariance"),
        digest(rank=3),
        digest(features=np.ones((120, 1))),
        digest(features=np.arange(120.0)[:, None]),
        digest(replace(ratings, intake=Intake(bad_rows="skip"))),
        digest(replace(ratings, intake=Intake(part="half"))),
        digest(replace(ratings, intake=Intake(stability=Stability.USER))),
        digest(epsilon=math.inf),
    ]
    assert len({same, *others}) == len(others) + 1


def test_the_digest_is_over_canonical_json() -> None:
    one = configuration_digest("x", {"b": 1.0, "a": (Unit.USER, math.inf, None)})
    assert one == configuration_digest("x", {"a": ["user", "infinite", None], "b": 1.0})
    assert one != configuration_digest("y", {"a": ["user", "infinite", None], "b": 1.0})


def test_a_request_shows_no_ratings(ratings: Ratings) -> None:
    assert "ratings" not in repr(Request.of(ratings, Unit.USER, "x"))


# --- A release and its ledger -----------------------------------------------------------------


def paid(ledger: Ledger, release: Release) -> int | None:
    return ledger.pair(release.guarantee, release.digest()).charge


def test_a_release_and_its_ledger_know_each_other(
    ratings: Ratings, ledger: Ledger, tmp_path: Path
) -> None:
    first, second = (fit(ratings, epsilon=1.0, ledger=ledger) for _ in range(2))
    for number, release in enumerate((first, second), start=1):
        release.save(tmp_path / "r", overwrite=True)
        loaded = load(tmp_path / "r", verify=True)
        assert loaded.digest() == release.digest() == ledger.history()[number - 1].published
        assert paid(ledger, loaded) == paid(ledger, release) == number
    # A copy by way of this program is the same file.
    load(tmp_path / "r").save(tmp_path / "copy")
    assert paid(ledger, load(tmp_path / "copy")) == 2


def test_a_release_that_was_changed_is_not_the_one_that_was_paid_for(
    ratings: Ratings, ledger: Ledger, tmp_path: Path
) -> None:
    first, second = (fit(ratings, epsilon=1.0, ledger=ledger) for _ in range(2))
    louder = {name: array * 2 for name, array in second.arrays.items() if array.dtype.kind == "f"}
    louder = {**second.arrays, **louder}
    # The very guarantee of the first, charge and configuration, on the arrays of the second.
    for forged in (replace(second, arrays=louder), replace(second, guarantee=first.guarantee)):
        forged.save(tmp_path / "r", overwrite=True)
        found = ledger.pair(forged.guarantee, load(tmp_path / "r", verify=True).digest())
        assert found.is_contradiction
        assert "paid for another file" in found.problems[-1]


def test_two_releases_are_not_made_with_one_charge(ratings: Ratings, ledger: Ledger) -> None:
    release = fit(ratings, epsilon=1.0, ledger=ledger)
    provenance = release.guarantee.provenance
    assert provenance is not None and provenance.charge is not None
    other = fit(ratings, epsilon=1.0, ledger="unbooked")
    with pytest.raises(LedgerError, match="charge 1 has paid for another file already"):
        ledger.record_publication(provenance.charge, other.digest())
    assert paid(ledger, release) == 1 and paid(ledger, other) is None


def test_a_ledger_that_cannot_record_the_release_says_that_it_was_charged(
    ratings: Ratings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where somebody deletes the file while a fit runs."""

    def delete(_: Release) -> str:
        ledger.path.unlink()
        return "f" * 64

    monkeypatch.setattr(Release, "digest", delete)
    with pytest.raises(LedgerError, match=r"there is no ledger.*; the ledger was charged anyway"):
        fit(ratings, epsilon=1.0, ledger=ledger)


def test_a_refused_charge_records_nothing(ratings: Ratings, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", "people", [Limit(Unit.USER, 0.5, 1e-6)])
    with pytest.raises(BudgetExceeded):
        fit(ratings, epsilon=1.0, ledger=ledger)
    assert ledger.history() == []
