"""Budgets: nothing is spent twice, nothing leaves but through the purse."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, InputError
from discreet.domain.errors import NotCharged
from discreet.measure import Budget, Part, Spender
from discreet.methods import Cleaning, CovarianceMethod, Task, fit
from discreet.privacy import (
    FIT_UNITS,
    Event,
    GaussianEvent,
    GeometricEvent,
    Noise,
    Randomness,
    Unit,
    unbooked,
)
from discreet.privacy.accounting import compose
from discreet.ratings import Ratings
from discreet.release import Release
from measure._neighbours import SCALES, Person, ratings_of, spying

ITEMS = 12
every_unit = pytest.mark.parametrize("unit", FIT_UNITS)
every_noise = pytest.mark.parametrize("noise", Noise)


def budget_of(unit: Unit, noise: Noise, epsilon: float = 1.0) -> Budget:
    return Budget.of(unit, noise, epsilon, 1e-6 if noise is Noise.GAUSSIAN else 0.0)


def open_spender(budget: Budget, randomness: Randomness | None = None) -> Spender:
    return Spender(budget, unbooked([budget.event("all")], randomness), "all")


def spent(events: tuple[Event, ...]) -> tuple[Fraction, Fraction]:
    """The sums of epsilons and of squared mus, without rounding."""
    pure, squared = Fraction(0), Fraction(0)
    for event in events:
        if isinstance(event, GaussianEvent):
            squared += (Fraction(event.sensitivity) / Fraction(event.sigma)) ** 2
        else:
            assert isinstance(event, GeometricEvent)
            pure += Fraction(event.sensitivity) / Fraction(event.scale)
    return pure, squared


def assert_within(events: tuple[Event, ...], budget: Budget) -> None:
    pure, squared = spent(events)
    if budget.noise is Noise.GAUSSIAN:
        assert pure == 0 and squared <= Fraction(budget.amount) ** 2
    else:
        assert squared == 0 and pure <= Fraction(budget.amount)


def people_of(count: int, scale: str, seed: int = 0) -> list[Person]:
    """Random people, some of whom rate nothing, one of whom rates everything."""
    rng = np.random.default_rng(seed)
    levels = SCALES[scale].levels
    made: list[Person] = []
    for n in range(count):
        rated = np.flatnonzero(rng.random(ITEMS) < (1.0 if n == 1 else 0.4 * (n != 2)))
        values = rng.uniform(-10, 10, ITEMS).astype(np.float32) if levels is None else levels
        made.append({int(i): float(rng.choice(values)) for i in rated})
    return made


class CountingRandomness(Randomness):
    """Zeros, and how many bytes of them were asked for."""

    is_private = False
    drawn = 0

    def fill(self, buffer: memoryview) -> None:
        self.drawn += len(buffer)
        buffer[:] = bytes(len(buffer))


@every_unit
@every_noise
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5], [0.1] * 10, [1 / 3] * 3, [0.02, 0.2, 0.78]])
def test_shares_that_add_up_to_one_fit_and_spend_it_all(
    unit: Unit, noise: Noise, epsilon: float, shares: list[float]
) -> None:
    budget = budget_of(unit, noise, epsilon)
    spender = open_spender(budget)
    for n, share in enumerate(shares):
        spender.perturb(np.zeros(3, dtype=np.int64), 7.0 + n, share, f"part {n}")
    assert_within(spender.events, budget)
    reached = compose(spender.events).epsilon(budget.delta)
    assert reached <= epsilon
    assert reached == pytest.approx(epsilon, rel=1e-6)


@every_unit
@every_noise
def test_a_share_too_many_is_refused_before_anything_is_drawn(unit: Unit, noise: Noise) -> None:
    source = CountingRandomness()
    spender = open_spender(budget_of(unit, noise), source)
    spender.perturb(np.zeros(3, dtype=np.int64), 1.0, 0.6, "first")
    drawn, exact = source.drawn, np.array([5, 6, 7])
    assert drawn > 0
    for share in (1.0, 0.5, 0.41, 0.4001):
        with pytest.raises(NotCharged, match="second"):
            spender.perturb(exact, 1.0, share, "second")
    assert source.drawn == drawn and exact.tolist() == [5, 6, 7]
    assert [event.label for event in spender.events] == ["first"]
    spender.perturb(exact, 1.0, 0.4, "second")
    assert source.drawn > drawn


@every_unit
@every_noise
def test_the_charged_total_is_the_asked_epsilon(unit: Unit, noise: Noise) -> None:
    budget = budget_of(unit, noise, 2.0)
    total = compose([budget.event("all")]).epsilon(budget.delta)
    assert total == pytest.approx(2.0, rel=1e-6) and total <= 2.0
    assert budget.event("all").unit is unit


def test_a_spender_needs_the_receipt_of_its_own_budget() -> None:
    budget = budget_of(Unit.USER, Noise.GAUSSIAN)
    other = budget_of(Unit.USER, Noise.GAUSSIAN, 0.5)
    with pytest.raises(NotCharged):
        Spender(budget, unbooked([other.event("all")]), "all")
    with pytest.raises(NotCharged):
        Spender(budget, unbooked([budget.event("all")]), "something else")
    receipt = unbooked([budget.event("all")])
    Spender(budget, receipt, "all")
    with pytest.raises(NotCharged):
        Spender(budget, receipt, "all")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
@every_noise
def test_budgets_that_promise_nothing_are_refused(noise: Noise, epsilon: float) -> None:
    with pytest.raises(InputError):
        budget_of(Unit.USER, noise, epsilon)


def test_laplace_noise_has_no_delta() -> None:
    with pytest.raises(InputError, match="delta 0"):
        Budget.of(Unit.USER, Noise.LAPLACE, 1.0, 1e-6)


def test_an_infinite_budget_adds_no_noise_and_promises_nothing() -> None:
    spender = Spender(budget_of(Unit.USER, Noise.GAUSSIAN, math.inf), None, "all")
    noisy, spread = spender.perturb(np.array([1, 2, 3]), 1.0, 0.5, "exact")
    assert noisy.tolist() == [1, 2, 3] and spread == 0
    assert not spender.is_private and spender.events == ()


@every_noise
def test_the_noise_has_the_stated_spread(noise: Noise) -> None:
    spender = open_spender(budget_of(Unit.USER, noise))
    zeros = np.zeros(20_000, dtype=np.int64)
    released = spender.release(Part("zeros", 1000.0, 1000.0), zeros, 1.0)
    spread = released.spread
    assert released.value.std() == pytest.approx(spread, rel=0.05)
    amount = spender.budget.amount
    expected = 1 / amount if noise is Noise.GAUSSIAN else math.sqrt(2) / amount
    assert spread == pytest.approx(expected, rel=1e-9)


@every_noise
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("unit", "events"), [(Unit.RATING, 5), (Unit.USER, 7)])
def test_rounds_of_effects_spend_their_shares(
    unit: Unit, events: int, noise: Noise, scale: str
) -> None:
    budget = budget_of(unit, noise)
    alone = CovarianceMethod(protect=unit, noise=noise, rank=0, level_share=0.0)
    some: tuple[list[Person], ...] = ([], [{}, {}], people_of(8, scale))
    for people in some:
        spender = open_spender(budget)
        alone.learn(Task(ratings_of(people, ITEMS, SCALES[scale]), spender))
        assert len(spender.events) == events
        assert_within(spender.events, budget)
        reached = compose(spender.events).epsilon(budget.delta)
        assert reached <= 1.0 and reached == pytest.approx(1.0, rel=1e-6)


def public_part(release: Release) -> dict[str, Any]:
    arrays = {name: np.asarray(array).tolist() for name, array in release.arrays.items()}
    return {"arrays": arrays, "parameters": dict(release.parameters)}


def neighbours_of(people: list[Person], unit: Unit, scale: str) -> list[list[Person]]:
    """Without one rating or person, with one more, and with an extreme newcomer."""
    low, high = SCALES[scale].lo, SCALES[scale].hi
    everything = {i: high if i % 2 else low for i in range(ITEMS)}
    if unit is Unit.USER:
        return [people[1:], people[:1] + people[2:], [*people, everything], [*people, {0: high}]]
    lacks = next(n for n, person in enumerate(people) if 0 < len(person) < ITEMS)
    missing = next(i for i in range(ITEMS) if i not in people[lacks])
    grown = [p | {missing: high} if n == lacks else p for n, p in enumerate(people)]
    shorter = [{i: v for i, v in p.items() if i} if n == 1 else p for n, p in enumerate(people)]
    return [grown, shorter, [*people, {3: low}]]


@every_unit
@every_noise
@pytest.mark.parametrize("scale", ["five stars", "half stars", "jokes"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"taste_share": 0.5, "head": ITEMS},
        {"method": "covariance", "taste_share": 0.5, "head": 5, "dense": True},
        {
            "method": "covariance",
            "taste_share": 0.5,
            "head": ITEMS,
            "clean": Cleaning.NONE,
            "rank": 3,
        },
    ],
    ids=["default", "refined", "dense head", "all items"],
)
def test_nothing_private_leaves_a_fit_but_through_its_noise(
    unit: Unit, noise: Noise, scale: str, options: dict[str, Any]
) -> None:
    people = people_of(10, scale)

    def fitted(made: list[Person]) -> Release:
        ratings = ratings_of(made, ITEMS, SCALES[scale])
        return fit(ratings, protect=unit, noise=noise, epsilon=3.0, **options, ledger="unbooked")

    with spying() as replay:
        first = fitted(people)
        events = first.guarantee.events
        assert len(replay.outputs) == len(events) or events[0].label == "refined release"
        for neighbour in neighbours_of(people, unit, scale):
            replay.at = 0
            second = fitted(neighbour)
            assert replay.at == len(replay.outputs)
            assert public_part(second) == public_part(first)


@every_unit
@every_noise
@pytest.mark.parametrize("options", [{}, {"count_share": 0.4, "head": ITEMS}], ids=repr)
def test_nothing_private_leaves_a_fit_of_presence_but_through_its_noise(
    unit: Unit, noise: Noise, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(4)
    people: list[Person] = [
        dict.fromkeys(rng.choice(ITEMS, int(rng.integers(ITEMS)), replace=False).tolist(), 1.0)
        for _ in range(12)
    ]

    def fitted(made: list[Person]) -> Release:
        ratings = ratings_of(made, ITEMS, PRESENCE)
        return fit(ratings, protect=unit, noise=noise, epsilon=3.0, **options, ledger="unbooked")

    more = [dict.fromkeys(items, 1.0) for items in ([], [0], [ITEMS - 1], range(ITEMS))]
    neighbours = [[*people, person] for person in more]
    if unit is Unit.RATING:
        neighbours = [
            [*people[:place], {**people[place], item: 1.0}, *people[place + 1 :]]
            for place in (0, 5, 9)
            for item in range(ITEMS)
            if item not in people[place]
        ]
    with spying() as replay:
        first = fitted(people)
        for neighbour in neighbours:
            replay.at = 0
            assert public_part(fitted(neighbour)) == public_part(first)
            assert replay.at == len(replay.outputs)


@every_unit
@every_noise
@pytest.mark.parametrize("method", ["lists", "refined"])
def test_times_leave_a_fit_through_its_noise_alone(unit: Unit, noise: Noise, method: str) -> None:
    """A record more or less of any time, or a person, of many who have few items."""
    rng, scale = np.random.default_rng(8), SCALES["five stars"]
    people: list[Person] = [
        dict.fromkeys(rng.choice(ITEMS, 5, replace=False).tolist(), float(1 + who % 5))
        for who in range(300)
    ]

    def timed(made: list[Person], time: int | None = None) -> Ratings:
        """All was made within an hour, but for the last record, if a time of it is given."""
        ratings = ratings_of(made, ITEMS, scale)
        times = (10**9 + np.arange(len(ratings))).astype(np.uint32)
        if time is not None:
            times[-1] = time
        return replace(ratings, times=times)

    def fitted(ratings: Ratings) -> Release:
        options: dict[str, Any] = {"method": method, "protect": unit, "noise": noise}
        return fit(ratings, epsilon=8.0, head=ITEMS, **options, ledger="unbooked")

    moments = (0, 10**9, 10**9 + 7, 2**32 - 1)
    if unit is Unit.USER:
        more = [[*people, dict.fromkeys(items, 4.0)] for items in ([3], range(ITEMS))]
    else:
        people[-1] = {0: 2.0, 3: 5.0}
        more = [[*people[:-1], {**people[-1], ITEMS - 1: 4.0}], [*people, {0: 4.0}]]
    with spying() as replay:
        first = fitted(timed(people))
        labels = [label for label, *_ in replay.outputs]
        assert {"records by period", "recent item counts"} <= set(labels)
        for neighbour in more:
            for time in moments:
                replay.at = 0
                assert public_part(fitted(timed(neighbour, time))) == public_part(first)
                assert replay.at == len(replay.outputs)


@every_unit
@every_noise
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"taste_share": 0.0},
        {"taste_share": 0.5},
        {"taste_share": 0.5, "rank": 0},
        {"effect_share": 0.5},
    ],
    ids=repr,
)
def test_a_fit_promises_what_was_asked(unit: Unit, noise: Noise, options: dict[str, Any]) -> None:
    """No less than asked either: what adaptive steps happened to spend is no promise."""
    ratings = ratings_of(people_of(40, "five stars"), ITEMS, SCALES["five stars"])
    release = fit(ratings, protect=unit, noise=noise, epsilon=0.7, **options, ledger="unbooked")
    guarantee = release.guarantee
    assert guarantee.is_private and guarantee.unit is unit
    assert guarantee.epsilon <= 0.7
    assert guarantee.epsilon == pytest.approx(0.7, rel=1e-6)
    assert_within(guarantee.events, budget_of(unit, noise, 0.7))


@every_unit
@every_noise
@pytest.mark.parametrize("items", [2, 60])
@pytest.mark.parametrize("people", [[], [{}], [{0: 5.0}], [{0: 1.0, 1: 5.0}, {}]])
def test_no_data_are_too_small_to_be_released(
    unit: Unit, noise: Noise, items: int, people: list[Person]
) -> None:
    """An error for some data and not for their neighbours would tell them apart."""
    ratings = ratings_of(people, items, SCALES["five stars"])
    release = fit(ratings, protect=unit, noise=noise, taste_share=0.5, ledger="unbooked")
    assert release.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    assert all(np.isfinite(array).all() for array in release.arrays.values())


@every_unit
@every_noise
@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("effect_share", [0.05, 0.5, 0.8])
def test_the_whole_budget_is_spent_where_counts_tell_much(
    unit: Unit, noise: Noise, rank: int, effect_share: float
) -> None:
    """Enough people for the covariance to get as much as the other parts leave."""
    everything = dict.fromkeys(range(ITEMS), 5.0)
    ratings = ratings_of([everything] * 3000, ITEMS, SCALES["five stars"])
    release = fit(
        ratings,
        protect=unit,
        noise=noise,
        epsilon=4.0,
        rank=rank,
        effect_share=effect_share,
        ledger="unbooked",
    )
    labels = [event.label for event in release.guarantee.events]
    assert ("item covariance" in labels) == (rank > 0)
    assert release.guarantee.epsilon <= 4.0
    assert release.guarantee.epsilon == pytest.approx(4.0, rel=1e-6)
