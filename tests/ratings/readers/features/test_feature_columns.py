"""What becomes of a column: numbers, values, decades or nothing."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError
from discreet.ratings import ItemFeatures, read_features


def features(most: int = 64, **columns: Any) -> ItemFeatures:
    frame = pl.DataFrame(columns, strict=False)
    ids = [str(row) for row in range(frame.height)]
    return read_features(frame.with_columns(id=pl.Series(ids)), Catalog(ids), most=most)


def column(name: str, **columns: Any) -> list[float]:
    found = features(**columns)
    return found.values[:, found.names.index(name)].tolist()


def test_numbers_have_mean_0_and_variance_1_and_gaps_are_the_mean():
    found = column("x", x=[2.0, None, 4.0, math.nan, 6.0])
    assert found == pytest.approx([-math.sqrt(1.5), 0, 0, 0, math.sqrt(1.5)], abs=1e-6)


@pytest.mark.parametrize(
    "values",
    [
        [1, 3, None],
        ["1", "3", ""],
        [" 1.0", "3e0 ", "NA"],
        ["-1", "1", "n/a"],
        [False, True, None],
        [dt.date(2000, 1, 1), dt.date(2000, 1, 3), None],
        [dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.datetime(2001, 1, 1, tzinfo=dt.UTC), None],
        [1e308, 1.5e308, math.inf],
        [-1.7e308, 1.7e308, None],
        [1e-320, 3e-320, -math.inf],
        [10**15, 10**15 + 10**6, None],
    ],
)
def test_two_numbers_and_a_gap_in_any_writing(values):
    assert column("x", x=values) == pytest.approx([-1, 1, 0], abs=1e-3)


@given(
    st.lists(
        st.one_of(st.none(), st.floats(), st.integers(-(2**53), 2**53)), min_size=1, max_size=30
    )
)
def test_any_numbers_stay_finite_and_small(values):
    floats = [None if value is None else float(value) for value in values]
    try:
        found = features(x=floats)
    except InputError:
        known = [value for value in floats if value is not None and math.isfinite(value)]
        assert not known or np.ptp(np.array(known) / (max(map(abs, known)) or 1)) < 1e-11
        return
    assert np.isfinite(found.values).all()
    assert np.abs(found.values).max() <= math.sqrt(len(values)) + 1e-3


def test_values_that_several_items_have():
    words = ["a|b", "b", "a|a| b ", "||", None, "c"]
    found = features(x=words)
    assert found.names == ("x=b", "x=a")
    assert found.values.T.tolist() == [[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0]]


def test_what_every_item_has_tells_nothing():
    found = features(x=["a|b", "b", "a|b", "b"], y=["e", "e", "e", "e"], z=[5, 5, 5, 5])
    assert found.names == ("x=a",)


@pytest.mark.parametrize(
    "nothing", ["", " ", "NA", "n/a", "NaN", "null", "None", "\\N", "(no genres listed)", None]
)
def test_words_for_nothing_are_no_values(nothing):
    assert features(x=["a", "a", nothing, nothing, nothing]).names == ("x=a",)


def test_categories_are_text_even_if_they_look_like_numbers():
    codes = ["1", "2", "1", "2", "7"]
    assert features(x=pl.Series(codes, dtype=pl.Categorical)).names == ("x=1", "x=2")
    assert features(x=codes).names == ("x",)
    assert features(x=[[1], [1, 2], [2], [], None]).names == ("x=1", "x=2")


def test_titles_give_nothing_but_their_decades():
    titles = ["A (1995)", "B (1999)", "C (2001) ", "D (uncut) (2003)", "E", "F (12345)", "(1990) G"]
    found = features(title=titles[:5])
    assert found.names == ("decade=1990", "decade=2000")
    assert found.values.T.tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]
    # Four of eight are not most.
    with pytest.raises(InputError, match="makes no feature"):
        features(title=[*titles, "H"])


def test_decades_come_from_the_first_column_that_has_them():
    first, second = ([f"{name} {i} ({1980 + i})" for i in range(20)] for name in "ab")
    names = features(one=first, two=second, three=first).names
    assert names == ("decade=1980", "decade=1990")


def test_a_few_equal_titles_are_titles_all_the_same():
    titles = [f"film {i}" for i in range(40)] + ["Hamlet", "Hamlet"]
    assert features(title=titles, x=[i % 2 for i in range(42)]).names == ("x",)


def test_at_most_so_many_columns_the_numbers_first_then_the_most_frequent():
    columns: dict[str, Any] = {
        "words": ["a|b|c", "a|b", "a", "b|c", ""],
        "x": [1, 2, 3, 4, 5],
        "others": ["d", "d", "d", "e", "e"],
        "y": [1, 0, 0, 0, 0],
    }
    everything = ("words=a", "words=b", "words=c", "x", "others=d", "others=e", "y")
    assert features(**columns).names == features(most=7, **columns).names == everything
    assert features(most=5, **columns).names == ("words=a", "words=b", "x", "others=d", "y")
    assert features(most=3, **columns).names == ("words=a", "x", "y")
    assert features(most=2, **columns).names == ("x", "y")
    assert features(most=1, **columns).names == ("x",)
    kept = features(most=3, **columns)
    np.testing.assert_array_equal(kept.values, features(**columns).values[:, [0, 3, 6]])


def test_a_value_may_contain_anything():
    words = ["x=y", "x=y", "é 'quoted'", "é 'quoted'", "z"]
    columns: dict[str, Any] = {"a=b": words, "a": [f"b={word}" for word in words]}
    found = features(**columns)
    assert found.names == ("a=b=x=y", "a=b=é 'quoted'", "a=b=x=y", "a=b=é 'quoted'")
    np.testing.assert_array_equal(found.values[:, :2], found.values[:, 2:])


def test_columns_of_other_types_give_nothing():
    structs, blobs = [{"a": i} for i in range(4)], [b"x", b"x", b"y", b"y"]
    assert features(s=structs, b=blobs, n=[None] * 4, x=[1, 2, 3, 4]).names == ("x",)


def test_only_shared_items_count():
    frame = pl.DataFrame({"id": [1, 2, 3, 4], "x": [0, 2, 1000, 5], "w": ["a", "a", "a", "b"]})
    found = read_features(frame, Catalog(["2", "1", "7"]))
    assert found.names == ("x",)
    assert found.values.tolist() == [[1], [-1], [0]]
    assert (found.lacking, found.ignored) == (1, 2)


def test_features_by_hand():
    made = ItemFeatures(["a", "b"], [[1, 2], [3, 4], [5, 6]])  # type: ignore[arg-type]
    assert (made.names, len(made), made.values.dtype) == (("a", "b"), 3, np.float32)
    for names, values, reason in [
        (("a",), [[1, 2]], "1 names but 2 feature columns"),
        (("a",), [1, 2], "a row for each item"),
        (("a",), [["x"]], "a row for each item"),
        (("a",), [[math.nan]], "not a finite number"),
        (("a",), [[1e300]], "not a finite number"),
    ]:
        with pytest.raises(InputError, match=reason):
            ItemFeatures(names, np.array(values))
