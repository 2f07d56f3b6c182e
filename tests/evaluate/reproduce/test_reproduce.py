"""The papers' figures, each made again on a few ratings: files whole, columns, the paper's word."""

from __future__ import annotations

import csv
import itertools
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.evaluate.reproduce import (
    REPRODUCTIONS,
    Effort,
    Found,
    Size,
    Study,
    find_reproduction,
    open_study,
    reproduce,
)
from discreet.evaluate.reproduce._answers import _epsilon_said
from discreet.evaluate.reproduce._buckets import few_bits
from discreet.evaluate.reproduce._found import Claim, write_found
from discreet.evaluate.reproduce._study import EFFORTS, of_people
from discreet.ratings import find_shape, make_ratings

Made = Callable[[str], Path]

TINY = Effort(
    ratings=2_500, most_ratings=2_000, draws=1, cuts=2, beacons=2, bits=2, percents=(0, 200),
    attacks=20, answers=3, people=10, walkers=1, iterations=100, directory=64, uploads=64,
    cells=(20, 10), completions=(1.0, 16.0), epsilons=(1.0, 8.0),
)  # fmt: skip
COLUMNS = {
    "mm-fig1": {"protect", "noise", "theta", "epsilon", "series", "rmse", "paper_rmse_on_netflix"},
    "mm-fig2": {"days", "date", "records", "series", "loss_points"},
    "chow-table1": {"hash", "bits", "rule", "rmse", "rmse_sd", "variance_of_sizes"},
    "chow-fig2": {"bits", "c_from", "items_in_a_typical_bucket", "buckets_by_largest_c"},
    "chow-fig3": {"part", "fakes", "fake_percent", "bits", "rule", "rmse"},
    "chow-closed": {"side", "users", "cpu_s", "mb_up", "mb_down"},
    "park-fig1a": {"sensitivity", "over", "epsilon", "difference"},
    "park-fig1b": {"sensitivity", "over", "epsilon", "risk_rounded", "risk_clipped"},
    "park-fig2": {"sensitivity", "over", "utility", "risk_rounded"},
    "park-fig4a": {"method", "epsilon", "overlap"},
    "park-fig4b": {"epsilon", "iterations", "paper_kl_top_10", "kl_of_visits"},
    "local-bound": {"mechanism", "epsilon", "rho", "bound_of_rho", "error_nuclear_norm"},
}
SAYINGS = {
    "mm-fig1": (".9600 / .9510 / .9455 / .9395 / .9370", "0.9514", "not proved"),
    "mm-fig2": ("theta = 0.15", "7/2000 to 2006"),
    "chow-table1": ("1.1325", "1.0540", "0.9932", "0.9883"),
    "chow-fig2": ("17,064 of 17,770", "about 1.8"),
    "chow-fig3": ("0.9883 to 1.0380", "1.0452"),
    "chow-closed": ("11 min 36 s", "58.6 MiB"),
    "park-fig1a": ("goes to 0", "0.5 (T = 20"),
    "park-fig1b": ("goes to 1",),
    "park-fig2": ("| 4% |",),
    "park-fig4a": ("90 %", "100 %"),
    "park-fig4b": ("0 since the beginning",),
    "local-bound": ("theorem 3", "restricted isometry"),
}


@pytest.fixture(scope="module")
def study() -> Study:
    shape = replace(find_shape("ml-100k").scaled(ratings=1_200), users=50, items=70)
    ratings = make_ratings(shape, seed=1)
    return Study("a few", ratings, TINY)


@pytest.fixture(scope="module")
def made(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folders: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name) / "made"
            reproduce(name, study, folders[name])
        return folders[name]

    return make


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_figure_of_the_issue_is_there() -> None:
    assert list(REPRODUCTIONS) == list(COLUMNS) == list(SAYINGS)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_figure_is_a_picture_a_table_and_a_text(made: Made, name: str) -> None:
    folder = made(name)
    names = {path.name for path in folder.iterdir()}
    assert names >= {f"{name}.svg", f"{name}.csv", f"{name}.md"}
    assert all(path.startswith(name) for path in names)  # nothing half-written beside them
    picture = ElementTree.parse(folder / f"{name}.svg").getroot()
    assert picture.tag.endswith("svg") and len(list(picture.iter())) > 50
    rows = read(folder / f"{name}.csv")
    assert len(rows) >= 3
    assert rows[0].keys() >= COLUMNS[name]
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    for said in SAYINGS[name]:
        assert said in text
    assert "## Why it differs" in text
    made_on = "a few" if name != "chow-closed" else "no ratings are looked at"
    assert made_on in text
    assert ("curator's eyes only" in text) == (name != "chow-closed")
    assert "nan" not in text.lower().split()


def test_the_paper_s_curves_are_worse_than_ours_on_few_ratings(made: Made) -> None:
    rows = read(made("mm-fig1") / "mm-fig1.csv")
    at = {
        (row["series"], row["theta"]): float(row["rmse"])
        for row in rows
        if (row["protect"], row["noise"]) == ("rating", "gaussian")
    }
    assert at["discreet, refined", "0.1"] < at["SVD, cleaned", "0.1"]
    assert at["SVD, cleaned", "30"] < at["SVD, cleaned", "0.1"]
    assert {row["epsilon"] == row["theta"] for row in rows if row["noise"] == "laplace"} == {True}
    theirs = [row["paper_rmse_on_netflix"] for row in rows if row["protect"] == "user"]
    assert set(theirs) == {""}  # the paper has no such curve


