"""Methods: which statistics are measured, for which shares of the budget, and what follows.

Names load on first use: the command line offers the choices without loading what they stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.methods._names import DEFAULT_EPSILON, Cleaning, MethodName

if TYPE_CHECKING:
    from discreet.methods._all import METHODS as METHODS
    from discreet.methods._all import MOST_FEATURES as MOST_FEATURES
    from discreet.methods._all import MOST_HEAD as MOST_HEAD
    from discreet.methods._all import CosineMethod as CosineMethod
    from discreet.methods._all import CovarianceMethod as CovarianceMethod
    from discreet.methods._all import ListsMethod as ListsMethod
    from discreet.methods._all import Method as Method
    from discreet.methods._all import OlderRecords as OlderRecords
    from discreet.methods._all import PeriodTask as PeriodTask
    from discreet.methods._all import RefinedMethod as RefinedMethod
    from discreet.methods._all import SlopeOneMethod as SlopeOneMethod
    from discreet.methods._all import Spoken as Spoken
    from discreet.methods._all import Task as Task
    from discreet.methods._all import Transcript as Transcript
    from discreet.methods._all import bytes_of_fit as bytes_of_fit
    from discreet.methods._all import fit as fit
    from discreet.methods._all import lacks_room as lacks_room
    from discreet.methods._all import method_of as method_of
    from discreet.methods._all import public_features as public_features
    from discreet.methods._all import record_fit as record_fit
    from discreet.methods._all import release_of as release_of

__all__ = [
    "DEFAULT_EPSILON",
    "METHODS",
    "MOST_FEATURES",
    "MOST_HEAD",
    "Cleaning",
    "CosineMethod",
    "CovarianceMethod",
    "ListsMethod",
    "Method",
    "MethodName",
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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'discreet.methods' has no attribute '{name}'")
    from discreet.methods import _all

    return getattr(_all, name)
