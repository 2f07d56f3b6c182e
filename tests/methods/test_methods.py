"""Both methods on real and made-up shapes: what they learn, and where they give up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError, Scale
from discreet.evaluate import Judge, people_of, popularity, user_mean
from discreet.methods import RefinedMethod, fit
from discreet.predict import Release
from discreet.privacy import FIT_UNITS, Noise, SeededRandomness, Unit
from discreet.ratings import Ratings, Split, find_shape, make_ratings, split_random
from measure._neighbours import catalog_of
from methods._kinds import two_kinds


@pytest.fixture(scope="module")
def split() -> Split:
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=100_000), seed=5)
    return split_random(ratings, 0.1, 1)


@pytest.fixture(scope="module")
def clicks() -> Split:
    return two_kinds()


def rmse(release: Release, split: Split) -> float:
    rows, items = split.test.user_of_rating().astype(np.int64), split.test.items
    guess = release.predictor().predict_pairs(people_of(split.train), rows, items)
    return float(np.sqrt(np.mean((guess - split.test.values()) ** 2)))


def fitted(split: Split, **options: Any) -> Release:
    return fit(split.train, randomness=SeededRandomness(1), **options)


def test_refined_is_the_default(split: Split) -> None:
    release = fitted(split, epsilon=5.0)
    assert release.method == "refined"
    assert release.predictor().name == "posterior"
    assert release.guarantee.unit is Unit.USER
    same = fitted(split, epsilon=5.0, method=RefinedMethod())
    assert np.array_equal(release.arrays["factors"], same.arrays["factors"])


def test_settings_of_one_method_are_not_the_other_s(split: Split) -> None:
    with pytest.raises(InputError, match="method covariance has no setting 'reach'"):
        fitted(split, method="covariance", reach=1.0)


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_the_refinement_uses_what_it_pays_for(split: Split, protect: Unit) -> None:
    """With much budget it predicts better than without tastes, and items outside the head too."""
    with_it = fitted(split, protect=protect, epsilon=40.0, head=60)
    without = fitted(split, protect=protect, epsilon=40.0, rank=0)
    assert "taste sums" in {event.label for event in with_it.guarantee.events}
    assert rmse(with_it, split) < rmse(without, split) - 0.002
    counts = with_it.arrays["item_counts"]
    tail = np.argsort(-counts)[60:200]
    assert np.abs(with_it.arrays["factors"][tail]).max() > 0.05
    assert np.all(with_it.arrays["factor_variances"] > 0)


def test_laplace_noise_refines_users_but_not_ratings(split: Split) -> None:
    for protect, expected in ((Unit.USER, True), (Unit.RATING, False)):
        release = fit(
            split.train, protect=protect, noise=Noise.LAPLACE, epsilon=200.0, ledger="unbooked"
        )
        labels = {event.label for event in release.guarantee.events}
        assert ("taste sums" in labels) is expected
        assert release.guarantee.delta == 0
        assert release.guarantee.epsilon == pytest.approx(200.0, rel=1e-6)


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_little_budget_never_predicts_worse_than_people_s_own_means(
    split: Split, protect: Unit, epsilon: float
) -> None:
    rows, items = split.test.user_of_rating().astype(np.int64), split.test.items
    guess = user_mean(split.train).predict_pairs(people_of(split.train), rows, items)
    floor = float(np.sqrt(np.mean((np.clip(guess, 1, 5) - split.test.values()) ** 2)))
    draws = [SeededRandomness(seed) for seed in range(3)]
    told = {"protect": protect, "epsilon": epsilon}
    errors = [rmse(fit(split.train, randomness=draw, **told), split) for draw in draws]  # type: ignore[arg-type]
    assert np.mean(errors) < floor * 1.002


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_the_scale_s_unit_changes_nothing_but_the_unit(split: Split, protect: Unit) -> None:
    """The same ratings told on 1..5 and on 10..50: predictions are ten times as high."""
    train = split.train
    wide = Ratings(Scale(10, 50, 10), train.catalog, train.starts, train.items, train.codes)
    told = {"protect": protect, "epsilon": math.inf}
    one = fitted(split, **told)
    ten = fit(wide, randomness=SeededRandomness(1), **told)  # type: ignore[arg-type]
    a, b = one.arrays["item_effects"], ten.arrays["item_effects"]
    np.testing.assert_allclose(b, 10 * a, atol=0.02)
    assert ten.arrays["factors"].shape == one.arrays["factors"].shape
    np.testing.assert_allclose(ten.arrays["factors"], 10 * one.arrays["factors"], atol=0.05)


def test_public_features_help_where_they_are_true(split: Split) -> None:
    """A feature that divides the items as people's tastes do, and one budget too small for more."""
    rng = np.random.default_rng(2)
    train = split.train
    side = np.where(rng.random(len(train.catalog)) < 0.5, 1.0, -1.0)
    taste = rng.normal(0, 0.7, train.user_count)

    def moved(part: Ratings) -> Ratings:
        shift = taste[part.user_of_rating()] * side[part.items]
        values = np.clip(np.rint(part.values() + shift), 1, 5)
        codes = part.scale.encode(values)
        return Ratings(part.scale, part.catalog, part.starts, part.items, codes)

    planted = Split(moved(split.train), moved(split.test))
    told = {"protect": "user", "epsilon": 1.0}
    blind, seeing = fitted(planted, **told), fitted(planted, features=side[:, None], **told)
    assert rmse(seeing, planted) < rmse(blind, planted) - 0.03


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_presence_alone_finds_who_likes_what(clicks: Split, protect: Unit) -> None:
    judge = Judge(clicks)
    floor = judge.judge(popularity(clicks.train)).ndcg_at_10
    release = fitted(clicks, protect=protect, epsilon=8.0)
    assert release.scale.presence and release.method == "lists"
    found = judge.judge(release.predictor())
    assert found.ndcg_at_10 > 1.2 * floor
    blind = fitted(clicks, protect=protect, epsilon=0.02)
    assert blind.parameters["list_directions"] == 0


