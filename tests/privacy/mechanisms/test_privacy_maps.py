"""Every pure privacy map against the mechanism's exact output law: nothing here is sampled."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from discreet.privacy import Unit
from discreet.privacy.mechanisms import (
    GumbelTopK,
    KSubset,
    ModifiedLaplace,
    RandomizedResponse,
    TwoSidedGeometric,
)
from privacy.mechanisms._neighbours import log_law, loss

ROUNDING = 1e-9
SELECTIONS = [KSubset, GumbelTopK]
EPSILONS = [1e-3, 0.1, 1.0, 5.0, 40.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("symbols", [2, 6, 12])
def test_randomized_response_between_all_pairs(symbols: int, epsilon: float) -> None:
    mechanism = RandomizedResponse(symbols, epsilon)
    laws = np.array([mechanism.probabilities(symbol) for symbol in range(symbols)])
    assert np.allclose(laws.sum(axis=1), 1, rtol=1e-14)
    logs = np.log(laws)
    worst = max(
        np.abs(logs[a] - logs[b]).max() for a, b in itertools.permutations(range(symbols), 2)
    )
    claimed = mechanism.event("reports", 1).epsilon
    assert worst <= claimed * (1 + ROUNDING) + 1e-13
    assert worst >= claimed * (1 - ROUNDING) - 1e-13  # and it is needed


def _report_law(mechanism: ModifiedLaplace, value: int | None) -> list[mpmath.mpf]:
    """Absent, then every output from -reach - 2 to reach + 2; beyond them ratios do not change."""
    keep = mechanism._exact_keep()
    shown = 1 - keep if value is None else keep
    q = mpmath.exp(-1 / mpmath.mpf(mechanism.scale))
    far = mechanism.reach + 2
    outputs = range(-far, far + 1)
    return [1 - shown] + [shown * q ** abs(y - (value or 0)) * (1 - q) / (1 + q) for y in outputs]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("reach", [1, 4, 9])
def test_modified_laplace_between_all_pairs(reach: int, epsilon: float) -> None:
    # Past the largest value v both distances grow together: |y - v| - |y - w| is constant there, so
    # the window's last outputs stand for the tails.
    mechanism = ModifiedLaplace(reach, epsilon)
    with mpmath.workprec(120):
        laws = [_report_law(mechanism, value) for value in (None, *range(-reach, reach + 1))]
        assert mpmath.almosteq(laws[0][-1] / laws[1][-1], laws[0][-2] / laws[1][-2])
        worst = max(
            abs(mpmath.log(a / b))
            for first, second in itertools.combinations(laws, 2)
            for a, b in zip(first, second, strict=True)
        )
        claimed = mechanism.event("reports", 1).epsilon
        assert worst <= claimed  # the scale is rounded up, so this needs no tolerance
        assert worst >= claimed * (1 - ROUNDING)


@given(
    scale=st.floats(0.05, 1e6),
    sensitivity=st.integers(1, 6),
    split=st.floats(0, 1),
    outputs=st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1),
)
def test_two_sided_geometric_at_its_l1_distance(
    scale: float, sensitivity: int, split: float, outputs: list[tuple[int, int]]
) -> None:
    mechanism = TwoSidedGeometric(scale)
    first = round(split * sensitivity)
    neighbour = first, first - sensitivity  # |first| + |sensitivity - first| from (0, 0)
    losses = [
        (abs(a - neighbour[0]) + abs(b - neighbour[1]) - abs(a) - abs(b)) / scale
        for a, b in [*outputs, (-9, 9), neighbour]
    ]
    claimed = mechanism.event(sensitivity, Unit.RATING, "sums").epsilon
    assert max(map(abs, losses)) <= claimed
    assert max(map(abs, losses)) >= claimed * (1 - ROUNDING)


@pytest.mark.parametrize("moves", ["one", "all"])
@pytest.mark.parametrize("kind", SELECTIONS)
@settings(max_examples=150, deadline=None)
@given(
    scores=st.lists(st.integers(-60, 60), min_size=2, max_size=5),
    k=st.integers(1, 3),
    sensitivity=st.integers(1, 4),
    epsilon=st.floats(0.01, 20),
)
def test_selections_never_lose_more_than_epsilon(
    kind: type[KSubset | GumbelTopK],
    moves: str,
    scores: list[int],
    k: int,
    sensitivity: int,
    epsilon: float,
) -> None:
    mechanism = kind(min(k, len(scores)), epsilon, sensitivity, moves)
    lost = loss(mechanism, scores)
    target(lost)
    assert lost <= 1 + ROUNDING


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("moves", ["one", "all"])
@pytest.mark.parametrize("kind", SELECTIONS)
def test_the_selections_bounds_are_needed(
    kind: type[KSubset | GumbelTopK], moves: str, k: int
) -> None:
    # An item (or k of them) far below k + 1 others; Gumbel's single mover stands far above them.
    mechanism = kind(k, 2.0, 1, moves)
    far = 20 * mechanism.divisor
    if moves == "all":
        scores = [0] * (k + 1) + [-far] * k
    else:
        scores = [0] * (k + 2) + ([far] if kind is GumbelTopK else [-far])
    lost = loss(mechanism, scores)
    assert 1 - 1e-6 < lost <= 1 + ROUNDING


@pytest.mark.parametrize("kind", SELECTIONS)
def test_less_noise_than_that_would_be_found_out(kind: type[KSubset | GumbelTopK]) -> None:
    """A divisor a quarter too small is caught by the same computation."""

    class Careless(kind):
        @property
        def divisor(self) -> int:
            return int(super().divisor) - self.sensitivity

    mechanism = Careless(2, 2.0, 2, "all")
    assert loss(mechanism, [0, 0, 0, -80, -80]) > 1.1


@pytest.mark.parametrize("kind", SELECTIONS)
def test_the_enumerated_laws_are_laws(kind: type[KSubset | GumbelTopK]) -> None:
    mechanism = kind(3, 3.0, 1, "one")
    total = np.exp(log_law(mechanism, np.array([[4, 0, -3, 1, 1]]))).sum()
    assert math.isclose(total, 1, rel_tol=1e-12)
    outcomes = math.comb(5, 3) if kind is KSubset else math.perm(5, 3)
    assert np.allclose(np.exp(log_law(mechanism, np.zeros((1, 5), np.int64))), 1 / outcomes)
