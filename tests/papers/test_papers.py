"""The catalogue, its command line, what figures are written to, and the page of errata."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cli._calling import Outcome
from discreet.domain import InputError
from discreet.ratings import find_shape, make_ratings
from papers import __main__ as command
from papers import catalogue
from papers import study as studies
from papers.catalogue import reproduce
from papers.erratum import PAPERS, Erratum, exponential, no_less_than, percent
from papers.figure import Claim, Result, write_result
from papers.study import Effort, Size, Study, of_people, open_study

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "errata.md"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?: %)?(?!\w)")
NAMES = (
    "mm-fig1", "mm-fig2", "chow-table1", "chow-fig2", "chow-fig3", "chow-closed", "park-fig1a",
    "park-fig1b", "park-fig2", "park-fig4a", "park-fig4b", "local-bound",
)  # fmt: skip


def call(*arguments: object) -> Outcome:
    """`python -m papers ...` in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["papers", *map(str, arguments)]
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", argv):
        code = command.main()
    return Outcome(int(code), out.getvalue(), err.getvalue())


def complaint(*arguments: object) -> str:
    """What went wrong: one line on standard error, nothing else, exit code 2."""
    said = call(*arguments)
    assert (said.code, said.out) == (2, ""), said
    assert said.err.startswith("papers: ") and said.err.count("\n") == 1, said.err
    return said.err


def test_papers_stay_out_of_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/discreet"]
    assert list(wheel["force-include"]) == ["web"]


def test_what_is_made_once_is_made_once(study: Study) -> None:
    fresh = Study("a few", study.ratings, study.effort)
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
    with pytest.raises(InputError, match="unknown figure 'mm-fig9'; choose from mm-fig1"):
        reproduce("mm-fig9", study, tmp_path)


def test_a_failed_picture_leaves_nothing(tmp_path: Path) -> None:
    def break_off(figure: object) -> None:
        raise KeyboardInterrupt

    found = Result([{"a": 1}], [Claim("x", "1", "2")], ["because"], break_off)
    with pytest.raises(KeyboardInterrupt):
        write_result(tmp_path, "x", ("title", "source"), found, "data")
    assert list(tmp_path.iterdir()) == []


def test_made_up_ratings_are_not_secret(study: Study, tmp_path: Path) -> None:
    (*_, text) = reproduce("chow-fig2", replace(study, made_up=True), tmp_path)
    assert "made-up ratings" in text.read_text(encoding="utf-8")
    assert "curator's eyes only" not in text.read_text(encoding="utf-8")


def test_the_same_figures_give_the_same_files(tmp_path: Path) -> None:
    def draw(figure: object) -> None:
        figure.subplots().plot([1, 2], [3, 4])  # type: ignore[attr-defined]

    found = Result([{"a": 0.1234567, "b": (1.0, 2.0)}], [Claim("a|b", "1", "2")], ["x"], draw)
    texts = []
    for folder in (tmp_path / "1", tmp_path / "2"):
        paths = write_result(folder, "x", ("title", "source"), found, "data")
        texts.append([path.read_bytes() for path in paths])
    assert texts[0] == texts[1]
    assert (tmp_path / "1" / "x.csv").read_text() == 'a,b\n0.123457,"[1.0, 2.0]"\n'
    assert "a\\|b" in (tmp_path / "1" / "x.md").read_text()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = Result([{"a": 1}], [], [], lambda figure: None)
    with pytest.raises(InputError, match="cannot be made"):
        write_result(tmp_path / "file" / "x", "x", ("t", "s"), found, "data")


def test_without_data_ratings_are_made_up(effort: Effort) -> None:
    made = open_study(None, effort)
    assert made.made_up and len(made.ratings) == effort.ratings
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
    with pytest.raises(InputError, match="does not exist"):
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


# The command line.


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    effort = Effort(ratings=2_000, beacons=1, bits=1)
    monkeypatch.setattr(studies, "EFFORTS", dict.fromkeys(Size, effort))


def test_the_list_has_every_figure() -> None:
    said = call("list")
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines() if line[0] != " "] == ["id", *NAMES]
    rows: Any = call("list", "--json").json()
    assert [row["id"] for row in rows] == list(NAMES)
    assert {row["paper"] for row in rows} >= {"McSherry and Mironov", "Park and Acharya"}


