"""Methods, presence and features on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli._calling import call, write_sample
from discreet.release import load


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """People of two kinds: even numbers click on even items, odd ones on odd items."""
    folder = tmp_path_factory.mktemp("clicks")
    rows = [f"u{u},i{i}" for u in range(400) for i in range(u % 2, 24, 2) if (u * 7 + i) % 5]
    (folder / "c.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    names = "".join(f"i{i},thing {i}\n" for i in range(24))
    (folder / "i.csv").write_text("id,title\n" + names)
    return [str(folder / "c.csv"), "--implicit", "--catalog", str(folder / "i.csv")]


def test_each_method_writes_its_own_release(sample: list[str], tmp_path: Path) -> None:
    for method in ("refined", "covariance"):
        path = tmp_path / method
        told = call(
            "fit", "--no-ledger", *sample, "-o", path, "--method", method, "--epsilon", 5, "--json"
        ).json()
        assert told["method"] == method == load(path).method
        listed = call("recommend", path, "--like", "1=5", "-n", 2, "--json").json()
        assert len(listed["recommendations"]) == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--dense",), "--method covariance"),
        (("--clean", "auto"), "--method covariance"),
        (("--method", "covariance", "--features", "x.csv"), "--method refined"),
        (("--method", "lists", "--rank", "3"), "does not have"),
        (("--features", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_what_belongs_to_the_other_method_is_refused_in_a_line(
    sample: list[str], tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    done = call("fit", "--no-ledger", *sample, "-o", tmp_path / "m", *options)
    assert done.code != 0 and complaint in done.err
    assert done.err.count("\n") == 1 and not (tmp_path / "m").exists()


def test_info_of_presence_leaves_values_out(clicks: list[str]) -> None:
    told = call("data", "info", *clicks, "--json").json()
    assert (told["items"], told["scale"]) == (24, "presence")
    assert not {"mean", "deviation", "values"} & told.keys()
    shown = call("data", "info", *clicks)
    assert "presence only" in shown.out and shown.err == ""
    assert "mean" not in shown.out and "values" not in shown.out


@pytest.mark.parametrize("how", [("--implicit",), ("--scale", "presence")])
def test_ratings_that_are_left_aside_are_told_of(sample: list[str], how: tuple[str, ...]) -> None:
    path, catalog = sample[0], sample[-1]
    said = call("data", "info", path, *how, "--catalog", catalog, "--json")
    assert said.json()["scale"] == "presence"
    note = "has ratings, which are ignored: every row counts as one interaction"
    assert said.err == f"{path} {note}\n"


def test_presence_goes_the_whole_road(clicks: list[str], tmp_path: Path) -> None:
    path = tmp_path / "clicks.discreet"
    told = call(
        "fit", "--no-ledger", *clicks, "-o", path, "--protect", "rating", "--epsilon", 20, "--json"
    ).json()
    assert (told["scale"], told["method"]) == ("presence", "lists")
    assert told["parameters"]["list_directions"] > 0
    (tmp_path / "mine.csv").write_text("item\ni0\ni4\n")
    listed = call("recommend", path, "--ratings", tmp_path / "mine.csv", "-n", 5, "--json").json()
    ids = [entry["id"] for entry in listed["recommendations"]]
    assert all(int(name[1:]) % 2 == 0 for name in ids) and not {"i0", "i4"} & set(ids)
    named = call("recommend", path, "--like", "i0", "--like", "i4", "-n", 5, "--json").json()
    assert named == listed
    refused = call("recommend", path, "--like", "i0", "--predictor", "knn")
    assert refused.code != 0 and "'knn' is not a predictor for method 'lists'" in refused.err
    rated = call("recommend", path, "--like", "i0=5")
    assert rated.code != 0 and "of interactions" in rated.err


def test_a_fit_of_lists_with_pairs_does_not_say_that_all_lists_are_the_same(
    clicks: list[str], tmp_path: Path
) -> None:
    shown = call(
        "fit", "--no-ledger", *clicks, "-o", tmp_path / "m", "--protect", "rating", "--epsilon", 20
    )
    assert "per rating" in shown.out and "everybody gets the same" not in shown.out


def test_presence_is_judged_by_its_lists(clicks: list[str]) -> None:
    told = call("evaluate", *clicks, "--protect", "rating", "--epsilon", 20, "--draws", 1, "--json")
    rows = {row["model"]: row for row in told.json()["rows"]}
    assert set(rows) == {"private", "non-private", "popularity"}
    assert rows["private"]["ndcg_at_10"] > rows["popularity"]["ndcg_at_10"]
    assert not {"rmse", "rmse_sd", "mae"} & rows["private"].keys()
    refused = call("evaluate", *clicks, "--models", "private,item-mean")
    assert refused.code != 0 and "needs ratings" in refused.err


def test_presence_is_shown_without_figures_of_ratings(clicks: list[str], tmp_path: Path) -> None:
    budget = ("--protect", "rating", "--epsilon", "4,20", "--draws", 2)
    said = call("evaluate", *clicks, *budget, "-o", tmp_path / "p.png")
    table = [" ".join(line.split()) for line in said.out.splitlines()]
    assert "model epsilon NDCG@10 recall@20 coverage NDCG@10, few" in table
    assert [line.split()[1] for line in table if line.startswith("private ")] == ["4", "20"]
    assert table[-3].startswith("standard deviation over draws, at most: NDCG@10 ")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_lists_of_presence_show_no_chances(clicks: list[str], tmp_path: Path) -> None:
    path = tmp_path / "clicks.discreet"
    call("fit", "--no-ledger", *clicks, "-o", path, "--protect", "rating", "--epsilon", 20)
    own = ("--like", "i0", "--like", "i4")
    listed = call("recommend", path, *own, "-n", 2, "--json").json()["recommendations"]
    assert [entry["expected"] for entry in listed] == [None, None]
    lines = call("recommend", path, *own, "-n", 2).out.splitlines()
    assert [line.strip() for line in lines[:3]] == ["title", *(each["title"] for each in listed)]
    assert "predicts no ratings" in call("predict", path, *own).complaint()


def test_dense_without_effect_is_told_of(sample: list[str], tmp_path: Path) -> None:
    dense = ("--method", "covariance", "--dense", "--protect", "rating")
    said = call("fit", "--no-ledger", *sample, "-o", tmp_path / "small", *dense, "--epsilon", 0.1)
    assert said.code == 0 and "--dense has no effect: the budget is too small" in said.err
    assert "covariance" not in load(tmp_path / "small").arrays
    said = call("fit", "--no-ledger", *sample, "-o", tmp_path / "large", *dense, "--epsilon", 40)
    assert (said.code, "--dense has no effect" in said.err) == (0, False)
    assert "covariance" in load(tmp_path / "large").arrays


def test_features_are_read_and_reach_the_release(sample: list[str], tmp_path: Path) -> None:
    catalog = Path(sample[sample.index("--catalog") + 1]).read_text().splitlines()
    names = [line.split(",")[0] for line in catalog[1:]]
    kinds = "".join(f"{name},{'ab'[place % 2]}\n" for place, name in enumerate(names[:-1]))
    (tmp_path / "f.csv").write_text("id,kind\n" + kinds)
    options = ("--epsilon", 5, "--features", tmp_path / "f.csv")
    plain, more = tmp_path / "plain", tmp_path / "more"
    assert call("fit", "--no-ledger", *sample, "-o", plain, "--epsilon", 5).code == 0
    done = call("fit", "--no-ledger", *sample, "-o", more, *options)
    assert done.code == 0 and "1 items are not in" in done.err
    assert "2 columns of features were read" in done.err
    assert "feature_columns" in load(more).parameters
    assert "feature_columns" not in load(plain).parameters


def test_the_order_of_lists_can_be_chosen(sample: list[str], tmp_path: Path) -> None:
    path = tmp_path / "m"
    call("fit", "--no-ledger", *sample, "-o", path, "--epsilon", 5)
    best, expected = (
        call("recommend", path, "--order", order, "--json").json()["recommendations"]
        for order in ("best", "expected")
    )
    stars = [entry["expected"] for entry in expected]
    assert stars == sorted(stars, reverse=True)
    scores = [entry["score"] for entry in best]
    assert scores == sorted(scores, reverse=True)
    assert max(entry["expected"] for entry in best) <= stars[0]
