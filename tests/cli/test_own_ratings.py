"""A person's own ratings from files and options."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli import _own_ratings
from discreet.domain import PRESENCE, Catalog, InputError, OwnRatings

FOUND = {"Alien": 1.0, "Big, the film": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        'title\nAlien\n"Big, the film"\n',
        'Alien\n"Big, the film"\n',
        '﻿Item\r\nAlien\r\n\r\n"Big, the film"\r\n',
        'Alien\n"Big, the film"\nAlien\n',
        "rating;title\n5;Alien\n;Big, the film\n",
        "title\trating\nAlien\tmany\nBig, the film\t0\n",
        'Alien,5\n"Big, the film",4\n',
        " Alien \nBig\\, the film\n".replace("Big\\, the film", '"Big, the film"'),
    ],
)
def test_a_file_names_items(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    assert _own_ratings.read(tmp_path / "mine.csv", None, presence=True) == FOUND


def test_options_name_items(tmp_path: Path) -> None:
    assert _own_ratings.read(None, ["Alien", " Big, the film "], presence=True) == FOUND
    (tmp_path / "mine.csv").write_text("Alien\n")
    both = _own_ratings.read(tmp_path / "mine.csv", ["Big, the film", "Alien"], presence=True)
    assert both == FOUND
    assert _own_ratings.read(None, None, presence=True) == {}


def test_what_is_read_is_what_a_predictor_takes() -> None:
    own = _own_ratings.read(None, ["Alien", "Jaws"], presence=True)
    known = OwnRatings.of(own, Catalog(["a", "b"], ["Alien", "Heat"]), PRESENCE)
    assert (known.items.tolist(), known.values.tolist()) == ([0], [1.0])
    assert known.unknown == ("Jaws",)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "is empty; it should have one item per line"),
        ("Alien\nBig, the film\n", 2, "has a different number of fields than line 1"),
        ("Big, the film\nAlien\n", 2, 'put names with commas in "quotes"'),
        ("title,rating\nAlien,5\n,5\n", 3, "needs an item's id or title"),
    ],
)
def test_files_that_say_too_little(
    tmp_path: Path, text: str, line: int | None, reason: str
) -> None:
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        _own_ratings.read(tmp_path / "mine.csv", None, presence=True)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "mine.csv"), line)
    assert reason in caught.value.reason


def test_names_alone_are_no_ratings(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("title\nAlien\n")
    with pytest.raises(InputError, match="needs an item's id or title and a number"):
        _own_ratings.read(tmp_path / "mine.csv", None)
    with pytest.raises(InputError, match="--like names an item and a rating"):
        _own_ratings.read(None, ["Alien"])


@pytest.mark.parametrize(
    "text",
    [
        "Alien,5\nHeat,4\n",
        "title,rating\nAlien,5\nHeat,4\n",
        "Movie;Stars\nAlien;5\nHeat;4\n",
        "rating,comment,name\n5,good,Alien\n4,,Heat\n",
        "Alien\t5\t881250949\nHeat\t4\t881250949\n",
    ],
)
def test_ratings_are_found_by_a_header_or_by_their_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.csv").write_text(text)
    assert _own_ratings.read(tmp_path / "mine.csv", None) == {"Alien": 5.0, "Heat": 4.0}


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("header", ["user,item,rating", "userId,movieId,rating,timestamp"])
def test_ratings_of_several_people_are_nobodys_own(
    tmp_path: Path, header: str, presence: bool
) -> None:
    (tmp_path / "all.csv").write_text(f"{header}\n" + ",".join("1234"[: header.count(",") + 1]))
    with pytest.raises(InputError, match=r"all.csv, line 1: has a column of users; give one"):
        _own_ratings.read(tmp_path / "all.csv", None, presence=presence)


def test_columns_of_numbers_alone_are_not_guessed_at(tmp_path: Path) -> None:
    """12,31,5 may be a user, an item and a rating, or an item, a rating and a time."""
    (tmp_path / "mine.csv").write_text("12,31,5\n12,40,4\n")
    with pytest.raises(InputError, match=r"line 1: has 3 columns of numbers.*title,rating,time"):
        _own_ratings.read(tmp_path / "mine.csv", None)
    (tmp_path / "mine.csv").write_text("12,5\n40,4\n")
    assert _own_ratings.read(tmp_path / "mine.csv", None) == {"12": 5.0, "40": 4.0}


@pytest.mark.parametrize(
    "first",
    ["colour,size", "title,weight", "Good, the Bad and the Ugly, The,4", "Alien,five"],
)
def test_a_first_line_that_is_neither_rating_nor_header_is_not_passed_over(
    tmp_path: Path, first: str
) -> None:
    (tmp_path / "mine.csv").write_text(f"{first}\nHeat,4\n")
    with pytest.raises(InputError, match="line 1: has neither a rating in the second") as caught:
        _own_ratings.read(tmp_path / "mine.csv", None)
    assert "five" not in str(caught.value)
