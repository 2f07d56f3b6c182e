"""Two-sided geometric noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.privacy import Event, GeometricEvent, Receipt, Unit, unbooked
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
from privacy.mechanisms.battery import SECRET, PureBattery, Refusal, Sample
from statistical._laws import Floats, Geometric, Ints, independence, judge

DRAWS = 200_000


class TestTwoSidedGeometric(PureBattery):
    kind, arguments = TwoSidedGeometric, (3.0,)
    senseless = ((0.0,), (-1.0,), (math.nan,), (math.inf,), (2.0**50 + 1,))

    def event(self, mechanism: TwoSidedGeometric) -> GeometricEvent:
        return mechanism.event(1.0, Unit.USER, "sums")

    def release(self, mechanism: TwoSidedGeometric, event: Event, receipt: Receipt) -> Ints:
        return mechanism.release(np.full(2000, SECRET), event, receipt)

    def wrong_events(self, mechanism: TwoSidedGeometric) -> list[Event]:
        others = [kind(scale) for kind, scale in ((TwoSidedGeometric, 3.5), (RoundedGaussian, 3.0))]
        own = self.event(mechanism)
        return [replace(own, count=2), *(other.event(1.0, Unit.USER, "sums") for other in others)]

    def bad_data(self, mechanism: TwoSidedGeometric) -> Iterator[Refusal]:
        data = np.array([0.5, 1.0])
        yield "integers", self.event(mechanism), lambda e, r: mechanism.release(data, e, r)

    def samples(self) -> Iterator[Sample]:
        for scale in (0.8, 3e5):
            mechanism = TwoSidedGeometric(scale)
            values = np.arange(DRAWS).reshape(2, -1)
            event = mechanism.event(1.0, Unit.USER, "sums")
            receipt = unbooked([event])
            noise = mechanism.release(values.copy(), event, receipt, in_place=True) - values
            right, wrong = Geometric(scale), Geometric(0.95 * scale)
            yield Sample.of_noise(str(mechanism), noise, right, wrong)
            bins = np.searchsorted(right.edges(8, 0.02), noise)
            judge(independence(bins[0], bins[1]), f"{mechanism}: rows")

    def neighbours(self) -> Iterator[tuple[float, Floats, Floats]]:
        # Two entries, at every L1 distance up to the sensitivity; outputs beyond 9 have the ratios
        # of those at 9. The law's norm is the same for all.
        outputs = np.array(list(itertools.product(range(-9, 10), repeat=2)))
        for scale, sensitivity in itertools.product((0.05, 1.7, 1e6), (1, 3, 6)):
            steps = range(-sensitivity, sensitivity + 1)
            moved = [
                v
                for v in itertools.product(steps, repeat=2)
                if abs(v[0]) + abs(v[1]) <= sensitivity
            ]
            laws = [-np.abs(outputs - np.array(v)).sum(axis=1) / scale for v in moved]
            claimed = TwoSidedGeometric(scale).event(sensitivity, Unit.RATING, "sums").epsilon
            yield claimed, -np.abs(outputs).sum(axis=1)[None] / scale, np.array(laws)


def test_its_event() -> None:
    event = TwoSidedGeometric(4.0).event(3.0, Unit.RATING, "sums", ratings_per_user=7)
    assert (event.scale, event.ratings_per_user) == (4.0, 7)
    assert 0.75 <= event.epsilon <= 0.75 * (1 + 1e-15)
