"""Charge, then draw: a statistic becomes public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._budget import Budget, Spender
from discreet.measure._request import GivenLedger, Request
from discreet.measure.item_counts import ItemCounts
from discreet.privacy import SEEDED, Guarantee, Noise, Randomness, Unit
from discreet.ratings import Ratings


@dataclass(frozen=True, eq=False)
class PublicCounts:
    """Noisy item counts, one for each item of the catalogue, with their guarantee.

    Protecting users, a count is in votes that people divide between the items they rated.
    """

    counts: npt.NDArray[np.float64]
    spread: float
    """The standard deviation of the noise on each count."""
    guarantee: Guarantee


def publish_item_counts(
    ratings: Ratings,
    *,
    protect: Unit,
    epsilon: float,
    delta: float = 0.0,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
) -> PublicCounts:
    """Release how often each item was rated.

    Gaussian noise if `delta` is above 0, otherwise Laplace noise. The ledger is charged before
    anything is measured or drawn; `"unbooked"` stands for no ledger, as for `fit`.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was drawn.
        InputError: No ledger was given, or the budget cannot be used.
    """
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1, not {delta:g}")
    noise = Noise.for_delta(delta)
    budget = Budget.of(protect, noise, epsilon, delta).bounded_by(ratings.intake)
    budget.check_finite()
    label = "item counts"
    request = Request.of(ratings, protect, label, epsilon=epsilon, delta=delta)
    event = budget.event(label)
    receipt = request.charge([event], label, ledger, randomness)
    spender = Spender(budget, receipt, label)
    statistic = ItemCounts(protect, noise)
    (counts,) = spender.measure(ratings, statistic, {statistic.parts[0].label: 1.0}).values()
    reasons = () if spender.is_private else (SEEDED,)
    promise = request.promise((event,), delta, spender.charge, *reasons)
    return PublicCounts(counts.value, counts.spread, promise)
