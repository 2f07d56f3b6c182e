"""What was spent and what is left: a release's own charge among a ledger's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.methods import fit
from discreet.privacy import GaussianEvent, Guarantee, PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings
from release._making import make_release
from report._pages import gaussian, open_clusters, report


def test_the_ledger_s_totals_are_shown(ratings: Ratings, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", "customers", [Limit(Unit.USER, 3.0, 1e-6)])
    silent = make_release(np.zeros((3, 1)), guarantee=gaussian(Unit.USER, 1.0))
    seen = report(silent, tmp_path, ledger=ledger)
    assert "The ledger of 'customers': 0 charges" in seen.text
    assert "No charge of this ledger is known to have paid for this file" in seen.text
    seen = report(fit(ratings, epsilon=1.0, ledger=ledger), tmp_path, ledger=ledger)
    assert "1 charge since" in seen.text and "No charge of this ledger" not in seen.text
    assert "Charge 1 of this ledger paid for this file." in seen.text
    assert seen.row("user")[1:4] == ["1", "3", "1e-06"]
    assert 2 < float(seen.row("user")[4]) < 3
    assert seen.row("rating")[2] == "none"
    assert seen.row("1")[2:] == ["refined release", "paid for this file"]
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
    fit(ratings, ledger=ledger, **told)
    made = fit(ratings, ledger=ledger, **told)
    fit(ratings, ledger=ledger, **told)
    seen = report(made, tmp_path, ledger=ledger)
    assert "Charge 2 of this ledger paid for this file." in seen.text
    assert [seen.row(number)[3] for number in "123"] == ["", "paid for this file", ""]
    assert seen.row("charge")[1] == "2 in the ledger of 'customers'"
    assert seen.row("fingerprint of that ledger")[1] == ledger.fingerprint
    assert seen.row("digest of that charge")[1] == ledger.history()[1].digest
    assert seen.row("digest of the release")[1] == ledger.history()[1].published
    assert seen.row("digest of the configuration")[1] == ledger.history()[1].configuration


def test_a_ledger_that_paid_for_something_else_says_so(ratings: Ratings, tmp_path: Path) -> None:
    """However like it is: another population's charges are never offered as the file's own."""
    mine, others = (
        Ledger.create(tmp_path / name, name, [Limit(Unit.USER, 90.0, 1e-6)])
        for name in ("customers", "staff")
    )
    made = fit(ratings, ledger=mine, epsilon=5.0)
    fit(ratings, ledger=others, epsilon=5.0)
    for release, why in (
        (made, "names another ledger: that of 'customers'"),
        (fit(ratings, epsilon=5.0, ledger="unbooked"), "not recorded in any ledger"),
        (replace(made, guarantee=replace(made.guarantee, provenance=None)), "does not say which"),
    ):
        seen = report(release, tmp_path, ledger=others)
        assert why in seen.text
        assert "No charge of this ledger is known to have paid for this file" in seen.text
        assert "paid for this file" not in seen.row("1")
    free = report(open_clusters(ratings), tmp_path, ledger=others)
    assert "spent nothing that a ledger records, so none of the charges is for it" in free.text


def test_an_old_charge_of_the_release_is_shown_too(ratings: Ratings, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", "customers", [Limit(Unit.USER, 90.0, 1e-6)])
    made = fit(ratings, ledger=ledger, epsilon=0.5)
    for _ in range(25):
        ledger.charge(gaussian(Unit.USER, 0.1).events, "another")
    seen = report(made, tmp_path, ledger=ledger)
    assert seen.row("1")[2:] == ["refined release", "paid for this file"]
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
