"""The byte kernels and the numbering of identifiers, each against a slow twin."""

from __future__ import annotations

import calendar
import datetime as dt

import numpy as np
import polars as pl
import pytest
from discreet.ratings.readers._lines import Dialect, make_sure, records
from discreet.ratings.readers._lookup import UNKNOWN, CatalogLookup
from discreet.ratings.readers._netflix_lines import _day_number, _days_in, parse_pairs
from discreet.ratings.readers._survey import count_bytes, is_plain
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog
from discreet.ratings.readers._ids import IdColumn, number_integers

texts = st.text(alphabet='ab07+- ,:"\n\ré', max_size=60)


def slow_records(text: str, separator: str, quoted: bool):
    """Each record that is not blank: its line, its fields, its text."""
    found, record, fields, line, begin, inside = [], "", 1, 1, 1, False
    at = 0
    while at < len(text):
        char = text[at]
        if char == '"' and quoted:
            inside = not inside
        if text.startswith(separator, at) and not inside:
            fields += 1
            record += separator
            at += len(separator)
            continue
        at += 1
        line += char == "\n"
        if char == "\n" and not inside:
            if record not in ("", "\r"):
                found.append((begin, fields, record))
            record, fields, begin = "", 1, line
        else:
            record += char
    return found, inside


@settings(deadline=None, max_examples=300)
@given(texts, st.sampled_from([",", "::"]), st.sampled_from([True, False]), st.integers(1, 40))
def test_records_equal_a_slow_scan(tmp_path_factory, text, separator, quoted, size):
    text = "x\n" + text
    path = tmp_path_factory.getbasetemp() / "records.txt"
    path.write_bytes(text.encode())
    found, open_quote = slow_records(
        text if text.endswith("\n") else text + "\n", separator, quoted
    )
    if open_quote:
        return
    dialect = Dialect(separator, 2, quoted, id_fields=(0, 1), strict=False)
    runs = [
        make_sure(run, path, dialect) for run in records(path, dialect, header=False, size=size)
    ]
    good = [(line, record) for line, fields, record in found if fields == 2]
    data = b"".join(run.data for run in runs).decode()
    whole = "".join(record + "\n" for _, record in good)
    assert data == (whole.replace("::", dialect.byte) if separator == "::" else whole)
    assert [int(line) for run in runs for line in run.lines] == [line for line, _ in good]
    broken = [line for line, fields, _ in found if fields != 2]
    assert [int(line) for run in runs for line in run.broken_lines] == broken


def is_odd(field: str) -> bool:
    """Whether a field may be an integer that is not written as it is printed."""
    field = field.removeprefix('"')
    digits = field[:1] == "0" and field[1:2].isdigit()
    return digits or field[:1] in ("+", " ") or field.startswith("-0")


@settings(deadline=None, max_examples=300)
@given(texts)
def test_plain_means_nothing_strange(text):
    text = text.replace("\r", "") + "\n"
    fields = [field for line in text.split("\n") for field in line.split(",")]
    strange = any(is_odd(f) or f[-1:] == " " for f in fields)
    strange |= '"' in text or not text.isascii()
    data = np.frombuffer(text.encode(), np.uint8)
    if is_plain(data, ord(",")):
        assert not strange
    assert count_bytes(data, ord(",")) == (text.count("\n"), text.count(","))


def test_plain_text_is_found_plain():
    data = np.frombuffer(b"1,20,3.5,978300760\n10,2,0.5,1\r\na b,c-d,-1,x\n", np.uint8)
    assert is_plain(data, ord(","))


@settings(deadline=None)
@given(st.integers(1600, 2400), st.integers(1, 12), st.integers(1, 31))
def test_dates_equal_the_calendar(year, month, day):
    days = calendar.monthrange(year, month)[1]
    assert _days_in(year, month) == days
    day = min(day, days)
    assert _day_number(year, month, day) == (dt.date(year, month, day) - dt.date(1970, 1, 1)).days


def test_pairs_before_a_movie_are_broken():
    data = np.frombuffer(b"5\n3:\n6\n", np.uint8)
    users, items, lines = (np.zeros(3, np.int64) for _ in range(3))
    assert parse_pairs(data, users, items, lines) == (1, 1)
    assert (users[0], items[0], lines[0], lines[-1]) == (6, 3, 2, 0)


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=40
    )
)
def test_integers_are_numbered_in_order(values):
    codes, distinct = number_integers(np.array(values, dtype=np.int64))
    assert distinct.tolist() == sorted(set(values))
    assert distinct[codes].tolist() == values


def test_no_integers():
    codes, distinct = number_integers(np.array([], dtype=np.int64))
    assert (len(codes), len(distinct)) == (0, 0)


batches_of = st.lists(
    st.one_of(
        st.lists(st.integers(-3, 3), min_size=1, max_size=6),
        st.lists(st.sampled_from(["1", "-2", "01", "b", "é", "10"]), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(batches_of)
def test_batches_of_integers_and_text_are_numbered_together(batches):
    column = IdColumn()
    for batch in batches:
        text = isinstance(batch[0], str)
        column.add(pl.Series(batch) if text else np.array(batch, dtype=np.int64))
    codes, distinct = column.finish()
    words = [str(value) for batch in batches for value in batch]
    assert [str(distinct[code]) for code in codes] == words
    whole = all(word == "0" or word.lstrip("-")[:1] not in "0bé" for word in words)
    ordered = sorted(set(map(int, words))) if whole else sorted(set(words))
    assert distinct.tolist() == ordered


@settings(deadline=None)
@given(
    st.sets(
        st.one_of(st.integers(-5, 50).map(str), st.sampled_from(["007", "x", "", str(2**70)])),
        min_size=1,
    ),
    st.lists(st.integers(-10, 60)),
    st.booleans(),
)
def test_lookup_equals_a_dictionary(ids, wanted, far):
    listed = sorted(ids) + ([str(2**62), str(-(2**62))] if far else [])
    lookup = CatalogLookup(Catalog(listed))
    place = {name: number for number, name in enumerate(listed)}
    numbers = [*wanted, 2**62, -(2**63), 2**63 - 1]
    expected = [place.get(str(number), UNKNOWN) for number in numbers]
    assert lookup.find(np.array(numbers, dtype=np.int64)).tolist() == expected
    words = [*map(str, numbers), "007", "x", "y", "01"]
    expected = [place.get(word, UNKNOWN) for word in words]
    assert lookup.find(pl.Series(words)).tolist() == expected


@pytest.mark.parametrize("ids", [["a", "b"], ["007"]])
def test_lookup_of_integers_among_text(ids):
    assert CatalogLookup(Catalog(ids)).find(np.array([7, 1])).tolist() == [UNKNOWN, UNKNOWN]
