"""What all methods have in common: their settings, their task, and what they hand back."""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Noisy, Scale
from discreet.estimate import RATING_VARIANCE, USER_VARIANCE, Effects, most_popular, stretch
from discreet.measure import Carry, RatingsSource, RunningSpender, Spender, Statistic
from discreet.measure.centring import HuberCentring
from discreet.measure.history_pairs import FrozenWeights
from discreet.methods._names import MethodName
from discreet.privacy import Noise, Unit, fit_unit

# The most items of a covariance: its triangle takes 2.5 GB in integers.
MOST_HEAD = 25_000
# The most items of which all pairs are published: two such triangles.
MOST_PAIRS = 18_000
# The least share of the budget that anything gets, if it gets one: less would be noise alone.
# Chosen by hand.
LEAST_SHARE = 0.02
# The variance of what one record of presence says of a person's tastes, whose variance is 1. Chosen
# by hand.
_RECORD_VARIANCE = 1.0
# Below this strength (`Effects.strength`) not even popular items stand out of the noise. Chosen by
# hand.
_NO_STRENGTH = 0.1

# The widths of scale for which the constants' stretching was checked.
_NARROWEST, _WIDEST = 0.1, 1000
# The least number of periods that a series without forgetting is planned for: shares are chosen as
# if there were as many already. Chosen by hand.
_FORESEEN = 12

_Floats = npt.NDArray[np.float64]

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a method works with.

    Attributes:
        source: Private: all the ratings.
        spender: Releases statistics of them, each for a share of the budget.
        features: Public: a row for each item of the catalogue, or None.
        progress: Is called while something takes long.
    """

    source: RatingsSource
    spender: Spender
    features: _Floats | None = None
    progress: Progress | None = None

    @property
    def scale(self) -> Scale:
        """The ratings' scale."""
        return self.source.scale

    @property
    def items(self) -> int:
        """How many items the catalogue has."""
        return len(self.source.catalog)

    @property
    def mu(self) -> float:
        """The mu whose Gaussian noise is about as large as the budget's: for rules of thumb."""
        budget = self.spender.budget
        return budget.noise.kind.as_mu(budget.amount)

    def measure(
        self,
        statistics: Statistic | Sequence[Statistic],
        shares: Mapping[str, float],
        stage: str = "",
        carries: Mapping[str, Carry] | None = None,
        source: RatingsSource | None = None,
    ) -> list[Noisy]:
        """Release statistics; their parts come back in the order of the shares' labels.

        Args:
            statistics: One, or several that are measured in one pass over the ratings.
            shares: Of the whole budget, by the parts' labels.
            stage: What progress is reported as.
            carries: How a series reads earlier totals, by labels.
            source: Other ratings than the task's.
        """
        progress = self.progress
        report = None
        if progress is not None and stage:

            def report(done: int, total: int) -> None:
                progress(stage, done, total)

        source = self.source if source is None else source
        released = self.spender.measure(source, statistics, shares, report, carries)
        return list(released.values())

    @property
    def is_series(self) -> bool:
        """Whether these are the ratings of one period, and what is released adds up."""
        return False

    def head(self, label: str, counts: _Floats, size: int) -> npt.NDArray[np.int32]:
        """The most popular items, rising.

        Args:
            label: Of what is measured of them.
            counts: Of all items, released.
            size: How many.
        """
        del label
        return most_popular(counts, size)

    def settle(self, name: str, value: float) -> float:
        """A share of the budget: in a series the one that its first period settled on.

        Args:
            name: Of the decision.
            value: What released numbers ask for now.
        """
        del name
        return value

    def before(self, label: str, carry: Carry) -> Noisy | None:
        """What earlier periods of a series have shown; None if there are none.

        Args:
            label: Of what was measured in them.
            carry: How their total is to be read.
        """
        del label, carry
        return None

    def align(self, label: str, directions: _Floats, counts: _Floats) -> _Floats:
        """Directions of taste, turned to where a series had them before; here as they are.

        Args:
            label: Of what is measured along them.
            directions: A row for each item.
            counts: How much each item weighs.
        """
        del label, counts
        return directions


