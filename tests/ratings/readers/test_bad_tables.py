"""Bad Parquet files and tables in memory: one clear line with file, row and reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain import Catalog
from discreet.ratings.readers import read_ratings


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "r.parquet"
    frame = pl.DataFrame({"user": range(5000), "item": [1] * 5000, "rating": [3.0] * 5000})
    frame.write_parquet(path)
    return path


def test_parquet_cut_short_or_damaged(parquet, refusal):
    whole = parquet.read_bytes()
    parquet.write_bytes(whole[: len(whole) // 2])
    assert "is not whole Parquet" in str(refusal(parquet))
    parquet.write_bytes(whole[:4] + bytes(60) + whole[64:])
    assert "is not whole Parquet" in str(refusal(parquet))
    parquet.write_bytes(b"")
    assert "is not whole Parquet" in str(refusal(parquet))


def test_text_called_parquet(write, refusal):
    assert "is not whole Parquet" in str(refusal(write("r.parquet", "user,item,rating\n1,1,3\n")))


def test_parquet_whose_text_is_not_utf8(tmp_path, refusal):
    names = pa.array([b"J\xe9", b"J\xe8"], pa.binary())
    users = pa.StringArray.from_buffers(2, *names.buffers()[1:])
    table = pa.table({"user": users, "item": ["a", "a"], "rating": [3, 3]})
    pq.write_table(table, tmp_path / "r.parquet")
    assert "row 1: is not UTF-8" in str(refusal(tmp_path / "r.parquet"))
    assert "row 1: is not UTF-8" in str(refusal(table))
    good = pa.table({"user": ["ann"], "item": ["a"], "rating": [3]})
    both = pa.concat_tables([good, table])
    ratings = read_ratings(both, scale=(1, 5), catalog="from-data", on_bad_rows="skip")
    assert (ratings.users.tolist(), ratings.skipped) == (["ann"], 2)


def test_parquet_without_rows(tmp_path, refusal):
    path = tmp_path / "r.parquet"
    schema = {"user": pl.Int64, "item": pl.String, "rating": pl.Float64}
    pl.DataFrame(schema=schema).write_parquet(path)
    assert len(read_ratings(path, scale=(1, 5), catalog=Catalog(["a"]))) == 0
    pl.DataFrame(schema=schema | {"user": pl.Boolean}).write_parquet(path)
    assert "the user column must hold integers or text" in str(refusal(path))


def test_an_identifier_that_is_not_whole_is_one_bad_row(refusal):
    users = [1.0, 2.5, float("inf"), 2.0**53 + 2, float("nan"), 3.0]
    frame = pl.DataFrame({"user": users, "item": [1] * 6, "rating": [3] * 6})
    assert str(refusal(frame)) == "row 2: the user is a number, but not a whole number up to 2^53"
    ratings = read_ratings(frame, scale=(1, 5), catalog="from-data", on_bad_rows="skip")
    assert (ratings.users.tolist(), ratings.skipped) == ([1, 3], 4)


def test_tables_name_the_row(refusal):
    frame = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "rating": [3.0, None, 9.0]})
    assert str(refusal(frame)) == "row 2: the rating is empty"
    assert str(refusal(frame.drop_nulls())).startswith("row 2: the rating is not on the scale")


def test_parquet_names_file_and_row(tmp_path, refusal):
    path = tmp_path / "r.parquet"
    pl.DataFrame({"user": [1, 1], "item": ["a", None], "rating": [3, 3]}).write_parquet(path)
    assert str(refusal(path)) == f"{path}: row 2: the item is empty"


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("user", [True, False], "the user column must hold integers or text; it is Boolean"),
        ("item", [[1], [2]], "the item column must hold integers or text; it is List"),
        ("rating", [True, False], "the rating column must hold numbers; it is Boolean"),
        ("time", [True, False], "the time column must hold seconds since 1970"),
    ],
)
def test_columns_of_types_that_cannot_be(refusal, column, values, reason):
    columns = {"user": [1, 2], "item": [1, 2], "rating": [3, 4], "time": [5, 6]} | {column: values}
    assert reason in str(refusal(pl.DataFrame(columns)))


def _read(table):
    return read_ratings(table, scale=(1, 5), catalog=Catalog(["1"]), on_bad_rows="skip")


def test_text_of_pandas_that_is_not_utf8_is_a_bad_row():
    raw = pa.array([b"ann", b"\xff\xfe", b"bob"], pa.binary())
    text = pa.StringArray.from_buffers(3, *raw.buffers()[1:])
    users = pd.Series(pd.array(text, dtype=pd.ArrowDtype(pa.string())))
    frame = pd.DataFrame({"user": users, "item": [1] * 3, "rating": [3] * 3})
    assert (_read(frame).users.tolist(), _read(frame).skipped) == (["ann", "bob"], 1)
    names = np.array(["ann", "\ud800", "bob"], object)
    for kind in (pd.StringDtype("python"), object):
        frame["user"] = pd.Series(names, dtype=kind)
        assert (_read(frame).users.tolist(), _read(frame).skipped) == (["ann", "bob"], 1)
    frame["user"] = pd.Categorical.from_codes([0, 1, 2], pd.Index(names, dtype=object))
    assert (_read(frame).users.tolist(), _read(frame).skipped) == (["ann", "bob"], 1)


def test_a_moment_that_is_missing_is_nobody():
    users = pd.Series([pd.NaT, "a", pd.NaT, None], dtype=object)
    frame = pd.DataFrame({"user": users, "item": [1] * 4, "rating": [3] * 4})
    assert (_read(frame).users.tolist(), _read(frame).skipped) == (["a"], 3)


@pytest.mark.parametrize(
    "times",
    [
        pa.array([2 * 86_400_000 + 5, 0], pa.int64()).cast(pa.date64(), safe=False),
        pa.array([2**62, 0], pa.timestamp("s")),
    ],
)
def test_one_odd_time_is_one_row(times):
    ratings = _read(pa.table({"user": ["a", "b"], "item": [1, 1], "rating": [3, 3], "time": times}))
    assert "b" in ratings.users.tolist()


@pytest.mark.parametrize("kind", [pa.decimal256(40, 0), pa.time32("s")])
def test_types_that_cannot_be_read_are_refused(refusal, kind):
    ids = pa.array([1, 2], pa.int32()).cast(kind)
    assert "column" in str(refusal(pa.table({"user": ids, "item": [1, 1], "rating": [3, 3]})))


def test_other_things_are_no_source(refusal):
    assert "not from set" in str(refusal({1, 2, 3}))
    assert "a list of ratings holds dicts" in str(refusal([1, 2, 3]))
    assert "for files" in str(refusal(pl.DataFrame(), separator=","))
    assert "for files" in str(refusal(pl.DataFrame(), layout="netflix"))


def test_a_lazy_frame_that_fails(refusal):
    lazy = pl.LazyFrame({"user": [1], "item": [1], "rating": ["secret"]})
    lazy = lazy.with_columns(pl.col("rating").cast(pl.Float64))
    error = refusal(lazy)
    assert "fails when it is collected" in str(error)
    assert error.__context__ is None
