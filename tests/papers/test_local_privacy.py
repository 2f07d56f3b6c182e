"""Local reports: completion solves what it says it solves, theorem 3 holds, and its errata."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import Catalog, InputError, Scale
from discreet.predict import People
from discreet.privacy import SeededRandomness
from discreet.protocols.local_reports.messages import Collection, Mechanism
from papers.local_privacy.completion import (
    Reported,
    Theorem3,
    as_matrix,
    complete_nuclear,
    factorise,
    measured_rho,
    send_reports,
)
from papers.local_privacy.figures import FIVE_STARS, NAMES, _theorem, _unit, _world
from papers.study import EFFORTS, Size

FIGURES = {
    "local-bound": (
        {"mechanism", "epsilon", "rho", "bound_of_rho", "error_nuclear_norm"},
        ("theorem 3", "restricted isometry"),
    )
}

Table = Callable[[str], list[dict[str, str]]]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "errata.md"


def low_rank(users: int, items: int, rank: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((users, rank)) @ rng.standard_normal((rank, items))
    return np.clip(table / table.std(), -2, 2)


def some_of(table: np.ndarray, share: float, seed: int) -> Reported:
    """What is known of a table, a random share of it."""
    known = np.random.default_rng(seed).random(table.shape) < share
    starts = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
    items = np.nonzero(known)[1].astype(np.int32)
    return Reported(starts, items, table[known].astype(np.float32), table.shape[1])


def report_all(collection: Collection, people: People, seed: int) -> Reported:
    return as_matrix(collection, send_reports(collection, people, SeededRandomness(seed)))


def error(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - true) ** 2)))


def test_turning_round_twice_is_no_change() -> None:
    known = some_of(low_rank(7, 5, 2, 0), 0.5, 1)
    again = known.turned().turned()
    np.testing.assert_array_equal(again.starts, known.starts)
    np.testing.assert_array_equal(again.items, known.items)
    np.testing.assert_array_equal(again.values, known.values)


def test_a_matrix_of_low_rank_is_completed() -> None:
    true = low_rank(80, 60, 2, 2)
    known = some_of(true, 0.5, 3)
    assert error(complete_nuclear(known, 1.0), true) < 0.12
    fitted = factorise(known, rank=3, ridge=0.1)
    assert error(fitted.mean + fitted.people @ fitted.items.T, true) < 0.2
    rows, items = np.array([0, 79]), np.array([59, 3])
    np.testing.assert_allclose(
        fitted.predict(rows, items),
        fitted.mean + (fitted.people[rows] * fitted.items[items]).sum(axis=1),
    )


def test_the_constraint_is_met_and_the_norm_is_least() -> None:
    true = low_rank(40, 30, 2, 4)
    known = some_of(true + 0.3 * np.random.default_rng(5).standard_normal(true.shape), 0.6, 6)
    norms = []
    for rho in (3.0, 8.0, 15.0):
        found = complete_nuclear(known, rho)
        assert measured_rho(found, known) == pytest.approx(rho, rel=0.03)
        norms.append(np.linalg.norm(found, "nuc"))
    assert norms[0] > norms[1] > norms[2]
    # The optimum's certificate: Z - M on what is known is w times a subgradient of the norm.
    rest = np.zeros(true.shape)
    rest[known.rows, known.items] = known.values - found[known.rows, known.items]
    weight = np.linalg.norm(rest, 2)
    assert float(np.vdot(rest, found)) == pytest.approx(weight * norms[2], rel=0.02)


def test_nothing_is_the_answer_where_nothing_is_near_enough() -> None:
    known = some_of(low_rank(10, 8, 1, 7), 0.5, 8)
    assert not complete_nuclear(known, 1e6).any()


def test_large_matrices_are_for_least_squares() -> None:
    starts = np.zeros(3001, np.int64)
    known = Reported(starts, np.empty(0, np.int32), np.empty(0, np.float32), 1000)
    with pytest.raises(InputError, match="at most 2,097,152 cells"):
        complete_nuclear(known, 1.0)
    assert not factorise(known, rank=2, rounds=1).people.any()


def test_one_side_is_the_ridge_regression_it_says() -> None:
    true = low_rank(20, 15, 2, 9)
    known = some_of(true, 0.7, 10)
    fitted = factorise(known, rank=2, ridge=0.5, rounds=3)
    values = known.values - fitted.mean
    penalty = 0.5 * float(np.mean(values**2))
    rows, item = known.rows, 4
    chosen = known.items == item
    people = fitted.people[rows[chosen]]
    exact = np.linalg.solve(people.T @ people + penalty * np.eye(2), people.T @ values[chosen])
    np.testing.assert_allclose(fitted.items[item], exact, rtol=1e-4)


def test_people_known_by_their_ratings_are_predicted_from_the_same_items() -> None:
    true = low_rank(90, 60, 2, 13)
    fitted = factorise(some_of(true[:60], 0.6, 14), rank=3, ridge=0.1)
    others = fitted.at_home(some_of(true[60:], 0.6, 15), ridge=0.1)
    assert others.items is fitted.items
    assert error(others.mean + others.people @ others.items.T, true[60:]) < 0.25


@pytest.mark.parametrize("mechanism", list(Mechanism))
def test_the_bound_of_theorem_3_holds_and_falls(mechanism: Mechanism) -> None:
    users, items, gamma = 60, 50, 0.1
    true = low_rank(users, items, 2, 11)
    rng = np.random.default_rng(12)
    shown = rng.random(true.shape) < 0.3
    ratings = np.clip(np.rint(true + 0.3 * rng.standard_normal(true.shape)), -2, 2) + 3
    starts = np.concatenate(([0], np.cumsum(shown.sum(axis=1))))
    people = People(starts, np.nonzero(shown)[1].astype(np.int32), ratings[shown])
    unit = 2.0 if mechanism is Mechanism.MODIFIED_LAPLACE else 1.0
    rho_0 = error(ratings[shown] - 3, true[shown]) / unit
    theorem = Theorem3(mechanism, users, items, len(people.items), rho_0, 5, gamma)
    catalog = Catalog([str(i) for i in range(items)])
    for epsilon in (0.5, 2.0, 8.0):
        collection = Collection(catalog, Scale(1, 5), mechanism, epsilon)
        found = [
            measured_rho(true, report_all(collection, people, seed)) / unit for seed in range(5)
        ]
        assert max(found) < theorem.bound(epsilon)
    bounds = [theorem.bound(epsilon) for epsilon in (0.5, 1, 5, 20, 100)]
    assert all(one > other for one, other in itertools.pairwise(bounds))
    assert theorem.bound(theorem.enough()) == pytest.approx(2 * theorem.floor, rel=1e-4)


def test_the_bounds_are_the_paper_s_formulas() -> None:
    told: dict[str, Any] = {"users": 7, "items": 5, "ratings": 11, "rho_0": 0.25, "tolerance": 0.2}
    one = Theorem3(Mechanism.MODIFIED_LAPLACE, **told)
    by_hand = (
        0.25 * math.sqrt(11)
        + 4 / 3 * math.sqrt(11 / 0.2)
        + math.sqrt(2 * 35 / ((math.exp(1.5) + 1) * 0.2) * (1 + 8 / 9))
    )
    assert one.bound(3.0) == pytest.approx(by_hand)
    other = Theorem3(Mechanism.RANDOMIZED_RESPONSE, levels=4, **told)
    by_hand = 0.25 * math.sqrt(11) + 2 * 3 * math.sqrt(2 * 35 * 4 / ((math.exp(3) + 4) * 0.2))
    assert other.bound(3.0) == pytest.approx(by_hand)
    assert math.isinf(Theorem3(Mechanism.MODIFIED_LAPLACE, 10, 10, 1, 1e-9).enough())


def test_what_is_reported_is_what_the_server_sees() -> None:
    people = People(np.array([0, 2, 2]), np.array([0, 3], np.int32), np.array([5.0, 1.0]))
    catalog = Catalog(["a", "b", "c", "d"])
    for mechanism in Mechanism:
        collection = Collection(catalog, Scale(1, 5), mechanism, 50.0)
        seen = report_all(collection, people, 1)
        assert seen.starts.tolist() == [0, 2, 2]
        assert seen.items.tolist() == [0, 3]
        assert seen.values.tolist() == [2.0, -2.0]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_picture_a_table_and_a_text(
    check_figure: Callable[..., None], name: str
) -> None:
    check_figure(name, *FIGURES[name])


def test_bounds_hold_where_they_are_claimed(table: Table) -> None:
    rows = table("local-bound")
    assert all(float(row["rho"]) <= float(row["bound_of_rho"]) for row in rows)
    for one, later in itertools.pairwise(rows):
        if one["mechanism"] == later["mechanism"]:
            assert float(later["bound_of_rho"]) < float(one["bound_of_rho"])


def test_the_bound_of_local_reports_is_as_far_above_rho_as_the_page_says() -> None:
    """At the size and the epsilons of `python -m papers reproduce local-bound`."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    (instead,) = (line for line in lines if line.startswith("| Definition 4"))
    small = EFFORTS[Size.SMALL]
    theta, people, rho_0 = _world(*small.cells)
    catalog = Catalog([str(item) for item in range(theta.shape[1])])
    for mechanism in NAMES:
        theorem, above = _theorem(mechanism, theta, people, rho_0), []
        for epsilon in small.completions:
            collection = Collection(catalog, FIVE_STARS, mechanism, epsilon)
            Z = as_matrix(collection, send_reports(collection, people, SeededRandomness(0)))
            above.append(theorem.bound(epsilon) * _unit(mechanism) / measured_rho(theta, Z))
        assert f"{min(above):.2f} to {max(above):.1f} times" in instead, mechanism
