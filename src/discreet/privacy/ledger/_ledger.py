"""What a population of people has spent, and how much it may."""

from __future__ import annotations

import datetime
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded, LedgerError
from discreet.privacy._events import FIT_UNITS, MOST_LETTERS, Event, Unit, is_line
from discreet.privacy._guarantee import ChargeRecord, Guarantee
from discreet.privacy._receipt import Randomness, Receipt, issue
from discreet.privacy._series import Period, SeriesTerms
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger import _entries, _store
from discreet.privacy.ledger._entries import Entry, Row, Spent, Title
from discreet.privacy.ledger._limits import (
    Cost,
    Limit,
    Plan,
    Room,
    costs_of,
    largest_release,
    make_plan,
    planned_release,
    spend,
)
from discreet.privacy.ledger._pairing import Pairing, pair
from discreet.privacy.ledger._periods import Progress, superseding

_ADVICE = (
    "'discreet ledger plan' says how large each of several releases may be, and 'discreet series' "
    "refreshes a release without measuring old ratings again"
)
_ADVICE_ON_SERIES = (
    "'discreet series plan' says what a series adds up to; for a user that stops growing where it "
    "counts everybody in a few periods only (most_periods, --most-periods)"
)
_WAIT = 30.0
"""Seconds to wait for another process's transaction, which takes milliseconds. Chosen."""


