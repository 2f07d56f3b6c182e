"""The door for sets: the law, the charge, the contract of what moves, the kinds of attack."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.domain.errors import BudgetExceeded, NotCharged
from discreet.measure.sets import PROTECTION, AttackKind, PrivateSets, private_sets
from discreet.privacy import SeededRandomness, Unit, unbooked
from discreet.privacy.ledger import Ledger, Limit
from discreet.privacy.mechanisms import KSubset, Moves

SCORES = [3.5, 1.0, 4.25, 1.0, 5.0, 2.0]
LISTS = 40_000


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.RATING, 30.0, 1e-6)])


def draw(scores: Any, k: int = 2, **told: Any) -> PrivateSets:
    usual: dict[str, Any] = {"protect": "rating", "epsilon": 1.0, "sensitivity": 4.0}
    usual["ledger"] = "unbooked"
    return private_sets(scores, k, **usual | {"moves": "all"} | told)


@pytest.mark.parametrize(("moves", "divisor"), [("one", 4.0), ("all", 2 * 2 * 4.0)])
def test_sets_have_the_law_of_the_exponential_mechanism(moves: str, divisor: float) -> None:
    rows = np.tile(SCORES, (LISTS, 1))
    chosen = draw(rows, epsilon=3.0, moves=moves, randomness=SeededRandomness(1)).items
    weights = {
        pair: math.exp(3.0 * (SCORES[pair[0]] + SCORES[pair[1]]) / divisor)
        for pair in itertools.combinations(range(6), 2)
    }
    total = sum(weights.values())
    for (i, j), weight in weights.items():
        found = np.mean((chosen[:, 0] == i) & (chosen[:, 1] == j))
        expected = weight / total
        assert abs(found - expected) < 5 * math.sqrt(expected / LISTS)


def test_gumbel_lists_come_with_the_likeliest_first() -> None:
    rows = np.tile(SCORES, (5_000, 1))
    chosen = draw(rows, epsilon=30.0, mechanism="gumbel", randomness=SeededRandomness(2)).items
    weights = np.exp(30.0 * np.array(SCORES) / (2 * 2 * 4.0))
    found = np.bincount(chosen[:, 0], minlength=6) / len(chosen)
    assert np.allclose(found, weights / weights.sum(), atol=0.03)
    assert np.all(chosen[:, 0] != chosen[:, 1])


def test_one_vector_makes_one_set_and_a_function_the_same_as_its_table() -> None:
    one = draw(SCORES, 3)
    assert one.items.shape == (3,)
    assert one.lists == 1
    table = np.random.default_rng(0).normal(3, 1, (7, 900_000)).astype(np.float32)
    asked: list[tuple[int, int]] = []

    def scoring(first: int, last: int) -> Any:
        asked.append((first, last))
        return table[first:last]

    whole = draw(table, 4, randomness=SeededRandomness(3))
    parts = draw(scoring, 4, lists=7, randomness=SeededRandomness(3))
    assert np.array_equal(whole.items, parts.items)
    assert asked == [(0, 1), (1, 5), (5, 7)]  # so that few scores are in memory at once


def test_a_great_epsilon_takes_the_best_on_a_fine_enough_grid() -> None:
    rows = np.random.default_rng(1).normal(3, 1, (50, 300))
    chosen = draw(rows, 10, epsilon=1e8, sensitivity=0.001, mechanism="k-subset").items
    best = np.sort(np.argpartition(-rows, 9, axis=1)[:, :10], axis=1)
    assert np.array_equal(chosen, best)


def test_everything_that_was_learnt_costs_every_list(ledger: Ledger) -> None:
    made = draw([SCORES] * 20, ledger=ledger)
    (entry,) = ledger.history()
    assert entry.events == made.guarantee.events
    assert ledger.spent(Unit.RATING).pure == pytest.approx(20.0)
    assert made.guarantee.epsilon == pytest.approx(20.0)
    assert made.guarantee.is_private
    with pytest.raises(BudgetExceeded):
        draw([SCORES] * 11, ledger=ledger.path)
    assert len(ledger.history()) == 1


def test_one_moved_score_costs_one_list(ledger: Ledger) -> None:
    made = draw([SCORES] * 500, moves="one", ledger=ledger)
    assert made.lists == 500
    assert ledger.spent(Unit.RATING).pure == pytest.approx(1.0)
    assert made.guarantee.epsilon == pytest.approx(1.0)
    assert "one score of one person" in str(made.guarantee)
    assert made.guarantee.per(Unit.USER) is None


def test_a_refused_charge_scores_nobody(ledger: Ledger) -> None:
    def scoring(first: int, last: int) -> Any:
        raise AssertionError("scores were made before the charge")

    with pytest.raises(BudgetExceeded):
        draw(scoring, lists=31, ledger=ledger)
    assert ledger.history() == []


def test_the_whole_matrix_law_of_neighbours_stays_within_the_charge() -> None:
    # Two people, four items, sets of two, all outcomes: rows are independent given the scores.
    scores = np.array([[0, 3, 1, 2], [2, 2, 0, 1]])

    def log_law(table: Any, moves: Any) -> Any:
        mechanism = KSubset(2, 1.0, 1, moves)
        pairs = np.array(list(itertools.combinations(range(4), 2)))
        raw = (table[:, pairs].sum(axis=2)) * mechanism.epsilon / mechanism.divisor
        rows = raw - np.log(np.exp(raw).sum(axis=1, keepdims=True))
        return rows[0][:, None] + rows[1][None, :]

    own_one, own_all = log_law(scores, "one"), log_law(scores, "all")
    worst_one = worst_all = 0.0
    for move in itertools.product((-1, 1), repeat=8):
        moved = np.array(move).reshape(2, 4)
        worst_all = max(worst_all, np.abs(log_law(scores + moved, "all") - own_all).max())
        worst_one = max(worst_one, np.abs(log_law(scores + moved, "one") - own_one).max())
    single = max(
        np.abs(
            log_law(scores + step * np.eye(8, dtype=int)[i].reshape(2, 4), "one") - own_one
        ).max()
        for i in range(8)
        for step in (-1, 1)
    )
    assert 0.5 < single <= 1.0  # one list's epsilon, though there are two lists
    assert 1.0 < worst_all <= 2.0  # both lists' epsilon
    assert worst_one > 2.0  # the word "one" promises nothing once all scores move


def test_what_is_charged_is_all_that_can_be_drawn() -> None:
    mechanism = KSubset(2, 1.0, 1, "all")
    total = mechanism.event(Unit.RATING, "x", 3)
    receipt = unbooked([total])
    paid = receipt.open_tickets(total)
    scores = np.zeros((2, 4), np.int64)
    assert mechanism.release(scores, mechanism.event(Unit.RATING, "x", 2), paid).shape == (2, 2)
    with pytest.raises(NotCharged):
        mechanism.release(scores, mechanism.event(Unit.RATING, "x", 2), paid)
    with pytest.raises(NotCharged):
        KSubset(2, 2.0, 1, "all").release(
            scores[:1], KSubset(2, 2.0, 1, "all").event(Unit.RATING, "x"), paid
        )
    with pytest.raises(NotCharged):
        receipt.open_tickets(total)


def test_totals_by_kind_of_attack() -> None:
    fitted = draw([SCORES] * 5, epsilon=0.5)
    assert [fitted.against(kind) for kind in AttackKind] == [2.5, 0.5, 3.0]
    imputed = draw([SCORES] * 5, epsilon=0.5, moves="one")
    assert [imputed.against(kind) for kind in AttackKind] == [None, 0.5, None]
    seeded = draw(SCORES, randomness=SeededRandomness(4))
    assert not seeded.guarantee.is_private
    assert [seeded.against(kind) for kind in AttackKind] == [None] * 3


def test_the_table_says_the_same_as_the_totals() -> None:
    for moves in Moves:
        made = draw(SCORES, moves=moves)
        for kind in AttackKind:
            covered = PROTECTION[f"sets, moves {moves}"][kind].is_bounded
            assert covered == (made.against(kind) is not None)
    for covers in PROTECTION.values():
        assert set(covers) == set(AttackKind)
        both = covers[AttackKind.IMMEDIATE].is_bounded and covers[AttackKind.DYNAMIC].is_bounded
        assert covers[AttackKind.COMBINED].is_bounded == both
        assert all(len(cover.words) > 5 for cover in covers.values())


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"moves": "some"}, "moves is one or all, not 'some'"),
        ({"protect": "people"}, "protect is one of rating, user"),
        ({"protect": "user", "moves": "one"}, "a whole user moves more than one score"),
        ({"mechanism": "mcmc"}, "'mcmc' is not a mechanism; choose from k-subset, gumbel"),
        ({"sensitivity": 0.0}, "sensitivity must be a positive number"),
        ({"sensitivity": math.nan}, "sensitivity must be a positive number"),
        ({"epsilon": math.inf}, "epsilon must be a positive number"),
        ({"k": 7}, "7 of 6 items cannot be chosen"),
        ({"k": 0}, "k must be from 1"),
        ({"lists": 3}, "there are scores for 1 people, and lists says 3"),
        ({"scores": [[["a"]]]}, "scores are a row of numbers"),
        ({"scores": []}, "not empty"),
        ({"scores": [1.0, math.nan]}, "a score is not a finite number"),
        ({"scores": [1.0, math.inf]}, "a score is not a finite number"),
        ({"scores": [1.0, math.inf]}, "not a finite number"),
        ({"scores": lambda first, last: [[1.0, 2.0]]}, "needs lists"),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_charge(
    ledger: Ledger, told: dict[str, Any], words: str
) -> None:
    usual: dict[str, Any] = {"scores": SCORES, "ledger": ledger}
    with pytest.raises(InputError) as refused:
        draw(**usual | told)
    assert words in str(refused.value)
    assert ledger.history() == []


def test_moves_and_protect_have_no_default() -> None:
    with pytest.raises(TypeError, match="moves"):
        private_sets(SCORES, 2, protect="rating", epsilon=1.0, sensitivity=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="protect"):
        private_sets(SCORES, 2, epsilon=1.0, sensitivity=1.0, moves="all")  # type: ignore[call-arg]


def test_a_function_whose_rows_change_their_width_is_refused() -> None:
    with pytest.raises(InputError, match="every row the same items"):
        draw(lambda first, last: np.ones((last - first, 4 + first)), lists=3)


def test_scores_beyond_all_measure_are_cut_and_not_refused() -> None:
    """Whether a score is beyond 2^32 times the sensitivity is nobody's business."""
    told = {"protect": "rating", "epsilon": 1.0, "sensitivity": 1.0, "moves": "all"}
    for most in (2.0**32, 2.0**32 + 1, 1e300):
        drawn = private_sets([0.0, 1.0, most], 1, randomness=SeededRandomness(1), **told)  # type: ignore[arg-type]
        assert drawn.items.tolist() == [2]
