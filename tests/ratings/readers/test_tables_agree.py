"""The same ratings in every kind of table give the same columns."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog
from discreet.ratings import Ratings
from discreet.ratings.readers import read_ratings

_SCALE = (0.5, 5, 0.5)
_ONE_HOUR_EAST = dt.timezone(dt.timedelta(hours=1))
_WORDS = ["1", "2", "10", "007", "b", "B", "é", "a b", 'x"y', "x,y", "z\tz", "-3", "0"]

numbers = st.integers(-20, 20).map(str)
rows_of = st.lists(
    st.tuples(
        st.one_of(numbers, st.sampled_from(_WORDS)),
        st.one_of(numbers, st.sampled_from(_WORDS)),
        st.integers(1, 10).map(lambda half: half / 2),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=25,
)


def reference(rows):
    """Users, items, and each rating by their order: what a reader must find, done slowly."""
    folded = {(user, item): (rating, time) for user, item, rating, time in rows}

    def place(word):
        try:
            is_integer = str(int(word)) == word
        except ValueError:
            is_integer = False
        return (0, int(word), "") if is_integer else (1, 0, word)

    def ordered(ids):
        return sorted(ids, key=place)

    users = ordered({user for user, _ in folded})
    items = ordered({item for _, item in folded})
    cells = sorted(
        (users.index(user), items.index(item), rating, time)
        for (user, item), (rating, time) in folded.items()
    )
    return users, items, cells, len(rows) - len(folded)


def found(ratings: Ratings):
    cells = zip(
        ratings.user_of_rating().tolist(),
        ratings.items.tolist(),
        ratings.values().tolist(),
        ratings.times.tolist(),
        strict=True,
    )
    users = [str(user) for user in ratings.users.tolist()]
    return users, list(ratings.catalog.ids), list(cells), ratings.duplicates


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=rows_of)
def test_random_tables_in_every_form(rows, tmp_path):
    frame = pl.DataFrame(
        rows,
        schema={"user": pl.String, "item": pl.String, "rating": pl.Float64, "time": pl.Int64},
        orient="row",
    )
    frame.write_csv(tmp_path / "r.csv")
    frame.write_csv(tmp_path / "r.tsv", separator="\t")
    frame.write_csv(tmp_path / "s.csv", separator=";", quote_style="always", line_terminator="\r\n")
    frame.write_parquet(tmp_path / "r.parquet")
    sources = {
        "csv": tmp_path / "r.csv",
        "tsv": tmp_path / "r.tsv",
        "semicolons": tmp_path / "s.csv",
        "parquet": tmp_path / "r.parquet",
        "polars": frame,
        "lazy": frame.lazy(),
        "arrow": frame.to_arrow(),
        "pandas": pd.DataFrame(frame.to_dict(as_series=False)),
    }
    expected = reference(rows)
    for name, source in sources.items():
        ratings = read_ratings(source, scale=_SCALE, catalog="from-data")
        assert found(ratings) == expected, name


@settings(deadline=None, max_examples=40)
@given(rows=rows_of, listed=st.sets(st.sampled_from(_WORDS), min_size=1))
def test_random_tables_against_a_catalogue(rows, listed):
    catalog = Catalog(sorted(listed))
    known = [row for row in rows if row[1] in listed]
    frame = pl.DataFrame(rows, schema=["user", "item", "rating", "time"], orient="row")
    ratings = read_ratings(frame, scale=_SCALE, catalog=catalog, on_bad_rows="skip")
    folded = {(user, item): (rating, time) for user, item, rating, time in known}
    names, ids = [str(user) for user in ratings.users.tolist()], catalog.ids
    values = zip(ratings.values().tolist(), ratings.times.tolist(), strict=True)
    pairs = zip(ratings.user_of_rating().tolist(), ratings.items.tolist(), strict=True)
    assert {(names[u], ids[i]): v for (u, i), v in zip(pairs, values, strict=True)} == folded
    assert ratings.skipped == len(rows) - len(known)


_COLUMNS = {"user": [3, 1, 1], "item": [20, 20, 10], "rating": [1.0, 5.0, 3.0]}
_EXPECTED = {(1, "10"): (3.0, None), (1, "20"): (5.0, None), (3, "20"): (1.0, None)}


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt64, pl.Float32, pl.String, pl.Categorical])
def test_identifiers_of_any_type(seen, kind):
    frame = pl.DataFrame(_COLUMNS)
    text = frame.with_columns(pl.col("user", "item").cast(pl.String))
    typed = (text if kind == pl.Categorical else frame).with_columns(
        pl.col("user", "item").cast(kind)
    )
    assert seen(typed) == _EXPECTED


def test_unsigned_identifiers_beyond_64_bits(seen):
    frame = pl.DataFrame({"user": [2**63, 5], "item": [1, 1], "rating": [1, 2]})
    frame = frame.with_columns(pl.col("user").cast(pl.UInt64))
    assert set(seen(frame)) == {(str(2**63), "1"), ("5", "1")}


@pytest.mark.parametrize("kind", [pl.Int8, pl.Float32, pl.Decimal(10, 2), pl.String])
def test_ratings_of_any_type(seen, kind):
    assert seen(pl.DataFrame(_COLUMNS).with_columns(pl.col("rating").cast(kind))) == _EXPECTED


@pytest.mark.parametrize(
    "times",
    [
        [86_400, 0, 1],
        [86_400.9, 0.0, 1.0],
        ["1970-01-02", "1970-01-01", "1970-01-01T00:00:01"],
        np.array([86_400_000, 0, 1_001], dtype="datetime64[ms]"),
        [
            dt.datetime(1970, 1, 2, 1, tzinfo=_ONE_HOUR_EAST),
            dt.datetime(1970, 1, 1, 1, tzinfo=_ONE_HOUR_EAST),
            dt.datetime(1970, 1, 1, 1, 0, 1, tzinfo=_ONE_HOUR_EAST),
        ],
    ],
)
def test_times_of_any_type(seen, times):
    cells = seen(pl.DataFrame(_COLUMNS | {"time": times}))
    assert cells == {(1, "10"): (3.0, 1), (1, "20"): (5.0, 0), (3, "20"): (1.0, 86_400)}


def test_dates(seen):
    times = [dt.date(1970, 1, 2), dt.date(1970, 1, 1), dt.date(1970, 1, 3)]
    cells = seen(pl.DataFrame(_COLUMNS | {"date": times}))
    assert cells[1, "10"] == (3.0, 172_800)


def test_pandas_gaps_are_empty_cells(refusal):
    frame = pd.DataFrame({"user": [1, np.nan], "item": [1, 2], "rating": [3.0, 4.0]})
    assert str(refusal(frame)) == "row 2: the user is empty"
    frame = pd.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [3.0, np.nan]})
    assert str(refusal(frame)) == "row 2: the rating is empty"


def test_pandas_of_every_kind(seen):
    frame = pd.DataFrame(_COLUMNS)
    assert seen(frame) == _EXPECTED
    assert seen(frame.astype({"user": "Int64", "item": "str"})) == _EXPECTED
    assert seen(frame.astype({"item": "str"}).astype({"item": "category"})) == _EXPECTED
    assert seen(frame.astype({"item": object})) == _EXPECTED
    assert seen(frame[::-1]) == _EXPECTED


def test_cells_of_pandas_objects_speak_for_themselves(seen, refusal):
    users = [1, "a", 2.0, "7", np.int64(8)]
    frame = pd.DataFrame({"user": users, "item": [1] * 5, "rating": [3.0] * 5}, dtype=object)
    assert {user for user, _ in seen(frame)} == {"1", "a", "2", "7", "8"}
    alone = frame[frame["user"] == 1]
    assert {str(user) for user, _ in seen(alone)} == {"1"}
    frame.loc[5] = [True, 1, 3.0]
    assert str(refusal(frame)) == "row 6: the user is empty"


def test_columns_by_position_in_a_table(seen):
    frame = pl.DataFrame(_COLUMNS).rename({"user": "a", "item": "b", "rating": "c"})
    assert seen(frame, columns={"user": 0, "item": 1, "rating": "c"}) == _EXPECTED


def test_a_missing_column_shows_the_names(refusal):
    message = str(refusal(pl.DataFrame(_COLUMNS).drop("item")))
    assert "no column for the item among user, rating" in message


def test_no_column_at_all(refusal):
    assert "no column for the user" in str(refusal(pa.table({})))


def test_a_table_without_rows():
    nobody = read_ratings(
        pl.DataFrame(_COLUMNS).clear(), scale=(1, 5), catalog=Catalog(["10", "20"])
    )
    assert (len(nobody), nobody.user_count) == (0, 0)


def test_a_folder_of_parquet_files(seen, refusal, tmp_path):
    frame = pl.DataFrame(_COLUMNS)
    frame[:1].write_parquet(tmp_path / "part-0.parquet")
    frame[1:].select("rating", "item", "user").write_parquet(tmp_path / "part-1.parquet")
    assert seen(tmp_path) == _EXPECTED
    frame.drop("user").write_parquet(tmp_path / "part-2.parquet")
    error = refusal(tmp_path)
    assert error.path == str(tmp_path / "part-2.parquet")


def test_parquet_by_another_name(refusal, tmp_path):
    pl.DataFrame(_COLUMNS).write_parquet(tmp_path / "ratings.bin")
    assert "does not end in .parquet" in str(refusal(tmp_path / "ratings.bin"))


def test_many_batches(tmp_path):
    generator = np.random.default_rng(5)
    rows = (1 << 20) + 1000
    frame = pl.DataFrame(
        {
            "user": generator.integers(0, 10_000, rows),
            "item": generator.integers(0, 500, rows),
            "rating": generator.integers(1, 11, rows) / 2,
            "time": generator.integers(0, 2**32, rows),
        }
    )
    frame.write_parquet(tmp_path / "r.parquet", row_group_size=100_000)
    frame.write_csv(tmp_path / "r.csv")
    last = frame.group_by("user", "item").last().sort("user", "item")
    told = []
    for source in (tmp_path / "r.parquet", tmp_path / "r.csv", frame):
        ratings = read_ratings(
            source, scale=_SCALE, catalog="from-data", progress=lambda *args: told.append(args)
        )
        np.testing.assert_array_equal(ratings.values(), last["rating"])
        np.testing.assert_array_equal(ratings.times, last["time"])
        np.testing.assert_array_equal(ratings.users[ratings.user_of_rating()], last["user"])
        assert [ratings.catalog.ids[i] for i in ratings.items[:50]] == [
            str(item) for item in last["item"][:50]
        ]
        assert ratings.duplicates == rows - last.height
        assert told[-1][0] == told[-1][1]
