"""The engine: what it counts, how often it errs, and what it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from discreet.audit._intervals import at_least, at_most
from discreet.audit.lower_bound import (
    SUBJECTS,
    Claim,
    Finding,
    Neighbours,
    NoisyPair,
    Subject,
    audit,
    audit_all,
    find,
    observe,
    search,
)
from discreet.audit.lower_bound._engine import choose_threshold, learn
from discreet.domain import PRESENCE, InputError
from discreet.privacy import Noise, Randomness, SeededRandomness, Unit

Floats = npt.NDArray[np.float64]


Output = Callable[[Floats, int, Randomness], Floats]


def coin(chances: tuple[float, float], output: Output = lambda said, *_: said) -> Subject:
    """Says 1 with one probability in world 0 and with another in world 1, or what `output` says."""

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        uniform = randomness.words(runs) / 2.0**64
        said = (uniform < chances[world]).astype(np.float64)
        return output(said if chances[0] > chances[1] else -said, world, randomness)

    return Subject("coin", "a coin", Claim(1.0), draw, 1000)


def alarm_rate(first: float, second: float, tries: int, miss: float) -> float:
    """How often rates that are bounded from so many tries refute epsilon 1: exactly."""
    hits = np.arange(tries + 1)
    with np.errstate(divide="ignore"):
        low, high = np.log(at_least(hits, tries, miss)), np.log(at_most(hits, tries, miss))
    laws = (binom.pmf(hits, tries, chance) for chance in (first, second))
    return float((np.outer(*laws) * (low[:, None] - high > 1)).sum())


def test_a_false_alarm_is_as_rare_as_the_confidence_says() -> None:
    """Exactly at the claim, P = e^eps P', audits at 80 % flag as rarely as four rates make them."""
    first, second = 0.5, 0.5 / np.e
    right = coin((first, second))
    alarms = [audit(right, runs=400, confidence=0.8, seed=n).is_violated for n in range(400)]
    rate, undivided = (alarm_rate(first, second, 300, miss) for miss in (0.05, 0.2))
    most = binom.ppf(1 - 1e-5, 400, rate)
    assert 1 <= sum(alarms) <= most
    assert rate < 0.02 and binom.cdf(most, 400, undivided) < 1e-5, "else a slip would not show"


@pytest.mark.parametrize("chances", [(0.6, 0.1), (0.1, 0.6), (0.4, 0.9), (0.99, 0.9)])
def test_both_directions_are_looked_at(chances: tuple[float, float]) -> None:
    found = audit(coin(chances), runs=40_000, confidence=0.999, seed=1)
    p, q = chances
    ratios = [p / q, q / p, (1 - p) / (1 - q), (1 - q) / (1 - p)]
    truth = float(np.log(max(ratios)))
    assert 0.85 * truth < found.refuted <= truth
    assert found.is_violated and found.how == "analytic" and found.runs == 30_000


def test_infinite_scores_and_nan_are_outcomes() -> None:
    def odd(said: Floats, *_: object) -> Floats:
        return np.where(said > 0, np.inf, np.where(np.arange(len(said)) % 2, np.nan, -np.inf))

    found = audit(coin((0.9, 0.1), odd), confidence=0.99, seed=1)
    assert found.refuted > 1.5


@pytest.mark.parametrize("is_row", [False, True])
@pytest.mark.parametrize("chances", [(0.9, 0.1), (0.1, 0.9)])
def test_nan_is_an_outcome_of_its_own(is_row: bool, chances: tuple[float, float]) -> None:
    """A mechanism that fails for one person's data only gives them away by that."""

    def failing(said: Floats, _: int, randomness: Randomness) -> Floats:
        missing = np.where(said != 0, np.nan, 0.0)
        noise = randomness.words(len(said)) / 2.0**64
        return np.column_stack([noise, missing]) if is_row else missing

    found = audit(coin(chances, failing), confidence=0.99, seed=1)
    assert found.refuted > 1.5 and found.how == ("learnt" if is_row else "analytic")


@pytest.mark.parametrize(
    "shapes",
    [((900,), (300,)), ((300,), (300,)), ((900, 2), (900, 3)), ((900, 0), (900, 0)), ((), ())],
)
def test_worlds_with_other_runs_than_asked_for_are_refused(shapes: tuple[tuple[int]]) -> None:
    short = coin((0.5, 0.5), lambda _, world, __: np.ones(shapes[world]))
    with pytest.raises(InputError, match="each of 900 runs has a score, or a row"):
        audit(short, runs=900)


