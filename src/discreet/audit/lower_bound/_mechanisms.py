"""Every mechanism by itself, on the inputs that it distinguishes best, and a ledger of several."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import log_ratio
from discreet.audit._registry import Entry, register
from discreet.audit.lower_bound._engine import RUNS, Auditable, Claim, Floats, Ints, Subject
from discreet.audit.lower_bound._noisy import NoisyPair, add_noise
from discreet.domain.errors import BudgetExceeded
from discreet.measure import private_sets
from discreet.privacy import Event, GaussianEvent, GeometricEvent, Noise, Randomness, Unit, unbooked
from discreet.privacy.ledger import Ledger, Limit
from discreet.privacy.mechanisms import (
    GumbelTopK,
    KSubset,
    ModifiedLaplace,
    Moves,
    RandomizedResponse,
)

MECHANISMS: dict[str, Entry[Auditable]] = {}

Selection = Literal["k-subset", "gumbel"]
SELECTIONS: dict[Selection, type[KSubset | GumbelTopK]] = {
    "k-subset": KSubset,
    "gumbel": GumbelTopK,
}

# The most that a score of a selection moves, in grid units; chosen so that rounding is negligible.
_STEP = 100
# Items a selection chooses from, how many it chooses, and its epsilon.
_CANDIDATES, _CHOSEN, _SELECTION_EPSILON = 8, 2, 2.0
# The largest value of a scale of five steps, in half steps from the middle.
_REACH = 4
# Epsilon of the local mechanisms, and the symbols of randomized response: five ratings and none.
_LOCAL_EPSILON, _SYMBOLS = 1.0, 6
# Runs of selections, whose scores are learnt: slower than a likelihood ratio.
_SELECTION_RUNS = 16_000
# The limit of the audited ledger; delta applies where Gaussian noise is charged.
_LIMIT_EPSILON, _LIMIT_DELTA = 2.0, 0.01
# Charges after which a ledger that never refuses is believed to be broken.
_MOST_CHARGES = 12

_PURE = GeometricEvent(unit=Unit.RATING, label="audit", sensitivity=1.0, scale=2.0)
_GAUSS = GaussianEvent(unit=Unit.RATING, label="audit", sensitivity=1.0, sigma=1.5)
SPENDS: dict[str, tuple[Event, ...]] = {
    "pure": (_PURE,),
    "gaussian": (_GAUSS,),
    "mixed": (_PURE, _GAUSS),
}


@register(
    MECHANISMS, "{noise}/step-{step}", "integer noise on one number that moves by {step:,}",
    noise=Noise, step=(1, 1 << 20),
)  # fmt: skip
def noise_on_one(name: str, about: str, noise: Noise, step: int, drawn: float = 1.0) -> Subject:
    """A number that moves by the whole sensitivity; on a coarse grid and on a fine one."""
    pair = NoisyPair(np.array([step]), np.array([0]), noise, float(step), drawn=drawn)
    return pair.subject(name, about)


@register(
    MECHANISMS, "{noise}/vector", "integer noise on several numbers that all move", noise=Noise
)
def _noise_on_many(name: str, about: str, noise: Noise) -> Subject:
    """Many entries for L2; for L1 few, since what is spread thin is hard to see."""
    moved = np.full(16 if noise is Noise.GAUSSIAN else 2, 1000)
    sensitivity = float(np.linalg.norm(moved, 2 if noise is Noise.GAUSSIAN else 1))
    return NoisyPair(moved, 0 * moved, noise, sensitivity).subject(name, about)


@register(MECHANISMS, "randomized-response", "one of six symbols or another")
def randomized_response(name: str, about: str, drawn: float = 1.0) -> Subject:
    """`drawn` is the share of the booked noise that is really drawn, as in `NoisyPair`."""

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        mechanism = RandomizedResponse(_SYMBOLS, _LOCAL_EPSILON / drawn)
        event = mechanism.event("audit", runs)
        true = np.full(runs, 2 if world == 0 else 0)
        said = mechanism.release(true, event, unbooked([event], randomness))
        return np.asarray((said == 2).astype(np.float64) - (said == 0))

    claim = Claim.of([RandomizedResponse(_SYMBOLS, _LOCAL_EPSILON).event("audit", 1)])
    return Subject(name, about, claim, draw)


@register(MECHANISMS, "modified-laplace/{change}", "the largest value or none", change=["presence"])
@register(
    MECHANISMS, "modified-laplace/{change}", "the largest value or the smallest", change=["value"]
)
def _modified_laplace(name: str, about: str, change: str) -> Subject:
    mechanism = ModifiedLaplace(_REACH, _LOCAL_EPSILON)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        event = mechanism.event("audit", runs)
        is_there = world == 0 or change == "value"
        values = np.full(runs, _REACH if world == 0 else -_REACH)
        told = (np.where(is_there, values, 0), np.full(runs, is_there), event)
        said, shown = mechanism.release(*told, unbooked([event], randomness))
        return laplace_ratio(mechanism, said, shown, change)

    return Subject(name, about, Claim.of([mechanism.event("audit", 1)]), draw)


def laplace_ratio(
    mechanism: ModifiedLaplace, said: Ints, shown: npt.NDArray[np.bool_], change: str
) -> Floats:
    """The log likelihood ratio of answers: the largest value, against the smallest or none."""
    if change == "value":
        nearer = np.abs(said + mechanism.reach) - np.abs(said - mechanism.reach)
        return np.where(shown, nearer / mechanism.scale, 0.0)
    odds = math.log(mechanism.keep / (1 - mechanism.keep))
    nearer = np.abs(said) - np.abs(said - mechanism.reach)
    return np.where(shown, odds + nearer / mechanism.scale, -odds)


@register(
    MECHANISMS, "{kind}/moves-{moves}", "two of eight items; {moves} of the scores may move",
    kind=SELECTIONS, moves=Moves,
)  # fmt: skip
def selection(
    name: str, about: str, kind: Selection, moves: Moves, dropped: Sequence[int] = ()
) -> Subject:
    """A private choice of items by scores.

    Args:
        name: Of the subject.
        about: What it is.
        kind: The mechanism.
        moves: How many scores one record moves.
        dropped: Items that world 0 leaves out of the candidates; none unless a bug is planted.
    """
    mechanism, scores = (
        SELECTIONS[kind](_CHOSEN, _SELECTION_EPSILON, _STEP, moves),
        _scores(kind, moves),
    )

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        items = np.arange(_CANDIDATES)
        kept = np.setdiff1d(items, dropped) if world == 0 else items
        event = mechanism.event(Unit.RATING, "audit", runs)
        rows = np.tile(scores[world][kept], (runs, 1))
        return _places(kept[mechanism.release(rows, event, unbooked([event], randomness))])

    claim = Claim.of([mechanism.event(Unit.RATING, "audit")])
    return Subject(name, about, claim, draw, _SELECTION_RUNS)


@register(
    MECHANISMS, "private-sets/{kind}/moves-{moves}",
    "a list of two of eight items; {moves} of the scores may move",
    kind=SELECTIONS, moves=Moves,
)  # fmt: skip
def lists_for_people(
    name: str, about: str, kind: Selection, moves: Moves, drawn: float = 1.0
) -> Subject:
    """Lists as `private_sets` draws them: the scores of `selection`, off the grid."""
    sensitivity, claimed = 0.3, _SELECTION_EPSILON

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        scores = _scores(kind, moves)[world] * (sensitivity / _STEP)
        made = private_sets(
            np.tile(scores, (runs, 1)), _CHOSEN, protect="rating", epsilon=claimed / drawn,
            sensitivity=sensitivity, moves=moves, mechanism=kind, ledger="unbooked",
            randomness=randomness,
        )  # fmt: skip
        return _places(made.items)

    return Subject(name, about, Claim(claimed), draw, _SELECTION_RUNS)


def _scores(kind: Selection, moves: Moves) -> Ints:
    """A row for each world; the first two items, which are rarely chosen otherwise, move up.

    If items are chosen one after the other and one score moves, most is revealed by an item that is
    likely and yet not chosen either time: so likely that it shows, and not so likely that with half
    of the noise it would always be chosen. The factors 1.5 and 0.6 were found by trying.
    """
    unit = SELECTIONS[kind](_CHOSEN, _SELECTION_EPSILON, _STEP, moves).divisor / _SELECTION_EPSILON
    places, moved = np.arange(_CANDIDATES), np.zeros(_CANDIDATES, np.int64)
    if moves is Moves.ONE:
        base = np.where(places < 2, -round(1.5 * unit), 0)
        if kind == "gumbel":
            base = np.where(places < 1, round(1.5 * unit), 0)
        moved[0] = _STEP
    else:
        base = np.where(places < 2, -round(0.6 * unit), 0)
        moved[:2], moved[2:] = _STEP, -_STEP
    return np.array([base + moved, base])


def _places(chosen: npt.NDArray[np.integer]) -> Floats:
    """A mark for each place and item: the order of the items may reveal something."""
    marks = chosen[:, :, None] == np.arange(_CANDIDATES)
    return np.asarray(marks.reshape(len(chosen), -1), np.float64)


@register(
    MECHANISMS, "ledger/{kind}", "all releases that a limit admits, one rating more or less",
    kind=SPENDS,
)  # fmt: skip
def ledger(
    name: str, about: str, kind: str, opens: Callable[[Path], Ledger] = Ledger.open
) -> Subject:
    """Everything that a ledger lets through, seen together: a count, released again and again.

    Args:
        name: Of the subject.
        about: What it is.
        kind: What is charged in turn until the ledger refuses.
        opens: How the ledger's file is opened for each charge.
    """
    delta = 0.0 if kind == "pure" else _LIMIT_DELTA
    admitted = _admitted(SPENDS[kind], delta, opens)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        true, scores = np.full((runs, 1), 1 - world), np.zeros(runs)
        for event in admitted:
            if isinstance(event, GaussianEvent):
                noise, scale = Noise.GAUSSIAN, event.sigma
            else:
                assert isinstance(event, GeometricEvent)
                noise, scale = Noise.LAPLACE, event.scale
            noisy = add_noise(true, noise, scale, event.sensitivity, randomness)
            scores += log_ratio(noisy, np.array([1]), np.array([0]), noise, scale)
        return scores

    return Subject(name, about, Claim(_LIMIT_EPSILON, delta), draw, RUNS)


def _admitted(asked: Sequence[Event], delta: float, opens: Callable[[Path], Ledger]) -> list[Event]:
    """What a ledger charges before it refuses, opened anew for each charge."""
    found: list[Event] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "audit.ledger"
        Ledger.create(place, "people of an audit", [Limit(Unit.RATING, _LIMIT_EPSILON, delta)])
        for turn in range(_MOST_CHARGES):
            try:
                receipt = opens(place).charge([asked[turn % len(asked)]], "audit")
            except BudgetExceeded:
                break
            found += receipt.events
    return found
