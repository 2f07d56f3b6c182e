"""`discreet choose-epsilon`: the table, the sentence, JSON, pictures and faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli._calling import call, write_sample

WORTH = ("--value-of-utility", 100, "--cost-of-breach", 50)
QUICK = (
    *WORTH, "--shape", "200,30,4000", "--attacks", 8, "--draws", 2, "--epsilons", "0.5,50",
    "--methods", "slope-one,randomized-response,slope-one-answers",
)  # fmt: skip


def test_made_up_ratings_give_a_table_and_a_sentence(tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    said = call("choose-epsilon", *QUICK, "-o", picture)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].startswith("Synthetic ratings: nobody's were used")
    table = [" ".join(line.split()) for line in lines]
    begin = table.index("method epsilon utility risk RMSE value") + 1
    body = table[begin : begin + 6]
    assert [line.split(" ")[0] for line in body] == [
        "slope-one", "slope-one", "randomized-response", "randomized-response",
        "slope-one-answers", "slope-one-answers",
    ]  # fmt: skip
    assert sum(" * " in line for line in body) == 3, "each method has its best"
    assert any("by majority." in line for line in lines)
    assert lines[-1].startswith("With ") and " at epsilon " in lines[-1]
    assert lines[-1].endswith("within the accuracy of this experiment.")
    assert lines[-1].count(". ") == 0, "one sentence"
    assert all(len(line.rstrip()) <= 80 and "…" not in line for line in lines[2:9])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_scripts_get_json() -> None:
    told = call("choose-epsilon", *QUICK, "--json").json()
    assert len(told["rows"]) == 6
    assert {choice["method"] for choice in told["choices"]} == {
        "slope-one", "randomized-response", "slope-one-answers",
    }  # fmt: skip
    best = told["choices"][0]
    assert best["value"] == max(choice["value"] for choice in told["choices"])
    assert best["epsilon"] in best["as_good"]
    assert (
        f"With {best['method']} at epsilon {best['epsilon']:g} per {best['of']}"
        in (told["sentence"])
    )
    (row,) = (
        row for row in told["rows"]
        if (row["method"], row["epsilon"]) == (best["method"], best["epsilon"])
    )  # fmt: skip
    assert best["value"] == pytest.approx(100 * row["utility"] - 50 * row["risk"])
    assert {"risk_band", "prior", "majority", "utility_band", "excess_band"} <= row.keys()


def test_somebodys_ratings_are_for_the_curators_eyes_only(tmp_path: Path) -> None:
    sample = write_sample(tmp_path)
    quick = ("--attacks", 4, "--draws", 2, "--epsilons", "1", "--methods", "covariance")
    said = call("choose-epsilon", *sample, *WORTH, *quick, "--protect", "rating")
    assert said.code == 0, said.err
    assert said.out.startswith("For the curator's eyes only: these figures and the choice depend")
    assert "per rating" in said.out.splitlines()[-1]
    assert "no other epsilon that was tried is as good" in said.out
    told = ("--implicit", *quick[:-1], "lists")
    clicks = call("choose-epsilon", sample[0], *sample[-2:], *WORTH, *told)
    assert clicks.code == 0, clicks.err
    assert "finds out whether a record is there" in clicks.out


def test_the_end_of_what_was_tried_is_told_of() -> None:
    greedy = ("--value-of-utility", 1, "--cost-of-breach", 0, *QUICK[4:])
    assert (
        "epsilon 50 is at the end of those that were tried" in call("choose-epsilon", *greedy).err
    )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--epsilons", "1;4"), "like --epsilons 0.5,1,4"),
        (("--epsilons", "1,0"), "epsilon must be above 0, not 0"),
        (("--epsilons", "inf"), "epsilons must be finite"),
        (("--delta", "0"), "delta"),
        (("--draws", "1"), "at least 2 draws"),
        (("--attacks", "1"), "attacks can be made"),
        (("--methods", "magic"), "there is no method 'magic'"),
        (("--shape", "2000,50"), "users,items,ratings"),
        (("--shape", "moon"), "moon"),
        (("--cost-of-breach", "-1"), "--cost-of-breach is a number from 0 on"),
        (("--value-of-utility", "0", "--cost-of-breach", "0"), "every epsilon is equally good"),
        (("--protect", "nobody"), "protect is one of rating, user"),
        (("-o", "gone/p.png"), "gone/p.png"),
        (("-o", "p.pdf"), ".png"),
    ],
)
def test_what_cannot_be_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint in call("choose-epsilon", *QUICK, *options).complaint()
    assert list(tmp_path.iterdir()) == []


def test_both_worths_must_be_said() -> None:
    assert "'--cost-of-breach'" in call("choose-epsilon", "--value-of-utility", 1).complaint()
