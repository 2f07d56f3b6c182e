"""Charge, then draw; what is published says what it promises."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.errors import BudgetExceeded
from discreet.measure import ItemCounts, publish_item_counts
from discreet.privacy import FIT_UNITS, Noise, SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, find_shape, make_ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=3)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 1.5, 1e-6)])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("protect", FIT_UNITS)
def test_published_counts_are_the_true_ones_plus_noise_of_the_stated_size(
    ratings: Ratings, protect: Unit, delta: float
) -> None:
    public = publish_item_counts(
        ratings, protect=protect, epsilon=1.0, delta=delta, ledger="unbooked"
    )
    noise = Noise.GAUSSIAN if delta else Noise.LAPLACE
    statistic = ItemCounts(protect, noise)
    errors = public.counts - statistic.measure(ratings) / statistic.grid
    assert abs(errors.mean()) < 6 * public.spread / np.sqrt(len(errors))
    assert errors.std() == pytest.approx(public.spread, rel=0.25)
    assert public.guarantee.is_private
    assert public.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    assert public.guarantee.epsilon <= 1.0 + 1e-9


def test_the_ledger_is_charged_with_what_the_guarantee_says(
    ratings: Ratings, ledger: Ledger
) -> None:
    public = publish_item_counts(ratings, protect=Unit.USER, epsilon=1.0, delta=1e-6, ledger=ledger)
    (entry,) = ledger.history()
    assert entry.events == public.guarantee.events


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_budget_without_noise_is_refused(ratings: Ratings, delta: float) -> None:
    with pytest.raises(InputError, match="epsilon must be finite"):
        publish_item_counts(
            ratings, protect=Unit.USER, epsilon=math.inf, delta=delta, ledger="unbooked"
        )


def test_a_refused_charge_draws_nothing(ratings: Ratings, ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        publish_item_counts(ratings, protect=Unit.USER, epsilon=2.0, delta=1e-6, ledger=ledger)
    assert ledger.history() == []


def test_seeded_noise_repeats_and_says_that_it_is_not_private(ratings: Ratings) -> None:
    first, second = (
        publish_item_counts(
            ratings, protect=Unit.USER, epsilon=1.0, delta=1e-6, randomness=SeededRandomness(7)
        )
        for _ in range(2)
    )
    assert np.array_equal(first.counts, second.counts)
    assert not first.guarantee.is_private
    assert "seed" in str(first.guarantee)


def test_a_catalogue_from_data_is_remembered(ratings: Ratings) -> None:
    catalog = Catalog(ratings.catalog.ids, origin=CatalogOrigin.FROM_DATA)
    same = Ratings(Scale(1, 5), catalog, ratings.starts, ratings.items, ratings.codes)
    public = publish_item_counts(same, protect=Unit.RATING, epsilon=1.0, ledger="unbooked")
    assert "catalogue is from data" in str(public.guarantee)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.0), (-1.0, 1e-6), (float("nan"), 1e-6), (1.0, 1.0), (1.0, -0.1)]
)
def test_bad_budgets_are_refused(ratings: Ratings, epsilon: float, delta: float) -> None:
    with pytest.raises(InputError):
        publish_item_counts(
            ratings, protect=Unit.USER, epsilon=epsilon, delta=delta, ledger="unbooked"
        )
