"""What audits found, on the page: beside the claim, with what was counted, and of this file."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.privacy import Guarantee, PureEvent, Unit
from discreet.report import AuditFinding, make_report, number_up
from release._making import make_release, spent, unprotected
from report._pages import report
from report._reading import see


def test_audits_stand_beside_the_claim(tmp_path: Path) -> None:
    audits = [
        AuditFinding("whole fit", 1.0, 0.41239, 0.95, 1e-6, 2000, False, most=3.21987),
        AuditFinding("halved noise", 1.0, math.inf, 0.99, 0.0, 10, True),
        AuditFinding("fakes", None, 2.0, 0.95, 0.0, 10, False),
        AuditFinding("few runs", 1.0, 0.1, 0.95, 0.0, 10, False, most=0.7),
    ]
    seen = report(make_release(np.zeros((3, 1)), guarantee=spent()), tmp_path, audits=audits)
    assert seen.row("whole fit")[1:] == [
        "1", "0.4123", "3.219", "1e-06", "95 %", "2,000", "not refuted",
    ]  # fmt: skip
    assert seen.row("halved noise")[2] == "above every number"
    assert seen.row("halved noise")[-1] == "CLAIM REFUTED"
    assert seen.row("fakes")[1] == "none"
    assert seen.row("few runs")[-1] == "too few runs to refute"
    assert "No audit was attached" not in seen.text
    assert "None of these audits is of this file" in seen.text
    promise = f"epsilon {number_up(spent().epsilon)} at delta 1e-06, per {spent().unit}."
    assert f"This release claims {promise}" in seen.text


def test_a_refuted_claim_is_seen_first(tmp_path: Path) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    name = f"pipeline/{made.method}/{spent().unit}/gaussian"
    finding = AuditFinding(name, 1.0, 2.0, 0.95, 1e-6, 2000, True)
    other = replace(finding, subject="closed-clusters/tags")
    seen = report(made, tmp_path, audits=[other, finding])
    assert "Not to be relied on: a claim is false" in seen.text
    assert f"refuted what this rests on: {name}. See below" in seen.text
    assert "Differentially private: epsilon" not in seen.text
    right = report(made, tmp_path, audits=[replace(finding, violated=False)])
    assert "Not to be relied on" not in right.text


@pytest.mark.parametrize("subject", ["closed-clusters/tags", "pipeline/slope-one/user/laplace"])
def test_another_part_of_the_program_is_not_what_this_rests_on(
    tmp_path: Path, subject: str
) -> None:
    finding = AuditFinding(subject, 0.0, 0.01, 0.95, 0.0, 2000, True)
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    seen = report(made, tmp_path, audits=[finding])
    assert f"An audit refuted a part of the program: {subject}." in seen.text
    assert "what this rests on" not in seen.text and "Not to be relied on" not in seen.text
    assert ("div", {"class": "verdict no"}) in seen.tags


def test_canaries_and_notes_are_told(tmp_path: Path) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    counted = "82 of 120 guesses about 400 canaries were right"
    own = AuditFinding(
        "release", spent().epsilon, 0.1, 0.95, 1e-6, 120, False, seen=counted, note="below. More."
    )
    part = AuditFinding("laplace", 2.0, 1.9, 0.95, 0.0, 10, False, note="below.")
    seen = report(made, tmp_path, audits=[own, part, part])
    assert "mixed with made-up users, the canaries" in seen.text and f"{counted}." in seen.text
    assert "The subject release is this file" in seen.text
    assert seen.text.count("The audit notes: ") == 1
    assert "The audit notes: below. More." in seen.text
    other = report(made, tmp_path, audits=[part])
    assert "canaries, and the audit guessed" not in other.text
    assert "The audit notes: below." in other.text


def test_an_audit_of_another_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    make_release(np.zeros((3, 1)), guarantee=spent()).save(path)
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    own = AuditFinding("release", spent().epsilon, 0.1, 0.95, 1e-6, 100, False)
    for same in (own, replace(own, release_sha256=sha)):
        assert see(make_report(path, audits=[same])).row("release")[-1] == "not refuted"
    part = replace(own, subject="pipeline/refined", claimed_epsilon=1.0)
    assert see(make_report(path, audits=[part])).row("pipeline/refined")[1] == "1"
    for other in (
        replace(own, release_sha256=sha[::-1]),
        replace(part, release_sha256=sha[::-1]),
        replace(own, claimed_epsilon=own.claimed_epsilon and own.claimed_epsilon * 1.01),
        replace(own, claimed_epsilon=None),
        replace(own, delta=1e-5),
        replace(own, delta=0.0),
    ):
        with pytest.raises(InputError, match="this is not the release that was audited"):
            make_report(path, audits=[own, other])
    make_release(np.zeros((3, 1)), guarantee=unprotected()).save(path)
    with pytest.raises(InputError, match="which claims epsilon"):
        make_report(path, audits=[own])


def test_a_pure_claim_is_told_at_delta_0(tmp_path: Path) -> None:
    event = PureEvent(unit=Unit.RATING, label="x", epsilon=0.7, mechanism="coin")
    promise = Guarantee(Unit.RATING, (event,), 1e-6)
    finding = AuditFinding("release", 0.7, 0.1, 0.95, 0.0, 100, False)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path, audits=[finding])
    assert seen.row("release")[1] == "0.7"
