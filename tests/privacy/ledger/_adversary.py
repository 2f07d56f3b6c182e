"""An adversary who sees every output before choosing the next step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Move:
    """Gaussian noise (mu) or randomized response (epsilon), and the totals after it (or more)."""

    mu: float
    epsilon: float
    after: Any


Rule = Callable[[Any], Iterator[Move]]
_NODES = np.linspace(-8.5, 8.5, 256)
_WEIGHTS = np.exp(-_NODES * _NODES / 2) / np.exp(-_NODES * _NODES / 2).sum()


def gaussian_hockey_stick(mu: float, x: Floats) -> Floats:
    tail = np.exp(np.minimum(x + log_ndtr(-mu / 2 - x / mu), 0.0))
    return np.asarray(ndtr(mu / 2 - x / mu) - tail)


def best_delta(rule: Rule, state: Any, steps: int, x: Floats) -> Floats:
    """sup over adaptive strategies of P(S) - e^x Q(S), by integrating over the privacy loss.

    A Gaussian step's loss is N(mu^2/2, mu^2) under P; randomized response, the worst pure step,
    has the loss +epsilon with probability e^epsilon/(1 + e^epsilon), else -epsilon.
    """
    best: Floats = np.maximum(0.0, -np.expm1(x))
    if steps == 0:
        return best
    for move in rule(state):
        if move.mu and (steps == 1 or not list(rule(move.after))):
            value = gaussian_hockey_stick(move.mu, x)
        elif move.mu:
            loss = move.mu * move.mu / 2 + move.mu * _NODES
            value = best_delta(rule, move.after, steps - 1, x[..., None] - loss) @ _WEIGHTS
        else:
            chance = 1 / (1 + math.exp(-move.epsilon))
            value = chance * best_delta(rule, move.after, steps - 1, x - move.epsilon)
            value += (1 - chance) * best_delta(rule, move.after, steps - 1, x + move.epsilon)
        best = np.maximum(best, value)
    return best