def test_what_so_many_runs_can_prove_is_told() -> None:
    """Even where every run of one world shows what none of the other does."""
    sure = audit(coin((1.0, 0.0)), runs=400, confidence=0.99, seed=1)
    assert sure.refuted == sure.most and 3 < sure.most < 4 and sure.can_refute
    few = audit(coin((1.0, 0.0)), runs=40, confidence=1 - 1e-4, seed=1)
    assert few.refuted == few.most < 1 and not few.can_refute


@pytest.mark.parametrize(
    ("name", "runs"),
    [("laplace/step-1", 400), ("gaussian/vector", 200), ("k-subset/moves-one", 1000),
     ("ledger/mixed", 4000)],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_a_lower_confidence_never_proves_less(name: str, runs: int, seed: int) -> None:
    """The same events are counted, whatever the confidence is."""
    levels = (1 - 1e-6, 1 - 1e-4, 0.999, 0.99, 0.95, 0.8, 0.5)
    counts = observe(SUBJECTS[name].make(), runs=runs, seed=seed)
    told = [counts.finding(confidence) for confidence in levels]
    found = [each.refuted for each in told]
    if seed == 0:
        assert told[0] == audit(SUBJECTS[name].make(), runs=runs, confidence=levels[0], seed=0)
    assert found == sorted(found) and found[-1] > 0
    assert len({each.most for each in told}) == len(levels)


def test_few_runs_have_a_threshold_too() -> None:
    """At which nothing is refuted at the strictest level that thresholds are compared at."""
    found = audit(coin((1.0, 0.0)), runs=40, confidence=0.9, seed=1)
    assert found.refuted == found.most > 1


def test_two_outputs_with_the_same_noise_are_seen_through() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2, 2000)) * 1e6
    first = np.column_stack([noise[0] + 1, noise[0]])
    second = np.column_stack([noise[1], noise[1]])
    score = learn(first[:1000], second[:1000]).score
    assert score(first[1000:]).min() > score(second[1000:]).max()


def test_thresholds_are_chosen_on_runs_that_the_score_has_not_met() -> None:
    """From as many columns of noise as there are runs a score learns its own rows by heart."""

    def columns(said: Floats, _: int, randomness: Randomness) -> Floats:
        noise = randomness.words(len(said) * 60).reshape(len(said), 60) / 2.0**64
        return np.column_stack([noise, said + 0.3 * noise[:, 0]])

    subject = coin((0.9, 0.1), columns)
    found = [audit(subject, runs=240, confidence=0.9, seed=n).refuted for n in range(8)]
    assert np.mean(found) > 1, "0.86 if they are chosen on the same"


def test_spread_is_learnt_as_well_as_place() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(4000, 3)), 3 * rng.normal(size=(4000, 3))
    score = learn(first[:2000], second[:2000]).score
    assert np.mean(score(first[2000:]) > 0) > 0.8 and np.mean(score(second[2000:]) < 0) > 0.8


def test_constant_features_do_no_harm() -> None:
    rng = np.random.default_rng(3)
    first = np.column_stack([rng.normal(size=500) + 2, np.ones(500), np.zeros(500)])
    second = np.column_stack([rng.normal(size=500), np.ones(500), np.zeros(500)])
    score = learn(first, second).score
    assert np.all(np.isfinite(score(first))) and score(first).mean() > score(second).mean()


@pytest.mark.parametrize("is_high", [True, False])
def test_a_threshold_is_where_most_is_refuted(is_high: bool) -> None:
    """Worlds that differ at one end only: the other end is no place for a threshold."""
    rng = np.random.default_rng(4)
    first, second = rng.random(4000), rng.random(4000)
    first[:400] = 2.0 if is_high else 0.5
    second[:400] = 0.5 if is_high else -1.0
    test = choose_threshold(Claim(1.0), [first, second], is_high=is_high)
    assert 400 <= test.hits(first if is_high else second) < 410
    assert test.hits(second if is_high else first) < 10


