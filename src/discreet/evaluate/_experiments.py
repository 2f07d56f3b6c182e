"""Experiments: splits, models and budgets, and several draws of the noise."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from discreet.domain import InputError
from discreet.evaluate._baselines import (
    global_mean,
    item_mean,
    popularity,
    recent_popularity,
    user_mean,
)
from discreet.evaluate._judge import FEW_RATINGS, Judge, PersonQuality, Quality
from discreet.evaluate._metrics import Scorer
from discreet.measure import Budget
from discreet.predict import Order
from discreet.privacy import GaussianNoise, Noise, SeededRandomness, Unit, fit_unit
from discreet.ratings import Ratings, Split, split_by_time, split_folds, split_random
from discreet.release import Release

if TYPE_CHECKING:
    import polars as pl

    from discreet.methods import Method

ModelMaker = Callable[[Ratings], Scorer]
"""Makes a model of your own from training ratings: a function, or a class."""

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

MOST_PEOPLE = 10_000
"""How many people figures are measured on by default, at most. Derived: figures of lists are
between 0 and 1, so that the standard error of their means is at most .005."""


@dataclass(frozen=True)
class Row:
    """The quality of one model under one budget, averaged over draws of the noise.

    Attributes:
        model: One of `MODELS`, or the name of a model of your own.
        method: The method of a release; None for other models.
        protect: Whom it protects; None if it is not private.
        epsilon: Of the guarantee that a release with this much noise has; None if not private.
        delta: Likewise.
        predictor: Which predictor was judged; None for baselines.
        draws: How many draws of the noise the figures are averages of, in each split.
        splits: How many splits the figures are averages of.
        people: How many people were judged by, in all splits.
        rmse: See `Quality`, as all figures below; None without predicted ratings.
        rmse_sd: The standard deviation of the RMSE over draws and splits; 0 for a single one.
        mae: None without predicted ratings.
        ndcg_at_10: Of lists of ten.
        ndcg_sd: Its standard deviation over draws and splits; 0 for a single one.
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
    method: str | None
    protect: str | None
    epsilon: float | None
    delta: float | None
    predictor: str | None
    draws: int
    splits: int
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

    def as_record(self) -> dict[str, Any]:
        """A flat record: the figures of people with few ratings are named `few_...`."""
        plain = asdict(self)
        few = plain.pop("few")
        names = [each.name for each in fields(Quality) if each.name != "few"]
        return plain | {f"few_{name}": None if few is None else few[name] for name in names}


@dataclass(frozen=True, repr=False)
class PersonRows:
    """One model's figures person by person. Private.

    Attributes:
        model: As in `Row`, as those up to `predictor`.
        method: Of a release.
        protect: Of a private release.
        epsilon: Of a private release.
        predictor: Of a release.
        split: The number of the split, from 0.
        draw: The number of the draw, from 0.
        quality: The figures, in columns.
    """

    model: str
    method: str | None
    protect: str | None
    epsilon: float | None
    predictor: str | None
    split: int
    draw: int
    quality: PersonQuality

    def __repr__(self) -> str:
        return f"PersonRows({self.model}, private)"


