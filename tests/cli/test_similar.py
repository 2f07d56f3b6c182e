"""`discreet similar`, on releases whose similar items can be told by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli._calling import call
from discreet.domain import Catalog
from release._making import make_release

TITLES = ["Alien", "Aliens", "Heat", "Ran", "Up"]


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Aliens is like Alien, Heat half so, Ran is the opposite, and of Up nothing is known."""
    path = tmp_path / "films.discreet"
    catalog = Catalog(list("12345"), TITLES, columns={"genres": ["a", "a|b", "b", "a", "b"]})
    factors = [[2.0, 0.0], [1.0, 0.0], [1.0, 3**0.5], [-1.0, 0.0], [0.0, 0.0]]
    make_release(factors, catalog=catalog).save(path)
    return path


def test_people_get_a_table(film: Path) -> None:
    said = call("similar", film, "Alien")
    assert [line.split() for line in said.out.splitlines()] == [
        ["title", "similarity"],
        ["Aliens", "1.00"],
        ["Heat", "0.50"],
    ]
    assert call("similar", film, "1", "-n", 1).out.splitlines()[1:] == said.out.splitlines()[1:2]


def test_programs_get_every_field(film: Path, tmp_path: Path) -> None:
    (tmp_path / "seen.txt").write_text("Faust\n")
    shelf = ("--exclude", "Alien", "--exclude", tmp_path / "seen.txt")
    told = call("similar", film, "Heat", *shelf, "--json")
    assert told.json() == {
        "similar": [{"item": 1, "id": "2", "title": "Aliens", "similarity": pytest.approx(0.5)}],
        "unknown": ["Faust"],
    }
    assert "not in the catalogue: 'Faust'" in told.err


def test_filters(film: Path, tmp_path: Path) -> None:
    def titles(*options: object) -> list[str]:
        found = call("similar", film, "Alien", *options, "--json").json()["similar"]
        return [entry["title"] for entry in found]

    (tmp_path / "shelf.txt").write_text("Heat\nRan\n")
    assert titles("--only", tmp_path / "shelf.txt") == ["Heat"]
    assert titles("--where", "genres=A") == ["Aliens"]


def test_what_cannot_be_answered_is_a_line(film: Path) -> None:
    assert "no items like 'Up'" in call("similar", film, "Up").err
    assert "(did you mean 'Alien' or 'Aliens'?)" in call("similar", film, "alie").complaint()
    assert "at least 1, not 0" in call("similar", film, "Alien", "-n", 0).complaint()
    assert "no column 'year'" in call("similar", film, "Up", "--where", "year=1").complaint()
