"""Every planted bug is caught, at a confidence of 99.99 %."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from discreet.audit.lower_bound import Claim, Neighbours, StatisticSubject, audit
from discreet.audit.lower_bound._mechanisms import CHOOSERS, PrivateSetsSubject, selection
from discreet.audit.lower_bound._pipelines import PipelineSubject, spent
from discreet.audit.lower_bound._protocols import HashSubject
from discreet.audit.lower_bound.planted import PLANTED
from discreet.audit.lower_bound.planted._statistics import movements, root_weights
from discreet.privacy import Noise, Randomness, unbooked
from discreet.privacy.mechanisms import Moves, RandomizedResponse

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CONFIDENCE = 1 - 1e-4
RUNS = {
    "thin-noise/pipeline/gaussian": 400,
    "thin-noise/pipeline/laplace": 400,
    "thin-noise/whole-fit/gaussian": 200,
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_audit_catches_it(name: str) -> None:
    subject = PLANTED[name]()
    assert subject.name == name and subject.about
    found = audit(subject, runs=RUNS.get(name), confidence=CONFIDENCE, seed=1)
    assert found.is_violated, found.seen
    assert found.refuted > found.claim.size and found.confidence == CONFIDENCE


def test_every_bug_that_was_asked_for_is_planted() -> None:
    kinds = {name.split("/")[0] for name in PLANTED}
    assert kinds >= {
        "half-noise", "thin-noise", "forgotten-clip", "no-corner", "coarse-grid", "reused-seed",
        "forgetful-ledger", "dropped-candidates", "memoised-answers", "paper-000", "paper-002",
        "paper-003",
    }  # fmt: skip
    theorems = {"paper-000/theorem-3", "paper-000/theorem-4", "paper-002/quotient"}
    assert theorems <= PLANTED.keys()
    assert {f"paper-003/{what}" for what in ("slope-one", "cosine", "sets")} <= PLANTED.keys()
    for noise in Noise:
        whole = PLANTED[f"thin-noise/whole-fit/{noise}"]()
        assert type(whole) is PipelineSubject and whole.settings["taste_share"] > 0


@pytest.mark.parametrize("kind", CHOOSERS)
def test_with_all_candidates_the_same_selection_is_not_flagged(kind: str) -> None:
    right = selection("right", CHOOSERS[kind], Moves.ONE)
    assert not audit(right, confidence=CONFIDENCE, seed=1).is_violated


@pytest.mark.parametrize("moves", Moves)
@pytest.mark.parametrize("kind", CHOOSERS)
def test_lists_that_cost_twice_what_they_say_are_caught(
    kind: Literal["k-subset", "gumbel"], moves: Moves
) -> None:
    class Thin(PrivateSetsSubject):
        epsilon, claim = 4.0, Claim(2.0)  # type: ignore[assignment]

    thin = Thin(f"private-sets/{kind}/moves-{moves}", "x", kind, moves)
    assert audit(thin, confidence=CONFIDENCE, seed=1).is_violated


def test_bits_that_one_coin_turns_round_are_caught_in_whole_messages() -> None:
    """Each bit by itself is as it should be."""

    class OneCoin(HashSubject):
        def said(self, values: Floats, count: int, randomness: Randomness) -> Ints:
            mechanism = RandomizedResponse(2, self.thousandths / 1000)
            event = mechanism.event("audit", count)
            turned = mechanism.release(
                np.zeros(count, np.int64), event, unbooked([event], randomness)
            )
            true = self.hash_of(values) >> np.arange(self.bits) & 1
            return np.asarray(true ^ turned[:, None])

    found = audit(OneCoin(), confidence=CONFIDENCE, seed=1)
    assert found.is_violated and found.runs == 500, "a message is a run"
    first, second = HashSubject().people
    assert (HashSubject().hash_of(first) ^ HashSubject().hash_of(second)).bit_count() == 2


@pytest.mark.parametrize("name", ["no-corner/weights", "coarse-grid/weights", "paper-003/cosine"])
def test_with_a_bound_as_large_as_the_movement_it_is_not_flagged(name: str) -> None:
    bug = PLANTED[name]()
    assert isinstance(bug, StatisticSubject) and bug.moved > 1.2
    right = replace(bug, sensitivity=bug.sensitivity * bug.moved)
    assert not audit(right, confidence=CONFIDENCE, seed=1).is_violated


def test_the_corner_and_the_grid_are_what_is_missing() -> None:
    exact = root_weights(17_770)
    assert movements(exact).max() < 1.5
    assert movements(root_weights(2), corner=False).max() < 0.8 < movements(root_weights(2)).max()


def test_a_search_finds_bad_neighbours_where_none_are_given() -> None:
    """From a rating that the clip would leave alone to one that it is there for."""
    bug = PLANTED["forgotten-clip/level"]()
    assert isinstance(bug, StatisticSubject)
    harmless = replace(bug, neighbours=Neighbours.by_rating(3, {0: 1.0}, (1, 2.0)))
    assert harmless.moved <= 0.5
    assert not audit(harmless, runs=4000, confidence=CONFIDENCE, seed=1).is_violated
    found = harmless.worse(60, np.random.default_rng(1))
    assert found.moved == pytest.approx(2.0)
    assert audit(found, runs=4000, confidence=CONFIDENCE, seed=1).is_violated


def test_noise_that_is_so_many_times_too_small_is_said_in_epsilon() -> None:
    claim = PLANTED["thin-noise/pipeline/gaussian"]().claim
    assert spent(claim, 1.0) == claim.epsilon
    assert spent(claim, 2.0) > 2 * claim.epsilon
