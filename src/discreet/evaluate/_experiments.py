"""Experiments: one split, several models and budgets, several draws of the noise."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from discreet.domain import InputError
from discreet.evaluate._baselines import (
    global_mean,
    item_mean,
    popularity,
    recent_popularity,
    user_mean,
)
from discreet.evaluate._judge import FEW_RATINGS, Judge, Quality
from discreet.evaluate._metrics import Scorer
from discreet.predict import Order
from discreet.privacy import GaussianNoise, SeededRandomness, Unit
from discreet.ratings import Ratings, Split
from discreet.release import Release

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""


@dataclass(frozen=True)
class Row:
    """The quality of one model under one budget, averaged over draws of the noise.

    Attributes:
        model: One of `MODELS`.
        protect: Whom it protects; None if it is not private.
        epsilon: Of the guarantee that a release with this much noise has; None if not private.
        delta: Likewise.
        predictor: Which predictor was judged; None for baselines.
        draws: How many draws of the noise the figures are averages of.
        people: How many people were judged by.
        rmse: See `Quality`, as all figures below; None without predicted ratings.
        rmse_sd: The standard deviation of the RMSE over draws; 0 for a single one.
        mae: None without predicted ratings.
        ndcg_at_10: Of lists of ten.
        ndcg_sd: Its standard deviation over draws; 0 for a single one.
        ndcg_at_100: Of lists of a hundred.
        recall_at_20: Of lists of twenty.
        mrr: The mean reciprocal rank.
        hit_rate_at_10: Of lists of ten.
        coverage: The share of the catalogue that is in anybody's list of ten.
        novelty: Of lists of ten, in bits.
        few: The same figures for people with few training ratings; None if there are none.
        seconds: To fit and to judge, for one draw.
    """

    model: str
    protect: str | None
    epsilon: float | None
    delta: float | None
    predictor: str | None
    draws: int
    people: int
    rmse: float | None
    rmse_sd: float | None
    mae: float | None
    ndcg_at_10: float
    ndcg_sd: float
    ndcg_at_100: float
    recall_at_20: float
    mrr: float
    hit_rate_at_10: float
    coverage: float
    novelty: float
    few: Quality | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Plain data, without the figures of predicted ratings where there are none."""
        plain = asdict(self)
        _drop_absent(plain, ("rmse", "rmse_sd", "mae"))
        if self.few is not None:
            _drop_absent(plain["few"], ("rmse", "mae", "few"))
        return plain


