"""Whether a ledger and a file belong together: that a charge of the one paid for the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy._events import Event, Unit
from discreet.privacy._guarantee import ChargeRecord, Guarantee, Provenance
from discreet.privacy._series import SeriesRecord
from discreet.privacy.accounting import compose
from discreet.privacy.ledger._entries import Entry

_SLACK = 1 + 1e-6
"""How far above its charge, relatively, a file's cost may be: above rounding, below any meaning."""

_SILENT = (
    "This file does not say which ledger paid for it; files made by discreet 0.1.0, and by "
    "protocols, never do."
)
_UNBOOKED = "This file says that its privacy cost is not recorded in any ledger."


@dataclass(frozen=True)
class Pairing:
    """What a ledger says of a file.

    Attributes:
        charge: The number of the charge that paid for the file; None if none is known to.
        problems: Why the two do not belong together, each a sentence; empty if they do.
        is_contradiction: Whether the file names this very ledger, and the ledger denies it.
    """

    charge: int | None
    problems: tuple[str, ...] = ()
    is_contradiction: bool = False

    @property
    def is_paid(self) -> bool:
        """Whether a charge of the ledger paid for this very file."""
        return self.charge is not None

    def sentences(self) -> list[str]:
        """The same in plain words."""
        if self.charge is not None:
            return [f"Charge {self.charge:,} of this ledger paid for this file."]
        return list(self.problems)


def pair(
    fingerprint: str, population: str, history: Sequence[Entry], guarantee: Guarantee, content: str
) -> Pairing:
    """Hold a file against a ledger.

    Args:
        fingerprint: The ledger's.
        population: The ledger's.
        history: All charges of the ledger.
        guarantee: The file's.
        content: The file's digest.
    """
    provenance = guarantee.provenance
    if provenance is None:
        return Pairing(None, (_SILENT,))
    charge = provenance.charge
    if charge is None:
        return Pairing(None, (_UNBOOKED,))
    if charge.ledger != fingerprint:
        return Pairing(None, (_of_another(charge, fingerprint, population),))
    entry = next((entry for entry in history if entry.number == charge.number), None)
    if entry is None:
        missing = (
            f"This ledger has no charge {charge.number:,}, which this file says paid for it; the "
            "ledger may have been restored from an older copy."
        )
        return Pairing(None, (missing,), is_contradiction=True)
    problems = _differences(entry, provenance, charge, guarantee.events, content)
    problems += _other_period(entry, guarantee.series)
    if problems:
        return Pairing(None, tuple(problems), is_contradiction=True)
    return Pairing(charge.number)


def _of_another(charge: ChargeRecord, fingerprint: str, population: str) -> str:
    return (
        f"This file names another ledger: that of '{charge.population}' with fingerprint "
        f"{_short(charge.ledger)}; this one is of '{population}' with {_short(fingerprint)}."
    )


def _differences(
    entry: Entry,
    provenance: Provenance,
    charge: ChargeRecord,
    events: Sequence[Event],
    content: str,
) -> list[str]:
    name = f"Charge {entry.number:,} of this ledger"
    said = []
    if entry.digest != charge.digest:
        said.append(
            f"{name} is not the one that this file names: its row has another digest. The ledger "
            "may have been restored from an older copy, or the file was changed."
        )
    if entry.configuration != provenance.configuration:
        said.append(f"{name} was made for another configuration than this file states.")
    if not _covers(entry.events, events):
        said.append(f"{name} is for less than what this file says was spent on it.")
    if entry.published is None:
        said.append(f"{name} has no file recorded: none was finished with it.")
    elif entry.published != content:
        said.append(
            f"{name} paid for another file: its digest is {_short(entry.published)}, and this "
            f"one's is {_short(content)}."
        )
    return said


def _other_period(entry: Entry, series: SeriesRecord | None) -> list[str]:
    name = f"Charge {entry.number:,} of this ledger"
    if entry.terms is None or entry.period is None:
        return [] if series is None else [f"{name} is not for a period of a series."]
    if series is None or series.terms != entry.terms:
        return [f"{name} is for a period of a series, under other terms than this file states."]
    stated = (series.periods, series.latest, series.is_timed)
    if stated != (entry.period.number, entry.period.name, entry.period.is_timed):
        return [f"{name} is for another period of the series than this file states."]
    return []


def _covers(charged: Sequence[Event], spent: Sequence[Event]) -> bool:
    """Whether the parts of a charge add up to no more than the charge, unit by unit."""
    for unit in Unit:
        most, total = (
            compose(event for event in events if event.unit is unit) for events in (charged, spent)
        )
        if total.pure > most.pure * _SLACK or total.mu_squared > most.mu_squared * _SLACK:
            return False
    return True


def _short(digest: str) -> str:
    return f"{digest[:12]}..."