@pytest.mark.usefixtures("tiny")
def test_one_figure_is_told_and_written(tmp_path: Path) -> None:
    said = call("reproduce", "chow-fig2", "-o", tmp_path / "made")
    assert said.code == 0
    assert said.out.startswith("# chow-fig2: diversity of c-values")
    assert "made-up ratings of the Netflix Prize's shape: 2,000 ratings" in said.err
    (tmp_path / "made" / "chow-fig2.md").write_text("my own notes")
    again = complaint("reproduce", "chow-fig2", "-o", tmp_path / "made")
    assert "chow-fig2.svg: exists; choose another folder, or say --overwrite" in again
    assert (tmp_path / "made" / "chow-fig2.md").read_text() == "my own notes"
    told = ("-o", tmp_path / "made", "--overwrite")
    more = call("reproduce", "chow-fig2", *told, "--ratings", "3000")
    assert "made-up ratings of the Netflix Prize's shape: 3,000 ratings" in more.err
    assert {path.suffix for path in (tmp_path / "made").iterdir()} == {".svg", ".csv", ".md"}
    listed = call("reproduce", "chow-fig2", *told, "--json").json()
    assert [Path(path).name for path in listed["written"]["chow-fig2"]] == [
        "chow-fig2.svg", "chow-fig2.csv", "chow-fig2.md",
    ]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_several_figures_on_a_file_that_does_not_tell_its_scale(tmp_path: Path) -> None:
    ratings = make_ratings(find_shape("netflix").scaled(ratings=2_000), seed=2)
    users = np.repeat(np.arange(ratings.user_count), np.diff(ratings.starts))
    rows = zip(users, ratings.items, ratings.values(), strict=True)
    lines = [f"{user},{item},{value:g}" for user, item, value in rows]
    file = tmp_path / "own.csv"
    file.write_text("\n".join(["who,what,liked", *lines, "1,2,9"]) + "\n", encoding="utf-8")
    told = (
        "--data",
        file,
        "--catalog",
        "from-data",
        "--columns",
        "user=who,item=what,rating=liked",
    )
    wanted = ("chow-fig2", "chow-table1", "chow-fig2", "-o", tmp_path / "made")
    assert "scale" in complaint("reproduce", *wanted, *told)
    read = (*told, "--scale", "1..5", "--on-bad-rows", "skip")
    said = call("reproduce", *wanted, *read, "--json")
    assert said.code == 0
    assert "1 bad rows were skipped" in said.err
    assert list(said.json()["written"]) == ["chow-fig2", "chow-table1"]
    assert "Made on own.csv: 2,000 ratings" in said.json()["data"]


@pytest.mark.usefixtures("tiny")
def test_all_goes_on_where_one_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(name: str, study: Any, folder: Path) -> list[Path]:
        if name == "mm-fig2":
            raise InputError("there are no times")
        return [folder / f"{name}.md"]

    monkeypatch.setattr(catalogue, "reproduce", make)
    said = call("reproduce", "all", "-o", tmp_path, "--json")
    assert said.code == 1
    told = json.loads(said.out)
    assert told["refused"] == {"mm-fig2": "there are no times"}
    assert list(told["written"]) == [name for name in NAMES if name != "mm-fig2"]
    alone = call("reproduce", "mm-fig2", "-o", tmp_path)
    assert (alone.code, alone.err.splitlines()[-1]) == (2, "papers: there are no times")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "x"), "Missing argument 'ID...'"),
        (("mm-fig9", "-o", "x"), "unknown figure 'mm-fig9'; choose from mm-fig1"),
        (("mm-fig1",), "Missing option '--output'"),
        (("mm-fig1", "-o", "/proc/self"), "mm-fig1.md: cannot be written"),
        (("mm-fig1", "-o", "x", "--size", "huge"), "'huge' is not one of 'small', 'full'"),
        (("mm-fig1", "-o", "x", "--data", "nowhere"), "nowhere: does not exist"),
        (("mm-fig1", "-o", "x", "--data", "x", "--ratings", "9000"), "--ratings is for made-up"),
        (("mm-fig1", "-o", "x", "--scale", "1..5"), "--layout are for --data FILE"),
        (("mm-fig1", "-o", "x", "--data", "x", "--columns", "uid"), "not of the form user=uid"),
    ],
)
def test_what_is_missing_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in complaint("reproduce", *arguments)


# The page of errata.


