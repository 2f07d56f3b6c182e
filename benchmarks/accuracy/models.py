"""What is compared: each model by its name, how it is fitted and judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.accuracy.rivals import (
    implicit_als,
    input_perturbation,
    noisy_sgd,
    private_als,
    surprise_models,
)

from discreet.domain import InputError
from discreet.evaluate import Judge, global_mean, item_mean, rmse, user_mean
from discreet.methods import fit
from discreet.privacy import SeededRandomness, Unit
from discreet.ratings import Split
from papers.trusted_curator.preset import fit_paper

BOTH = (Unit.RATING, Unit.USER)


@dataclass(frozen=True)
class Asked:
    """A budget and a draw of the noise; and public item features, if there are any."""

    split: Split
    unit: Unit
    epsilon: float
    delta: float
    seed: int
    features: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Score:
    """How good one fit is; None where a model has no ratings or no lists to be judged by."""

    rmse: float | None
    ndcg_at_10: float | None = None


@dataclass(frozen=True)
class Kind:
    """A model.

    Attributes:
        score: Fit and judge.
        units: Whom it can protect; nobody if it is not private, and then it is fitted once.
        check: Raises `MissingPart` where something is not installed.
        slow: Or in need of more than ratings: left out unless it is asked for by name.
    """

    score: Callable[[Asked], Score]
    units: tuple[Unit, ...] = BOTH
    check: Callable[[], None] = lambda: None
    slow: bool = False


def ours(asked: Asked, method: str) -> Score:
    """The method under test."""
    return _lists_and_ratings(
        asked.split,
        fit(
            asked.split.train,
            protect=asked.unit,
            epsilon=asked.epsilon,
            delta=asked.delta,
            method=method,
            randomness=SeededRandomness(asked.seed),
        ).predictor(),
    )


def _with_features(asked: Asked) -> Score:
    if asked.features is None:
        raise InputError("discreet-features needs --features FILE")
    release = fit(
        asked.split.train,
        protect=asked.unit,
        epsilon=asked.epsilon,
        delta=asked.delta,
        features=asked.features,
        randomness=SeededRandomness(asked.seed),
    )
    return _lists_and_ratings(asked.split, release.predictor())


def _without_noise(asked: Asked) -> Score:
    release = fit(asked.split.train, protect=Unit.RATING, epsilon=float("inf"))
    return _lists_and_ratings(asked.split, release.predictor())


def _paper(asked: Asked) -> Score:
    return _lists_and_ratings(
        asked.split,
        fit_paper(
            asked.split.train,
            protect=asked.unit,
            epsilon=asked.epsilon,
            delta=asked.delta,
            randomness=SeededRandomness(asked.seed),
        ).predictor(),
    )


def _rival(asked: Asked, predict: Callable[..., npt.NDArray[np.float64]]) -> Score:
    """Ratings cut to the scale, as those of all models are."""
    predicted = predict(asked.split, asked.unit, asked.epsilon, asked.delta, asked.seed)
    scale, test = asked.split.test.scale, asked.split.test
    return Score(rmse(np.clip(predicted, scale.lo, scale.hi), test.values()))


def _baseline(asked: Asked, make: Callable[..., Any]) -> Score:
    return _lists_and_ratings(asked.split, make(asked.split.train))


def _implicit(asked: Asked) -> Score:
    return _lists_and_ratings(asked.split, implicit_als.fit(asked.split, asked.seed))


def _lists_and_ratings(split: Split, scorer: Any) -> Score:
    quality = Judge(split).judge(scorer)
    return Score(quality.rmse, quality.ndcg_at_10)


def _public(score: Callable[[Asked], Score], **options: Any) -> Kind:
    return Kind(score, units=(), **options)


_adaptive = partial(private_als.predict, adaptive=True)
_svd_plus_plus = partial(surprise_models.predict, implicit_too=True)

MODELS: dict[str, Kind] = {
    "discreet": Kind(partial(ours, method="refined")),
    "discreet-features": Kind(_with_features, slow=True),
    "discreet-covariance": Kind(partial(ours, method="covariance")),
    "discreet-slope-one": Kind(partial(ours, method="slope-one"), slow=True),
    "discreet-cosine": Kind(partial(ours, method="cosine"), slow=True),
    "paper": Kind(_paper),
    "private-als": Kind(partial(_rival, predict=private_als.predict)),
    "private-als-adaptive": Kind(partial(_rival, predict=_adaptive), units=(Unit.USER,)),
    "noisy-sgd": Kind(partial(_rival, predict=noisy_sgd.predict)),
    "input-noise": Kind(partial(_rival, predict=input_perturbation.predict), units=(Unit.RATING,)),
    "discreet-no-noise": _public(_without_noise),
    "surprise-svd": _public(
        partial(_rival, predict=surprise_models.predict), check=surprise_models.check_installed
    ),
    "surprise-svdpp": _public(
        partial(_rival, predict=_svd_plus_plus), check=surprise_models.check_installed, slow=True
    ),
    "implicit-als": _public(_implicit, check=implicit_als.check_installed),
    "item-mean": _public(partial(_baseline, make=item_mean)),
    "user-mean": _public(partial(_baseline, make=user_mean)),
    "global-mean": _public(partial(_baseline, make=global_mean)),
}
