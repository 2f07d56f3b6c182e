"""Private selection against its law, every possible outcome counted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from discreet.privacy import SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK, KSubset
from discreet.privacy.mechanisms.gumbel_top_k import top_k_exactly
from discreet.privacy.mechanisms.k_subset import choose_exactly
from statistical._laws import Ints, alarms, counts_fit, judge, uniformity

ROWS = 100_000
FEW = 2_000
RANDOM = SystemRandomness()
Outcomes = dict[tuple[int, ...], float]


def subset_law(weights: Sequence[float], k: int) -> Outcomes:
    """All k-subsets, each with the product of its weights, over their sum."""
    raw = {
        chosen: math.prod(weights[item] for item in chosen)
        for chosen in itertools.combinations(range(len(weights)), k)
    }
    return {chosen: part / sum(raw.values()) for chosen, part in raw.items()}


def peeling_law(weights: Sequence[float], k: int) -> Outcomes:
    """All ordered lists of k items, each chosen by weight among those that are left."""
    law: Outcomes = {}
    for chosen in itertools.permutations(range(len(weights)), k):
        left, probability = list(range(len(weights))), 1.0
        for item in chosen:
            probability *= weights[item] / math.fsum(weights[other] for other in left)
            left.remove(item)
        law[chosen] = probability
    return law


def _release(mechanism: GumbelTopK | KSubset, scores: Sequence[int], rows: int) -> Ints:
    event = mechanism.event(Unit.USER, "top", rows)
    return mechanism.release(np.tile(scores, (rows, 1)), event, unbooked([event]))


def _fit(chosen: Ints, law: Outcomes) -> float:
    """The least likely outcomes are counted together, so many that they expect 100 or more."""
    powers = (int(chosen.max()) + 1) ** np.arange(chosen.shape[1])
    keys = np.array([int(np.dot(outcome, powers)) for outcome in law])
    found, counts = np.unique(chosen @ powers, return_counts=True)
    assert np.isin(found, keys).all(), "an outcome that cannot be"
    observed = dict(zip(found.tolist(), counts.tolist(), strict=True))
    masses = np.array(list(law.values()))
    order = np.argsort(masses)
    masses, tally = masses[order], np.array([observed.get(key, 0) for key in keys[order].tolist()])
    least = 100 / len(chosen)
    rare = max(
        int(np.searchsorted(masses, least)), int(np.searchsorted(masses.cumsum(), least)) + 1
    )
    starts = [0, *range(rare, len(masses))]
    return counts_fit(np.add.reduceat(tally, starts), np.add.reduceat(masses, starts))


def _weights(scores: Sequence[int], mechanism: GumbelTopK | KSubset) -> list[float]:
    return [math.exp(score * mechanism.epsilon / mechanism.divisor) for score in scores]


SCORES = [
    pytest.param([3, 1, 4, 1, 5, 9], id="mixed"),
    pytest.param([2, 2, 2, 2, 2, 2], id="equal"),
    pytest.param([0, 10, 0, 0, 10, -10], id="wide"),
]


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize(
    ("k", "epsilon", "moves"), [(3, 1.0, "one"), (3, 9.0, "all"), (1, 2, "all")]
)
def test_subsets_are_drawn_by_the_product_of_their_weights(
    scores: list[int], k: int, epsilon: float, moves: str
) -> None:
    mechanism = KSubset(k, epsilon, 2, moves)
    chosen = _release(mechanism, scores, ROWS)
    law = subset_law(_weights(scores, mechanism), k)
    judge(_fit(chosen, law), f"{k}-subsets of {scores}, {moves}")


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize(
    ("k", "epsilon", "moves"), [(3, 3.0, "one"), (2, 9.0, "all"), (6, 12, "one")]
)
def test_lists_are_drawn_by_peeling(scores: list[int], k: int, epsilon: float, moves: str) -> None:
    mechanism = GumbelTopK(k, epsilon, 2, moves)
    chosen = _release(mechanism, scores, ROWS)
    law = peeling_law(_weights(scores, mechanism), k)
    judge(_fit(chosen, law), f"lists of {k} of {scores}, {moves}")


def test_one_law_is_not_taken_for_the_other() -> None:
    scores = [3, 1, 4, 1, 5, 9]
    subsets = KSubset(3, 4.0, 1, "all")
    drawn = _release(subsets, scores, ROWS)
    weights = _weights(scores, subsets)
    peeled: Outcomes = dict.fromkeys(subset_law(weights, 3), 0.0)
    for outcome, probability in peeling_law(weights, 3).items():
        peeled[tuple(sorted(outcome))] += probability
    assert alarms(_fit(drawn, peeled))
    off = [weight * (1.1 if item == 0 else 1) for item, weight in enumerate(weights)]
    assert alarms(_fit(drawn, subset_law(off, 3)))


def test_a_large_catalogue_is_drawn_fairly() -> None:
    # All scores equal: each of 200 items is chosen as often as any other.
    for mechanism in (KSubset(5, 1.0, 1, "one"), GumbelTopK(5, 1.0, 1, "one")):
        chosen = _release(mechanism, [0] * 200, 30_000)
        for place in (0, 4) if isinstance(mechanism, GumbelTopK) else ():
            judge(uniformity(chosen[:, place], 200), f"{mechanism}: place {place}")
        # One item in each row at random: items of one row exclude each other, rows do not.
        column = RANDOM.words(len(chosen)) % np.uint64(5)
        judge(uniformity(chosen[np.arange(len(chosen)), column], 200), f"{mechanism}: all places")


def test_the_exact_choices_have_the_same_law() -> None:
    scores = np.array([3, 1, 4, 1, 5, 9])
    subsets, lists = KSubset(3, 4.0, 2, "all"), GumbelTopK(2, 4.0, 2, "all")
    words = RANDOM.words(6 * FEW).reshape(FEW, 6)
    drawn = [
        choose_exactly(scores, row, subsets.epsilon, subsets.divisor, 5, 3, RANDOM) for row in words
    ]
    judge(_fit(np.array(drawn), subset_law(_weights(scores, subsets), 3)), "exact subsets")
    drawn = [top_k_exactly(scores, row, lists.epsilon, lists.divisor, 2, RANDOM) for row in words]
    judge(_fit(np.array(drawn), peeling_law(_weights(scores, lists), 2)), "exact lists")
