"""Catalogues from files."""

from __future__ import annotations

import polars as pl
import pytest

from discreet.domain import Catalog, CatalogOrigin, InputError
from discreet.ratings.readers import read_catalog, read_ratings

_EXPECTED = Catalog(["2", "1"], ["Alien", "Heat"])


@pytest.mark.parametrize("name", ["id", "item_id", "movieId", "book_id", "Item", "ASIN"])
@pytest.mark.parametrize("title", ["title", "Name"])
def test_columns_by_usual_names(write, name, title):
    assert read_catalog(write("c.csv", f"{name},{title}\n2,Alien\n1,Heat\n")) == _EXPECTED


def test_separators_and_other_columns(write):
    assert read_catalog(write("c.tsv", "year\ttitle\tid\n1979\tAlien\t2\n1995\tHeat\t1\n")) == (
        _EXPECTED
    )
    assert read_catalog(write("c.csv", "id;title\n2;Alien\n1;Heat\n")) == _EXPECTED


def test_ids_alone(write):
    assert read_catalog(write("c.csv", "item_id\n2\n007\n")) == Catalog(["2", "007"])


def test_quotes_spaces_and_missing_titles(write):
    text = 'id,title\n1,"Good, the Bad\nand the Ugly"\n2,\n 3 , Heat \n'
    catalog = read_catalog(write("c.csv", text))
    assert catalog.ids == ("1", "2", "3")
    assert catalog.titles == ("Good, the Bad\nand the Ugly", "2", "Heat")


def test_columns_told(write):
    path = write("c.csv", "code,label\n2,Alien\n1,Heat\n")
    assert read_catalog(path, columns={"id": "code", "title": "label"}) == _EXPECTED
    assert read_catalog(path, columns={"id": 0, "title": None}) == Catalog(["2", "1"])


def test_columns_are_id_and_title(write):
    with pytest.raises(InputError, match="id and title"):
        read_catalog(write("c.csv", "code\n1\n"), columns={"name": "code"})


def test_the_goodbooks_list_is_understood(write):
    text = "book_id,goodreads_book_id,isbn,original_title,title\n2,9,x,a,Alien\n1,8,y,b,Heat\n"
    assert read_catalog(write("books.csv", text)) == _EXPECTED


def test_parquet(tmp_path):
    path = tmp_path / "c.parquet"
    pl.DataFrame({"title": ["Alien", "Heat"], "id": [2, 1]}).write_parquet(path)
    assert read_catalog(path) == _EXPECTED
    pl.DataFrame({"id": ["2", "1"], "title": ["Alien", "Heat"]}).write_parquet(path)
    assert read_catalog(path) == _EXPECTED


def test_published_lists(write):
    u_item = "2|Amélie|01-Jan-2001||x|0\n1|Heat||||1\n".encode("latin-1")
    assert read_catalog(write("u.item", u_item)).titles == ("Amélie", "Heat")
    dat = "0002::Amélie::Comedy\r\n1::Heat::\r\n"
    for encoding in ("utf-8", "latin-1"):
        catalog = read_catalog(write("movies.dat", dat.encode(encoding)))
        assert (catalog.ids, catalog.titles) == (("0002", "1"), ("Amélie", "Heat"))
    titles = "2,2001,Amélie, or: Heat\n1,NULL,Heat\n".encode("latin-1")
    assert read_catalog(write("movie_titles.txt", titles)).titles == ("Amélie, or: Heat", "Heat")


def test_columns_are_kept_on_request(write, tmp_path):
    path = write("c.csv", "id,title,year,genres\n2,Alien,1979, Horror|Sci-Fi \n1,Heat,,\n")
    assert read_catalog(path).columns == {}
    kept = read_catalog(path, keep_columns=["genres", "year"])
    assert kept == _EXPECTED
    assert kept.columns == {"genres": ("Horror|Sci-Fi", ""), "year": ("1979", "")}
    with pytest.raises(InputError, match=r"no column 'genre' to keep \(it has id, title, year, g"):
        read_catalog(path, keep_columns=["genre"])
    frame = pl.DataFrame({"id": ["2", "1"], "year": [1979, None]})
    frame.write_parquet(tmp_path / "c.parquet")
    assert read_catalog(tmp_path / "c.parquet", keep_columns=["year"]).columns["year"] == (
        *("1979", ""),
    )


