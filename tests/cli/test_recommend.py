"""`discreet recommend`, on a release whose scores can be told by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli._calling import call, run_python
from discreet.domain import Catalog
from release._making import make_release, random_lists, random_refined

TITLES = ["Alien", "Heat", "Ran", "Big, the film", "Up"]
EFFECTS = [0.0, 0.5, -0.5, 1.0, 0.25]
# One rating of 5 where 3 was expected: 2 above, of which the person's level explains this part.
BIAS = 2 * 0.2 / (0.2 + 0.72)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A release without taste: an item's score is 3, its effect and the person's level."""
    path = tmp_path / "films.discreet"
    catalog = Catalog(["a", "h", "r", "b", "u"], TITLES)
    make_release(np.zeros((5, 1)), effects=EFFECTS, catalog=catalog).save(path)
    return path


def titles(*arguments: object) -> list[str]:
    return [each["title"] for each in call(*arguments, "--json").json()["recommendations"]]


def test_a_process_recommends_from_a_file_of_own_ratings(film: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("title,rating\nAlien,5\nNosferatu,4\n")
    said = call("recommend", film, "--ratings", tmp_path / "mine.csv", "-n", 2, "--json")
    told = said.json()
    assert said.err == "discreet: warning: not in the catalogue: 'Nosferatu'\n"
    assert told["unknown"] == ["Nosferatu"]
    assert [(e["id"], e["title"], e["item"]) for e in told["recommendations"]] == [
        ("b", "Big, the film", 3),
        ("h", "Heat", 1),
    ]
    expected = [e["expected"] for e in told["recommendations"]]
    assert expected == pytest.approx([4 + BIAS, 3.5 + BIAS], abs=1e-5)
    fields = ["item", "id", "title", "score", "expected", "because"]
    assert all(list(entry) == fields for entry in told["recommendations"])
    assert told["ordered_by"] == "popularity and how likely you are to like it"


def test_people_get_a_table(film: Path) -> None:
    said = call("recommend", film, "--like", "Alien=5", "-n", 1, "--explain")
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0] == ["title", "because", "of", "expected"]
    assert lines[1] == ["Big,", "the", "film", f"{4 + BIAS:.2f}"]
    assert "\nOrdered by popularity and how likely you are to like it.\n" in said.out


def test_a_title_gives_no_orders_to_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    catalog = Catalog(["a", "h"], ["Alien", "\x1b]0;mine\x07Heat"])
    make_release(np.zeros((2, 1)), catalog=catalog).save(path)
    said = call("recommend", path, "--like", "Alien=5")
    assert "\\x1b]0;mine\\x07Heat" in said.out and "\x1b" not in said.out


def test_only_what_speaks_for_an_item_is_a_reason(tmp_path: Path) -> None:
    catalog = Catalog(["a", "h", "r"], ["Alien", "Heat", "Ran"])
    path = tmp_path / "tastes.discreet"
    make_release([[1.0], [-1.0], [1.0]], user_variance=0.0, catalog=catalog).save(path)
    own = ("--like", "Alien=5", "--like", "Heat=5", "--explain", "--json")
    (only,) = call("recommend", path, *own).json()["recommendations"]
    assert [title for title, _ in only["because"]] == ["Alien"]
    assert only["because"][0][1] > 0


