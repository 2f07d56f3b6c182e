"""`Ratings` refuses columns that no sensitivity was proved for, and keeps the others unchanged."""

from __future__ import annotations

import copy
import itertools
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, Catalog, InputError, Scale
from discreet.measure import publish_item_counts
from discreet.privacy import Unit
from discreet.ratings import Intake, Ratings, Stability
from discreet.ratings._ratings import MOST_MOST_RATINGS

_CATALOG = Catalog([f"i{k}" for k in range(6)])
_SECRET = 123_457


def columns(**changes: Any) -> dict[str, Any]:
    """Three users with two, no and three ratings."""
    right: dict[str, Any] = {
        "scale": Scale(1, 5),
        "catalog": _CATALOG,
        "starts": np.array([0, 2, 2, 5], dtype=np.int64),
        "items": np.array([1, 4, 0, 2, 5], dtype=np.int32),
        "codes": np.array([0, 4, 1, 2, 3], dtype=np.uint8),
        "times": np.array([9, 8, 7, 6, 5], dtype=np.uint32),
        "users": np.array([4, 7, 9]),
    }
    return right | changes


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def items(*values: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


def codes(*values: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.array(values, dtype=np.uint8)


def floats(*values: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


def test_right_columns_are_kept_without_a_copy_and_cannot_be_written_to() -> None:
    given_columns = columns()
    made = Ratings(**given_columns)
    for name in ("starts", "items", "codes", "times", "users"):
        column = getattr(made, name)
        assert np.shares_memory(column, given_columns[name])
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[0]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one item a hundred times": (
        {
            "starts": ints(0, 100),
            "items": np.full(100, 3, np.int32),
            "codes": np.full(100, 4, np.uint8),
            "times": None,
            "users": None,
        },
        "each once",
    ),
    "a code far above the scale": ({"codes": codes(0, 250, 1, 2, 3)}, "not on the scale"),
    "a code just above the scale": ({"codes": codes(0, 4, 1, 2, 5)}, "not on the scale"),
    "codes of another type": ({"codes": floats(0, 4, 1, 2, 3)}, "codes must be .* uint8"),
    "too few codes": ({"codes": codes(0, 4, 1, 2)}, "equally long"),
    "an item twice": ({"items": items(1, 1, 0, 2, 5)}, "each once"),
    "items that fall": ({"items": items(4, 1, 0, 2, 5)}, "rising"),
    "an item beyond the catalogue": ({"items": items(1, 4, 0, 2, 6)}, "from 0 to 5"),
    "a negative item": ({"items": items(-1, 4, 0, 2, 5)}, "from 0 to 5"),
    "wide items": ({"items": ints(1, 4, 0, 2, 5)}, "items must be .* int32"),
    "starts that fall": ({"starts": ints(0, 3, 2, 5)}, "never fall"),
    "starts beyond the end": ({"starts": ints(0, 9, 2, 5)}, "never fall"),
    "negative starts": ({"starts": ints(0, -3, 2, 5)}, "never fall"),
    "starts from 1": ({"starts": ints(1, 2, 2, 5)}, "begin with 0"),
    "starts that end early": ({"starts": ints(0, 2, 2, 4)}, "end with"),
    "no starts": ({"starts": ints()}, "begin with 0"),
    "starts of another type": ({"starts": items(0, 2, 2, 5)}, "starts must be .* int64"),
    "starts in a list": ({"starts": [0, 2, 2, 5]}, "starts must be"),
    "items in two dimensions": ({"items": items(1, 4, 0, 2, 5)[None]}, "one-dimensional"),
    "items with gaps": ({"items": np.repeat(items(1, 4, 0, 2, 5), 2)[::2]}, "contiguous"),
    "too few times": ({"times": np.zeros(4, np.uint32)}, "as many"),
    "times of another type": ({"times": ints(1, 2, 3, 4, 5)}, "times must be .* uint32"),
    "too few users": ({"users": ints(4, 7)}, "one name for every user"),
    "two users of one name": ({"users": ints(4, _SECRET, _SECRET)}, "same name"),
    "two users of one name, apart": ({"users": ints(_SECRET, 7, _SECRET)}, "same name"),
    "two users of one text": ({"users": np.array(["b", "a", "b"])}, "same name"),
    "users in two dimensions": ({"users": ints(4, 7, 9)[None]}, "one-dimensional"),
    "users that are objects": ({"users": np.array(["a", "b", "c"], object)}, "integers or text"),
    "users that are numbers with a point": ({"users": np.array([1.0, 2.0, 3.0])}, "integers"),
    "no catalogue": ({"catalog": ["i1"]}, "Catalog"),
    "no intake": ({"intake": None}, "Intake"),
    "a scale in a tuple": ({"scale": (1, 5)}, "Scale"),
    "more ratings than the intake says": ({"intake": Intake(most_ratings=2)}, "more than the 2"),
    "presence that is not there": ({"scale": PRESENCE, "codes": codes(1, 1, 0, 1, 1)}, "not on"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_columns_are_refused_in_one_line_that_shows_none_of_them(name: str) -> None:
    changes, said = BAD[name]
    with pytest.raises(InputError, match=said) as caught:
        Ratings(**columns(**changes))
    assert "\n" not in str(caught.value)
    assert str(_SECRET) not in str(caught.value) and "250" not in str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 10.001, -10.001])
def test_a_continuous_scale_has_finite_codes_within_it(bad: float) -> None:
    right = columns(scale=Scale(-10, 10, None), codes=floats(-10, 10, 0, 3.3, -1))
    Ratings(**right)
    with pytest.raises(InputError, match="not on the scale"):
        Ratings(**right | {"codes": floats(-10, 10, 0, bad, -1)})


def test_what_a_scale_encodes_is_on_it_though_float32_rounds() -> None:
    scale = Scale(0.1, 0.3, None)  # float32(0.1) is above 0.1, float32(0.3) above 0.3
    ends = scale.encode(np.array([0.1, 0.3, 0.2, 0.1, 0.3]))
    made = Ratings(**columns(scale=scale, codes=ends))
    assert made.values().max() == 0.3 and made.values().min() >= 0.1


def test_a_scale_too_wide_for_its_codes_is_refused_whatever_the_ratings() -> None:
    empty = columns(
        scale=Scale(0, 1e39, None), starts=ints(0), items=items(), codes=floats(), users=None
    )
    with pytest.raises(InputError, match="too wide"):
        Ratings(**empty | {"times": None})


@pytest.mark.parametrize(
    "names", [ints(9, 4, 7), np.array(["c", "a", "b"]), np.array(["é", "e", ""])]
)
def test_names_may_come_in_any_order(names: Any) -> None:
    assert Ratings(**columns(users=names)).user_count == 3


def test_nothing_and_people_without_ratings_are_ratings() -> None:
    nothing = {"items": items(), "codes": codes(), "times": None}
    assert Ratings(**columns(**nothing, starts=ints(0), users=None)).user_count == 0
    assert Ratings(**columns(**nothing, starts=ints(0, 0, 0), users=ints(3, 1))).user_count == 2


@pytest.mark.parametrize("most", [0, -1, 1.0, True, MOST_MOST_RATINGS + 1])
def test_a_bound_is_a_whole_number_from_one_on(most: Any) -> None:
    with pytest.raises(InputError, match="whole number"):
        Intake(most_ratings=most)


def test_copies_pickles_and_replacements_are_checked_and_cannot_be_written_to() -> None:
    made = Ratings(**columns())
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), replace(made, skipped=1)):
        assert np.array_equal(again.codes, made.codes)
        assert not again.codes.flags.writeable and not again.starts.flags.writeable
    with pytest.raises(InputError, match="not on the scale"):
        replace(made, scale=Scale(1, 3))


