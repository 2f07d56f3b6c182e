"""Empirical Bayes: what noisy sums say about items, given that the noise is known.

Everything here is computed from released numbers.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy

_Floats = npt.NDArray[np.float64]


def learn_effects(
    sums: _Floats,
    design: _Floats,
    variances: _Floats,
    features: _Floats | None = None,
    *,
    largest: float,
    rounds: int = 8,
) -> tuple[_Floats, _Floats]:
    """Posterior mean and variance of h where sums_i = design_i h_i + N(0, variances_i).

    The prior h_i ~ N(theta . [1, features_i], tau^2), or N(0, tau^2) without features, is learnt
    from the same numbers: theta by weighted least squares, tau^2 by moments minus the known noise.
    In doubt, means believe in a smaller tau^2 and variances in a larger one.

    Args:
        sums: Noisy.
        design: How much of h each sum holds, about.
        variances: Of the noise, sampling included.
        features: Columns that the prior mean may depend on.
        largest: The most that tau^2 can be.
        rounds: How often the prior is learnt anew.
    """
    design = np.maximum(design, 1e-9)
    observed, noise = sums / design, variances / design**2
    columns = np.empty((len(sums), 0))
    if features is not None:
        columns = np.column_stack([np.ones(len(sums)), features])
    tau2 = 0.04 * largest
    informative = design**2 * largest > 0.015 * variances
    for _ in range(rounds):
        weights = 1 / (tau2 + noise)
        gram = (columns * weights[:, None]).T @ columns
        gram += np.eye(len(gram)) / (0.1 * largest)  # theta is small unless the items say otherwise
        inverse = np.linalg.inv(gram)
        theta = inverse @ (columns.T @ (weights * observed))
        # Within two standard errors it may as well be noise.
        theta *= np.maximum(1 - 4 * np.diagonal(inverse) / np.maximum(theta**2, 1e-300), 0.0)
        expected = columns @ theta
        trust = weights**2 * informative if informative.any() else weights**2
        excess = float(trust @ ((observed - expected) ** 2 - noise) / trust.sum())
        # Two standard errors off: where noise drowns the items, they are taken for equal.
        doubt = 2 * math.sqrt(2 * float(trust**2 @ (tau2 + noise) ** 2)) / float(trust.sum())
        tau2 = min(max(excess - doubt, 1e-6 * largest), largest)
    upper = min(max(excess + doubt, tau2, 0.3 * largest), largest)
    mean = expected + tau2 / (tau2 + noise) * (observed - expected)
    return mean, upper * noise / (upper + noise)


def shrink_counts(counts: _Floats, spread: float) -> tuple[_Floats, float]:
    """Counts drawn towards their mean as far as their noise asks for; and what noise is left.

    Among many items whose counts drown in noise, the largest are those with the luckiest noise. But
    a few are truly popular: no count is drawn further than twice its noise.
    """
    mean = max(float(counts.mean()), 0.0)
    real = max(float(counts.var()) - spread**2, 0.0)
    weight = real / (real + spread**2) if real > 0 else 0.0
    drawn = np.clip((1 - weight) * (mean - counts), -2 * spread, 2 * spread)
    return np.maximum(counts + drawn, 0.0), spread * math.sqrt(weight)


def shrink_ratio(
    total: Noisy, number: Noisy, guess: float, doubt: float, within: float = 3.0
) -> tuple[float, float]:
    """total/number, drawn towards a guess as far as noise asks for; and its variance.

    Args:
        total: Noisy.
        number: Noisy; positive before noise.
        guess: What it would be taken for without looking.
        doubt: The guess's standard deviation.
        within: No answer is further from the guess than this many of them.
    """
    count = max(number.value, number.spread, 1.0)
    ratio = min(max(total.value / count, guess - within * doubt), guess + within * doubt)
    noise = (total.spread**2 + (ratio * number.spread) ** 2) / count**2
    if doubt == 0:
        return guess, 0.0
    weight = doubt**2 / (doubt**2 + noise)
    return guess + weight * (ratio - guess), weight * noise


def update_effects(
    sums: _Floats, design: _Floats, noise: _Floats, variances: _Floats
) -> tuple[_Floats, _Floats]:
    """How a second, centred measurement moves effects of known variance, and the new variance.

    How much of the variances is really there is learnt first, one standard error on the safe side:
    where noise drowns the items nothing moves.
    """
    design = np.maximum(design, 1e-9)
    observed, spread = sums / design, noise / design**2
    trust = 1 / (variances + spread) ** 2
    excess = float(trust @ (observed**2 - spread))
    doubt = math.sqrt(2 * float(trust**2 @ (variances + spread) ** 2))
    real = min(max((excess - doubt) / float(trust @ variances + 1e-300), 0.0), 1.0)
    gain = real * variances / (real * variances + spread)
    return gain * observed, variances * spread / (variances + spread)


def effects_by_moments(
    residuals: _Floats, counts: _Floats, noise: _Floats, squares: _Floats, largest: float
) -> tuple[_Floats, _Floats]:
    """Mean and variance of h where residuals_i = n_i h_i + noise_i and h_i ~ N(0, tau^2).

    For counts that are themselves mostly noise: tau^2 is what the residuals' squares have beyond
    noise, over what n^2 is, without dividing by single counts as `learn_effects` does. A standard
    error less for the means, and one more for the variances.

    Args:
        residuals: Noisy sums.
        counts: n, above 0.
        noise: Variances of the residuals.
        squares: Unbiased estimates of n^2.
        largest: The most that tau^2 can be.
    """
    trust = 1 / noise**2
    scale = max(float(trust @ squares), 1e-300)
    excess = float(trust @ (residuals**2 - noise)) / scale
    doubt = math.sqrt(2 * float(trust**2 @ noise**2)) / scale
    tau2 = min(max(excess - doubt, 1e-6 * largest), largest)
    upper = min(max(excess + doubt, tau2, 0.3 * largest), largest)
    gain = tau2 * counts / (tau2 * counts**2 + noise)
    return gain * residuals, upper * noise / (upper * counts**2 + noise)


def average(first: Noisy, second: Noisy) -> Noisy:
    """Two measurements of the same numbers, weighted as their noise asks for."""
    squares = first.spread**2 + second.spread**2
    weight = first.spread**2 / squares if squares > 0 else 0.5
    spread = first.spread * second.spread / math.sqrt(squares) if squares > 0 else 0.0
    return Noisy(weight * second.value + (1 - weight) * first.value, spread)
