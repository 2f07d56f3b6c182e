"""Lower bounds on epsilon from many runs in two neighbouring worlds. See PROOF.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet.audit._intervals import at_least, at_most
from discreet.audit._neighbours import one_thread
from discreet.domain import InputError
from discreet.privacy import Event, GaussianNoise, Randomness, SeededRandomness, SystemRandomness
from discreet.privacy.accounting import compose, gaussian_epsilon

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The delta at which a Gaussian claim is stated as an epsilon, unless another is given: the default
# delta of a fit.
DELTA = GaussianNoise.default_delta
# Runs of each world by default: enough to find 95 % of an epsilon of 2 where the worst case is
# known (docs/explanation/audit.md), at the confidence of a whole table.
RUNS = 40_000
# Parts of the runs that train. A threshold alone needs a quarter; a learnt score needs a quarter
# for the score and another for its threshold. Chosen by hand.
_TRAINING_FOR_THRESHOLD, _TRAINING_FOR_SCORE = 0.25, 0.5
# With fewer runs nothing can be refuted; with more a world does not fit into memory.
_LEAST_RUNS, _MOST_RUNS = 40, 1 << 26
# Stands for infinity in a score; twice that for NaN. Any number beyond all honest scores will do.
_INFINITE = 1e300
# Relative slack of comparing a refuted size with a claim: above floating point error, far below
# what an audit resolves.
_SLACK = 1e-9


@dataclass(frozen=True)
class Claim:
    """P(S from A) <= e^epsilon P(S from B) + delta for neighbours A and B, either way round.

    With `mu` it is the whole curve of the Gaussian mechanism, of which (epsilon, delta) is one
    point: P(S from A) <= Phi(mu + Phi^-1(P(S from B))).

    Args:
        epsilon: At least 0; 0 claims that neighbours are indistinguishable.
        delta: At least 0 and below 1.
        mu: Of Gaussian noise, None otherwise.
    """

    epsilon: float
    delta: float = 0.0
    mu: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < math.inf or not 0 <= self.delta < 1:
            raise InputError(
                "a claim has a finite epsilon of at least 0 and a delta below 1, not "
                f"{self.epsilon:g} and {self.delta:g}"
            )

    @classmethod
    def gaussian(cls, mu: float, delta: float = DELTA) -> Claim:
        """The curve of mu, stated at `delta`."""
        return cls(gaussian_epsilon(mu, delta), delta, mu)

    @classmethod
    def of(cls, events: Iterable[Event], delta: float = DELTA) -> Claim:
        """What these events claim together: pure, Gaussian, or both as one point at `delta`."""
        totals = compose(events)
        if not totals.mu_squared:
            return cls(totals.pure)
        if not totals.pure:
            return cls.gaussian(totals.mu, delta)
        return cls(totals.epsilon(delta), delta)

    @property
    def size(self) -> float:
        """What is compared: mu of a Gaussian curve, otherwise epsilon."""
        return self.epsilon if self.mu is None else self.mu

    def refuted(self, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
        """The largest size that is impossible if P(S from A) >= low and P(S from B) <= high.

        0 where nothing is refuted. Every smaller size is refuted as well (PROOF.md).
        """
        least, most = np.asarray(low, np.float64), np.asarray(high, np.float64)
        if self.mu is not None:
            found = ndtri(least) - ndtri(most)
        else:
            above = np.maximum(least - self.delta, 0.0)
            with np.errstate(divide="ignore"):
                found = np.log(above) - np.log(most)
        return np.where(np.isnan(found), 0.0, np.maximum(found, 0.0))

    def as_epsilon(self, size: float) -> float:
        """A size as an epsilon at this claim's delta."""
        if self.mu is None or math.isinf(size):
            return size
        return gaussian_epsilon(size, self.delta) if size > 0 else 0.0

    def is_refuted_by(self, size: float) -> bool:
        """Whether refuting this size refutes the claim."""
        return size > self.size * (1 + _SLACK)


