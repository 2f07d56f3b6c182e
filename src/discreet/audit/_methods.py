"""The methods that are compared: what each says of held-out pairs, and what it gives away."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit._bench import Bench
from discreet.audit._local import LocalMechanism, predict_at_home, send_reports, true_reports
from discreet.audit._release_attack import attack_release
from discreet.audit._victims import Victims
from discreet.domain import InputError
from discreet.measure.outputs import OutputFunction, ShownTo
from discreet.methods import MethodName, fit, record_fit
from discreet.privacy import Randomness, Unit, unbooked
from discreet.privacy.mechanisms import TwoSidedGeometric

_Floats = npt.NDArray[np.float64]

ANSWERS = "slope-one-answers"
METHODS: tuple[str, ...] = (*MethodName, *LocalMechanism, ANSWERS)
"""Releases by the name of their method; reports randomised at home; noise on every answer."""
# Rounds the noise's scale up: rounding of floats never makes an event cost more than asked for.
_UP = 1 + 2.0**-33
_PRESENCE_METHODS = (MethodName.REFINED, MethodName.COSINE)


class ComparedMethod(abc.ABC):
    """One method on a bench.

    Attributes:
        of: What its epsilon is of: a user, a rating, a report or an answer.
    """

    of: str

    @abc.abstractmethod
    def without_noise(self) -> _Floats:
        """Predictions of the held-out pairs."""

    @abc.abstractmethod
    def draw(
        self, epsilon: float, victims: Victims, randomness: Randomness
    ) -> tuple[_Floats, _Floats]:
        """Predictions under noise, and the victims' likelihoods from the very same outputs."""


class ReleaseMethod(ComparedMethod):
    """A release: attacked from every statistic that was published on the way."""

    def __init__(self, bench: Bench, method: str, told: dict[str, Any]) -> None:
        self._bench = bench
        self._told = told | {"method": method}
        self.of = str(told["protect"])

    def without_noise(self) -> _Floats:
        told = {name: self._told[name] for name in ("method", "protect")}
        return self._bench.predictions(fit(self._bench.train, epsilon=math.inf, **told))

    def draw(
        self, epsilon: float, victims: Victims, randomness: Randomness
    ) -> tuple[_Floats, _Floats]:
        transcript = record_fit(
            self._bench.train,
            epsilon=epsilon,
            ledger="unbooked",
            randomness=randomness,
            **self._told,
        )
        found = self._bench.predictions(transcript.release)
        return found, attack_release(transcript, victims)


class LocalMethod(ComparedMethod):
    """Reports randomised at home: attacked from the victim's own report on the item."""

    of = "report"

    def __init__(self, bench: Bench, method: str) -> None:
        self._bench, self._mechanism = bench, LocalMechanism(method)

    def without_noise(self) -> _Floats:
        train = self._bench.train
        return self._predict(true_reports(train).levels(train.scale))

    def draw(
        self, epsilon: float, victims: Victims, randomness: Randomness
    ) -> tuple[_Floats, _Floats]:
        train = self._bench.train
        reports = send_reports(train, self._mechanism, epsilon, victims, randomness)
        return self._predict(reports.levels(train.scale)), reports.likelihoods

    def _predict(self, levels: _Floats) -> _Floats:
        bench = self._bench
        return predict_at_home(levels, bench.train.scale, bench.people, bench.rows, bench.items)


def noised_answers(
    exact: npt.NDArray[np.int64], function: OutputFunction, epsilon: float, source: Randomness
) -> tuple[npt.NDArray[np.int64], float]:
    """The answers as they are given out, and the noise's standard deviation."""
    if math.isinf(epsilon):
        return exact, 0.0
    sensitivity = function.one_answer(ShownTo.ANYBODY)
    mechanism = TwoSidedGeometric(sensitivity / epsilon * _UP)
    event = mechanism.event(sensitivity, Unit.RATING, "attacked answers")
    noisy = mechanism.release(exact, event, unbooked([event], source))
    return noisy, math.sqrt(2) * mechanism.scale / function.grid


