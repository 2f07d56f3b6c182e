"""Which predictors read which method's releases.

The table lives here and is filled by `discreet.predict`, so that a release can hand out predictors
without this room knowing any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.domain import InputError

_PREDICTORS: dict[str, dict[str, Callable[..., Any]]] = {}


def register_predictors(method: str, predictors: Mapping[str, Callable[..., Any]]) -> None:
    """Say which predictors read the releases of a method.

    Args:
        method: The method's name.
        predictors: From a predictor's name to what makes it from a release and options. The first
            one ever registered for the method is its default.
    """
    _PREDICTORS.setdefault(method, {}).update(predictors)


def find_predictor(method: str, name: str | None) -> Callable[..., Any]:
    """What makes the predictor of this name, or the method's default one.

    Raises:
        InputError: There is none, or none of this name.
    """
    known = _PREDICTORS.get(method)
    if not known:
        raise InputError(
            f"no predictor reads releases of method '{method}'; import discreet.predict first"
        )
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        names = ", ".join(known)
        raise InputError(f"'{name}' is no predictor for method '{method}'; it has {names}")
    return known[name]