class Results(list[Row]):
    """The rows of an evaluation, a list; and what was found besides.

    Attributes:
        left_out: What was not evaluated, and why, each a sentence.
        judged: How many people were judged by, in all splits.
        candidates: How many have a test rating; more than `judged` where people were sampled.
        people: The figures of each person, if they were asked for; else empty.
    """

    def __init__(
        self,
        rows: Iterable[Row] = (),
        left_out: Sequence[str] = (),
        people: Sequence[PersonRows] = (),
        judged: int = 0,
        candidates: int = 0,
    ) -> None:
        super().__init__(rows)
        self.left_out = tuple(left_out)
        self.people = tuple(people)
        self.judged, self.candidates = judged, candidates

    def records(self) -> list[dict[str, Any]]:
        """A flat record for each row: `pandas.DataFrame(results.records())`."""
        return [row.as_record() for row in self]

    def to_frame(self) -> pl.DataFrame:
        """The rows as a table of polars."""
        import polars as pl

        return pl.DataFrame(self.records(), infer_schema_length=None)

    def people_frame(self) -> pl.DataFrame:
        """A row for each person, model, split and draw, as a table of polars. Private.

        Raises:
            InputError: The figures of each person were not asked for.
        """
        import polars as pl

        if not self.people:
            raise InputError("there are no figures of single people: give per_user=True")
        frames = []
        for each in self.people:
            about = {name: value for name, value in vars(each).items() if name != "quality"}
            figures = pl.DataFrame({n: v for n, v in vars(each.quality).items() if v is not None})
            constants = [pl.lit(value).alias(name) for name, value in about.items()]
            frames.append(figures.select(*constants, pl.all()))
        return pl.concat(frames, how="diagonal_relaxed")


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
    data: Ratings | Split | Iterable[Split],
    *,
    epsilons: float | Sequence[float] = (1.0,),
    protect: Unit | str | Sequence[Unit | str] = Unit.USER,
    method: Method | str | Sequence[Method | str | None] | None = None,
    delta: float = GaussianNoise.default_delta,
    noise: str = "gaussian",
    draws: int = 3,
    predictors: Sequence[str | None] = (None,),
    models: Sequence[str] | None = None,
    own: Mapping[str, ModelMaker] | None = None,
    share: float = 0.1,
    folds: int | None = None,
    seed: int | str | None = None,
    people: int | None = MOST_PEOPLE,
    order: Order = "best",
    few: int = FEW_RATINGS,
    per_user: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """Fit models on training ratings and judge them by held-out ones.

    It reads private ratings without paying: the rows are for the curator's eyes only. Publishing
    them, or an epsilon that was chosen by them, reveals something that no guarantee covers.

    Args:
        data: Ratings, of which the latest `share` is held out, or a random one where they have no
            times; or a split of your own (`Split`, `split_random`, `split_leave_out` and so on);
            or several splits, over which figures are averaged.
        epsilons: Budgets of the model `private`, a row for each.
        protect: Whom the model `private` protects: one unit, or several, a row for each.
        method: The method of the releases, as in `fit`: one, or several, a row for each.
        delta: Of each budget with Gaussian noise.
        noise: Of the model `private`: `gaussian`, or `laplace` (whose delta is 0).
        draws: How many times the model `private` draws its noise.
        predictors: A row for each; None is the method's own.
        models: Of `MODELS`; by default all that these ratings allow. `private` is `fit`,
            `non-private` is `fit` without noise; the others are baselines.
        own: Models of your own by name: each is called with the training ratings and returns
            what judges need of it, a `Scorer`.
        share: Of the ratings that are held out, where `data` are ratings.
        folds: Cross-validate: split the ratings into so many parts at random, and hold out each
            in turn.
        seed: Makes splits and noise repeatable; None draws noise from the operating system.
        people: Evaluate on at most this many people, chosen at random; None is everybody.
            `Results.judged` and `Results.candidates` tell whether that left anybody out.
        order: What lists are ordered by, as `recommend` has it: see `Predictor`.
        few: People with at most this many training ratings are also judged apart.
        per_user: Keep the figures of each person too: `Results.people_frame()`.
        progress: Called with a stage's name, how much of it is done and how much there is.
        options: Other options of `fit`, for `private` and `non-private`.

    Returns:
        Rows, and what was left out because there is too little memory for it.

    Raises:
        InputError: An argument or the ratings cannot be used, or there is no room for any model.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
        >>> rows = discreet.evaluate(
        ...     ratings, epsilons=[1, 8], models=["private", "item-mean"], draws=1, seed=1
        ... )
        >>> [(row.model, row.epsilon) for row in rows]
        [('private', 1), ('private', 8), ('item-mean', None)]
        >>> rows.to_frame().columns[:5]
        ['model', 'method', 'protect', 'epsilon', 'delta']
    """
    splits = _splits(data, share, folds, seed)
    train = splits[0].train
    budgets = _several(epsilons)
    if models is None:
        models = _applicable(train)
    _check(splits, budgets, draws, predictors, models, own or {})
    asked = _Asked(
        tuple(fit_unit(each) for each in _several(protect)), Noise(noise), delta,
        tuple(_several(method)), options,
    )  # fmt: skip
    judges = [Judge(split, people=people, few=few) for split in splits]
    experiment = _Experiment(
        splits,
        judges,
        asked,
        dict(own or {}),
        tuple(predictors),
        seed,
        order,
        progress,
        people=[] if per_user else None,
    )
    wanted = [trial for name in models for trial in asked.trials(name, budgets, draws)]
    wanted += [_Trial(name) for name in own or {}]
    trials, left_out = experiment.fitting(wanted)
    total, done = len(splits) * sum(trial.draws for trial in trials), 0
    rows: list[Row] = []
    for trial in trials:
        if progress:
            progress("experiments", done, total)
        rows += experiment.rows(trial)
        done += len(splits) * trial.draws
    if progress:
        progress("experiments", done, total)
    return Results(
        rows,
        left_out,
        experiment.people or (),
        judged=sum(map(len, judges)),
        candidates=sum(judge.candidates for judge in judges),
    )


