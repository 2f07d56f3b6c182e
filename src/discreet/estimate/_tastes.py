"""Item factors from noisy sums of ratings times tastes, the size of the noise being known.

Everything here is computed from released numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy
from discreet.estimate._effects import Effects, usual_ratio
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]

# Items at a time: a k by k matrix each is held in memory, 13 MB for k = 20.
_BLOCK = 4096
# How far from the usual scale Sigma can be. Safety nets: no data set has reached either.
_SMALLEST, _LARGEST = 1e-6, 100.0
# Variances never believe in a smaller Sigma than this part of the usual scale.
_UNSURE = 0.05


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
    given: NoisyRows, features: _Floats, guess: _Floats, *, scale: float, rounds: int = 8
) -> tuple[_Floats, _Floats]:
    """Posterior mean of every h_i, and the trace of its variance.

    The prior h_i ~ N(g guess_i + Theta^T [1, features_i], Sigma) is learnt from the same numbers: g
    and Theta by weighted least squares over items, Theta held back as far as its own noise asks
    for, Sigma by moments minus the known noise. In doubt, means believe in a smaller Sigma and
    variances in a larger one.

    Args:
        given: What was released.
        features: What the prior mean may depend on.
        guess: What h would be, but for a factor, if nothing new were learnt.
        scale: The variance that entries of h usually have: where Sigma starts.
        rounds: How often the prior is learnt anew.
    """
    k = given.rows.shape[1]
    design = np.maximum(given.design, 1e-9)
    observed = given.rows / design[:, None]
    columns = np.column_stack([np.ones(len(observed)), features])
    columns /= np.maximum(np.sqrt(np.mean(columns**2, axis=0)), 1e-12)
    # Without noise an item that nobody rated would otherwise be the best known.
    level = np.trace(given.noise) / k + np.maximum(given.sampling, 1e-3 * given.sampling.mean())
    informative = design**2 * scale > 5e-4 * level
    Sigma = np.eye(k) * scale
    for _ in range(rounds):
        weights = 1 / (np.trace(Sigma) / k + level / design**2)
        expected = _strength(guess, weights, observed) * guess
        expected = expected + columns @ _regression(columns, weights, observed - expected)
        trust = weights**2 * informative if informative.any() else weights**2
        Sigma, larger = _spread(observed - expected, trust, design, given, scale)
    means, _ = _posterior(given, design, expected, Sigma)
    return means, _posterior(given, design, expected, larger)[1]


def _strength(guess: _Floats, weights: _Floats, observed: _Floats) -> float:
    """How much of the guess is there, two standard errors on the safe side."""
    weighted = guess * weights[:, None]
    known = max(float((weighted * guess).sum()), 1e-300)
    factor = float((weighted * observed).sum()) / known
    return factor if factor > 2 / np.sqrt(known) else 0.0


def _regression(columns: _Floats, weights: _Floats, observed: _Floats) -> _Floats:
    """Weighted least squares, drawn to 0 by what the coefficients' squares exceed their noise."""
    weighted = columns * weights[:, None]
    gram = weighted.T @ columns
    gram += 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram))
    free = np.linalg.solve(gram, weighted.T @ observed)
    noise = np.diagonal(np.linalg.inv(gram))[:, None]
    trust = 1 / noise**2
    real = float((trust * (free**2 - noise)).sum() / (trust.sum() * free.shape[1]))
    if real <= 0:
        return np.zeros_like(free)
    gram += np.eye(len(gram)) / real
    return np.asarray(np.linalg.solve(gram, weighted.T @ observed))


