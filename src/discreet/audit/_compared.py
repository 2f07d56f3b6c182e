"""The methods that are compared: what each predicts of held-out pairs, and what it gives away."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit._adversary import Victims, attack_release, choose_victims
from discreet.domain import InputError, Scale
from discreet.measure.outputs import OutputFunction, ShownTo
from discreet.methods import MethodName, bytes_of_fit, fit, lacks_room, record_fit
from discreet.methods import method_of as fit_method_of
from discreet.predict import People
from discreet.privacy import Randomness, SeededRandomness, SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import ModifiedLaplace, RandomizedResponse, TwoSidedGeometric
from discreet.privacy.noise import draw_below
from discreet.protocols.local_reports.messages import Mechanism
from discreet.ratings import Ratings, split_random
from discreet.release import Release

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]

# The share of ratings that is held out, the most people that methods are compared on, and how often
# an item is drawn again that the person has: nearly everybody lacks most items.
_HELD_OUT, _MOST_PEOPLE, _TRIES = 0.1, 2000, 30
# Scores or answers, people times items, that are in memory at a time: 64 MiB of 8 bytes each.
# Chosen by hand to bound memory on large catalogues.
_CELLS = 1 << 23
# The most attacks, and so victims, that fit into memory with their likelihoods.
_MOST_ATTACKS = 1 << 20
# Reports that are drawn at a time, and the most that are drawn at all: about a minute.
_BLOCK, _MOST_CELLS = 1 << 21, 1 << 28
# The variance of items' levels on a scale of width 4, and how many ratings at 0 a person's own
# level starts from: usual values of rating data, chosen by hand.
_EFFECTS, _OWN_DAMPING = 0.3, 5.0
# Log likelihood of what randomized response never says.
_NEVER = -1e6
# Rounds the noise's scale up, so that floating point never makes the event cost more than asked.
_UP = 1 + 2.0**-33

ANSWERS = "slope-one-answers"


METHODS: tuple[str, ...] = (
    *(method for method in MethodName if method is not MethodName.LISTS),
    *Mechanism,
    ANSWERS,
)
"""What predicts ratings: releases by the name of their method; reports randomised at home; noise on
every answer."""
PRESENCE_METHODS: tuple[str, ...] = (MethodName.LISTS, MethodName.COSINE)
"""What says which items people will have."""


class Bench:
    """The same held-out pairs and the same victims for every method. Private.

    A tenth of the ratings is held out, and predictions of them are compared. Of presence, as many
    pairs drawn at random stand beside those held out.

    Args:
        ratings: Everybody's.
        attacks: How many victims there are.
        draws: How many times the noise is drawn for a method and an epsilon; victims are divided
            between the draws.
        seed: Makes victims, pairs and noise repeatable; None draws noise from the system.

    Raises:
        InputError: These ratings cannot be attacked, or leave nothing to compare.
    """

    def __init__(self, ratings: Ratings, *, attacks: int, draws: int, seed: int | None) -> None:
        if draws < 2:
            raise InputError(f"bands need at least 2 draws of the noise, not {draws}")
        if not draws <= attacks <= _MOST_ATTACKS:
            raise InputError(
                f"from {draws} to {_MOST_ATTACKS:,} attacks can be made, not {attacks}"
            )
        self.draws, self.seed = draws, seed
        self.choices = np.random.default_rng(seed)
        split = split_random(ratings, _HELD_OUT, 0 if seed is None else seed)
        self.train = split.train
        self.victims = choose_victims(split.train, attacks, self.choices)
        self._hold_out(split.test)
        if not self.train.scale.presence and not self._truth.var() > 0:
            raise InputError("there is nothing to predict: all held-out ratings are the same")

    def __repr__(self) -> str:
        return "Bench(private)"

    def randomness(self, method: str, epsilon: float, draw: int) -> Randomness:
        """A source for one draw."""
        if self.seed is None:
            return SystemRandomness()
        return SeededRandomness(f"{self.seed} {method} {epsilon!r} {draw}")

    def predictions(self, release: Release) -> _Floats:
        """What a release predicts of the held-out pairs; of presence, what orders lists."""
        model = release.predictor()
        if not self.train.scale.presence:
            return np.asarray(model.predict_pairs(self.people, self.rows, self.items))
        found = np.empty(len(self.rows))
        for first, last in _blocks(len(self.people), len(self.train.catalog)):
            here = (self.rows >= first) & (self.rows < last)
            scores = model.scores(self.people, first, last)
            found[here] = scores[self.rows[here] - first, self.items[here]]
        return found

    def foreseen(self, predicted: _Floats) -> float:
        """The share of the variance of held-out ratings that is explained, 0 to 1.

        Of presence, how much more often than not a held-out pair comes before one drawn at random.
        """
        if not self.train.scale.presence:
            error = self.error(predicted) or 0.0
            return max(1 - error**2 / float(self._truth.var()), 0.0)
        held, others = np.split(predicted, 2)
        others = np.sort(others)
        # A pair with the same prediction counts half.
        below = [np.searchsorted(others, held, side).mean() for side in ("left", "right")]
        return max(float(sum(below)) / len(others) - 1, 0.0)

    def error(self, predicted: _Floats) -> float | None:
        """The RMSE on the held-out ratings; None of presence, which has no ratings."""
        if self.train.scale.presence:
            return None
        return float(np.sqrt(np.mean((predicted - self._truth) ** 2)))

    def _hold_out(self, test: Ratings) -> None:
        """The held-out pairs of some people, and the own ratings of these people."""
        tested = np.flatnonzero(np.diff(test.starts))
        if not len(tested):
            raise InputError("there are too few ratings to hold any out")
        self.candidates = len(tested)
        if len(tested) > _MOST_PEOPLE:
            tested = np.sort(self.choices.choice(tested, _MOST_PEOPLE, replace=False))
        self.users = tested
        self.people, theirs = _people(self.train, tested), _people(test, tested)
        self.rows = np.repeat(np.arange(len(tested)), np.diff(theirs.starts))
        self.items, self._truth = theirs.items, theirs.values
        if test.scale.presence:
            others = self._strangers(theirs)
            self.rows = np.tile(self.rows, 2)
            self.items = np.concatenate([self.items, others.astype(np.int32)])

    def _strangers(self, theirs: People) -> npt.NDArray[np.int64]:
        """For each held-out pair an item that the same person does not have, if there is one."""
        size = len(self.train.catalog)
        has = [
            np.repeat(np.arange(len(each)), np.diff(each.starts)) * size + each.items
            for each in (self.people, theirs)
        ]
        owned = np.concatenate(has)
        others = self.choices.integers(0, size, len(self.rows))
        for _ in range(_TRIES):
            again = np.isin(self.rows * size + others, owned)
            others[again] = self.choices.integers(0, size, int(again.sum()))
        return others


def _blocks(people: int, items: int) -> Iterator[tuple[int, int]]:
    """Blocks of people, so many that a table of them and all items stays within `_CELLS`."""
    size = max(1, _CELLS // items)
    for first in range(0, people, size):
        yield first, min(first + size, people)


def _people(ratings: Ratings, users: npt.NDArray[np.int64]) -> People:
    chosen = np.zeros(ratings.user_count, dtype=np.bool_)
    chosen[users] = True
    counts = np.diff(ratings.starts)
    at = np.repeat(chosen, counts)
    starts = np.concatenate(([0], np.cumsum(counts[chosen])))
    return People(starts, ratings.items[at], ratings.scale.decode(ratings.codes[at]))


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

    def __init__(self, bench: Bench, method: str, settings: dict[str, Any]) -> None:
        self._bench = bench
        self._settings = settings | {"method": method}
        self.of = str(settings["protect"])

    def without_noise(self) -> _Floats:
        kept = {name: self._settings[name] for name in ("method", "protect")}
        return self._bench.predictions(fit(self._bench.train, epsilon=math.inf, **kept))

    def draw(
        self, epsilon: float, victims: Victims, randomness: Randomness
    ) -> tuple[_Floats, _Floats]:
        transcript = record_fit(
            self._bench.train,
            epsilon=epsilon,
            ledger="unbooked",
            randomness=randomness,
            **self._settings,
        )
        found = self._bench.predictions(transcript.release)
        return found, attack_release(transcript, victims)


# Reports on every item, randomised at home, and the simplest server that can use them. The attacker
# reads a person's report on an item. The server adds up debiased reports into an item's level,
# shrunk towards the mean as far as their own scatter asks for; at home a person's own ratings give
# their offset from such levels. A server that learns tastes would predict better, and an attack on
# a report would do no worse.


class LocalMethod(ComparedMethod):
    """Reports randomised at home: attacked from the victim's own report on the item."""

    of = "report"

    def __init__(self, bench: Bench, method: str) -> None:
        self._bench, self._mechanism = bench, Mechanism(method)

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


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """What came in: the sums of a server, and what the victims' reports say.

    Attributes:
        sums: Per item, of ratings less the middle of the scale, debiased.
        counts: Per item, debiased.
        scatter: Per item, the sum of squares of what the sums are made of.
        likelihoods: For each victim and each possible secret; see `guess`.
    """

    sums: _Floats
    counts: _Floats
    scatter: _Floats
    likelihoods: _Floats

    def levels(self, scale: Scale) -> _Floats:
        """The expected rating of each item."""
        n, total = np.maximum(self.counts, 0.0), max(float(self.counts.sum()), 1.0)
        mean = min(max(float(self.sums.sum()) / total, -scale.range / 2), scale.range / 2)
        usual = _EFFECTS * (scale.range / 4) ** 2
        gain = usual * n / (usual * n**2 + self.scatter + 1e-9)
        return np.clip(scale.mid + mean + gain * (self.sums - n * mean), scale.lo, scale.hi)


