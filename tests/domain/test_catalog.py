"""Catalogues: every title names one item, and a digest names one catalogue."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import Catalog, CatalogOrigin, InputError

# Few letters and the brackets themselves, so that titles, ids and disambiguations collide.
NAMES = st.text("ab[] ", max_size=6)


@st.composite
def ids_and_titles(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    ids = draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
    pool = st.one_of(NAMES, st.sampled_from(ids), st.sampled_from([f"a [{i}]" for i in ids]))
    return ids, draw(st.lists(pool, min_size=len(ids), max_size=len(ids)))


def test_titles_that_occur_once_stay() -> None:
    catalog = Catalog(["1", "2"], ["Alien", "Heat"])
    assert catalog.titles == ("Alien", "Heat")
    assert len(catalog) == 2


def test_columns_say_which_items_have_a_value() -> None:
    genres = ["Comedy|Drama", "", " drama ", "Sci-Fi|Sci-Fi"]
    catalog = Catalog(list("abcd"), columns={"genres": genres, "year": ["1", "2", "2", "1"]})
    assert catalog.columns["genres"] == tuple(genres)
    assert list(catalog.items_with("genres", "DRAMA")) == [0, 2]
    assert list(catalog.items_with("genres", "sci-fi ")) == [3]
    assert list(catalog.items_with("year", "2")) == [1, 2]
    assert Catalog(["a"]).columns == {}


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("genre", "x", "the catalogue has no column 'genre'; it has kind, year"),
        ("kind", "y", "no item of the catalogue has 'y' in its column 'kind'"),
    ],
)
def test_what_no_item_has_is_refused(column: str, value: str, complaint: str) -> None:
    catalog = Catalog(["a"], columns={"kind": ["x"], "year": ["1"]})
    with pytest.raises(InputError, match=re.escape(complaint)):
        catalog.items_with(column, value)
    with pytest.raises(InputError, match="no extra columns; fit with --keep-columns"):
        Catalog(["a"]).items_with("kind", "x")


@pytest.mark.parametrize("columns", [{"": ["x"]}, {"k": []}, {"k": "x"}, {"k": [1]}, {1: ["x"]}])
def test_wrong_columns_are_refused(columns: dict[str, list[str]]) -> None:
    with pytest.raises(InputError, match="column"):
        Catalog(["a"], columns=columns)


def test_columns_do_not_change_which_catalogue_it_is() -> None:
    plain, described = Catalog(["a"]), Catalog(["a"], columns={"kind": ["x"]})
    assert plain.digest() == described.digest()
    assert plain == described and hash(plain) == hash(described)


def test_titles_default_to_ids() -> None:
    catalog = Catalog(iter(["x", "y"]))
    assert catalog.titles == catalog.ids == ("x", "y")


@pytest.mark.parametrize(
    ("ids", "titles", "expected"),
    [
        (["1", "2"], ["Hamlet", "Hamlet"], ["Hamlet [1]", "Hamlet [2]"]),
        # A title that is another one's disambiguation keeps its name; the others step aside.
        (list("abc"), ["X", "X", "X [a]"], ["X [a] [a]", "X [b]", "X [a]"]),
        (
            list("abcd"),
            ["X", "X", "X [a]", "X [a]"],
            ["X [a] [a]", "X [b]", "X [a] [c]", "X [a] [d]"],
        ),
        # A title that is another item's id would be looked up as that item.
        (["1", "300"], ["300", "Heat"], ["300 [1]", "Heat"]),
        (["1", "2"], ["2", "1"], ["2 [1]", "1 [2]"]),
        # A title that is its own item's id is no trouble.
        (["1", "2"], ["1", "Heat"], ["1", "Heat"]),
        # A disambiguation that is another item's id.
        (["1", "X [1]", "3"], ["X", "Y", "X"], ["X [1] [1]", "Y", "X [3]"]),
        (["1", "2"], ["", ""], [" [1]", " [2]"]),
    ],
)
def test_ambiguous_titles_are_told_apart(
    ids: list[str], titles: list[str], expected: list[str]
) -> None:
    assert list(Catalog(ids, titles).titles) == expected


@given(ids_and_titles())
def test_every_title_and_every_id_finds_its_own_item(drawn: tuple[list[str], list[str]]) -> None:
    catalog = Catalog(*drawn)
    assert len(set(catalog.titles)) == len(catalog)
    for index, (item, title) in enumerate(zip(catalog.ids, catalog.titles, strict=True)):
        assert catalog.find(item) == catalog.find(title) == index
        assert title.startswith(drawn[1][index])


@given(ids_and_titles())
def test_told_apart_titles_stay_when_told_apart_again(drawn: tuple[list[str], list[str]]) -> None:
    catalog = Catalog(*drawn)
    assert Catalog(catalog.ids, catalog.titles) == catalog


def test_ids_that_are_each_others_suffixes_come_to_an_end() -> None:
    # Appending " [a]" k times to one title is appending once to another: a repeated search for
    # collisions among the results could chase its own tail here.
    ids = ["] [".join("a" * n) for n in range(1, 25)]
    titles = ["X" + " [a]" * (n % 5) for n in range(24)]
    catalog = Catalog(ids, titles)
    assert len(set(catalog.titles)) == 24


def test_lookups() -> None:
    catalog = Catalog(["10", "20"], ["Alien", "Heat"])
    assert [catalog.index(name) for name in ("10", "Heat")] == [0, 1]
    assert catalog.find("heat") is None
    with pytest.raises(InputError, match=re.escape("'heat' is not in the catalogue of 2 items")):
        catalog.index("heat")


@pytest.mark.parametrize(
    ("ids", "titles", "reason"),
    [
        ([], None, "a catalogue needs at least one item"),
        (["a", "b", "a"], None, "the catalogue lists item 'a' more than once"),
        (["a"], ["A", "B"], "1 items but 2 titles"),
        ([1, 2], None, "a catalogue's ids are a list of texts; write ['1', '2'], not [1, 2]"),
        ("12", None, "a catalogue's ids are a list of texts; write ['1', '2'], not [1, 2]"),
        (["a"], [None], "a catalogue's titles are a list of texts; write ['1', '2'], not [1, 2]"),
        (["\ud800"], None, "one of the catalogue's ids is not valid Unicode text"),
        (["a"], ["\ud800"], "one of the catalogue's titles is not valid Unicode text"),
    ],
)
def test_bad_catalogues(ids: list[str], titles: list[str] | None, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        Catalog(ids, titles)
    assert str(caught.value) == reason


def test_a_digest_is_the_same_for_the_same_names_wherever_they_came_from() -> None:
    catalog = Catalog(["1", "2"], ["Ä", "B"])
    assert catalog.digest() == Catalog(["1", "2"], ["Ä", "B"], CatalogOrigin.FROM_DATA).digest()
    assert re.fullmatch("[0-9a-f]{64}", catalog.digest())


def test_a_digest_stays_the_same_between_versions() -> None:
    # SHA-256 of the header, then for "1", "2", "A", "B" an 8-byte length of 1 and the letter.
    content = b"discreet catalogue 1\n"
    for letter in b"12AB":
        content += bytes([0, 0, 0, 0, 0, 0, 0, 1, letter])
    expected = hashlib.sha256(content).hexdigest()
    assert Catalog(["1", "2"], ["A", "B"]).digest() == expected


@pytest.mark.parametrize(
    ("ids", "titles"),
    [
        (["2", "1"], ["B", "A"]),
        (["1", "2"], ["B", "A"]),
        (["1", "2"], ["A", "Bc"]),
        (["1", "2"], ["Ab", "c"]),
        (["12", ""], ["A", "B"]),
        (["1", "2A"], ["", "B"]),
        (["1", "2", "A"], ["B", "x", "y"]),
    ],
)
def test_a_digest_tells_orders_and_boundaries_apart(ids: list[str], titles: list[str]) -> None:
    seen = {Catalog(["1", "2"], ["A", "B"]).digest(), Catalog(["1", "2"], ["A", "bc"]).digest()}
    assert Catalog(ids, titles).digest() not in seen


@given(ids_and_titles(), ids_and_titles())
def test_digests_agree_exactly_when_the_names_do(
    one: tuple[list[str], list[str]], two: tuple[list[str], list[str]]
) -> None:
    a, b = Catalog(*one), Catalog(*two)
    assert (a.digest() == b.digest()) == ((a.ids, a.titles) == (b.ids, b.titles))


def test_equality_includes_the_origin() -> None:
    given_, read = Catalog(["1"]), Catalog(["1"], origin=CatalogOrigin.FROM_DATA)
    assert given_ == Catalog(["1"], ["1"])
    assert hash(given_) == hash(Catalog(["1"], ["1"]))
    assert given_ != read
    assert given_ != Catalog(["1"], ["A"])
    assert given_ != "1"
    assert repr(read) == "Catalog(1 items, from-data)"