@dataclass(frozen=True)
class Finding:
    """The result of an audit.

    Attributes:
        subject: Its name.
        claim: What was promised.
        refuted: The largest size (`Claim.size`) that was refuted: a lower bound on the true one.
        confidence: The probability, at least, that `refuted` does not exceed the true size.
        runs: Tested runs of each world; of one run with canaries, the number of guesses.
        how: Which distinguisher.
        seen: What was counted, in words.
        most: The largest size that this number of runs can refute, whatever comes out.
    """

    subject: str
    claim: Claim
    refuted: float
    confidence: float
    runs: int
    how: str
    seen: str
    most: float

    @property
    def epsilon(self) -> float:
        """The lower bound as an epsilon at the claim's delta."""
        return self.claim.as_epsilon(self.refuted)

    @property
    def is_violated(self) -> bool:
        """Whether the claim was refuted. If not, nothing was proved."""
        return self.claim.is_refuted_by(self.refuted)

    @property
    def can_refute(self) -> bool:
        """Whether this number of runs can refute the claim at all."""
        return self.claim.is_refuted_by(self.most)

    @property
    def reached(self) -> float:
        """The lower bound as a share of the claim; infinite where the claim was 0."""
        if self.claim.size == 0:
            return math.inf if self.refuted > 0 else 0.0
        return self.refuted / self.claim.size

    def as_json(self) -> dict[str, Any]:
        """Plain data; an infinite share is null, and `most` is stated as an epsilon."""
        return {
            "subject": self.subject,
            "claimed_epsilon": self.claim.epsilon,
            "delta": self.claim.delta,
            "claimed_mu": self.claim.mu,
            "audited_epsilon": self.epsilon,
            "audited_mu": None if self.claim.mu is None else self.refuted,
            "reached": None if math.isinf(self.reached) else self.reached,
            "confidence": self.confidence,
            "runs": self.runs,
            "distinguisher": self.how,
            "seen": self.seen,
            "most": self.claim.as_epsilon(self.most),
            "violated": self.is_violated,
        }


class Evidence(Protocol):
    """Counts of an audit, which give a finding at any confidence without another run."""

    def finding(self, confidence: float) -> Finding:
        """What the counts prove at this confidence. A lower one never proves less."""


class Auditable(Protocol):
    """Something that makes a claim and can be tested: a `Subject`, or one run with canaries."""

    @property
    def name(self) -> str:
        """The name under which it is audited."""

    @property
    def about(self) -> str:
        """In a few words, what is released and which neighbours are distinguished."""

    @property
    def claim(self) -> Claim:
        """What it promises."""

    @property
    def runs(self) -> int:
        """Runs of each world by default."""

    def observe(self, runs: int, randomness: Randomness) -> Evidence:
        """Run it, and count."""


Draw = Callable[[int, int, Randomness], Floats]
"""Independent runs: world (0 or 1), how many, randomness.

A vector has a score for each run, high where world 0 is more likely: an analytic distinguisher. A
matrix has a row of numbers for each run, from which a score is learnt. NaN is an outcome like any
other.
"""


@dataclass(frozen=True, eq=False)
class Subject:
    """A claim about a mechanism, and runs of it on two neighbouring inputs: the two worlds.

    Args:
        name: The name under which it is audited.
        about: In a few words, what is released and which neighbours are distinguished.
        claim: What it promises.
        draw: The runs.
        runs: Runs of each world by default.
    """

    name: str
    about: str
    claim: Claim
    draw: Draw
    runs: int = RUNS

    def observe(self, runs: int, randomness: Randomness) -> Counts:
        """Choose two events on some of the runs, and count them in the others."""
        outputs = self._drawn(runs, randomness)
        is_learnt = outputs[0].ndim == 2
        cut = round(runs * (_TRAINING_FOR_SCORE if is_learnt else _TRAINING_FOR_THRESHOLD))
        # A score flatters the runs it was fitted to: thresholds are chosen on runs it has not met.
        fitted = cut // 2 if is_learnt else 0
        if is_learnt:
            outputs = _features(outputs, cut)
            score = learn(*(each[:fitted] for each in outputs)).score
            outputs = [score(each) for each in outputs]
        else:
            outputs = _scores(outputs, cut)
        trained, tested = [e[fitted:cut] for e in outputs], [e[cut:] for e in outputs]
        # Above a threshold, which should be likelier with the person, and below one, which should
        # be likelier without: both directions of the promise.
        events = [choose_threshold(self.claim, trained, is_high=high) for high in (True, False)]
        hits = tuple(tuple(event.hits(each) for each in tested) for event in events)
        how = "learnt" if is_learnt else "analytic"
        # The second pair is turned round, so that in both the likelier world comes first.
        return Counts(self.name, self.claim, how, hits[0], hits[1][::-1], len(tested[0]))

    def _drawn(self, runs: int, randomness: Randomness) -> list[Floats]:
        """Both worlds, alike: with fewer runs in one of them its rates would be wrong."""
        outputs = [np.asarray(self.draw(world, runs, randomness), np.float64) for world in (0, 1)]
        first, second = (each.shape for each in outputs)
        if first != second or len(first) not in (1, 2) or first[0] != runs or 0 in first:
            raise InputError(
                f"'{self.name}' drew arrays of shape {first} and {second}; each of {runs:,} runs "
                "has a score, or a row of numbers, in both worlds alike"
            )
        return outputs


