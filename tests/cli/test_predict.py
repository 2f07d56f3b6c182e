"""`discreet predict`, on a release whose predictions can be told by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import Catalog
from release._making import make_release

BIAS = 2 * 0.2 / (0.2 + 0.72)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "films.discreet"
    catalog = Catalog(["a", "h", "b"], ["Alien", "Heat", "Big"])
    make_release(np.zeros((3, 1)), effects=[0.0, 0.5, 1.9], catalog=catalog).save(path)
    return path


def test_a_process_predicts_some_items(film: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("id,rating\na,5\n")
    wanted = ("--items", "Big", "--items", "h", "--items", "Nosferatu")
    said = call("predict", film, "--ratings", tmp_path / "mine.csv", *wanted, "--json")
    told = said.json()
    assert told["unknown"] == ["Nosferatu"] and "'Nosferatu'" in said.err
    assert [(e["id"], e["title"]) for e in told["predictions"]] == [("b", "Big"), ("h", "Heat")]
    # Expected ratings end where the scale does.
    ratings = [e["rating"] for e in told["predictions"]]
    assert ratings == pytest.approx([5.0, 3.5 + BIAS])


def test_everything_is_predicted_if_nothing_is_named(film: Path) -> None:
    said = call("predict", film, "--like", "Alien=5")
    lines = [line.split() for line in said.out.splitlines()]
    assert lines == [
        ["id", "title", "expected"],
        ["a", "Alien", f"{3 + BIAS:.2f}"],
        ["h", "Heat", f"{3.5 + BIAS:.2f}"],
        ["b", "Big", "5.00"],
    ]


def test_somebody_unknown_is_expected_to_rate_like_everybody(film: Path) -> None:
    told = call("predict", film, "--predictor", "knn", "--json").json()
    assert [e["rating"] for e in told["predictions"]] == pytest.approx([3.0, 3.5, 4.9])


def test_nothing_but_unknown_items_is_refused(film: Path) -> None:
    assert "none of --items" in call("predict", film, "--items", "Nosferatu").complaint()
