"""Noise that takes back earlier noise: exact recursions, dense matrices, brute force, searches."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from discreet.domain import InputError
from discreet.privacy import NoisePlan, SeededRandomness, Unit, unbooked
from discreet.privacy.mechanisms import RoundedGaussian
from discreet.privacy.running_noise import ROUNDING, forgetting_of, scaled_down

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ONE = 2**16
# One that keeps a lot for long, two as they are used, and one that forgets within a period.
PLANS = {
    "slow": NoisePlan((65536,), (65535,), 7),
    "factorised": NoisePlan.factorised(horizon=9),
    "records": NoisePlan.factorised(horizon=9, records=True),
    "short": NoisePlan((30000, 5), (0, 1), 5, 0.9),
    "fresh": NoisePlan.fresh(),
}
plans = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def coefficients(plan: NoisePlan, number: int) -> Floats:
    c = [1.0]
    for k in range(1, number):
        each = zip(plan.weights, plan.decays, strict=True)
        c.append(sum(w / ONE * (d / ONE) ** (k - 1) for w, d in each))
    return np.array(c)


def dense(plan: NoisePlan, periods: int) -> tuple[Floats, Floats]:
    """C with its stretches, and the boosts of the periods."""
    c, made, boosts = coefficients(plan, periods), np.zeros((periods, periods)), np.ones(periods)
    for t in range(periods):
        boosts[t] = plan.boost(t % plan.horizon + 1) / ONE
        for s in range(t + 1):
            if s // plan.horizon == t // plan.horizon:
                made[t, s] = c[t - s]
    return made, boosts


def life(plan: NoisePlan) -> float:
    return math.sqrt(float(np.sum(coefficients(plan, min(plan.horizon, 200)) ** 2)))


@given(
    st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 2**63 - 1, -(2**63)]),
    st.integers(0, ONE),
)
def test_scaling_down_is_exact(value: int, factor: int) -> None:
    assert scaled_down(np.array([value]), factor)[0] == value * factor // ONE


@settings(max_examples=40)
@given(
    plan=st.sampled_from(list(PLANS.values())),
    noises=st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=12),
)
def test_buffers_follow_the_recursion_in_whole_numbers(plan: NoisePlan, noises: list[int]) -> None:
    buffers = np.zeros((plan.buffers, 1), np.int64)
    slow = [0] * plan.buffers
    for noise in noises:
        back = sum(w * n // ONE for w, n in zip(plan.weights, slow, strict=True))
        assert plan.recall(buffers).tolist() == [back]
        buffers = plan.remember(buffers, np.array([noise]))
        slow = [d * n // ONE + noise for d, n in zip(plan.decays, slow, strict=True)]
        assert buffers[:, 0].tolist() == slow


@plans
def test_coefficients_boosts_and_lifetimes_are_those_of_the_matrix(plan: NoisePlan) -> None:
    n = min(plan.horizon, 20)
    assert plan.coefficients(n) == pytest.approx(coefficients(plan, n))
    assert plan.lifetime == pytest.approx(life(plan)) and plan.lifetime >= life(plan)
    if plan.horizon <= 20:
        seen, boosts = dense(plan, plan.horizon)
        columns = np.linalg.norm(seen * boosts, axis=0)
        assert columns.max() <= plan.lifetime
        assert columns == pytest.approx(np.full(plan.horizon, life(plan)), rel=1e-4)
        assert (np.diff(boosts) >= 0).all() and boosts[0] == 1


@pytest.mark.parametrize("half_life", [None, 12.0])
def test_a_few_buffers_are_nearly_as_good_as_all_earlier_noise(half_life: float | None) -> None:
    """Those of (1 - gamma x)^(-1/2), whose matrix is a square root of that of the totals."""
    gamma, n = forgetting_of(half_life), 64
    k = np.arange(1, n)
    best = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k)) * gamma**k])
    lengths = np.sqrt(np.cumsum(best**2))
    boosts = lengths[-1] / lengths[::-1]
    distance = np.subtract.outer(np.arange(n), np.arange(n))
    root, totals = (np.tril(each[np.abs(distance)]) for each in (best, gamma ** np.arange(n)))
    rows = np.linalg.norm(totals @ np.diag(1 / boosts) @ np.linalg.inv(root), axis=1)
    plan = NoisePlan.factorised(half_life, n)
    ours = np.array([plan.lifetime * plan.spread(t) for t in range(1, n + 1)])
    assert (ours <= 1.01 * lengths[-1] * rows.max()).all()
    assert ours[51] <= 1.005 * lengths[-1] * rows[51]


@plans
@pytest.mark.parametrize("periods", [1, 4, 9, 16])
@pytest.mark.parametrize("forgetting", [None, 0.7])
def test_the_spread_of_totals_is_that_of_the_matrices(
    plan: NoisePlan, periods: int, forgetting: float | None
) -> None:
    gamma = plan.forgetting if forgetting is None else forgetting
    seen, boosts = dense(plan, periods)
    totals = gamma ** np.maximum(np.subtract.outer(np.arange(periods), np.arange(periods)), 0)
    totals = np.tril(totals) @ np.diag(1 / boosts) @ np.linalg.inv(seen)
    assert plan.spread(periods, forgetting) == pytest.approx(np.linalg.norm(totals[-1]), rel=1e-9)


def test_totals_have_as_little_noise_as_was_aimed_at() -> None:
    """Over that of a single release with the same budget; fresh noise would be 7.2 and 3.0."""
    plain, fading = NoisePlan.factorised(), NoisePlan.factorised(12)
    assert plain.lifetime * plain.spread(52) <= 2.4
    assert fading.lifetime * fading.spread(52) <= 1.7
    assert fading.lifetime * fading.spread(500) <= 1.7
    assert NoisePlan.fresh().spread(52) == pytest.approx(math.sqrt(52))
    worst = max(plain.lifetime * plain.spread(n) for n in range(1, 65))
    assert worst <= 2.4


def paid(plan: NoisePlan, shifts: Floats) -> float:
    """What moves by these many units in each period pays, squared, over one unit's mu^2."""
    seen, boosts = dense(plan, len(shifts))
    return float(np.sum((seen @ (boosts * shifts)) ** 2)) / life(plan) ** 2


