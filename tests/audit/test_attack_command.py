"""`discreet attack`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.audit.attacks import ATTACKS, AttackResult
from discreet.audit.attacks._attack import judge
from discreet.ratings import find_shape, make_ratings, write_ratings


def test_the_list_names_every_attack() -> None:
    said = call("attack", "--list")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()] == [*ATTACKS]
    told = json.loads(call("attack", "--list", "--json").out)
    assert [each["name"] for each in told] == [*ATTACKS]
    assert all(each["about"] and each["source"] for each in told)
    some = call("attack", "quotient", "linkage", "--list").out.splitlines()
    assert sorted(line.split()[0] for line in some) == ["linkage", "quotient"]
    assert "unknown attack 'nothing'" in call("attack", "nothing", "--list").complaint()


def test_a_bound_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = np.zeros(20, np.bool_)
    bounds = {"x": 0.73101, "y": 0.7, "z": 0.9999}
    outcomes = tuple(
        judge(name, lost, lost, is_protected=True, bound=lambda _, most=most: most)  # type: ignore[misc]
        for name, most in bounds.items()
    )
    found = AttackResult("quotient", "much", "learn", "right", outcomes, "no remark")
    monkeypatch.setattr("discreet.cli.attack.run_attacks", lambda *_, **__: [found])
    lines = [line.split() for line in call("attack", "quotient").out.splitlines()]
    assert [line[-2] for line in lines if line and line[0] in bounds] == ["73.2", "70.0", "100.0"]


def test_a_table_of_an_attack_on_made_up_ratings() -> None:
    said = call("attack", "quotient", "--seed", 4)
    assert said.code == 0
    lines = said.out.splitlines()
    assert "in the shape of ml-100k" in lines[0]
    (paper,) = (line for line in lines if line.startswith("  the paper's tags"))
    assert "no         100.0 (94.6-100.0)" in paper
    assert any("keyed tags" in line and " yes " in line for line in lines)


def test_several_attacks_on_ratings_of_a_file_in_the_order_they_are_named(tmp_path: Path) -> None:
    data = make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=1)
    path = tmp_path / "ratings.csv"
    write_ratings(data, path)
    told = ("--data", path, "--scale", "1..5", "--catalog", "from-data")
    found = call("attack", "sybils", "quotient", "sybils", *told, "--json").json()
    assert found["note"].startswith("For the curator's eyes only")
    assert [attack["name"] for attack in found["attacks"]] == ["sybils", "quotient"]
    attack = found["attacks"][0]
    assert [outcome["is_protected"] for outcome in attack["outcomes"]] == [False, True, True]
    assert attack["outcomes"][0]["success"] == 1.0


def test_an_attack_that_passes_its_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    won, lost = np.ones(20, np.bool_), np.zeros(20, np.bool_)
    outcomes = tuple(
        judge(name, rights, lost, is_protected=True, bound=lambda _: 0.5)
        for name, rights in (("kept", lost), ("passed", won))
    )
    found = AttackResult("quotient", "much", "learn", "right", outcomes, "no remark")
    monkeypatch.setattr("discreet.cli.attack.run_attacks", lambda *_, **__: [found])
    said = call("attack", "quotient")
    assert said.code == 1
    assert [line.split()[0] for line in said.out.splitlines() if "50.0 PASSED" in line] == [
        "passed"
    ]
    assert "the epsilon is wrong" in said.out
    told = call("attack", "quotient", "--json")
    assert told.code == 1
    (attack,) = json.loads(told.out)["attacks"]
    assert [outcome["within_bound"] for outcome in attack["outcomes"]] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say which attack, or all; see discreet attack --list"),
        (("linkages",), "unknown attack 'linkages'; there are two-releases"),
        (("sybils", "linkages"), "unknown attack 'linkages'; there are two-releases"),
        (("all", "linkages"), "unknown attack 'linkages'; there are two-releases"),
        (("linkage", "--data", "missing.csv"), "missing.csv"),
        (("linkage", "--data", "no/ml-1m"), "no/ml-1m: no such folder; discreet data get ml-1m"),
        (("linkage", "--data", "/no/ml-1ms"), "/no/ml-1ms: no such file\n"),
        (("linkage", "--scale", "1..5"), "no ratings are read: leave --scale out"),
    ],
    ids=[
        "none",
        "unknown",
        "one unknown",
        "unknown beside all",
        "no file",
        "not fetched",
        "no data set",
        "no data",
    ],
)
def test_one_line_says_what_would_be_right(arguments: tuple[str, ...], words: str) -> None:
    assert words in call("attack", *arguments).complaint()
