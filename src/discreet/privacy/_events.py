"""What was spent, as data.

An event says which mechanism drew noise of which size against which sensitivity. The accountant
composes events, ledgers store them, releases carry them; none of these knows the code that sampled.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.domain import InputError

MOST_LETTERS = 300
"""Characters of a population's name or a purpose: one line of a table. Chosen."""


class Unit(enum.StrEnum):
    """Two data sets are neighbours if one unit is in one of them and not in the other."""

    RATING = "rating"
    """One (user, item, rating) record, with its time if any, after duplicates were folded."""
    USER = "user"
    """One user with all their records."""
    USER_DAY = "user-day"
    """One user's records of one day (UTC), as far as they count."""
    USER_WEEK = "user-week"
    """One user's records of one week (Monday to Sunday, UTC), as far as they count."""
    USER_MONTH = "user-month"
    """One user's records of one calendar month (UTC), as far as they count."""

    @property
    def is_period(self) -> bool:
        """Whether it is one user's records of one period: what series protect."""
        return self in PERIOD_UNITS

    @property
    def period(self) -> str:
        """What its period is called: "month"; a user's or a rating's is "period"."""
        return self.value.removeprefix("user-") if self.is_period else "period"


FIT_UNITS = (Unit.RATING, Unit.USER)
"""What a single release can protect."""
PERIOD_UNITS = (Unit.USER_DAY, Unit.USER_WEEK, Unit.USER_MONTH)
"""What a series can protect besides ratings, the shortest period first."""

# How many user-periods of the first kind change with one of the second, at most. A part of a
# period that comes or goes turns the user's whole period into another one: that counts as two, one
# removed and one added.
_GROUPS = {
    # A shorter period lies in one longer one; but a week may lie in two months.
    (Unit.USER_WEEK, Unit.USER_DAY): 2,
    (Unit.USER_MONTH, Unit.USER_DAY): 2,
    (Unit.USER_MONTH, Unit.USER_WEEK): 4,
    # A longer one consists of whole shorter ones; but a month may begin and end within weeks: at
    # most four whole ones, and a part of one at either end.
    (Unit.USER_DAY, Unit.USER_WEEK): 7,
    (Unit.USER_DAY, Unit.USER_MONTH): 31,
    (Unit.USER_WEEK, Unit.USER_MONTH): 8,
}


@dataclass(frozen=True, kw_only=True)
class Event(abc.ABC):
    """One spend, or `count` equal ones.

    Attributes:
        unit: Whose presence the sensitivity speaks of.
        label: What was released, in a few words: "item counts".
        count: How many times.
        ratings_per_user: For unit `rating`, the most records that one user may have had in the
            data; None if nothing bounds it. A user's presence then costs that many times as much.
        covers_change: The bound already covers a rating whose value changes (local randomizers).
            Elsewhere a change is one rating less and one more, and costs twice.
    """

    kind: ClassVar[str]

    unit: Unit
    label: str
    count: int = 1
    ratings_per_user: int | None = None
    covers_change: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.unit, Unit):
            raise InputError(f"an event's unit is a Unit, like Unit.USER, not {self.unit!r}")
        _whole("count", self.count)
        if self.ratings_per_user is not None:
            _whole("ratings_per_user", self.ratings_per_user)
        if not isinstance(self.covers_change, bool):
            raise InputError(f"covers_change is True or False, not {self.covers_change!r}")

    @abc.abstractmethod
    def scaled(self, factor: int) -> Event:
        """The same spend as a group of `factor` units sees it."""

    def seen_by(self, unit: Unit) -> Event | None:
        """The same spend as one `unit` sees it; None if nothing bounds what it could cost.

        A user with at most r ratings is a group of r ratings. A rating more or less turns its user
        into another one: that is one user less and one user more, a group of two. So does a
        period's worth of ratings. Nothing bounds how many periods a user has.
        """
        factor = self._group(unit)
        if factor is None or unit is self.unit:
            return None if factor is None else self
        return dataclasses.replace(self.scaled(factor), unit=unit, ratings_per_user=None)

    def _group(self, unit: Unit) -> int | None:
        """How many of this event's units change with one of another kind; None for any number."""
        if unit is self.unit:
            return 1
        if self.unit is Unit.RATING:
            return self.ratings_per_user
        if self.unit is Unit.USER or unit is Unit.RATING:
            return 2
        return None if unit is Unit.USER else group_of(self.unit, unit)

    def seen_by_change(self) -> Event:
        """The same spend for someone who changes the value of one rating."""
        return self if self.covers_change else self.scaled(2)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `event_from_dict` reads back without loss."""
        return {"kind": self.kind} | dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise of standard deviation `sigma` on values of L2 sensitivity `sensitivity`.

    It is mu-GDP with mu = sensitivity / sigma, which for integer values and rounded noise is exact:
    delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2). The two share one measure (grid
    units). A group of g units has g times the sensitivity.
    """

    kind: ClassVar[str] = "gaussian"

    sensitivity: float
    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("sensitivity", self.sensitivity)
        _positive("sigma", self.sigma)

    @property
    def mu(self) -> float:
        """The mean shift in standard deviations, rounded up."""
        return round_up(self.sensitivity / self.sigma)

    def scaled(self, factor: int) -> GaussianEvent:
        """A group of `factor` units: that many times the sensitivity."""
        return dataclasses.replace(self, sensitivity=_times(self.sensitivity, factor))


