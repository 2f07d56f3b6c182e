"""One small study, its figures and all errata, computed once for every module here."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.ratings import find_shape, make_ratings
from papers.catalogue import all_errata, reproduce
from papers.erratum import Erratum
from papers.study import Effort, Study

Rows = list[dict[str, str]]


@pytest.fixture(scope="session")
def effort() -> Effort:
    return Effort(
        ratings=2_500, most_ratings=2_000, draws=1, cuts=2, beacons=2, bits=2, percents=(0, 200),
        attacks=20, answers=3, people=10, walkers=1, iterations=100, directory=64, uploads=64,
        cells=(20, 10), completions=(1.0, 16.0), epsilons=(1.0, 8.0),
    )  # fmt: skip


@pytest.fixture(scope="session")
def study(effort: Effort) -> Study:
    shape = replace(find_shape("ml-100k").scaled(ratings=1_200), users=50, items=70)
    return Study("a few", make_ratings(shape, seed=1), effort)


@pytest.fixture(scope="session")
def made(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a figure, made when first asked for."""
    folders: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name) / "made"
            reproduce(name, study, folders[name])
        return folders[name]

    return make


@pytest.fixture(scope="session")
def table(made: Callable[[str], Path]) -> Callable[[str], Rows]:
    """The table behind a figure."""

    def read(name: str) -> Rows:
        with (made(name) / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture(scope="session")
def check_figure(
    made: Callable[[str], Path], table: Callable[[str], Rows]
) -> Callable[[str, set[str], Iterable[str]], None]:
    """Checks that a figure is a picture, a table with these columns and a text that says this."""

    def check(name: str, columns: set[str], sayings: Iterable[str]) -> None:
        folder = made(name)
        names = {path.name for path in folder.iterdir()}
        assert names >= {f"{name}.svg", f"{name}.csv", f"{name}.md"}
        assert all(path.startswith(name) for path in names)  # nothing half-written beside them
        picture = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert picture.tag.endswith("svg") and len(list(picture.iter())) > 50
        rows = table(name)
        assert len(rows) >= 3
        assert rows[0].keys() >= columns
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        for said in sayings:
            assert said in text
        assert "## Why it differs" in text
        made_on = "a few" if name != "chow-closed" else "no ratings are looked at"
        assert made_on in text
        assert ("curator's eyes only" in text) == (name != "chow-closed")
        assert "nan" not in text.lower().split()

    return check


@pytest.fixture(scope="session")
def errata() -> dict[str, Erratum]:
    return {erratum.name: erratum for erratum in all_errata()}