def test_columns_of_published_lists(write):
    write("ratings.dat", "1::10::5::1\n1::20::1::2\n")
    write("movies.dat", "10::Heat::Crime|Drama\n20::Ran::Drama\n")
    path = write("u.item", "|".join(["2", "Ran", "", "", "", "0", "1", "1", *"0" * 16]) + "\n")
    assert read_catalog(path, keep_columns=["genres"]).columns["genres"] == ("Action|Adventure",)
    ratings = read_ratings(path.with_name("ratings.dat"), scale=(1, 5), keep_columns=["genres"])
    assert ratings.catalog.columns == {"genres": ("Crime|Drama", "Drama")}
    titles = write("movie_titles.txt", "1,2001,Heat\n")
    assert read_catalog(titles, keep_columns=["year"]).columns["year"] == ("2001",)


def test_columns_of_a_list_that_is_not_from_a_file_are_refused(write):
    path = write("r.csv", "user,item,rating\na,1,5\n")
    for catalog in ("from-data", _EXPECTED):
        with pytest.raises(InputError, match="no column 'genres' to keep: the list of items"):
            read_ratings(path, scale=(1, 5), catalog=catalog, keep_columns=["genres"])


def test_the_origin_is_kept(write):
    path = write("c.csv", "id\n1\n")
    assert read_catalog(path).origin is CatalogOrigin.GIVEN
    assert read_catalog(path, origin=CatalogOrigin.LAYOUT).origin is CatalogOrigin.LAYOUT


@pytest.mark.parametrize(
    ("name", "text", "line", "reason"),
    [
        ("c.csv", "id,title\n1,a\n\n2,b\n1,c\n", 5, "lists item '1' a second time"),
        ("c.csv", "id,title\n1,a\n,b\n", 3, "the item's id is empty"),
        ("c.csv", "id,title\n1,a\n2\n", 3, "does not have the 2 fields"),
        ("c.csv", "id,title,year\n1,a\n2,b,3,4\n", 2, "does not have the 3 fields"),
        ("c.csv", "id,title\n1,a\n2,\xe9\n", 3, "is not UTF-8"),
        ("c.csv", "name,title\n1,a\n", None, "needs a column of item ids"),
        ("c.csv", "id,book_id\n1,a\n", None, "'id' and 'book_id' could each be the id"),
        ("c.csv", "id,title\n", None, "has a header but no items"),
        ("c.csv", "", None, "is empty"),
        ("u.item", "1|a|\n2\n", 2, "does not have the 2 fields"),
        ("movies.dat", "1::a::b\n1::c::d\n", 2, "lists item '1' a second time"),
        ("movie_titles.txt", "1,2000,a\n2,b\n", 2, "does not have the 3 fields"),
        ("movies.dat", "", None, "is empty"),
        ("c.parquet", "id\n1\n", None, "is not whole Parquet"),
    ],
)
def test_bad_lists(write, name, text, line, reason):
    path = write(name, text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_catalog(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert reason in caught.value.reason


def test_parquet_rows_are_named(tmp_path):
    path = tmp_path / "c.parquet"
    pl.DataFrame({"id": [1, 2, 1]}).write_parquet(path)
    with pytest.raises(InputError, match=r"row 3: lists item '1' a second time"):
        read_catalog(path)
    pl.DataFrame({"id": [1.5]}).write_parquet(path)
    with pytest.raises(InputError, match="must be integers or text"):
        read_catalog(path)


def test_published_catalogues(data_folder):
    titles = read_catalog(data_folder / "netflix-subset" / "movie_titles.txt")
    assert len(titles) == 17_770
    assert titles.titles[0] == "Dinosaur Planet"
    assert read_catalog(data_folder / "ml-1m" / "movies.dat").titles[0] == "Toy Story (1995)"
