"""What a fit can be told: one field each, all public."""

from __future__ import annotations

import abc
import enum
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

from discreet.domain import InputError, Scale
from discreet.measure._noise import Noise
from discreet.measure.centring import HuberCentring
from discreet.privacy import Unit

MOST_HEAD = 25_000
"""The most items of a covariance: its triangle takes 2.5 GB in integers."""

MOST_PAIRS = 18_000
"""The most items of which all pairs are published: two triangles."""

_NOTHING = 0.1
"""Below this strength not even popular items can be told from noise."""


LEAST_SHARE = 0.02
"""Of the budget: less would be noise alone. Shares of 0 are fine."""


class Cleaning(enum.StrEnum):
    """How a noisy covariance becomes factors."""

    AUTO = "auto"
    """Noise-aware: rank and shrinkage from released values and the known noise."""
    PAPER = "paper"
    """McSherry and Mironov, section 4.6."""
    NONE = "none"
    """The largest eigenvectors as they are."""


class Method(enum.StrEnum):
    """How ratings become item factors."""

    REFINED = "refined"
    """Effects, free directions, a small covariance, one private refinement of all items."""
    COVARIANCE = "covariance"
    """Effects and covariance, after McSherry and Mironov."""
    SLOPE_ONE = "slope-one"
    """Mean differences between the ratings of two items, after Park and Acharya."""
    COSINE = "cosine"
    """How often two items go together, after Park and Acharya; for presence too."""


_Choice = TypeVar("_Choice", bound=enum.StrEnum)


def _choice(name: str, value: str, choices: type[_Choice]) -> _Choice:
    if value not in list(choices):
        raise InputError(f"{name} is one of {', '.join(choices)}, not '{value}'")
    return choices(value)


def _check_number(name: str, value: Any, least: float, most: float, *, whole: bool = False) -> None:
    """Refuse what is no number between the two; whether it is does not depend on private data."""
    kind = "a whole number" if whole else "a number"
    fits = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        raise InputError(f"{name} is {kind} from {least:g} to {most:g}, not {value}")


@dataclass(frozen=True)
class Settings:
    """What both methods are told.

    Attributes:
        protect: Whom the release protects.
        noise: Gaussian (delta above 0) or Laplace (delta 0).
        rank: The most factors that the covariance gives.
        head: How many items the covariance covers; None lets released counts decide.
        clamp: B on a scale of width 4; it grows with the scale.
        fictitious: beta_p.
        offset: Added to c in the weight (c + offset)^-1/2.
        effect_share: The part of the budget for the first round of item effects.
        level_share: The part for measuring the global mean again; None lets released counts decide.
        taste_share: The part for tastes, the covariance and what follows; None lets released
            counts decide.
    """

    protect: Unit = Unit.USER
    noise: Noise = Noise.GAUSSIAN
    rank: int = 20
    head: int | None = None
    clamp: float = 0.5
    fictitious: int = 20
    offset: float = 5.0
    effect_share: float = 0.2
    level_share: float | None = None
    taste_share: float | None = None

    method: ClassVar[Method]

    def __post_init__(self) -> None:
        object.__setattr__(self, "protect", _choice("protect", self.protect, Unit))
        object.__setattr__(self, "noise", _choice("noise", self.noise, Noise))
        _check_number("clamp", self.clamp, 0.02, 100)
        _check_number("fictitious", self.fictitious, 1, 10_000, whole=True)
        _check_number("offset", self.offset, 0, 1e6)
        _check_number("rank", self.rank, 0, 500, whole=True)
        _check_number("effect_share", self.effect_share, LEAST_SHARE, 0.8)
        if self.head is not None:
            _check_number("head", self.head, 2, MOST_HEAD, whole=True)
        if self.level_share:
            most = round(0.9 - self.effect_share, 12)
            _check_number("level_share", self.level_share, LEAST_SHARE, most)
        if self.taste_share:
            _check_number("taste_share", self.taste_share, LEAST_SHARE, self._most_taste)

    @property
    def _most_taste(self) -> float:
        """So that the second round of effects has a tenth of the budget at least."""
        return round(min(0.75, 0.9 - self.effect_share - (self.level_share or 0.0)), 12)

    def centring(self, scale: Scale) -> HuberCentring:
        """The centring on this scale."""
        return HuberCentring(self.clamp * scale.range / 4, self.fictitious)

    def share_of_taste(self, strength: float) -> float:
        """How much of the budget tastes get: nothing where they could not be learnt."""
        if self.rank == 0:
            return 0.0
        if self.taste_share is not None:
            return self.taste_share
        share = min(self._most_taste, 0.8 - 20 / max(strength, 1e-9))
        return share if share >= 0.1 else 0.0

    def share_of_level(self, strength: float) -> float:
        """How much measuring the global mean again gets: much where nothing else can be learnt."""
        if self.level_share is not None:
            return self.level_share
        if self.share_of_taste(strength) or strength >= _NOTHING:
            return 0.0
        return 0.9 - self.effect_share

    @abc.abstractmethod
    def head_size(self, strength: float, items: int) -> int:
        """How many items the covariance covers."""