def true_reports(ratings: Ratings) -> Reports:
    """The same sums without noise."""
    items, x = ratings.items, ratings.values() - ratings.scale.mid
    columns = (x, np.ones(len(x)), x**2)
    totals = np.array([np.bincount(items, each, len(ratings.catalog)) for each in columns])
    return Reports(totals[0], totals[1], totals[2], np.empty((0, 0)))


def send_reports(
    ratings: Ratings,
    mechanism: Mechanism,
    epsilon: float,
    victims: Victims,
    randomness: Randomness,
) -> Reports:
    """Everybody reports on every item.

    Raises:
        InputError: There is presence alone, or there are too many reports.
    """
    items, scale = len(ratings.catalog), ratings.scale
    if scale.presence:
        raise InputError(f"{mechanism} reports ratings here, and there is presence alone")
    if not fits_reports(ratings):
        raise InputError(
            f"{mechanism}: everybody reports on every item, which is too much to try here; "
            "leave the method out or give fewer ratings"
        )
    device = _DEVICES[mechanism](scale, epsilon)
    totals = np.zeros((3, items))
    likelihoods = np.zeros((len(victims), victims.options))
    step = max(1, _BLOCK // items)
    for first in range(0, ratings.user_count, step):
        last = min(first + step, ratings.user_count)
        shown = device.report(*_table(ratings.select_users(first, last)), randomness)
        weights, worth = device.debias(shown)
        totals += np.array([weights.sum(axis=0), worth.sum(axis=0), (weights**2).sum(axis=0)])
        here = (victims.people >= first) & (victims.people < last)
        seen = shown[victims.people[here] - first, victims.items[here]]
        likelihoods[here] = device.likelihoods(seen)
    return Reports(totals[0], totals[1], totals[2], likelihoods)


def predict_at_home(
    levels: _Floats, scale: Scale, people: People, rows: _Ints, items: npt.NDArray[np.int32]
) -> _Floats:
    """An item's level and how far the person's own ratings lie above such levels."""
    counts = np.diff(people.starts)
    owner = np.repeat(np.arange(len(people)), counts)
    above = np.bincount(owner, people.values - levels[people.items], len(people))
    own = above / (counts + _OWN_DAMPING)
    return np.clip(levels[items] + own[rows], scale.lo, scale.hi)


def _table(block: Ratings) -> tuple[_Ints, _Marks]:
    """A row for each person: the codes, and which of them are there."""
    codes = np.zeros((block.user_count, len(block.catalog)), dtype=np.int64)
    present = np.zeros(codes.shape, dtype=np.bool_)
    at = block.user_of_rating(), block.items
    codes[at], present[at] = block.codes, True
    return codes, present


class _Laplace:
    """Modified Laplace; nothing reported is the smallest integer."""

    _NOTHING = np.iinfo(np.int64).min

    def __init__(self, scale: Scale, epsilon: float) -> None:
        self._parts = _parts(scale)
        self._half = scale.range / (2 * self._parts)
        self._mechanism = ModifiedLaplace(self._parts, epsilon)

    def report(self, codes: _Ints, present: _Marks, randomness: Randomness) -> _Ints:
        event = self._mechanism.event("reports", codes.size)
        receipt = unbooked([event], randomness)
        values = np.where(present, 2 * codes - self._parts, 0)
        shown, there = self._mechanism.release(values, present, event, receipt)
        return np.where(there, shown, self._NOTHING)

    def debias(self, shown: _Ints) -> tuple[_Floats, _Floats]:
        there, keep = shown != self._NOTHING, self._mechanism.keep
        values = np.where(there, shown, 0) * (self._half / keep)
        return values, (there - (1 - keep)) / (2 * keep - 1)

    def likelihoods(self, seen: _Ints) -> _Floats:
        there = (seen != self._NOTHING)[:, None]
        options = 2 * np.arange(self._parts + 1) - self._parts
        far = np.abs(np.where(there, seen[:, None], 0) - options)
        return np.where(there, -far / self._mechanism.scale, 0.0)


class _Response:
    """Randomized response; symbol 0 is "not rated"."""

    def __init__(self, scale: Scale, epsilon: float) -> None:
        levels = scale.levels
        assert levels is not None
        self._centred = np.concatenate(([0.0], levels - scale.mid))
        self._mechanism = RandomizedResponse(len(levels) + 1, epsilon)

    def report(self, codes: _Ints, present: _Marks, randomness: Randomness) -> _Ints:
        event = self._mechanism.event("reports", codes.size)
        symbols = np.where(present, codes + 1, 0)
        return self._mechanism.release(symbols, event, unbooked([event], randomness))

    def debias(self, shown: _Ints) -> tuple[_Floats, _Floats]:
        keep = self._mechanism.keep
        other = keep * math.exp(-self._mechanism.epsilon)
        # Levels lie evenly about the middle, so what the wrong answers add to a sum cancels.
        worth = (shown > 0) - other * (self._mechanism.symbols - 1)
        return self._centred[shown] / (keep - other), np.asarray(worth / (keep - other))

    def likelihoods(self, seen: _Ints) -> _Floats:
        laws = [self._mechanism.probabilities(each) for each in range(1, len(self._centred))]
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.array(laws)), _NEVER).T[seen]


