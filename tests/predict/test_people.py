"""People side by side, and own items that leave a drawn set."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domain import Catalog, InputError, OwnRatings, Scale
from discreet.predict import People, drop_own
from predict._worlds import crowd, person


@pytest.mark.parametrize(
    ("starts", "items", "values"),
    [
        (np.array([0, 1], np.int32), np.zeros(1, np.int32), np.zeros(1)),
        (np.array([0, 1]), np.zeros(1, np.int64), np.zeros(1)),
        (np.array([0, 2]), np.zeros(1, np.int32), np.zeros(1)),
        (np.array([1, 1]), np.zeros(1, np.int32), np.zeros(1)),
        (np.array([0, 2, 1]), np.zeros(1, np.int32), np.zeros(1)),
        (np.empty(0, np.int64), np.zeros(0, np.int32), np.zeros(0)),
    ],
)
def test_crooked_people_are_refused(
    starts: np.ndarray, items: np.ndarray, values: np.ndarray
) -> None:
    with pytest.raises(InputError):
        People(starts, items, values)


def test_one_of_several_people() -> None:
    people = crowd(30, 5, 9)
    for row in range(5):
        items, values = person(people, row)
        assert (people[row].items == items).all() and (people[row].values == values).all()
        assert len(people.part(row, row + 1)) == 1
    assert repr(people) == "People(private)"


def test_own_items_are_dropped_and_the_order_stays() -> None:
    own = OwnRatings.of({"a": 5, "c": 1}, Catalog(list("abcdef")), Scale(1, 5))
    assert drop_own([5, 2, 0, 4], own).tolist() == [5, 4]
    assert drop_own(np.array([5, 2, 0, 4]), own, 1).tolist() == [5]
    assert drop_own([5, 2, 0, 4], [5, 4], 10).tolist() == [2, 0]
    assert drop_own([2, 0], own).tolist() == []
    assert drop_own([1, 3], []).tolist() == [1, 3]


def test_what_is_no_set_is_refused() -> None:
    with pytest.raises(InputError, match="a drawn set: give one person's catalogue indices"):
        drop_own([[1, 2], [3, 4]], [1])
    with pytest.raises(InputError, match="own items: give"):
        drop_own([1, 2], ["a"])
    with pytest.raises(InputError, match="n is how many items to keep, not -1"):
        drop_own([1, 2], [1], -1)
