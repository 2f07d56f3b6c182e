"""Receipts and purses: what was charged can be drawn once, in parts that never exceed it."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.privacy import (
    Event,
    GaussianEvent,
    GeometricEvent,
    NotCharged,
    PureEvent,
    Purse,
    Receipt,
    SeededRandomness,
    SystemRandomness,
    Tickets,
    Unit,
    unbooked,
)
from discreet.privacy.mechanisms import TwoSidedGeometric

PURE = PureEvent(unit=Unit.USER, label="all", epsilon=1.0, mechanism="two-sided geometric")
GAUSSIAN = GaussianEvent(unit=Unit.USER, label="all", sensitivity=1.0, sigma=1.0)


def geometric(part: float, unit: Unit = Unit.USER) -> GeometricEvent:
    """Costs `part` of `PURE`, a little rounded up."""
    return GeometricEvent(unit=unit, label="part", sensitivity=part, scale=1.0)


def gaussian(part: float, unit: Unit = Unit.USER) -> GaussianEvent:
    """Costs `part` of the mu^2 of `GAUSSIAN`, a little rounded up."""
    return GaussianEvent(unit=unit, label="part", sensitivity=math.sqrt(part), sigma=1.0)


Make = Callable[..., Event]


def purse_of(total: Event) -> Purse:
    return unbooked([total], SeededRandomness(1)).open_purse(total)


every_kind = pytest.mark.parametrize(
    ("total", "part"), [(PURE, geometric), (GAUSSIAN, gaussian)], ids=["pure", "gaussian"]
)


def test_a_charged_event_is_good_for_one_draw() -> None:
    receipt = unbooked([PURE, GAUSSIAN, GAUSSIAN])
    assert receipt.is_private
    receipt.redeem(GAUSSIAN)
    receipt.redeem(PURE)
    receipt.redeem(GAUSSIAN)
    for event in (PURE, GAUSSIAN):
        with pytest.raises(NotCharged):
            receipt.redeem(event)


@pytest.mark.parametrize(
    "other",
    [
        replace(PURE, epsilon=0.5),
        replace(PURE, label="another"),
        replace(PURE, unit=Unit.RATING),
        replace(PURE, count=2),
        replace(PURE, ratings_per_user=3),
        replace(PURE, covers_change=True),
        GAUSSIAN,
    ],
)
def test_only_the_very_event_that_was_charged_is_redeemed(other: Event) -> None:
    receipt = unbooked([PURE])
    with pytest.raises(NotCharged):
        receipt.redeem(other)
    with pytest.raises(NotCharged):
        receipt.open_purse(other)
    receipt.redeem(PURE)


def test_an_event_opens_one_purse_or_is_drawn() -> None:
    receipt = unbooked([PURE])
    receipt.open_purse(PURE)
    with pytest.raises(NotCharged):
        receipt.open_purse(PURE)
    with pytest.raises(NotCharged):
        receipt.redeem(PURE)


@every_kind
@given(parts=st.lists(st.floats(1e-6, 0.6), max_size=12))
def test_a_purse_never_pays_more_than_its_total(
    total: Event, part: Make, parts: list[float]
) -> None:
    purse = purse_of(total)
    for share in parts:
        event = part(share)
        kept = purse.events
        try:
            purse.redeem(event)
        except NotCharged:
            assert purse.events == kept
            assert exact_sum((*kept, event)) > Fraction(1) - Fraction(1, 10**12)
        else:
            assert purse.events == (*kept, event)
    # The total's own cost is rounded up twice: two units in the last place.
    assert exact_sum(purse.events) <= Fraction(1) + Fraction(2) ** -50


def exact_sum(events: tuple[Event, ...]) -> Fraction:
    """Epsilons or squared mus, added without rounding."""
    total = Fraction(0)
    for event in events:
        if isinstance(event, GaussianEvent):
            total += (Fraction(event.sensitivity) / Fraction(event.sigma)) ** 2
        else:
            assert isinstance(event, GeometricEvent)
            total += Fraction(event.sensitivity) / Fraction(event.scale)
    return total


@every_kind
def test_after_a_refusal_what_is_left_can_still_be_spent(total: Event, part: Make) -> None:
    purse = purse_of(total)
    purse.redeem(part(0.7))
    for _ in range(3):
        with pytest.raises(NotCharged, match="part"):
            purse.redeem(part(0.31))
    purse.redeem(part(0.29))
    with pytest.raises(NotCharged):
        purse.redeem(part(0.02))
    assert len(purse.events) == 2


def test_the_two_kinds_of_money_do_not_mix() -> None:
    pure, normal = purse_of(PURE), purse_of(GAUSSIAN)
    for tiny in (1e-12, 0.5):
        with pytest.raises(NotCharged):
            pure.redeem(gaussian(tiny))
        with pytest.raises(NotCharged):
            normal.redeem(geometric(tiny))
        with pytest.raises(NotCharged):
            normal.redeem(replace(PURE, epsilon=tiny))
    assert pure.events == normal.events == ()


@every_kind
def test_a_purse_is_for_its_own_unit(total: Event, part: Make) -> None:
    purse = purse_of(total)
    with pytest.raises(NotCharged):
        purse.redeem(part(0.1, Unit.RATING))
    purse.redeem(part(0.1, Unit.USER))


@every_kind
def test_repeats_count(total: Event, part: Make) -> None:
    purse = purse_of(total)
    with pytest.raises(NotCharged):
        purse.redeem(replace(part(0.3), count=4))
    purse.redeem(replace(part(0.3), count=3))
    twice = purse_of(replace(total, count=2))
    twice.redeem(replace(part(0.3), count=6))
    with pytest.raises(NotCharged):
        twice.redeem(replace(part(0.3), count=6))


def test_a_purse_knows_whether_its_noise_protects() -> None:
    assert not purse_of(PURE).is_private
    assert unbooked([PURE]).open_purse(PURE).is_private


def test_events_without_a_known_cost_are_refused() -> None:
    class Odd(PureEvent):
        kind = "odd"

    purse = purse_of(PURE)
    odd = Odd(unit=Unit.USER, label="odd", epsilon=1e-9, mechanism="unknown")
    with pytest.raises(InputError):
        purse.redeem(odd)
    assert purse.events == ()


# --- Forgery ----------------------------------------------------------------------------------


class Lookalike:
    """Has everything that a receipt has."""

    is_private = True
    events = (PURE,)

    def redeem(self, event: Event) -> SystemRandomness:
        return SystemRandomness()


@pytest.mark.parametrize("kind", [Receipt, Purse, Tickets])
def test_none_is_made_by_hand(kind: Any) -> None:
    for told in ((), ([PURE],), ([PURE], SeededRandomness(1), "customers")):
        with pytest.raises(TypeError, match=r"cannot be made by hand: Ledger\.charge issues"):
            kind(*told)


@pytest.mark.parametrize("kind", [Receipt, Purse, Tickets])
def test_none_is_subclassed(kind: Any) -> None:
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Mine", (kind,), {"redeem": Lookalike.redeem})


def leaves() -> list[Any]:
    receipt = unbooked([PURE, PURE, PURE])
    return [receipt, receipt.open_purse(PURE), receipt.open_tickets(PURE)]


@pytest.mark.parametrize(
    "double",
    [
        copy.copy,
        copy.deepcopy,
        replace,
        pickle.dumps,
        lambda leave: copy.deepcopy([leave]),
        lambda leave: pickle.dumps({"leave": leave}, protocol=0),
        lambda leave: leave.__reduce_ex__(2),
        lambda leave: leave.__reduce__(),
    ],
)
def test_none_is_copied(double: Callable[[Any], Any]) -> None:
    for leave in leaves():
        with pytest.raises(TypeError):
            double(leave)


def test_what_only_looks_like_a_receipt_draws_nothing() -> None:
    mechanism = TwoSidedGeometric(1.0)
    event = mechanism.event(1.0, Unit.USER, "sums")
    empty = object.__new__(Receipt)
    gutted = object.__new__(Purse)
    real = unbooked([GAUSSIAN]).open_purse(GAUSSIAN)
    for name in ("_lock", "_process", "_randomness", "_events", "_most", "_spent", "_total"):
        setattr(gutted, name, getattr(real, name))
    forged: list[Any] = [Lookalike(), empty, gutted, None, SystemRandomness()]
    for leave in forged:
        with pytest.raises(NotCharged, match="noise is drawn only on a receipt"):
            mechanism.release(np.zeros(3, np.int64), event, leave)
    for fake in (empty, gutted):
        with pytest.raises(NotCharged):
            fake.redeem(GAUSSIAN)


@pytest.mark.parametrize("name", ["events", "charge", "ledger", "is_private", "redeem", "other"])
def test_a_receipt_is_not_rewritten(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(unbooked([PURE]), name, None)


def test_a_purse_s_record_is_not_rewritten() -> None:
    purse = purse_of(PURE)
    for name in ("events", "total", "is_spent", "redeem"):
        with pytest.raises(AttributeError):
            setattr(purse, name, ())


def test_an_unbooked_receipt_knows_that_no_ledger_recorded_it() -> None:
    receipt = unbooked([PURE])
    assert (receipt.charge, receipt.ledger, receipt.events) == (None, None, (PURE,))


def test_tickets_are_for_as_many_draws_as_were_charged() -> None:
    three = replace(PURE, count=3)
    tickets = unbooked([three]).open_tickets(three)
    tickets.redeem(replace(PURE, count=2))
    for wrong in (replace(PURE, count=2), replace(PURE, epsilon=0.5), GAUSSIAN):
        with pytest.raises(NotCharged):
            tickets.redeem(wrong)
    tickets.redeem(PURE)
    with pytest.raises(NotCharged):
        tickets.redeem(PURE)


def test_a_forked_process_does_not_draw_what_its_parent_paid_for() -> None:
    receipt, purse = unbooked([PURE]), purse_of(PURE)
    code = (
        "import os, sys\n"
        "from discreet.privacy import NotCharged, PureEvent, Unit, unbooked\n"
        "event = PureEvent(unit=Unit.USER, label='x', epsilon=1.0, mechanism='rr')\n"
        "receipt = unbooked([event, event])\n"
        "purse = receipt.open_purse(event)\n"
        "child = os.fork()\n"
        "refused = 0\n"
        "for leave in (receipt, purse):\n"
        "    try:\n"
        "        leave.redeem(event)\n"
        "    except NotCharged:\n"
        "        refused += 1\n"
        "if child == 0:\n"
        "    os._exit(refused)\n"
        "sys.exit(refused + 10 * os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 20, "the child is refused both, the parent neither"
    receipt.redeem(PURE)
    purse.redeem(geometric(0.5))


def test_threads_draw_a_charged_event_once() -> None:
    receipt = unbooked([PURE] * 5)
    purse, drawn = purse_of(GAUSSIAN), []

    def work() -> None:
        for leave, event in ((receipt, PURE), (purse, gaussian(0.2))) * 5:
            with contextlib.suppress(NotCharged):
                drawn.append((event, leave.redeem(event)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(event is PURE for event, _ in drawn) == 5
    assert 4 <= sum(event is not PURE for event, _ in drawn) <= 5
