"""What was spent and what is left: a release's own charge among a ledger's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.measure import fit
from discreet.privacy import GaussianEvent, Guarantee, PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings
from release._making import make_release
from report._pages import gaussian, open_clusters, report


def test_the_ledger_s_totals_are_shown(tmp_path: Path) -> None:
    promise = gaussian(Unit.USER, 1.0)
    ledger = Ledger.create(tmp_path / "l", "customers", [Limit(Unit.USER, 3.0, 1e-6)])
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path, ledger=ledger)
    assert "The ledger of 'customers': 0 charges" in seen.text
    assert "No charge of this ledger is for this release" in seen.text
    ledger.charge(promise.events, "films of March")
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path, ledger=ledger)
    assert "1 charge since" in seen.text and "No charge of this ledger" not in seen.text
    assert "Charge 1 is of this release's method and cost; a ledger cannot tell" in seen.text
    assert seen.row("user")[1:4] == ["1", "3", "1e-06"]
    assert 2 < float(seen.row("user")[4]) < 3
    assert seen.row("rating")[2] == "none"
    assert seen.row("1")[2:] == ["films of March", "like this release"]
    assert len(ledger.history()) == 1  # reading charges nothing


@pytest.mark.parametrize("kind", ["rating, Gaussian", "user, Laplace", "pairs"])
def test_the_charge_of_a_fit_is_found_among_others(
    ratings: Ratings, tmp_path: Path, kind: str
) -> None:
    limits = [Limit(Unit.RATING, 90.0, 1e-6)]
    ledger = Ledger.create(tmp_path / "l", "customers", limits)
    told: dict[str, Any] = {
        "rating, Gaussian": {"protect": "rating", "epsilon": 1.0},
        "user, Laplace": {"noise": "laplace", "epsilon": 1.0},
        "pairs": {"method": "slope-one", "epsilon": 2.0},
    }[kind]
    fit(ratings, ledger=ledger, **told | {"epsilon": 0.5})
    fit(ratings, ledger=ledger, **told | {"method": "cosine"})
    made = fit(ratings, ledger=ledger, **told)
    seen = report(made, tmp_path, ledger=ledger)
    assert "Charge 3 is of this release's method and cost" in seen.text
    assert [seen.row(number)[3] for number in "123"] == ["", "", "like this release"]
    fit(ratings, ledger=ledger, **told)
    assert (
        "Charges 3, 4 are each of this release's method"
        in report(made, tmp_path, ledger=ledger).text
    )


def test_a_ledger_that_paid_for_something_else_says_so(ratings: Ratings, tmp_path: Path) -> None:
    """However much it has spent."""
    ledger = Ledger.create(tmp_path / "l", "customers", [Limit(Unit.USER, 90.0, 1e-6)])
    fit(ratings, ledger=ledger, epsilon=5.0)
    seen = report(fit(ratings, epsilon=1.0, ledger="unbooked"), tmp_path, ledger=ledger)
    assert "No charge of this ledger is for this release" in seen.text
    assert "like this release" not in seen.row("1")
    other = report(fit(ratings, epsilon=5.0, ledger="unbooked"), tmp_path, ledger=ledger)
    assert "Charge 1 is for" not in other.text, "this very file was never charged"
    free = report(open_clusters(ratings), tmp_path, ledger=ledger)
    assert "spent nothing that a ledger counts, so none of its charges is for it" in free.text


def test_an_old_charge_of_the_release_is_shown_too(tmp_path: Path) -> None:
    promise = gaussian(Unit.USER, 0.5)
    ledger = Ledger.create(tmp_path / "l", "customers", [Limit(Unit.USER, 90.0, 1e-6)])
    ledger.charge(promise.events, "the first")
    other = gaussian(Unit.USER, 0.1)
    for _ in range(25):
        ledger.charge(other.events, "another")
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path, ledger=ledger)
    assert seen.row("1")[2:] == ["the first", "like this release"]
    assert sum(row[2:3] == ["another"] for row in seen.rows) == 20


def test_what_is_left_is_rounded_down_and_costs_up(tmp_path: Path) -> None:
    events = (
        PureEvent(unit=Unit.RATING, label="pure", epsilon=0.123401, mechanism="coin"),
        GaussianEvent(unit=Unit.RATING, label="sums", sensitivity=1.0, sigma=9.87659),
    )
    ledger = Ledger.create(tmp_path / "l", "customers", [Limit(Unit.RATING, 1.0, 0.0)])
    ledger.charge(events[:1], "pure")  # leaves 0.876599
    promise = Guarantee(Unit.RATING, events, 1e-6)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path, ledger=ledger)
    assert seen.row("pure")[2] == "epsilon 0.1235"
    assert seen.row("sums")[2] == "9.876"
    assert seen.row("rating")[1] == "0.1235"
    assert seen.row("rating")[5] == "0.8765"
