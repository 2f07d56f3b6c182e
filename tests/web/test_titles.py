"""Titles as people write them: shown, looked for, and brought along from other sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from discreet.domain import Catalog
from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import film_release, own, recommended
from web.test_page import read_csv

Visit = Callable[..., Any]
LONG = "A Very " + "Long " * 60 + "Title (1980)"
NAMED = [
    "Fugitive, The (1993)",
    "Matrix, The (1999)",
    "Star Wars: Episode IV - A New Hope (1977)",
    "Misérables, Les (1995)",
    LONG,
    "Godzilla (1954)",
    "Godzilla (1998)",
]


@pytest.fixture(scope="module")
def cinema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    films = film_release()
    titles = [*NAMED, *films.catalog.titles[len(NAMED) :]]
    path = tmp_path_factory.mktemp("cinema") / "films.discreet"
    replace(films, catalog=Catalog(films.catalog.ids, titles)).save(path)
    with running(Settings(path, **FREE)) as talk:
        yield talk


def found(page: Any, question: str) -> list[str]:
    page.get_by_label("Look for a title").fill(question)
    return list(page.locator("#results .title").all_inner_texts())


def test_titles_are_shown_and_found_as_people_write_them(cinema: Talk, visit: Visit) -> None:
    page = visit(f"{cinema.url}/")
    shown = page.locator("#results .title").all_inner_texts()
    assert shown[:4] == [
        "The Fugitive (1993)",
        "The Matrix (1999)",
        "Star Wars: Episode IV - A New Hope (1977)",
        "Les Misérables (1995)",
    ]
    assert page.locator("#results .tile").first.inner_text().split() == ["F", "1993"]
    # However long a title is, its row is no page.
    tall, usual = (page.locator("#results > li").nth(n).bounding_box()["height"] for n in (4, 2))
    assert tall < 2 * usual
    assert recommended(page)[:1] == shown[:1]
    assert found(page, "matrx") == ["The Matrix (1999)"]
    assert "Did you mean" in page.locator("#found").inner_text()
    assert found(page, "starwars") == shown[2:3]
    assert found(page, "the fugitive") == shown[:1]
    group = page.locator("#results").get_by_role("group", name="Rate The Fugitive (1993)")
    group.get_by_title("4 of 5").click()
    assert own(page) == {"The Fugitive (1993)": "4"}


FILES = {
    "Letterboxd": (
        "Date,Name,Year,Letterboxd URI,Rating\n"
        "2021-03-04,The Fugitive,1993,https://boxd.it/aa,4.5\n"
        "2021-03-05,Godzilla,1998,https://boxd.it/ab,0.5\n"
        "2021-03-06,Of Another World,1998,https://boxd.it/ab,3\n"
        "2021-03-07,The Matrix,1999,https://boxd.it/ac,\n",
        "2 ratings read. Ratings from 0.5 to 5 were converted to this page's scale. "
        "1 title not in this catalogue left out. 1 without a rating left out.",
        {"The Fugitive (1993)": "5", "Godzilla (1998)": "1"},
    ),
    "IMDb": (
        "Const,Your Rating,Date Rated,Title,URL,Title Type,IMDb Rating,Year\n"
        "tt0106977,7,2020-01-02,The Fugitive,https://www.imdb.com/,Movie,7.8,1993\n"
        "tt0047034,10,2020-01-02,Godzilla,https://www.imdb.com/,Movie,7.5,1954\n",
        "2 ratings read. Ratings from 1 to 10 were converted",
        {"The Fugitive (1993)": "4", "Godzilla (1954)": "5"},
    ),
    "MovieLens": (
        "movie_id,imdb_id,tmdb_id,rating,average_rating,title\n"
        '457,106977,5503,4.0,4.01,"Fugitive, The (1993)"\n'
        "f1,1,1,2.0,3.9,Toy Story (1995)\n",
        "1 rating read. Ratings from 0.5 to 5 were converted to this page's scale. 1 title not",
        {"The Fugitive (1993)": "4"},
    ),
    "semicolons": (
        "Titel;Title;Rating\nx;Matrix, The (1999);4,0\n",
        "1 rating read.",
        {"The Matrix (1999)": "4"},
    ),
}


def test_files_of_other_sites_are_read_as_they_are(cinema: Talk, visit: Visit) -> None:
    page = visit(f"{cinema.url}/")
    for content, said, expected in FILES.values():
        read_csv(page, content, said)
        assert own(page) == expected
        # All of it in one step.
        page.get_by_role("button", name="Undo").click()
        assert own(page) == {}
