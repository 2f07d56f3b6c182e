"""The guarantee: units, events, accountants, calibration, ledger, mechanisms."""

from discreet.domain.errors import NotCharged
from discreet.privacy._events import (
    FIT_UNITS,
    PERIOD_UNITS,
    Event,
    GaussianEvent,
    GeometricEvent,
    PureEvent,
    Unit,
    event_from_dict,
    fit_unit,
)
from discreet.privacy._guarantee import (
    NO_NOISE,
    NOT_RECORDED,
    SEEDED,
    WEAK_EPSILON,
    ChargeRecord,
    Guarantee,
    Provenance,
    spell_factor,
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
from discreet.privacy._series import Period, SeriesRecord, SeriesTerms
from discreet.privacy.running_noise import NoisePlan

__all__ = [
    "FIT_UNITS",
    "NOT_RECORDED",
    "NO_NOISE",
    "PERIOD_UNITS",
    "SEEDED",
    "WEAK_EPSILON",
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
    "Period",
    "Permit",
    "Provenance",
    "PureEvent",
    "Purse",
    "Randomness",
    "Receipt",
    "SeededRandomness",
    "SeriesRecord",
    "SeriesTerms",
    "SystemRandomness",
    "Tickets",
    "Unit",
    "event_from_dict",
    "fit_unit",
    "spell_factor",
    "unbooked",
]
