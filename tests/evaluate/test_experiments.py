"""Experiments: which fits are made, and how draws become rows."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, InputError
from discreet.evaluate import Judge, Row, evaluate, global_mean
from discreet.privacy import Unit
from discreet.ratings import Split, find_shape, split_random
from discreet.ratings import make_ratings as make_up
from discreet.release import Release
from evaluate._making import make_ratings, make_split
from release._making import make_release

TRAIN = [{0: 5, 1: 2}, {0: 4, 1: 1}]
TEST = [{2: 4}, {3: 2}]


class Fits:
    """Stands for `fit`: remembers how it was called; its releases expect 3 + the draw's number."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, ratings: Any, **told: Any) -> Any:
        self.calls.append(told)
        draw = sum(call["epsilon"] == told["epsilon"] for call in self.calls) - 1
        return make_release(
            np.zeros((4, 1)), global_mean=3.0 + draw, user_variance=0.0, rating_variance=1.0
        )


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Fits:
    fits = Fits()
    monkeypatch.setattr("discreet.methods.fit", fits)
    return fits


@pytest.fixture
def split() -> Split:
    return make_split(TRAIN, TEST, 4)


def test_draws_become_a_mean_and_a_standard_deviation(fits: Fits, split: Split) -> None:
    (row,) = evaluate(split, models=["private"], draws=3, epsilons=[1])
    # Expected are 3, 4 and 5 where 4 and 2 were rated.
    errors = [math.sqrt((1 + 1) / 2), math.sqrt((0 + 4) / 2), math.sqrt((1 + 9) / 2)]
    assert row.rmse == pytest.approx(statistics.mean(errors))
    assert row.rmse_sd == pytest.approx(statistics.stdev(errors))
    assert row.mae == pytest.approx((1 + 1 + 2) / 3)
    assert (row.draws, len(fits.calls)) == (3, 3)


def test_a_single_draw_has_no_spread(fits: Fits, split: Split) -> None:
    (row,) = evaluate(split, models=["private"], draws=1)
    assert row.rmse_sd == 0.0


def test_budgets_and_settings_reach_the_fit(fits: Fits, split: Split) -> None:
    rows = evaluate(
        split, models=["private"], protect="rating", epsilons=[0.5, 4], delta=1e-7, draws=1, rank=3
    )
    assert [(row.protect, row.epsilon, row.delta) for row in rows] == [
        ("rating", 0.5, 1e-7),
        ("rating", 4, 1e-7),
    ]
    for call, epsilon in zip(fits.calls, (0.5, 4), strict=True):
        assert (call["protect"], call["epsilon"], call["delta"]) == (Unit.RATING, epsilon, 1e-7)
        assert (call["noise"], call["rank"], call["randomness"]) == ("gaussian", 3, None)


def test_laplace_noise_has_delta_0(fits: Fits, split: Split) -> None:
    (row,) = evaluate(split, models=["private"], noise="laplace", draws=1)
    assert (row.delta, fits.calls[0]["delta"], fits.calls[0]["noise"]) == (0.0, 0.0, "laplace")


def test_a_seed_makes_each_draw_its_own_repeatable_noise(fits: Fits, split: Split) -> None:
    for _ in range(2):
        evaluate(split, models=["private"], draws=2, seed=7)
    first, second, again, _ = (call["randomness"].bits(64) for call in fits.calls)
    assert first == again != second
    assert not any(call["randomness"].is_private for call in fits.calls)


def test_non_private_is_the_fit_without_noise(fits: Fits, split: Split) -> None:
    (row,) = evaluate(split, models=["non-private"], draws=5)
    assert [call["epsilon"] for call in fits.calls] == [math.inf]
    assert (row.protect, row.epsilon, row.delta, row.draws) == (None, None, None, 1)
    assert row.predictor == "svd"


def test_every_predictor_judges_the_same_releases(fits: Fits, split: Split) -> None:
    rows = evaluate(split, models=["private"], predictors=["svd", "knn"], draws=2)
    assert [row.predictor for row in rows] == ["svd", "knn"]
    assert len(fits.calls) == 2


def test_baselines_are_judged_like_models(split: Split) -> None:
    (row,) = evaluate(split, models=["global-mean"])
    quality = Judge(split).judge(global_mean(split.train))
    assert (row.rmse, row.mae) == (quality.rmse, quality.mae)
    for name in vars(quality):
        assert getattr(row, name) == getattr(quality, name)
    assert (row.model, row.predictor, row.epsilon) == ("global-mean", None, None)


