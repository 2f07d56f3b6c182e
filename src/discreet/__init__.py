"""Recommendations that keep every rating private.

`fit` makes a release from ratings, `recommend`, `similar` and `predict` use it, `evaluate`,
`choose_epsilon`, `audit` and `report` are about it. `make docs` builds the reference.

Names load on first use, so that `predict` and `serve` work on machines where the rooms that handle
private ratings were deleted. `audit`, `evaluate`, `predict` and `report` are rooms, too: calling
one calls its function of the same name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.audit import audit as audit
    from discreet.audit import choose_epsilon as choose_epsilon
    from discreet.domain import Catalog as Catalog
    from discreet.domain import DiscreetError as DiscreetError
    from discreet.domain import InputError as InputError
    from discreet.domain import OwnRatings as OwnRatings
    from discreet.domain import Scale as Scale
    from discreet.evaluate import Results as Results
    from discreet.evaluate import Row as Row
    from discreet.evaluate import Scorer as Scorer
    from discreet.evaluate import evaluate as evaluate
    from discreet.measure.engines.disk import read_on_disk as read_on_disk
    from discreet.methods import fit as fit
    from discreet.predict import Predictor as Predictor
    from discreet.predict import load as load
    from discreet.predict import predict as predict
    from discreet.predict import recommend as recommend
    from discreet.predict import similar as similar
    from discreet.predict import vectors as vectors
    from discreet.privacy import Guarantee as Guarantee
    from discreet.privacy import SeededRandomness as SeededRandomness
    from discreet.privacy import Unit as Unit
    from discreet.privacy.ledger import Ledger as Ledger
    from discreet.privacy.ledger import Limit as Limit
    from discreet.ratings import Ratings as Ratings
    from discreet.ratings import Shape as Shape
    from discreet.ratings import Split as Split
    from discreet.ratings import make_ratings as make_ratings
    from discreet.ratings import read_catalog as read_catalog
    from discreet.ratings import read_ratings as read_ratings
    from discreet.release import Release as Release
    from discreet.report import report as report
    from discreet.series import Series as Series
    from discreet.series import plan_series as plan_series

__version__ = "0.2.0"

# Which names each room has.
_NAMES = {
    "discreet.audit": "audit choose_epsilon",
    "discreet.domain": "Catalog DiscreetError InputError OwnRatings Scale",
    "discreet.evaluate": "Results Row Scorer evaluate",
    "discreet.measure.engines.disk": "read_on_disk",
    "discreet.methods": "fit",
    "discreet.predict": "Predictor load predict recommend similar vectors",
    "discreet.privacy": "Guarantee SeededRandomness Unit",
    "discreet.privacy.ledger": "Ledger Limit",
    "discreet.ratings": "Ratings Shape Split make_ratings read_catalog read_ratings",
    "discreet.release": "Release",
    "discreet.report": "report",
    "discreet.series": "Series plan_series",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(["__version__", *_HOME])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    try:
        home = importlib.import_module(_HOME[name])
    except ModuleNotFoundError as error:
        if not _HOME[name].startswith(error.name or "?"):
            raise
        raise ModuleNotFoundError(
            f"discreet.{name} is not in discreet-predict, which only predicts: install discreet",
            name=error.name,
        ) from None
    # Importing a room makes it an attribute, so the room it is from the first time on.
    return home if home.__name__ == f"discreet.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return list(__all__)
