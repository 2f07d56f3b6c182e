"""What both private selections promise, whatever their law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from discreet.domain import InputError
from discreet.privacy import SeededRandomness, SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK, KSubset, Moves, grid_sensitivity, to_grid
from privacy.mechanisms._selections import log_law, loss
from statistical._laws import judge, uniformity

KINDS = [GumbelTopK, KSubset]
FAR = 2**52
RANDOM = SystemRandomness()


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
    kind: type[GumbelTopK | KSubset], scores: list[int], epsilon: float, moves: Any
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


def test_a_word_is_asked_for_what_moves(kind: type[GumbelTopK | KSubset]) -> None:
    with pytest.raises(ValueError, match="some"):
        kind(1, 1.0, 1, "some")  # type: ignore[arg-type]


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


@pytest.mark.parametrize("moves", ["one", "all"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(
    scores=st.lists(st.integers(-60, 60), min_size=2, max_size=5),
    k=st.integers(1, 3),
    sensitivity=st.integers(1, 4),
    epsilon=st.floats(0.01, 20),
)
def test_selections_never_lose_more_than_epsilon(
    kind: type[KSubset | GumbelTopK],
    moves: Any,
    scores: list[int],
    k: int,
    sensitivity: int,
    epsilon: float,
) -> None:
    mechanism = kind(min(k, len(scores)), epsilon, sensitivity, moves)
    lost = loss(mechanism, scores)
    target(lost)
    assert lost <= 1 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_less_noise_than_that_would_be_found_out(kind: type[KSubset | GumbelTopK]) -> None:
    """A divisor a quarter too small is caught by the same computation."""

    class Careless(kind):  # type: ignore[valid-type, misc]
        @property
        def divisor(self) -> int:
            return int(super().divisor) - self.sensitivity

    mechanism = Careless(2, 2.0, 2, "all")
    assert loss(mechanism, [0, 0, 0, -80, -80]) > 1.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_enumerated_laws_are_laws(kind: type[KSubset | GumbelTopK]) -> None:
    mechanism = kind(3, 3.0, 1, "one")
    total = np.exp(log_law(mechanism, np.array([[4, 0, -3, 1, 1]]))).sum()
    assert math.isclose(total, 1, rel_tol=1e-12)
    outcomes = math.comb(5, 3) if kind is KSubset else math.perm(5, 3)
    assert np.allclose(np.exp(log_law(mechanism, np.zeros((1, 5), np.int64))), 1 / outcomes)


def test_a_large_catalogue_is_drawn_fairly() -> None:
    # All scores equal: each of 200 items is chosen as often as any other.
    for mechanism in (KSubset(5, 1.0, 1, "one"), GumbelTopK(5, 1.0, 1, "one")):
        chosen = _release(mechanism, np.zeros((30_000, 200), int))
        for place in (0, 4) if isinstance(mechanism, GumbelTopK) else ():
            judge(uniformity(chosen[:, place], 200), f"{mechanism}: place {place}")
        # One item in each row at random: items of one row exclude each other, rows do not.
        column = RANDOM.words(len(chosen)) % np.uint64(5)
        judge(uniformity(chosen[np.arange(len(chosen)), column], 200), f"{mechanism}: all places")
