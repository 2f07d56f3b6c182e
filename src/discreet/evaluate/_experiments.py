"""Experiments: one split, several models and budgets, several draws of the noise."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.domain import InputError
from discreet.evaluate._baselines import global_mean, item_mean, popularity, user_mean
from discreet.evaluate._judge import Judge, Quality
from discreet.evaluate._metrics import Scorer
from discreet.privacy import Randomness, SeededRandomness, Unit
from discreet.ratings import Ratings, Split
from discreet.release import Release

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

_OF_RATINGS = ("rmse", "rmse_sd", "mae")


@dataclass(frozen=True)
class Row:
    """One model under one budget, judged: the means over draws of the noise.

    Attributes:
        model: One of `MODELS`.
        protect: Whom it protects; None if it protects nobody.
        epsilon: Of the guarantee that a release with this much noise has.
        delta: Likewise.
        predictor: What made predictions from the release; None for baselines.
        draws: How many draws of the noise the figures are the means of.
        rmse: See `Quality`; None of presence alone, where nothing is rated.
        rmse_sd: The standard deviation of the RMSE over draws; 0 for a single one.
        mae: See `Quality`; None of presence alone.
        ndcg_at_10: See `Quality`.
        ndcg_sd: Its standard deviation over draws; 0 for a single one.
        recall_at_20: See `Quality`.
        seconds: To fit and to judge, for one draw.
    """

    model: str
    protect: str | None
    epsilon: float | None
    delta: float | None
    predictor: str | None
    draws: int
    rmse: float | None
    rmse_sd: float | None
    mae: float | None
    ndcg_at_10: float
    ndcg_sd: float
    recall_at_20: float
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Plain data; of presence alone, without what it has no figures for."""
        plain = asdict(self)
        if self.rmse is None:
            for name in _OF_RATINGS:
                del plain[name]
        return plain


@dataclass(frozen=True)
class _Plan:
    """What an experiment was told."""

    split: Split
    protect: Unit
    epsilons: tuple[float, ...]
    delta: float
    noise: str
    draws: int
    predictors: tuple[str | None, ...]
    seed: int | str | None
    popularity: float
    options: dict[str, Any]
    progress: Progress | None

    def randomness(self, draw: int) -> Randomness | None:
        """Repeatable noise if a seed was told, otherwise that of the operating system."""
        return None if self.seed is None else SeededRandomness(f"{self.seed} {draw}")


@dataclass(frozen=True)
class _Trial:
    """What makes a row: a model under a budget, and how to make what is judged, draw by draw."""

    model: str
    epsilon: float | None
    draws: int
    predictors: tuple[str | None, ...]
    make: Callable[[int], Any]


_BASELINES: dict[str, Callable[[Ratings], Scorer]] = {
    "global-mean": global_mean,
    "item-mean": item_mean,
    "user-mean": user_mean,
    "popularity": popularity,
}


def _fit_ours(plan: _Plan, epsilon: float, draw: int) -> Release:
    from discreet.methods import fit

    return fit(
        plan.split.train,
        protect=plan.protect,
        epsilon=epsilon,
        delta=plan.delta if plan.noise == "gaussian" else 0.0,
        noise=plan.noise,
        ledger="unbooked",  # for the curator's eyes: nothing of it is published
        randomness=plan.randomness(draw),
        progress=plan.progress,
        **plan.options,
    )


_PRIVATE: dict[str, Callable[[_Plan, float, int], Release]] = {
    "private": _fit_ours,
}
_NOT_PRIVATE: dict[str, Callable[[_Plan, float, int], Release]] = {"non-private": _fit_ours}

MODELS = (*_PRIVATE, *_NOT_PRIVATE, *_BASELINES)
"""The models that can be judged."""
_PRESENCE_MODELS = ("private", "non-private", "popularity")
"""Those that presence alone is enough for."""


