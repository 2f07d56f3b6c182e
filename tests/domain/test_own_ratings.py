"""One person's ratings: looked up, checked, and never shown."""

from __future__ import annotations

import copy
import math
import traceback
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, Catalog, InputError, OwnRatings, Scale

CATALOG = Catalog(["10", "20", "30"], ["Alien", "Heat", "Ran"])
SCALE = Scale(1, 5)


def test_ids_and_titles_mix_and_come_out_in_catalogue_order() -> None:
    own = OwnRatings.of({"30": 2, "Alien": 5.0}, CATALOG, SCALE)
    assert own.items.tolist() == [0, 2]
    assert own.values.tolist() == [5.0, 2.0]
    assert (own.items.dtype, own.values.dtype) == (np.int32, np.float64)
    assert len(own) == 2
    assert own.unknown == ()


def test_unknown_names_are_reported_in_order_and_not_fatal() -> None:
    own = OwnRatings.of({"Jaws": 5, "Heat": 4, "Psycho": 99}, CATALOG, SCALE)
    assert own.unknown == ("Jaws", "Psycho")
    assert own.items.tolist() == [1]


def test_nobody_has_rated_nothing_wrong() -> None:
    own = OwnRatings.of({}, CATALOG, SCALE)
    assert (len(own), own.items.tolist(), own.unknown) == (0, [], ())


def test_two_names_for_one_item() -> None:
    with pytest.raises(InputError) as caught:
        OwnRatings.of({"Heat": 4, "20": 5}, CATALOG, SCALE)
    assert str(caught.value) == "'20' is rated twice under two names"


@pytest.mark.parametrize("value", [0, 6, 2.5, math.nan, math.inf, 1e308])
def test_a_rating_outside_the_scale_is_named_but_not_shown(value: float) -> None:
    with pytest.raises(InputError) as caught:
        OwnRatings.of({"Alien": 5, "Heat": value}, CATALOG, SCALE)
    assert str(caught.value) == "the rating of 'Heat' is not on the scale 1..5 in steps of 1"


@pytest.mark.parametrize("value", ["secret-5", None, [4], 10**400])
def test_a_rating_that_is_no_number_is_named_but_not_shown(value: object) -> None:
    with pytest.raises(InputError) as caught:
        OwnRatings.of({"Heat": value}, CATALOG, SCALE)
    assert str(caught.value) == "the rating of 'Heat' is not a number"
    told = "".join(traceback.format_exception(caught.value))
    assert "secret" not in told
    assert "1000000" not in told


@pytest.mark.parametrize(
    "own",
    [
        {"30": 1, "Alien": 1.0, "Jaws": 1},
        {"30": True, "10": np.float32(1), "Jaws": 7},
        ["30", "Alien", "Jaws"],
        ("Jaws", "30", "Alien", "Alien", "10"),
        {"Alien", "30", "Jaws"},
        frozenset(["10", "Ran", "Jaws"]),
        {"30": 1, "Alien": 1, "Jaws": 1}.keys(),
        (name for name in ["30", "Alien", "Jaws"]),
        {"Ran": 1, "30": 1, "Alien": 1, "Jaws": 1},
    ],
)
def test_presence_is_said_by_naming_items(own: Any) -> None:
    known = OwnRatings.of(own, CATALOG, PRESENCE)
    assert known.items.tolist() == [0, 2]
    assert known.values.tolist() == [1.0, 1.0]
    assert known.unknown == ("Jaws",)


def test_nothing_named_is_nothing_there() -> None:
    nothing: tuple[Any, ...] = ([], {}, set())
    for own in nothing:
        assert len(OwnRatings.of(own, CATALOG, PRESENCE)) == 0


@pytest.mark.parametrize("value", [0, 5, 0.5, -1, math.nan, math.inf])
def test_presence_has_no_other_value_and_none_is_shown(value: float) -> None:
    with pytest.raises(InputError) as caught:
        OwnRatings.of({"Alien": 1, "Heat": value}, CATALOG, PRESENCE)
    assert str(caught.value) == "'Heat' must have the value 1, or be left out"


def test_two_names_that_say_different_things_of_one_item() -> None:
    with pytest.raises(InputError, match="'20' is rated twice under two names"):
        OwnRatings.of({"Heat": 0, "20": 1}, CATALOG, PRESENCE)


@pytest.mark.parametrize("own", ["Alien", 5, None, [10, 20], [["Alien"]], [None], b"Alien"])
def test_items_are_named_in_a_list_of_texts(own: Any) -> None:
    with pytest.raises(InputError) as caught:
        OwnRatings.of(own, CATALOG, PRESENCE)
    assert str(caught.value) == "own items are a list of ids or titles, like ['Alien', 'Heat']"


@pytest.mark.parametrize("own", [["Alien"], {"Alien"}, "Alien", None])
def test_names_alone_are_no_ratings(own: Any) -> None:
    with pytest.raises(InputError) as caught:
        OwnRatings.of(own, CATALOG, SCALE)
    told = "own ratings are a mapping from items to ratings, like {'Alien': 5}"
    assert str(caught.value) == told


def test_a_repr_shows_nothing() -> None:
    own = OwnRatings.of({"Heat": 4, "Jaws": 3}, CATALOG, SCALE)
    for text in (repr(own), str(own), f"{own}", repr([own]), repr(copy.copy(own))):
        assert text.strip("[]") == "OwnRatings(private)"


@pytest.mark.parametrize(
    "scale", [Scale(1, 4), Scale(2, 5), Scale(1, 5, 2), Scale(0, 1, None), PRESENCE]
)
def test_a_scale_that_somebody_else_announces_is_never_objected_to(scale: Scale) -> None:
    """Whether somebody objects would tell what they rated."""
    catalog = Catalog(["a", "b"], ["Alien", "Heat"])
    for ratings in ({}, {"Alien": 5}, {"Alien": 1, "Heat": 2.6}, {"a": 4, "Alien": 1}, {"?": -1e9}):
        own = OwnRatings.onto(ratings, catalog, scale)
        assert scale.contains(own.values).all()
        assert own.items.tolist() == [i for i, n in enumerate(["Alien", "Heat"]) if n in ratings]
    assert OwnRatings.onto({"Alien": 4.4}, catalog, Scale(1, 5)).values.tolist() == [4.0]
    assert OwnRatings.onto({"a": 4, "Alien": 1}, catalog, Scale(1, 5)).values.tolist() == [4.0]


@pytest.mark.parametrize("value", ["x", None, math.nan, math.inf])
@pytest.mark.parametrize("name", ["Alien", "of another catalogue"])
def test_what_is_no_number_is_refused_whatever_the_catalogue_has(name: str, value: object) -> None:
    catalog = Catalog(["a", "b"], ["Alien", "Heat"])
    with pytest.raises(InputError):
        OwnRatings.onto({name: value}, catalog, Scale(1, 5))  # type: ignore[dict-item]
