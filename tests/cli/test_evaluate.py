"""`discreet evaluate`: tables, JSON, pictures and faults."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli._calling import call, write_sample
from discreet.cli.evaluate import compare_errors
from discreet.evaluate import MODELS, evaluate
from discreet.ratings import make_ratings, read_ratings, split_by_time, split_random

QUICK = ("--models", "private,global-mean,item-mean,user-mean,popularity", "--epsilon", "1,8")
FIRST = (
    "For the curator's eyes only: these figures were computed from private ratings and are not "
    "private."
)
FIGURES = {
    "people", "rmse", "mae", "ndcg_at_10", "ndcg_at_100", "recall_at_20", "mrr", "hit_rate_at_10",
    "coverage", "novelty",
}  # fmt: skip


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_sample(tmp_path_factory.mktemp("sample"))


def rows_of(*arguments: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = call("evaluate", *arguments, "--json").json()["rows"]
    return rows


def test_a_process_compares_every_model(sample: list[str], tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    options = ("--protect", "rating", "--epsilon", "1,8", "--draws", 2, "-o", picture, "--json")
    told = call("evaluate", *sample, *options).json()
    assert told["note"].startswith(f"{FIRST} Evaluating charged no ledger.")
    assert told["left_out"] == []
    rows = told["rows"]
    assert [row["model"] for row in rows] == ["private", *MODELS]
    budgets = {(row["protect"], row["epsilon"], row["delta"]) for row in rows[:2]}
    assert budgets == {("rating", 1.0, 1e-6), ("rating", 8.0, 1e-6)}
    for row in rows:
        assert {"predictor", "rmse_sd", "ndcg_sd", "seconds", "draws"} <= row.keys()
        assert row.keys() >= FIGURES and row["few"].keys() == FIGURES
        assert 0.5 < row["rmse"] < 3 and 0 <= row["ndcg_at_10"] <= 1
        assert (row["rmse_sd"] > 0) == (row["epsilon"] is not None)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("how", [(), ("--split", "random")])
def test_the_global_mean_is_what_a_reader_of_the_files_finds(
    sample: list[str], how: tuple[str, ...]
) -> None:
    options = ("--models", "global-mean", "--share", 0.2, "--seed", 5, *how)
    (row,) = rows_of(*sample, *options)
    path, catalog = Path(sample[0]), sample[-1]
    ratings = read_ratings(path, scale=(1, 5), catalog=catalog)
    split = split_random(ratings, 0.2, 5) if how else split_by_time(ratings, 0.2)
    with path.open() as file:
        everything = sum(float(line["rating"]) for line in csv.DictReader(file))
    test = split.test.values()
    mean = (everything - test.sum()) / len(split.train)
    assert row["rmse"] == pytest.approx(math.sqrt(np.mean((test - mean) ** 2)))
    assert row["mae"] == pytest.approx(np.mean(np.abs(test - mean)))


def test_people_get_a_table_that_begins_with_a_warning(sample: list[str]) -> None:
    said = call("evaluate", *sample, *QUICK, "--draws", 2, "--protect", "user")
    lines = said.out.splitlines()
    assert lines[0] == FIRST
    assert "private: epsilon per user, delta 1e-06, 2 draws of the noise" in lines
    heading = "model epsilon RMSE NDCG@10 recall@20 coverage NDCG@10, few"
    table = [" ".join(line.split()) for line in lines]
    assert heading in table
    names = [line.split(" ")[0] for line in table[table.index(heading) + 1 : -4]]
    assert names == ["private", "private", "global-mean", "item-mean", "user-mean", "popularity"]
    assert lines[-4].startswith("few: users with at most 20 training ratings, ")
    assert lines[-3].startswith("standard deviation over draws, at most: RMSE 0.")
    assert all(len(line.rstrip()) <= 80 and "…" not in line for line in lines[1:-1])


def test_lists_worse_than_popularity_are_told_of(sample: list[str]) -> None:
    told = ("--models", "private,popularity", "--draws", 1, "--epsilon", 0.1, "--order", "expected")
    said = call("evaluate", *sample, *told)
    ours, popular = (
        float(line.split()[-5]) for line in said.out.splitlines() if line.startswith(("pri", "pop"))
        if "epsilon" not in line
    )  # fmt: skip
    assert ours < popular
    assert said.err.startswith("private lists are worse than lists by popularity alone")
    assert call("evaluate", *sample, "--models", "private", "--draws", 1).err == ""


@pytest.fixture
def timed(tmp_path: Path) -> list[object]:
    """Forty ratings; each user's come at the times 1 to 8, and item i is rated i-th."""
    path = tmp_path / "timed.csv"
    lines = [f"u{user},i{item},{1 + (user + item) % 5},{item + 1}"
             for user in range(5) for item in range(8)]  # fmt: skip
    path.write_text("\n".join(["user,item,rating,timestamp", *lines]) + "\n")
    return [path, "--scale", "1..5", "--catalog", "from-data"]


