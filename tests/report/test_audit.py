"""An audit's findings, read from what `discreet audit --json` prints."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import InputError
from discreet.report import AuditFile, AuditFinding, read_audit, read_audits

FINDING = {
    "subject": "item counts",
    "claimed_epsilon": 1.0,
    "audited_epsilon": 0.8,
    "confidence": 0.95,
    "delta": 0.0,
    "runs": 1000,
}


def written(folder: Path, content: Any) -> Path:
    path = folder / "audit.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    "content", [FINDING, [FINDING], {"note": "x", "seed": [1], "left": [{}], "findings": [FINDING]}]
)
def test_one_finding_a_list_or_an_object_with_a_list(tmp_path: Path, content: Any) -> None:
    path = written(tmp_path, content)
    (found,) = read_audit(path)
    note = "x" if "note" in content else ""
    file = AuditFile("audit.json", hashlib.sha256(path.read_bytes()).hexdigest())
    assert found == AuditFinding(
        "item counts", 1.0, 0.8, 0.95, 0.0, 1000, False, note=note, file=file
    )


def test_how_an_audit_was_made_is_read(tmp_path: Path) -> None:
    told = {"version": "0.0.9", "time": "2030-01-02T03:04:05Z", "seed": 0, "command": "discreet a"}
    path = written(tmp_path, told | {"findings": [FINDING, FINDING]})
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    file = AuditFile("audit.json", sha256, "0.0.9", "2030-01-02T03:04:05Z", 0, "discreet a")
    assert [one.file for one in read_audit(path)] == [file, file]


def test_one_audit_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, FINDING)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(FINDING | {"runs": 2000}))
    assert [one.runs for one in read_audits([path, other])] == [1000, 2000]
    copy = tmp_path / "copy.json"
    copy.write_bytes(path.read_bytes())
    for again in (path, copy):
        with pytest.raises(InputError, match=r"is the same audit as .*audit\.json; give each once"):
            read_audits([path, other, again])


def test_what_was_counted_and_could_have_been_shown_is_read(tmp_path: Path) -> None:
    told = {"most": 4.5, "seen": "9 of 10 guesses were right"}
    (found,) = read_audit(written(tmp_path, {"note": "n", "findings": [FINDING | told]}))
    assert (found.most, found.seen, found.note) == (4.5, told["seen"], "n")
    assert found.can_refute
    (few,) = read_audit(written(tmp_path, FINDING | {"most": 1.0}))
    assert not few.can_refute
    (untold,) = read_audit(written(tmp_path, FINDING | {"most": None}))
    assert untold.most is None and untold.can_refute


def test_a_refuted_claim_is_one_whoever_says_so(tmp_path: Path) -> None:
    many = [
        FINDING | {"audited_epsilon": 1.2},
        FINDING | {"violated": True},
        FINDING | {"audited_epsilon": None},
        FINDING | {"claimed_epsilon": None},
    ]
    found = read_audit(written(tmp_path, many))
    assert [one.violated for one in found] == [True, True, True, False]
    assert found[2].audited_epsilon == math.inf
    assert found[3].claimed_epsilon is None


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        "7",
        '"text"',
        {"findings": []},
        [FINDING, {"subject": "x"}],
        FINDING | {"confidence": "high"},
        FINDING | {"runs": -1},
        FINDING | {"subject": ""},
        FINDING | {"delta": True},
        FINDING | {"most": "much"},
        FINDING | {"seen": 7},
        {"note": 7, "findings": [FINDING]},
        {"version": 7, "findings": [FINDING]},
        '[{"subject": "x", "claimed_epsilon": NaN}]',
    ],
)
def test_what_is_no_audit_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match="contains no audit"):
        read_audit(written(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        {"planted": True, "findings": [FINDING]},
        FINDING | {"planted": True},
        [FINDING, FINDING | {"planted": True}],
        {"findings": [FINDING | {"planted": True}]},
    ],
)
def test_planted_bugs_are_no_audit_of_a_release(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match="bugs that were planted on purpose"):
        read_audit(written(tmp_path, content))


def test_the_audited_release_is_known_by_its_digest(tmp_path: Path) -> None:
    whole = {"planted": False, "release_sha256": "AB12", "findings": [FINDING]}
    assert [one.release_sha256 for one in read_audit(written(tmp_path, whole))] == ["ab12"]
    assert read_audit(written(tmp_path, FINDING))[0].release_sha256 is None
    with pytest.raises(InputError, match="contains no audit"):
        read_audit(written(tmp_path, whole | {"release_sha256": 7}))


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not JSON; give what discreet audit --json printed"):
        read_audit(written(tmp_path, "{"))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_audit(tmp_path / "nothing.json")
