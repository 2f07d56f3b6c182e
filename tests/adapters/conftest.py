"""Small releases that adapters' tests share, fitted once."""

from __future__ import annotations

import pytest

import discreet
from discreet.ratings import Ratings
from discreet.release import Release


@pytest.fixture(scope="session")
def films() -> Ratings:
    return discreet.make_ratings("ml-100k", ratings=20_000, seed=1)


@pytest.fixture(scope="session")
def by_lists(films: Ratings) -> Release:
    noise = discreet.SeededRandomness(1)
    return discreet.fit(films, method="lists", epsilon=20.0, randomness=noise)


@pytest.fixture(scope="session")
def by_ratings(films: Ratings) -> Release:
    return discreet.fit(films, epsilon=20.0, randomness=discreet.SeededRandomness(1))
