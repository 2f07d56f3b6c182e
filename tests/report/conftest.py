"""Ratings that pages are made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.ratings import Ratings, find_shape, make_ratings


@pytest.fixture(scope="session")
def ratings() -> Ratings:
    return make_ratings(replace(find_shape("ml-100k").scaled(ratings=2_000), items=120), seed=1)
