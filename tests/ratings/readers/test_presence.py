"""Presence alone: rows that say only that they are there."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, Catalog, InputError, Scale
from discreet.ratings import Ratings, read_ratings, split_random, write_ratings
from ratings.readers.conftest import cells

_ROWS = [("7", "10", 5), ("7", "20", 1), ("8", "10", 3), ("7", "10", 2)]
_FOUND = {(7, "10"): (1.0, None), (7, "20"): (1.0, None), (8, "10"): (1.0, None)}

rows_of = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "10", "b", "007"]),
        st.sampled_from(["1", "2", "10", "x", "y z"]),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=30,
)


def read(source: object, **options: Any) -> Ratings:
    usual: dict[str, Any] = {"implicit": True, "catalog": "from-data"}
    return read_ratings(source, **usual | options)


def table(separator: str, *names: str) -> str:
    rated = len(names) > 2
    lines = [names, *((u, i, str(r)) if rated else (u, i) for u, i, r in _ROWS)]
    return "".join(separator.join(line) + "\n" for line in lines)


def assert_the_rows(ratings: Ratings) -> None:
    assert cells(ratings) == _FOUND
    assert ratings.scale is PRESENCE
    assert ratings.duplicates == 1
    assert ratings.values().tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", "::", " "])
@pytest.mark.parametrize("names", [("user", "item"), ("userId", "movieId", "rating")])
def test_users_and_items_are_enough(write, separator, names):
    assert_the_rows(read(write("r.txt", table(separator, *names))))


def test_names_with_spaces_do_not_make_a_table_of_spaces(write):
    assert_the_rows(read(write("r.csv", table(",", "User ID", "Item ID"))))


def test_other_columns_are_left_alone(write):
    text = "note,user,item,rating\nx,7,10,\n,7,20,many\nz,8,10,nan\n,7,10,-99\n"
    assert_the_rows(read(write("r.csv", text)))


@pytest.mark.parametrize(
    "columns",
    [
        {"user": 0, "item": 1, "fields": 3},
        {"user": 0, "item": 1, "rating": 2},
        {"user": 0, "item": 1, "rating": 1, "fields": 3},
    ],
)
def test_columns_by_position(write, columns):
    text = table(",", "user", "item", "rating").partition("\n")[2]
    assert_the_rows(read(write("r.csv", text), columns=columns))


def test_columns_by_name(write):
    path = write("r.csv", table(",", "who", "what"))
    assert_the_rows(read(path, columns={"user": "who", "item": "what"}))
    told = {"user": "who", "item": "what", "rating": "nothing like it"}
    assert_the_rows(read(path, columns=told))


def test_compressed_and_windows_lines(write):
    text = table(",", "user", "item").replace("\n", "\r\n")
    assert_the_rows(read(write("r.csv.gz", gzip.compress(text.encode()))))


@pytest.mark.parametrize("rated", [False, True])
def test_frames_and_parquet(tmp_path, rated):
    users, items, ratings = (list(column) for column in zip(*_ROWS, strict=True))
    columns = {"user": [int(u) for u in users], "item": items}
    frame = pl.DataFrame(columns | ({"rating": ratings} if rated else {}))
    frame.write_parquet(tmp_path / "r.parquet")
    sources = (frame, frame.lazy(), frame.to_arrow(), pd.DataFrame(frame.to_dict(as_series=False)))
    for source in (*sources, tmp_path / "r.parquet", tmp_path):
        assert_the_rows(read(source))


def test_a_rating_column_of_any_type_is_left_alone():
    frame = pl.DataFrame({"user": [1], "item": [2], "rating": [{"a": 1}]})
    assert read(frame).values().tolist() == [1.0]


def test_the_scale_says_the_same(write):
    path = write("r.csv", table(",", "user", "item"))
    for scale in ("presence", PRESENCE, Scale(0, 1, presence=True)):
        assert cells(read_ratings(path, scale=scale, catalog="from-data")) == _FOUND
        assert cells(read(path, scale=scale)) == _FOUND


@pytest.mark.parametrize("scale", [(0, 1), (1, 5), "0..1", Scale(0, 1), (-10, 10, None)])
def test_no_other_scale_may_be_told(write, scale):
    with pytest.raises(InputError) as caught:
        read(write("r.csv", table(",", "user", "item")), scale=scale)
    assert str(caught.value) == (
        "presence (implicit) is a scale of its own; leave the other scale out"
    )


def test_presence_is_never_inferred(write, refusal):
    told = {"scale": None, "catalog": "from-data"}
    for name, text in {"2.csv": "user,item\n1,2\n", "3.csv": "user,item,time\n1,2,3\n"}.items():
        assert "implicit=True" in str(refusal(write(name, text), **told))
    path = write("s.csv", "user,item,rating\n1,2,1\n2,2,1\n")
    assert "the scale is not known" in str(refusal(path, **told))


def test_the_earliest_time_is_kept(write):
    text = "user,item,timestamp\n1,1,30\n1,2,5\n1,1,10\n1,1,20\n"
    ratings = read(write("r.csv", text))
    assert cells(ratings) == {(1, "1"): (1.0, 10), (1, "2"): (1.0, 5)}
    assert ratings.duplicates == 2
    assert read(write("r.csv", text), columns={"time": None}).times is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows_of, st.randoms(), st.booleans())
def test_the_order_of_rows_does_not_count(write, rows, random, timed):
    texts = []
    for each in (rows, random.sample(rows, len(rows))):
        lines = [f"{u},{i},{t}" if timed else f"{u},{i}" for u, i, t in each]
        texts.append("\n".join(["user,item,time" if timed else "user,item", *lines]) + "\n")
    one, other = (read(write("r.csv", text)) for text in texts)
    assert one.catalog == other.catalog
    assert one.users.tolist() == other.users.tolist()
    for name in ("starts", "items", "codes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.times is None) == (not timed)
    if timed:
        np.testing.assert_array_equal(one.times, other.times)
    assert one.duplicates == other.duplicates == len(rows) - len({row[:2] for row in rows})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",1", "the user is empty"),
        ("1,", "the item is empty"),
        ("1,9", "the item is not in the catalogue of 2 items"),
        ("1", "does not have the 2 fields that every line must have"),
        ("1,2,3", "does not have the 2 fields that every line must have"),
    ],
)
def test_bad_rows_are_named_or_skipped(write, line, reason):
    path = write("r.csv", f"user,item\n1,1\n{line}\n1,2\n1,1\n")
    catalog = Catalog(["1", "2"])
    with pytest.raises(InputError) as caught:
        read(path, catalog=catalog)
    assert (caught.value.path, caught.value.line) == (str(path), 3)
    assert reason in caught.value.reason
    ratings = read(path, catalog=catalog, on_bad_rows="skip")
    assert (len(ratings), ratings.skipped, ratings.duplicates) == (2, 1, 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("user\n1\n", "fewer than 2 fields"),
        ("user,rating\n1,2\n", "no column for the item"),
        ("alice,heat\n", "no column for the user; say which"),
        ("", "is empty"),
    ],
)
def test_tables_that_say_too_little(write, text, reason):
    with pytest.raises(InputError) as caught:
        read(write("r.csv", text))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "alice" not in str(caught.value)


def test_known_layouts(write):
    write("movies.csv", "movieId,title,genres\n10,Heat,x\n20,Ran,y\n")
    header = "userId,movieId,rating,timestamp\n"
    path = write("ratings.csv", header + "7,10,5,9\n7,20,0.5,9\n8,10,3,9\n7,10,99,2\n")
    ratings = read(path, catalog=None)
    assert ratings.catalog.titles == ("Heat", "Ran")
    assert (ratings.scale, ratings.duplicates) == (PRESENCE, 1)
    assert cells(ratings) == {(7, "10"): (1.0, 2), (7, "20"): (1.0, 9), (8, "10"): (1.0, 9)}
    # Neither of MovieLens' own sizes: nobody has to tell the scale of its ratings now.
    write("dat/movies.dat", "10::Heat::x\n20::Ran::y\n")
    path = write("dat/ratings.dat", "7::10::5::2\n7::20::1::9\n8::10::::9\n")
    assert cells(read(path, catalog=None)) == cells(ratings)
    path = write("tab/u.data", "7\t10\t5\t2\n7\t20\t1\t9\n8\t10\t3\t9\n")
    assert cells(read(path)) == cells(ratings)
    path = write("netflix/mv_0000010.txt", "10:\n7,5,2005-01-01\n8,1,2005-01-01\n")
    assert sorted(cells(read(path))) == [(7, "10"), (8, "10")]


def test_jokes_that_were_rated_at_all(write):
    cells_of = ["99"] * 100
    cells_of[3], cells_of[98] = "-9.5", "0"
    ratings = read(write("jester-data-1.csv", ",".join(["2", *cells_of]) + "\n"), catalog=None)
    assert (ratings.items.tolist(), ratings.values().tolist()) == ([3, 98], [1.0, 1.0])


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_what_is_written_is_read_back(write, tmp_path, name):
    ratings = read(write("in.csv", "user,item,time\n1,1,30\n1,2,5\n2,2,10\n"))
    write_ratings(ratings, tmp_path / name)
    again = read(tmp_path / name, catalog=ratings.catalog)
    assert cells(again) == cells(ratings)
    assert again.scale == PRESENCE


def test_parts_of_presence_are_presence(write):
    lines = "".join(f"{user},{item}\n" for user in range(20) for item in range(10))
    split = split_random(read(write("r.csv", "user,item\n" + lines)), 0.2, 1)
    for part in (split.train, split.test, next(split.train.blocks(5))):
        assert part.scale == PRESENCE
        assert set(part.values().tolist()) == {1.0}


def test_published_ratings_as_presence(data_folder: Path):
    ratings = read_ratings(data_folder / "ml-100k", implicit=True)
    rated = read_ratings(data_folder / "ml-100k")
    np.testing.assert_array_equal(ratings.items, rated.items)
    np.testing.assert_array_equal(ratings.times, rated.times)
    assert ratings.catalog == rated.catalog
    assert (ratings.values() == 1).all()


def test_arrow_dictionaries_are_ids():
    users = pa.array(["a", "b", "a"]).dictionary_encode()
    ratings = read(pa.table({"user": users, "item": [1, 1, 1]}))
    assert (ratings.users.tolist(), len(ratings), ratings.duplicates) == (["a", "b"], 2, 1)