def _several(given: Any) -> list[Any]:
    """One value, or several: text is one."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def _splits(
    data: Ratings | Split | Iterable[Split],
    share: float,
    folds: int | None,
    seed: int | str | None,
) -> list[Split]:
    if isinstance(data, Ratings):
        number = seed if isinstance(seed, int) else 0
        if folds is not None:
            return split_folds(data, folds, number)
        if data.has_times:
            return [split_by_time(data, share)]
        return [split_random(data, share, number)]
    if folds is not None:
        raise InputError("folds are made from ratings; splits of your own are parted already")
    splits = [data] if isinstance(data, Split) else list(data)
    if not splits or not all(isinstance(each, Split) for each in splits):
        raise InputError("evaluate takes ratings, a split, or several splits")
    first = splits[0].train
    for each in splits[1:]:
        if each.train.scale != first.scale or len(each.train.catalog) != len(first.catalog):
            raise InputError("splits that are averaged have one scale and one catalogue")
    return splits


def _applicable(train: Ratings) -> list[str]:
    """The models that these ratings allow."""
    models = _PRESENCE_MODELS if train.scale.presence else MODELS
    return [name for name in models if train.times is not None or name not in _TIMED_MODELS]


def _check(
    splits: Sequence[Split],
    epsilons: Sequence[float],
    draws: int,
    predictors: Sequence[str | None],
    models: Sequence[str],
    own: Mapping[str, ModelMaker],
) -> None:
    train = splits[0].train
    for name in models:
        if name not in MODELS:
            raise InputError(f"unknown model '{name}'; choose from {', '.join(MODELS)}")
    for name, maker in own.items():
        if name in MODELS:
            raise InputError(f"'{name}' is a model that there is; name your own differently")
        if not callable(maker):
            raise InputError(f"model '{name}' is made by a function of the training ratings")
    if not models and not own:
        raise InputError(f"choose at least one model of {', '.join(MODELS)}")
    if draws < 1:
        raise InputError(f"an experiment needs at least 1 draw of the noise, not {draws}")
    if not predictors:
        raise InputError("choose at least one predictor, like posterior")
    if train.scale.presence:
        wrong = [name for name in models if name not in _PRESENCE_MODELS]
        if wrong:
            raise InputError(f"{', '.join(wrong)}: needs ratings; these are interactions")
    if train.times is None:
        wrong = [name for name in models if name in _TIMED_MODELS]
        if wrong:
            raise InputError(f"{', '.join(wrong)}: goes by time, and these ratings have none")
    for epsilon in epsilons:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise InputError(
                f"epsilon must be a positive number, not {epsilon:g}; model non-private has none"
            )


@dataclass(frozen=True)
class _Trial:
    """One model under one budget."""

    model: str
    draws: int = 1
    method: Method | str | None = None
    unit: Unit | None = None
    epsilon: float | None = None

    @property
    def is_release(self) -> bool:
        return self.unit is not None

    def __str__(self) -> str:
        parts = [self.model, *([f"epsilon {self.epsilon:g}"] if self.epsilon is not None else [])]
        return ", ".join(parts)


@dataclass(frozen=True)
class _Asked:
    """What releases are made with. See `evaluate`."""

    units: tuple[Unit, ...]
    noise: Noise
    gaussian_delta: float
    methods: tuple[Method | str | None, ...]
    options: dict[str, Any]

    @property
    def delta(self) -> float:
        return self.gaussian_delta if self.noise is Noise.GAUSSIAN else 0.0

    def trials(self, model: str, epsilons: Sequence[float], draws: int) -> list[_Trial]:
        """What is tried of a model: without noise, one unit stands for all."""
        if model in _BASELINES:
            return [_Trial(model)]
        if model == "non-private":
            return [_Trial(model, 1, method, self.units[0]) for method in self.methods]
        return [
            _Trial(model, draws, method, unit, epsilon)
            for method in self.methods
            for unit in self.units
            for epsilon in epsilons
        ]

    def bytes_needed(self, trial: _Trial, train: Ratings) -> int:
        """About what a fit takes."""
        # Imported here: the methods are heavy, and baselines do without them.
        from discreet.methods import bytes_of_fit, method_of

        if trial.unit is None:
            return 0
        known = {"protect": trial.unit, "noise": self.noise}
        settings = {name: v for name, v in self.options.items() if name != "features"}
        method = method_of(trial.method, settings | known, presence=train.scale.presence)
        mu = math.inf
        if trial.epsilon is not None:
            budget = Budget.of(trial.unit, self.noise, trial.epsilon, self.delta)
            mu = self.noise.kind.as_mu(budget.amount)
        return bytes_of_fit(method, train, mu)


@dataclass(frozen=True)
class _Experiment:
    """What all rows share. See `evaluate`."""

    splits: list[Split]
    judges: list[Judge]
    asked: _Asked
    own: dict[str, ModelMaker]
    predictors: tuple[str | None, ...]
    seed: int | str | None
    order: Order
    progress: Progress | None
    people: list[PersonRows] | None

    def fitting(self, trials: list[_Trial]) -> tuple[list[_Trial], list[str]]:
        """The trials that there is room for, and why others are left out.

        Raises:
            InputError: There is room for none.
        """
        from discreet.methods import lacks_room

        kept, left_out = [], []
        for trial in trials:
            reason = lacks_room(self.asked.bytes_needed(trial, self.splits[0].train))
            if reason is None:
                kept.append(trial)
            else:
                left_out.append(f"{trial}: left out, as it {reason}")
        if not kept:
            raise InputError(f"there is no room to evaluate anything: {left_out[0]}")
        return kept, left_out

    def rows(self, trial: _Trial) -> list[Row]:
        """A row for each predictor; all of them are judged on the same releases."""
        names = self.predictors if trial.is_release else (None,)
        judged: dict[str | None, list[tuple[Quality, float]]] = {name: [] for name in names}
        used: dict[str | None, str] = {}
        method: str | None = None
        for at in range(len(self.splits)):
            for draw in range(trial.draws):
                began = time.perf_counter()
                # One release serves all predictors: differences between them are not those of the
                # noise.
                made = self._make(trial, at, draw)
                fitting = time.perf_counter() - began
                for name in names:
                    began = time.perf_counter()
                    scorer: Any = made
                    if isinstance(made, Release):
                        scorer = made.predictor(name, order=self.order)
                        used[name], method = scorer.name, made.method
                    quality, each = self.judges[at].judge_people(scorer, progress=self._judging())
                    judged[name].append((quality, fitting + time.perf_counter() - began))
                    if self.people is not None:
                        about = method, self._unit(trial), trial.epsilon, used.get(name)
                        self.people.append(PersonRows(trial.model, *about, at, draw, each))
        return [self._row(trial, method, used.get(name), judged[name]) for name in names]

    def _make(self, trial: _Trial, at: int, draw: int) -> Release | Scorer:
        train = self.splits[at].train
        if trial.model in self.own:
            return self.own[trial.model](train)
        if trial.model in _BASELINES:
            return _BASELINES[trial.model](train)
        # Imported here: the methods are heavy, and baselines do without them.
        from discreet.methods import fit

        seed = f"{self.seed} {draw}" if at == 0 else f"{self.seed} {at} {draw}"
        return fit(
            train,
            method=trial.method,
            protect=trial.unit,
            epsilon=math.inf if trial.epsilon is None else trial.epsilon,
            delta=self.asked.delta,
            noise=self.asked.noise,
            ledger="unbooked",  # nothing of it is published
            randomness=None if self.seed is None else SeededRandomness(seed),
            progress=self.progress,
            **self.asked.options,
        )

    @staticmethod
    def _unit(trial: _Trial) -> str | None:
        return None if trial.epsilon is None else str(trial.unit)

    def _judging(self) -> Callable[[int, int], None] | None:
        progress = self.progress
        return None if progress is None else lambda done, total: progress("judging", done, total)

    def _row(
        self,
        trial: _Trial,
        method: str | None,
        predictor: str | None,
        results: list[tuple[Quality, float]],
    ) -> Row:
        qualities = [quality for quality, _ in results]
        mean = _mean_quality(qualities)
        errors = [quality.rmse for quality in qualities if quality.rmse is not None]
        figures = vars(mean) | {"people": sum(map(len, self.judges))}
        return Row(
            model=trial.model,
            method=method,
            protect=self._unit(trial),
            epsilon=trial.epsilon,
            delta=None if trial.epsilon is None else self.asked.delta,
            predictor=predictor,
            draws=trial.draws,
            splits=len(self.splits),
            rmse_sd=_spread(errors) if errors else None,
            ndcg_sd=_spread([quality.ndcg_at_10 for quality in qualities]),
            seconds=statistics.fmean(seconds for _, seconds in results),
            **figures,
        )


def _spread(draws: list[float]) -> float:
    return statistics.stdev(draws) if len(draws) > 1 else 0.0


def _mean_quality(qualities: list[Quality]) -> Quality:
    """The mean of every figure over draws and splits; what one lacks counts for none."""
    few = [quality.few for quality in qualities if quality.few is not None]
    figures: dict[str, Any] = {"few": _mean_quality(few) if few else None}
    for name in (each.name for each in fields(Quality) if each.name not in ("few", "people")):
        values = [getattr(quality, name) for quality in qualities]
        known = [value for value in values if value is not None]
        figures[name] = statistics.fmean(known) if known else None
    return Quality(people=qualities[0].people, **figures)
