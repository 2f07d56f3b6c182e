"""Output laws of the selections by enumeration, and how far apart neighbours' laws are."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from discreet.privacy.mechanisms import GumbelTopK, KSubset, Moves

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def log_law(mechanism: GumbelTopK | KSubset, scores: Ints) -> Floats:
    """The log probability of every outcome, in a fixed order, for each row of scores."""
    exponents = scores * (mechanism.epsilon / mechanism.divisor)
    items = scores.shape[1]
    if isinstance(mechanism, KSubset):
        sets = np.array(list(itertools.combinations(range(items), mechanism.k)))
        raw = exponents[:, sets].sum(axis=2)
        return np.asarray(raw - logsumexp(raw, axis=1, keepdims=True))
    lists = np.array(list(itertools.permutations(range(items), mechanism.k)))
    total = np.zeros((len(scores), len(lists)))
    left = np.ones((len(lists), items), dtype=bool)
    for place in range(mechanism.k):
        item = lists[:, place]
        rest = np.where(left[None], exponents[:, None, :], -np.inf)
        total += exponents[:, item] - logsumexp(rest, axis=2)
        left[np.arange(len(lists)), item] = False
    return total


def neighbours_of(mechanism: GumbelTopK | KSubset, scores: Ints) -> Ints:
    """Every way to move the scores to the ends of what the mechanism's word allows."""
    reach, items = mechanism.sensitivity, len(scores)
    if mechanism.moves is Moves.ALL:
        moves = itertools.product((-reach, 0, reach), repeat=items)
        return scores + np.array(list(moves))
    steps = np.array([step for step in range(-reach, reach + 1) if step])
    moved = np.eye(items, dtype=np.int64)[:, None, :] * steps[None, :, None]
    return scores + moved.reshape(-1, items)


def loss(mechanism: GumbelTopK | KSubset, scores: list[int]) -> float:
    """The largest log ratio over all outcomes and neighbours, as a share of epsilon."""
    own = np.array(scores, dtype=np.int64)
    others = neighbours_of(mechanism, own)
    ratios = log_law(mechanism, own[None]) - log_law(mechanism, others)
    return float(np.abs(ratios).max()) / mechanism.epsilon


Make = Callable[[int, float, int, str], GumbelTopK | KSubset]
