"""The box on top: green for a promise, amber for a weak one, red for none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.methods import fit
from discreet.privacy import GaussianEvent, Guarantee, PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.report import AuditFinding, _page
from release._making import make_release, spent, unprotected
from report._pages import RECORDED, gaussian, report, report_of_canaries
from report._reading import Seen

LITTLE = "An epsilon above 10 promises little on its own"
IN_PART = "It protects a person only in part: guesses between two equally likely cases may be right"
PAGE = Path(__file__).parents[2] / "web" / "js" / "page" / "privacy.js"
NOT_FOR_USE = "it is meant for an audit, not for predictions"


def colour(seen: Seen) -> str:
    """The kinds of the box."""
    (kind,) = (a["class"] for tag, a in seen.tags if tag == "div" and "verdict" in str(a["class"]))
    return str(kind).removeprefix("verdict").strip()


def inside(seen: Seen) -> str:
    return seen.text.split("What was published")[0]


def canaries(guarantee: Guarantee, *, violated: bool = False) -> AuditFinding:
    return AuditFinding("release", guarantee.epsilon, 0.1, 0.95, 1e-6, 100, violated)


@pytest.mark.parametrize(
    ("epsilon", "warning"),
    [
        (1.0, ""),
        (2.19, ""),
        (2.2, f"{IN_PART} 90.1 % of the time."),
        (3.0, f"{IN_PART} 95.3 % of the time."),
        (9.99, f"{IN_PART} 100 % of the time."),
        (10.1, LITTLE),
        (50, LITTLE),
    ],
)
def test_a_large_epsilon_is_amber(tmp_path: Path, epsilon: float, warning: str) -> None:
    promise = replace(gaussian(Unit.USER, epsilon), provenance=RECORDED)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    assert colour(seen) == ("weak" if warning else "")
    for each in (IN_PART, LITTLE):
        assert (each in inside(seen)) == warning.startswith(each)
    assert warning in inside(seen)
    is_little = any(said.startswith(LITTLE) for said in promise.sentences())
    assert is_little == (warning == LITTLE)
    assert ("Differentially private, with a warning: epsilon" in inside(seen)) == bool(warning)


def test_it_is_amber_where_the_page_says_only_in_part() -> None:
    (fair,) = re.findall(r'\[(\d+), "fair"\], \[\d+, "weak"\]', PAGE.read_text(encoding="utf-8"))
    assert int(fair) == 100 * _page._MOST_RIGHT


def test_single_ratings_and_weeks_may_be_protected_in_part(tmp_path: Path) -> None:
    for unit, whom in ((Unit.RATING, "a rating"), (Unit.USER_WEEK, "a person's week")):
        made = make_release(np.zeros((3, 1)), guarantee=gaussian(unit, 3.0))
        said = inside(report(made, tmp_path))
        assert f"It protects {whom} only in part: " in said and "not people" in said


def test_a_large_epsilon_is_told_as_guesses(tmp_path: Path) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=gaussian(Unit.USER, 50))
    assert "may be right 100 % of the time" in inside(report(made, tmp_path))


def test_a_delta_that_is_not_small_is_amber(tmp_path: Path) -> None:
    event = GaussianEvent(unit=Unit.USER, label="x", sensitivity=1.0, sigma=2.0)
    promise = Guarantee(Unit.USER, (event,), 0.19)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    assert colour(seen) == "weak" and "A delta of 0.19 is not small" in inside(seen)


@pytest.mark.parametrize(("violated", "kind"), [(False, "weak"), (True, "no")])
def test_canaries_are_amber_unless_a_claim_is_refuted(
    tmp_path: Path, violated: bool, kind: str
) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    seen = report_of_canaries(made, tmp_path, canaries(spent(), violated=violated))
    assert colour(seen) == kind and NOT_FOR_USE in inside(seen)


def test_without_a_promise_it_is_red_with_canaries_too(tmp_path: Path) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=unprotected())
    assert colour(report(made, tmp_path)) == "no"
    seen = report_of_canaries(made, tmp_path, canaries(spent()))
    assert colour(seen) == "no" and NOT_FOR_USE in inside(seen)


def test_a_promise_about_ratings_says_what_it_is_for_a_person(tmp_path: Path) -> None:
    kinds = ((None, "no bound", "weak"), (7, "epsilon 0.7", ""), (700, "epsilon 70", "weak"))
    for most, bound, kind in kinds:
        event = PureEvent(
            unit=Unit.RATING, label="x", epsilon=0.1, mechanism="coin", ratings_per_user=most
        )
        promise = Guarantee(Unit.RATING, (event,), 0.0, provenance=RECORDED)
        seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
        assert f"A person's whole history: {bound}." in inside(seen) and colour(seen) == kind
        assert ("protects single ratings" in inside(seen)) == bool(kind)
    person = report(make_release(np.zeros((3, 1)), guarantee=gaussian(Unit.USER, 1.0)), tmp_path)
    assert "whole history" not in inside(person)


def made_with(ratings: Ratings, path: Path) -> tuple[Ledger, Release]:
    ledger = Ledger.create(path, path.name, [Limit(Unit.USER, 90.0, 1e-6)])
    return ledger, fit(ratings, epsilon=1.0, ledger=ledger)


def test_a_release_beside_the_ledger_that_paid_for_it_is_green(
    ratings: Ratings, tmp_path: Path
) -> None:
    ledger, release = made_with(ratings, tmp_path / "customers")
    seen = report(release, tmp_path, ledger=ledger)
    assert colour(seen) == "" and "Charge 1 of this ledger paid for this file." in inside(seen)
    alone = report(release, tmp_path)
    assert colour(alone) == ""
    assert "as charge 1 in the ledger of 'customers'. No ledger was given" in inside(alone)


def test_a_release_that_no_ledger_counts_is_amber(ratings: Ratings, tmp_path: Path) -> None:
    ledger, release = made_with(ratings, tmp_path / "customers")
    unbooked = fit(ratings, epsilon=1.0, ledger="unbooked")
    for told in ({}, {"ledger": ledger}):
        seen = report(unbooked, tmp_path, **told)
        assert colour(seen) == "weak" and "not recorded in any ledger" in inside(seen)
    silent = replace(release, guarantee=replace(release.guarantee, provenance=None))
    assert "discreet 0.1.0, which made it, did not note that" in inside(report(silent, tmp_path))
    for told in ({}, {"ledger": ledger}):
        assert colour(report(silent, tmp_path, **told)) == "weak"


def test_a_ledger_of_others_is_amber_and_one_that_denies_the_file_red(
    ratings: Ratings, tmp_path: Path
) -> None:
    ledger, release = made_with(ratings, tmp_path / "customers")
    other, _ = made_with(ratings, tmp_path / "staff")
    seen = report(release, tmp_path, ledger=other)
    assert colour(seen) == "weak" and "names another ledger" in inside(seen)
    forged = replace(release, parameters=dict(release.parameters) | {"global_mean": 4.0})
    seen = report(forged, tmp_path, ledger=ledger)
    assert colour(seen) == "no" and "paid for another file" in inside(seen)
    assert "this file and this ledger do not belong together" in inside(seen)
