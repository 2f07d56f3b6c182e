"""Every mechanism by itself, on the inputs that it tells apart best, and a ledger of several."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import log_ratio
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import PairSubject, Subject
from discreet.audit.lower_bound._noisy import RUNS, NoisySubject, release
from discreet.domain.errors import BudgetExceeded
from discreet.measure import private_sets
from discreet.privacy import (
    Event,
    GaussianEvent,
    GeometricEvent,
    Noise,
    Randomness,
    Unit,
    unbooked,
)
from discreet.privacy.ledger import Ledger, Limit
from discreet.privacy.mechanisms import (
    GumbelTopK,
    KSubset,
    ModifiedLaplace,
    Moves,
    RandomizedResponse,
)

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_STEP = 100
"""The most that a score moves, in grid units."""
_LAPLACE = {"presence": "the largest value or none", "value": "the largest value or the smallest"}


def mechanisms() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    for noise in Noise:
        for step in (1, 1 << 20):
            yield f"{noise}/step-{step}", partial(_noise, noise, step)
        yield f"{noise}/vector", partial(_vector, noise)
    yield "randomized-response", partial(ResponseSubject, "randomized-response")
    for change, about in _LAPLACE.items():
        name = f"modified-laplace/{change}"
        yield name, partial(ModifiedLaplaceSubject, name, about, change)
    for kind, chooser in CHOOSERS.items():
        for moves in Moves:
            name = f"{kind}/moves-{moves}"
            yield name, partial(selection, name, chooser, moves)
            about = f"a list of two of eight items; {moves} of the scores may move"
            told = (f"private-sets/{name}", about, kind, moves)
            yield told[0], partial(PrivateSetsSubject, *told)
    for spends, events in SPENDS.items():
        yield f"ledger/{spends}", partial(LedgerSubject, f"ledger/{spends}", events)


def _noise(noise: Noise, step: int) -> NoisySubject:
    about = f"integer noise on one number that moves by {step:,}"
    first, second = np.array([step]), np.array([0])
    return NoisySubject(f"{noise}/step-{step}", about, first, second, noise, float(step))


def _vector(noise: Noise) -> NoisySubject:
    """Many entries for L2; for L1 few, since what is spread thin is hard to see."""
    size = 16 if noise is Noise.GAUSSIAN else 2
    moved = np.full(size, 1000)
    sensitivity = float(np.linalg.norm(moved, 2 if noise is Noise.GAUSSIAN else 1))
    about = f"integer noise on {size} numbers that all move"
    return NoisySubject(f"{noise}/vector", about, moved, 0 * moved, noise, sensitivity)


@dataclass(frozen=True)
class ResponseSubject(PairSubject):
    """Randomized response: two symbols of six."""

    name: str
    epsilon: float = 1.0
    drawn: float = 1.0
    runs: int = RUNS

    about = "one of six symbols or another"

    @property
    def claim(self) -> Claim:
        return Claim.of([RandomizedResponse(6, self.epsilon).event("audit", 1)])

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        mechanism = RandomizedResponse(6, self.epsilon / self.drawn)
        event = mechanism.event("audit", runs)
        true = np.full(runs, 2 if world == 0 else 0)
        said = mechanism.release(true, event, unbooked([event], randomness))
        return np.asarray((said == 2).astype(np.float64) - (said == 0))


@dataclass(frozen=True)
class ModifiedLaplaceSubject(PairSubject):
    """A value or none; or one end of the scale or the other."""

    name: str
    about: str
    change: str
    epsilon: float = 1.0
    runs: int = RUNS

    reach = 4

    @property
    def claim(self) -> Claim:
        return Claim.of([ModifiedLaplace(self.reach, self.epsilon).event("audit", 1)])

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        mechanism = ModifiedLaplace(self.reach, self.epsilon)
        event = mechanism.event("audit", runs)
        is_there = world == 0 or self.change == "value"
        values = np.full(runs, self.reach if world == 0 else -self.reach)
        told = (np.where(is_there, values, 0), np.full(runs, is_there), event)
        said, shown = mechanism.release(*told, unbooked([event], randomness))
        return laplace_ratio(mechanism, said, shown, self.change)


def laplace_ratio(
    mechanism: ModifiedLaplace, said: _Ints, shown: npt.NDArray[np.bool_], change: str
) -> _Floats:
    """How much more likely answers are of somebody with the largest value."""
    if change == "value":
        nearer = np.abs(said + mechanism.reach) - np.abs(said - mechanism.reach)
        return np.where(shown, nearer / mechanism.scale, 0.0)
    odds = math.log(mechanism.keep / (1 - mechanism.keep))
    nearer = np.abs(said) - np.abs(said - mechanism.reach)
    return np.where(shown, odds + nearer / mechanism.scale, -odds)


CHOOSERS: dict[Literal["k-subset", "gumbel"], type[KSubset | GumbelTopK]] = {
    "k-subset": KSubset,
    "gumbel": GumbelTopK,
}


@dataclass(frozen=True, eq=False)
class SelectionSubject(PairSubject):
    """A private choice of items by scores, in two worlds.

    Args:
        name: By which it is asked for.
        about: Which neighbours.
        chooser: The mechanism.
        scores: A row of grid units for each world.
        dropped: Items that world 0 leaves out of the candidates; none unless a bug is planted.
        runs: How many.
    """

    name: str
    about: str
    chooser: KSubset | GumbelTopK
    scores: _Ints
    dropped: Sequence[int] = ()
    runs: int = 16_000

    @property
    def claim(self) -> Claim:
        return Claim.of([self.chooser.event(Unit.RATING, "audit")])

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        """A mark for each place and item: in which order items come may tell something."""
        items = np.arange(self.scores.shape[1])
        kept = np.setdiff1d(items, self.dropped) if world == 0 else items
        event = self.chooser.event(Unit.RATING, "audit", runs)
        rows = np.tile(self.scores[world][kept], (runs, 1))
        chosen = kept[self.chooser.release(rows, event, unbooked([event], randomness))]
        marks = chosen[:, :, None] == items
        return np.asarray(marks.reshape(runs, -1), np.float64)


def selection(
    name: str, chooser: type[KSubset | GumbelTopK], moves: Moves, dropped: Sequence[int] = ()
) -> SelectionSubject:
    """Two of eight items; the first two, which are rarely chosen otherwise, move up.

    If items are chosen one after the other and one score moves, most is told by an item that is
    likely and yet not chosen, either time: so likely that it shows, and not so likely that with
    half of the noise it would always be chosen.
    """
    epsilon = 2.0
    mechanism = chooser(2, epsilon, _STEP, moves)
    unit = mechanism.divisor / epsilon
    places = np.arange(8)
    base = np.where(places < 2, -round((1.5 if moves is Moves.ONE else 0.6) * unit), 0)
    if moves is Moves.ONE and chooser is GumbelTopK:
        base = np.where(places < 1, round(1.5 * unit), 0)
    moved = np.zeros(8, np.int64)
    if moves is Moves.ONE:
        moved[0], about = _STEP, "two of eight items; one item's score moves"
    else:
        moved[:2], moved[2:], about = _STEP, -_STEP, "two of eight items; all scores move"
    return SelectionSubject(name, about, mechanism, np.array([base + moved, base]), dropped)


@dataclass(frozen=True)
class PrivateSetsSubject(PairSubject):
    """Lists for people as `private_sets` draws them: `selection`'s scores, off the grid."""

    name: str
    about: str
    kind: Literal["k-subset", "gumbel"]
    moves: Moves
    runs: int = 16_000

    epsilon, sensitivity = 2.0, 0.3

    @property
    def claim(self) -> Claim:
        return Claim(self.epsilon)

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        worst = selection(self.name, CHOOSERS[self.kind], self.moves)
        scores = worst.scores[world] * (self.sensitivity / _STEP)
        made = private_sets(
            np.tile(scores, (runs, 1)), 2, protect="rating", epsilon=self.epsilon,
            sensitivity=self.sensitivity, moves=self.moves, mechanism=self.kind,
            ledger="unbooked", randomness=randomness,
        )  # fmt: skip
        marks = made.items[:, :, None] == np.arange(8)
        return np.asarray(marks.reshape(runs, -1), np.float64)


