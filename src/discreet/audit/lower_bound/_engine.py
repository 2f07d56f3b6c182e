"""Many runs in two neighbouring worlds, and the epsilon that their outputs prove. See PROOF.md."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit._bands import at_least, at_most
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._distinguish import choose_threshold, learn
from discreet.domain import InputError
from discreet.privacy import Randomness, SeededRandomness, SystemRandomness

_Floats = npt.NDArray[np.float64]

FIRST, SECOND = 0, 1
_TRAINING_OF_THRESHOLDS, _TRAINING_OF_SCORES = 0.25, 0.5
_LEAST_RUNS, _MOST_RUNS = 40, 1 << 26
_FAR = 1e300

Progress = Callable[[str, int, int], None]
"""Called with a subject's name, how many are done and how many there are."""


@dataclass(frozen=True)
class Finding:
    """What an audit came to.

    Attributes:
        subject: Its name.
        claim: What was promised.
        refuted: The largest size (`Claim.size`) that was refuted: a lower bound on the true one.
        epsilon: The same told as an epsilon at the claim's delta.
        confidence: The probability, at least, that `refuted` does not exceed the true size.
        runs: Of each world, those that were tested; of one run, the guesses.
        how: Which distinguisher.
        seen: What was counted, in words.
        most: The largest size that so many runs can refute, whatever comes out.
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
        return self.claim.told(self.refuted)

    @property
    def is_violated(self) -> bool:
        """Whether the claim was refuted. If not, nothing was proved."""
        return self.claim.is_broken_by(self.refuted)

    @property
    def can_refute(self) -> bool:
        """Whether so many runs can refute the claim at all."""
        return self.claim.is_broken_by(self.most)

    @property
    def reached(self) -> float:
        """The lower bound as a part of what was claimed; infinite where nothing was admitted."""
        if self.claim.size == 0:
            return math.inf if self.refuted > 0 else 0.0
        return self.refuted / self.claim.size

    def as_json(self) -> dict[str, Any]:
        """Plain data; an infinite share is null, and `most` is told as an epsilon."""
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
            "most": self.claim.told(self.most),
            "violated": self.is_violated,
        }


class Subject(abc.ABC):
    """Something that makes a claim and can be put to the test.

    Attributes:
        name: By which it is asked for.
        about: In a few words, what is released and which neighbours are told apart.
        runs: How many runs of each world it gets if nothing is said.
    """

    name: str
    about: str
    runs: int

    @property
    @abc.abstractmethod
    def claim(self) -> Claim:
        """What it promises."""

    @abc.abstractmethod
    def audit(self, runs: int, confidence: float, randomness: Randomness) -> Finding:
        """Put it to the test."""


class PairSubject(Subject):
    """A mechanism on two neighbouring inputs, the two worlds, as often as one likes."""

    @abc.abstractmethod
    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        """Independent runs in world 0 or 1.

        A vector has one score for each, high where world 0 is more likely: an analytic
        distinguisher. A matrix has a row of numbers for each, from which a score is learnt. What
        is no number (NaN) is an outcome like any other.
        """

    def audit(self, runs: int, confidence: float, randomness: Randomness) -> Finding:
        outputs = self._drawn(runs, randomness)
        is_learnt = outputs[0].ndim == 2
        share = _TRAINING_OF_SCORES if is_learnt else _TRAINING_OF_THRESHOLDS
        cut = round(runs * share)
        # What a score was fitted to flatters it: thresholds are chosen on runs that it has not met.
        fitted = cut // 2 if is_learnt else 0
        if is_learnt:
            outputs = _features(outputs, cut)
            score = learn(*(each[:fitted] for each in outputs)).score
            outputs = [score(each) for each in outputs]
        else:
            outputs = _scores(outputs, cut)
        trained, tested = ([e[fitted:cut] for e in outputs], [e[cut:] for e in outputs])
        return self._test(trained, tested, confidence, "learnt" if is_learnt else "analytic")

    def _drawn(self, runs: int, randomness: Randomness) -> list[_Floats]:
        """Both worlds, alike: with fewer runs in one of them its rates would be wrong."""
        worlds = (FIRST, SECOND)
        outputs = [np.asarray(self.draw(world, runs, randomness), np.float64) for world in worlds]
        first, second = (each.shape for each in outputs)
        if first != second or len(first) not in (1, 2) or first[0] != runs or 0 in first:
            raise InputError(
                f"'{self.name}' drew arrays of shape {first} and {second}; each of {runs:,} runs "
                "has a score, or a row of numbers, in both worlds alike"
            )
        return outputs

    def _test(
        self, trained: list[_Floats], tested: list[_Floats], confidence: float, how: str
    ) -> Finding:
        """Both directions, two rates each: every one of the four may miss a quarter as often."""
        tries, miss = len(tested[0]), (1 - confidence) / 4
        best, seen = 0.0, "nothing told the two apart"
        for is_high in (True, False):
            threshold = choose_threshold(self.claim, trained, is_high=is_high)
            hits = [threshold.hits(each) for each in tested]
            likely, rare = hits if is_high else hits[::-1]
            low, high = at_least(likely, tries, miss), at_most(rare, tries, miss)
            found = float(self.claim.refuted(low, high))
            if found > best:
                best = found
                worlds = "first, second" if is_high else "second, first"
                seen = f"an event came up {likely:,} and {rare:,} times in {tries:,} ({worlds})"
        most = float(self.claim.refuted(at_least(tries, tries, miss), at_most(0, tries, miss)))
        return Finding(self.name, self.claim, best, confidence, tries, how, seen, most)


def _clean(outputs: _Floats, missing: float) -> _Floats:
    """Infinite numbers are as good as large ones; `missing` stands for what is no number."""
    return np.nan_to_num(outputs, nan=missing, posinf=_FAR, neginf=-_FAR)


def _scores(outputs: list[_Floats], cut: int) -> list[_Floats]:
    """What is no number is the surest sign of the world that had more of it in training."""
    first, second = (np.count_nonzero(np.isnan(each[:cut])) for each in outputs)
    missing = 2 * _FAR if first > second else -2 * _FAR
    return [_clean(each, missing) for each in outputs]


def _features(outputs: list[_Floats], cut: int) -> list[_Floats]:
    """Numbers to learn from: a column says where another one, in training, was no number."""
    blank = np.any([np.isnan(each[:cut]).any(axis=0) for each in outputs], axis=0)
    return [np.column_stack([_clean(each, 0.0), np.isnan(each[:, blank])]) for each in outputs]


def audit(
    subject: Subject,
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    seed: int | str | None = None,
) -> Finding:
    """A lower bound on the epsilon of one subject.

    A lower bound above the claim proves a violation, at this confidence. One below it proves
    nothing: another distinguisher, other neighbours or more runs might find more.

    Args:
        subject: What to put to the test.
        runs: In each of the two worlds; the subject's own number if not told.
        confidence: From 0.5 to below 1.
        seed: Makes the audit repeatable; otherwise the system's randomness is used.

    Raises:
        InputError: Too few or too many runs, or the confidence cannot be used.
    """
    runs = subject.runs if runs is None else runs
    check(runs, confidence)
    source = SystemRandomness() if seed is None else SeededRandomness(f"{seed} {subject.name}")
    return subject.audit(runs, confidence, source)


def check(runs: int | None, confidence: float) -> None:
    """Refuse what no audit can use.

    Raises:
        InputError: Says what would be right.
    """
    if runs is not None and not _LEAST_RUNS <= runs <= _MOST_RUNS:
        raise InputError(f"an audit makes from {_LEAST_RUNS} to {_MOST_RUNS:,} runs, not {runs:,}")
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence is from 0.5 to below 1, such as 0.95, not {confidence:g}")
