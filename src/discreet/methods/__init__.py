"""Methods: which statistics are measured, for which shares of the budget, and what follows.

Names load on first use: the command line offers the choices without loading what they stand for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.methods._names import DEFAULT_EPSILON, Cleaning, MethodName

if TYPE_CHECKING:
    from discreet.methods._fit import MOST_FEATURES as MOST_FEATURES
    from discreet.methods._fit import Spoken as Spoken
    from discreet.methods._fit import Transcript as Transcript
    from discreet.methods._fit import fit as fit
    from discreet.methods._fit import record_fit as record_fit
    from discreet.methods._method import METHODS as METHODS
    from discreet.methods._method import MOST_HEAD as MOST_HEAD
    from discreet.methods._method import Method as Method
    from discreet.methods._method import Task as Task
    from discreet.methods.covariance import CovarianceMethod as CovarianceMethod
    from discreet.methods.pairs import CosineMethod as CosineMethod
    from discreet.methods.pairs import SlopeOneMethod as SlopeOneMethod
    from discreet.methods.refined import RefinedMethod as RefinedMethod

# The modules that register a method: a new one is one line here.
_MODULES = ("refined", "covariance", "pairs")

_HOME = {
    "METHODS": "_method",
    "MOST_FEATURES": "_fit",
    "MOST_HEAD": "_method",
    "CosineMethod": "pairs",
    "CovarianceMethod": "covariance",
    "Method": "_method",
    "RefinedMethod": "refined",
    "SlopeOneMethod": "pairs",
    "Spoken": "_fit",
    "Task": "_method",
    "Transcript": "_fit",
    "fit": "_fit",
    "record_fit": "_fit",
}

__all__ = [
    "DEFAULT_EPSILON",
    "METHODS",
    "MOST_FEATURES",
    "MOST_HEAD",
    "Cleaning",
    "CosineMethod",
    "CovarianceMethod",
    "Method",
    "MethodName",
    "RefinedMethod",
    "SlopeOneMethod",
    "Spoken",
    "Task",
    "Transcript",
    "fit",
    "record_fit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.methods' has no attribute '{name}'")
    for module in _MODULES:
        importlib.import_module(f"discreet.methods.{module}")
    return getattr(importlib.import_module(f"discreet.methods.{_HOME[name]}"), name)
