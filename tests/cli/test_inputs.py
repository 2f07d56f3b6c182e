"""The options that say how ratings are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli._calling import call
from discreet.cli._inputs import ReadingOptions
from discreet.domain import PRESENCE, InputError
from discreet.release import load


@pytest.fixture
def clicks(tmp_path: Path) -> str:
    path = tmp_path / "clicks.csv"
    path.write_text("user,item\n1,a\n1,b\n2,a\n1,a\n")
    return str(path)


@pytest.fixture
def tiny(tmp_path: Path) -> list[str]:
    """Three people's ratings of three items, and how to read them; the last is the list."""
    (tmp_path / "r.csv").write_text("user,item,rating\na,x,5\na,y,1\na,z,3\nb,x,4\nc,y,2\n")
    (tmp_path / "i.csv").write_text("id,title\nx,X\ny,Y\nz,Z\n")
    return [str(tmp_path / "r.csv"), "--scale", "1..5", "--catalog", str(tmp_path / "i.csv")]


def test_implicit_rows_need_no_scale(clicks: str) -> None:
    ratings = ReadingOptions(catalog="from-data", implicit=True).read(clicks)
    assert (ratings.scale, len(ratings), ratings.duplicates) == (PRESENCE, 3, 1)
    by_scale = ReadingOptions(scale="presence", catalog="from-data").read(clicks)
    assert by_scale.items.tolist() == ratings.items.tolist()


def test_implicit_rows_have_no_other_scale(clicks: str) -> None:
    with pytest.raises(InputError, match="leave the other scale out"):
        ReadingOptions(scale="1..5", catalog="from-data", implicit=True).read(clicks)


def test_rows_are_ratings_unless_it_is_said(clicks: str) -> None:
    with pytest.raises(InputError, match="implicit=True reads presence alone"):
        ReadingOptions(scale="1..5", catalog="from-data").read(clicks)


GAMES = "Game Number,Spelt,Year\n1,Go,1000\n2,Chess,1475\n3,Hex,1942\n"


def test_columns_of_a_list_of_items_can_be_named(tiny: list[str], tmp_path: Path) -> None:
    ratings = tiny[0]
    Path(ratings).write_text("user,item,rating\na,1,5\nb,2,4\nc,3,1\n")
    games = tmp_path / "games.csv"
    games.write_text(GAMES)
    told = ("evaluate", ratings, "--scale", "1..5", "--catalog", games, "--models", "popularity")
    unnamed = call(*told, "--split", "leave-out").complaint()
    assert "needs a column of item ids" in unnamed and "it has Game Number, Spelt, Year" in unnamed
    assert "--catalog-columns id=NAME" in unnamed
    fit = ("fit", "--no-ledger", ratings, "--scale", "1..5", "--catalog", games)
    named = call(*fit, "--catalog-columns", "id=Game Number,title=Spelt", "-o", tmp_path / "m")
    assert named.code == 0
    assert load(tmp_path / "m").catalog.titles == ("Go", "Chess", "Hex")
    wrong = call(*fit, "--catalog-columns", "id=Nothing", "-o", tmp_path / "x").complaint()
    assert "no column named 'Nothing'" in wrong
    assert "names no column" in call(*fit, "--catalog-columns", "id", "-o", "x").complaint()
    counted = call(*fit, "--catalog-columns", "id=0,title=1", "-o", "x").complaint()
    assert "counts columns, and a list of items names them in its first line" in counted


def test_a_list_without_titles_that_has_other_columns_is_noted(
    tiny: list[str], tmp_path: Path
) -> None:
    told = tiny
    games = Path(told[-1])
    games.write_text("id,spelt\nx,Go\ny,Chess\nz,Hex\n")
    said = call("fit", "--no-ledger", *told, "-o", tmp_path / "a")
    assert "has no column of titles that is recognised (it has id, spelt)" in said.err
    for header in ("id,Game Name", "id,book_title", "id"):
        rows = ["x", "y", "z"] if header == "id" else ["x,Go", "y,Chess", "z,Hex"]
        games.write_text("\n".join([header, *rows]) + "\n")
        fitted = call("fit", "--no-ledger", *told, "-o", tmp_path / "a", "--overwrite")
        assert fitted.code == 0 and "recognised" not in fitted.err
        assert (load(tmp_path / "a").catalog.titles[0] == "Go") == (header != "id")


def test_bad_rows_of_a_list_of_items_are_refused_and_the_reason_is_said(
    tiny: list[str], tmp_path: Path
) -> None:
    told = tiny
    Path(told[-1]).write_text("id,title\nx,Go\nx,Chess\n")
    said = call("fit", "--no-ledger", *told, "-o", tmp_path / "a", "--on-bad-rows", "skip")
    assert "lists item 'x' a second time" in said.complaint()
    assert "is public, so its rows are never skipped" in said.err
