"""Whole mechanisms, through their receipts, against the laws that their proofs speak of."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.privacy import Unit, unbooked
from discreet.privacy.mechanisms import (
    ModifiedLaplace,
    RandomizedResponse,
    RoundedGaussian,
    TwoSidedGeometric,
)
from statistical._laws import (
    Geometric,
    Rounded,
    alarms,
    count_fit,
    counts_fit,
    fit,
    independence,
    judge,
)

COUNT = 300_000


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("symbols", [2, 6])
def test_randomized_response_for_every_symbol(symbols: int, epsilon: float) -> None:
    mechanism = RandomizedResponse(symbols, epsilon)
    others = symbols - 1
    for symbol in range(symbols):
        event = mechanism.event("reports", COUNT)
        reports = mechanism.release(np.full(COUNT, symbol), event, unbooked([event]))
        law = np.full(symbols, 1 / (math.exp(epsilon) + others))
        law[symbol] *= math.exp(epsilon)
        counts = np.bincount(reports, minlength=symbols)
        judge(counts_fit(counts, law), f"{mechanism}: symbol {symbol}")
        swapped = np.roll(law, 1)
        assert alarms(counts_fit(counts, swapped))


def test_randomized_response_reports_are_independent() -> None:
    mechanism = RandomizedResponse(5, 0.7)
    event = mechanism.event("reports", COUNT)
    reports = mechanism.release(np.zeros(COUNT, np.int64), event, unbooked([event]))
    judge(independence(reports[::2], reports[1::2]), "neighbouring reports")


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
@pytest.mark.parametrize("value", [None, -4, 0, 3, 4])
def test_modified_laplace(value: int | None, epsilon: float) -> None:
    mechanism = ModifiedLaplace(4, epsilon)
    values, present = np.full(COUNT, value or 0), np.full(COUNT, value is not None)
    event = mechanism.event("reports", COUNT)
    reports, shown = mechanism.release(values, present, event, unbooked([event]))
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    name = f"epsilon {epsilon:g}, value {value}"
    judge(count_fit(int(shown.sum()), COUNT, keep if value is not None else 1 - keep), name)
    judge(fit(reports[shown] - (value or 0), Geometric(8 / epsilon), bins=32), name)
    assert not reports[~shown].any()


@pytest.mark.parametrize("mechanism", [RoundedGaussian(0.8), RoundedGaussian(3e5)], ids=str)
def test_rounded_gaussian_adds_its_law_to_every_entry(mechanism: RoundedGaussian) -> None:
    values = np.arange(4 * COUNT).reshape(4, -1)
    event = mechanism.event(1.0, Unit.USER, "sums")
    noise = mechanism.release(values, event, unbooked([event])) - values
    judge(fit(noise.ravel(), Rounded(mechanism.sigma)), f"{mechanism}: law")
    bins = np.searchsorted(Rounded(mechanism.sigma).edges(8, 0.02), noise)
    judge(independence(bins[0], bins[1]), f"{mechanism}: rows")


@pytest.mark.parametrize("mechanism", [TwoSidedGeometric(0.8), TwoSidedGeometric(3e5)], ids=str)
def test_two_sided_geometric_adds_its_law_to_every_entry(mechanism: TwoSidedGeometric) -> None:
    values = np.arange(4 * COUNT).reshape(4, -1)
    event = mechanism.event(1.0, Unit.USER, "sums")
    noise = mechanism.release(values.copy(), event, unbooked([event]), in_place=True) - values
    judge(fit(noise.ravel(), Geometric(mechanism.scale)), f"{mechanism}: law")
    bins = np.searchsorted(Geometric(mechanism.scale).edges(8, 0.02), noise)
    judge(independence(bins[0], bins[1]), f"{mechanism}: rows")
