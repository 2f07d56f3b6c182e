"""`discreet reproduce`: the list, one figure, all of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.evaluate import reproduce as room
from discreet.evaluate.reproduce import Effort, Size
from discreet.ratings import find_shape, make_ratings

NAMES = (
    "mm-fig1", "mm-fig2", "chow-table1", "chow-fig2", "chow-fig3", "chow-closed", "park-fig1a",
    "park-fig1b", "park-fig2", "park-fig4a", "park-fig4b", "local-bound",
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.evaluate.reproduce import _study

    effort = Effort(ratings=2_000, beacons=1, bits=1)
    monkeypatch.setattr(_study, "EFFORTS", dict.fromkeys(Size, effort))


def test_the_list_has_every_figure() -> None:
    said = call("reproduce", "--list")
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines() if line[0] != " "] == ["id", *NAMES]
    rows: Any = call("reproduce", "--list", "--json").json()
    assert [row["id"] for row in rows] == list(NAMES)
    assert {row["paper"] for row in rows} >= {"McSherry and Mironov", "Park and Acharya"}


@pytest.mark.usefixtures("tiny")
def test_one_figure_is_told_and_written(tmp_path: Path) -> None:
    said = call("reproduce", "chow-fig2", "-o", tmp_path / "made")
    assert said.code == 0
    assert said.out.startswith("# chow-fig2: diversity of c-values")
    assert "made-up ratings of the Netflix Prize's shape: 2,000 ratings" in said.err
    (tmp_path / "made" / "chow-fig2.md").write_text("my own notes")
    again = call("reproduce", "chow-fig2", "-o", tmp_path / "made").complaint()
    assert "chow-fig2.svg: exists; choose another name, or give --overwrite" in again
    assert (tmp_path / "made" / "chow-fig2.md").read_text() == "my own notes"
    told = ("-o", tmp_path / "made", "--overwrite")
    more = call("reproduce", "chow-fig2", *told, "--ratings", "3000")
    assert "made-up ratings of the Netflix Prize's shape: 3,000 ratings" in more.err
    assert {path.suffix for path in (tmp_path / "made").iterdir()} == {".svg", ".csv", ".md"}
    listed = call("reproduce", "chow-fig2", *told, "--json").json()
    assert [Path(path).name for path in listed["written"]["chow-fig2"]] == [
        "chow-fig2.svg", "chow-fig2.csv", "chow-fig2.md",
    ]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_several_figures_on_a_file_that_does_not_tell_its_scale(tmp_path: Path) -> None:
    ratings = make_ratings(find_shape("netflix").scaled(ratings=2_000), seed=2)
    users = np.repeat(np.arange(ratings.user_count), np.diff(ratings.starts))
    rows = zip(users, ratings.items, ratings.values(), strict=True)
    lines = [f"{user},{item},{value:g}" for user, item, value in rows]
    file = tmp_path / "own.csv"
    file.write_text("\n".join(["who,what,liked", *lines, "1,2,9"]) + "\n", encoding="utf-8")
    told = (
        "--data",
        file,
        "--catalog",
        "from-data",
        "--columns",
        "user=who,item=what,rating=liked",
    )
    wanted = ("chow-fig2", "chow-table1", "chow-fig2", "-o", tmp_path / "made")
    assert "scale" in call("reproduce", *wanted, *told).complaint()
    read = (*told, "--scale", "1..5", "--on-bad-rows", "skip")
    said = call("reproduce", *wanted, *read, "--json")
    assert said.code == 0
    assert "1 bad rows were skipped" in said.err
    assert list(said.json()["written"]) == ["chow-fig2", "chow-table1"]
    assert "Made on own.csv: 2,000 ratings" in said.json()["data"]


@pytest.mark.usefixtures("tiny")
def test_all_goes_on_where_one_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(name: str, study: Any, folder: Path) -> list[Path]:
        if name == "mm-fig2":
            raise InputError("there are no times")
        return [folder / f"{name}.md"]

    monkeypatch.setattr(room, "reproduce", make)
    said = call("reproduce", "all", "-o", tmp_path, "--json")
    assert said.code == 1
    told = json.loads(said.out)
    assert told["refused"] == {"mm-fig2": "there are no times"}
    assert list(told["written"]) == [name for name in NAMES if name != "mm-fig2"]
    alone = call("reproduce", "mm-fig2", "-o", tmp_path)
    assert (alone.code, alone.err.splitlines()[-1]) == (2, "discreet: there are no times")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "say which figures, or all"),
        (("mm-fig9", "-o", "x"), "'mm-fig9' is no figure; there are mm-fig1"),
        (("mm-fig1",), "say where the files go: -o FOLDER"),
        (("mm-fig1", "-o", "/proc/self"), "mm-fig1.md: cannot be written"),
        (("mm-fig1", "-o", "x", "--size", "huge"), "--size is small or full, not 'huge'"),
        (("mm-fig1", "-o", "x", "--data", "nowhere"), "nowhere: is not there"),
        (("mm-fig1", "-o", "x", "--data", "x", "--ratings", "9000"), "--ratings is for made-up"),
        (("mm-fig1", "-o", "x", "--scale", "1..5"), "--layout are for --data FILE"),
    ],
)
def test_what_is_missing_is_a_line(arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in call("reproduce", *arguments).complaint()