def test_ratings_with_times_are_split_by_time(timed: list[object]) -> None:
    options = ("--models", "popularity,recent-popularity", "--share", 0.25)
    said = call("evaluate", *timed, *options, "--json")
    told = said.json()
    assert told["split"] == {"kind": "time", "held_out": "the latest 25 % of the ratings"}
    assert said.err == ""
    # Held out are items 6 and 7 of everybody; nothing in training tells them apart.
    for row in told["rows"]:
        assert (row["people"], row["recall_at_20"], row["coverage"]) == (5, 1.0, 0.25)
    assert "held out: the latest 25 % of the ratings" in call("evaluate", *timed, *options).out


@pytest.mark.parametrize("how", ["random", "leave-out"])
def test_a_split_that_mixes_times_is_warned_of(timed: list[object], how: str) -> None:
    said = call("evaluate", *timed, "--models", "popularity", "--split", how)
    assert f"--split {how} flatters" in said.err
    assert "at random" in said.out.splitlines()[2]


def test_without_times_the_split_is_random(tmp_path: Path) -> None:
    lines = [f"u{user},i{item},{1 + (user + item) % 5}" for user in range(9) for item in range(9)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *lines]) + "\n")
    told = ("--scale", "1..5", "--catalog", "from-data", "--models", "popularity")
    said = call("evaluate", tmp_path / "r.csv", *told)
    assert said.err == "" and "held out: 10 % of the ratings, at random" in said.out
    refused = call("evaluate", tmp_path / "r.csv", *told[:-1], "recent-popularity").complaint()
    assert "recent-popularity: goes by time" in refused


def test_few_ratings_is_what_you_say(timed: list[object]) -> None:
    told = ("--models", "popularity", "--share", 0.25, "--few")
    assert "few: users with at most 6 training ratings, 5 of 5" in call(
        "evaluate", *timed, *told, 6).out  # fmt: skip
    assert "few: none of 5 users has at most 5" in call("evaluate", *timed, *told, 5).out
    (row,) = rows_of(*timed, *told, 5)
    assert row["few"] is None


def test_a_seed_repeats_an_experiment(sample: list[str]) -> None:
    def figures(seed: int) -> list[float]:
        options = ("--models", "private", "--draws", 2, "--seed", seed)
        return [row[name] for row in rows_of(*sample, *options) for name in ("rmse", "rmse_sd")]

    assert figures(1) == figures(1) != figures(2)


def test_predictors_are_compared(sample: list[str]) -> None:
    rows = rows_of(*sample, "--models", "private", "--predictor", "svd,knn", "--draws", 1)
    assert [(row["predictor"], row["rmse_sd"]) for row in rows] == [("svd", 0.0), ("knn", 0.0)]


@pytest.mark.parametrize("split", ["time", "leave-out", "netflix"])
def test_other_splits(data_folder: Path, split: str) -> None:
    told = rows_of(data_folder / "ml-100k", "--models", "global-mean", "--split", split)
    assert 0.9 < told[0]["rmse"] < 1.3


def test_people_may_be_sampled(sample: list[str]) -> None:
    everybody, few = (
        rows_of(*sample, "--models", "item-mean", *people)[0]["rmse"]
        for people in ((), ("--people", 3))
    )
    assert everybody != few


