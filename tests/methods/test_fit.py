"""The whole fit: budgets are kept, releases say what they are, small data degrades gently."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.errors import BudgetExceeded
from discreet.measure import choose_best, publish_rmse
from discreet.measure.probe_error import ProbeError
from discreet.methods import Cleaning, fit
from discreet.predict import People, Release
from discreet.privacy import FIT_UNITS, Noise, SeededRandomness, Unit
from discreet.privacy.accounting import compose, gaussian_epsilon, mu_of_theta
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, Shape, Split, find_shape, make_ratings, split_random
from measure._neighbours import ratings_of


@pytest.fixture(scope="module")
def split() -> Split:
    return split_random(make_ratings(find_shape("ml-100k").scaled(ratings=60_000), seed=5), 0.1, 1)


def predicted(release: Release, split: Split) -> np.ndarray:
    train, test = split.train, split.test
    people = People(train.starts, train.items, train.values())
    scores = release.predictor().predict_pairs(people, test.user_of_rating(), test.items)
    return np.clip(scores, test.scale.lo, test.scale.hi)


def rmse(release: Release, split: Split) -> float:
    return float(np.sqrt(np.mean((predicted(release, split) - split.test.values()) ** 2)))


def user_mean_rmse(split: Split) -> float:
    train, test = split.train, split.test
    mean = train.values().mean()
    sums = np.bincount(train.user_of_rating(), train.values() - mean, train.user_count)
    level = sums / (np.diff(train.starts) + 5)
    guess = np.clip(mean + level[test.user_of_rating()], test.scale.lo, test.scale.hi)
    return float(np.sqrt(np.mean((guess - test.values()) ** 2)))


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("protect", FIT_UNITS)
def test_the_guarantee_is_the_one_asked_for_and_never_more(
    split: Split, protect: Unit, noise: Noise
) -> None:
    release = fit(split.train, protect=protect, epsilon=2.0, noise=noise, ledger="unbooked")
    promise = release.guarantee
    assert promise.is_private
    assert promise.unit is protect
    assert promise.delta == (1e-6 if noise is Noise.GAUSSIAN else 0.0)
    assert 2.0 * (1 - 1e-6) <= promise.epsilon <= 2.0 * (1 + 1e-9)


def test_theta_says_the_same_budget(split: Split) -> None:
    release = fit(split.train, protect="rating", theta=0.15, delta=1e-6, ledger="unbooked")
    assert mu_of_theta(0.15) == pytest.approx(0.15 * math.hypot(0.02, 0.19, 0.79))
    expected = gaussian_epsilon(mu_of_theta(0.15), 1e-6)
    assert release.guarantee.epsilon == pytest.approx(expected, rel=1e-6)
    with pytest.raises(InputError, match="not both"):
        fit(split.train, theta=0.15, epsilon=1.0, ledger="unbooked")


def test_the_ledger_is_charged_once_and_before_anything_is_drawn(
    split: Split, tmp_path: Path
) -> None:
    path = tmp_path / "a.ledger"
    ledger = Ledger.create(path, "readers", [Limit(Unit.USER, 1.5, 1e-6)])
    fit(split.train, protect="user", epsilon=1.0, ledger=path)
    assert [entry.purpose for entry in ledger.history()] == ["refined release"]
    with pytest.raises(BudgetExceeded):
        fit(split.train, protect="user", epsilon=1.5, ledger=ledger)
    assert len(ledger.history()) == 1
    with pytest.raises(InputError, match="without noise"):
        fit(split.train, epsilon=math.inf, ledger=ledger)


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_more_budget_predicts_better_and_little_never_falls_below_the_user_mean(
    split: Split, protect: Unit
) -> None:
    floor = user_mean_rmse(split)
    errors = [
        rmse(fit(split.train, protect=protect, epsilon=e, randomness=SeededRandomness(3)), split)
        for e in (0.01, 1.0, 30.0)
    ]
    assert errors[0] < floor * 1.01
    assert errors[2] < errors[1] < floor
    assert errors[2] < 0.97 * floor


def test_without_noise_it_says_so_and_predicts_best(split: Split) -> None:
    release = fit(split.train, protect="rating", epsilon=math.inf)
    assert not release.guarantee.is_private
    assert "no noise" in str(release.guarantee)
    private = fit(split.train, protect="rating", epsilon=1.0, randomness=SeededRandomness(1))
    assert rmse(release, split) < rmse(private, split)
    assert "seed" in str(private.guarantee)


@pytest.mark.parametrize("clean", Cleaning)
def test_every_cleaning_makes_a_release_that_predicts(split: Split, clean: Cleaning) -> None:
    release = fit(
        split.train,
        method="covariance",
        protect="rating",
        epsilon=20.0,
        clean=clean,
        randomness=SeededRandomness(1),
    )
    assert release.arrays["factors"].shape[1] > 0
    assert rmse(release, split) < 1.05 * user_mean_rmse(split)


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_dense_releases_carry_the_matrices_for_neighbours(split: Split, protect: Unit) -> None:
    release = fit(
        split.train, method="covariance", protect=protect, epsilon=math.inf, dense=True, head=300
    )
    assert len(release.arrays["head"]) == 300
    assert len(release.arrays["weights"]) == 300 * 301 // 2
    people = People(split.train.starts, split.train.items, split.train.values())
    rows, items = split.test.user_of_rating(), split.test.items
    scores = release.predictor("knn").predict_pairs(people, rows, items)
    error = np.sqrt(np.mean((np.clip(scores, 1, 5) - split.test.values()) ** 2))
    assert error < user_mean_rmse(split)


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize(
    "scale", [Scale(0.5, 5, 0.5), Scale(-10, 10, None), Scale(0, 10), Scale(0, 1)], ids=str
)
def test_any_scale(scale: Scale, protect: Unit) -> None:
    ratings = make_ratings(Shape(users=300, items=80, ratings=6_000, scale=scale), seed=1)
    release = fit(ratings, protect=protect, epsilon=5.0, ledger="unbooked")
    levels = release.parameters["global_mean"] + release.arrays["item_effects"]
    assert np.all(levels >= scale.lo - 1e-4)
    assert np.all(levels <= scale.hi + 1e-4)


def tiny(items: int, histories: list[list[int]]) -> Ratings:
    starts = np.cumsum([0, *map(len, histories)]).astype(np.int64)
    flat = np.array([i for h in histories for i in h], dtype=np.int32)
    codes = (flat % 5).astype(np.uint8)
    return Ratings(Scale(1, 5), Catalog(map(str, range(items))), starts, flat, codes)


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize(
    "ratings",
    [
        tiny(2, []),
        tiny(2, [[], []]),
        tiny(2, [[0]]),
        tiny(3, [[0, 1, 2]] * 4),
        tiny(60, [list(range(60))]),
        tiny(5000, [[1, 7], [7]]),
    ],
    ids=["nobody", "nothing", "one rating", "everything", "one user", "large catalogue"],
)
def test_small_and_odd_data(ratings: Ratings, protect: Unit, noise: Noise) -> None:
    for epsilon in (0.05, 50.0):
        release = fit(ratings, protect=protect, noise=noise, epsilon=epsilon, ledger="unbooked")
        for array in release.arrays.values():
            assert np.all(np.isfinite(array.astype(np.float64)))


def test_one_item_is_not_enough() -> None:
    with pytest.raises(InputError, match="two items"):
        fit(tiny(1, [[0]]), ledger="unbooked")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_bad_budgets_are_refused(split: Split, epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        fit(split.train, epsilon=epsilon, ledger="unbooked")


def test_what_is_no_number_and_no_ratings_is_said(split: Split) -> None:
    with pytest.raises(InputError, match="epsilon is a number"):
        fit(split.train, epsilon="one", ledger="unbooked")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="as read_ratings returns them, not a str"):
        fit("ratings.csv", ledger="unbooked")  # type: ignore[arg-type]


def test_gaussian_noise_needs_a_delta(split: Split) -> None:
    with pytest.raises(InputError, match="delta"):
        fit(split.train, epsilon=1.0, delta=0.0, ledger="unbooked")


def test_a_private_choice_finds_the_better_parameters_and_is_booked(
    split: Split, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 60.0, 1e-6)])
    candidates = [
        predicted(fit(split.train, protect="rating", epsilon=math.inf, rank=rank), split)
        for rank in (0, 10)
    ]
    candidates.append(np.full(len(split.test), 1.0))
    best, promise = choose_best(
        split.test, candidates, protect=Unit.USER, epsilon=50.0, ledger=ledger
    )
    assert best in (0, 1)  # never the constant
    assert promise.epsilon == pytest.approx(50.0)
    assert ledger.history()[0].events == promise.events


def test_a_published_rmse_is_near_the_true_one_and_booked(split: Split) -> None:
    guess = predicted(fit(split.train, protect="rating", epsilon=math.inf), split)
    shown, promise = publish_rmse(
        split.test, guess, protect=Unit.USER, epsilon=20.0, ledger="unbooked"
    )
    users = split.test.user_of_rating()
    errors = (guess - split.test.values()) ** 2
    counts = np.bincount(users, minlength=split.test.user_count)
    means = np.bincount(users, errors, split.test.user_count)[counts > 0] / counts[counts > 0]
    assert shown == pytest.approx(float(np.sqrt(means.mean())), abs=0.05)
    assert promise.epsilon <= 20.0 * (1 + 1e-9)


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize("rank", [0, 5])
def test_a_fit_spends_its_whole_budget_whatever_it_finds(
    split: Split, protect: Unit, rank: int
) -> None:
    for seed in range(3):
        release = fit(
            split.train, protect=protect, epsilon=8.0, rank=rank, randomness=SeededRandomness(seed)
        )
        spent = compose(release.guarantee.events).epsilon(1e-6)
        assert 8.0 * (1 - 1e-6) <= spent <= 8.0 * (1 + 1e-9)


@pytest.mark.parametrize("clean", Cleaning)
def test_words_and_members_mean_the_same(split: Split, clean: Cleaning) -> None:
    named, meant = (
        fit(
            split.train,
            method="covariance",
            protect="rating",
            epsilon=5.0,
            clean=word,
            randomness=SeededRandomness(1),
        )
        for word in (clean.value, clean)
    )
    assert np.array_equal(named.arrays["factors"], meant.arrays["factors"])


@pytest.mark.parametrize(
    "settings",
    [{"effect_share": 0.9}, {"level_share": -0.1}, {"level_share": 0.75},
     {"offset": -1.0}, {"fictitious": 0}, {"clamp": -1.0}, {"rank": -1},
     {"taste_share": 0.8}, {"refine_share": 1.1}, {"reach": 0.0}, {"list_rank": -1},
     {"list_share": 0.8}, {"effect_share": 0.6, "list_share": 0.4},
     {"method": "lists", "count_share": 0.0}, {"recency": "never"},
     {"head": 1}, {"clean": "auto"},
     {"method": "covariance", "weight_share": 0.0}, {"method": "best"},
     {"features": np.zeros((3, 2))}, {"method": "covariance", "features": np.zeros((3, 2))}],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_are_refused_before_the_charge(
    split: Split, settings: dict[str, Any], tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 2.0, 1e-6)])
    with pytest.raises(InputError):
        fit(split.train, protect="user", epsilon=1.0, ledger=ledger, **settings)
    with pytest.raises(InputError, match="delta"):
        fit(split.train, protect="user", theta=0.1, delta=0.0, ledger=ledger)
    assert ledger.history() == []


def test_a_failure_after_the_charge_says_that_it_was_charged(split: Split, tmp_path: Path) -> None:
    """As on a cluster, whose rows are looked at only once they are paid for."""

    def fails(*_: object) -> None:
        raise InputError("the rating is not on the scale", path="ratings.csv", line=7)

    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 50.0, 1e-6)])
    told: dict[str, Any] = {
        "protect": "user",
        "method": "covariance",
        "epsilon": 40.0,
        "progress": fails,
    }
    with pytest.raises(InputError) as caught:
        fit(split.train, ledger=ledger, **told)
    assert str(caught.value) == (
        "ratings.csv, line 7: the rating is not on the scale; the ledger was charged anyway"
    )
    assert len(ledger.history()) == 1
    with pytest.raises(InputError, match=r"on the scale$"):
        fit(split.train, **told, ledger="unbooked")


def test_a_prediction_that_is_no_number_moves_the_probe_error_no_further(split: Split) -> None:
    statistic = ProbeError(split.test.scale)
    sane = np.full(len(split.test), 3.0)
    for odd in (np.nan, np.inf, -np.inf, 1e300):
        broken = sane.copy()
        first = slice(int(split.test.starts[0]), int(split.test.starts[1]))
        broken[first] = odd
        moved = statistic.measure(split.test, broken) - statistic.measure(split.test, sane)
        assert abs(moved) <= statistic.sensitivity


def test_no_user_and_no_rating_moves_the_probe_error_further_than_stated() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        histories = [sorted(random.choice(6, random.integers(0, 6), False)) for _ in range(4)]
        full = tiny(6, histories)
        statistic = ProbeError(full.scale)
        guess = random.choice([1.0, 5.0], len(full))
        without = full.select_users(0, 3)
        gone = statistic.measure(full, guess) - statistic.measure(without, guess[: len(without)])
        assert 0 <= gone <= statistic.sensitivity
        if len(full):
            keep = np.arange(len(full)) != random.integers(len(full))
            fewer = statistic.measure(full.where(keep), guess[keep])
            assert abs(fewer - statistic.measure(full, guess)) <= statistic.sensitivity


@pytest.mark.parametrize("scale", [Scale(0, 1e-3, None), Scale(0, 1e4, None)])
def test_scales_too_fine_or_too_wide_are_refused_before_the_charge(
    scale: Scale, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 2.0, 1e-6)])
    with pytest.raises(InputError, match="another unit"):
        fit(ratings_of([{0: 0.0}], 3, scale), ledger=ledger)
    assert ledger.history() == []


def test_a_seed_is_answered_with_what_would_be_right(split: Split) -> None:
    with pytest.raises(InputError, match=r"randomness=discreet.SeededRandomness\(seed\)"):
        fit(split.train, epsilon=1.0, seed=3, ledger="unbooked")
    seeded = fit(split.train, epsilon=1.0, randomness=SeededRandomness(3))
    assert not seeded.guarantee.is_private
