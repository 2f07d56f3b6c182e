"""The guarantee: units, events, accountants, calibration, ledger, mechanisms."""

from discreet.domain.errors import NotCharged
from discreet.privacy._events import (
    Event,
    GaussianEvent,
    GeometricEvent,
    PureEvent,
    Unit,
    event_from_dict,
)
from discreet.privacy._guarantee import (
    NO_NOISE,
    NOT_RECORDED,
    SEEDED,
    ChargeRecord,
    Guarantee,
    Provenance,
)
from discreet.privacy._noise_kinds import GaussianNoise, LaplaceNoise, Noise, NoiseKind
from discreet.privacy._receipt import (
    Permit,
    Purse,
    Randomness,
    Receipt,
    SeededRandomness,
    SystemRandomness,
    Tickets,
    unbooked,
)
from discreet.privacy.running_noise import NoisePlan

__all__ = [
    "NOT_RECORDED",
    "NO_NOISE",
    "SEEDED",
    "ChargeRecord",
    "Event",
    "GaussianEvent",
    "GaussianNoise",
    "GeometricEvent",
    "Guarantee",
    "LaplaceNoise",
    "Noise",
    "NoiseKind",
    "NoisePlan",
    "NotCharged",
    "Permit",
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
