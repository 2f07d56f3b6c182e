"""No ratings at all are ratings like any others: same charge, same promise, real numbers."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.predict
from discreet.domain import PRESENCE, Scale
from discreet.measure import choose_best, publish_item_counts, publish_rmse
from discreet.methods import MethodName, fit
from discreet.privacy import FIT_UNITS, Noise, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, bound_contributions, figures, split_netflix, split_random
from measure._neighbours import catalog_of

assert discreet.predict  # registers predictors

SCALES = {
    "five stars": Scale(1, 5),
    "thumbs": Scale(0, 1),
    "jokes": Scale(-10, 10, None),
    "presence": PRESENCE,
}
KINDS = [
    (scale, method, unit, noise)
    for scale, method, unit, noise in product(SCALES, MethodName, FIT_UNITS, Noise)
    if scale != "presence" or method in (MethodName.LISTS, MethodName.COSINE)
]


def silent(scale: Scale, users: int, items: int = 30) -> Ratings:
    """Users without ratings."""
    codes = scale.encode(np.empty(0))
    starts = np.zeros(users + 1, np.int64)
    none = np.empty(0, np.int32)
    return Ratings(scale, catalog_of(items), starts, none, codes, np.empty(0, np.uint32))


def something(scale: Scale, users: int = 40, items: int = 30) -> Ratings:
    rng = np.random.default_rng(1)
    chosen = np.sort(rng.random((users, items)).argsort(axis=1)[:, :6], axis=1).ravel()
    values = rng.uniform(scale.lo, scale.hi, len(chosen))
    codes = scale.encode(scale.nearest(values))
    starts = np.arange(users + 1, dtype=np.int64) * 6
    times = rng.integers(10**9, 10**9 + 10**8, len(chosen)).astype(np.uint32)
    return Ratings(scale, catalog_of(items), starts, chosen.astype(np.int32), codes, times)


@pytest.mark.parametrize(("scale", "method", "unit", "noise"), KINDS)
def test_a_fit_of_nothing_is_charged_and_promises_as_a_fit_of_something(
    scale: str, method: MethodName, unit: Unit, noise: Noise, tmp_path: Path
) -> None:
    delta = 1e-6 if noise is Noise.GAUSSIAN else 0.0
    limits = [Limit(unit, 100.0, 1e-3)]
    facts = []
    on = SCALES[scale]
    for place, ratings in enumerate((silent(on, 0), silent(on, 5), something(on))):
        ledger = Ledger.create(tmp_path / f"{place}.ledger", "people", limits)
        told: dict[str, Any] = {"method": method, "protect": unit, "noise": noise, "delta": delta}
        release = fit(ratings, epsilon=2.0, ledger=ledger, **told)
        assert all(np.isfinite(array).all() for array in release.arrays.values())
        assert len(release.predictor().recommend({}, n=3)) == 3
        (charged,) = ledger.history()
        per = [release.guarantee.per(each) for each in FIT_UNITS]
        always = _ALWAYS[:1] if method is MethodName.LISTS else _ALWAYS
        shapes = {name: release.arrays[name].shape for name in always}
        promised = pytest.approx(release.guarantee.epsilon, rel=1e-6)
        facts.append((charged.events, [e is None for e in per], shapes, promised))
    assert facts[0][:3] == facts[1][:3] == facts[2][:3]
    assert facts[0][3].expected == facts[1][3] and facts[1][3].expected == facts[2][3]


_ALWAYS = ("item_counts", "item_effects", "item_effect_variances")


@pytest.mark.parametrize("epsilon", [0.01, 30.0, np.inf])
@pytest.mark.parametrize("method", MethodName)
@pytest.mark.parametrize("items", [2, 30])
def test_no_budget_and_no_catalogue_is_too_small_for_nothing(
    epsilon: float, method: MethodName, items: int
) -> None:
    for unit in FIT_UNITS:
        nothing = silent(Scale(1, 5), 0, items)
        options: dict[str, Any] = {"method": method, "protect": unit, "ledger": "unbooked"}
        release = fit(nothing, epsilon=epsilon, **options)
        assert all(np.isfinite(array).all() for array in release.arrays.values())


@pytest.mark.parametrize("unit", FIT_UNITS)
@pytest.mark.parametrize("scale", SCALES)
def test_features_may_say_nothing_of_nothing(scale: str, unit: Unit) -> None:
    table = np.column_stack([np.arange(30) % 2, np.ones(30)])
    release = fit(silent(SCALES[scale], 0), protect=unit, features=table, ledger="unbooked")
    assert all(np.isfinite(array).all() for array in release.arrays.values())


@pytest.mark.parametrize("unit", FIT_UNITS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_single_figures_of_nothing(unit: Unit, delta: float) -> None:
    nothing, none = silent(Scale(1, 5), 0), np.empty(0)
    told: dict[str, Any] = {"protect": unit, "epsilon": 1.0, "ledger": "unbooked"}
    counts = publish_item_counts(nothing, delta=delta, **told)
    same = publish_item_counts(something(Scale(1, 5)), delta=delta, **told)
    assert counts.guarantee == same.guarantee and counts.spread == same.spread
    error, _ = publish_rmse(nothing, none, delta=delta, **told)
    assert 0 <= error <= 4
    assert choose_best(nothing, [none, none], **told)[0] in (0, 1)


def test_nothing_is_bounded_split_and_described() -> None:
    nothing = silent(Scale(1, 5), 3)
    assert len(bound_contributions(nothing, 4)) == 0
    for split in (split_random(nothing), split_netflix(nothing)):
        assert split.train.user_count == 3 and len(split.test) == 0
    assert figures(nothing).ratings == 0
