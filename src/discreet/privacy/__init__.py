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
from discreet.privacy._receipt import Leave, Purse, Receipt
from discreet.privacy._units import Unit
from discreet.privacy.noise import Randomness, SeededRandomness, SystemRandomness

__all__ = [
    "NO_NOISE",
    "SEEDED",
    "Event",
    "GaussianEvent",
    "GeometricEvent",
    "Guarantee",
    "Leave",
    "NotCharged",
    "PureEvent",
    "Purse",
    "Randomness",
    "Receipt",
    "SeededRandomness",
    "SystemRandomness",
    "Unit",
    "event_from_dict",
]
