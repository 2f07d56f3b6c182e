"""The guarantee: units, events, accountants, calibration, ledger, mechanisms."""

from discreet.domain.errors import NotCharged
from discreet.privacy._events import (
    Event,
    GaussianEvent,
    GeometricEvent,
    PureEvent,
    event_from_dict,
)
from discreet.privacy._guarantee import NO_NOISE, SEEDED, Guarantee
from discreet.privacy._provenance import NOT_RECORDED, ChargeRecord, Provenance
from discreet.privacy._receipt import Leave, Purse, Receipt, Tickets, unbooked
from discreet.privacy._units import Unit
from discreet.privacy.noise import Randomness, SeededRandomness, SystemRandomness

__all__ = [
    "NOT_RECORDED",
    "NO_NOISE",
    "SEEDED",
    "ChargeRecord",
    "Event",
    "GaussianEvent",
    "GeometricEvent",
    "Guarantee",
    "Leave",
    "NotCharged",
    "Provenance",
    "PureEvent",
    "Purse",
    "Randomness",
    "Receipt",
    "SeededRandomness",
    "SystemRandomness",
    "Tickets",
    "Unit",
    "event_from_dict",
    "unbooked",
]
