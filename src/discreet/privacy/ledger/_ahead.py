"""What the next charges would bring a ledger to, if each is like the last one. Books nothing."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.domain.errors import BudgetExceeded
from discreet.privacy._events import Unit
from discreet.privacy.ledger._entries import Entry
from discreet.privacy.ledger._limits import Cost, Limit, costs_of, spend
from discreet.privacy.ledger._periods import difference


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