def test_a_sample_of_people_is_told_of(sample: list[str]) -> None:
    told = call("evaluate", *sample, "--models", "item-mean", "--json").json()["people"]
    assert told["judged"] == told["candidates"] > 3
    assert "chosen at random" not in call("evaluate", *sample, "--models", "item-mean").out
    said = call("evaluate", *sample, "--models", "item-mean", "--people", 3)
    line = f"evaluated on 3 of {told['candidates']:,} people, chosen at random; --people N for more"
    assert line in said.out.splitlines()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--epsilon", "1;4"), "like --epsilon 0.5,1,4"),
        (("--epsilon", "1,0"), "epsilon must be above 0, not 0"),
        (("--epsilon", "nan"), "epsilon must be above 0, not nan"),
        (("--delta", "0"), "or use --noise laplace"),
        (("--draws", "0"), "at least 1 draw"),
        (("--models", "best"), "unknown model 'best'"),
        (("--predictor", "guess"), "'guess' is not a predictor"),
        (("--share", "1"), "between 0 and 1"),
        (("--people", "0"), "at least 1 person"),
        (("--few", "-1"), "few is a number of training ratings, not -1"),
        (("-o", "gone/p.png"), "gone/p.png"),
        (("--catalog", "none.csv"), "none.csv"),
    ],
)
def test_what_cannot_be_is_a_line(
    sample: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, str], complaint: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert complaint in call("evaluate", *sample, *options).complaint()
    assert list(tmp_path.iterdir()) == []


def test_ratings_without_times_cannot_be_split_by_time(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,item,rating\na,x,5\na,y,1\nb,x,4\n")
    told = ("--scale", "1..5", "--catalog", "from-data", "--split", "time")
    said = call("evaluate", tmp_path / "r.csv", *told).complaint()
    assert "these ratings have none: split at random" in said


def test_a_baseline_that_predicts_better_is_pointed_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ratings = make_ratings("ml-100k", ratings=3000, seed=1)
    rows = evaluate(ratings, models=["private", "non-private", "item-mean"], draws=1, seed=1)

    def said(*errors: float) -> str:
        told = [replace(row, rmse=error) for row, error in zip(rows, errors, strict=True)]
        compare_errors(told)
        return capsys.readouterr().err

    assert "are worse than item-mean, which is not private (RMSE 1.0000, not 0.9000)" in (
        noisy := said(1.0, 0.8, 0.9)
    )
    assert "the noise costs more than knowing tastes gains" in noisy
    assert "so is our model without noise" in said(1.0, 0.95, 0.9)
    assert said(0.8, 0.7, 0.9) == ""


def test_evaluating_says_that_it_is_not_paid_for(sample: list[str]) -> None:
    said = call("evaluate", *sample, "--models", "item-mean")
    assert "Evaluating charged no ledger." in said.out.splitlines()[-1]


def test_what_has_no_room_is_a_line(sample: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.methods._room.free_memory", lambda: 1000)
    told = ("--method", "cosine", "--draws", 1, "--epsilon", 9)
    said = call("evaluate", *sample, *told)
    assert said.code == 0 and "item-mean" in said.out
    assert "non-private: left out, as it needs about" in said.err
    assert "left out" in call("evaluate", *sample, *told, "--models", "non-private").complaint()


def test_too_little_memory_is_a_line(sample: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 GiB for an array with private numbers")

    monkeypatch.setattr("discreet.cli.evaluate.measure_quality", full)
    said = call("evaluate", *sample).complaint()
    assert "not enough memory" in said and "private numbers" not in said


def test_an_absurd_epsilon_is_warned_of(sample: list[str]) -> None:
    said = call("evaluate", *sample, "--epsilon", "60", "--models", "private", "--draws", 1)
    assert said.code == 0 and "10^27 times as likely by one user" in said.err


def test_users_may_be_bounded(sample: list[str]) -> None:
    told = (*QUICK, "--models", "global-mean")
    whole, bounded = rows_of(*sample, *told), rows_of(*sample, *told, "--most-ratings", 4)
    assert [row["model"] for row in bounded] == [row["model"] for row in whole]
    assert bounded[0]["rmse"] != whole[0]["rmse"]