class _Rounded(_Response):
    """Rounded response: a rating becomes an end of the scale first, at random."""

    def __init__(self, scale: Scale, epsilon: float) -> None:
        self._parts = _parts(scale)
        half = scale.range / 2
        self._centred = np.array([0.0, -half, half])
        self._mechanism = RandomizedResponse(3, epsilon)

    def report(self, codes: _Ints, present: _Marks, randomness: Randomness) -> _Ints:
        drawn = draw_below(self._parts, codes.size, randomness).reshape(codes.shape)
        return super().report((drawn < codes).astype(np.int64), present, randomness)

    def likelihoods(self, seen: _Ints) -> _Floats:
        ends = np.array([self._mechanism.probabilities(each) for each in (1, 2)])
        upper = np.arange(self._parts + 1)[:, None] / self._parts
        with np.errstate(divide="ignore"):
            laws = np.log((1 - upper) * ends[0] + upper * ends[1])
        return np.asarray(np.maximum(laws, _NEVER).T[seen])


_DEVICES: dict[Mechanism, type[_Laplace] | type[_Response]] = {
    Mechanism.ROUNDED_RESPONSE: _Rounded,
    Mechanism.MODIFIED_LAPLACE: _Laplace,
    Mechanism.RANDOMIZED_RESPONSE: _Response,
}


