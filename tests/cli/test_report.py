"""`discreet report`: a page, whole or not at all, and never over something else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from release._making import make_release, spent
from report._reading import see

FINDING = {
    "subject": "covariance", "claimed_epsilon": 1.0, "audited_epsilon": 0.5, "confidence": 0.95,
    "delta": 1e-6, "runs": 100,
}  # fmt: skip


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = tmp_path / "m.discreet"
    make_release(np.zeros((3, 1)), guarantee=spent()).save(path)
    return path


def test_a_page_with_ledger_and_audits(release: Path, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "c.ledger", "customers", [Limit(Unit.RATING, 3.0, 1e-6)])
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(FINDING | {"subject": name}))
    page = tmp_path / "r.html"
    said = call(
        "report", release, "-o", page, "--ledger", tmp_path / "c.ledger",
        "--audit", tmp_path / "a.json", "--audit", tmp_path / "b.json",
    )  # fmt: skip
    assert said.code == 1 and "c.ledger did not pay for" in said.err
    assert str(page) in said.out
    seen = see(page.read_text(encoding="utf-8"))
    assert "The ledger of 'customers': 0 charges" in seen.text
    sha256 = hashlib.sha256((tmp_path / "a.json").read_bytes()).hexdigest()
    assert seen.row("audit file")[1] == "a.json" and seen.row("its SHA-256")[1] == sha256
    assert seen.row("a")[1:3] == seen.row("b")[1:3] == ["1", "0.5"]
    before = page.read_bytes()
    assert (
        "exists; choose another name, or give --overwrite"
        in call("report", release, "-o", page).complaint()
    )
    assert page.read_bytes() == before
    assert call("report", release, "-o", page, "--overwrite").code == 0
    assert page.read_bytes() != before


def test_audits_that_are_not_of_this_release_are_refused(release: Path, tmp_path: Path) -> None:
    page, file = tmp_path / "r.html", tmp_path / "a.json"
    for content, words in (
        ({"planted": True, "findings": [FINDING]}, "bugs that were planted on purpose"),
        ({"release_sha256": "00", "findings": [FINDING]}, "not the release that was audited"),
        (FINDING | {"subject": "release"}, "a.json: does not say which release was audited"),
    ):
        file.write_text(json.dumps(content))
        assert words in call("report", release, "-o", page, "--audit", file).complaint()
    file.write_text(json.dumps(FINDING))
    twice = call("report", release, "-o", page, "--audit", file, "--audit", file).complaint()
    assert "is the same audit as" in twice
    assert not page.exists()


def test_it_is_called_report_html(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("report", release.name).code == 0
    assert (
        see((tmp_path / "report.html").read_text(encoding="utf-8")).row("file")[1] == "m.discreet"
    )
    assert "report.html: exists" in call("report", release.name).complaint()


def test_nothing_else_is_overwritten(release: Path, tmp_path: Path) -> None:
    other = tmp_path / "index.html"
    other.write_text("mine")
    assert "is not a report" in call("report", release, "-o", other).complaint()
    assert "is not a report" in call("report", release, "-o", other, "--overwrite").complaint()
    assert other.read_text() == "mine"
    assert "a report is an .html file" in call("report", release, "-o", release).complaint()


def test_a_page_appears_whole_or_not_at_all(release: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    (tmp_path / "a.json").write_text("[]")
    assert (
        "contains no audit"
        in call("report", release, "-o", page, "--audit", tmp_path / "a.json").complaint()
    )
    assert (
        "nowhere"
        in call("report", release, "-o", page, "--ledger", tmp_path / "nowhere").complaint()
    )
    assert "nowhere" in call("report", tmp_path / "nowhere", "-o", page).complaint()
    assert (
        "cannot be written" in call("report", release, "-o", tmp_path / "no" / "r.html").complaint()
    )
    assert {path.name for path in tmp_path.iterdir()} == {"m.discreet", "a.json"}