def _spread(
    errors: _Floats, trust: _Floats, design: _Floats, given: NoisyRows, scale: float
) -> tuple[_Floats, _Floats]:
    """The covariance of h around its prior mean, what the noise does not explain: two guesses."""
    excess = (errors * trust[:, None]).T @ errors
    excess -= given.noise * float(np.sum(trust / design**2))
    excess -= np.eye(len(excess)) * float(np.sum(trust * given.sampling / design**2))
    values, vectors = np.linalg.eigh((excess + excess.T) / (2 * trust.sum()))
    # A standard error off: where noise drowns the items, they are taken for their prior mean, but
    # not for known.
    level = np.trace(given.noise) / len(values) + given.sampling
    doubt = math.sqrt(2 * float(np.sum((trust * level / design**2) ** 2))) / float(trust.sum())
    small = np.clip(values - doubt, _SMALLEST * scale, _LARGEST * scale)
    large = np.clip(values + doubt, _UNSURE * scale, _LARGEST * scale)
    return np.asarray((vectors * small) @ vectors.T), np.asarray((vectors * large) @ vectors.T)


def _posterior(
    given: NoisyRows, design: _Floats, expected: _Floats, Sigma: _Floats
) -> tuple[_Floats, _Floats]:
    """In the basis of the noise's own axes, where every item's noise is diagonal."""
    values, axes = np.linalg.eigh(given.noise)
    # An item that nobody rated tells nothing, even where no noise was added.
    least = 1e-9 * max(float(given.sampling.max()), 1e-9)
    prior = axes.T @ np.linalg.inv(Sigma) @ axes
    off = (given.rows - design[:, None] * expected) @ axes
    moved, traces = np.empty_like(off), np.empty(len(design))
    diagonal = np.arange(len(prior))
    for start in range(0, len(design), _BLOCK):
        part = slice(start, start + _BLOCK)
        variances = np.maximum(values, 0.0) + given.sampling[part, None] + least
        gains = design[part, None] / variances
        precision = np.repeat(prior[None], len(gains), axis=0)
        precision[:, diagonal, diagonal] += gains * design[part, None]
        V = np.linalg.inv(precision)
        moved[part] = np.einsum("iab,ib->ia", V, gains * off[part])
        traces[part] = np.einsum("iaa->i", V)
    return expected + moved @ axes.T, traces


# How thin whitening lets a direction of tastes be, as a part of the widest's variance. Tuned on
# another split of MovieLens 1M (docs/explanation/refined.md).
_THINNEST = 0.03


@dataclass(frozen=True, eq=False)
class TasteSums:
    """Released sums of ratings times tastes, item by item, and what is known about them.

    Attributes:
        rows: Sums of y_j z_(-j): a row for each item, a column for each direction of taste.
        moment: The second moment of z.
        design: How much of an item's h each row holds.
        sampling: The variance of a row's entries by who happened to rate.
        through: How z goes with people's true tastes, but for a factor: so that what was known of
            items before can be expressed in terms of z.
    """

    rows: Noisy
    moment: _Floats
    design: _Floats
    sampling: _Floats
    through: _Floats

    @classmethod
    def of_records(
        cls,
        rows: Noisy,
        moments: Noisy,
        weight: Noisy,
        *,
        directions: _Floats,
        counts: _Floats,
        variance: float,
    ) -> TasteSums:
        """Where a record was protected.

        Args:
            rows: In the scale's own unit.
            moments: The packed triangle of the weighted sum of z z^T.
            weight: The sum of those weights.
            directions: The rows that tastes were taken along.
            counts: Released counts, 0 or more.
            variance: The second moment of y.
        """
        shares = (counts + 1.0) / (counts.sum() + len(counts))
        through = (directions * shares[:, None]).T @ directions
        moment = _second_moment(moments, weight)
        return cls(rows, moment, counts, variance * counts, through)

    @classmethod
    def of_users(
        cls,
        rows: Noisy,
        moments: Noisy,
        weight: Noisy,
        scales: Noisy,
        *,
        effects: Effects,
        attention: _Floats,
        usual: float,
    ) -> TasteSums:
        """Where a user was protected.

        Args:
            rows: Of people's scaled residuals.
            moments: As for records.
            weight: As for records.
            scales: The sum of ||e|| w over people.
            effects: With the counts.
            attention: How much of a person's say each item was worth.
            usual: What ||e|| w is about.
        """
        ratio = usual_ratio(scales, effects.people, usual)
        design = ratio * attention * effects.known_counts
        sampling = effects.vote_variance * attention**2 * effects.known_counts
        moment = _second_moment(moments, weight)
        return cls(rows, moment, design, sampling, moment)

    def learn(self, features: _Floats, *, scale: float) -> tuple[_Floats, _Floats]:
        """Rows h for tastes of variance I, and the trace of each row's variance.

        Args:
            features: What the prior mean of h may depend on.
            scale: The variance that entries of h usually have.
        """
        whiten = _whitening(self.moment)
        rows = self.rows.value @ whiten
        noise = self.rows.spread**2 * whiten @ whiten
        given = NoisyRows(rows, self.design, noise, self.sampling)
        guess = features @ self.through @ whiten
        return learn_rows(given, features, guess, scale=scale)


