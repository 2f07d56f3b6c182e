"""`discreet audit` and `discreet plant-canaries`: tables, JSON, exit codes, faults."""

from __future__ import annotations

import datetime
import hashlib
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call, write_sample
from discreet import __version__
from discreet.audit.lower_bound import PLANTED, SUBJECTS
from discreet.audit.stability import PLANTED_READERS, READERS
from discreet.domain import InputError
from discreet.report import make_report, read_audit
from release._making import make_release, spent
from report._reading import see

HONEST = "no audit can show that something is safe"


def test_the_list_has_every_subject() -> None:
    said = call("audit", "--list")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()] == [*SUBJECTS, *READERS]
    bugs = call("audit", "--list", "--planted", "--json").json()
    assert [each["name"] for each in bugs] == [*PLANTED, *PLANTED_READERS]  # type: ignore[index]
    assert all(each["about"] for each in bugs)  # type: ignore[index]


def test_the_list_has_what_was_named() -> None:
    said = call("audit", "--list", "gaussian", "level")
    names = [line.split()[0] for line in said.out.splitlines()]
    assert names == [n for n in SUBJECTS if n.split("/")[0] in ("gaussian", "level")]
    assert "there is no subject 'nothing'" in call("audit", "--list", "nothing").complaint()


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


def test_the_table_and_a_report_round_alike(tmp_path: Path) -> None:
    """What is claimed up, what was proved down: 1.9579 is not 1.958."""
    told = ("audit", "laplace", "gaussian/vector", "--runs", 3000, "--seed", 2)
    lines = {line.split()[0]: line.split() for line in call(*told).out.splitlines()[1:5]}
    plain = call(*told, "--json")
    (tmp_path / "a.json").write_text(plain.out)
    make_release(np.zeros((3, 1)), guarantee=spent()).save(tmp_path / "m.discreet")
    audits = read_audit(tmp_path / "a.json")
    seen = see(make_report(tmp_path / "m.discreet", audits=audits))
    for one in plain.json()["findings"]:
        line, row = lines[one["subject"]], seen.row(one["subject"])
        assert line[1:2] == row[1:2] and line[3] == row[2] and float(line[2]) == float(row[4])
        assert float(line[3]) <= one["audited_epsilon"] <= float(line[3]) * 1.001
        assert float(line[1]) >= one["claimed_epsilon"] * (1 - 1e-8)
        assert float(line[4]) <= 100 * one["reached"]


def test_json_says_the_same() -> None:
    told = ("audit", "gaussian/vector", "--runs", 1000, "--seed", 1, "--confidence", 0.99)
    found = call(*told, "--json").json()
    assert HONEST in found["note"] and found["confidence"] == 0.99 and found["violated"] == 0
    assert (found["version"], found["seed"]) == (__version__, 1)
    assert found["command"] == shlex.join(["discreet", *map(str, told), "--json"])
    made = datetime.datetime.fromisoformat(found["time"])
    assert made.tzinfo is datetime.UTC
    assert abs(datetime.datetime.now(datetime.UTC) - made) < datetime.timedelta(minutes=10)
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
    monkeypatch.setattr("discreet.audit._auditing.SUBJECTS", broken)
    monkeypatch.setattr("discreet.audit._auditing.READERS", {})
    said = call("audit", "all", "--seed", 1)
    assert said.code == 1
    assert "VIOLATED" in said.out and "an event came up" in said.out


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ((), "say what to audit: a name from --list, or all"),
        (("nothing",), "no subject 'nothing'; see discreet audit --list"),
        (("half-noise",), "no subject 'half-noise'; that is a bug planted on purpose: add --plant"),
        (
            ("--planted", "gaussian"),
            "no planted bug 'gaussian'; that is not a bug but the real thing",
        ),
        (("--planted", "x"), "no planted bug 'x'; see discreet audit --planted --list"),
        (("laplace", "nothing"), "there is no subject 'nothing'"),
        (("laplace", "--runs", 3), "an audit makes from 40"),
        (("laplace", "--confidence", 2), "confidence is from 0.5 to below 1"),
        (("laplace", "--search", -1), "number of steps from 0 on"),
        (("gaussian", "laplace", "--search", 5), "none of these subjects is one; leave it out"),
        (("--release", "a.discreet"), "give --release and --canaries"),
        (("--canaries", "key", "all"), "leave names, --planted and --list out"),
        (("--release", "a", "--canaries", "key", "--runs", 99), "leave --runs, --search and"),
        (("--release", "a", "--canaries", "key", "--search", 9), "leave --runs, --search and"),
        (("--release", "a", "--canaries", "key", "--seed", 0), "leave --runs, --search and"),
        (("--release", "a", "--canaries", "absent"), "absent: cannot be read: No such file"),
    ],
)
def test_what_cannot_be_audited_is_one_line(told: tuple[object, ...], complaint: str) -> None:
    assert complaint in call("audit", *told).complaint()