@pytest.mark.parametrize("name", ["slow", "factorised", "records", "short"])
def test_growth_and_worst_hold_for_every_pattern_of_activity(name: str) -> None:
    plan, n = PLANS[name], 11
    most = np.zeros(n + 1)
    for pattern in itertools.product((0.0, 1.0), repeat=n):
        count = int(sum(pattern))
        most[count] = max(most[count], paid(plan, np.array(pattern)))
    for active in range(1, n + 1):
        assert most[active] <= plan.worst(active)
        assert most[active] <= plan.growth(n, active)
    assert plan.growth(n) == pytest.approx(most[n])
    assert plan.worst(1) == pytest.approx(1, rel=1e-4)
    assert plan.growth(n, 1) == pytest.approx(1, rel=1e-4)
    # Not much too large either: for two periods it is what happens.
    if plan.horizon < n - 1:
        assert plan.worst(2) == pytest.approx(most[2], rel=1e-3)


@plans
def test_growth_over_time_covers_what_was_drawn_until_then(plan: NoisePlan) -> None:
    grown = [plan.growth(n) for n in range(1, 17)]
    assert grown == pytest.approx([paid(plan, np.ones(n)) for n in range(1, 17)])
    assert grown == sorted(grown)


@pytest.mark.parametrize("name", ["slow", "factorised", "records"])
def test_streams_that_begin_late_or_miss_periods_cost_less(name: str) -> None:
    """Parts of one budget, each drawn in periods of its own, in all ways there are."""
    plan, n = PLANS[name], 7
    seen, boosts = dense(plan, n)
    for halves in itertools.product((0.0, 0.5, 1.0), repeat=n):
        share = np.array(halves)  # of the budget, for one part; the rest is for another
        cost = 0.0
        for part in (share, 1 - share):
            drawn = part > 0
            moved = seen @ (boosts * np.sqrt(part))
            cost += float(np.sum(moved[drawn] ** 2))
        assert cost <= plan.growth(n) * life(plan) ** 2 * (1 + 1e-9)


