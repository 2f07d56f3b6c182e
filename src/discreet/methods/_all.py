"""Everything of this room. Importing it registers every method: a new one is one line here."""

from discreet.methods._fit import (
    MOST_FEATURES,
    Spoken,
    Transcript,
    fit,
    public_features,
    record_fit,
    release_of,
)
from discreet.methods._method import (
    METHODS,
    MOST_HEAD,
    Method,
    OlderRecords,
    PeriodTask,
    Task,
    method_of,
)
from discreet.methods._room import bytes_of_fit, lacks_room
from discreet.methods.covariance import CovarianceMethod
from discreet.methods.lists import ListsMethod
from discreet.methods.pairs import CosineMethod, SlopeOneMethod
from discreet.methods.refined import RefinedMethod

__all__ = [
    "METHODS",
    "MOST_FEATURES",
    "MOST_HEAD",
    "CosineMethod",
    "CovarianceMethod",
    "ListsMethod",
    "Method",
    "OlderRecords",
    "PeriodTask",
    "RefinedMethod",
    "SlopeOneMethod",
    "Spoken",
    "Task",
    "Transcript",
    "bytes_of_fit",
    "fit",
    "lacks_room",
    "method_of",
    "public_features",
    "record_fit",
    "release_of",
]
