"""Two mechanisms to collect ratings: modified Laplace and randomized response."""

from __future__ import annotations

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.privacy import PureEvent, Unit
from discreet.privacy.mechanisms import ModifiedLaplace, RandomizedResponse
from discreet.protocols.local_reports.messages import Collection, Mechanism
from papers.erratum import Erratum, number
from papers.study import NETFLIX

# Netflix's items.
_ITEMS = NETFLIX[2]


def errata() -> list[Erratum]:
    """The epsilon of a user, and restricted isometry."""
    return [_whole_catalogue(), _isometry()]


def _whole_catalogue() -> Erratum:
    """What epsilon 1 a rating is for a user, and how many items are faked."""
    laplace, response = ModifiedLaplace(2, 1.0), RandomizedResponse(6, 1.0)
    catalog = Catalog([str(item) for item in range(_ITEMS)])
    report = Collection(catalog, Scale(1, 5), Mechanism.RANDOMIZED_RESPONSE, 1.0).event
    whole = report.seen_by(Unit.USER)
    assert isinstance(whole, PureEvent)
    others = 1 - response.probabilities(0)[0]
    return Erratum(
        "004, Theorems 1 and 2",
        "Theorems 1 and 2: n epsilon for a user",
        (
            number("epsilon of a user of Netflix", whole.epsilon, ",.0f"),
            number("items faked by modified Laplace", (1 - laplace.keep) * _ITEMS, ",.0f"),
            number("items faked by randomized response", others * _ITEMS, ",.0f"),
        ),
        ("1", "17,770"),
    )


def _isometry() -> Erratum:
    """How much of a matrix with one entry is sampled, as a part of its norm: the least over all."""
    rng = np.random.default_rng(0)
    sampled = rng.random((50, 40)) < 0.9
    kept = sampled / sampled.mean()  # ||A(X)||^2/||X||^2 of the matrix with that entry alone
    return Erratum(
        "004, Definition 4",
        "Definition 4: a sampling operator with restricted isometry",
        (
            number("claimed: at least 1 - delta of its size, and delta below 1", 1, ".0f"),
            number("found where nine entries in ten are sampled", float(kept.min()), ".0f"),
        ),
    )