def test_parts_cannot_be_written_to_either() -> None:
    made = Ratings(**columns())
    parts = [*made.blocks(2), made.select_users(0, 2), made.where(made.codes > 1)]
    for part in parts:
        for name in ("starts", "items", "codes", "times", "users"):
            assert not getattr(part, name).flags.writeable


@pytest.mark.parametrize(
    "keep", [np.array([0, 0, 0, 0, 0]), np.ones(4, bool), np.ones((5, 1), bool)]
)
def test_ratings_are_not_kept_by_anything_but_a_mark_for_each(keep: Any) -> None:
    with pytest.raises(InputError, match="True or False"):
        Ratings(**columns()).where(keep)


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (0, 4), (2, 1)])
def test_users_outside_the_range_are_not_selected(first: int, last: int) -> None:
    with pytest.raises(InputError, match="range"):
        Ratings(**columns()).select_users(first, last)


def test_what_is_chosen_by_position_is_stable_for_nobody() -> None:
    made = Ratings(**columns())
    parts = [made.where(made.codes > 1), made.select_users(0, 1), *made.blocks(2)]
    for part in parts:
        assert part.intake.stability is Stability.NONE
        assert part.intake.part == "a selection by position"
        promise = publish_item_counts(
            part, protect=Unit.USER, epsilon=1, ledger="unbooked"
        ).guarantee
        assert not promise.is_private


@pytest.mark.parametrize(
    "wrong",
    [
        {"stability": "none"},
        {"bad_rows": "bogus"},
        {"part": "two\nlines"},
        {"part": ""},
        {"assumes": ["a list"]},
        {"assumes": ("two\nlines",)},
    ],
)
def test_an_intake_is_what_a_release_can_say(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="an intake"):
        Intake(**wrong)


def test_parts_of_parts_have_names_that_a_release_accepts() -> None:
    intake = Intake()
    for _ in range(20):
        intake = intake.parted("the training part of a random split (90 %)", Stability.RECORD)
    assert intake.part is not None and len(intake.part) <= 300


def test_names_that_may_be_missing_are_refused() -> None:
    kind = np.dtypes.StringDType(na_object=None)
    with pytest.raises(InputError, match="no missing values"):
        Ratings(**columns() | {"users": np.array(["a", None, "b"], dtype=kind)})


def slow_fault(starts: list[int], item: list[int], code: list[int], most: int | None) -> bool:
    """Whether any rule is broken, rule by rule and rating by rating."""
    if starts[0] != 0 or starts[-1] != len(item) or sorted(starts) != starts:
        return True
    for begin, end in itertools.pairwise(starts):
        own = item[begin:end]
        if own != sorted(set(own)) or any(not 0 <= i < 6 for i in own):
            return True
        if most is not None and len(own) > most:
            return True
    return any(not 0 <= c < 5 for c in code)


@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_the_check_agrees_with_a_slow_twin(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 6))
    own = sorted(data.draw(st.lists(st.integers(-1, 6), min_size=n, max_size=n)))
    inner = data.draw(st.lists(st.integers(-1, n + 1), max_size=3))
    starts = [0, *(sorted(inner) if data.draw(st.booleans()) else inner), n]
    code = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    most = data.draw(st.none() | st.integers(1, 3))
    told = columns(starts=ints(*starts), items=items(*own), codes=codes(*code), times=None)
    told |= {"users": None, "intake": Intake(most_ratings=most)}
    if slow_fault(starts, own, code, most):
        with pytest.raises(InputError):
            Ratings(**told)
    else:
        Ratings(**told)
