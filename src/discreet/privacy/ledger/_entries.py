"""One line of a ledger's history, and the chain of digests that ties the lines together."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.privacy._events import Event, Unit, event_from_dict
from discreet.privacy._series import Period, SeriesTerms
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger._limits import Limit

Spent = Mapping[Unit, Totals]
"""What each unit has spent, limited or not; a pure epsilon of infinity is an unbounded one."""


@dataclass(frozen=True)
class Entry:
    """One charge.

    Attributes:
        number: From 1, without gaps.
        time: When, in UTC.
        purpose: What for, in the caller's words.
        events: What was charged.
        is_private: Whether the noise came from the operating system; a seeded charge counts alike.
        spent: The totals after this charge.
        configuration: The digest of the public configuration that was paid for; None if the
            caller gave none, as with every charge that discreet 0.1.0 made.
        digest: Of the charge's row, which covers all rows before it too.
        published: The digest of the file that was made with it; None if none is recorded.
        terms: Of the series that it was a period of; None for other charges.
        period: Which period that was.
    """

    number: int
    time: datetime.datetime
    purpose: str
    events: tuple[Event, ...]
    is_private: bool
    spent: Spent
    configuration: str | None
    digest: str
    published: str | None = None
    terms: SeriesTerms | None = None
    period: Period | None = None


@dataclass(frozen=True)
class Row:
    """An entry as the file holds it, `previous` being the digest of the row before.

    Rows without a configuration have the digest that format 1 gave them, and rows that are no
    period of a series the one of format 2.
    """

    previous: str
    number: int
    time: str
    purpose: str
    is_private: int
    events: str
    spent: str
    configuration: str | None = None
    series: str | None = None

    @property
    def digest(self) -> str:
        """A SHA-256 over this row and, through `previous`, over all before it."""
        fields = list(vars(self).values())
        if self.series is None:
            fields.pop()
            if self.configuration is None:
                fields.pop()
        return _digest(*fields)

    def entry(self, spent: Spent, published: str | None = None) -> Entry:
        """The charge that it records.

        Args:
            spent: The totals after it, of all units.
            published: The digest of the file that was made with it.
        """
        return Entry(
            self.number,
            datetime.datetime.fromisoformat(self.time),
            self.purpose,
            read_events(self.events),
            bool(self.is_private),
            spent,
            self.configuration,
            self.digest,
            published,
            *read_series(self.series),
        )


@dataclass(frozen=True)
class Publication:
    """What was made with a charge, as the file holds it; a chain of digests as charges are.

    Attributes:
        previous: The digest of the publication before, or of the title.
        number: From 1, without gaps.
        time: When it was recorded, in UTC.
        charge: The number of the charge that paid for it.
        charge_digest: The digest of that charge's row.
        content: The digest of what was published.
    """

    previous: str
    number: int
    time: str
    charge: int
    charge_digest: str
    content: str

    @property
    def digest(self) -> str:
        """A SHA-256 over this publication and, through `previous`, over all before it."""
        return _digest("publication", *vars(self).values())


@dataclass(frozen=True)
class Title:
    """What a ledger says about itself on its first page; it never changes."""

    population: str
    created: str
    limits: str

    @property
    def digest(self) -> str:
        """Where the chain starts."""
        return _digest(self.population, self.created, self.limits)


def now() -> str:
    """The time in UTC, as the file writes it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def write_events(events: Iterable[Event]) -> str:
    """Events as JSON."""
    return json.dumps([event.to_dict() for event in events])


def read_events(text: str) -> tuple[Event, ...]:
    """What `write_events` wrote."""
    return tuple(event_from_dict(event) for event in json.loads(text))


def write_spent(spent: Spent) -> str:
    """Totals as JSON; floats keep every bit."""
    return json.dumps({unit: [total.pure, total.mu_squared] for unit, total in spent.items()})


def read_spent(text: str) -> dict[Unit, Totals]:
    """What `write_spent` wrote: older versions did not know all of the units."""
    plain = json.loads(text)
    return {unit: Totals(*plain[unit]) for unit in Unit if unit in plain}


def write_series(terms: SeriesTerms, period: Period) -> str:
    """A period of a series as JSON."""
    return json.dumps({"terms": terms.to_dict(), "period": period.to_dict()})


def read_series(text: str | None) -> tuple[SeriesTerms | None, Period | None]:
    """What `write_series` wrote; nothing for a charge that is no period of a series."""
    if text is None:
        return None, None
    plain = json.loads(text)
    return SeriesTerms.from_dict(plain["terms"]), Period.from_dict(plain["period"])


def write_limits(limits: Iterable[Limit]) -> str:
    """Limits as JSON."""
    return json.dumps([vars(limit) for limit in limits])


def read_limits(text: str) -> tuple[Limit, ...]:
    """What `write_limits` wrote."""
    return tuple(Limit(**plain | {"unit": Unit(plain["unit"])}) for plain in json.loads(text))


def _digest(*fields: Any) -> str:
    # A damaged cell may come back as bytes: then the digest is another one, and no error here.
    return hashlib.sha256(json.dumps(fields, default=repr).encode()).hexdigest()
