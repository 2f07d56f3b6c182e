"""Running totals: neighbouring series with the same outputs, draw by draw, and huge integers.

Given everything that came out, the noise of a series follows from its data. So a series is run,
then its neighbour is run with the same outputs forced upon it, and the draws of the two are
compared: together they may move by what was booked, and no more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import PRESENCE, Scale
from discreet.measure import Budget, Part, RunningSpender, Stream
from discreet.measure._running import head_places
from discreet.measure.history_pairs import FrozenWeights
from discreet.methods import MethodName, OlderRecords, PeriodTask, method_of
from discreet.privacy import Noise, NoisePlan, SeededRandomness, Unit, unbooked
from discreet.privacy.accounting import compose
from discreet.privacy.mechanisms import RoundedGaussian
from discreet.ratings import Ratings
from measure._neighbours import Person, ratings_of

Ints = npt.NDArray[np.int64]
STARS = Scale(1, 5)
LABEL = "a series"
ITEMS, PEOPLE = 8, 12
FACTORISED, FRESH = NoisePlan.factorised(horizon=4), NoisePlan.fresh()
RECORDS, FADING = NoisePlan.factorised(horizon=4, records=True), NoisePlan.factorised(3.0, 4)
SETTINGS: dict[MethodName, dict[str, Any]] = {
    MethodName.LISTS: {"head": 5, "list_rank": 2},
    MethodName.REFINED: {"head": 5, "rank": 2, "taste_share": 0.4, "list_share": 0.2},
    MethodName.COVARIANCE: {"head": 5, "rank": 2, "taste_share": 0.4},
    MethodName.SLOPE_ONE: {"head": 5, "taste_share": 0.4},
    MethodName.COSINE: {"head": 5, "taste_share": 0.4},
}


@dataclass
class Heard:
    """Draws, and what came out; in a neighbour's world what came out is given."""

    outputs: list[Ints] = field(default_factory=list)
    draws: list[Ints] = field(default_factory=list)
    sigmas: list[float] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    is_given: bool = False


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Heard]:
    """The last one listens to every release of Gaussian noise."""
    listeners: list[Heard] = []
    real = RoundedGaussian.release

    def release(self: RoundedGaussian, values: Ints, event: Any, receipt: Any, **how: Any) -> Ints:
        now, centre = listeners[-1], values.copy()
        if now.is_given:
            values[:] = now.outputs[len(now.draws)]
        else:
            real(self, values, event, receipt, **how)
            now.outputs.append(values.copy())
            now.labels.append(event.label)
            now.sigmas.append(self.sigma)
        assert self.sigma == now.sigmas[len(now.draws)], "noise depends on what is not public"
        assert event.label == now.labels[len(now.draws)]
        now.draws.append(values - centre)
        return values

    monkeypatch.setattr(RoundedGaussian, "release", release)
    return listeners


def budget_of(unit: Unit, epsilon: float = 6.0) -> Budget:
    return Budget.of(unit, Noise.GAUSSIAN, epsilon, 1e-6)


def run_series(
    periods: Sequence[Ratings], name: MethodName, unit: Unit, plan: NoisePlan, seed: int = 1
) -> dict[str, Stream]:
    budget, streams, settled = budget_of(unit), dict[str, Stream](), dict[str, float]()
    within = Unit.RATING if unit is Unit.RATING else Unit.USER
    options = {**SETTINGS[name], "protect": within, "noise": Noise.GAUSSIAN}
    method = method_of(name, options, presence=periods[0].scale.presence)
    for t, ratings in enumerate(periods, 1):
        receipt = unbooked([budget.event(LABEL)], SeededRandomness(f"{seed} {t}"))
        spender = RunningSpender(
            budget, receipt, LABEL, plan=plan, period=t, streams=streams, settled=settled
        )
        spender.measure_size(ratings, within)
        method.learn(PeriodTask(ratings, spender, None, None))
        assert compose(spender.events).mu <= budget.amount * (1 + 1e-9)
    return streams


def crowd(scale: Scale, seed: int) -> list[Person]:
    rng = np.random.default_rng(seed)
    people: list[Person] = []
    for _ in range(PEOPLE):
        rated = rng.choice(ITEMS, rng.integers(0, 5), replace=False)
        values = np.ones(len(rated)) if scale.presence else rng.integers(1, 6, len(rated))
        people.append({int(i): float(v) for i, v in zip(rated, values, strict=True)})
    return people


