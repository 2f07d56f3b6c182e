"""The byte kernels and the numbering of identifiers, each against a slow twin."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError
from discreet.domain.files import Piece
from discreet.ratings.readers import _tokens
from discreet.ratings.readers._batch import Fault, ids_of_text, numbers_of_text
from discreet.ratings.readers._collect import UNKNOWN, CatalogLookup, IdColumn, number_integers
from discreet.ratings.readers._tokens import day_number, days_in
from discreet.ratings.readers.text import Dialect, Text, cells_of

_BLANKS = " \t\ufeff"


def slow_fields(line: str, separator: str, quoted: bool) -> list[str] | None:
    """A line's fields, trimmed, by the rules of docs/reference/data.md; None for wrong quotes."""
    if not quoted:
        return [field.strip(_BLANKS) for field in line.split(separator)]
    blanks = "".join(set(_BLANKS) - set(separator))
    inside = re.escape(separator) if len(separator) == 1 else f"(?:{re.escape(separator)})"
    plain = f'(?:(?!{inside})[^"])*'
    found, at = [], 0
    while True:
        quote = re.compile(f'[{blanks}]*"((?:[^"]|"")*)"[{blanks}]*(?={inside}|$)').match(line, at)
        field = quote or re.compile(f"{plain}(?={inside}|$)").match(line, at)
        if field is None:
            return None
        if quote and '\\"' in line[quote.start() : quote.end()]:
            return None
        text = quote[1].strip(_BLANKS).replace('""', '"') if quote else field[0].strip(_BLANKS)
        found.append(text)
        at = field.end()
        if at == len(line):
            return found
        at += len(separator)


texts = st.text(alphabet='ab07+- ,:"\n\r\té\ufeff\\\\', max_size=60)


@settings(deadline=None, max_examples=500)
@given(texts, st.sampled_from([",", "::", "\t", " "]), st.booleans(), st.integers(1, 40))
@example('"a""b",c\n"', ",", True, 3)
@example(' "a" ,b\r\n', ",", True, 3)
def test_lines_equal_a_slow_reading(text, separator, quoted, size):
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    expected = {
        number: slow_fields(line, separator, quoted)
        for number, line in enumerate(lines, 1)
        if line.removeprefix("\ufeff")
    }
    raw = text.encode()
    cut = [raw[at : at + size] for at in range(0, len(raw), size)] or [b""]
    pieces = [Piece(part, number == len(cut), 0) for number, part in enumerate(cut, 1)]
    dialect = Dialect(separator, 2, "lines" if quoted else "none")
    found = {}
    try:
        for cells in cells_of(pieces, dialect, [0, 1], Path("none")):
            columns = [cells.text(slot).words().to_list() for slot in (0, 1)]
            rows = zip(cells.lines.tolist(), cells.counts.tolist(), *columns, strict=True)
            for line, count, *fields in rows:
                found[line] = fields if count == 2 else count
    except InputError as error:
        assert expected[error.line] is None
        assert all(expected[line] is not None for line in expected if line < error.line)
        return
    assert found == {
        line: fields if len(fields) == 2 else len(fields) for line, fields in expected.items()
    }


def cells_from(words):
    raws = [word.encode() for word in words]
    bounds = np.cumsum([0, *map(len, raws)])
    data = np.frombuffer(b"".join(raws) + b" ", np.uint8)
    return Text(data, bounds[:-1], bounds[1:], np.zeros(len(words), np.bool_))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(alphabet="0179-+ \tax.\uff17", max_size=21), min_size=1, max_size=20))
@example([str(2**63 - 1), str(-(2**63) + 1)])
@example([str(2**63)])
def test_identifiers_are_integers_only_as_python_prints_them(words):
    faults = np.zeros(len(words), np.uint8)
    ids = ids_of_text(cells_from(words), faults, Fault(3))
    stripped = [word.strip(_BLANKS) for word in words]
    assert faults.tolist() == [3 * (word == "") for word in stripped]
    assert [str(i) for i in ids if str(i)] or not any(stripped)
    if isinstance(ids, pl.Series):
        assert ids.to_list() == stripped
    else:
        numbers = ids.tolist()
        assert all(
            not word or str(number) == word for number, word in zip(numbers, stripped, strict=True)
        )


_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.text(alphabet="0123456789.eE+- n", max_size=12),
            st.floats(allow_nan=False).map(repr),
            st.decimals(allow_nan=False, allow_infinity=False).map(str),
        ),
        min_size=1,
        max_size=20,
    )
)
@example(["9007199254740993", "0.1", "1e22", "1e23", "123456789012345678e-22", "1e400", "-0"])
def test_numbers_are_the_nearest_doubles(words):
    values, kinds = numbers_of_text(cells_from(words))
    for word, value, kind in zip(words, values.tolist(), kinds.tolist(), strict=True):
        text = word.strip(_BLANKS)
        if not text:
            assert kind == _tokens.EMPTY
        elif _NUMBER.fullmatch(text):
            assert (value, kind in (_tokens.EXACT, _tokens.LONG)) == (float(text), True)
        else:
            assert kind == _tokens.NO_NUMBER


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 2**32 - 1).map(lambda s: dt.datetime.fromtimestamp(s + 0.25, dt.UTC)),
    st.sampled_from(["T", " ", "t"]),
    st.sampled_from(["", "Z", "z", "+02:00", "-11:30"]),
    st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]),
)
def test_moments_equal_the_calendar(moment, between, zone, precision):
    text = moment.replace(tzinfo=None).isoformat(sep=between, timespec=precision) + zone
    found = _tokens.read_dates(*cells_from([text])[:3])
    expected = dt.datetime.fromisoformat(text.upper())
    expected = expected if expected.tzinfo else expected.replace(tzinfo=dt.UTC)
    assert found[0] == int(expected.timestamp() // 1)


@pytest.mark.parametrize(
    "text",
    [
        "20ab-01-01", "2005-1-01", "2005-02-29", "2005-01-01T", "2005-01-01T24:00", "2005/01/01",
        "2005-01-01T10:00:60", "2005-01-01T10:00:00.", "2005-01-01T10:00+2:00", "2005-01-01x",
        "2005-01-01T10:00Zz", "2005-01-01 1:00", "",
    ],
)  # fmt: skip
def test_what_is_no_date(text):
    found = _tokens.read_dates(*cells_from([text])[:3])
    assert found[0] == _tokens.UNREADABLE


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=12))
@example(b"\xed\xa0\x80")
@example(b"\xc0\x80")
@example(b"\xf4\x90\x80\x80")
def test_utf8_is_what_python_decodes(raw):
    data = np.frombuffer(raw + b" ", np.uint8)
    valid = _tokens.valid_utf8(data, np.array([0]), np.array([len(raw)]))
    try:
        raw.decode()
    except UnicodeDecodeError:
        assert not valid[0]
    else:
        assert valid[0]


@settings(deadline=None)
@given(st.integers(1600, 2400), st.integers(1, 12), st.integers(1, 31))
def test_dates_equal_the_calendar(year, month, day):
    days = calendar.monthrange(year, month)[1]
    assert days_in(year, month) == days
    day = min(day, days)
    assert day_number(year, month, day) == (dt.date(year, month, day) - dt.date(1970, 1, 1)).days


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
    is_word = {word: word != "0" and word.lstrip("-")[:1] in "0bé" for word in words}
    numbers = sorted({int(word) for word in words if not is_word[word]})
    others = sorted({word for word in words if is_word[word]})
    expected = [*map(str, numbers), *others] if others else numbers
    assert distinct.tolist() == expected


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
