"""The options that say how ratings are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli._inputs import ReadingOptions
from discreet.domain import PRESENCE, InputError


@pytest.fixture
def clicks(tmp_path: Path) -> str:
    path = tmp_path / "clicks.csv"
    path.write_text("user,item\n1,a\n1,b\n2,a\n1,a\n")
    return str(path)


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