def rows() -> dict[str, tuple[str, str]]:
    """For each claim of the page, what happens and what is done instead."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| claim |"):
            claim, happens, instead = (cell.strip() for cell in line.strip("|").split(" | "))
            found[claim] = happens, instead
    return found


def numbers_in(text: str) -> set[str]:
    """Numbers in prose: none that is part of a name, a formula in backticks or a command."""
    prose = re.sub(r"`[^`]*`", "", text)
    prose = re.sub(r"\b(?:ml-\d+\w|[A-Z]\d|j\d|L\d)\b", "", prose)
    return {each.rstrip(",") for each in NUMBER.findall(prose)}


def test_the_numbers_of_a_text_are_found() -> None:
    text = "at 1e-5, with `f(7)` 17,770 items, 0.06 % and 2.0, L2 of B² on ml-1m"
    assert numbers_in(text) == {"1e-5", "17,770", "0.06 %", "2.0"}


def test_every_erratum_is_a_row_of_the_page_with_its_numbers(errata: dict[str, Erratum]) -> None:
    page = rows()
    for erratum in errata.values():
        assert erratum.claim in page, erratum.claim
        printed = numbers_in(" ".join((erratum.claim, *page[erratum.claim])))
        for number in erratum.numbers:
            said = {number.text, number.text.removesuffix(" %")}
            assert said & printed, f"{erratum.name}: {number.what} is {number.text}"


def test_every_number_of_the_page_is_computed_or_names_its_command(
    errata: dict[str, Erratum],
) -> None:
    by_claim = {erratum.claim: erratum for erratum in errata.values()}
    for claim, (happens, _) in rows().items():
        if claim not in by_claim:
            commanded = "`python -m papers reproduce " in happens or "`discreet attack " in happens
            assert commanded or not numbers_in(happens), claim
            continue
        erratum = by_claim[claim]
        known = {number.text for number in erratum.numbers} | set(erratum.given)
        assert numbers_in(happens) - known == set(), claim


@pytest.mark.parametrize(
    ("name", "claimed", "found"),
    [
        ("000, Theorem 4", "claimed in L1: alpha + B", "found in L1"),
        ("000, Theorem 4", "claimed in squared L2: alpha^2/(4 beta) + B^2", "found in squared L2"),
        ("000, Theorem 3", "the largest mu that epsilon 10 allows", "the mu of Theorem 3's noise"),
        ("000, Theorem 5", "claimed in L1: 2 B alpha + 3 B^2", "found in L1"),
        ("003, Theorem 3.1", "claimed", "found"),
        ("003, Theorem 3.2", "claimed: 2/T", "found"),
        (
            "002, appendix",
            "claimed: differences that are read",
            "found, of 28 pairs of eight people",
        ),
        ("practice, adaptive totals", "promised delta", "reached delta, at least"),
        (
            "practice, discrete Gaussian",
            "delta by the formula",
            "delta of the discrete Gaussian",
        ),
    ],
)
def test_what_is_found_passes_what_is_claimed(
    errata: dict[str, Erratum], name: str, claimed: str, found: str
) -> None:
    assert errata[name].value(found) > errata[name].value(claimed) * 1.01


def test_numbers_are_printed_as_on_the_page() -> None:
    assert exponential("x", 2.758e-6).text == "2.8e-6"
    assert no_less_than("x", 2.758e-6).text == "2.7e-6"
    assert no_less_than("x", 2.7e-6).text == "2.7e-6"
    assert exponential("x", 1e-6, 0).text == "1e-6"
    assert percent("x", 0.000625, ".2f").text == "0.06 %"


def test_the_page_names_every_paper_with_its_short_name(errata: dict[str, Erratum]) -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert {erratum.paper for erratum in errata.values()} == set(PAPERS.values())
    for short, paper in PAPERS.items():
        assert f"## {paper.authors}" in text
        if short != "practice":
            assert f"| `{short}` | {paper.authors} | {paper.title} |" in text


def test_the_ledger_s_pages_have_the_same_delta(errata: dict[str, Erratum]) -> None:
    """What adaptive steps reach is told in three places."""
    (_, reached) = errata["practice, adaptive totals"].numbers
    root = PAGE.parents[2]
    for place in (
        "docs/reference/ledger.md",
        "docs/explanation/errata.md",
        "src/discreet/privacy/ledger/PROOF.md",
    ):
        assert reached.text in (root / place).read_text(encoding="utf-8"), place


def test_the_command_prints_what_is_claimed_and_found(
    errata: dict[str, Erratum], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "all_errata", lambda: list(errata.values()))
    said = call("errata")
    assert said.code == 0
    assert "  found in L1 = 6.76\n" in said.out
    lines = said.out.splitlines()
    assert lines[0].startswith("000       McSherry and Mironov: Differentially Private Recommender")
    assert [line.split()[0] for line in lines[:5]] == ["000", "003", "002", "004", "practice"]
    claims = [line for line in lines if line.startswith("  ") and not line.startswith("    ")]
    assert len(claims) == len(set(claims)) == len(errata)
    assert not [line for line in claims if "000" in line or "Theorem 4: Theorem 4" in line]
    assert said.out.count("\nMcSherry and Mironov\n") == 1
    found: Any = json.loads(call("errata", "--json").out)
    assert {each["name"][:3] for each in found} == {"000", "002", "003", "004", "pra"}
    assert found[0]["paper"].startswith("McSherry and Mironov: ")