def run(
    plan: NoisePlan, exacts: list[Ints], released: list[Ints] | None, sigma: float, seed: int
) -> tuple[list[Ints], list[Ints]]:
    """Released integers of a stream and its draws; forced outputs if any are given."""
    source = SeededRandomness(seed)
    buffers = np.zeros((plan.buffers, len(exacts[0])), np.int64)
    outputs, draws = [], []
    for t, exact in enumerate(exacts):
        if t % plan.horizon == 0:
            buffers[:] = 0
        centre = exact - plan.recall(buffers)
        if released is None:
            mechanism = RoundedGaussian(sigma)
            event = mechanism.event(1.0, Unit.RATING, "x")
            noisy = mechanism.release(centre, event, unbooked([event], source))
        else:
            noisy = released[t]
        outputs.append(noisy)
        draws.append(noisy - centre)
        buffers = plan.remember(buffers, noisy - exact)
    return outputs, draws


@settings(max_examples=60, deadline=None)
@given(data=st.data(), plan=st.sampled_from(list(PLANS.values())[:4]))
def test_given_the_outputs_draws_move_by_what_is_booked(data: Any, plan: NoisePlan) -> None:
    """Small numbers and small noise: there the floors in the buffers are as bad as they get."""
    n, size = plan.horizon, data.draw(st.integers(1, 4))
    small = st.integers(-50, 50)
    exacts = [np.array(data.draw(st.lists(small, min_size=size, max_size=size))) for _ in range(n)]
    sigma = data.draw(st.sampled_from([0.5, 3.0, 1000.0]))
    outputs, draws = run(plan, exacts, None, sigma, data.draw(st.integers(0, 10**6)))
    s = data.draw(st.integers(0, n - 1))
    delta = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size)))
    others = [each.copy() for each in exacts]
    boost = plan.boost(s + 1) / ONE
    moved = np.floor(boost * delta).astype(np.int64)
    others[s] = others[s] + moved
    _, theirs = run(plan, others, outputs, sigma, 0)
    apart = np.array(draws) - np.array(theirs)
    once = float(np.linalg.norm(delta)) + math.sqrt(size) * (np.abs(moved).sum() > 0)
    assert np.linalg.norm(apart) <= plan.sensitivity(once, size)
    assert (apart[:s] == 0).all()
    # And entry by entry: what follows from the data, up to the rounding of buffers.
    expected = np.multiply.outer(plan.coefficients(n - s), moved)
    error = np.abs(apart[s:] - expected)
    assert error.max() <= plan._rounding
    assert (error[0] == 0).all()


def test_the_slack_for_rounding_is_needed() -> None:
    """A search: without it, neighbours move draws further than the formula says."""
    plan, rng, worst = PLANS["slow"], np.random.default_rng(1), 0.0
    for _ in range(300):
        exacts = [np.zeros(1, np.int64) for _ in range(plan.horizon)]
        outputs = [rng.integers(-3, 4, 1) for _ in range(plan.horizon)]
        others = [exacts[0] + 1, *exacts[1:]]
        draws, theirs = (run(plan, each, outputs, 1.0, 0)[1] for each in (exacts, others))
        worst = max(worst, float(np.linalg.norm(np.array(draws) - np.array(theirs))))
    assert plan.lifetime < worst <= plan.sensitivity(1.0, 1)


def test_rounding_is_always_paid_for() -> None:
    plan = NoisePlan.factorised()
    assert plan.sensitivity(2.0**40, 1) == pytest.approx(
        plan.lifetime * 2.0**40 * (1 + ROUNDING), rel=1e-8
    )
    assert plan.sensitivity(1.0, 100) > plan.lifetime * (1 + plan.slack(100)) * (1 - 1e-9)


