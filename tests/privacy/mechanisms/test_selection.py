"""What both private selections promise, whatever their law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.privacy import SeededRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK, KSubset, Moves, grid_sensitivity, to_grid

KINDS = [GumbelTopK, KSubset]
FAR = 2**52


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[GumbelTopK | KSubset]:
    return request.param


def _release(mechanism: GumbelTopK | KSubset, scores: Any, seed: int | None = None) -> Any:
    scores = np.asarray(scores)
    event = mechanism.event(Unit.USER, "top", len(np.atleast_2d(scores)))
    randomness = None if seed is None else SeededRandomness(seed)
    return mechanism.release(scores, event, unbooked([event], randomness))


def test_divisors_by_hand() -> None:
    assert KSubset(5, 1.0, 3, "one").divisor == 3
    assert KSubset(5, 1.0, 3, "all").divisor == 30
    assert GumbelTopK(5, 1.0, 3, "one").divisor == 15
    assert GumbelTopK(5, 1.0, 3, Moves.ALL).divisor == 30


def test_shapes(kind: type[GumbelTopK | KSubset]) -> None:
    mechanism = kind(3, 1.0, 1, "all")
    one, some = _release(mechanism, np.zeros(9, int)), _release(mechanism, np.zeros((4, 9), int))
    assert one.shape == (3,)
    assert some.shape == (4, 3)
    for row in [one, *some]:
        assert len(set(row.tolist())) == 3
        assert row.min() >= 0
        assert row.max() < 9


def test_sets_rise_and_lists_need_not() -> None:
    rows = _release(KSubset(4, 1.0, 1, "one"), np.zeros((200, 12), int))
    assert (np.diff(rows, axis=1) > 0).all()
    rows = _release(GumbelTopK(4, 1.0, 1, "one"), np.zeros((200, 12), int))
    assert (np.diff(rows, axis=1) < 0).any()


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 1.0, 1e9, 1e300])
@pytest.mark.parametrize(
    "scores",
    [[7], [0, 0, 0, 0], [FAR, -FAR, 0, FAR], [-FAR] * 4, [1, 2, 3, 4], [FAR, FAR - 1, FAR - 2, 0]],
    ids=str,
)
@pytest.mark.parametrize("moves", ["one", "all"])
def test_extremes_end_with_k_different_items(
    kind: type[GumbelTopK | KSubset], scores: list[int], epsilon: float, moves: str
) -> None:
    for k in range(1, len(scores) + 1):
        chosen = _release(kind(k, epsilon, 1, moves), scores).tolist()
        assert len(set(chosen)) == k
        if epsilon >= 1e9:  # weights so far apart that ties alone are left to chance
            picked = sorted((scores[item] for item in chosen), reverse=True)
            assert picked == sorted(scores, reverse=True)[:k]


def test_only_differences_of_scores_matter(kind: type[GumbelTopK | KSubset]) -> None:
    mechanism = kind(3, 2.0, 5, "all")
    scores = np.arange(60).reshape(2, 30) % 17
    moved = scores + np.array([[FAR - 100], [-FAR]])
    assert np.array_equal(_release(mechanism, scores, 9), _release(mechanism, moved, 9))


def test_any_integer_type_and_layout_give_the_same_choice(
    kind: type[GumbelTopK | KSubset],
) -> None:
    mechanism = kind(4, 3.0, 1, "one")
    scores = np.arange(300).reshape(10, 30) % 23
    expected = _release(mechanism, scores, 3)
    for other in (scores.astype(np.int8), scores.astype(np.uint64), np.asfortranarray(scores)):
        assert np.array_equal(_release(mechanism, other, 3), expected)


def test_rows_do_not_share_their_noise(kind: type[GumbelTopK | KSubset]) -> None:
    rows = _release(kind(5, 1.0, 1, "one"), np.zeros((3000, 40), int))
    # 658,008 sets: 3,000 of them agree in about 7 pairs, lists in none.
    assert len(np.unique(np.sort(rows, axis=1), axis=0)) > 2900


@pytest.mark.parametrize("scores", [[0.5, 1.0, 2.0], [True, False, True]])
def test_scores_must_be_integers(kind: type[GumbelTopK | KSubset], scores: list[float]) -> None:
    with pytest.raises(InputError, match="integers on a grid"):
        _release(kind(2, 1.0, 1, "one"), scores)


@pytest.mark.parametrize("score", [FAR + 1, -FAR - 1, 2**63 - 1, -(2**63)])
def test_scores_beyond_a_float_are_refused(kind: type[GumbelTopK | KSubset], score: int) -> None:
    with pytest.raises(InputError, match="exceeds 2") as caught:
        _release(kind(2, 1.0, 1, "one"), [0, score, 1])
    assert str(score) not in str(caught.value)


def test_more_items_than_there_are_cannot_be_chosen(kind: type[GumbelTopK | KSubset]) -> None:
    mechanism = kind(4, 1.0, 1, "one")
    event = mechanism.event(Unit.USER, "top")
    receipt = unbooked([event])
    with pytest.raises(InputError, match="4 of 3 items"):
        mechanism.release(np.array([1, 2, 3]), event, receipt)
    receipt.redeem(event)  # the refusal cost nothing


@pytest.mark.parametrize(
    ("k", "epsilon", "sensitivity", "moves"),
    [
        (0, 1.0, 1, "one"), (1025, 1.0, 1, "one"), (1, 0.0, 1, "one"), (1, -1.0, 1, "one"),
        (1, float("nan"), 1, "one"), (1, float("inf"), 1, "one"), (1, 1.0, 0, "one"),
    ],
)  # fmt: skip
def test_senseless_parameters_are_refused(
    kind: type[GumbelTopK | KSubset], k: int, epsilon: float, sensitivity: int, moves: str
) -> None:
    with pytest.raises(InputError):
        kind(k, epsilon, sensitivity, moves)


def test_a_word_is_asked_for_what_moves(kind: type[GumbelTopK | KSubset]) -> None:
    with pytest.raises(ValueError, match="some"):
        kind(1, 1.0, 1, "some")


def test_a_power_of_two_grid_keeps_its_sensitivity() -> None:
    # Scores that are s apart, at every offset of a fine raster: division by 1/8 is exact.
    for sensitivity in (0.0625, 0.125, 0.3, 0.5, 1.0, 2.71):
        low = np.arange(-4000, 4000) / 997
        gap = to_grid(low + sensitivity * (1 - 1e-12), 0.125) - to_grid(low, 0.125)
        assert gap.max() <= grid_sensitivity(sensitivity, 0.125)
        assert grid_sensitivity(sensitivity, 0.125) <= sensitivity / 0.125 + 1


def test_the_grid_rounds_to_the_nearest() -> None:
    assert to_grid([0.26, -0.26, 0.24, 10.0], 0.5).tolist() == [1, -1, 0, 20]
    assert to_grid([0.25, 0.75], 0.5).tolist() == [0, 2]  # halves go to the even neighbour
    assert grid_sensitivity(0.5, 0.5) == 2


@pytest.mark.parametrize("step", [0.1, 3.0, 0.0, -0.5, float("nan"), float("inf")])
def test_a_step_whose_division_would_round_is_refused(step: float) -> None:
    """With step 0.1 two scores less than 0.1 apart can be two grid units apart."""
    with pytest.raises(InputError, match="power of two"):
        to_grid([1.75], step)
    with pytest.raises(InputError, match="power of two"):
        grid_sensitivity(0.1, step)


def test_what_cannot_be_chosen_from_is_refused_before_anything_is_drawn() -> None:
    mechanism = KSubset(2, 1.0, 1, "all")
    event = mechanism.event(Unit.USER, "sets")
    receipt = unbooked([event])
    with pytest.raises(InputError, match="one row of them"):
        mechanism.release(np.zeros((1, 1, 5), dtype=np.int64), event, receipt)
    assert receipt.redeem(event).is_private  # the event is still there to redeem
    huge = KSubset(1024, 1.0, 1, "all")
    with pytest.raises(InputError, match="too large a table"):
        huge.release(np.zeros(1 << 18, dtype=np.int64), huge.event(Unit.USER, "x"), receipt)