def test_draws_are_averaged_for_people_with_few_ratings_too(fits: Fits, split: Split) -> None:
    (row,) = evaluate(split, models=["private"], draws=3)
    assert row.few is not None
    assert (row.few.rmse, row.few.mrr) == (pytest.approx(row.rmse), pytest.approx(row.mrr))
    assert (row.few.people, row.people) == (2, 2)
    (row,) = evaluate(split, models=["private"], draws=1, few=1)
    assert row.few is None


def test_the_order_of_lists_reaches_the_predictor(
    fits: Fits, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    plain = Release.predictor

    def predictor(release: Release, name: str | None = None, **options: Any) -> Any:
        asked.append(options)
        return plain(release, name, **options)

    monkeypatch.setattr(Release, "predictor", predictor)
    evaluate(split, models=["private"], draws=1)
    evaluate(split, models=["private"], draws=1, order="expected")
    assert asked == [{"order": "best"}, {"order": "expected"}]


def test_the_latest_is_popular_only_where_there_are_times(fits: Fits, split: Split) -> None:
    train, test = (
        replace(part, times=part.starts[part.items * 0].astype(np.uint32))
        for part in (split.train, split.test)
    )
    timed = Split(train, test)
    names = {row.model for row in evaluate(split, draws=1)}
    assert {row.model for row in evaluate(timed, draws=1)} == names | {"recent-popularity"}
    assert "recent-popularity" not in names
    with pytest.raises(InputError, match="recent-popularity: goes by time"):
        evaluate(split, models=["recent-popularity"])


def test_interactions_have_no_errors_in_json() -> None:
    train, test = (make_ratings(rows, 3, PRESENCE) for rows in ([{0: 1}, {1: 1}], [{1: 1}, {2: 1}]))
    (row,) = evaluate(Split(train, test), models=["popularity"])
    assert (row.rmse, row.rmse_sd, row.mae) == (None, None, None)
    plain = row.as_json()
    assert not {"rmse", "rmse_sd", "mae"} & plain.keys()
    assert not {"rmse", "mae", "few"} & plain["few"].keys()
    assert plain["few"]["ndcg_at_10"] == row.ndcg_at_10


def test_progress_ends_with_everything_done(fits: Fits, split: Split) -> None:
    told: list[tuple[str, int, int]] = []
    evaluate(
        split,
        models=["private", "item-mean"],
        draws=2,
        progress=lambda *stage: told.append(stage),
    )
    experiments = [stage[1:] for stage in told if stage[0] == "experiments"]
    assert experiments == [(0, 3), (2, 3), (3, 3)]
    assert ("judging", 2, 2) in told


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"models": ["best"]}, "unknown model 'best'"),
        ({"models": []}, "at least one model"),
        ({"draws": 0}, "at least 1 draw"),
        ({"predictors": []}, "at least one predictor"),
        ({"epsilons": [0]}, "positive number, not 0"),
        ({"epsilons": [math.inf]}, "positive number, not inf"),
        ({"epsilons": [math.nan]}, "positive number, not nan"),
        ({"predictors": ["guess"], "models": ["private"]}, "'guess' is not a predictor"),
    ],
)
def test_wrong_arguments_are_refused(
    fits: Fits, split: Split, told: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        evaluate(split, **told)


def test_a_real_experiment_ranks_models_as_it_should() -> None:
    ratings = make_up(find_shape("ml-100k").scaled(ratings=10_000), seed=1)
    split = split_random(ratings, 0.1, 1)
    rows = evaluate(split, protect="rating", epsilons=[0.01, 8], draws=2, seed=1, people=100)
    by_name: dict[tuple[str, float | None], Row] = {(row.model, row.epsilon): row for row in rows}
    assert by_name["private", 8].rmse < by_name["private", 0.01].rmse
    assert by_name["private", 8].rmse < by_name["global-mean", None].rmse
    assert by_name["non-private", None].rmse < by_name["global-mean", None].rmse
    assert by_name["popularity", None].ndcg_at_10 > by_name["global-mean", None].ndcg_at_10
    assert all(row.seconds >= 0 for row in rows)