def test_from_planting_canaries_to_auditing_a_release(tmp_path: Path) -> None:
    path, *reading = write_sample(tmp_path)
    mixed, key, made = (tmp_path / name for name in ("mixed.csv", "key.json", "a.discreet"))
    planted = call("plant-canaries", path, *reading, "--count", 60, "-o", mixed, "--key", key)
    assert planted.code == 0, planted.err
    assert "of 60 canaries;" in planted.err
    inside = sum(json.loads(key.read_text())["included"])
    before, after = (len(Path(p).read_text().splitlines()) for p in (path, mixed))
    assert after == before + inside
    fitted = call("fit", "--no-ledger", mixed, *reading, "--epsilon", 1, "-o", made)
    assert fitted.code == 0, fitted.err
    found = call("audit", "--release", made, "--canaries", key, "--json").json()
    assert found["planted"] is False
    assert found["release_sha256"] == hashlib.sha256(made.read_bytes()).hexdigest()
    assert "without these canaries looks the same" in found["note"]
    (one,) = found["findings"]
    assert one["most"] > 1
    assert one["subject"] == "release" and one["distinguisher"] == "one run"
    assert one["claimed_epsilon"] == pytest.approx(1.0, rel=1e-6) and not one["violated"]
    assert (
        "is not a key of canaries"
        in call("audit", "--release", made, "--canaries", path).complaint()
    )
    table = call("audit", "--release", made, "--canaries", key).out
    assert one["seen"] in table and "without these canaries looks the same" in table


def test_too_few_runs_to_refute_anything_are_told() -> None:
    told = ("audit", "laplace/vector", "gaussian/vector", "--runs", 40, "--confidence", 0.9999)
    said = call(*told)
    assert said.code == 0 and said.out.count("  too few runs to refute\n") == 2
    found = call(*told, "--json").json()
    assert all(0 < one["most"] < one["claimed_epsilon"] for one in found["findings"])
    assert found["planted"] is False and "release_sha256" not in found


