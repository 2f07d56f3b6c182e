"""What a series would cost: the figures are those of series that were created so."""

from __future__ import annotations

import math
from typing import Any

import pytest

import discreet
from discreet.domain import InputError, Scale
from discreet.series import PlannedSeries, Series
from series._films import catalog_of


def row_of(plan: str, periods: int, **terms: Any) -> PlannedSeries:
    rows = discreet.plan_series(periods=periods, **terms)
    (row,) = (row for row in rows if (row.plan, row.periods) == (plan, periods))
    return row


@pytest.mark.parametrize("plan", ["factorised", "fresh"])
@pytest.mark.parametrize("half_life", [None, 12.0])
def test_a_plan_has_the_costs_and_the_noise_of_a_series(
    tmp_path: Any, plan: str, half_life: float | None
) -> None:
    series = Series.create(
        tmp_path / "s", scale=Scale(1, 5), catalog=catalog_of(8), plan=plan, half_life=half_life
    )
    row = row_of(plan, 52, half_life=half_life)
    assert row.epsilon == pytest.approx(series.epsilon, rel=1e-6)
    assert row.epsilon_of_all == series.epsilon_in(52)
    assert row.epsilon_of_twelve == series.epsilon_in(12)
    assert row.noise == series.plan.noise(52)


def test_what_is_divided_and_what_fades() -> None:
    row = row_of("fresh", 4, half_life=1.0)
    assert row.divided == 2 and row.weight == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 8) / 4)
    assert row.noise == pytest.approx(math.sqrt(1 + 1 / 4 + 1 / 16 + 1 / 64))
    pure = discreet.plan_series(noise="laplace", periods=4)
    assert {row.plan for row in pure} == {"fresh"}
    assert pure[-1].divided == 4 and pure[-1].epsilon_of_all == pytest.approx(4)


def test_nothing_bounds_people_where_ratings_are_protected() -> None:
    row = row_of("factorised", 12, protect="rating")
    assert row.epsilon_of_all is None and row.epsilon_of_twelve is None


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"periods": 0}, "looks ahead"),
        ({"protect": "user"}, "protects one of"),
        ({"protect": "household"}, "protects one of"),
        ({"noise": "uniform"}, "noise is one of"),
        ({"epsilon": math.inf}, "finite"),
        ({"half_life": 0.0}, "half-life"),
    ],
)
def test_impossible_plans_are_refused(terms: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        discreet.plan_series(**terms)