def worlds(
    scale: Scale, unit: Unit, active: Sequence[int], periods: int, grows: int | None = None
) -> tuple[list[Ratings], list[Ratings]]:
    """Two neighbouring series: somebody extreme has more in the active periods."""
    both: tuple[list[Ratings], list[Ratings]] = ([], [])
    top, low = (1.0, 1.0) if scale.presence else (scale.hi, scale.lo)
    for t in range(periods):
        others = crowd(scale, t)
        items = ITEMS + (3 if grows is not None and t >= grows else 0)
        full = {item: top if item % 2 else low for item in range(items)}
        if unit is Unit.RATING:
            less = {item: value for item, value in full.items() if item != 1}
        else:
            less = {}
        if t not in active:
            full = less = {0: top}
        for where, own in zip(both, (full, less), strict=True):
            where.append(ratings_of([*others, own], items, scale))
    return both


def moved(heard: list[Heard], run: Any, both: tuple[list[Ratings], list[Ratings]]) -> float:
    """The sum of squares by which all draws move, in their own standard deviations."""
    heard.append(Heard())
    run(both[0])
    first = heard[-1]
    heard.append(replace(first, draws=[], is_given=True))
    run(both[1])
    second = heard[-1]
    assert len(first.draws) == len(second.draws)
    return sum(
        float(np.sum(((a - b) / sigma) ** 2))
        for a, b, sigma in zip(first.draws, second.draws, first.sigmas, strict=True)
    )


CASES = [
    (MethodName.LISTS, Unit.RATING, RECORDS, 2, PRESENCE),
    (MethodName.LISTS, Unit.USER_WEEK, FADING, None, PRESENCE),
    (MethodName.REFINED, Unit.RATING, FADING, None, STARS),
    (MethodName.REFINED, Unit.RATING, RECORDS, 2, STARS),
    (MethodName.REFINED, Unit.USER_WEEK, FACTORISED, 1, STARS),
    (MethodName.COVARIANCE, Unit.RATING, RECORDS, 2, STARS),
    (MethodName.COVARIANCE, Unit.USER_WEEK, FACTORISED, None, STARS),
    (MethodName.SLOPE_ONE, Unit.RATING, FADING, 2, STARS),
    (MethodName.SLOPE_ONE, Unit.USER_WEEK, FRESH, None, STARS),
    (MethodName.COSINE, Unit.RATING, FRESH, 1, STARS),
    (MethodName.COSINE, Unit.USER_WEEK, FACTORISED, 3, STARS),
]


@pytest.mark.parametrize(("name", "unit", "plan", "grows", "scale"), CASES)
def test_neighbours_with_the_same_outputs_move_by_what_was_booked(
    heard: list[Heard],
    name: MethodName,
    unit: Unit,
    plan: NoisePlan,
    grows: int | None,
    scale: Scale,
) -> None:
    """One unit of the first period, of a later one, and somebody who is always there.

    Six periods: after the fourth, noise starts afresh.
    """
    mu_squared, periods = budget_of(unit).amount ** 2, 6
    least = 0.1  # of what is booked: most of it is seen, or the test would show little
    for active, booked in (
        ([0], 1.0),
        ([2], 1.0),
        ([0, 3, 4], plan.worst(3)),
        (range(periods), plan.growth(periods)),
    ):
        both = worlds(scale, unit, active, periods, grows)
        found = moved(heard, lambda each: run_series(each, name, unit, plan), both)
        assert found <= mu_squared * booked * (1 + 1e-9), (list(active), found / mu_squared)
        assert found >= least * mu_squared, "the unit is hardly seen"