def test_names_that_nearly_match_are_suggested(tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    catalog = Catalog(["1", "2", "3"], ["Alien (1979)", "Heat", "Star Wars (1977)"])
    make_release(np.zeros((3, 1)), catalog=catalog).save(path)
    meant = {"Alein": "Alien (1979)", "HEAT": "Heat", "star wars": "Star Wars (1977)"}
    for name, title in meant.items():
        said = call("recommend", path, "--like", f"{name}=5", "--json")
        assert f"'{name}' (did you mean '{title}'?)\n" in said.err
    assert "?" not in call("recommend", path, "--like", "Nosferatu=5", "--json").err
    missing = call("predict", path, "--items", "Haet").complaint()
    assert "none of --items" in missing and "(did you mean 'Heat'?)" in missing


def test_somebody_unknown_gets_the_best_liked(film: Path) -> None:
    said = call("recommend", film)
    lines = said.out.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["Big,", "Heat", "Up", "Alien", "Ran"]
    assert "no own ratings given" in said.err


@pytest.mark.parametrize(
    "text",
    [
        "title,rating\nAlien,5\n",
        "Alien,5\n",
        "a,5\n",
        "\ufeffid,title,rating\na,Alien,5\n",
        "rating;item\n5;Alien\n",
        "Alien\t5\r\n\r\n",
        "Movie,stars\nAlien,2\nAlien,5\n",
    ],
)
def test_own_ratings_are_read_as_people_write_them(film: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8", newline="")
    told = call("recommend", film, "--ratings", tmp_path / "mine.csv", "--json").json()
    first = told["recommendations"][0]
    assert (first["title"], len(told["recommendations"])) == ("Big, the film", 4)
    assert first["expected"] == pytest.approx(4 + BIAS, abs=1e-5)


def test_quoted_titles_may_hold_commas(film: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text('title,rating\n"Big, the film",4\n')
    assert titles("recommend", film, "--ratings", tmp_path / "mine.csv")[0] == "Heat"


def test_likes_add_to_the_file_and_win(film: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("Alien,1\nHeat,3\n")
    own = ("--ratings", tmp_path / "mine.csv", "--like", "Alien=5", "--like", "Up=3")
    assert titles("recommend", film, *own) == ["Big, the film", "Ran"]


def test_filters_take_titles_and_files(film: Path, tmp_path: Path) -> None:
    (tmp_path / "shelf.txt").write_text("Up\n\nr\nAlien\nMetropolis\n")
    shelf = ("recommend", film, "--like", "a=5", "--only", tmp_path / "shelf.txt")
    said = call(*shelf, "--json")
    assert [e["title"] for e in said.json()["recommendations"]] == ["Up", "Ran"]
    assert "'Metropolis'" in said.err
    assert titles(*shelf, "--only", "Heat") == ["Heat", "Up", "Ran"]
    assert titles(*shelf, "--exclude", "u") == ["Ran"]
    left = call("recommend", film, "--exclude", tmp_path / "shelf.txt", "--json").json()
    assert [e["title"] for e in left["recommendations"]] == ["Big, the film", "Heat"]
    assert left["unknown"] == ["Metropolis"]


def test_columns_of_the_catalogue_filter(tmp_path: Path) -> None:
    genres = ["Horror|Sci-Fi", "Crime", "Drama", "Comedy", "Comedy|Drama"]
    years = ["1979", "1995", "1985", "1988", "2009"]
    catalog = Catalog(list("ahrbu"), TITLES, columns={"genres": genres, "year": years})
    path = tmp_path / "films.discreet"
    make_release(np.zeros((5, 1)), effects=EFFECTS, catalog=catalog).save(path)

    def where(*conditions: str) -> list[str]:
        return titles("recommend", path, *(x for each in conditions for x in ("--where", each)))

    assert where("genres=comedy") == ["Big, the film", "Up"]
    assert where("genres=Crime", "genres=Sci-Fi") == ["Heat", "Alien"]
    assert where("genres=Drama", "year=1985") == ["Ran"]
    wrong = {
        "genre=Comedy": "the catalogue has no column 'genre'; it has genres, year",
        "genres=Comdy": "no item of the catalogue has 'Comdy' in its column 'genres'",
        "Comedy": "--where names a column and a value, like --where genres=Comedy",
    }
    for condition, complaint in wrong.items():
        assert complaint in call("recommend", path, "--where", condition).complaint()


def test_lists_say_what_they_are_ordered_by_and_show_no_number_without_a_meaning(
    tmp_path: Path,
) -> None:
    random_lists().save(tmp_path / "lists")
    random_refined().save(tmp_path / "both")
    own = ("--like", "1=5", "--like", "4=2")
    said = call("recommend", tmp_path / "lists", *own)
    assert said.out.splitlines()[0].split() == ["title"]
    assert said.out.endswith("\nOrdered by how well each item goes with yours.\n")
    said = call("recommend", tmp_path / "both", *own)
    assert said.out.splitlines()[0].split() == ["title", "expected"]
    assert said.out.endswith("goes with yours and how likely you are to like it.\n")
    assert "Ordered by popularity.\n" in call("recommend", tmp_path / "lists").out
    expected = call("recommend", tmp_path / "both", *own, "--order", "expected")
    assert expected.out.endswith("\nOrdered by expected rating.\n")
    stars = [float(line.split()[-1]) for line in expected.out.splitlines()[1:-2]]
    assert len(stars) == 7 and stars == sorted(stars, reverse=True)
    refused = call("recommend", tmp_path / "lists", *own, "--order", "expected").complaint()
    assert "order 'expected' needs ratings" in refused
    assert "predicts no ratings; see" in call("predict", tmp_path / "lists", *own).complaint()


def test_lists_that_learnt_nothing_are_ordered_by_popularity(tmp_path: Path) -> None:
    made = random_lists()
    replace(made, parameters={**made.parameters, "list_directions": 0}).save(tmp_path / "lists")
    said = call("recommend", tmp_path / "lists", "--like", "1=5")
    ordered, learnt = said.out.splitlines()[-2:]
    assert ordered == "Ordered by popularity."
    assert learnt.startswith("Learnt popularity only, of ") and "the same list" in learnt
    own = ("--like", "1=5", "--explain", "--json")
    found = call("recommend", tmp_path / "lists", *own).json()["recommendations"]
    assert found and all(entry["because"] == [] for entry in found)


def test_both_predictors_agree_where_there_is_no_taste(film: Path) -> None:
    for predictor in ("svd", "knn"):
        own = ("--like", "Alien=5", "--predictor", predictor)
        assert titles("recommend", film, *own) == ["Big, the film", "Heat", "Up", "Ran"]


def test_many_unknown_names_are_cut_short(film: Path) -> None:
    likes = [part for i in range(13) for part in ("--like", f"film {i}=3")]
    assert "'film 9' and 3 more\n" in call("recommend", film, *likes, "--json").err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title,rating\nAlien,5\nHeat,lots\n", "mine.csv, line 3: needs an item's id or title"),
        ("title,rating\nAlien\n", "mine.csv, line 2: needs an item's id or title"),
        ("title,rating\nAlien,9\n", "the rating of 'Alien' is not on the scale 1..5"),
        ("title,rating\nAlien,nan\n", "the rating of 'Alien' is not on the scale 1..5"),
        ("title,rating\nAlien,5\na,5\n", "rated twice"),
        ("", "mine.csv: is empty"),
    ],
)
def test_own_ratings_that_cannot_be_used_are_not_repeated(
    film: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "mine.csv").write_text(text)
    said = call("recommend", film, "--ratings", tmp_path / "mine.csv").complaint()
    assert complaint in said
    assert "lots" not in said and "9" not in said.replace(str(tmp_path), "")


def test_wrong_options_are_a_line(film: Path, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"Am\xe9lie,5\n")
    (tmp_path / "text").write_text("no release")
    (tmp_path / "others").write_text("Faust\n")
    wrong = {
        (film, "-n", 0): "at least 1, not 0",
        (film, "--like", "Alien"): "--like names an item and a rating",
        (film, "--like", "Alien=good"): "--like names an item and a rating",
        (film, "--predictor", "guess"): "'guess' is not a predictor",
        (film, "--ratings", tmp_path / "none.csv"): "none.csv: cannot be read",
        (film, "--ratings", tmp_path / "latin"): "is not UTF-8",
        (film, "--only", tmp_path / "latin"): "is not UTF-8",
        (
            film,
            "--only",
            "none.txt",
        ): "--only 'none.txt' is neither an item of the catalogue nor a file",
        (film, "--only", tmp_path / "others"): "--only names no item of the catalogue",
        (
            film,
            "--exclude",
            "Alen",
        ): "--exclude 'Alen' is neither an item of the catalogue (did you mean 'Alien'",
        (tmp_path / "none.discreet",): "none.discreet: cannot be read",
        (tmp_path / "text",): "not a release",
    }
    for arguments, complaint in wrong.items():
        assert complaint in call("recommend", *arguments).complaint()


def test_it_works_where_the_private_rooms_were_deleted(film: Path) -> None:
    said = run_python(
        "-c",
        "import sys\n"
        "sys.modules['discreet.ratings'] = sys.modules['discreet.measure'] = None\n"
        "from discreet.cli._app import app\n"
        "for command in ('recommend', 'predict', 'inspect', 'similar'):\n"
        "    more = ['Alien'] if command == 'similar' else []\n"
        f"    app([command, {str(film)!r}, *more], standalone_mode=False)\n"
        "    print('ran', command)",
    )
    assert said.code == 0, said.err
    ran = [line for line in said.out.splitlines() if line.startswith("ran ")]
    assert ran == ["ran recommend", "ran predict", "ran inspect", "ran similar"]
