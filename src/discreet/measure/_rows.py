"""Empirical Bayes for rows: what noisy sums of tastes say about items, the noise being known.

Everything here is computed from released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]

_SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """rows_i = design_i h_i + N(0, noise + sampling_i I), h_i the tastes that an item meets.

    Attributes:
        rows: A row of k for each item.
        design: How much of h each row holds, about; positive.
        noise: The k by k covariance of the noise, the same for every item.
        sampling: The variance by who happened to rate.
    """

    rows: _Floats
    design: _Floats
    noise: _Floats
    sampling: _Floats


def learn_rows(
    given: NoisyRows, features: _Floats, *, scale: float, rounds: int = 8
) -> tuple[_Floats, _Floats]:
    """Posterior mean of every h_i, and the trace of its variance.

    The prior h_i ~ N(Theta^T [1, features_i], Sigma) is learnt from the same numbers: Theta by
    weighted least squares over items, Sigma by moments minus the known noise.

    Args:
        given: What was released.
        features: What the prior mean may depend on.
        scale: The variance that entries of h usually have: where Sigma starts.
        rounds: How often the prior is learnt anew.
    """
    k = given.rows.shape[1]
    design = np.maximum(given.design, 1e-9)
    observed = given.rows / design[:, None]
    columns = np.column_stack([np.ones(len(observed)), features])
    level = np.trace(given.noise) / k + given.sampling
    informative = design**2 > 0.05 * level
    Sigma = np.eye(k) * scale
    for _ in range(rounds):
        weights = 1 / (np.trace(Sigma) / k + level / design**2)
        expected = columns @ _regression(columns, weights, observed)
        trust = weights**2 * informative if informative.any() else weights**2
        Sigma = _spread(observed - expected, trust, design, given, scale)
    return _posterior(given, design, expected, Sigma)


def _regression(columns: _Floats, weights: _Floats, observed: _Floats) -> _Floats:
    weighted = columns * weights[:, None]
    gram = weighted.T @ columns
    gram += 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.asarray(np.linalg.solve(gram, weighted.T @ observed))


def _spread(
    errors: _Floats, trust: _Floats, design: _Floats, given: NoisyRows, scale: float
) -> _Floats:
    """The covariance of h around its prior mean: what the noise does not explain."""
    excess = (errors * trust[:, None]).T @ errors
    excess -= given.noise * float(np.sum(trust / design**2))
    excess -= np.eye(len(excess)) * float(np.sum(trust * given.sampling / design**2))
    values, vectors = np.linalg.eigh((excess + excess.T) / (2 * trust.sum()))
    return np.asarray((vectors * np.maximum(values, _SMALLEST * scale)) @ vectors.T)


def _posterior(
    given: NoisyRows, design: _Floats, expected: _Floats, Sigma: _Floats
) -> tuple[_Floats, _Floats]:
    """In the basis of the noise's own axes, where every item's noise is diagonal."""
    values, axes = np.linalg.eigh(given.noise)
    variances = np.maximum(values, 0.0) + given.sampling[:, None] + 1e-300
    gains = design[:, None] / variances
    prior = axes.T @ np.linalg.inv(Sigma) @ axes
    precision = np.repeat(prior[None], len(design), axis=0)
    diagonal = np.arange(len(prior))
    precision[:, diagonal, diagonal] += gains * design[:, None]
    V = np.linalg.inv(precision)
    off = (given.rows - design[:, None] * expected) @ axes
    moved = np.einsum("iab,ib->ia", V, gains * off)
    return expected + moved @ axes.T, np.einsum("iaa->i", V)
