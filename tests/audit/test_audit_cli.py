"""`discreet audit` and `discreet plant-canaries`: tables, JSON, exit codes, faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli._calling import call, write_sample
from discreet.audit.lower_bound import SUBJECTS
from discreet.audit.lower_bound.planted import PLANTED

HONEST = "no audit can show that something is safe"


def test_the_list_has_every_subject() -> None:
    said = call("audit", "--list")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()] == list(SUBJECTS)
    bugs = call("audit", "--list", "--planted", "--json").json()
    assert [each["name"] for each in bugs] == list(PLANTED)  # type: ignore[index]
    assert all(each["about"] for each in bugs)  # type: ignore[index]


def test_a_table_has_claimed_and_audited_side_by_side() -> None:
    said = call("audit", "laplace", "randomized-response", "--runs", 2000, "--seed", 1)
    assert said.code == 0, said.err
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0] == ["subject", "claimed", "delta", "audited", "of", "it", "verdict"]
    assert [line[0] for line in lines[1:5]] == [
        "laplace/step-1", "laplace/step-1048576", "laplace/vector", "randomized-response",
    ]  # fmt: skip
    assert all(line[-2:] == ["not", "refuted"] for line in lines[1:5])
    assert all(0 < float(line[3]) < float(line[1]) for line in lines[1:5])
    assert HONEST in said.out and "each at 0.9875" in said.out


def test_json_says_the_same() -> None:
    told = ("audit", "gaussian/vector", "--runs", 1000, "--seed", 1, "--confidence", 0.99)
    found = call(*told, "--json").json()
    assert HONEST in found["note"] and found["confidence"] == 0.99 and found["violated"] == 0
    (one,) = found["findings"]
    assert one["subject"] == "gaussian/vector" and one["claimed_mu"] == pytest.approx(2.0)
    assert 0 < one["audited_mu"] < 2 and one["distinguisher"] == "analytic"
    assert one["confidence"] == pytest.approx(0.99)


def test_planted_bugs_are_caught_and_one_that_is_missed_is_an_error() -> None:
    said = call("audit", "--planted", "half-noise", "paper-002", "--seed", 1)
    assert said.code == 0
    assert said.out.count("  caught\n") == 4 and "MISSED" not in said.out
    few = call("audit", "--planted", "half-noise/laplace", "--runs", 40, "--seed", 1)
    assert few.code == 1 and "MISSED" in few.out


def test_a_violation_is_told_and_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"mine/half": PLANTED["half-noise/laplace"]}
    monkeypatch.setattr("discreet.audit.lower_bound.SUBJECTS", broken)
    said = call("audit", "all", "--seed", 1)
    assert said.code == 1
    assert "VIOLATED" in said.out and "an event came up" in said.out


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ((), "say what to audit: a name from --list, or all"),
        (("nothing",), "there is no subject 'nothing'"),
        (("laplace", "--runs", 3), "an audit makes from 40"),
        (("laplace", "--confidence", 2), "confidence is from 0.5 to below 1"),
        (("laplace", "--search", -1), "number of steps from 0 on"),
        (("--release", "a.discreet"), "say --release and --canaries"),
        (("--canaries", "key", "all"), "leave names, --planted and --list out"),
    ],
)
def test_what_cannot_be_audited_is_one_line(told: tuple[object, ...], complaint: str) -> None:
    assert complaint in call("audit", *told).complaint()


def test_from_planting_canaries_to_auditing_a_release(tmp_path: Path) -> None:
    path, *reading = write_sample(tmp_path)
    mixed, key, made = (tmp_path / name for name in ("mixed.csv", "key.json", "a.discreet"))
    planted = call("plant-canaries", path, *reading, "--count", 60, "-o", mixed, "--key", key)
    assert planted.code == 0, planted.err
    assert "of 60 canaries in it" in planted.err
    inside = sum(json.loads(key.read_text())["included"])
    before, after = (len(Path(p).read_text().splitlines()) for p in (path, mixed))
    assert after == before + inside
    fitted = call("fit", mixed, *reading, "--epsilon", 1, "-o", made)
    assert fitted.code == 0, fitted.err
    found = call("audit", "--release", made, "--canaries", key, "--json").json()
    (one,) = found["findings"]
    assert one["subject"] == "release" and one["distinguisher"] == "one run"
    assert one["claimed_epsilon"] == pytest.approx(1.0, rel=1e-6) and not one["violated"]
    assert (
        "is no key of canaries" in call("audit", "--release", made, "--canaries", path).complaint()
    )
