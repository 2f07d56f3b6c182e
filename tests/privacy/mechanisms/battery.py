"""What every mechanism has to show. A new one's test is a class that inherits this and fills it in:

    class TestCoin(PureBattery):
        kind, arguments = Coin, (1.0,)
        senseless = ((0.0,), (math.nan,))
        def event(self, mechanism): return mechanism.event("tosses", 500)
        def release(self, mechanism, event, receipt): return mechanism.release(SIDE, event, receipt)
        def wrong_events(self, mechanism): return [mechanism.event("tosses", 499)]
        def samples(self): ...       # draws, their law, and a wrong law that must be noticed
        def neighbours(self): ...    # exact output laws of neighbours, and the epsilon claimed

Data to release should hold `SECRET`, which no error message may show.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from discreet.domain import InputError
from discreet.privacy import (
    Event,
    NotCharged,
    Receipt,
    SeededRandomness,
    SystemRandomness,
    unbooked,
)
from statistical._laws import LEVEL, Floats, Ints, Reference, alarms, counts_fit, judge

SECRET = 424_242
# Relative and absolute: what floats lose in laws and logarithms.
ROUNDING, TINY = 1e-9, 1e-13
# The probability with which a planted law may go unnoticed in one sample.
BLIND = 1e-9


Refusal = tuple[str, Event, Callable[..., Any]]
"""A part of the message, the event, and the release that must fail."""


@dataclass(frozen=True)
class Sample:
    """Independent draws, counted by outcome, with the right law and a wrong one."""

    name: str
    counts: Ints
    law: Floats
    wrong: Floats

    @classmethod
    def of_noise(cls, name: str, draws: Ints, law: Reference, wrong: Reference) -> Sample:
        """Integer noise, in about 32 bins of which each expects 100 draws or more."""
        edges = law.edges(32, 100 / draws.size)
        counts = np.bincount(np.searchsorted(edges, draws.ravel()), minlength=len(edges) + 1)
        return cls(name, counts, law.masses(edges), wrong.masses(edges))

    @property
    def blindness(self) -> float:
        """The probability that right draws are not told from the wrong law: non-central chi-square.

        It is why samples have the size they have.
        """
        freedom = len(self.law) - 1
        apart = self.counts.sum() * ((self.law - self.wrong) ** 2 / self.wrong).sum()
        return float(ncx2.cdf(chi2.isf(LEVEL, freedom), freedom, apart))


class Battery(abc.ABC):
    """Charge then draw, refusals, the law of the draws, and the privacy map."""

    kind: ClassVar[type]
    arguments: ClassVar[tuple[Any, ...]]
    """Of a mechanism to draw from, whose outcomes hardly ever repeat."""
    senseless: ClassVar[tuple[tuple[Any, ...], ...]]
    """Arguments of mechanisms that must be refused."""

    @abc.abstractmethod
    def event(self, mechanism: Any) -> Event:
        """What `release` costs."""

    @abc.abstractmethod
    def release(self, mechanism: Any, event: Any, receipt: Receipt) -> Any:
        """One release of data that hold `SECRET`."""

    @abc.abstractmethod
    def wrong_events(self, mechanism: Any) -> list[Event]:
        """Events that are not those of `release`."""

    def bad_data(
        self, mechanism: Any
    ) -> Iterator[tuple[str, Event, Callable[[Event, Receipt], Any]]]:
        """Releases that must be refused."""
        return iter(())

    @abc.abstractmethod
    def samples(self) -> Iterator[Sample]:
        """Draws through receipts, to be held against their laws."""

    @abc.abstractmethod
    def check_privacy_map(self) -> None:
        """Compare the event with the exact output laws of adversarial neighbours."""

    @pytest.fixture
    def mechanism(self) -> Any:
        return self.kind(*self.arguments)

    def test_one_charge_buys_one_draw(self, mechanism: Any) -> None:
        event = self.event(mechanism)
        receipt = unbooked([event, event])
        first, second = (self.release(mechanism, event, receipt) for _ in range(2))
        assert not np.array_equal(first, second)
        with pytest.raises(NotCharged):
            self.release(mechanism, event, receipt)

    def test_nothing_is_drawn_without_a_charge(self, mechanism: Any) -> None:
        event = self.event(mechanism)
        for charged in ([], [replace(event, label="something else")]):
            with pytest.raises(NotCharged, match=event.label):
                self.release(mechanism, event, unbooked(charged))

    def test_another_event_is_refused_and_not_used_up(self, mechanism: Any) -> None:
        event = self.event(mechanism)
        for wrong in self.wrong_events(mechanism):
            receipt = unbooked([wrong, event])
            with pytest.raises(InputError):
                self.release(mechanism, wrong, receipt)
            receipt.redeem(wrong)  # still there
            self.release(mechanism, event, receipt)

    def test_bad_data_are_refused_and_cost_nothing(self, mechanism: Any) -> None:
        for said, event, call in self.bad_data(mechanism):
            receipt = unbooked([event])
            with pytest.raises(InputError, match=said):
                call(event, receipt)
            receipt.redeem(event)

    def test_senseless_mechanisms_are_refused(self) -> None:
        for arguments in self.senseless:
            with pytest.raises(InputError):
                self.kind(*arguments)

    def test_a_seed_repeats_and_says_that_it_is_not_private(self, mechanism: Any) -> None:
        event = self.event(mechanism)
        receipts = [unbooked([event], SeededRandomness(seed)) for seed in (5, 5, 6)]
        first, again, other = (self.release(mechanism, event, receipt) for receipt in receipts)
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)
        assert not receipts[0].is_private

    def test_the_system_s_randomness_is_private_and_never_repeats(self, mechanism: Any) -> None:
        event = self.event(mechanism)
        receipts = [unbooked([event]), unbooked([event], SystemRandomness())]
        assert all(receipt.is_private for receipt in receipts)
        assert not np.array_equal(*(self.release(mechanism, event, r) for r in receipts))

    def test_errors_and_names_hold_nothing_private(self, mechanism: Any) -> None:
        event = self.event(mechanism)
        receipt = unbooked([event])
        texts = [repr(receipt), str(receipt), repr(event)]
        self.release(mechanism, event, receipt)
        for wrong in [event, *self.wrong_events(mechanism)]:
            with pytest.raises((NotCharged, InputError)) as caught:
                self.release(mechanism, wrong, receipt)
            texts.append(str(caught.value))
        assert not any(str(SECRET) in text or f"{SECRET:,}" in text for text in texts)

    def test_draws_have_their_law_and_not_a_wrong_one(self) -> None:
        for sample in self.samples():
            judge(counts_fit(sample.counts, sample.law), sample.name)
            assert sample.blindness < BLIND, f"{sample.name}: too few draws to notice anything"
            assert alarms(counts_fit(sample.counts, sample.wrong)), sample.name

    def test_the_privacy_map_is_that_of_the_exact_laws(self) -> None:
        self.check_privacy_map()


class PureBattery(Battery):
    """A mechanism whose event is an epsilon."""

    @abc.abstractmethod
    def neighbours(self) -> Iterator[tuple[float, Floats, Floats]]:
        """An epsilon as claimed, and two matrices of log laws in rows.

        Each row of the first is a neighbour of each row of the second, and some pair is as far
        apart as claimed.
        """

    def check_privacy_map(self) -> None:
        for claimed, ones, others in self.neighbours():
            worst = max(float(np.abs(one - others).max()) for one in ones)
            assert worst <= claimed * (1 + ROUNDING) + TINY
            assert worst >= claimed * (1 - 1e-6) - TINY