@dataclass(frozen=True, eq=False)
class OlderRecords:
    """What new records of a series meet: `measure/history_pairs` has what this rests on.

    Attributes:
        source: Private: the period's records and older ones of the same people.
        since: When the period begins, in seconds since 1970.
        until: When it has ended.
        weights: How much a pair counts, the same for the whole series.
    """

    source: RatingsSource
    since: int
    until: int
    weights: FrozenWeights


@dataclass(frozen=True, eq=False)
class PeriodTask(Task):
    """What a method works with in a series: the ratings of one period, and totals of all.

    Attributes:
        spender: Hands out totals.
        older: What new records meet; None if only records of the same period meet.
    """

    spender: RunningSpender
    older: OlderRecords | None = None

    @property
    def is_series(self) -> bool:
        return True

    @property
    def mu(self) -> float:
        """That of a single release whose noise beside its data would be that of the totals later.

        Shares and sizes follow from it, and should not change with every period: so it looks
        ahead, to when there are `_FORESEEN` periods, or as many as a half-life lets count.
        """
        plan, periods = self.spender.plan, self.spender.period
        fading = plan.forgetting**periods
        ahead = max(_FORESEEN / periods, 1.0) if fading == 1 else 1 / (1 - fading)
        return super().mu * ahead / plan.noise(max(periods, _FORESEEN))

    def settle(self, name: str, value: float) -> float:
        return self.spender.settled.setdefault(name, value)

    def before(self, label: str, carry: Carry) -> Noisy | None:
        return self.spender.before(label, carry)

    def head(self, label: str, counts: _Floats, size: int) -> npt.NDArray[np.int32]:
        """The most popular items, and earlier ones while they are among twice as many."""
        if self.older is not None:
            return self._grown_head(label, counts, size, self.older.weights.most)
        best = most_popular(counts, size)
        before = self.spender.frame_of(label).get("head")
        if before is None:
            return best
        kept = np.intersect1d(before, most_popular(counts, 2 * size), assume_unique=True)
        return np.union1d(best, kept).astype(np.int32)

    def _grown_head(
        self, label: str, counts: _Floats, size: int, most: int
    ) -> npt.NDArray[np.int32]:
        """Earlier items for ever, as the bound for older records asks, and the most popular."""
        before = self.spender.frame_of(label).get("head", np.empty(0, np.int32))
        # Whatever comes in stays: early periods, which know little, take in few.
        part = min(self.spender.period / _FORESEEN, 1.0)
        best = np.setdiff1d(most_popular(counts, max(round(part * size), 2)), before)
        free = max(most - len(before), 0)
        if len(best) > free:
            best = best[np.argsort(-counts[best], kind="stable")[:free]]
        return np.union1d(before, best).astype(np.int32)

    def align(self, label: str, directions: _Floats, counts: _Floats) -> _Floats:
        """Turned as a whole, so that each column is near what it was in the period before."""
        before = self.spender.frame_of(label).get("directions")
        if before is None or not directions.size:
            return directions
        weights = np.maximum(counts[: len(before)], 0.0)[:, None]
        k = directions.shape[1]
        target = np.zeros((len(before), k))
        target[:, : min(k, before.shape[1])] = before[:, :k]
        left, _, right = np.linalg.svd((directions[: len(before)] * weights).T @ target)
        return np.asarray(directions @ (left @ right))


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a method makes of a task, ready for a release.

    Attributes:
        arrays: What the release holds.
        parameters: What the release records besides the settings.
    """

    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


def model_of(
    effects: Effects,
    scale: Scale,
    arrays: Mapping[str, npt.NDArray[Any]],
    found: Mapping[str, Any],
) -> Learnt:
    """A model of ratings: the items' levels and counts, and what was learnt besides.

    Args:
        effects: The items' levels.
        scale: Of the ratings.
        arrays: What the release holds besides.
        found: What it records besides.
    """
    width = stretch(scale)
    variances = USER_VARIANCE * width + effects.mean_variance, RATING_VARIANCE * width
    if scale.presence:
        variances = 0.0, _RECORD_VARIANCE
    levels = {
        "item_effects": effects.effects.astype(np.float32),
        "item_effect_variances": np.maximum(effects.variances, 0).astype(np.float32),
        "item_counts": effects.positive_counts.astype(np.float32),
    }
    numbers = {
        "global_mean": effects.global_mean,
        "user_variance": variances[0],
        "rating_variance": variances[1],
        "count_noise": effects.count_spread,
    }
    return Learnt({**levels, **arrays}, {**numbers, **found})


def factor_arrays(factors: _Floats, variances: _Floats) -> dict[str, npt.NDArray[Any]]:
    """A row of factors for each item, and the trace of the row's variance."""
    rows = np.ascontiguousarray(factors, dtype=np.float32)
    return {"factors": rows, "factor_variances": np.maximum(variances, 0).astype(np.float32)}


