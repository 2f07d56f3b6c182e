"""Shapes: what is refused, how they scale, and the curves of activity and popularity."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError, Scale
from discreet.ratings.synthetic import SHAPES, Shape, find_shape
from discreet.ratings.synthetic._curves import (
    choice_weights,
    item_popularity,
    rising_curve,
    user_activity,
)

BASE: dict[str, Any] = {"users": 10, "items": 10, "ratings": 50}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"users": 0}, "at least 1 user, not 0"),
        ({"items": 0}, "at least 1 item, not 0"),
        ({"ratings": 0}, "at least 1 rating, not 0"),
        ({"ratings": -3}, "at least 1 rating, not -3"),
        ({"ratings": 101}, "room for at most 100 ratings, not 101"),
        ({"ratings": 9}, "every user rates at least 1"),
        ({"least": 6}, "every user rates at least 6"),
        ({"least": 0}, "least must be 1 or more"),
        ({"items": 2**31, "users": 1}, "a catalogue holds at most"),
        ({"top_item": 1.5}, "top_item must be between 0 and 1, not 1.5"),
        ({"rare_item": 0.9}, "rare_item must be between 0 and 0.5"),
        ({"top_user": -0.1}, "top_user must be between"),
        ({"user_bend": 5.0}, "user_bend must be between"),
        ({"item_bend": math.nan}, "item_bend must be between"),
        ({"taste_variance": 0.9}, "noise_variance must be between"),
        ({"item_variance": -0.1}, "item_variance must be between"),
        ({"rank": 0}, "rank must be between 1 and 256, not 0"),
        ({"choice": -1.0}, "choice must be between"),
        ({"value_shares": (0.5, 0.5)}, "has 5 levels, but there are 2 value shares"),
        ({"value_shares": (0.5, 0.5, 0.5, 0.5, -1.0)}, "value shares must be 0 or more"),
        ({"scale": Scale(0, 1, None), "value_shares": ()}, "value shares must be 0 or more"),
        ({"session": 0}, "session must be between"),
        ({"span": (date(2001, 1, 1), date(2001, 1, 1))}, "must begin in 1970 or later"),
        ({"span": (date(1969, 1, 1), date(2001, 1, 1))}, "must begin in 1970 or later"),
        ({"span": (date(2001, 1, 1), date(2107, 1, 1))}, "up to the year 2105"),
    ],
)
def test_bad_shapes_are_refused_in_one_line(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as refused:
        Shape(**(BASE | wrong))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_published_sizes() -> None:
    sizes = {name: (s.users, s.items, s.ratings) for name, s in SHAPES.items()}
    assert sizes["netflix"] == (480_189, 17_770, 100_480_507)
    assert sizes["ml-1m"] == (6_040, 3_706, 1_000_209)
    assert sizes["ml-100k"] == (943, 1_682, 100_000)
    assert sizes["ml-latest-small"] == (610, 9_724, 100_836)
    assert sizes["goodbooks"] == (53_424, 10_000, 5_976_479)
    assert find_shape("jester").scale == Scale(-10, 10, None)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("ratings", [1, 7, 100, 10_000, 1_000_000, 100_000_000])
def test_scaling_keeps_the_character(name: str, ratings: int) -> None:
    shape = SHAPES[name]
    scaled = shape.scaled(ratings=ratings)
    assert scaled.ratings == ratings
    if ratings >= 1_000_000:
        assert scaled.mean_activity == pytest.approx(shape.mean_activity, rel=1e-2)
    if ratings >= 10_000:
        assert scaled.density <= 1.02 * max(0.15, shape.density)
    assert (scaled.scale, scaled.top_item, scaled.rank) == (
        shape.scale,
        shape.top_item,
        shape.rank,
    )


def test_scaling_changes_users_and_items_in_the_same_direction() -> None:
    sizes = [SHAPES["netflix"].scaled(ratings=10**k) for k in range(4, 9)]
    assert all(np.diff([s.users for s in sizes]) > 0)
    assert all(np.diff([s.items for s in sizes]) > 0)


def test_a_dense_catalogue_is_kept() -> None:
    assert SHAPES["jester"].scaled(ratings=10_000).items == 100


def test_scaling_to_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1 rating, not 0"):
        SHAPES["ml-1m"].scaled(ratings=0)


def test_activity_is_exact_whole_and_within_bounds() -> None:
    shape = SHAPES["ml-1m"]
    activity = user_activity(shape)
    assert activity.sum() == 1_000_209
    assert activity.min() == 20
    assert activity.max() == pytest.approx(2_314, abs=1)
    assert (np.diff(activity) >= -1).all()  # rounding may swap neighbours


def test_netflix_activity_has_the_published_quartiles() -> None:
    activity = user_activity(SHAPES["netflix"])
    assert activity.mean() == pytest.approx(209.25, abs=0.01)
    assert np.percentile(activity, [25, 50, 75]) == pytest.approx([39, 96, 259], rel=0.1)
    assert activity.max() == pytest.approx(17_653, rel=0.01)


def test_a_curve_without_bend_is_log_normal() -> None:
    curve = rising_curve(1_001, 40_000.0, least=0.0, top=2_000.0, cap=math.inf, bend=0.0)
    logs = np.log(curve)
    z = np.array([NormalDist().inv_cdf((k + 0.5) / 1_001) for k in range(1_001)])
    slopes = np.diff(logs) / np.diff(z)
    assert slopes == pytest.approx(np.full(1_000, slopes[0]))
    assert curve.sum() == pytest.approx(40_000)
    assert curve[-1] == pytest.approx(2_000)


def test_a_bent_curve_loses_slope_in_proportion_to_z() -> None:
    curve = rising_curve(1_001, 40_000.0, least=0.0, top=2_000.0, cap=math.inf, bend=0.5)
    z = np.array([NormalDist().inv_cdf((k + 0.5) / 1_001) for k in range(1_001)])
    slopes = np.diff(np.log(curve)) / np.diff(z)
    middles = (z[1:] + z[:-1]) / 2
    steepness = slopes[500]
    assert slopes == pytest.approx(steepness * (1 - 0.5 * middles / z[-1]), rel=2e-3)


@pytest.mark.parametrize("bend", [0.0, 1.0, 3.0])
def test_a_cap_cuts_the_top_and_keeps_the_total(bend: float) -> None:
    curve = rising_curve(500, 30_000.0, least=10.0, top=150.0, cap=100.0, bend=bend)
    assert curve.sum() == pytest.approx(30_000)
    assert curve.max() == pytest.approx(100)
    assert curve.min() >= 10


@pytest.mark.parametrize("name", ["netflix", "ml-1m", "goodbooks", "jester"])
def test_weights_bring_about_the_popularity(name: str) -> None:
    shape = replace(SHAPES[name].scaled(ratings=200_000), choice=0.0)
    activity, popularity = user_activity(shape), item_popularity(shape)
    weights = choice_weights(shape, activity, popularity)
    # An independent check by simulation: exponential arrivals, the first c are taken.
    rng = np.random.default_rng(1)
    arrivals = rng.exponential(size=(shape.users, shape.items)) / weights
    places = arrivals.argsort(axis=1).argsort(axis=1)
    reached = (places < activity[:, None]).sum(axis=0)
    deviations = (reached - popularity) / np.sqrt(popularity)
    assert np.abs(deviations).max() < 6
    assert reached[-1] == pytest.approx(popularity[-1], rel=0.05)