def evaluate(
    split: Split,
    *,
    protect: Unit | str = Unit.USER,
    epsilons: Sequence[float] = (1.0,),
    delta: float = 1e-6,
    noise: str = "gaussian",
    draws: int = 3,
    predictors: Sequence[str | None] = (None,),
    models: Sequence[str] | None = None,
    seed: int | str | None = None,
    people: int | None = None,
    popularity: float = 0.0,
    progress: Progress | None = None,
    **options: Any,
) -> list[Row]:
    """Fit models on a split's train part and judge them by its test part.

    It looks at private ratings without paying: the rows are for the curator's eyes only.

    Args:
        split: Training and test ratings.
        protect: Whom the private models protect.
        epsilons: Their budgets; each a row for every private model.
        delta: Of each budget.
        noise: Of the model `private`: `gaussian`, or `laplace` (whose delta is 0).
        draws: How many times private models draw their noise.
        predictors: A row for each; None is the method's own.
        models: Of `MODELS`; all that make sense if absent. `private` is `fit`, `paper` McSherry
            and Mironov's method at the same epsilon, `non-private` is `fit` without noise; the
            others are baselines.
        seed: Makes the noise repeatable; None draws it from the operating system.
        people: Judge by at most so many people, chosen at random.
        progress: Called with a stage's name, how much of it is done and how much there is.
        popularity: How much being popular counts in lists: see `Predictor`.
        options: What `fit` takes besides, for `private` and `non-private`.

    Raises:
        InputError: An argument or the ratings cannot be used.
    """
    plan = _Plan(
        split, Unit(protect), tuple(epsilons), delta, noise, draws, tuple(predictors), seed,
        popularity, options, progress,
    )  # fmt: skip
    if models is None:
        models = _PRESENCE_MODELS if split.train.scale.presence else MODELS
    _check(plan, models)
    judge = Judge(split, people=people)
    trials = [trial for name in models for trial in _trials(plan, name)]
    total, done = sum(trial.draws for trial in trials), 0
    rows: list[Row] = []
    for trial in trials:
        _tell(progress, done, total)
        rows += _rows(plan, trial, judge)
        done += trial.draws
    _tell(progress, done, total)
    return rows


def _check(plan: _Plan, models: Sequence[str]) -> None:
    for name in models:
        if name not in MODELS:
            raise InputError(f"'{name}' is no model; there are {', '.join(MODELS)}")
    if not models:
        raise InputError(f"choose at least one model of {', '.join(MODELS)}")
    if plan.draws < 1:
        raise InputError(f"an experiment needs at least 1 draw of the noise, not {plan.draws}")
    if not plan.predictors:
        raise InputError("choose at least one predictor, like posterior")
    if plan.split.train.scale.presence:
        wrong = [name for name in models if name not in _PRESENCE_MODELS]
        if wrong:
            raise InputError(f"{', '.join(wrong)}: needs ratings, and there is presence alone")
    for epsilon in plan.epsilons:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise InputError(
                f"epsilon must be a positive number, not {epsilon:g}; model non-private has none"
            )


def _trials(plan: _Plan, name: str) -> Iterator[_Trial]:
    if name in _BASELINES:
        yield _Trial(name, None, 1, (None,), lambda _: _BASELINES[name](plan.split.train))
    elif name in _NOT_PRIVATE:
        fit = _NOT_PRIVATE[name]
        yield _Trial(name, None, 1, plan.predictors, lambda draw: fit(plan, math.inf, draw))
    else:
        yield from (_private_trial(plan, name, epsilon) for epsilon in plan.epsilons)


def _private_trial(plan: _Plan, name: str, epsilon: float) -> _Trial:
    fit = _PRIVATE[name]
    return _Trial(name, epsilon, plan.draws, plan.predictors, lambda draw: fit(plan, epsilon, draw))


def _rows(plan: _Plan, trial: _Trial, judge: Judge) -> list[Row]:
    """All draws of a trial; every predictor judges the same releases."""
    judged: dict[str | None, list[tuple[Quality, float]]] = {name: [] for name in trial.predictors}
    names: dict[str | None, str] = {}
    for draw in range(trial.draws):
        began = time.perf_counter()
        made = trial.make(draw)
        fitting = time.perf_counter() - began
        for name in trial.predictors:
            began = time.perf_counter()
            scorer = made
            if isinstance(made, Release):
                scorer = made.predictor(name, popularity=plan.popularity)
                names[name] = scorer.name
            quality = judge.judge(scorer, progress=_judging(plan.progress))
            judged[name].append((quality, fitting + time.perf_counter() - began))
    return [_row(plan, trial, names.get(name), results) for name, results in judged.items()]


def _row(
    plan: _Plan, trial: _Trial, predictor: str | None, results: list[tuple[Quality, float]]
) -> Row:
    columns = {
        name: [getattr(quality, name) for quality, _ in results]
        for name in ("rmse", "mae", "ndcg_at_10", "recall_at_20")
    }
    figures: dict[str, Any] = {name: statistics.fmean(each) for name, each in columns.items()}
    for name, column in (("rmse_sd", "rmse"), ("ndcg_sd", "ndcg_at_10")):
        figures[name] = statistics.stdev(columns[column]) if trial.draws > 1 else 0.0
    if plan.split.train.scale.presence:
        figures |= dict.fromkeys(_OF_RATINGS)
    has_budget = trial.epsilon is not None
    is_pure = plan.noise == "laplace" and trial.model == "private"
    return Row(
        model=trial.model,
        protect=str(plan.protect) if has_budget else None,
        epsilon=trial.epsilon,
        delta=(0.0 if is_pure else plan.delta) if has_budget else None,
        predictor=predictor,
        draws=trial.draws,
        seconds=statistics.fmean(seconds for _, seconds in results),
        **figures,
    )


def _judging(progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress("judging", done, total)


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress:
        progress("experiments", done, total)
