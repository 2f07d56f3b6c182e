"""Telling two worlds apart: a score learnt from training runs, and a threshold chosen on them.

Any score and any threshold are allowed, because what they are worth is measured on other runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.audit._bands import at_least, at_most
from discreet.audit.lower_bound._claims import Claim

_Floats = npt.NDArray[np.float64]

_ROUNDS, _RIDGE, _STILL = 20, 1e-2, 1e-4
_FAR, _FLAT = 30.0, 1e-12
_THRESHOLDS = 400
_MISSES = (1e-5, 1e-2)
"""At which thresholds are compared: the first at which anything is refuted. Not at the confidence
that is asked for: so a lower one counts the same events, and never proves less."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """Logistic regression on whitened features and their squares.

    Attributes:
        middle: Taken off the features.
        whiten: What then makes their covariance within a world I.
        weights: Of the whitened features, of their squares, and a constant.
    """

    middle: _Floats
    whiten: _Floats
    weights: _Floats

    def score(self, features: _Floats) -> _Floats:
        """High where the first world is more likely."""
        return np.asarray(_design(features, self.middle, self.whiten) @ self.weights)


def learn(first: _Floats, second: _Floats) -> Learnt:
    """Fit the score on runs of both worlds, a row of features each.

    Whitening comes first: a direction in which neither world varies (two outputs with the same
    noise) says everything, however small the step along it is.
    """
    middle = (first.mean(axis=0) + second.mean(axis=0)) / 2
    spread = np.abs(np.vstack([first, second]) - middle).max(axis=0)
    spread[spread == 0] = 1.0
    within = (np.cov(first / spread, rowvar=False) + np.cov(second / spread, rowvar=False)) / 2
    values, vectors = np.linalg.eigh(np.atleast_2d(within))
    whiten = vectors / np.sqrt(np.maximum(values, _FLAT)) / spread[:, None]
    design = np.vstack([_design(each, middle, whiten) for each in (first, second)])
    truth = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    weights = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -_FAR, _FAR)))
        curve = design.T @ (design * np.maximum(chance * (1 - chance), 1e-6)[:, None])
        slope = design.T @ (truth - chance) - _RIDGE * weights
        step = np.linalg.solve(curve + _RIDGE * np.eye(len(weights)), slope)
        weights = weights + step
        if np.abs(step).max() < _STILL:
            break
    return Learnt(middle, whiten, weights)


def _design(features: _Floats, middle: _Floats, whiten: _Floats) -> _Floats:
    z = np.clip((features - middle) @ whiten, -_FAR, _FAR)
    return np.hstack([z, z * z / _FAR, np.ones((len(z), 1))])


@dataclass(frozen=True)
class Threshold:
    """An event, "the score is at least (or at most) the threshold", likelier in one world.

    Attributes:
        value: Of the score.
        is_high: At least, which favours the first world; otherwise at most.
    """

    value: float
    is_high: bool

    def hits(self, scores: _Floats) -> int:
        """In how many runs it happened."""
        inside = scores >= self.value if self.is_high else scores <= self.value
        return int(np.count_nonzero(inside))


def choose_threshold(claim: Claim, trained: list[_Floats], *, is_high: bool) -> Threshold:
    """The threshold that refutes most on the training runs themselves.

    Their own intervals keep it away from the ends, where a rate that looks small may not be.

    Args:
        claim: What is to be refuted.
        trained: Scores of the training runs, of the first world and of the second.
        is_high: Which event.
    """
    pooled, tries = np.unique(np.concatenate(trained)), len(trained[0])
    if len(pooled) > _THRESHOLDS:
        # Close together at the ends, where likelihood ratios are extreme.
        steps = np.sin(np.linspace(0, np.pi / 2, _THRESHOLDS)) ** 2
        pooled = np.unique(pooled[np.rint(steps * (len(pooled) - 1)).astype(np.int64)])
    hits = [_hits(np.sort(each), pooled, is_high) for each in trained]
    likely, rare = hits if is_high else hits[::-1]
    for miss in _MISSES:
        found = claim.refuted(at_least(likely, tries, miss), at_most(rare, tries, miss))
        if found.max() > 0:
            break
    return Threshold(float(pooled[np.argmax(found)]), is_high)


def _hits(ordered: _Floats, thresholds: _Floats, is_high: bool) -> _Floats:
    if is_high:
        return np.asarray(len(ordered) - np.searchsorted(ordered, thresholds, side="left"))
    return np.asarray(np.searchsorted(ordered, thresholds, side="right"))
