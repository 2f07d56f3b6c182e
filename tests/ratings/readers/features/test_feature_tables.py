"""Features from every kind of public table, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError
from discreet.ratings import ItemFeatures, read_catalog, read_features

CATALOG = Catalog(["10", "20", "30", "40"])
ROWS = {
    "id": ["20", "10", "99", "40"],
    "genres": ["Drama|War", "War", "Drama", "Comedy|Drama"],
    "price": ["3", "1", "77", ""],
}
NAMES = ("genres=Drama", "genres=War", "price")
VALUES = [[0, 1, -1], [1, 1, 1], [0, 0, 0], [1, 0, 0]]


def csv(separator: str = ",", rows: dict[str, list[str]] = ROWS) -> str:
    lines = [rows, *zip(*rows.values(), strict=True)]
    return "".join(separator.join(line) + "\n" for line in lines)


def assert_the_rows(features: ItemFeatures) -> None:
    assert features.names == NAMES
    assert features.values.tolist() == VALUES
    assert features.values.dtype == np.float32
    assert (features.lacking, features.ignored, len(features)) == (1, 1, 4)
    assert repr(features) == "ItemFeatures(3 columns, 4 items)"


@pytest.mark.parametrize("separator", [",", "\t", ";", "::"])
def test_text(write, separator):
    assert_the_rows(read_features(write("f.txt", csv(separator)), CATALOG))


def test_compressed_marked_windows_and_quoted(write):
    text = csv().replace("Drama|War", '"Drama|War"').replace("\n", "\r\n")
    marked = b"\xef\xbb\xbf" + text.encode()
    assert_the_rows(read_features(write("f.csv.gz", gzip.compress(marked)), CATALOG))


def test_typed_tables(tmp_path):
    rows = ROWS | {"price": [3, 1, 77, None]}
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "f.parquet")
    sources = (frame, frame.lazy(), frame.to_arrow(), pd.DataFrame(rows), tmp_path / "f.parquet")
    for source in sources:
        assert_the_rows(read_features(source, CATALOG))


def test_ids_of_any_type_and_values_in_lists():
    lists = [["Drama", "War"], ["War"], ["Drama"], ["Comedy", None, " Drama "]]
    for kind in (pl.Int64, pl.UInt8, pl.Float64, pl.String):
        ids = pl.Series([20, 10, 99, 40]).cast(pl.Int32).cast(kind)
        if kind == pl.String:
            ids = ids.cast(pl.Categorical)
        frame = pl.DataFrame({"item": ids, "genres": lists, "price": [3.0, 1.0, 0.0, None]})
        assert_the_rows(read_features(frame, CATALOG))


def test_pandas_columns_of_mixed_types_are_text():
    mixed = pd.DataFrame(ROWS | {"genres": ["a", 1, "x", None], "id": ["20", 10, 99, "40"]})
    mixed["shelf"] = pd.Series([1, "b", "b", "b"], dtype=object)
    assert read_features(mixed, CATALOG).names == ("price", "shelf=b")


def test_the_item_column_is_found_or_told(write):
    for name in ("item", "movieId", "ISBN", "item_id"):
        text = csv().replace("id,", f"{name},", 1)
        assert_the_rows(read_features(write("f.csv", text), CATALOG))
    text = csv().replace("id,", "code,", 1)
    assert_the_rows(read_features(write("f.csv", text), CATALOG, item="code"))


def test_some_columns_only(write):
    path = write("f.csv", csv())
    assert read_features(path, CATALOG, columns=["price", "price"]).names == ("price",)
    assert read_features(path, CATALOG, columns=("price", "genres")).names == (
        "price",
        "genres=Drama",
        "genres=War",
    )


def test_columns_without_a_name_are_left_out(write):
    lines = csv().splitlines()
    text = "".join(f"{i or ''},{line}\n" for i, line in enumerate(lines))
    assert_the_rows(read_features(write("f.csv", text), CATALOG))


MOVIES = {
    "1": ("Heat (1995)", "Crime|Drama"),
    "2": ("Amélie (2001)", "Comedy|Drama"),
    "3": ("Big (1988)", ""),
    "4": ("Ran (1985)", "Drama|Comedy"),
    "5": ("Alien, the film (1979)", "Crime"),
    "6": ("Untitled", "Film-Noir"),
}
MOVIE_NAMES = ("decade=1980", "genres=Drama", "genres=Comedy", "genres=Crime")
MOVIE_VALUES = [[0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
FLAG_OF = {"Comedy": 5, "Crime": 6, "Drama": 8, "Film-Noir": 10}


def u_item() -> str:
    lines = []
    for item, (title, genres) in MOVIES.items():
        # The first of the 19 flags stands for an unknown genre.
        set_ = [FLAG_OF[genre] for genre in genres.split("|") if genre] or [0]
        flags = ["1" if flag in set_ else "0" for flag in range(19)]
        lines.append("|".join([item, title, "01-Jan-1995", "", "http://x", *flags]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("movies.dat", "".join(f"{i}::{t}::{g}\n" for i, (t, g) in MOVIES.items())),
        ("u.item", u_item()),
        (
            "movies.csv",
            "movieId,title,genres\n"
            + "".join(f'{i},"{t}",{g or "(no genres listed)"}\n' for i, (t, g) in MOVIES.items()),
        ),
    ],
)
def test_movielens(write, name, text):
    encodings = ("utf-8",) if name.endswith("csv") else ("utf-8", "latin-1")
    for encoding in encodings:
        path = write(name, text.encode(encoding))
        features = read_features(path, read_catalog(path))
        assert features.names == MOVIE_NAMES
        assert features.values.tolist() == MOVIE_VALUES


def test_the_netflix_list_has_years(write):
    path = write("movie_titles.txt", "1,2003,Heat, or not\n2,NULL,Ran\n3,2005,Big\n")
    features = read_features(path, read_catalog(path))
    assert (features.names, features.values.tolist()) == (("year",), [[-1], [0], [1]])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(len(MOVIES))), st.permutations(["id", "title", "genres", "price"]))
def test_the_order_of_rows_and_of_an_id_column_does_not_count(write, order, names):
    titles, genres = zip(*MOVIES.values(), strict=True)
    prices = ["0.1", "7", "", "1e3", "-2", "0.3"]
    rows = {"id": list(MOVIES), "title": titles, "genres": genres, "price": prices}
    named = {name: ['"' + rows[name][row] + '"' for row in order] for name in names}
    features = read_features(write("f.csv", csv(rows=named)), Catalog(list(MOVIES)))
    plain = {name: [f'"{cell}"' for cell in rows[name]] for name in names}
    straight = read_features(write("g.csv", csv(rows=plain)), Catalog(list(MOVIES)))
    assert features.names == straight.names
    assert set(features.names) == {*MOVIE_NAMES, "price"}
    np.testing.assert_array_equal(features.values, straight.values)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "is empty"),
        ("id,genre\n", None, "has a header but no items below it"),
        (
            "name,genre\n1,a\n",
            None,
            "needs a column of item ids, named like id, item_id or movieId",
        ),
        ("id,book_id,genre\n1,1,a\n", None, "'id' and 'book_id' could each be the item; rename"),
        ("id,genre,genre\n10,a,b\n", None, "more than one column is named 'genre'"),
        ("id\n10\n20\n", None, "yields no feature: no column except 'id' is used"),
        ("id,genre\n10,a\n20,a\n10,b\n", 4, "lists item '10' a second time"),
        ("id,genre\n10,a\n,a\n", 3, "the item is empty"),
        ("id,genre\n10,a\n20\n", 3, "does not have the 2 fields that every line must have"),
        ("id,genre\n1,a\n2,a\n", None, "lists none of the catalogue's 4 items"),
        ("id,genre\n10,a\n20,b\n30,c\n", None, "makes no feature: what it says is empty, the same"),
        ("id,a,b,c\n10,x,1,\n20,x,1,\n", None, "makes no feature: what it says is empty, the same"),
        ("id,genre\n10,\xe9\n", 2, "is not UTF-8"),
    ],
)
def test_bad_files(write, text, line, reason):
    path = write("f.csv", text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_features(path, CATALOG)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert reason in caught.value.reason
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("u.item", b"1|a|b\n", "does not have the 24 fields"),
        ("movies.dat", b"1::a::b\n2\n", "line 2: does not have the 2 fields"),
        ("movies.dat", b"1::a::b\n1::c::d\n", "line 2: lists item '1' a second time"),
        ("f.parquet", b"id,genre\n1,a\n", "is not whole Parquet"),
        ("f.csv", b"PK\x03\x04", "is a zip archive"),
        ("f.csv", b"\0\0\0", "is not a text file"),
        ("f.csv.gz", gzip.compress(csv().encode(), mtime=0)[:20], "is cut short"),
    ],
)
def test_unreadable_files(write, name, content, reason):
    with pytest.raises(InputError) as caught:
        read_features(write(name, content), CATALOG)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_and_no_table(tmp_path):
    for source, reason in {
        tmp_path / "absent.csv": "no such file",
        tmp_path / "absent.parquet": "no such file",
        tmp_path: "is a folder, not a file",
    }.items():
        with pytest.raises(InputError, match=reason):
            read_features(source, CATALOG)
    for source in (5, None, {"id": [1]}, [1, 2]):
        with pytest.raises(InputError, match="features are read from a path, a data frame"):
            read_features(source, CATALOG)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (
            pl.DataFrame({"name": ["a"], "x": [1]}),
            r"needs a column of item ids.*\(it has name, x\)",
        ),
        (pl.DataFrame({"id": [10, 20, 10], "x": [1, 2, 3]}), "row 3: lists item '10' a second"),
        (pl.DataFrame({"id": [10, None], "x": [1, 2]}), "row 2: the item is empty"),
        (pl.DataFrame({"id": [1.5], "x": [1]}), "row 1: the item is a number, but not a whole"),
        (pl.DataFrame({"id": [], "x": []}), "lists none of the catalogue's"),
        (pl.DataFrame({"id": [10, 20], "x": [{"a": 1}, {"a": 2}]}), "makes no feature"),
        (pl.DataFrame({"id": [10, 20]}), "no column except 'id'"),
        (pl.LazyFrame({"id": [10], "x": ["a"]}).cast({"x": pl.Int8}), "fails when it is collected"),
    ],
)
def test_bad_frames(frame, reason):
    with pytest.raises(InputError, match=reason) as caught:
        read_features(frame, CATALOG)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"item": "code"}, "has no column 'code' with the item's id (it has id, genres, price)"),
        ({"columns": ["colour"]}, "makes no feature of 'colour', which is not a column (it has id"),
        ({"columns": ["id"]}, "makes no feature of 'id', which is the column of ids"),
        ({"columns": "genres"}, "columns is a list of names, like ['genres']"),
        ({"columns": []}, "yields no feature: no column except 'id' is used"),
        ({"most": 0}, "most is how many columns there may be, 1 or more, not 0"),
        ({"most": -3}, "1 or more, not -3"),
    ],
)
def test_what_is_told_must_fit(write, told, reason):
    with pytest.raises(InputError) as caught:
        read_features(write("f.csv", csv()), CATALOG, **told)
    assert reason in str(caught.value)


def test_published_lists(data_folder: Path):
    for name, genres in {"ml-100k/u.item": 18, "ml-1m/movies.dat": 18}.items():
        catalog = read_catalog(data_folder / name)
        features = read_features(data_folder / name, catalog)
        assert sum(name.startswith("genres=") for name in features.names) == genres
        assert features.values[0, features.names.index("genres=Animation")] == 1  # Toy Story
        assert features.values[0, features.names.index("decade=1990")] == 1
        assert set(np.unique(features.values)) == {0, 1}