def test_an_audit_with_a_seed_is_repeatable_and_without_one_is_not() -> None:
    subject = SUBJECTS["laplace/step-1"].make()
    told: dict[str, Any] = {"runs": 2000, "confidence": 0.99}
    assert audit(subject, **told, seed=3) == audit(subject, **told, seed=3)
    counts = {audit(subject, **told).seen for _ in range(3)}
    assert len(counts) > 1


@pytest.mark.parametrize("runs", [0, 39, 1 << 27])
def test_impossible_numbers_of_runs_are_refused(runs: int) -> None:
    with pytest.raises(InputError, match="an audit makes from 40"):
        audit(coin((0.5, 0.5)), runs=runs)


@pytest.mark.parametrize("confidence", [0.2, 1.0, 95.0])
def test_impossible_confidences_are_refused(confidence: float) -> None:
    with pytest.raises(InputError, match=r"confidence is from 0\.5 to below 1"):
        audit(coin((0.5, 0.5)), confidence=confidence)


def test_only_entries_that_differ_are_drawn() -> None:
    class Counting(SeededRandomness):
        drawn = 0

        def fill(self, buffer: memoryview) -> None:
            self.drawn += len(buffer)
            super().fill(buffer)

    first = np.append(np.arange(999), 5000)
    few = NoisyPair(first, np.arange(1000), Noise.LAPLACE, 1.0)
    source = Counting(1)
    few.draw(0, 100, source)
    assert 0 < source.drawn < 100 * 100


def test_what_a_statistic_moves_by_is_told_as_a_part_of_its_sensitivity() -> None:
    worlds = (np.array([3, 4]), np.array([0, 0]))
    assert NoisyPair(*worlds, Noise.GAUSSIAN, 10.0).moved == 0.5
    assert NoisyPair(*worlds, Noise.LAPLACE, 10.0).moved == pytest.approx(0.7)


def test_a_search_keeps_the_unit_and_never_gets_worse() -> None:
    def movement(now: Neighbours) -> float:
        own = now.without | now.added
        return sum(own.values()) + len(now.others[0])

    start = Neighbours(6, Unit.USER, {}, {0: 1.0}, ({1: 1.0},))
    found, far = search(start, movement, 300, np.random.default_rng(1))
    assert found.unit is Unit.USER and not found.without
    assert far == movement(found) == 36
    start = Neighbours(6, Unit.RATING, {1: 1.0}, {0: 1.0}, ({1: 1.0},), PRESENCE)
    found, far = search(start, movement, 300, np.random.default_rng(1))
    assert len(found.added) == 1 and far == 12


def test_names_may_be_beginnings() -> None:
    assert find(["ledger", "ledger/pure"], SUBJECTS) == [
        "ledger/pure", "ledger/gaussian", "ledger/mixed",
    ]  # fmt: skip
    assert find(["all"], SUBJECTS) == list(SUBJECTS)
    with pytest.raises(InputError, match="no subject 'ledge'"):
        find(["ledge"], SUBJECTS)


def test_the_confidence_of_a_table_is_shared_out() -> None:
    heard = []
    found = audit_all(
        ["ledger"], runs=400, confidence=0.97, seed=1, progress=lambda *told: heard.append(told)
    )
    assert [each.confidence for each in found] == [pytest.approx(0.99)] * 3
    assert heard == [("audit", n, 3) for n in range(3)]
    with pytest.raises(InputError, match="number of steps"):
        audit_all(["ledger"], search=-1)


def test_a_table_may_search_for_worse_neighbours_first() -> None:
    (plain,) = audit_all(["slope-one-weights/user/gaussian"], runs=4000, seed=1)
    (worse,) = audit_all(["slope-one-weights/user/gaussian"], runs=4000, seed=1, search=100)
    assert worse.refuted > plain.refuted and not worse.is_violated


def test_a_finding_as_plain_data() -> None:
    found = Finding("x", Claim(0.0), 0.5, 0.9, 10, "analytic", "seen", 2.0)
    assert found.is_violated and found.as_json()["reached"] is None
    assert found.can_refute and found.as_json()["most"] == 2.0
    small = Finding("x", Claim.gaussian(1.0), 0.5, 0.9, 10, "analytic", "seen", 0.9)
    curve = small.as_json()
    assert curve["audited_mu"] == 0.5 and curve["violated"] is False
    assert not small.can_refute and 0 < curve["most"] < curve["claimed_epsilon"]
    assert 0 < curve["audited_epsilon"] < curve["claimed_epsilon"]