def test_presence_recommends_and_explains_from_names_alone(clicks: Split) -> None:
    model = fitted(clicks, protect="rating", epsilon=8.0).predictor()
    even = model.recommend(["0", "4", "8", "12"], 10, explain=True)
    assert np.mean([entry.item % 2 == 0 for entry in even]) > 0.7
    assert any(entry.because for entry in even)
    assert all(by > 0 for entry in even for _, by in entry.because)
    assert {entry.id for entry in even}.isdisjoint({"0", "4", "8", "12"})
    with pytest.raises(InputError, match="predicts no ratings"):
        model.predict(["0", "4"])
    with pytest.raises(InputError):
        fitted(clicks, epsilon=8.0).predictor("knn")


@pytest.mark.parametrize("method", ["covariance", "refined", "slope-one"])
def test_presence_is_for_lists_and_cosines(clicks: Split, method: str) -> None:
    with pytest.raises(InputError, match="methods cosine and lists"):
        fitted(clicks, method=method)


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("epsilon", [0.05, 5.0, math.inf])
def test_presence_spends_what_was_asked(
    clicks: Split, protect: Unit, noise: Noise, epsilon: float
) -> None:
    release = fit(clicks.train, protect=protect, noise=noise, epsilon=epsilon, ledger="unbooked")
    assert all(np.isfinite(array).all() for array in release.arrays.values())
    if math.isfinite(epsilon):
        assert release.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)


def test_the_order_of_lists_changes_nothing_that_is_shown(split: Split) -> None:
    release = fitted(split, epsilon=20.0)
    own = {release.catalog.ids[3]: 5.0, release.catalog.ids[9]: 2.0}
    best, expected = release.predictor(), release.predictor(order="expected")
    listed = expected.recommend(own, 5)
    shown = [entry.expected for entry in listed]
    assert shown == sorted(shown, reverse=True)
    for entry in (*best.recommend(own, 5), *listed):
        assert entry.expected == pytest.approx(best.predict(own, [entry.item])[0], abs=1e-4)
    nobody = best.scores(people_of(split.train).part(0, 0), 0, 0)
    assert nobody.shape == (0, len(release.catalog))


def test_a_sketch_that_shows_nothing_leaves_all_directions_to_the_refinement() -> None:
    """Lists show twelve kinds of people, and everybody likes everything alike."""
    rng = np.random.default_rng(1)
    kinds = rng.integers(0, 12, 3000)
    has = rng.random((3000, 120)) < np.where(kinds[:, None] == np.arange(120) % 12, 0.8, 0.02)
    starts = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    items = np.nonzero(has)[1].astype(np.int32)
    codes = np.full(len(items), 4, np.uint8)
    ratings = Ratings(Scale(1, 5), catalog_of(120), starts, items, codes)
    release = fit(
        ratings, epsilon=4.0, taste_share=0.02, list_share=0.3, randomness=SeededRandomness(3)
    )
    labels = [event.label for event in release.guarantee.events]
    assert labels.index("sketch of tastes") < labels.index("taste sums")
    assert all(np.all(np.isfinite(array)) for array in release.arrays.values())
