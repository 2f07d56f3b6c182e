"""What audits found, on the page: beside the claim, with what was counted, and of this file."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet import __version__
from discreet.domain import InputError
from discreet.report import AuditFile, AuditFinding, make_report, number_up
from release._making import make_release, spent
from report._pages import report, report_of_canaries
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
    assert "Do not rely on this release: a claim is false" in seen.text
    assert f"refuted what it rests on: {name}. See below" in seen.text
    assert "Differentially private: epsilon" not in seen.text
    right = report(made, tmp_path, audits=[replace(finding, violated=False)])
    assert "Do not rely" not in right.text


@pytest.mark.parametrize("subject", ["closed-clusters/tags", "pipeline/slope-one/user/laplace"])
def test_another_part_of_the_program_is_not_what_this_rests_on(
    tmp_path: Path, subject: str
) -> None:
    finding = AuditFinding(subject, 0.0, 0.01, 0.95, 0.0, 2000, True)
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    seen = report(made, tmp_path, audits=[finding])
    assert f"An audit refuted another part: {subject}." in seen.text
    assert "what it rests on" not in seen.text and "Do not rely" not in seen.text
    assert ("div", {"class": "verdict no"}) in seen.tags


def test_canaries_and_notes_are_told(tmp_path: Path) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    counted = "82 of 120 guesses about 400 canaries were right"
    own = AuditFinding(
        "release", spent().epsilon, 0.1, 0.95, 1e-6, 120, False, seen=counted, note="below. More."
    )
    part = AuditFinding("laplace", 2.0, 1.9, 0.95, 0.0, 10, False, note="below.")
    seen = report_of_canaries(made, tmp_path, own, part, part)
    assert "mixed with synthetic users, the canaries" in seen.text and f"{counted}." in seen.text
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
    own = AuditFinding("release", spent().epsilon, 0.1, 0.95, 1e-6, 100, False, release_sha256=sha)
    assert see(make_report(path, audits=[own])).row("release")[-1] == "not refuted"
    part = replace(own, subject="pipeline/refined", claimed_epsilon=1.0, release_sha256=None)
    assert see(make_report(path, audits=[part])).row("pipeline/refined")[1] == "1"
    for other in (replace(own, release_sha256=sha[::-1]), replace(part, release_sha256=sha[::-1])):
        with pytest.raises(InputError, match="this is not the release that was audited"):
            make_report(path, audits=[own, other])


def test_an_audit_of_a_release_says_which(tmp_path: Path) -> None:
    """What it claims is no proof: another release claims the same."""
    path = tmp_path / "films.discreet"
    make_release(np.zeros((3, 1)), guarantee=spent()).save(path)
    finding = AuditFinding("release", spent().epsilon, 0.1, 0.95, 1e-6, 100, False)
    file = AuditFile("a.json", "00")
    with pytest.raises(InputError, match=r"a\.json: does not say which release was audited"):
        make_report(path, audits=[replace(finding, file=file)])


def test_where_findings_come_from_is_told(tmp_path: Path) -> None:
    made = make_release(np.zeros((3, 1)), guarantee=spent())
    command = "discreet audit laplace --seed 4 --json"
    file = AuditFile("a.json", "ab" * 32, __version__, "2030-01-02T03:04:05Z", 4, command)
    finding = AuditFinding("laplace", 2.0, 1.9, 0.95, 0.0, 10, False, file=file)
    seen = report(made, tmp_path, audits=[finding, replace(finding, subject="gumbel")])
    assert [row[1] for row in seen.rows if row[0] == "audit file"] == ["a.json"]
    told = {"its SHA-256": "ab" * 32, "made by": f"discreet {__version__}", "seed": "4"}
    told |= {"made at": "2030-01-02T03:04:05Z", "command": command}
    assert {name: seen.row(name)[1] for name in told} == told
    assert "Warning" not in seen.text
    for version, by in (("0.0.9", "by discreet 0.0.9"), ("", "by an unknown version")):
        old = replace(finding, file=replace(file, version=version))
        said = f"Warning: a.json was made {by}, and this page by {__version__}."
        assert said in report(made, tmp_path, audits=[old]).text