class AnswersMethod(ComparedMethod):
    """Slope One with noise on every answer: attacked from all answers to the victim.

    Whoever has fewer ratings than the paper's T gets no answers: nothing is found out about them,
    and their pairs are predicted by the middle of the scale, with noise and without.
    """

    of = "answer"

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._function = OutputFunction("slope-one", bench.train.scale)
        self._exact = self._answers(bench.users)

    def without_noise(self) -> _Floats:
        return self._predict(self._exact)

    def draw(
        self, epsilon: float, victims: Victims, randomness: Randomness
    ) -> tuple[_Floats, _Floats]:
        noisy, _ = noised_answers(self._exact, self._function, epsilon, randomness)
        return self._predict(noisy), self._likelihoods(epsilon, victims, randomness)

    def _likelihoods(self, epsilon: float, victims: Victims, source: Randomness) -> _Floats:
        """A rating moves all answers alike: by a c-th of its own change, c the number of ratings.

        Answers about what the victim has rated are not given.
        """
        function, train = self._function, self._bench.train
        exact = self._answers(victims.people)
        noisy, spread = noised_answers(exact, function, epsilon, source)
        counts = function.own_counts(train, victims.people)
        steps = np.arange(victims.options) - victims.secrets[:, None]
        moved = steps * (train.scale.range / (victims.options - 1)) / counts[:, None]
        noise = ((noisy - exact) / function.grid)[:, :, None]
        gain = (np.abs(noise) - np.abs(noise - moved[:, None, :])) / (spread / math.sqrt(2))
        gain *= self._open(victims)[:, :, None]
        return np.asarray(gain.sum(axis=1) * (counts >= function.minimum_ratings)[:, None])

    def _open(self, victims: Victims) -> npt.NDArray[np.bool_]:
        """Which items each victim has not rated."""
        train = self._bench.train
        people, rows = np.unique(victims.people, return_inverse=True)
        place = np.full(train.user_count, -1)
        place[people] = np.arange(len(people))
        owner = place[train.user_of_rating()]
        open_ = np.ones((len(people), len(train.catalog)), dtype=np.bool_)
        open_[owner[owner >= 0], train.items[owner >= 0]] = False
        return open_[rows]

    def _answers(self, people: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        train = self._bench.train
        distinct, rows = np.unique(people, return_inverse=True)
        return self._function.measure(train, distinct, np.arange(len(train.catalog)))[rows]

    def _predict(self, answers: npt.NDArray[np.int64]) -> _Floats:
        bench, scale = self._bench, self._bench.train.scale
        said = self._function.to_answers(answers[bench.rows, bench.items])
        counts = self._function.own_counts(bench.train, bench.users)[bench.rows]
        is_answered = counts >= self._function.minimum_ratings
        return np.clip(np.where(is_answered, said, scale.mid), scale.lo, scale.hi)


def methods_for(presence: bool) -> tuple[str, ...]:
    """What can be compared on ratings, or on presence alone."""
    return _PRESENCE_METHODS if presence else METHODS


def method_of(bench: Bench, method: str, told: dict[str, Any]) -> ComparedMethod:
    """A method by its name.

    Raises:
        InputError: There is no such method, or not for presence alone.
    """
    if method not in METHODS:
        raise InputError(f"'{method}' is no method; there are {', '.join(METHODS)}")
    if method not in methods_for(bench.train.scale.presence):
        raise InputError(
            f"{method} needs ratings, and there is presence alone: "
            f"choose of {', '.join(_PRESENCE_METHODS)}"
        )
    if method in list(LocalMechanism):
        return LocalMethod(bench, method)
    if method == ANSWERS:
        return AnswersMethod(bench)
    return ReleaseMethod(bench, method, told | {"protect": Unit(told["protect"])})