def _parts(scale: Scale) -> int:
    if scale.step is None:
        raise InputError("guessing ratings needs a scale with steps, not a continuous one")
    return round(scale.range / scale.step)


def noised_answers(
    exact: _Ints, function: OutputFunction, epsilon: float, source: Randomness
) -> tuple[_Ints, float]:
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
        # Of everybody's answers, those that are compared with held-out ratings.
        self._exact = np.empty(len(bench.rows), np.int64)
        for first, last in _blocks(len(bench.users), len(bench.train.catalog)):
            here = (bench.rows >= first) & (bench.rows < last)
            answers = self._answers(bench.users[first:last])
            self._exact[here] = answers[bench.rows[here] - first, bench.items[here]]

    def without_noise(self) -> _Floats:
        return self._predict(self._exact)

    def draw(
        self, epsilon: float, victims: Victims, randomness: Randomness
    ) -> tuple[_Floats, _Floats]:
        noisy, _ = noised_answers(self._exact, self._function, epsilon, randomness)
        # Each victim's answers are seen at all possible secrets.
        cells = victims.options * len(self._bench.train.catalog)
        parts = [
            self._likelihoods(epsilon, victims.part(first, last), randomness)
            for first, last in _blocks(len(victims), cells)
        ]
        return self._predict(noisy), np.concatenate(parts)

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
        said = self._function.to_answers(answers)
        counts = self._function.own_counts(bench.train, bench.users)[bench.rows]
        is_answered = counts >= self._function.minimum_ratings
        return np.clip(np.where(is_answered, said, scale.mid), scale.lo, scale.hi)