def test_what_later_periods_see_would_be_missed_without_the_factor(
    heard: list[Heard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: the sensitivity of the period's own draw alone."""
    monkeypatch.setattr(NoisePlan, "sensitivity", lambda self, once, size: once)
    both = worlds(STARS, Unit.USER_WEEK, [0], 4)
    run = lambda each: run_series(each, MethodName.COVARIANCE, Unit.USER_WEEK, FACTORISED)  # noqa: E731
    assert moved(heard, run, both) > budget_of(Unit.USER_WEEK).amount ** 2


# --- New records that meet older ones ---------------------------------------------------------

_LENGTH = 1000  # seconds of a period


def run_with_older(
    stores: Sequence[Ratings], plan: NoisePlan, weights: FrozenWeights, seed: int = 1
) -> None:
    """Each period has the records so far, and measures those of its own time with older ones."""
    budget, streams, settled = budget_of(Unit.RATING), dict[str, Stream](), dict[str, float]()
    options = {"head": 5 * ITEMS, "list_rank": 2, "protect": Unit.RATING, "noise": Noise.GAUSSIAN}
    method = method_of(MethodName.LISTS, options, presence=True)
    for t, store in enumerate(stores, 1):
        since, until = _LENGTH * t, _LENGTH * (t + 1)
        receipt = unbooked([budget.event(LABEL)], SeededRandomness(f"{seed} {t}"))
        spender = RunningSpender(
            budget, receipt, LABEL, plan=plan, period=t, streams=streams, settled=settled
        )
        measured = store.between(since, until)
        spender.measure_size(measured, Unit.RATING)
        older = OlderRecords(store, since, until, weights)
        method.learn(PeriodTask(measured, spender, None, None, older))
    assert "presence pairs" in streams


def stores_of(periods: int, seed: int) -> tuple[list[Ratings], list[Ratings]]:
    """Everybody comes back; one of them has one record more, in the first period or the third."""
    rng = np.random.default_rng(seed)
    added = {item: int(rng.integers(2, periods + 1)) for item in range(1, ITEMS)}
    others = [{item: int(rng.integers(2, periods + 1)) for item in range(ITEMS)} for _ in range(40)]
    others = [each | {0: 1, 1: 1} for each in others]  # these two are known before all others
    both: tuple[list[Ratings], list[Ratings]] = ([], [])
    for mine, where in zip((added | {0: 1 + 2 * (seed % 2)}, added), both, strict=True):
        for t in range(1, periods + 1):
            people = [{i: p for i, p in each.items() if p <= t} for each in (*others, mine)]
            store = ratings_of([dict.fromkeys(each, 1.0) for each in people], ITEMS, PRESENCE)
            times = [_LENGTH * each[i] + 7 for each in people for i in sorted(each)]
            where.append(replace(store, times=np.array(times, np.uint32)))
    return both


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("plan", [RECORDS, FRESH])
def test_a_record_that_newer_ones_meet_costs_no_more(
    heard: list[Heard], plan: NoisePlan, seed: int
) -> None:
    both, mu_squared = stores_of(6, seed), budget_of(Unit.RATING).amount ** 2
    weights = FrozenWeights(share=0.3, most=8)
    found = moved(heard, lambda each: run_with_older(each, plan, weights), both)
    assert 0.1 * mu_squared < found <= mu_squared * (1 + 1e-9)
    later = [each for each, label in zip(_apart(heard), heard[-1].labels, strict=True)
             if label == "presence pairs"]  # fmt: skip
    assert sum(bool(each.any()) for each in later) > 1, "it meets newer records"


# --- One table by itself ----------------------------------------------------------------------


def draws_of(
    heard: list[Heard],
    tables: Sequence[Sequence[tuple[int, Ints]]],
    part: Part,
    plan: NoisePlan,
    shares: dict[int, float] | None = None,
) -> float:
    """How far draws move between two series of one table, given at some periods."""

    def run(table: Sequence[tuple[int, Ints]]) -> None:
        budget, streams = budget_of(Unit.RATING, 1.0), dict[str, Stream]()
        for t, exact in table:
            receipt = unbooked([budget.event(LABEL)], SeededRandomness(t))
            spender = RunningSpender(budget, receipt, LABEL, plan=plan, period=t, streams=streams)
            spender.release(part, exact.copy(), (shares or {}).get(t, 1.0))

    return moved(heard, run, tables) / budget_of(Unit.RATING, 1.0).amount ** 2  # type: ignore[arg-type]


EDGES = (0, 2**20, 2**46, 2**47, 2**52, 2**62, 2**63 - 1, -(2**63), -(2**47) - 1)


@pytest.mark.parametrize("grid", [1.0, 2.0**12, 2.0**20, 2.0**30, 2.0**40])
@pytest.mark.parametrize("first", [1, 4])
def test_integers_of_any_size_move_by_their_sensitivity(
    heard: list[Heard], grid: float, first: int
) -> None:
    """Sums at the edges of 64 bits, and beyond them, on all grids; boosted and not."""
    one = np.array(EDGES, np.int64)
    with np.errstate(over="ignore"):
        two = one + np.array([1, -1, 1, -1, 1, 1, 1, -1, 1]) * int(grid)
    zeros = np.zeros(len(one), np.int64)
    part = Part("x", grid * math.sqrt(len(one)), grid)
    rest = [(t, zeros) for t in range(first + 1, 5)]
    found = draws_of(heard, ([(first, one), *rest], [(first, two), *rest]), part, FACTORISED)
    assert 0.5 < found <= 1 + 1e-9


def test_a_stream_that_misses_periods_or_gets_larger_stays_within(heard: list[Heard]) -> None:
    part = Part("x", 1.0, 1.0)
    small, large = np.zeros(2, np.int64), np.zeros(40, np.int64)
    plan = NoisePlan.factorised(horizon=8)
    one, two = small.copy(), large.copy()
    one[0], two[0] = 1, 1
    apart = [(1, one), (4, two), (8, two)], [(1, small), (4, large), (8, large)]
    assert draws_of(heard, apart, part, plan) <= plan.worst(3) * (1 + 1e-9)
    only = [(1, one), (4, large), (8, large)], apart[1]
    assert 0.3 < draws_of(heard, only, part, plan) <= 1 + 1e-9
    late = [(1, small), (4, large), (8, two)], apart[1]
    assert 0.99 < draws_of(heard, late, part, plan) <= 1 + 1e-9


def test_noise_never_shrinks_within_a_stream(heard: list[Heard]) -> None:
    """A larger share later asks for less noise: a little less is not drawn, much less afresh."""
    part = Part("x", 1.0, 1.0)
    zeros, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    for share, afresh in ((0.6, False), (1.0, True)):
        shares = {1: 0.3, 2: share, 3: share}
        tables = [(1, one), (2, zeros), (3, zeros)], [(1, zeros), (2, zeros), (3, zeros)]
        found = draws_of(heard, tables, part, FACTORISED, shares)
        assert found <= 0.3 * (1 + 1e-9)
        first = heard[-1]
        assert (first.sigmas[1] == first.sigmas[0]) is not afresh
        seen_later = any(each.any() for each in _apart(heard)[1:])
        assert seen_later is not afresh


def _apart(heard: list[Heard]) -> list[Ints]:
    return [a - b for a, b in zip(heard[-2].draws, heard[-1].draws, strict=True)]


def test_every_old_place_is_taken_once() -> None:
    """Twice would let one record be seen twice."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        old, new = (
            np.sort(rng.choice(20, rng.integers(1, 9), replace=False)).astype(np.int32)
            for _ in range(2)
        )
        places = head_places(new)({"head": old})
        taken = places[places >= 0]
        assert len(set(taken.tolist())) == len(taken)
        pairs = {(int(a), int(b)) for i, a in enumerate(old) for b in old[i:]}
        both = {(int(a), int(b)) for i, a in enumerate(new) for b in new[i:]} & pairs
        assert len(taken) == len(both)


PLANS = [NoisePlan.factorised(), NoisePlan.factorised(records=True), NoisePlan.factorised(3.0)]


@pytest.mark.parametrize("plan", PLANS)
def test_totals_have_the_noise_that_they_say(plan: NoisePlan) -> None:
    """Eight periods of 4,000 numbers: earlier noise is taken back."""
    budget = budget_of(Unit.RATING, 1.0)
    streams: dict[str, Stream] = {}
    for t in range(1, 9):
        receipt = unbooked([budget.event(LABEL)], SeededRandomness(t))
        spender = RunningSpender(budget, receipt, LABEL, plan=plan, period=t, streams=streams)
        released = spender.release(Part("x", 1.0, 1.0), np.full(4000, 5, np.int64), 1.0)
    weights = plan.forgetting ** np.arange(8)
    spread = spender._spread(streams["x"])
    errors = streams["x"].total - 5 * weights.sum()
    assert np.std(errors) == pytest.approx(spread, rel=0.06)  # five standard errors
    # What is released speaks for as many periods as it has seen, with no more noise than the total.
    one = streams["x"].seen
    assert released.spread * one == pytest.approx(spender.spread_of(1.0), rel=2e-3)
    assert released.spread * one <= spread
    assert np.mean(released.value) * one == pytest.approx(5 * one, abs=0.5 * spread)
    assert np.std(released.value) == pytest.approx(released.spread, rel=0.06)
    forgotten = plan.lifetime / budget.amount * float(np.linalg.norm(weights))
    assert spread < 0.9 * forgotten, "or the test would show nothing"


def test_the_noise_of_a_series_is_told_as_it_is() -> None:
    """Of periods of equal size, as planned; it was read off a total that had seen too little."""
    plan, budget = NoisePlan.factorised(records=True), budget_of(Unit.RATING, 50.0)
    ratings = ratings_of([dict.fromkeys(range(ITEMS), 5.0)] * 200, ITEMS, STARS)
    streams: dict[str, Stream] = {}
    for t in range(1, 9):
        receipt = unbooked([budget.event(LABEL)], SeededRandomness(t))
        spender = RunningSpender(budget, receipt, LABEL, plan=plan, period=t, streams=streams)
        spender.measure_size(ratings, Unit.RATING)
        assert spender.noise == pytest.approx(plan.noise(t), rel=0.02)
    assert plan.held_back(8) > 0.5, "or the test would show nothing"


def test_laplace_noise_is_drawn_afresh() -> None:
    budget = Budget.of(Unit.RATING, Noise.LAPLACE, 1.0, 0.0)
    streams: dict[str, Stream] = {}
    part = Part("x", 1.0, 1.0)
    for t in (1, 2, 3):
        receipt = unbooked([budget.event(LABEL)], SeededRandomness(t))
        spender = RunningSpender(budget, receipt, LABEL, plan=FRESH, period=t, streams=streams)
        spender.release(part, np.full(2000, 5, np.int64), 1.0)
        assert streams["x"].buffers.size == 0
        assert spender._spread(streams["x"]) == pytest.approx(math.sqrt(2 * t), rel=1e-3)
        errors = streams["x"].total - 5 * t
        assert np.std(errors) == pytest.approx(math.sqrt(2 * t), rel=0.15)
