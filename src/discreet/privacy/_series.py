"""Series: releases whose records come in periods, each measured once. What they cost whom.

A series is public: its terms are fixed when its first period is charged, and every later period is
charged under the same terms. `ledger/PROOF.md` has the statement and the proof.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.domain import InputError
from discreet.privacy._events import (
    MOST_LETTERS,
    PERIOD_UNITS,
    Event,
    GaussianEvent,
    Unit,
    event_from_dict,
    group_of,
    is_line,
    round_up,
)
from discreet.privacy.accounting import Totals, compose
from discreet.privacy.running_noise import NoisePlan

_IDENTIFIER = re.compile(r"[0-9a-f]{16,64}")
# How many user-periods of a kind one longer user-period meets, each of them counted once.
_MEETS = {
    (Unit.USER_DAY, Unit.USER_WEEK): 7,
    (Unit.USER_DAY, Unit.USER_MONTH): 31,
    (Unit.USER_WEEK, Unit.USER_MONTH): 6,
}
# Seconds of a day, and the first second of a time that datetime cannot express (the year 10000).
_DAY = 86_400
_LAST = 253_402_300_800
# Days from a Monday to 1 January 1970, a Thursday.
_MONDAY = 3
# More periods than any series has: for what a cost grows to in a whole life. Chosen by hand.
_FOREVER = 10**9


@dataclass(frozen=True)
class Period:
    """One period of a series: which records it is about. Public.

    Attributes:
        number: 1 for the first period of its series, then 2, and so on.
        name: What it is called: "2026-W12".
        start: The first second of it (since 1970, UTC); None if records have no times.
        end: The first second after it; None if records have no times.
    """

    number: int
    name: str
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        _check_whole("a period's number", self.number)
        if not isinstance(self.name, str) or not is_line(self.name):
            raise InputError(
                f"a period's name is one line of 1 to {MOST_LETTERS} printable characters"
            )
        if (self.start is None) != (self.end is None):
            raise InputError(f"period {self.name}: give both its start and its end, or neither")
        if self.start is None or self.end is None:
            return
        if not all(type(time) is int for time in (self.start, self.end)):
            raise InputError(f"period {self.name}: its start and end are whole seconds since 1970")
        if not 0 <= self.start < self.end <= _LAST:
            raise InputError(
                f"period {self.name}: it starts in 1970 or later and ends after its start"
            )

    @property
    def is_timed(self) -> bool:
        """Whether it is known from when to when it lasts."""
        return self.start is not None

    def windows(self, unit: Unit) -> tuple[int, int]:
        """The numbers of the first and the last calendar day, week or month that it meets.

        Only for a period with times and a unit with a period.
        """
        assert self.start is not None and self.end is not None
        return _window(self.start, unit), _window(self.end - 1, unit)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, data: Any) -> Period:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        return cls(**_fields("a period", data, ("number", "name", "start", "end")))


@dataclass(frozen=True)
class SeriesTerms:
    """What a series may cost, fixed before its first period is measured. Public.

    Attributes:
        series: Which series: 16 to 64 random hexadecimal digits.
        unit: `rating`, or one user's records of one period.
        event: What one unit of one period costs over the whole life of the series: the draws of
            its own period and all later ones that its records are still seen in. For `rating`,
            `ratings_per_user` bounds a user's records of one period.
        plan: How the noise of a period depends on that of earlier ones.
        most_periods: In how many periods one user's records are used at most; None for no bound.
        crosses: Whether records are measured again in later periods, together with newer ones of
            the same user; `event` then covers that too.
    """

    series: str
    unit: Unit
    event: Event
    plan: NoisePlan
    most_periods: int | None = None
    crosses: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.series, str) or not _IDENTIFIER.fullmatch(self.series):
            raise InputError("a series is named by 16 to 64 hexadecimal digits in lower case")
        if self.unit not in (Unit.RATING, *PERIOD_UNITS):
            raise InputError(
                "a series protects ratings or a user's records of one period: rating, "
                f"{', '.join(PERIOD_UNITS)}; not '{self.unit}'"
            )
        if not isinstance(self.event, Event) or self.event.unit is not self.unit:
            raise InputError("what a unit of a series costs is an event of the same unit")
        if self.event.count != 1:
            raise InputError("what a unit of a series costs is stated as one event, not several")
        if not isinstance(self.plan, NoisePlan):
            raise InputError("a series has a noise plan")
        if not isinstance(self.event, GaussianEvent) and self.plan.buffers:
            raise InputError(
                "noise that takes back earlier noise has to be Gaussian; give a series with "
                "Laplace noise a fresh plan (NoisePlan.fresh)"
            )
        if not isinstance(self.crosses, bool):
            raise InputError(f"crosses is True or False, not {self.crosses!r}")
        if self.most_periods is None:
            return
        _check_whole("the most periods of one user", self.most_periods)
        if self.unit is Unit.RATING:
            # One rating more may be what makes a period count, and so bring in many.
            raise InputError(
                "a bound on the periods of one user is for series that protect user-days, "
                "user-weeks or user-months, not ratings"
            )

    def cost(self, unit: Unit, periods: Sequence[Period]) -> Totals:
        """What these periods, from the first on, cost one unit of any kind.

        An infinite pure epsilon says that nothing bounds it.
        """
        return self._after(unit, len(periods), _met(unit, periods))

    def cost_after(self, unit: Unit, periods: int) -> Totals:
        """The same for a number of periods of which nothing is known: at least as much."""
        return self._after(unit, periods, periods)

    def cost_of_life(self, periods: int) -> Totals:
        """What a user pays in the whole life of the series who is there in so many periods.

        For a series that protects ratings: with as many ratings in each as one may have.
        """
        reach = 1 if self.unit is not Unit.RATING else self.event.ratings_per_user
        if reach is None:
            return Totals(pure=float("inf"))
        return self._total(_FOREVER, reach, periods)

    def cost_of_change(self) -> Totals:
        """What one unit pays over the life of the series whose ratings are changed to others."""
        return compose([self.event.seen_by_change()])

    def _after(self, unit: Unit, count: int, met: int) -> Totals:
        """The cost after `count` periods, of which one unit's ratings can lie in `met`."""
        if not count:
            return Totals()
        cap = self.most_periods
        if unit is self.unit:
            # With a cap, one more can push out a later one, and one less let it in.
            return self._total(_FOREVER, 1, 1 if cap is None else 2)
        if self.unit is Unit.RATING:
            return self._total(count, self.event.ratings_per_user, met)
        if unit is Unit.RATING:
            return self._total(_FOREVER, 2, 1)
        if unit is Unit.USER:
            return self._total(count, 1, cap or count)
        changed, shorter = group_of(self.unit, unit), _MEETS.get((self.unit, unit))
        if shorter is None:  # the series' periods are the longer ones
            return self._total(_FOREVER, changed, 1)
        each = 1 if changed == shorter else 2
        if cap is not None:  # as many later ones may come in as go
            shorter = changed = 2 * min(shorter, cap)
        return self._total(count, each, shorter, changed)

    def _total(self, count: int, each: int | None, active: int, group: int | None = None) -> Totals:
        """The cost of `each` units in `active` of `count` periods, or of `group` in all."""
        if each is None:
            return Totals(pure=float("inf"))
        once, active = compose([self.event]), min(active, count)
        most = None if group is None else float(group)
        if not isinstance(self.event, GaussianEvent):
            return Totals(pure=_times(once.pure, _least(each * active, most)))
        grown = _least(self._grown(count, active) * each**2, None if most is None else most**2)
        return Totals(mu_squared=_times(once.mu_squared, grown))

    def _grown(self, count: int, active: int) -> float:
        """By how much the mu^2 of a unit in `active` of `count` periods is above that of one."""
        if active == 1:
            return 1.0
        if self.crosses:  # of several units all that is known is that they are a group
            return float(active) ** 2
        return max(1.0, self.plan.growth(count, active))

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back without loss."""
        return {
            "series": self.series,
            "unit": str(self.unit),
            "event": self.event.to_dict(),
            "plan": self.plan.to_dict(),
            "most_periods": self.most_periods,
            "crosses": self.crosses,
        }

    @classmethod
    def from_dict(cls, data: Any) -> SeriesTerms:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        names = ("series", "unit", "event", "plan", "most_periods", "crosses")
        fields = _fields("a series", data, names)
        try:
            fields["unit"] = Unit(fields["unit"])
        except ValueError:
            raise InputError("a series has a unit that this version does not know") from None
        fields["event"] = event_from_dict(fields["event"])
        fields["plan"] = NoisePlan.from_dict(fields["plan"])
        return cls(**fields)


@dataclass(frozen=True)
class SeriesRecord:
    """What a release says of the series that it belongs to. Public.

    Attributes:
        terms: What the series may cost.
        periods: How many there were when the release was made.
        latest: The name of the last of them.
        is_timed: Whether the ledger knows from when to when periods last.
    """

    terms: SeriesTerms
    periods: int
    latest: str
    is_timed: bool

    def __post_init__(self) -> None:
        if not isinstance(self.terms, SeriesTerms) or not isinstance(self.is_timed, bool):
            raise InputError("a release of a series says under which terms it was made")
        Period(self.periods, self.latest)  # the same rules

    @property
    def data(self) -> str:
        """What the release was made from, after "from"."""
        if self.periods == 1:
            return f"one period, {self.latest}"
        return f"{self.periods:,} periods, the latest of them {self.latest}"

    @property
    def assumption(self) -> str | None:
        """What nobody could check, as a clause after "that"; None if everything was checked."""
        if self.is_timed:
            return None
        said = "no rating was added in two periods"
        if self.terms.unit.is_period:
            unit = self.terms.unit.period
            said += f", each period has the ratings of one {unit}, and no {unit} is in two periods"
        return f"{said} (there are no times to check it by)"

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        return vars(self) | {"terms": self.terms.to_dict()}

    @classmethod
    def from_dict(cls, data: Any) -> SeriesRecord:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        names = ("terms", "periods", "latest", "is_timed")
        fields = _fields("a release of a series", data, names)
        return cls(**fields | {"terms": SeriesTerms.from_dict(fields["terms"])})


def _met(unit: Unit, periods: Sequence[Period]) -> int:
    """In how many of these periods, in order of time, one user's ratings of a unit can lie."""
    if not unit.is_period or not all(period.is_timed for period in periods):
        return len(periods)
    most, last, running = 0, None, 0
    for period in periods:
        first, end = period.windows(unit)
        running = running + 1 if first == last else 1
        most = max(most, running)
        if end != first:
            running = 1
        last = end
    return most


def _window(time: int, unit: Unit) -> int:
    """The number of the day, week or month (UTC) that a second lies in."""
    day = time // _DAY
    if unit is Unit.USER_DAY:
        return day
    if unit is Unit.USER_WEEK:
        return (day + _MONDAY) // 7
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
    return 12 * date.year + date.month


def _least(value: float, most: float | None) -> float:
    return value if most is None else min(value, most)


def _times(value: float, factor: float) -> float:
    return value if factor == 1 else round_up(value * factor)


def _check_whole(what: str, number: Any) -> None:
    # As many as there are seconds in a day: more than any series has. Chosen by hand.
    if type(number) is not int or not 1 <= number <= _DAY:
        raise InputError(f"{what} is a whole number from 1 to {_DAY:,}")


def _fields(what: str, data: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, Mapping) or set(data) != set(names):
        raise InputError(f"{what} has other fields than {', '.join(names)}")
    return dict(data)
