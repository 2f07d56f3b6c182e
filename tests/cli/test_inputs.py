"""The options that say how ratings are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli import _inputs
from discreet.cli._inputs import BadRows, spell
from discreet.domain import PRESENCE, InputError, Scale


@pytest.fixture
def clicks(tmp_path: Path) -> str:
    path = tmp_path / "clicks.csv"
    path.write_text("user,item\n1,a\n1,b\n2,a\n1,a\n")
    return str(path)


def test_implicit_rows_need_no_scale(clicks: str) -> None:
    ratings = _inputs.read(clicks, None, "from-data", None, "auto", BadRows.REFUSE, implicit=True)
    assert (ratings.scale, len(ratings), ratings.duplicates) == (PRESENCE, 3, 1)
    by_scale = _inputs.read(clicks, "presence", "from-data", None, "auto", BadRows.REFUSE)
    assert by_scale.items.tolist() == ratings.items.tolist()


def test_implicit_rows_have_no_other_scale(clicks: str) -> None:
    with pytest.raises(InputError, match="leave the other scale out"):
        _inputs.read(clicks, "1..5", "from-data", None, "auto", BadRows.REFUSE, implicit=True)


def test_rows_are_ratings_unless_it_is_said(clicks: str) -> None:
    with pytest.raises(InputError, match="implicit=True reads presence alone"):
        _inputs.read(clicks, "1..5", "from-data", None, "auto", BadRows.REFUSE)


@pytest.mark.parametrize("scale", [PRESENCE, Scale(1, 5), Scale(0.5, 5, 0.5), Scale(-1, 1, None)])
def test_scales_are_spelt_as_they_are_read(scale: Scale) -> None:
    assert Scale.parse(spell(scale)) == scale