class Ledger:
    """The spends of one named population, in one file, with limits that no charge can pass.

    It belongs to the people, not to a file of their ratings: next month's data of the same people
    charges the same ledger. It holds spends only; nothing in it was computed from a rating.

    Charges are on disk before a receipt exists, and mechanisms draw from receipts only: a crash
    can waste budget, never lose a spend. Any number of processes and threads may use one file.

    Use `create` or `open`.
    """

    def __init__(self, path: Path, title: Title, wait: float) -> None:
        self.path = path
        self._title = title
        self._wait = wait
        self.limits = _entries.read_limits(title.limits)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        population: str,
        limits: Iterable[Limit],
        *,
        wait: float = _WAIT,
    ) -> Ledger:
        """Make a new ledger; the file appears whole or not at all, and never over another.

        Args:
            path: Where.
            population: Whose spends it counts, in words: "customers of the shop".
            limits: One for `user`, one for `rating`, or for any other units; one each. They never
                change.
            wait: How many seconds to wait while another process writes.

        Raises:
            InputError: The population has no name, or there is no limit, or two for one unit.
            LedgerError: Something is at `path` already, or it cannot be written.
        """
        limits = tuple(limits)
        _check_text("a population's name", population)
        if not limits or len({limit.unit for limit in limits}) < len(limits):
            raise InputError(
                f"a ledger needs a limit for at least one unit ({', '.join(Unit)}), and no more "
                "than one for each"
            )
        title = Title(population, _entries.now(), _entries.write_limits(limits))
        _store.create(Path(path), title)
        return cls(Path(path), title, wait)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        population: str | None = None,
        *,
        wait: float = _WAIT,
    ) -> Ledger:
        """Open a ledger after a look at all of it; never makes or changes one.

        Args:
            path: Where it is.
            population: Whose it must be; None accepts any.
            wait: How many seconds to wait while another process writes.

        Raises:
            LedgerError: It is missing, foreign, of a newer format, damaged, or of others.
        """
        place = Path(path)
        with _store.reading(place, wait) as connection:
            _store.check_pages(place, connection)
            title = _store.read_title(place, connection)
            for _ in _store.read_rows(place, connection, title):
                pass
            for _ in _store.read_publications(place, connection, title):
                pass
        if population is not None and title.population != population:
            raise LedgerError(
                f"{place}: counts the spends of '{title.population}', not of '{population}'"
            )
        return cls(place, title, wait)

    @property
    def population(self) -> str:
        """Whose spends it counts."""
        return self._title.population

    @property
    def created(self) -> datetime.datetime:
        """When it was made, in UTC."""
        return datetime.datetime.fromisoformat(self._title.created)

    @property
    def fingerprint(self) -> str:
        """The digest of what it says of itself, which no charge changes: which ledger it is."""
        return self._title.digest

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, {self.population!r})"

    def limit(self, unit: Unit) -> Limit | None:
        """The limit of a unit, or None."""
        return next((limit for limit in self.limits if limit.unit is unit), None)

    def charge(
        self,
        events: Iterable[Event],
        purpose: str,
        *,
        randomness: Randomness | None = None,
        configuration: str | None = None,
    ) -> Receipt:
        """Record events and issue the receipt to draw them. All of them are recorded, or none.

        The events must follow from public facts alone (parameters, earlier releases): a noise
        size or a bound on ratings per user that was read off the private data reveals something.

        Args:
            events: What is to be drawn.
            purpose: What for: one line for the history, without anything private.
            randomness: The source of the noise. A seeded source costs the same.
            configuration: The digest of the public configuration that is paid for, for the record.

        Raises:
            BudgetExceeded: A limit would be passed; nothing was charged.
            InputError: There is no event or no purpose.
            LedgerError: The ledger cannot be used; there is no receipt, so nothing can be drawn.
        """
        events = tuple(events)
        _check_text("a purpose", purpose)
        if not events:
            raise InputError("there is nothing to charge: no event was given")
        is_private = randomness is None or randomness.is_private
        with _store.writing(self.path, self._wait) as connection:
            last, spent = self._state(connection)
            after = self._after(spent, events)
            row = self._row(last, purpose, is_private, events, after, configuration)
            _store.append(connection, row)
        return issue(events, randomness, self._record(row.number, row.digest))

    def charge_period(
        self,
        terms: SeriesTerms,
        period: Period,
        purpose: str,
        *,
        randomness: Randomness | None = None,
        configuration: str | None = None,
    ) -> Receipt:
        """Record the next period of a series and issue the receipt to draw `terms.event`.

        The first period fixes the terms. What a period adds depends on the unit: nothing for a
        rating after the first, since every rating lies in one period; something for a user who
        may be there in all of them (`SeriesTerms.cost`).

        Nothing that was drawn may leave the process before `record_publication` has returned. So
        a period that was charged and not published may be charged again, after a crash or with
        another configuration, and costs nothing more. The same configuration gives a receipt for
        the same charge; another one makes a new charge, and nothing can be published with the old
        one any more.

        Args:
            terms: The same for all periods of a series.
            period: The next one.
            purpose: What for: one line for the history, without anything private.
            randomness: The source of the noise. A seeded source costs the same.
            configuration: The digest of the public configuration that is paid for, for the record.

        Raises:
            BudgetExceeded: A limit would be passed; nothing was charged.
            PeriodExists: The period was published before.
            InputError: The terms are not those of the series, or the period is not its next one,
                or it is not disjoint from those before.
            LedgerError: The ledger cannot be used; there is no receipt, so nothing can be drawn.
        """
        _check_text("a purpose", purpose)
        is_private = randomness is None or randomness.is_private
        events = (terms.event,)
        with _store.writing(self.path, self._wait) as connection:
            last, spent = self._state(connection)
            progress = Progress(terms.series, _read(self.path, connection, self._title))
            progress.check(terms, period)
            begun = progress.unfinished
            asked = (period, configuration, is_private)
            if begun and (begun.period, begun.configuration, begun.is_private) == asked:
                record = self._record(begun.number, begun.digest)
            else:
                costs = progress.costs(terms, period)
                after = self._after_costs(spent, costs, _ADVICE_ON_SERIES)
                series = _entries.write_series(terms, period)
                row = self._row(last, purpose, is_private, events, after, configuration, series)
                _store.append(connection, row)
                record = self._record(row.number, row.digest)
        return issue(events, randomness, record)

    def periods(self, series: str) -> tuple[Period, ...]:
        """The periods of a series that were published, in order."""
        done = Progress(series, self.history())
        return done.periods[:-1] if done.unfinished else done.periods

    def _row(
        self,
        last: Row | None,
        purpose: str,
        is_private: bool,
        events: Sequence[Event],
        after: Spent,
        configuration: str | None,
        series: str | None = None,
    ) -> Row:
        previous, number = (self._title.digest, 0) if last is None else (last.digest, last.number)
        texts = (_entries.write_events(events), _entries.write_spent(after))
        return Row(
            previous, number + 1, _entries.now(), purpose, int(is_private), *texts, configuration,
            series,
        )  # fmt: skip

    def _record(self, number: int, digest: str) -> ChargeRecord:
        return ChargeRecord(self.fingerprint, self.population, number, digest)

    def record_publication(self, charge: ChargeRecord, content: str) -> None:
        """Record what a charge paid for, so that the file and the ledger can be held together.

        One charge pays for one file. Recording the same file again changes nothing.

        Args:
            charge: As its receipt has it.
            content: The digest of what is published.

        Raises:
            LedgerError: The charge is not in this ledger, or paid for another file; or the ledger
                cannot be used.
        """
        with _store.writing(self.path, self._wait) as connection:
            self._check_title(connection)
            found, is_period = _store.read_charge(connection, charge.number)
            if charge.ledger != self.fingerprint or found != charge.digest:
                raise LedgerError(
                    f"{self.path}: does not contain the charge that paid for this file"
                )
            before = _store.content_of(connection, charge.number)
            if before is None and is_period:
                self._check_current(connection, charge.number)
            if before not in (None, content):
                raise LedgerError(
                    f"{self.path}: charge {charge.number:,} has paid for another file already"
                )
            if before is None:
                new = (_entries.now(), (charge.number, charge.digest), content)
                _store.append_publication(self.path, connection, self._title, *new)

    def _check_current(self, connection: sqlite3.Connection, number: int) -> None:
        """Refuse to publish with a charge of a period that was charged again since."""
        later = superseding(number, _read(self.path, connection, self._title))
        if later is not None:
            raise LedgerError(
                f"{self.path}: charge {number:,} was replaced by charge {later.number:,} for the "
                "same period, and nothing may be published with it"
            )

    def pair(self, guarantee: Guarantee, content: str) -> Pairing:
        """Whether a charge of this ledger paid for a file.

        Args:
            guarantee: The file's.
            content: The file's digest.
        """
        return pair(self.fingerprint, self.population, self.history(), guarantee, content)

    def spent(self, unit: Unit) -> Totals:
        """What a unit has spent; an infinite `pure` says that nothing bounds it."""
        return self._spent()[unit]

    def remaining(self, unit: Unit) -> Room:
        """What still fits under a unit's limit.

        Raises:
            InputError: The unit has no limit here.
        """
        limit = self.limit(unit)
        if limit is None:
            raise InputError(f"the ledger of '{self.population}' has no limit per {unit}")
        return limit.room(self.spent(unit))

    def history(self) -> list[Entry]:
        """Every charge in order."""
        with _store.reading(self.path, self._wait) as connection:
            self._check_title(connection)
            return _read(self.path, connection, self._title)

    def plan(self, events: Iterable[Event], times: int) -> Plan:
        """What `times` more charges like this would cost, and how many fit. Books nothing.

        Raises:
            InputError: `times` is below 1 or absurd, or there is no event.
            BudgetExceeded: No room would do: nothing bounds the cost, or a limit has delta 0.
        """
        return make_plan(self.limits, self._spent(), tuple(events), times)

    def largest(
        self, times: int, unit: Unit, delta: float, *, ratings_per_user: int | None = None
    ) -> float:
        """How large each of `times` more releases may be: the largest epsilon that all fit with.

        Rounded down; 0 if nothing is left. Books nothing.

        Args:
            times: How many releases.
            unit: What each protects.
            delta: Of each; 0 for pure differential privacy.
            ratings_per_user: For unit `rating`, the most ratings that a user may have.

        Raises:
            InputError: `times` is below 1 or absurd.
            BudgetExceeded: No size would do: nothing bounds the cost, or a limit has delta 0.
        """
        return largest_release(
            self.limits,
            self._spent(),
            times,
            lambda epsilon: planned_release(unit, epsilon, delta, ratings_per_user),
        )

    @property
    def units(self) -> tuple[Unit, ...]:
        """Ratings, users, and user-periods as far as they have a limit or something was for them.

        What other units have spent follows from what these have, and is seldom asked for.
        """
        asked = {event.unit for entry in self.history() for event in entry.events}
        asked |= {limit.unit for limit in self.limits}
        return tuple(unit for unit in Unit if unit in FIT_UNITS or unit in asked)

    def _spent(self) -> Spent:
        with _store.reading(self.path, self._wait) as connection:
            return self._state(connection)[1]

    def _state(self, connection: sqlite3.Connection) -> tuple[Row | None, Spent]:
        """The last charge, and what all units have spent after it."""
        self._check_title(connection)
        last = _store.read_last(self.path, connection, self._title)
        if last is None:
            return None, dict.fromkeys(Unit, Totals())
        spent = _entries.read_spent(last.spent)
        if len(spent) < len(Unit):  # written by a version that knew fewer units
            spent = _spends(list(_store.read_rows(self.path, connection, self._title)))[-1]
        return last, spent

    def _check_title(self, connection: sqlite3.Connection) -> None:
        if _store.read_title(self.path, connection) != self._title:
            raise LedgerError(f"{self.path}: is another ledger than the one that was opened")

    def _after(self, spent: Spent, events: Sequence[Event]) -> Spent:
        return self._after_costs(spent, {unit: costs_of(events, unit) for unit in Unit})

    def _after_costs(
        self, spent: Spent, costs: Mapping[Unit, Sequence[Cost]], advice: str = _ADVICE
    ) -> Spent:
        return {unit: self._after_for(unit, spent[unit], costs[unit], advice) for unit in Unit}

    def _after_for(self, unit: Unit, spent: Totals, costs: Sequence[Cost], advice: str) -> Totals:
        limit = self.limit(unit)
        if limit is None:
            return spend(spent, costs)
        limit.check_bounded(costs)
        after = spend(spent, costs, limit.reserve)
        if not limit.admits(after):
            said = self._refusal(limit, spent, spend(Totals(), costs), after)
            raise BudgetExceeded(f"{said}; {advice}")
        return after

    def _refusal(self, limit: Limit, spent: Totals, asked: Totals, after: Totals) -> str:
        room = limit.room(spent)
        before, alone, total = (limit.spent_epsilon(total) for total in (spent, asked, after))
        return (
            f"the ledger of '{self.population}' admits {limit}; spent is {before:.4g}, this charge "
            f"alone is {alone:.4g}, together {total:.4g}; what still fits is {_left(room)}; "
            "nothing was charged"
        )


