"""A bound on a user's ratings makes a promise per rating one per user: events, words, ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import Scale
from discreet.domain.errors import BudgetExceeded
from discreet.measure import ItemCounts, choose_best, publish_item_counts, publish_rmse
from discreet.methods import MethodName, fit
from discreet.privacy import Guarantee, Noise, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, Shape, bound_contributions, make_ratings
from discreet.ratings._ratings import build_ratings
from measure._neighbours import catalog_of

_MOST = 6


@pytest.fixture(scope="module")
def made() -> Ratings:
    ratings = make_ratings(Shape(users=300, items=60, ratings=6000), seed=1)
    return replace(ratings, users=np.arange(ratings.user_count))


@pytest.fixture(scope="module")
def bounded(made: Ratings) -> Ratings:
    return bound_contributions(made, _MOST)


def guarantees(ratings: Ratings, unit: Unit) -> list[Guarantee]:
    """Of everything that is published of ratings."""
    told: dict[str, Any] = {"protect": unit, "epsilon": 0.5, "ledger": "unbooked"}
    guess = np.full(len(ratings), 3.0)
    return [
        *(fit(ratings, method=method, **told).guarantee for method in MethodName),
        *(fit(ratings, noise=noise, **told).guarantee for noise in Noise),
        publish_item_counts(ratings, **told).guarantee,
        publish_item_counts(ratings, delta=1e-6, **told).guarantee,
        publish_rmse(ratings, guess, **told)[1],
        publish_rmse(ratings, guess, delta=0.0, **told)[1],
        choose_best(ratings, [guess, guess], **told)[1],
    ]


def test_every_event_per_rating_carries_the_bound(bounded: Ratings) -> None:
    for guarantee in guarantees(bounded, Unit.RATING):
        assert {event.ratings_per_user for event in guarantee.events} == {_MOST}
        per_user = guarantee.per(Unit.USER)
        assert per_user is not None and per_user >= guarantee.epsilon
        if guarantee.delta == 0:
            assert per_user == pytest.approx(_MOST * guarantee.epsilon)
        words = " ".join(guarantee.sentences())
        assert "At most 6 ratings of each user were kept" in words
        assert "costs as much as a changed rating" in words
        assert "For all of a person's ratings, added or removed, epsilon is" in words
        assert Guarantee.from_dict(guarantee.to_dict()) == guarantee


def test_without_a_bound_nothing_is_said_of_one(made: Ratings) -> None:
    for guarantee in guarantees(made, Unit.RATING):
        assert guarantee.per(Unit.USER) is None
        assert "were kept" not in str(guarantee)


def test_per_user_a_bound_changes_nothing(bounded: Ratings) -> None:
    for guarantee in guarantees(bounded, Unit.USER):
        assert {event.ratings_per_user for event in guarantee.events} == {None}
        assert "a rating here is one of those" not in str(guarantee)
        assert "At most 6 ratings of each person were kept." in str(guarantee)


def test_a_ledger_that_limits_users_admits_bounded_ratings_alone(
    made: Ratings, bounded: Ratings, tmp_path: Path
) -> None:
    limits = [Limit(Unit.USER, 40.0, 1e-5)]
    ledger = Ledger.create(tmp_path / "people.ledger", "people", limits)
    with pytest.raises(BudgetExceeded, match="most_ratings, --most-ratings"):
        fit(made, protect="rating", epsilon=0.5, ledger=ledger)
    assert ledger.history() == []
    fit(bounded, protect="rating", epsilon=0.5, ledger=ledger)
    (charge,) = ledger.history()
    assert [event.ratings_per_user for event in charge.events] == [_MOST]
    tight = Ledger.create(tmp_path / "tight.ledger", "people", [Limit(Unit.USER, 1.0, 1e-6)])
    with pytest.raises(BudgetExceeded):
        fit(bounded, protect="rating", epsilon=0.5, ledger=tight)


def rows(*own: tuple[int, int]) -> Ratings:
    """One person's raw rows: items and codes, a later row of an item replacing an earlier one."""
    items, codes = (np.array(column) for column in zip(*own, strict=True))
    return build_ratings(
        np.zeros(len(own), np.int32),
        items.astype(np.int32),
        codes.astype(np.uint8),
        None,
        scale=Scale(1, 5),
        catalog=catalog_of(12),
        user_ids=np.array([7]),
    )


def test_one_raw_row_moves_counts_by_no_more_than_a_changed_rating_and_reaches_it() -> None:
    """The sentence's factor of two: in L1 two counts move at the bound, and never three."""
    counting = ItemCounts(Unit.RATING, Noise.LAPLACE)
    rng = np.random.default_rng(4)
    furthest = 0
    for _ in range(2000):
        own = [(int(i), int(c)) for i, c in rng.integers(0, [12, 5], (rng.integers(1, 9), 2))]
        one_more = (int(rng.integers(12)), int(rng.integers(5)))
        at = int(rng.integers(len(own) + 1))
        few, many = rows(*own), rows(*own[:at], one_more, *own[at:])
        before, after = (counting.measure(bound_contributions(each, 4)) for each in (few, many))
        moved = int(np.abs(after - before).sum())
        assert moved <= 2 * counting.sensitivity
        furthest = max(furthest, moved)
    assert furthest == 2


def test_a_whole_user_moves_no_more_records_than_the_bound() -> None:
    counting = ItemCounts(Unit.RATING, Noise.LAPLACE)
    everything = rows(*((item, 0) for item in range(12)))
    assert counting.measure(bound_contributions(everything, 4)).sum() == 4