@dataclass(frozen=True)
class Counts:
    """How often two events happened in the tested runs of each world.

    Attributes:
        subject: Its name.
        claim: What was promised.
        how: Which distinguisher.
        first: Of the event that favours world 0: hits in world 0, and in world 1.
        second: Of the event that favours world 1: hits in world 1, and in world 0.
        runs: Tested runs of each world.
    """

    subject: str
    claim: Claim
    how: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    runs: int

    def finding(self, confidence: float) -> Finding:
        """Both events, two rates each: each of the four bounds may fail a quarter as often."""
        miss, best, seen = (1 - confidence) / 4, 0.0, "no event distinguished the two worlds"
        for worlds, (likely, rare) in (
            ("first, second", self.first),
            ("second, first", self.second),
        ):
            low, high = at_least(likely, self.runs, miss), at_most(rare, self.runs, miss)
            found = float(self.claim.refuted(low, high))
            if found > best:
                best = found
                seen = f"an event came up {likely:,} and {rare:,} times in {self.runs:,} ({worlds})"
        surest = at_least(self.runs, self.runs, miss), at_most(0, self.runs, miss)
        most = float(self.claim.refuted(*surest))
        args = (self.subject, self.claim, best, confidence, self.runs)
        return Finding(*args, self.how, seen, most)


def _clean(outputs: Floats, missing: float) -> Floats:
    """Infinite numbers become large ones, and NaN becomes `missing`."""
    return np.nan_to_num(outputs, nan=missing, posinf=_INFINITE, neginf=-_INFINITE)


def _scores(outputs: list[Floats], cut: int) -> list[Floats]:
    """NaN is the surest sign of the world that had more of it in training."""
    first, second = (np.count_nonzero(np.isnan(each[:cut])) for each in outputs)
    missing = 2 * _INFINITE if first > second else -2 * _INFINITE
    return [_clean(each, missing) for each in outputs]


def _features(outputs: list[Floats], cut: int) -> list[Floats]:
    """Numbers to learn from; columns that had NaN in training get a column that marks it."""
    blank = np.any([np.isnan(each[:cut]).any(axis=0) for each in outputs], axis=0)
    return [np.column_stack([_clean(each, 0.0), np.isnan(each[:, blank])]) for each in outputs]


def observe(
    subject: Auditable, *, runs: int | None = None, seed: int | str | None = None
) -> Evidence:
    """Run a subject and count: see `audit`, which also judges the counts."""
    runs = subject.runs if runs is None else runs
    check(runs)
    source = SystemRandomness() if seed is None else SeededRandomness(f"{seed} {subject.name}")
    with one_thread():
        return subject.observe(runs, source)


def audit(
    subject: Auditable,
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    seed: int | str | None = None,
) -> Finding:
    """A lower bound on the epsilon of one subject.

    A lower bound above the claim proves a violation, at this confidence. One below it proves
    nothing: another distinguisher, other neighbours or more runs might find more.

    Args:
        subject: What to test.
        runs: In each of the two worlds; the subject's own number by default.
        confidence: From 0.5 to below 1.
        seed: Makes the audit repeatable; otherwise the system's randomness is used.

    Raises:
        InputError: Too few or too many runs, or an impossible confidence.
    """
    check(runs, confidence)
    return observe(subject, runs=runs, seed=seed).finding(confidence)