def test_bounds_hold_where_they_are_claimed(made: Made) -> None:
    rows = read(made("local-bound") / "local-bound.csv")
    assert all(float(row["rho"]) <= float(row["bound_of_rho"]) for row in rows)
    for one, later in itertools.pairwise(rows):
        if one["mechanism"] == later["mechanism"]:
            assert float(later["bound_of_rho"]) < float(one["bound_of_rho"])


def test_growth_needs_times(study: Study) -> None:
    without = replace(study, ratings=replace(study.ratings, times=None))
    with pytest.raises(InputError, match="goes by time"):
        find_reproduction("mm-fig2").make(without)


def test_what_is_made_once_is_made_once(study: Study) -> None:
    fresh = Study("a few", study.ratings, TINY)
    calls = []
    for _ in range(2):
        assert fresh.once("x", lambda: calls.append(1) or 7) == 7  # type: ignore[func-returns-value]
    assert calls == [1]


def test_progress_is_told(study: Study) -> None:
    told: list[tuple[str, int, int]] = []
    watched = replace(study, progress=lambda *said: told.append(said))
    assert list(watched.each("steps", "ab")) == ["a", "b"]
    assert told == [("steps", 0, 2), ("steps", 1, 2), ("steps", 2, 2)]


def test_an_unknown_figure_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'mm-fig9' is no figure; there are mm-fig1"):
        reproduce("mm-fig9", study, tmp_path)


def test_a_failed_picture_leaves_nothing(tmp_path: Path) -> None:
    def break_off(figure: object) -> None:
        raise KeyboardInterrupt

    found = Found([{"a": 1}], [Claim("x", "1", "2")], ["because"], break_off)
    with pytest.raises(KeyboardInterrupt):
        write_found(tmp_path, "x", ("title", "source"), found, "data")
    assert list(tmp_path.iterdir()) == []


def test_made_up_ratings_are_nobody_s_secret(study: Study, tmp_path: Path) -> None:
    (*_, text) = reproduce("chow-fig2", replace(study, made_up=True), tmp_path)
    assert "made-up ratings" in text.read_text(encoding="utf-8")
    assert "curator's eyes only" not in text.read_text(encoding="utf-8")


def test_the_same_figures_give_the_same_files(tmp_path: Path) -> None:
    def draw(figure: object) -> None:
        figure.subplots().plot([1, 2], [3, 4])  # type: ignore[attr-defined]

    found = Found([{"a": 0.1234567, "b": (1.0, 2.0)}], [Claim("a|b", "1", "2")], ["x"], draw)
    texts = []
    for folder in (tmp_path / "1", tmp_path / "2"):
        paths = write_found(folder, "x", ("title", "source"), found, "data")
        texts.append([path.read_bytes() for path in paths])
    assert texts[0] == texts[1]
    assert (tmp_path / "1" / "x.csv").read_text() == 'a,b\n0.123457,"[1.0, 2.0]"\n'
    assert "a\\|b" in (tmp_path / "1" / "x.md").read_text()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = Found([{"a": 1}], [], [], lambda figure: None)
    with pytest.raises(InputError, match="cannot be made"):
        write_found(tmp_path / "file" / "x", "x", ("t", "s"), found, "data")


def test_without_data_ratings_are_made_up(tmp_path: Path) -> None:
    made = open_study(None, TINY)
    assert made.made_up and len(made.ratings) == TINY.ratings
    assert made.sentence().startswith("Made on made-up ratings of the Netflix Prize's shape: 2,500")
    assert not made.is_netflix


def test_a_folder_may_hold_data_sets_under_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "ml-latest-small"
    folder.mkdir()
    (folder / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n1,1,4,9\n1,2,3,9\n2,1,5,9\n", encoding="utf-8"
    )
    (folder / "movies.csv").write_text("movieId,title,genres\n1,A,x\n2,B,x\n", encoding="utf-8")
    found = open_study(tmp_path, Size.SMALL)
    assert (found.name, len(found.ratings)) == ("ml-latest-small", 3)
    assert open_study(folder, Size.FULL).name == "ml-latest-small"
    with pytest.raises(InputError, match="is not there"):
        open_study(tmp_path / "nowhere", Size.SMALL)


def test_people_of_large_data_are_chosen(study: Study) -> None:
    chosen = np.zeros(study.ratings.user_count, dtype=np.bool_)
    chosen[[0, 2]] = True
    some = of_people(study.ratings, chosen)
    assert some.user_count == 2
    starts = study.ratings.starts
    assert some.items.tolist() == [
        *study.ratings.items[starts[0] : starts[1]],
        *study.ratings.items[starts[2] : starts[3]],
    ]


def test_buckets_are_as_large_as_the_paper_s() -> None:
    assert [few_bits(n) for n in (1, 943, 6_040, 480_189)] == [1, 1, 2, 8]


def test_full_is_more_than_small() -> None:
    small, full = EFFORTS[Size.SMALL], EFFORTS[Size.FULL]
    assert full.directory == 480_189
    for name in ("ratings", "draws", "cuts", "beacons", "attacks", "people", "uploads"):
        assert getattr(full, name) > getattr(small, name)


@pytest.mark.parametrize(
    ("utilities", "said"),
    [
        ((0.2, 0.6, 0.8), "3e+03"),
        ((0.2, 0.1, 0.5), "more differ up to 5,000"),
        ((0.9, 0.95, 1.0), "fewer differ already at 0.1"),
        ((0.6, 0.5, 0.8), "3e+03"),  # by chance it fell
    ],
)
def test_an_epsilon_that_was_not_reached_is_not_said(
    utilities: tuple[float, ...], said: str
) -> None:
    curve = [SimpleNamespace(utility=utility) for utility in utilities]
    assert _epsilon_said(curve, (0.1, 1_000.0, 5_000.0)) == said  # type: ignore[arg-type]