def _drop_absent(plain: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if plain[name] is None:
            del plain[name]


_BASELINES: dict[str, Callable[[Ratings], Scorer]] = {
    "global-mean": global_mean,
    "item-mean": item_mean,
    "user-mean": user_mean,
    "popularity": popularity,
    "recent-popularity": recent_popularity,
}
MODELS = ("private", "non-private", *_BASELINES)
"""The models that can be judged: `fit`, `fit` without noise, and baselines."""
_PRESENCE_MODELS = ("private", "non-private", "popularity", "recent-popularity")
"""Those that work on interactions, which have no ratings."""
_TIMED_MODELS = ("recent-popularity",)
"""Those that need times."""


def evaluate(
    split: Split,
    *,
    protect: Unit | str = Unit.USER,
    epsilons: Sequence[float] = (1.0,),
    delta: float = GaussianNoise.default_delta,
    noise: str = "gaussian",
    draws: int = 3,
    predictors: Sequence[str | None] = (None,),
    models: Sequence[str] | None = None,
    seed: int | str | None = None,
    people: int | None = None,
    order: Order = "best",
    few: int = FEW_RATINGS,
    progress: Progress | None = None,
    **options: Any,
) -> list[Row]:
    """Fit models on a split's train part and judge them by its test part.

    It reads private ratings without paying: the rows are for the curator's eyes only.

    Args:
        split: Training and test ratings.
        protect: Whom the model `private` protects.
        epsilons: Its budgets, a row for each.
        delta: Of each budget.
        noise: Of the model `private`: `gaussian`, or `laplace` (whose delta is 0).
        draws: How many times the model `private` draws its noise.
        predictors: A row for each; None is the method's own.
        models: Of `MODELS`; by default all that these ratings allow. `private` is `fit`,
            `non-private` is `fit` without noise; the others are baselines.
        seed: Makes the noise repeatable; None draws it from the operating system.
        people: Evaluate on at most this many people, chosen at random.
        order: What lists are ordered by, as `recommend` has it: see `Predictor`.
        few: People with at most this many training ratings are also judged apart.
        progress: Called with a stage's name, how much of it is done and how much there is.
        options: Other options of `fit`, for `private` and `non-private`.

    Raises:
        InputError: An argument or the ratings cannot be used.
    """
    if models is None:
        models = _applicable(split.train)
    _check(split, epsilons, draws, predictors, models)
    experiment = _Experiment(
        split, Judge(split, people=people, few=few), Unit(protect), delta, noise,
        tuple(predictors), seed, order, options, progress,
    )  # fmt: skip
    trials: list[tuple[str, float | None, int]] = []
    for name in models:
        budgets = [(e, draws) for e in epsilons] if name == "private" else [(None, 1)]
        trials += [(name, epsilon, count) for epsilon, count in budgets]
    total, done = sum(count for *_, count in trials), 0
    rows: list[Row] = []
    for name, epsilon, count in trials:
        if progress:
            progress("experiments", done, total)
        rows += experiment.rows(name, epsilon, count)
        done += count
    if progress:
        progress("experiments", done, total)
    return rows


def _applicable(train: Ratings) -> list[str]:
    """The models that these ratings allow."""
    models = _PRESENCE_MODELS if train.scale.presence else MODELS
    return [name for name in models if train.times is not None or name not in _TIMED_MODELS]


def _check(
    split: Split,
    epsilons: Sequence[float],
    draws: int,
    predictors: Sequence[str | None],
    models: Sequence[str],
) -> None:
    for name in models:
        if name not in MODELS:
            raise InputError(f"unknown model '{name}'; choose from {', '.join(MODELS)}")
    if not models:
        raise InputError(f"choose at least one model of {', '.join(MODELS)}")
    if draws < 1:
        raise InputError(f"an experiment needs at least 1 draw of the noise, not {draws}")
    if not predictors:
        raise InputError("choose at least one predictor, like posterior")
    if split.train.scale.presence:
        wrong = [name for name in models if name not in _PRESENCE_MODELS]
        if wrong:
            raise InputError(f"{', '.join(wrong)}: needs ratings; these are interactions")
    if split.train.times is None:
        wrong = [name for name in models if name in _TIMED_MODELS]
        if wrong:
            raise InputError(f"{', '.join(wrong)}: goes by time, and these ratings have none")
    for epsilon in epsilons:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise InputError(
                f"epsilon must be a positive number, not {epsilon:g}; model non-private has none"
            )


@dataclass(frozen=True)
class _Experiment:
    """What all rows share. See `evaluate`."""

    split: Split
    judge: Judge
    protect: Unit
    delta: float
    noise: str
    predictors: tuple[str | None, ...]
    seed: int | str | None
    order: Order
    options: dict[str, Any]
    progress: Progress | None

    def rows(self, model: str, epsilon: float | None, draws: int) -> list[Row]:
        """A row for each predictor; all of them are judged on the same releases."""
        names = (None,) if model in _BASELINES else self.predictors
        judged: dict[str | None, list[tuple[Quality, float]]] = {name: [] for name in names}
        used: dict[str | None, str] = {}
        # The seed of a draw does not depend on the budget, so that budgets are compared on one
        # noise, larger or smaller.
        for draw in range(draws):
            began = time.perf_counter()
            # One release serves all predictors: differences between them are not those of the
            # noise.
            made = self._make(model, epsilon, draw)
            fitting = time.perf_counter() - began
            for name in names:
                began = time.perf_counter()
                scorer: Any = made
                if isinstance(made, Release):
                    scorer = made.predictor(name, order=self.order)
                    used[name] = scorer.name
                quality = self.judge.judge(scorer, progress=self._judging())
                judged[name].append((quality, fitting + time.perf_counter() - began))
        return [self._row(model, epsilon, used.get(name), judged[name]) for name in names]

    def _make(self, model: str, epsilon: float | None, draw: int) -> Release | Scorer:
        if model in _BASELINES:
            return _BASELINES[model](self.split.train)
        # Imported here: the methods are heavy, and baselines do without them.
        from discreet.methods import fit

        return fit(
            self.split.train,
            protect=self.protect,
            epsilon=math.inf if epsilon is None else epsilon,
            delta=self._delta,
            noise=self.noise,
            ledger="unbooked",  # nothing of it is published
            randomness=None if self.seed is None else SeededRandomness(f"{self.seed} {draw}"),
            progress=self.progress,
            **self.options,
        )

    @property
    def _delta(self) -> float:
        return self.delta if self.noise == "gaussian" else 0.0

    def _judging(self) -> Callable[[int, int], None] | None:
        progress = self.progress
        return None if progress is None else lambda done, total: progress("judging", done, total)

    def _row(
        self,
        model: str,
        epsilon: float | None,
        predictor: str | None,
        results: list[tuple[Quality, float]],
    ) -> Row:
        qualities = [quality for quality, _ in results]
        mean = _mean_quality(qualities)
        errors = [quality.rmse for quality in qualities if quality.rmse is not None]
        return Row(
            model=model,
            protect=None if epsilon is None else str(self.protect),
            epsilon=epsilon,
            delta=None if epsilon is None else self._delta,
            predictor=predictor,
            draws=len(results),
            rmse_sd=_spread(errors) if errors else None,
            ndcg_sd=_spread([quality.ndcg_at_10 for quality in qualities]),
            seconds=statistics.fmean(seconds for _, seconds in results),
            **vars(mean),
        )


def _spread(draws: list[float]) -> float:
    return statistics.stdev(draws) if len(draws) > 1 else 0.0


def _mean_quality(qualities: list[Quality]) -> Quality:
    """The mean of every figure over draws, which share their people and what they lack."""
    few = [quality.few for quality in qualities if quality.few is not None]
    figures: dict[str, Any] = {"few": _mean_quality(few) if few else None}
    for name in (each.name for each in fields(Quality) if each.name not in ("few", "people")):
        values = [getattr(quality, name) for quality in qualities]
        figures[name] = None if values[0] is None else statistics.fmean(values)
    return Quality(people=qualities[0].people, **figures)
