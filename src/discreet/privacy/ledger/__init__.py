"""Ledgers: what a population has spent, on disk before any noise is drawn."""

from discreet.privacy._series import Period, SeriesTerms
from discreet.privacy.ledger._entries import Entry
from discreet.privacy.ledger._ledger import Ledger
from discreet.privacy.ledger._limits import Limit, Plan, PlannedCost, Room, planned_release
from discreet.privacy.ledger._pairing import Pairing
from discreet.privacy.ledger._periods import epsilons_ahead

__all__ = [
    "Entry",
    "Ledger",
    "Limit",
    "Pairing",
    "Period",
    "Plan",
    "PlannedCost",
    "Room",
    "SeriesTerms",
    "epsilons_ahead",
    "planned_release",
]
