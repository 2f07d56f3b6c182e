"""Names of periods: which records a day, a week, a month or a range of days holds. All in UTC."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping

from discreet.domain import InputError
from discreet.privacy import Period, Unit

_DAY = datetime.timedelta(days=1)

# Names of the kinds of periods, and how one is written.
KINDS: Mapping[str, str] = {
    "day": "2026-03-14",
    "week": "2026-W11",
    "month": "2026-03",
    "range": "2026-03-01..2026-03-14",
    "any": "a name of your own, for records without times",
}

_UNITS = {Unit.USER_DAY: "day", Unit.USER_WEEK: "week", Unit.USER_MONTH: "month"}


def kind_of(unit: Unit, kind: str | None) -> str:
    """The kind of a series' periods.

    Args:
        unit: What the series protects; user-weeks come in weeks.
        kind: As asked for; None for the unit's own, and `range` for ratings.

    Raises:
        InputError: There is no such kind, or the unit has another.
    """
    own = _UNITS.get(unit)
    if kind is None:
        return own or "range"
    if kind not in KINDS:
        raise InputError(f"a period is one of {', '.join(KINDS)}, not '{kind}'")
    if own is not None and kind != own:
        raise InputError(f"a series that protects {unit}s has periods of a {own}, not '{kind}'")
    return kind


def period_of(kind: str, name: str, number: int) -> Period:
    """The period of a name: `2026-03` is a month.

    A series of ratings whose periods are ranges takes days, weeks and months too.

    Raises:
        InputError: It is not written like a period of this kind, or there is no such day.
    """
    if kind == "any":
        return Period(number, name)
    kinds = tuple(_SPANS) if kind == "range" else (kind,)
    for each in kinds:
        pattern, span = _SPANS[each]
        found = pattern.fullmatch(name)
        if found is None:
            continue
        try:
            start, end = span(found)
            return Period(number, name, _seconds(start), _seconds(end))
        except (ValueError, OverflowError):
            raise InputError(f"there is no period '{name}'") from None
    raise InputError(f"'{name}' is not written like a {kind}: {KINDS[kind]}")


def _seconds(day: datetime.date) -> int:
    return (day - datetime.date(1970, 1, 1)).days * 86_400


_Span = tuple[datetime.date, datetime.date]


def _day(found: re.Match[str]) -> _Span:
    day = datetime.date(int(found[1]), int(found[2]), int(found[3]))
    return day, day + _DAY


def _week(found: re.Match[str]) -> _Span:
    monday = datetime.date.fromisocalendar(int(found[1]), int(found[2]), 1)
    return monday, monday + 7 * _DAY


def _month(found: re.Match[str]) -> _Span:
    year, month = int(found[1]), int(found[2])
    return datetime.date(year, month, 1), datetime.date(year + month // 12, month % 12 + 1, 1)


def _range(found: re.Match[str]) -> _Span:
    first, last = (datetime.date.fromisoformat(each) for each in found.groups())
    return first, last + _DAY


_SPANS: Mapping[str, tuple[re.Pattern[str], Callable[[re.Match[str]], _Span]]] = {
    "day": (re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"), _day),
    "week": (re.compile(r"([0-9]{4})-W([0-9]{2})"), _week),
    "month": (re.compile(r"([0-9]{4})-([0-9]{2})"), _month),
    "range": (re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.\.([0-9]{4}-[0-9]{2}-[0-9]{2})"), _range),
}