_PURE = GeometricEvent(unit=Unit.RATING, label="audit", sensitivity=1.0, scale=2.0)
_GAUSS = GaussianEvent(unit=Unit.RATING, label="audit", sensitivity=1.0, sigma=1.5)
SPENDS: dict[str, tuple[Event, ...]] = {
    "pure": (_PURE,),
    "gaussian": (_GAUSS,),
    "mixed": (_PURE, _GAUSS),
}
_MOST_CHARGES = 12


@dataclass(frozen=True, eq=False)
class LedgerSubject(PairSubject):
    """Everything that a ledger lets through, seen together: a count, released again and again.

    Args:
        name: By which it is asked for.
        asked: What is charged in turn until the ledger refuses.
        opens: How the ledger's file is opened for each charge.
        runs: How many.
    """

    name: str
    asked: Sequence[Event]
    opens: Callable[[Path], Ledger] = field(default=Ledger.open)
    runs: int = RUNS

    about = "all releases that a limit admits, one rating more or less"
    epsilon, delta = 2.0, 0.01

    @property
    def _delta(self) -> float:
        return 0.0 if all(isinstance(e, GeometricEvent) for e in self.asked) else self.delta

    @property
    def claim(self) -> Claim:
        return Claim(self.epsilon, self._delta)

    @cached_property
    def admitted(self) -> list[Event]:
        """What the ledger charged before it refused, opened anew for each charge."""
        found: list[Event] = []
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "audit.ledger"
            limits = [Limit(Unit.RATING, self.epsilon, self._delta)]
            Ledger.create(place, "people of an audit", limits)
            for turn in range(_MOST_CHARGES):
                event = self.asked[turn % len(self.asked)]
                try:
                    receipt = self.opens(place).charge([event], "audit")
                except BudgetExceeded:
                    break
                found += receipt.events
        return found

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        true = np.full((runs, 1), 1 - world)
        scores = np.zeros(runs)
        for event in self.admitted:
            if isinstance(event, GaussianEvent):
                noise, scale = Noise.GAUSSIAN, event.sigma
            else:
                assert isinstance(event, GeometricEvent)
                noise, scale = Noise.LAPLACE, event.scale
            noisy = release(true, noise, scale, event.sensitivity, randomness)
            scores += log_ratio(noisy, np.array([1]), np.array([0]), noise, scale)
        return scores
