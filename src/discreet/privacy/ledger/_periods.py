"""Which period of a series may be charged next, what it adds, and what is to come after it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded, PeriodExists
from discreet.privacy._events import Unit, round_up
from discreet.privacy._series import Period, SeriesTerms
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger._entries import Entry
from discreet.privacy.ledger._limits import Cost, Limit, costs_of, spend


class Progress:
    """How far a series is, by the charges of a ledger.

    A period that was charged and not published may be charged again: nothing was published with
    the first charge, and nothing can be any more once there is a second. The last charge of a
    period is the one that counts.

    Args:
        series: Which one.
        entries: All charges of the ledger, in order.
    """

    def __init__(self, series: str, entries: Sequence[Entry]) -> None:
        latest: dict[int, Entry] = {}
        for entry in entries:
            if entry.terms is not None and entry.terms.series == series:
                assert entry.period is not None
                latest[entry.period.number] = entry
        self._entries = [latest[number] for number in sorted(latest)]

    @property
    def unfinished(self) -> Entry | None:
        """The charge of a period that is not published yet, if there is one."""
        last = self._entries[-1] if self._entries else None
        return None if last is None or last.published is not None else last

    @property
    def periods(self) -> tuple[Period, ...]:
        """Everything that was charged, an unfinished period included."""
        return tuple(_period(entry) for entry in self._entries)

    @property
    def _published(self) -> list[Entry]:
        return [entry for entry in self._entries if entry.published is not None]

    def check(self, terms: SeriesTerms, period: Period) -> None:
        """Refuse a period that is not the next one, or not disjoint from those before.

        Raises:
            PeriodExists: It was published before.
            InputError: The terms are others, or the period does not follow the last one.
        """
        if any(entry.terms != terms for entry in self._entries):
            raise InputError(
                f"series {_short(terms.series)} was begun under other terms, and the terms of a "
                "series never change; begin another one"
            )
        done = self._published
        for entry in done:
            if _is_same(_period(entry), period):
                raise PeriodExists(
                    f"period {entry.period.number:,} of this series, '{entry.period.name}', was "  # type: ignore[union-attr]
                    f"published with charge {entry.number:,}; nothing was charged"
                )
        if period.number != len(done) + 1:
            raise InputError(_out_of_turn(len(done) + 1, period, self.unfinished))
        _check_aligned(terms.unit, period)
        if done:
            _check_follows(terms.unit, _period(done[-1]), period)

    def costs(self, terms: SeriesTerms, period: Period) -> dict[Unit, tuple[Cost, ...]]:
        """What charging a period adds for each unit: nothing for a unit that has paid before."""
        charged = self.periods
        after = (*charged[: period.number - 1], period)
        return {
            unit: difference(terms.cost(unit, after), terms.cost(unit, charged)) for unit in Unit
        }


def superseding(number: int, entries: Sequence[Entry]) -> Entry | None:
    """The later charge of the same period of the same series, if there is one."""
    charged = next((entry for entry in entries if entry.number == number), None)
    if charged is None or charged.terms is None:
        return None
    latest = [
        entry
        for entry in entries
        if entry.terms is not None
        and entry.terms.series == charged.terms.series
        and _period(entry).number == _period(charged).number
    ][-1]
    return None if latest.number == number else latest


def _period(entry: Entry) -> Period:
    assert entry.period is not None
    return entry.period


def _is_same(old: Period, new: Period) -> bool:
    if old.number == new.number or old.name == new.name:
        return True
    return new.is_timed and (old.start, old.end) == (new.start, new.end)


def _out_of_turn(expected: int, period: Period, unfinished: Entry | None) -> str:
    said = f"the next period of this series is number {expected:,}, not {period.number:,}"
    if unfinished is None:
        return said
    return f"{said}: '{_period(unfinished).name}' was charged and not published; repeat it first"


def _check_aligned(unit: Unit, period: Period) -> None:
    """Whether all records of a period lie in one period of the unit that is protected."""
    if not unit.is_period or not period.is_timed:
        return
    first, last = period.windows(unit)
    if first != last:
        raise InputError(
            f"'{period.name}' does not lie within one {unit.period} (UTC), and the series protects "
            f"{unit}s; give it periods of a {unit.period}, or protect something else"
        )


def _check_follows(unit: Unit, last: Period, period: Period) -> None:
    if period.is_timed != last.is_timed:
        raise InputError(
            f"'{last.name}' and '{period.name}': all periods of a series have a start and an end, "
            "or none has"
        )
    if period.start is None or last.start is None or last.end is None:
        return
    if period.start < last.end:
        how = "overlaps" if period.end is None or period.end > last.start else "lies before"
        raise InputError(
            f"'{period.name}' {how} '{last.name}', which is in the series already; a record may "
            "count in one period only, and periods come in the order of time"
        )
    if unit.is_period and period.windows(unit)[0] == last.windows(unit)[1]:
        raise InputError(
            f"'{period.name}' is of the same {unit.period} (UTC) as '{last.name}', and the series "
            f"protects {unit}s: one {unit.period} may count in one period only"
        )


def difference(after: Totals, before: Totals) -> tuple[Cost, ...]:
    """What is to be added to `before` for at least `after`; nothing if it is there already."""
    if math.isinf(after.pure):
        return (Cost(after),)
    pure = _above(after.pure, before.pure)
    mu_squared = _above(after.mu_squared, before.mu_squared)
    return (Cost(Totals(pure, mu_squared)),) if pure or mu_squared else ()


def _above(after: float, before: float) -> float:
    if after <= before:
        return 0.0
    return after if before == 0 else round_up(after - before)


def _short(series: str) -> str:
    return f"{series[:12]}..."


def epsilons_ahead(limit: Limit, last: Entry, times: int) -> list[float]:
    """What the limit's unit has spent after each of `times` more charges, at the limit's delta.

    After a period of a series come its next periods, of which nothing else is known; after any
    other charge the same one again. Nothing where nothing bounds the cost.

    Args:
        limit: For the unit that is asked about.
        last: The newest charge of the ledger.
        times: How many more.
    """
    spent, found = last.spent[limit.unit], []
    for step in range(times):
        costs = _costs(last, limit.unit, step)
        try:
            limit.check_bounded(costs)
        except BudgetExceeded:
            return []
        spent = spend(spent, costs, limit.reserve)
        found.append(limit.spent_epsilon(spent))
    return found


def _costs(last: Entry, unit: Unit, step: int) -> Sequence[Cost]:
    if last.terms is None or last.period is None:
        return costs_of(last.events, unit)
    number = last.period.number + step
    before, after = (last.terms.cost_after(unit, count) for count in (number, number + 1))
    return difference(after, before)
