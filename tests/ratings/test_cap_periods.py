"""A bound on a person's periods: people are who their names say, and nobody else matters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import numpy as tensors

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings import Ratings, Stability, cap_periods

NAMES = st.lists(st.sampled_from(["", "a", "b", "é", "name" * 9, "7"]), unique=True)


def period_of(names: list[str], absent: int = 0) -> Ratings:
    """Everybody rated both items but for the last ones, who are listed and rated nothing."""
    rated = np.repeat([2, 0], [len(names) - absent, absent])
    items = np.tile(np.arange(2, dtype=np.int32), len(names) - absent)
    return Ratings(
        Scale(1, 5),
        Catalog(["x", "y"]),
        np.concatenate([[0], np.cumsum(rated)]).astype(np.int64),
        items,
        np.zeros(len(items), np.uint8),
        users=np.array(names, np.str_),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, max_size=5), st.integers(1, 3))
def test_everybody_is_used_in_their_first_periods(periods: list[list[str]], most: int) -> None:
    """Against a slow twin, through the bytes in which it is kept."""
    counted: Counter[str] = Counter()
    seen: dict[str, np.ndarray] = {}
    for names in periods:
        kept, seen = cap_periods(period_of(names), seen, most)
        expected = [2 if counted[name] < most else 0 for name in names]
        assert np.diff(kept.starts).tolist() == expected
        counted.update(name for name in names if counted[name] < most)
        assert seen["cap:periods"].tolist() == list(counted.values())
        seen = tensors.load(tensors.save(seen))


def test_whoever_is_listed_and_rated_nothing_was_not_there() -> None:
    _, seen = cap_periods(period_of(["a", "b"], absent=1), {}, 1)
    kept, _ = cap_periods(period_of(["a", "b"]), seen, 1)
    assert np.diff(kept.starts).tolist() == [0, 2]
    assert kept.intake.stability is Stability.USER


def test_numbers_are_the_names_that_they_print_as() -> None:
    numbered = period_of(["7", "8"])
    _, seen = cap_periods(
        Ratings(
            numbered.scale, numbered.catalog, numbered.starts, numbered.items, numbered.codes,
            users=np.array([7, 8]),
        ),
        {},
        1,
    )  # fmt: skip
    kept, _ = cap_periods(period_of(["8", "9"]), seen, 1)
    assert np.diff(kept.starts).tolist() == [0, 2]


def test_people_without_names_are_refused() -> None:
    named = period_of(["a"])
    with pytest.raises(InputError, match="needs the users' names"):
        cap_periods(
            Ratings(named.scale, named.catalog, named.starts, named.items, named.codes), {}, 1
        )
