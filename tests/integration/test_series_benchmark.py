"""The benchmark of series: its periods, its four ways, and what it keeps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import series

from discreet.privacy import NoisePlan
from discreet.ratings import find_shape, make_ratings


@pytest.fixture(scope="module")
def cut() -> series.Cut:
    return series.Cut.of(make_ratings(find_shape("ml-100k").scaled(ratings=4000), seed=1), 4)


def test_periods_are_equal_and_hold_every_record_once(cut: series.Cut) -> None:
    sizes = [len(cut.part(period)) for period in (1, 2, 3, 4)]
    assert sum(sizes) == len(cut.train) == len(cut.until(4))
    assert max(sizes) - min(sizes) < 0.02 * len(cut.train)  # records of one second stay together
    assert len(cut.until(2)) == sizes[0] + sizes[1]
    assert cut.part(2).times.min() >= cut.part(1).times.max()


def test_a_series_has_a_release_for_each_period_that_is_not_private(cut: series.Cut) -> None:
    made = list(series.series_releases(cut, 4.0, NoisePlan.factorised(None, 4), draw=0))
    assert len(made) == 4
    assert not any(release.guarantee.is_private for release in made)
    again = list(series.series_releases(cut, 4.0, NoisePlan.factorised(None, 4), draw=0))
    other = list(series.series_releases(cut, 4.0, NoisePlan.factorised(None, 4), draw=1))
    first, second, third = (each[-1].arrays for each in (made, again, other))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert any(not np.array_equal(first[name], third[name]) for name in first)


def test_with_little_noise_all_ways_come_to_the_same(tmp_path: Path) -> None:
    """One period is one release: whatever the way, only the noise differs."""
    kept = tmp_path / "tables.json"
    asked = ["--ratings", "6e3", "--periods", "1", "--epsilons", "1e5"]
    series.main([*asked, "--json", str(kept)])
    (table,) = json.loads(kept.read_text(encoding="utf-8"))["tables"]
    errors = [row["rmse"] for row in table["rows"]]
    assert len(errors) == 4
    assert max(errors) - min(errors) < 0.005


@pytest.mark.parametrize(("kind", "options"), [("ratings", []), ("presence", ["--implicit"])])
def test_every_way_is_printed_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, options: list[str]
) -> None:
    kept = tmp_path / "tables.json"
    asked = ["--ratings", "6e3", "--periods", "3", "--every", "2", "--epsilons", "4", *options]
    for _ in range(2):  # the second run replaces what the first has kept
        series.main([*asked, "--json", str(kept)])
    said = capsys.readouterr().out
    assert all(said.count(f"{way} ") >= 4 for way in ("(a)", "(b)", "(c)", "(d)"))
    (table,) = json.loads(kept.read_text(encoding="utf-8"))["tables"]
    assert (table["title"], table["periods"]) == (f"made-up, {kind}", 3)
    rows = table["rows"]
    assert [(row["way"], row["period"]) for row in rows] == [
        (way, period) for way in series.WAYS for period in (2, 3)
    ]
    assert all(0 <= row["ndcg_at_10"] <= 1 for row in rows)
    assert all((row["rmse"] is None) == (kind == "presence") for row in rows)


def test_older_records_can_be_met(tmp_path: Path) -> None:
    kept = tmp_path / "tables.json"
    asked = ["--ratings", "6e3", "--periods", "2", "--epsilons", "4", "--implicit"]
    series.main([*asked, "--older-share", "0.15", "--json", str(kept)])
    series.main([*asked, "--json", str(kept)])
    titles = [table["title"] for table in json.loads(kept.read_text(encoding="utf-8"))["tables"]]
    assert titles == ["made-up, presence, older share 0.15", "made-up, presence"]


def test_rows_that_are_measured_again_replace_their_own_kind(tmp_path: Path) -> None:
    kept = tmp_path / "tables.json"

    def table(*about: tuple[str, int], draws: int, half_life: float = 12.0) -> series.Row:
        rows = [
            {"epsilon": 4.0, "way": way, "period": period, "draws": draws} for way, period in about
        ]
        return {"title": "films", "periods": 2, "half_life": half_life, "rows": rows}

    def draws_of() -> list[tuple[str, int, int]]:
        (found,) = json.loads(kept.read_text(encoding="utf-8"))["tables"]
        return [(row["way"], row["period"], row["draws"]) for row in found["rows"]]

    series.keep(kept, [table(("divided", 1), ("divided", 2), ("single", 2), draws=1)])
    assert draws_of() == [("single", 2, 1), ("divided", 1, 1), ("divided", 2, 1)]
    series.keep(kept, [table(("divided", 2), ("series", 2), draws=3)])
    assert draws_of() == [("single", 2, 1), ("divided", 1, 1), ("divided", 2, 3), ("series", 2, 3)]
    series.keep(kept, [table(("series", 2), draws=1, half_life=3.0)])
    assert draws_of() == [("series", 2, 1)], "with another half-life it is another table"


def test_some_ways_after_the_last_period_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "tables.json"
    asked = ["--ratings", "3e3", "--periods", "2", "--epsilons", "4", "--last", "--ways"]
    series.main([*asked, "divided", "--json", str(kept)])
    (table,) = json.loads(kept.read_text(encoding="utf-8"))["tables"]
    assert [(row["way"], row["period"]) for row in table["rows"]] == [("divided", 2)]
    with pytest.raises(SystemExit):
        series.main([*asked, "divided,other"])
    assert "there is no other; ways are single" in capsys.readouterr().err


def test_the_share_of_the_way() -> None:
    last = {"single": 0.30, "divided": 0.20, "series": 0.27, "forgetting": 0.19}
    rows = [
        {"epsilon": 1.0, "way": way, "period": 2, "ndcg_at_10": gain, "rmse": None}
        for way, gain in last.items()
    ]
    early = [row | {"period": 1, "ndcg_at_10": 0.0} for row in rows]
    table = {"periods": 2, "rows": early + rows}
    assert series.share_of_the_way(table, 1.0, "series", "ndcg_at_10") == pytest.approx(0.7)
    assert series.share_of_the_way(table, 1.0, "forgetting", "ndcg_at_10") == pytest.approx(-0.1)
    assert series.share_of_the_way(table, 1.0, "series", "rmse") is None
    without = {"periods": 2, "rows": [row for row in rows if row["way"] != "single"]}
    assert series.share_of_the_way(without, 1.0, "series", "ndcg_at_10") is None


def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    series.main(["--data", str(tmp_path), "--sets", "ml-1m"])
    assert "ml-1m: not there" in capsys.readouterr().out