def methods_for(presence: bool) -> tuple[str, ...]:
    """The methods for ratings, or for presence alone."""
    return PRESENCE_METHODS if presence else METHODS


def fits_reports(ratings: Ratings) -> bool:
    """Whether everybody's reports on every item are few enough to be drawn."""
    return ratings.user_count * len(ratings.catalog) <= _MOST_CELLS


def too_large(method: str, ratings: Ratings) -> str | None:
    """Why a method cannot be tried on ratings of this size, in words; None if it can."""
    if method in list(Mechanism) and not fits_reports(ratings):
        return f"{method}: left out, as everybody reports on every item, which is too much here"
    if method in list(MethodName):
        # Attacks hold what one person adds, with each secret, beside the fit's own matrices.
        needed = 2 * bytes_of_fit(
            fit_method_of(method, {}, presence=ratings.scale.presence), ratings, math.inf
        )
        if reason := lacks_room(needed):
            return f"{method}: left out, as it {reason}"
    return None


def method_of(bench: Bench, method: str, settings: dict[str, Any]) -> ComparedMethod:
    """A method by its name.

    Raises:
        InputError: There is no such method, or not for presence alone.
    """
    presence = bench.train.scale.presence
    fitting = ", ".join(methods_for(presence))
    if method not in {*METHODS, *PRESENCE_METHODS}:
        raise InputError(f"there is no method '{method}'; there are {fitting}")
    if method not in methods_for(presence):
        why = "needs ratings, and there is presence alone" if presence else "predicts no ratings"
        raise InputError(f"{method} {why}: choose from {fitting}")
    if method in list(Mechanism):
        return LocalMethod(bench, method)
    if method == ANSWERS:
        return AnswersMethod(bench)
    return ReleaseMethod(bench, method, settings | {"protect": Unit(settings["protect"])})
