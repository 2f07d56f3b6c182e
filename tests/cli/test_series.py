"""`discreet series`: what people and scripts see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli._app import app
from discreet.domain import InputError
from discreet.domain.errors import PeriodExists


def says(*arguments: str | Path) -> str:
    """What the command prints, with single spaces."""
    result = CliRunner().invoke(app, ["series", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A list of items, and a month of clicks."""
    items = [f"i{n}" for n in range(6)]
    (tmp_path / "items.csv").write_text("id,title\n" + "".join(f"{i},Item {i}\n" for i in items))
    # 1772323200 is 1 March 2026.
    rows = [
        f"u{u},{items[(u + k) % 6]},{1772323200 + 3600 * k}\n" for u in range(9) for k in (0, 1, 2)
    ]
    (tmp_path / "clicks.csv").write_text("user,item,time\n" + "".join(rows))
    return tmp_path


def begin(shop: Path, *more: str) -> Path:
    says("init", shop / "s", "--implicit", "--catalog", f"{shop / 'items.csv'}", *more)
    return shop / "s"


def test_a_series_from_the_beginning(shop: Path) -> None:
    path = begin(shop, "--protect", "user-month")
    assert "0 periods" in says("show", path)
    assert "A person who is there in 12 periods pays epsilon" in says("show", path)
    add = ("add", path, shop / "clicks.csv", "--no-ledger", "--period", "2026-03")
    said = says(*add, "-o", shop / "out.discreet")
    assert "out.discreet" in said and (shop / "out.discreet").exists()
    shown = says("show", path)
    assert "1 period" in shown and "2026-03" in shown and "is a secret" in shown
    found: Any = json.loads(says("show", path, "--json"))
    assert [each["name"] for each in found["periods"]] == ["2026-03"]
    assert found["protect"] == "user-month" and found["release"].endswith("release-1.discreet")
    with pytest.raises(PeriodExists):
        says(*add)


def test_what_is_missing_is_said(shop: Path) -> None:
    with pytest.raises(InputError, match="or --implicit"):
        says("init", shop / "s", "--catalog", f"{shop / 'items.csv'}")
    path = begin(shop, "--protect", "user-month")
    with pytest.raises(InputError, match="--no-ledger"):
        says("add", path, shop / "clicks.csv", "--period", "2026-03")


def test_a_plan_compares_ways_to_draw_noise() -> None:
    said = says("plan", "--periods", "52", "--protect", "rating")
    assert "factorised" in said and "fresh" in said and "no bound" in said
    rows = json.loads(says("plan", "--periods", "52", "--json"))
    assert [(row["plan"], row["periods"]) for row in rows if row["periods"] == 52] == [
        ("factorised", 52),
        ("fresh", 52),
    ]