def _read(path: Path, connection: sqlite3.Connection, title: Title) -> list[Entry]:
    rows = list(_store.read_rows(path, connection, title))
    published = {p.charge: p.content for p in _store.read_publications(path, connection, title)}
    return [
        row.entry(spent, published.get(row.number))
        for row, spent in zip(rows, _spends(rows), strict=True)
    ]


def _spends(rows: Sequence[Row]) -> list[dict[Unit, Totals]]:
    """What all units have spent after each charge.

    Versions that knew fewer units did not write what the others spent. That follows from what was
    charged, by the rule for units without a limit: such a ledger limits none of them.
    """
    before, spends = dict.fromkeys(Unit, Totals()), []
    for row in rows:
        written = _entries.read_spent(row.spent)
        if len(written) < len(Unit):
            events = _entries.read_events(row.events)
            for unit in set(Unit) - set(written):
                written[unit] = spend(before[unit], costs_of(events, unit))
        before = {unit: written[unit] for unit in Unit}
        spends.append(before)
    return spends


def _left(room: Room) -> str:
    gaussian = f"a Gaussian release of epsilon {room.epsilon:.4g}" if room.epsilon else ""
    pure = f"a pure one of epsilon {room.pure:.4g}" if room.pure else ""
    return " or ".join(part for part in (gaussian, pure) if part) or "nothing"


def _check_text(what: str, text: str) -> None:
    if not is_line(text):
        raise InputError(f"{what} is one line of 1 to {MOST_LETTERS} printable characters")
