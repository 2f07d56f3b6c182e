"""Recommendations that keep every rating private.

Names load on first use, so that `predict` and `serve` work on machines where the rooms that hold
private ratings were deleted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.domain import Catalog as Catalog
    from discreet.domain import DiscreetError as DiscreetError
    from discreet.domain import InputError as InputError
    from discreet.domain import OwnRatings as OwnRatings
    from discreet.domain import Scale as Scale
    from discreet.ratings import Ratings as Ratings

__version__ = "0.1.0"

_HOME = {
    "Catalog": "discreet.domain",
    "DiscreetError": "discreet.domain",
    "InputError": "discreet.domain",
    "OwnRatings": "discreet.domain",
    "Ratings": "discreet.ratings",
    "Scale": "discreet.domain",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
