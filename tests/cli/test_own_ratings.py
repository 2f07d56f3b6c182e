"""A person's own ratings, where being named is all there is to say of an item."""

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
        ("", None, "is empty; it should have an item on each line"),
        ("Alien\nBig, the film\n", 2, "has another number of fields than line 1"),
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
