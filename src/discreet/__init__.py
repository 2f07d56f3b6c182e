"""Recommendations that keep every rating private.

Names load on first use, so that `predict` and `serve` work on machines where the rooms that handle
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
    from discreet.methods import fit as fit
    from discreet.predict import load as load
    from discreet.privacy import Guarantee as Guarantee
    from discreet.privacy import Unit as Unit
    from discreet.privacy.ledger import Ledger as Ledger
    from discreet.privacy.ledger import Limit as Limit
    from discreet.ratings import Ratings as Ratings
    from discreet.ratings import make_ratings as make_ratings
    from discreet.ratings import read_catalog as read_catalog
    from discreet.ratings import read_ratings as read_ratings
    from discreet.release import Release as Release
    from discreet.series import Series as Series
    from discreet.series import plan_series as plan_series

__version__ = "0.2.0"

_HOME = {
    "Catalog": "discreet.domain",
    "DiscreetError": "discreet.domain",
    "Guarantee": "discreet.privacy",
    "InputError": "discreet.domain",
    "Ledger": "discreet.privacy.ledger",
    "Limit": "discreet.privacy.ledger",
    "OwnRatings": "discreet.domain",
    "Ratings": "discreet.ratings",
    "Release": "discreet.release",
    "Scale": "discreet.domain",
    "Series": "discreet.series",
    "Unit": "discreet.privacy",
    "fit": "discreet.methods",
    "load": "discreet.predict",
    "make_ratings": "discreet.ratings",
    "plan_series": "discreet.series",
    "read_catalog": "discreet.ratings",
    "read_ratings": "discreet.ratings",
}

__all__ = [
    "Catalog",
    "DiscreetError",
    "Guarantee",
    "InputError",
    "Ledger",
    "Limit",
    "OwnRatings",
    "Ratings",
    "Release",
    "Scale",
    "Series",
    "Unit",
    "__version__",
    "fit",
    "load",
    "make_ratings",
    "plan_series",
    "read_catalog",
    "read_ratings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