@pytest.mark.parametrize(
    ("output", "key"),
    [
        ("ratings.csv", "key.json"), ("link.csv", "key.json"), ("items.csv", "key.json"),
        ("mixed.csv", "ratings.csv"), ("mixed.csv", "items.csv"), ("mixed.csv", "mixed.csv"),
        ("mixed.csv", "./sub/../mixed.csv"), ("mixed.csv", "notes.txt"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("overwrite", [False, True])
def test_planting_writes_over_nothing(
    tmp_path: Path, output: str, key: str, overwrite: bool
) -> None:
    path, *reading = write_sample(tmp_path)
    (tmp_path / "link.csv").symlink_to(path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    before = {each: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}
    told = ("--count", 60, "-o", tmp_path / output, "--key", f"{tmp_path}/{key}")
    flags = ["--overwrite"] if overwrite else []
    said = call("plant-canaries", path, *reading, *told, *flags).complaint()
    assert "choose another name" in said
    assert {each: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()} == before


def test_planting_writes_over_no_file_of_a_folder_of_ratings(tmp_path: Path) -> None:
    path, *_ = write_sample(tmp_path)
    told = ("-o", path, "--key", tmp_path / "key.json", "--scale", "1..5")
    said = call("plant-canaries", tmp_path, *told).complaint()
    assert "is a file of the ratings" in said and not (tmp_path / "key.json").exists()


def test_a_key_is_there_before_the_ratings_and_an_old_one_stays_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, *reading = write_sample(tmp_path)
    mixed, key = tmp_path / "mixed.csv", tmp_path / "key.json"
    told = ("plant-canaries", path, *reading, "--count", 60, "-o", mixed, "--key", key)

    def fail(*_: object) -> None:
        raise InputError("no room")

    with monkeypatch.context() as patched:
        patched.setattr("discreet.cli.plant_canaries.write_ratings", fail)
        assert "no room" in call(*told).complaint()
    assert key.exists() and not mixed.exists()
    before = key.read_bytes()
    assert "key.json: exists; choose another name, or give --overwrite" in call(*told).complaint()
    assert key.read_bytes() == before and not mixed.exists()
    assert call(*told, "--overwrite").code == 0 and mixed.exists()
    first = mixed.read_bytes()
    key.unlink()
    assert "mixed.csv: exists; choose another name, or" in call(*told).complaint()
    assert mixed.read_bytes() == first and not key.exists()


def test_an_output_of_another_kind_leaves_no_key(tmp_path: Path) -> None:
    path, *reading = write_sample(tmp_path)
    told = ("--count", 60, "-o", tmp_path / "mixed.txt", "--key", tmp_path / "key.json")
    said = call("plant-canaries", path, *reading, *told).complaint()
    assert "ratings are written as .parquet or .csv" in said
    assert not (tmp_path / "key.json").exists()


def test_planted_ratings_keep_what_there_was(tmp_path: Path) -> None:
    """Names and times of everybody, row by row; canaries come after them."""
    path, *reading = write_sample(tmp_path)
    rows = [line.split(",") for line in Path(path).read_text().splitlines()]
    assert rows[0] == ["user", "item", "rating", "time"]
    named = [rows[0], *(["u" + user, *rest] for user, *rest in rows[1:])]
    named.insert(1, ["canary-0", *rows[1][1:]])  # a name that is taken
    Path(path).write_text("".join(",".join(row) + "\n" for row in named))
    mixed = tmp_path / "mixed.csv"
    told = ("--count", 60, "-o", mixed, "--key", tmp_path / "key.json")
    assert call("plant-canaries", path, *reading, *told).code == 0
    made = [line.split(",") for line in mixed.read_text().splitlines()]
    inside = sum(json.loads((tmp_path / "key.json").read_text())["included"])
    assert sorted(made[: len(named)]) == sorted(named) and len(made) == len(named) + inside
    canaries, latest = made[len(named) :], max(int(row[3]) for row in named[1:])
    users = {row[0] for row in canaries}
    assert len(users) == inside and not users & {row[0] for row in named}
    assert all(row[2:] == ["5", str(latest)] for row in canaries)


def test_a_catalogue_from_data_is_refused_with_the_reason(tmp_path: Path) -> None:
    path, *_ = write_sample(tmp_path)
    told = ("--scale", "1..5", "-o", tmp_path / "m.csv", "--key", tmp_path / "k.json")
    said = call("plant-canaries", path, "--catalog", "from-data", *told).complaint()
    assert "from-data lists only items that somebody" in said and "--catalog a file" in said
    wrong = ("--scale", "from-data", "--catalog", tmp_path / "items.csv", *told[2:])
    assert "'from-data' is not a scale" in call("plant-canaries", path, *wrong).complaint()
    assert not (tmp_path / "k.json").exists() and not (tmp_path / "m.csv").exists()