def _second_moment(triangle: Noisy, weight: Noisy) -> _Floats:
    """The second moment of tastes, drawn towards an even one as far as its noise asks for."""
    total = max(weight.value, weight.spread, 1e-9)
    S = unpack(triangle.value, np.float64) / total
    k = len(S)
    least = max(triangle.spread / total, 1e-3 / k)
    even = np.eye(k) * max(float(np.trace(S)) / k, 2 * least / np.sqrt(k))
    seen, noise = float(((S - even) ** 2).sum()), (k * triangle.spread / total) ** 2
    trust = max(1 - noise / seen, 0.0) if seen > 0 else 0.0
    values, vectors = np.linalg.eigh(even + trust * (S - even))
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def _whitening(moment: _Floats, thinnest: float = _THINNEST) -> _Floats:
    """S^-1/2; noise can make S thin but not negative."""
    values, vectors = np.linalg.eigh(moment)
    values = np.maximum(values, max(thinnest * float(values.max()), 1e-9))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


# Of the whitened second moment of people's directions, whose mean is 1: what is there without any
# taste; the variance of tastes for what exceeds it, on a scale of width 4; the part of the noise's
# edge that is taken off. Tuned on a validation part of MovieLens 1M.
_UNTASTED, _TASTE, _SKETCH_EDGE = 0.7, 0.012, 0.8


def sketched_factors(
    sketch: Noisy, people: Noisy, rows: _Floats, counts: _Floats, most: int, width: float
) -> _Floats:
    """The few combinations of directions along which ratings really vary, as item factors.

    If ratings had no tastes, people's sums of y_j F_j would vary as the items' rows do, over
    records: what varies more is taste.

    Args:
        sketch: The packed second moment of the sums' directions, entries beside the diagonal times
            root 2, summed over people.
        people: How many there are.
        rows: F, as they were sketched along.
        counts: Of all items.
        most: Combinations, at most.
        width: The scale's range.
    """
    k, number = rows.shape[1], max(people.value, people.spread, 1.0)
    moment = unpack(sketch.value, np.float64) / number
    moment = (moment + np.diag(np.diagonal(moment)) * (math.sqrt(2) - 1)) / math.sqrt(2)
    shares = np.maximum(counts, 1e-3)
    spread = (rows * (shares / shares.sum())[:, None]).T @ rows
    whiten = _whitening(spread, 0.01)
    total = float(np.trace(spread))
    values, vectors = np.linalg.eigh(whiten @ moment @ whiten * total)
    values, vectors = values[::-1] - _UNTASTED, vectors[:, ::-1]
    noise = math.sqrt(2 * k) * sketch.spread / number * total * float(np.trace(whiten @ whiten)) / k
    real = np.sqrt(np.maximum(values**2 - (_SKETCH_EDGE * noise) ** 2, 0.0))
    variances = np.where(values > 0, real, 0.0) * _TASTE
    kept = np.flatnonzero(variances > 1e-6)[:most]
    found = (rows @ whiten @ vectors)[:, kept] * np.sqrt(variances[kept])
    return np.asarray(found * (width / 4))
