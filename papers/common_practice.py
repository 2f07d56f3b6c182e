"""Errata of common practice: composition rules and noise that are used and do not hold."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from discreet.privacy.accounting import gaussian_delta, gaussian_epsilon, gaussian_mu
from papers.erratum import Erratum, exponential, no_less_than, number

_Floats = npt.NDArray[np.float64]

# The parts of what is left that the adversary may spend in one step, and the least worth spending.
# Chosen by hand: more choices can only raise what it reaches.
_SHARES = (0.02, 0.1, 0.4, 1.0)
_LEAST = 1e-4
# Nodes and weights of a sum over the standard normal law; outside 8.5 it has less than 1e-16.
_NODES = np.linspace(-8.5, 8.5, 256)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()


def errata() -> list[Erratum]:
    """Adaptive composition, and the discrete Gaussian."""
    return [_adaptive(), _discrete_gaussian()]


def _adaptive() -> Erratum:
    """Totals compared with a limit of (1, 1e-6) by the best of a few strategies of three steps."""
    epsilon, delta = 1.0, 1e-6
    worst = _Adversary(epsilon, delta).best(0.0, 0.0, 3, np.array([epsilon])).item()
    return Erratum(
        "practice, adaptive totals",
        '"pure epsilons add, Gaussian mu² add, and the two totals may be compared with a limit, '
        'step by step"',
        (
            exponential("promised delta", delta, 0),
            no_less_than("reached delta, at least", worst),
        ),
    )


class _Adversary:
    """Chooses each step in the light of what came out, within pure + epsilon(mu) <= epsilon."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self._epsilon, self._delta = epsilon, delta

    def best(self, pure: float, square: float, steps: int, x: _Floats) -> _Floats:
        """The largest P(S) - e^x Q(S) over strategies, by integrating over the privacy loss.

        The loss of a Gaussian step is N(mu^2/2, mu^2) under P; that of randomized response, the
        worst pure step, is its epsilon with probability e^eps/(1 + e^eps), else minus that.
        """
        found: _Floats = np.maximum(0.0, -np.expm1(x))
        if steps == 0:
            return found
        for mu, e in self._moves(pure, square):
            after = (pure + e, square + mu * mu, steps - 1)
            if mu and (steps == 1 or not self._moves(*after[:2])):
                value = _hockey_stick(mu, x)
            elif mu:
                loss = mu * mu / 2 + mu * _NODES
                value = self.best(*after, x[..., None] - loss) @ _WEIGHTS
            else:
                chance = 1 / (1 + math.exp(-e))
                value = chance * self.best(*after, x - e)
                value = value + (1 - chance) * self.best(*after, x + e)
            found = np.maximum(found, value)
        return found

    def _moves(self, pure: float, square: float) -> list[tuple[float, float]]:
        """Steps of a few sizes that the totals have room for: (mu, 0) or (0, epsilon)."""
        left = self._epsilon - pure
        most = gaussian_mu(max(left, 0.0), self._delta) ** 2 - square
        room = left - gaussian_epsilon(math.sqrt(square), self._delta) if square else left
        moves = [(math.sqrt(most * share), 0.0) for share in _SHARES if most > _LEAST]
        return moves + [(0.0, room * share) for share in _SHARES if room * share > _LEAST]


def _hockey_stick(mu: float, x: _Floats) -> _Floats:
    tail = np.exp(np.minimum(x + log_ndtr(-mu / 2 - x / mu), 0.0))
    return np.asarray(ndtr(mu / 2 - x / mu) - tail)


def _discrete_gaussian() -> Erratum:
    """The exact delta of noise with the law of exp(-k^2/2), against the formula for mu = 1."""
    epsilon = 7.4
    k = np.arange(-60, 61)
    law = np.exp(-(k**2) / 2)
    law /= law.sum()
    exact = np.maximum(0, law[:-1] - math.exp(epsilon) * law[1:]).sum()
    return Erratum(
        "practice, discrete Gaussian",
        "the discrete Gaussian may be booked with the Gaussian formula",
        (
            exponential("delta by the formula", gaussian_delta(1.0, epsilon)),
            exponential("delta of the discrete Gaussian", exact),
            number("times as large", exact / gaussian_delta(1.0, epsilon), ".1f"),
        ),
        ("1", "7.4"),
    )
