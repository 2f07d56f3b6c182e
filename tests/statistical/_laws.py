"""The laws that draws are held against, written from their formulas, and the level of every test.

The tests use real, unseeded randomness, so each of them fails now and then although nothing is
wrong. A p-value is an alarm at `LEVEL`, and `judge` refuses to hand out more than `MOST` of them:
a whole run is wrong with probability at most LEVEL * MOST = 4e-5, once in 25,000 runs.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest, chi2_contingency, chisquare

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEVEL = 1e-7
MOST = 400

_LEAST_EXPECTED = 100  # per bin: the chi-square approximation is good far into its tail
_judged: list[str] = []


def judge(p_value: float, what: str) -> None:
    """Fail if the p-value is an alarm."""
    _judged.append(what)
    assert len(_judged) <= MOST, "more p-values than the stated false-alarm rate allows for"
    assert p_value > LEVEL, f"{what}: p = {p_value:.2g}"


def alarms(p_value: float) -> bool:
    """Whether `judge` would have failed: for wrong laws planted on purpose."""
    return not p_value > LEVEL


@dataclass(frozen=True)
class Reference(abc.ABC):
    """A law on the integers."""

    scale: float

    @abc.abstractmethod
    def below(self, m: npt.ArrayLike) -> Floats:
        """P(k <= m)."""

    @abc.abstractmethod
    def beyond(self, m: float) -> float:
        """P(|k| > m) for an integer m >= 0, with a small relative error."""

    @abc.abstractmethod
    def quantile(self, p: Floats) -> Floats:
        """Where about P(k <= m) = p."""

    def masses(self, edges: Ints) -> Floats:
        """The probabilities of the bins that end at these integers, and of the rest."""
        return np.diff(self.below(edges), prepend=0.0, append=1.0)

    def edges(self, bins: int, least: float) -> Ints:
        """The last integers of about `bins` bins, none of which has less mass than `least`."""
        levels = np.arange(1, bins) / bins
        edges = np.unique(np.floor(self.quantile(levels)).astype(np.int64))
        kept: list[int] = []
        gathered = 0.0
        for edge, mass in zip(edges.tolist(), self.masses(edges)[:-1], strict=True):
            gathered += mass
            if gathered >= least:
                kept.append(edge)
                gathered = 0.0
        if kept and 1 - float(self.below(kept[-1])) < least:
            kept.pop()
        return np.array(kept, dtype=np.int64)


class Rounded(Reference):
    """The Gaussian law, rounded to the nearest integer."""

    def below(self, m: npt.ArrayLike) -> Floats:
        return np.asarray(ndtr((np.asarray(m) + 0.5) / self.scale))

    def beyond(self, m: float) -> float:
        return float(2 * ndtr(-(m + 0.5) / self.scale))

    def quantile(self, p: Floats) -> Floats:
        return np.asarray(ndtri(p) * self.scale)


class Floored(Rounded):
    """The Gaussian law, rounded down: a planted mistake."""

    def below(self, m: npt.ArrayLike) -> Floats:
        return np.asarray(ndtr((np.asarray(m) + 1.0) / self.scale))


class Geometric(Reference):
    """P(k) = (1 - q)/(1 + q) q^|k|, q = exp(-1/scale)."""

    def below(self, m: npt.ArrayLike) -> Floats:
        m = np.asarray(m, dtype=np.float64)
        nearer = np.where(m < 0, -m, m + 1)
        part = np.exp(-nearer / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.where(m < 0, part, 1 - part)

    def beyond(self, m: float) -> float:
        return 2 * math.exp(-(m + 1) / self.scale) / (1 + math.exp(-1 / self.scale))

    def quantile(self, p: Floats) -> Floats:
        return np.asarray(np.sign(p - 0.5) * -self.scale * np.log(1 - np.abs(2 * p - 1)))


class Discrete(Rounded):
    """P(k) proportional to exp(-k^2/(2 scale^2)), for small scales: not what we draw from."""

    def below(self, m: npt.ArrayLike) -> Floats:
        reach = math.ceil(12 * self.scale) + 1
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.scale) ** 2)
        sums = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
        return np.asarray(sums[np.clip(np.asarray(m) + reach + 1, 0, 2 * reach + 1)])


def fit(draws: Ints, law: Reference, bins: int = 64) -> float:
    """The p-value of a chi-square test of the draws against the law."""
    edges = law.edges(bins, _LEAST_EXPECTED / len(draws))
    assert len(edges), "one bin tests nothing"
    counts = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    return counts_fit(counts, law.masses(edges))


def tail(draws: Ints, law: Reference, scales: float) -> float:
    """The p-value of the number of draws beyond so many scales: exact, however few they are."""
    m = math.floor(scales * law.scale)
    return count_fit(int(np.count_nonzero(np.abs(draws) > m)), len(draws), law.beyond(m))


def counts_fit(counts: Ints, masses: Floats) -> float:
    """The p-value of a chi-square test of counts against their probabilities."""
    return float(chisquare(counts, masses * counts.sum()).pvalue)


def count_fit(count: int, trials: int, probability: float) -> float:
    """The p-value of a count of independent trials, two-sided and exact."""
    return float(binomtest(count, trials, probability).pvalue)


def signs(draws: Ints) -> float:
    """The p-value of the number of positive draws among those that are not 0."""
    return count_fit(int(np.count_nonzero(draws > 0)), int(np.count_nonzero(draws)), 0.5)


def sign_and_size(draws: Ints) -> float:
    """The p-value of the independence of sign and magnitude, given that the draw is not 0."""
    draws = draws[draws != 0]
    sizes = np.abs(draws)
    edges = np.unique(np.quantile(sizes, np.arange(1, 16) / 16))
    return independence(np.searchsorted(edges, sizes), (draws > 0).astype(np.int64))


def neighbours(draws: Ints, law: Reference, lag: int = 1) -> float:
    """The p-value of the independence of draws that are `lag` apart."""
    edges = law.edges(8, 0.02)
    bins = np.searchsorted(edges, draws)
    pairs = len(draws) // (2 * lag)
    blocks = bins[: pairs * 2 * lag].reshape(pairs, 2, lag)
    return independence(blocks[:, 0].ravel(), blocks[:, 1].ravel())


def independence(left: Ints, right: Ints) -> float:
    """The p-value of the independence of two small integers; rows that never occur are dropped."""
    width = int(right.max()) + 1
    table = np.bincount(left * width + right, minlength=(int(left.max()) + 1) * width)
    table = table.reshape(-1, width)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return float(chi2_contingency(table, correction=False).pvalue)


def uniformity(values: npt.NDArray[Any], kinds: int) -> float:
    """The p-value of integers that should be uniform on 0..kinds-1."""
    return float(chisquare(np.bincount(values.astype(np.int64), minlength=kinds)).pvalue)


def low_bits(draws: Ints, skip: int = 0, bits: int = 10) -> float:
    """The p-value of the uniformity of `bits` bits of the draws above the `skip` lowest ones."""
    return uniformity((draws >> skip) & ((1 << bits) - 1), 1 << bits)
