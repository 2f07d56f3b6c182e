"""The battery of the two selections: their laws by enumeration, and neighbours to hold them to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from discreet.privacy import Event, PureEvent, Receipt, SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK, KSubset, Moves
from privacy.mechanisms.battery import SECRET, PureBattery, Refusal, Sample

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Selection = GumbelTopK | KSubset

FAR = 2**52
RANDOM = SystemRandomness()
# Choices in a sample: a weight that is 20 % too large is noticed (the battery computes it), and all
# 720 lists of six items are expected a hundred times and more.
ROWS = 100_000


def outcomes(kind: type[Selection], items: int, k: int) -> Ints:
    """Every outcome in a fixed order: sets, or ordered lists."""
    pick = itertools.combinations if kind is KSubset else itertools.permutations
    return np.array(list(pick(range(items), k)))


def log_law(mechanism: Selection, scores: npt.NDArray[Any]) -> Floats:
    """The log probability of every outcome for each row of scores."""
    exponents = scores * (mechanism.epsilon / mechanism.divisor)
    lists = outcomes(type(mechanism), scores.shape[1], mechanism.k)
    if isinstance(mechanism, KSubset):
        raw = exponents[:, lists].sum(axis=2)
        return np.asarray(raw - logsumexp(raw, axis=1, keepdims=True))
    total = np.zeros((len(scores), len(lists)))
    left = np.ones((len(lists), scores.shape[1]), dtype=bool)
    for place in range(mechanism.k):
        item = lists[:, place]
        rest = np.where(left[None], exponents[:, None, :], -np.inf)
        total += exponents[:, item] - logsumexp(rest, axis=2)
        left[np.arange(len(lists)), item] = False
    return total


def neighbours_of(mechanism: Selection, scores: Ints) -> Ints:
    """Every way to move the scores to the ends of what the mechanism's word allows."""
    reach, items = mechanism.sensitivity, len(scores)
    if mechanism.moves is Moves.ALL:
        moves = itertools.product((-reach, 0, reach), repeat=items)
        return scores + np.array(list(moves))
    steps = np.array([step for step in range(-reach, reach + 1) if step])
    moved = np.eye(items, dtype=np.int64)[:, None, :] * steps[None, :, None]
    return scores + moved.reshape(-1, items)


def loss(mechanism: Selection, scores: list[int]) -> float:
    """The largest log ratio over all outcomes and neighbours, as a share of epsilon."""
    own = np.array(scores, dtype=np.int64)
    others = neighbours_of(mechanism, own)
    ratios = log_law(mechanism, own[None]) - log_law(mechanism, others)
    return float(np.abs(ratios).max()) / mechanism.epsilon


def sample(mechanism: Selection, scores: list[int], chosen: Ints) -> Sample:
    """Choices against their law, and against that of one item's weight 20 % too large.

    It is the item that changes the law most. The least likely outcomes are counted together, so
    many that they expect 100 or more.
    """
    step = np.log(1.2) * mechanism.divisor / mechanism.epsilon
    law, *wrong = np.exp(
        log_law(mechanism, np.vstack([scores, scores + step * np.eye(len(scores))]))
    )
    laws = [law, max(wrong, key=lambda other: float(((law - other) ** 2 / other).sum()))]
    powers = len(scores) ** np.arange(mechanism.k)
    keys = outcomes(type(mechanism), len(scores), mechanism.k) @ powers
    order = np.argsort(keys)
    places = np.searchsorted(keys[order], chosen @ powers)
    assert (keys[order][places] == chosen @ powers).all(), "an outcome that cannot be"
    counts = np.bincount(order[places], minlength=len(keys))
    rising = np.argsort(laws[0])
    least = 100 / len(chosen)
    rare = max(
        int(np.searchsorted(laws[0][rising], least)),
        int(np.searchsorted(laws[0][rising].cumsum(), least)) + 1,
    )
    starts = [0, *range(rare, len(keys))]
    pooled = [np.add.reduceat(x[rising], starts) for x in (counts, *laws)]
    return Sample(f"{mechanism} of {scores}", *pooled)


class SelectionBattery(PureBattery):
    """What both selections have to show; a subclass adds `kind` and mechanisms to draw from."""

    kind: ClassVar[type[Selection]]
    arguments = (3, 1.0, 1, "all")
    senseless = (
        (0, 1.0, 1, "one"), (1025, 1.0, 1, "one"), (1, 0.0, 1, "one"), (1, -1.0, 1, "one"),
        (1, float("nan"), 1, "one"), (1, float("inf"), 1, "one"), (1, 1.0, 0, "one"),
    )  # fmt: skip
    drawn: ClassVar[tuple[tuple[int, float, Any], ...]]
    """Mechanisms to draw from: k, epsilon and what moves."""

    def event(self, mechanism: Selection) -> PureEvent:
        return mechanism.event(Unit.USER, "top", 40)

    def release(self, mechanism: Selection, event: PureEvent, receipt: Receipt) -> Ints:
        return mechanism.release(np.full((40, 30), SECRET), event, receipt)

    def wrong_events(self, mechanism: Selection) -> list[Event]:
        event = self.event(mechanism)
        return [
            mechanism.event(Unit.USER, "top", 39),
            mechanism.event(Unit.USER, "top"),
            replace(event, epsilon=event.epsilon / 2),
            replace(event, mechanism="another"),
        ]

    def bad_data(self, mechanism: Selection) -> Iterator[Refusal]:
        for said, scores in (
            ("integers on a grid", np.array([0.5, 1.0, 2.0])),
            ("integers on a grid", np.array([True, False, True])),
            ("3 of 2 items", np.array([1, 2])),
            ("one row of them", np.zeros((1, 1, 5), dtype=np.int64)),
            *(("exceeds 2", np.array([0, s, 1])) for s in (FAR + 1, -FAR - 1, 2**63 - 1, -(2**63))),
        ):
            event = mechanism.event(Unit.USER, "top")
            yield said, event, lambda e, r, s=scores: mechanism.release(s, e, r)
        huge = self.kind(1024, 1.0, 1, "all")
        scores = np.zeros(1 << 18, dtype=np.int64)
        event = huge.event(Unit.USER, "x")
        yield "too large a table", event, lambda e, r: huge.release(scores, e, r)

    def samples(self) -> Iterator[Sample]:
        for scores in ([3, 1, 4, 1, 5, 9], [2, 2, 2, 2, 2, 2], [0, 10, 0, 0, 10, -10]):
            for k, epsilon, moves in self.drawn:
                mechanism = self.kind(k, epsilon, 2, moves)
                event = mechanism.event(Unit.USER, "top", ROWS)
                rows = np.tile(scores, (ROWS, 1))
                yield sample(mechanism, scores, mechanism.release(rows, event, unbooked([event])))

    def neighbours(self) -> Iterator[tuple[float, Floats, Floats]]:
        # An item (or k of them) far below k + 1 others; Gumbel's single mover is far above them.
        for k, moves in itertools.product((1, 2, 3), Moves):
            mechanism = self.kind(k, 2.0, 1, moves)
            far = 20 * mechanism.divisor
            if moves is Moves.ALL:
                scores = [0] * (k + 1) + [-far] * k
            else:
                scores = [0] * (k + 2) + ([far] if self.kind is GumbelTopK else [-far])
            own = np.array(scores)
            others = log_law(mechanism, neighbours_of(mechanism, own))
            yield mechanism.event(Unit.USER, "top").epsilon, log_law(mechanism, own[None]), others