@dataclass(frozen=True)
class Method(abc.ABC):
    """A way to turn ratings into a model. Its fields are its settings, all of them public.

    Attributes:
        protect: Whom the release protects.
        noise: Gaussian (delta above 0) or Laplace (delta 0).
        head: How many items the pairs or the covariance cover; None lets released counts decide.
    """

    protect: Unit = Unit.USER
    noise: Noise = Noise.GAUSSIAN
    head: int | None = None

    name: ClassVar[MethodName]
    takes_presence: ClassVar[bool] = False
    """Whether it can learn from presence alone."""
    takes_features: ClassVar[bool] = False
    """Whether it uses public item features."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "protect", fit_unit(self.protect))
        self._choose("noise", Noise)
        if self.head is not None:
            check_number("head", self.head, 2, MOST_HEAD, whole=True)

    def _choose(self, name: str, choices: type[_Choice]) -> None:
        """Turn a field's text into the choice that it names."""
        value = getattr(self, name)
        if value not in list(choices):
            raise InputError(f"{name} is one of {', '.join(choices)}, not '{value}'")
        object.__setattr__(self, name, choices(value))

    @abc.abstractmethod
    def learn(self, task: Task) -> Learnt:
        """Spend the whole budget on statistics, and estimate the model from what they released.

        Everything here but `task.measure` sees released numbers alone.
        """

    def check(self, source: RatingsSource) -> None:
        """Refuse what this method cannot be fitted to, by public things alone.

        Raises:
            InputError: Says what would be right.
        """
        self.check_scale(source.scale)

    def check_scale(self, scale: Scale) -> None:
        """Refuse a scale that this method cannot be fitted on.

        Raises:
            InputError: Says what would be right.
        """
        if scale.presence and not self.takes_presence:
            names = " and ".join(sorted(m.name for m in METHODS.values() if m.takes_presence))
            raise InputError(f"presence alone is for methods {names}, not {self.name}")
        if not _NARROWEST <= scale.range <= _WIDEST:
            raise InputError(
                f"a fit needs a scale between {_NARROWEST:g} and {_WIDEST:,} wide, not "
                f"{scale.range:g}; express the ratings in another unit"
            )