@pytest.mark.parametrize("horizon", [2, 16, 64, 256, 300, 1024, 4096])
def test_rounding_is_small_in_every_plan_that_is_offered(horizon: int) -> None:
    """PROOF.md counts on it for a number that moves in many stretches."""
    half_lives = (None, 0.1, 1.0, 3.0, 12.0, 52.0, 200.0, 1000.0, 1e4, 1e6)
    most = max(NoisePlan.factorised(each, horizon)._rounding for each in half_lives)
    most = max(most, NoisePlan.factorised(None, horizon, records=True)._rounding)
    assert most < 57
    assert horizon < 300 or most > 50, "or PROOF.md says too much"


def test_single_records_have_coefficients_of_their_own_where_rounding_allows_it() -> None:
    """They are larger: a record is seen longer, which is paid for in `lifetime`."""
    for horizon, differs in ((1, False), (2, True), (64, True), (300, True), (301, False)):
        plan, records = (NoisePlan.factorised(None, horizon, records=r) for r in (False, True))
        assert (plan != records) is differs
        assert (records.lifetime > plan.lifetime) is differs
    assert NoisePlan.factorised(12.0, records=True) == NoisePlan.factorised(12.0)


def test_increments_have_the_law_of_the_matrix() -> None:
    """The first and the fifth of 4,000 streams at once; wrong with probability 1e-6 each."""
    plan, sigma, size = NoisePlan.factorised(), 2.0**30, 4000
    zeros = [np.zeros(size, np.int64) for _ in range(5)]
    outputs, draws = run(plan, zeros, None, sigma, 5)
    inverse = np.linalg.inv(dense(plan, 5)[0])
    for t in (0, 4):
        spread = sigma * float(np.linalg.norm(inverse[t]))
        assert kstest(outputs[t] / spread, "norm").pvalue > 1e-6
        assert kstest(outputs[t] / (1.2 * spread), "norm").pvalue < 1e-3  # or it shows nothing
    assert kstest(draws[4] / sigma, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(outputs[0], outputs[1])[0, 1] + 0.45) < 0.1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"weights": (1,), "decays": ()}, "a decay for every weight"),
        ({"weights": (65537,), "decays": (1,)}, "whole numbers of 2"),
        ({"weights": (1,), "decays": (65536,)}, "whole numbers of 2"),
        ({"weights": (-1,), "decays": (1,)}, "whole numbers of 2"),
        ({"weights": (65536, 1), "decays": (0, 0)}, "add up to at most 1"),
        ({"horizon": 0}, "1 to 4,096 periods"),
        ({"forgetting": 0.0}, "above 0"),
        ({"forgetting": 1.5}, "at most 1"),
    ],
)
def test_impossible_plans_are_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        NoisePlan(**fields)


@plans
def test_plans_are_read_back(plan: NoisePlan) -> None:
    assert NoisePlan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.inf, math.nan])
def test_impossible_half_lives_are_refused(half_life: float) -> None:
    with pytest.raises(InputError, match="half-life"):
        NoisePlan.fresh(half_life)


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("steps", [2, 12, 52])
def test_what_is_held_back_of_the_latest_periods_leaves_the_least_noise(
    steps: int, records: bool
) -> None:
    plan = NoisePlan.factorised(records=records)

    def noise(back: float) -> float:
        held = back * sum(0.5**k for k in range(steps))
        return plan.combined(steps, back) / (steps - held)

    back = plan.held_back(steps)
    assert 0 < back < 1
    assert noise(back) < min(noise(back - 0.05), noise(back + 0.05), noise(0.0))
    assert plan.noise(steps) == pytest.approx(plan.lifetime * noise(back) * steps)
    assert NoisePlan.factorised(12.0, records=records).held_back(steps) == 0
    assert NoisePlan.fresh().held_back(steps) == 0