@dataclass(frozen=True, kw_only=True)
class GeometricEvent(Event):
    """Two-sided geometric noise, P(k) proportional to exp(-|k|/scale), L1 sensitivity.

    It is eps-DP with eps = sensitivity / scale; a group of g units has g times the sensitivity.
    """

    kind: ClassVar[str] = "geometric"

    sensitivity: float
    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("sensitivity", self.sensitivity)
        _positive("scale", self.scale)

    @property
    def epsilon(self) -> float:
        """The pure epsilon, rounded up."""
        return round_up(self.sensitivity / self.scale)

    def scaled(self, factor: int) -> GeometricEvent:
        """A group of `factor` units: that many times the sensitivity."""
        return dataclasses.replace(self, sensitivity=_times(self.sensitivity, factor))


@dataclass(frozen=True, kw_only=True)
class PureEvent(Event):
    """Any mechanism whose output probabilities differ by at most e^epsilon between neighbours.

    A group of g units: epsilon g times over, by passing from one neighbour to the next.
    """

    kind: ClassVar[str] = "pure"

    epsilon: float
    mechanism: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("epsilon", self.epsilon)

    def scaled(self, factor: int) -> PureEvent:
        """A group of `factor` units: that many times the epsilon."""
        return dataclasses.replace(self, epsilon=_times(self.epsilon, factor))


_KINDS: dict[str, type[Event]] = {
    event.kind: event for event in (GaussianEvent, GeometricEvent, PureEvent)
}


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Read what `Event.to_dict` wrote.

    Raises:
        InputError: The kind is not known here (a newer version's, perhaps) or a field is off.
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(f"'{kind}' is not a kind of spend that this version knows")
    fields = {name: value for name, value in data.items() if name != "kind"}
    try:
        return _KINDS[kind](**fields | {"unit": Unit(fields["unit"])})
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"a {kind} spend has wrong fields: {error}") from error


def fit_unit(value: Unit | str) -> Unit:
    """What a single release is to protect, by its name.

    Raises:
        InputError: It is neither a rating nor a user.
    """
    if value in FIT_UNITS:
        return Unit(value)
    said = f"protect is one of {', '.join(FIT_UNITS)}, not '{value}'"
    if value in PERIOD_UNITS:
        said += "; a series protects that, see discreet series"
    raise InputError(said)


def is_line(text: str) -> bool:
    """Whether a text is one line of printable characters, neither empty nor too long."""
    return bool(text.strip()) and len(text) <= MOST_LETTERS and text.isprintable()


def group_of(unit: Unit, other: Unit) -> int:
    """How many user-periods of a kind change with one user-period of another kind, at most."""
    return 1 if unit is other else _GROUPS[unit, other]


def round_up(value: float) -> float:
    """The next float above: a quotient rounded to nearest is never below the true one then."""
    return math.nextafter(value, math.inf)


def _times(value: float, factor: int) -> float:
    if factor < 1:
        raise InputError(f"a group has at least one member, not {factor}")
    return value if factor == 1 else round_up(value * factor)


def _whole(name: str, value: int) -> None:
    # Up to 2^53 a whole number is a float without rounding, which `round_up` relies on.
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**53:
        raise InputError(f"{name} must be a whole number from 1 to 2^53, not {value!r}")


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} must be a positive finite number, not {value:g}")