@dataclass(frozen=True)
class RatingMethod(Method):
    """A method that learns what people give items.

    Attributes:
        rank: The most factors that the covariance or the pairs give.
        clamp: B on a scale of width 4; it grows with the scale.
        fictitious: beta_p: fictitious ratings that hold a person's level back.
        offset: Added to c in the weight (c + offset)^-1/2.
        effect_share: The part of the budget for the first round of item effects.
        level_share: The part for measuring the global mean again; None lets released counts decide.
        taste_share: The part for tastes, the covariance and what follows; None lets released
            counts decide.
    """

    rank: int = 20
    clamp: float = 0.5
    fictitious: int = 20
    offset: float = 5.0
    effect_share: float = 0.2
    level_share: float | None = None
    taste_share: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("clamp", self.clamp, 0.02, 100)
        check_number("fictitious", self.fictitious, 1, 10_000, whole=True)
        check_number("offset", self.offset, 0, 1e6)
        check_number("rank", self.rank, 0, 500, whole=True)
        check_number("effect_share", self.effect_share, LEAST_SHARE, 0.8)
        if self.level_share:
            most = round(0.9 - self.effect_share, 12)
            check_number("level_share", self.level_share, LEAST_SHARE, most)
        if self.taste_share:
            check_number("taste_share", self.taste_share, LEAST_SHARE, self._most_taste)

    def head_size(self, strength: float, items: int) -> int:
        """How many items the covariance or the pairs cover, by `Effects.strength`.

        Four times the items that can be learnt, and at least 50; or as set.
        """
        size = max(50, round(4 * min(strength, items))) if self.head is None else self.head
        return min(size, items, MOST_HEAD)

    def check(self, source: RatingsSource) -> None:
        super().check(source)
        centring, items = self.centring(source.scale), len(source.catalog)
        centring.check_items(items)
        # The grid's price of a refinement grows with the catalogue over the clamp.
        if items * centring.step > 8 * centring.clamp:
            raise InputError(
                f"a clamp of {self.clamp:g} is too small for {items:,} items; widen it, or "
                "express the ratings in a larger unit"
            )

    def centring(self, scale: Scale, strength: float = 0.0) -> HuberCentring:
        """The centring on this scale, for items of this strength."""
        return HuberCentring(self.clamp_for(strength) * scale.range / 4, self.fictitious)

    @property
    def first_share(self) -> float:
        """The part of the budget for the first round of item effects, for the unit."""
        return self.effect_share

    def clamp_for(self, strength: float) -> float:
        """B on a scale of width 4, for items of this strength."""
        del strength
        return self.clamp

    @property
    def _most_taste(self) -> float:
        """So that the second round of effects has a tenth of the budget at least."""
        return round(min(0.75, 0.9 - self.effect_share - (self.level_share or 0.0)), 12)

    def share_of_taste(self, strength: float) -> float:
        """How much of the budget tastes get: nothing where they could not be learnt."""
        if self.rank == 0:
            return 0.0
        if self.taste_share is not None:
            return self.taste_share
        # The stronger the items, the more is left for tastes. Tuned on another split of MovieLens
        # 1M than the one that is reported (docs/explanation/refined.md).
        share = min(self._most_taste, 0.8 - 20 / max(strength, 1e-9))
        return share if share >= 0.1 else 0.0

    def share_of_lists(self, strength: float) -> float:
        """How much of the budget lists get."""
        del strength
        return 0.0

    def share_of_level(self, strength: float) -> float:
        """How much measuring the global mean again gets: much where nothing else can be learnt."""
        if self.level_share is not None:
            return self.level_share
        if self.share_of_taste(strength) or strength >= _NO_STRENGTH:
            return 0.0
        return 0.9 - self.effect_share


METHODS: dict[MethodName, type[Method]] = {}
"""All methods by name; a module registers its own with `register`."""

_AnyMethod = TypeVar("_AnyMethod", bound=type[Method])
_Choice = TypeVar("_Choice", bound=enum.StrEnum)


def register(method: _AnyMethod) -> _AnyMethod:
    """Offer a method to `fit` by its name."""
    METHODS[method.name] = method
    return method


def method_of(
    method: Method | str | None, options: Mapping[str, Any], *, presence: bool = False
) -> Method:
    """A method from its name or from itself, with single settings changed.

    Without a name, `lists` for presence and `refined` for ratings.

    Raises:
        InputError: There is no such method, or no such setting.
    """
    if method is None:
        method = MethodName.LISTS if presence else MethodName.REFINED
    if not isinstance(method, Method):
        if method not in list(MethodName):
            raise InputError(f"unknown method '{method}'; choose from {', '.join(MethodName)}")
        method = METHODS[MethodName(method)]()
    known = [each.name for each in dataclasses.fields(method)]
    if "seed" in options:
        raise InputError(
            "fit takes no seed, because noise that can be drawn again protects nobody; for an "
            "experiment give randomness=discreet.SeededRandomness(seed), and the release will say "
            "that it is not private"
        )
    for name in options:
        if name not in known:
            raise InputError(
                f"method {method.name} has no setting '{name}'; it has {', '.join(known)}"
            )
    return dataclasses.replace(method, **options)


def check_number(name: str, value: Any, least: float, most: float, *, whole: bool = False) -> None:
    """Refuse anything but a number between the two; no private data decide."""
    kind = "a whole number" if whole else "a number"
    fits = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if least > most:
        raise InputError(f"{name} can only be 0 here: other shares leave too little of the budget")
    if not fits or not least <= value <= most:
        raise InputError(f"{name} is {kind} from {least:g} to {most:g}, not {value}")
