"""One requested release: what is charged for it, what it promises, what is recorded of it."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from discreet import __version__
from discreet.domain import CatalogOrigin, InputError
from discreet.domain.errors import LedgerError
from discreet.measure._source import RatingsSource
from discreet.privacy import (
    ChargeRecord,
    Event,
    Guarantee,
    Provenance,
    Randomness,
    Receipt,
    Unit,
    unbooked,
)
from discreet.privacy.ledger import Ledger
from discreet.ratings import Stability

CHARGED = "the ledger was charged anyway"

UNBOOKED: Literal["unbooked"] = "unbooked"
"""The word for "no ledger": nobody does without one by leaving out an argument."""

GivenLedger = Ledger | str | os.PathLike[str] | None
"""A ledger, its file, or the word. A file that is called like the word is given as a `Path`."""

_CHOSEN = "it was made from a part of the data that was chosen by looking at other people's ratings"
_MOVED = (
    "one rating more may have changed which other ratings of its person were used, and single "
    "ratings were to be protected"
)


@dataclass(frozen=True)
class Request:
    """One requested release.

    Attributes:
        ratings: Private; only what is public about them is used here.
        unit: Whom the release protects.
        configuration: The digest of all public choices that it is made with.
    """

    ratings: RatingsSource = dataclasses.field(repr=False)
    unit: Unit
    configuration: str

    @classmethod
    def of(cls, ratings: RatingsSource, unit: Unit, what: str, **asked: Any) -> Request:
        """A request.

        Args:
            ratings: Private.
            unit: Whom to protect.
            what: What to release: a method's name, "item counts".
            asked: Every other public choice: numbers, texts, dataclasses and lists of them.
        """
        public = {
            "unit": unit,
            "scale": vars(ratings.scale),
            "catalog": {"digest": ratings.catalog.digest(), "origin": ratings.catalog.origin},
            "intake": ratings.intake,
        }
        return cls(ratings, unit, configuration_digest(what, public | asked))

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Why no noise protects anybody, whatever its size; empty if it does."""
        stability = self.ratings.intake.stability
        if stability is Stability.NONE:
            return (_CHOSEN,)
        if stability is Stability.USER and self.unit is Unit.RATING:
            return (_MOVED,)
        return ()

    def charge(
        self,
        events: Sequence[Event],
        purpose: str,
        ledger: GivenLedger,
        randomness: Randomness | None,
    ) -> Receipt:
        """Book events with a ledger, or with none if that was said.

        Raises:
            InputError: No ledger was given, nor the word for none; or the events do not bound what
                the release would cost.
        """
        if self.unprotected and is_named(ledger):
            raise InputError(
                f"this cannot be booked: {self.unprotected[0]}; measure all of the data, or give "
                f'ledger="{UNBOOKED}" for a release that says it is not private'
            )
        return charge(events, purpose, ledger, randomness, self.configuration)

    def promise(
        self,
        events: tuple[Event, ...],
        delta: float,
        charged: ChargeRecord | None,
        *reasons: str,
        more: tuple[str, ...] = (),
    ) -> Guarantee:
        """The guarantee of what was made.

        Args:
            events: What was spent.
            delta: At which it is read.
            charged: The charge that paid for it; None if no ledger did.
            reasons: Why there is no promise; what the ratings themselves say is added.
            more: What it assumes besides what any release of these ratings does.
        """
        intake, catalog = self.ratings.intake, self.ratings.catalog
        provenance = Provenance(
            version=__version__,
            part=intake.part,
            bad_rows=intake.bad_rows,
            catalog=catalog.origin,
            most_ratings=intake.most_ratings,
            configuration=self.configuration,
            charge=charged,
        )
        not_private = (*reasons, *self.unprotected)
        assumes = (*assumptions(self.ratings), *more)
        return Guarantee(self.unit, events, delta, assumes, not_private, provenance)


@contextmanager
def mentioning_charge(is_charged: bool) -> Iterator[None]:
    """Say in an error that the charge stands: what is booked stays booked."""
    try:
        yield
    except InputError as error:
        if not is_charged:
            raise
        reason = f"{error.reason}; {CHARGED}"
        raise InputError(reason, path=error.path, line=error.line, hints=error.hints) from error
    except LedgerError as error:
        raise LedgerError(f"{error}; {CHARGED}") from error


def assumptions(ratings: RatingsSource) -> tuple[str, ...]:
    """What any release of these ratings rests on."""
    assumes = ["one account is one person"]
    if ratings.catalog.origin is CatalogOrigin.FROM_DATA:
        assumes.append("it is no secret which items were rated at all (the catalogue is from data)")
    return (*assumes, *ratings.intake.assumes)


def charge(
    events: Sequence[Event],
    purpose: str,
    ledger: GivenLedger,
    randomness: Randomness | None,
    configuration: str | None = None,
) -> Receipt:
    """Book events with a ledger; or issue a receipt without one, if that was said.

    Seeded noise protects nobody, so it needs neither a ledger nor the word.

    Raises:
        InputError: No ledger was given, nor the word for none.
    """
    book = open_ledger(ledger)
    if book is not None:
        return book.charge(events, purpose, randomness=randomness, configuration=configuration)
    if ledger is None and (randomness is None or randomness.is_private):
        raise InputError(
            'this costs privacy, so name the ledger to charge: ledger="people.ledger"; or say '
            f'ledger="{UNBOOKED}" if its cost shall not be recorded anywhere'
        )
    return unbooked(events, randomness)


def is_named(ledger: GivenLedger) -> bool:
    """Whether there is a ledger to charge."""
    return ledger is not None and not (isinstance(ledger, str) and ledger == UNBOOKED)


def open_ledger(ledger: GivenLedger) -> Ledger | None:
    """The ledger that was given; None if none was, or the word for none.

    Raises:
        LedgerError: It cannot be used.
    """
    if not is_named(ledger):
        return None
    assert ledger is not None
    return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)


def configuration_digest(what: str, asked: Mapping[str, Any]) -> str:
    """SHA-256 over canonical JSON of public choices, and of the version that takes them.

    Canonical: keys sorted, no spaces, floats as Python writes them (the shortest that reads back).
    """
    public = {"version": __version__, "what": what} | _plain(asked)
    text = json.dumps(public, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """What JSON can hold, of dataclasses, enumerations, tables and lists of numbers and texts."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return value