def check(runs: int | None, confidence: float = 0.95) -> None:
    """Refuse what no audit can use.

    Raises:
        InputError: Says what would be right.
    """
    if runs is not None and not _LEAST_RUNS <= runs <= _MOST_RUNS:
        raise InputError(f"an audit makes from {_LEAST_RUNS} to {_MOST_RUNS:,} runs, not {runs:,}")
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence is from 0.5 to below 1, such as 0.95, not {confidence:g}")


# Distinguishing two worlds: a score learnt from training runs, and a threshold chosen on them. Any
# score and any threshold are allowed, because what they are worth is measured on other runs.

# Newton steps of the logistic regression, its ridge, and the step below which it has converged.
# Chosen by hand: 20 steps are plenty for a convex problem, and the ridge only keeps separable
# training runs from sending the weights to infinity.
_STEPS, _RIDGE, _CONVERGED = 20, 1e-2, 1e-4
# Least curvature of a training run, so that runs predicted for certain do not make the Hessian
# singular.
_LEAST_CURVATURE = 1e-6
# Whitened features and log odds are clipped here: e^30 is beyond any rate that runs can show.
_CLIP = 30.0
# Variance, on features scaled to at most 1, below which a direction counts as not varying at all.
_FLAT = 1e-12
# Thresholds that are compared on the training runs; more resolve no further.
_THRESHOLDS = 400
# Levels at which thresholds are compared: the first at which anything is refuted. They do not
# depend on the confidence, so that a lower confidence counts the same events and never proves less.
_LEVELS = (1e-5, 1e-2)


@dataclass(frozen=True, eq=False)
class Learnt:
    """Logistic regression on whitened features and their squares.

    Attributes:
        middle: Subtracted from the features.
        whiten: The matrix that makes their covariance within a world the identity.
        weights: Of the whitened features, of their squares, and a constant.
    """

    middle: Floats
    whiten: Floats
    weights: Floats

    def score(self, features: Floats) -> Floats:
        """High where the first world is more likely."""
        return np.asarray(_design(features, self.middle, self.whiten) @ self.weights)


def learn(first: Floats, second: Floats) -> Learnt:
    """Fit the score on runs of both worlds, a row of features each.

    Whitening comes first: a direction in which neither world varies (two outputs with the same
    noise) reveals everything, however small the step along it is.
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
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -_CLIP, _CLIP)))
        curvature = np.maximum(chance * (1 - chance), _LEAST_CURVATURE)
        hessian = design.T @ (design * curvature[:, None]) + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(hessian, design.T @ (truth - chance) - _RIDGE * weights)
        weights = weights + step
        if np.abs(step).max() < _CONVERGED:
            break
    return Learnt(middle, whiten, weights)


def _design(features: Floats, middle: Floats, whiten: Floats) -> Floats:
    z = np.clip((features - middle) @ whiten, -_CLIP, _CLIP)
    return np.hstack([z, z * z / _CLIP, np.ones((len(z), 1))])


@dataclass(frozen=True)
class Threshold:
    """An event, "the score is at least (or at most) the threshold", likelier in one world.

    Attributes:
        value: Of the score.
        is_high: At least, which favours the first world; otherwise at most.
    """

    value: float
    is_high: bool

    def hits(self, scores: Floats) -> int:
        """In how many runs it happened."""
        inside = scores >= self.value if self.is_high else scores <= self.value
        return int(np.count_nonzero(inside))


def choose_threshold(claim: Claim, trained: list[Floats], *, is_high: bool) -> Threshold:
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
    for miss in _LEVELS:
        found = claim.refuted(at_least(likely, tries, miss), at_most(rare, tries, miss))
        if found.max() > 0:
            break
    return Threshold(float(pooled[np.argmax(found)]), is_high)


def _hits(ordered: Floats, thresholds: Floats, is_high: bool) -> Floats:
    if is_high:
        return np.asarray(len(ordered) - np.searchsorted(ordered, thresholds, side="left"))
    return np.asarray(np.searchsorted(ordered, thresholds, side="right"))