@dataclass(frozen=True)
class CovarianceSettings(Settings):
    """The trusted curator's method, after McSherry and Mironov.

    Attributes:
        clean: How the covariance becomes factors.
        dense: Whether the covariance itself and its weights are published, for `knn`.
        weight_share: The part of the covariance's share that Wgt gets, if `dense`.
    """

    method = Method.COVARIANCE

    clean: Cleaning = Cleaning.AUTO
    dense: bool = False
    weight_share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clean", _choice("clean", self.clean, Cleaning))
        _check_number("weight_share", self.weight_share, 0.05, 0.95)

    def head_size(self, strength: float, items: int) -> int:
        """How many items the covariance covers: four times what can be learnt."""
        return _four_times(self.head, strength, items)


@dataclass(frozen=True)
class RefinedSettings(Settings):
    """Our own method: see docs/method.md.

    Attributes:
        refine_share: The part of the tastes' share for the refinement; the covariance, which only
            has to point the way, gets the rest. 0 leaves the refinement out.
        directions: Whether popularity and item effects are directions of taste.
        reach: Gamma: where a person's tastes are cut off; None for what the unit asks for.
    """

    method = Method.REFINED

    clamp: float = 0.4
    fictitious: int = 40
    refine_share: float = 0.7
    directions: bool = True
    reach: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refine_share:
            _check_number("refine_share", self.refine_share, 0.1, 0.95)
        if self.reach is not None:
            _check_number("reach", self.reach, 0.01, 1000)

    @property
    def refines(self) -> bool:
        """One rating moves a refinement too far in L1 for it to be worth Laplace noise."""
        possible = self.protect is Unit.USER or self.noise is Noise.GAUSSIAN
        return possible and self.refine_share > 0

    def head_size(self, strength: float, items: int) -> int:
        """A few hundred items: enough to point the way to the rest."""
        return min(self.head or round(min(max(150, 100 + strength), 1500)), items, MOST_HEAD)


@dataclass(frozen=True)
class PairSettings(Settings):
    """Releases of item pairs; a rank of 0 leaves the pairs out.

    Attributes:
        weight_share: The part of the pairs' share that their weights, or the items' squares, get.
    """

    weight_share: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank not in (0, Settings.rank):
            raise InputError(f"rank is of factors, which {self.method} has none of; leave it out")
        _check_number("weight_share", self.weight_share, 0.05, 0.95)

    def head_size(self, strength: float, items: int) -> int:
        """How many items have pairs: four times what can be learnt."""
        return min(_four_times(self.head, strength, items), MOST_PAIRS)


@dataclass(frozen=True)
class SlopeOneSettings(PairSettings):
    """Mean differences between two items' ratings.

    Attributes:
        spread: Protecting users, the standard deviation of a person's ratings, as a part of the
            scale's width, from which on the person counts less.
    """

    method = Method.SLOPE_ONE

    spread: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("spread", self.spread, 0.01, 0.5)


@dataclass(frozen=True)
class CosineSettings(PairSettings):
    """How often two items go together, for their popularity."""

    method = Method.COSINE

    weight_share: float = 0.1


def _four_times(head: int | None, strength: float, items: int) -> int:
    size = max(50, round(4 * min(strength, items))) if head is None else head
    return min(size, items, MOST_HEAD)


_ALL = (RefinedSettings, CovarianceSettings, SlopeOneSettings, CosineSettings)
SETTINGS: dict[Method, type[Settings]] = {settings.method: settings for settings in _ALL}
