"""Public features: believed where people's ratings agree along them, and otherwise left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import PRESENCE, InputError, Noisy, Scale
from discreet.estimate import Effects, feature_directions
from discreet.evaluate import people_of
from discreet.methods import MOST_FEATURES, fit
from discreet.privacy import FIT_UNITS, SeededRandomness, Unit
from discreet.ratings import Ratings, Split, split_random
from discreet.release import Release
from measure._neighbours import catalog_of

Floats = npt.NDArray[np.float64]
ITEMS = 120


def world(strength: float, *, users: int = 2000, each: int = 30) -> tuple[Ratings, Floats]:
    """People who differ in how much they like each of three genres."""
    rng = np.random.default_rng(1)
    genres = rng.normal(size=(ITEMS, 3))
    popular = 1 / np.arange(1, ITEMS + 1) ** 0.5
    keys = rng.gumbel(size=(users, ITEMS)) + np.log(popular)
    items = np.sort(np.argsort(-keys, axis=1)[:, :each], axis=1)
    mean = 3.3 + 0.4 * rng.normal(size=(users, 1)) + (0.4 * rng.normal(size=ITEMS))[items]
    tastes = np.einsum("uf,ucf->uc", rng.normal(size=(users, 3)), genres[items])
    values = mean + strength * tastes + 0.8 * rng.normal(size=items.shape)
    scale = Scale(1, 5)
    starts = np.arange(users + 1, dtype=np.int64) * each
    codes = scale.encode(np.clip(np.rint(values), 1, 5).ravel())
    flat = items.ravel().astype(np.int32)
    return Ratings(scale, catalog_of(ITEMS), starts, flat, codes), genres


def rmse(release: Release, split: Split) -> float:
    users, items = split.test.user_of_rating().astype(np.int64), split.test.items
    predicted = release.predictor().predict_pairs(people_of(split.train), users, items)
    return math.sqrt(np.mean((predicted - split.test.values()) ** 2))


@pytest.mark.parametrize(("unit", "epsilon"), [(Unit.RATING, 0.5), (Unit.USER, 1.0)])
def test_features_that_matter_help_and_others_do_no_harm(unit: Unit, epsilon: float) -> None:
    ratings, genres = world(0.3)
    split = split_random(ratings, 0.1, seed=1)
    noise = np.random.default_rng(9).normal(size=(ITEMS, 12))
    scores, beliefs = {}, {}
    for name, features in (("none", None), ("genres", genres), ("useless", noise)):
        release = fit(
            split.train, protect=unit, epsilon=epsilon, features=features,
            randomness=SeededRandomness(1),
        )  # fmt: skip
        scores[name] = rmse(release, split)
        beliefs[name] = release.parameters.get("features_believed")
    assert beliefs["none"] is None and beliefs["genres"] > 0.9 and beliefs["useless"] == 0
    assert scores["genres"] < 0.96 * scores["none"]
    assert scores["useless"] < 1.005 * scores["none"]


@pytest.mark.parametrize("unit", FIT_UNITS)
def test_features_help_with_presence_too(unit: Unit) -> None:
    """People who have six items each of one of two kinds, and few of them."""
    rng = np.random.default_rng(2)
    kind = np.arange(ITEMS) % 2
    lists = [
        np.sort(rng.choice(np.flatnonzero(kind == u % 2), 6, replace=False)) for u in range(1500)
    ]
    flat = np.concatenate(lists).astype(np.int32)
    starts = np.arange(1501, dtype=np.int64) * 6
    codes = PRESENCE.encode(np.ones(len(flat)))
    ratings = Ratings(PRESENCE, catalog_of(ITEMS), starts, flat, codes)
    told: dict[str, Any] = {"protect": unit, "epsilon": 1.0, "randomness": SeededRandomness(3)}
    release = fit(ratings, features=kind[:, None].astype(float), **told)
    assert release.parameters["list_directions"] >= 1
    best = release.predictor().recommend({"0": 1.0, "2": 1.0, "4": 1.0}, n=20)
    assert all(int(each.item) % 2 == 0 for each in best)
    useless = fit(ratings, features=rng.normal(size=(ITEMS, 5)), **told)
    assert useless.parameters["list_directions"] <= release.parameters["list_directions"]


def test_their_size_is_stated_and_columns_that_say_nothing_are_left_out() -> None:
    rng = np.random.default_rng(3)
    counts = 10 ** rng.uniform(2, 3, 500)
    nothing = np.zeros(500)
    effects = Effects(3.0, 0.1, nothing, nothing, counts, 0.1, Noisy(1e4, 1.0))
    features = (rng.random((500, 5)) < 0.3).astype(np.float64)
    for more in (np.zeros((500, 0)), np.ones((500, 2))):
        found = feature_directions(effects, np.hstack([features, more]), 20.0)
        assert found.shape == (500, 5)
        shares = counts / counts.sum()
        size = 3 * 0.17 * 20 / 4
        assert float((shares @ found**2).sum()) == pytest.approx(size**2, rel=0.1)
    assert feature_directions(effects, np.ones((500, 2)), 4.0).shape == (500, 0)


def test_the_number_of_features_is_limited_before_anything_is_charged() -> None:
    ratings, _ = world(0.0, users=20)
    with pytest.raises(InputError, match=f"at most {MOST_FEATURES}"):
        fit(ratings, features=np.zeros((ITEMS, MOST_FEATURES + 1)), ledger="unbooked")
    with pytest.raises(InputError, match="finite numbers, a row for each"):
        fit(ratings, features=[["drama"]] * ITEMS, ledger="unbooked")


@pytest.mark.parametrize("features", [np.ones((ITEMS, 3)), np.zeros((ITEMS, 0))])
def test_features_that_are_all_alike_are_no_features(features: Floats) -> None:
    ratings, _ = world(0.0, users=200)
    release = fit(ratings, features=features, epsilon=5, randomness=SeededRandomness(1))
    assert not release.parameters.get("features_believed")
