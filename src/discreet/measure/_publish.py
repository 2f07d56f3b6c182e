"""Charge, then draw: a statistic becomes public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._noise import Noise
from discreet.measure._request import GivenLedger, Request
from discreet.measure.item_counts import ItemCounts
from discreet.privacy import SEEDED, Event, Guarantee, Randomness, Receipt, Unit
from discreet.privacy.accounting import calibrate_gaussian, calibrate_geometric
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
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
    statistic = ItemCounts(protect, Noise.GAUSSIAN if delta > 0 else Noise.LAPLACE)
    most = ratings.intake.most_ratings if protect is Unit.RATING else None
    mechanism, event = _mechanism(statistic, epsilon, delta, most)
    request = Request.of(ratings, protect, "item counts", epsilon=epsilon, delta=delta)
    receipt = request.charge([event], "item counts", ledger, randomness)
    exact = statistic.measure(ratings)
    noisy = mechanism.release(exact, event, receipt, in_place=True)
    return PublicCounts(
        noisy / statistic.grid,
        _spread(mechanism) / statistic.grid,
        request.promise((event,), delta, receipt.charge, *_not_private(receipt)),
    )


def _mechanism(
    statistic: ItemCounts, epsilon: float, delta: float, most: int | None
) -> tuple[RoundedGaussian | TwoSidedGeometric, Event]:
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1, not {delta:g}")
    if statistic.noise is Noise.GAUSSIAN:
        gaussian = RoundedGaussian(calibrate_gaussian(statistic.sensitivity, epsilon, delta))
        return gaussian, gaussian.event(statistic.sensitivity, statistic.unit, "item counts", most)
    geometric = TwoSidedGeometric(calibrate_geometric(statistic.sensitivity, epsilon))
    return geometric, geometric.event(statistic.sensitivity, statistic.unit, "item counts", most)


def _spread(mechanism: RoundedGaussian | TwoSidedGeometric) -> float:
    if isinstance(mechanism, RoundedGaussian):
        return mechanism.sigma
    return float(np.sqrt(2) * mechanism.scale)


def _not_private(receipt: Receipt) -> tuple[str, ...]:
    return () if receipt.is_private else (SEEDED,)
