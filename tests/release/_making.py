"""Small releases for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.privacy import NO_NOISE, GaussianEvent, Guarantee, PureEvent, Unit
from discreet.release import Release, packed_size

FIVE_STARS = Scale(1, 5)


def spent() -> Guarantee:
    events = (
        GaussianEvent(unit=Unit.RATING, label="sums", sensitivity=2.0, sigma=9.0),
        PureEvent(unit=Unit.RATING, label="choice", epsilon=0.25, mechanism="gumbel"),
    )
    return Guarantee(Unit.RATING, events, 1e-6, assumes=("one account is one person",))


def unprotected() -> Guarantee:
    return Guarantee(Unit.RATING, (), 0.0, not_private=(NO_NOISE,))


def make_release(
    factors: Any,
    *,
    effects: Any = 0.0,
    variances: Any = 0.0,
    counts: Any = 10.0,
    catalog: Catalog | None = None,
    guarantee: Guarantee | None = None,
    more_arrays: dict[str, np.ndarray] | None = None,
    **parameters: Any,
) -> Release:
    """A release with these factors; every other array is a constant unless told."""
    factors = np.asarray(factors, dtype=np.float32)
    d = len(factors)
    arrays = {
        "item_effects": _filled(effects, d),
        "item_effect_variances": _filled(variances, d),
        "item_counts": _filled(counts, d),
        "factors": factors,
        "factor_variances": np.zeros(d, np.float32),
    }
    told = {"global_mean": 3.0, "user_variance": 0.2, "rating_variance": 0.72} | parameters
    if catalog is None:
        catalog = Catalog([str(i) for i in range(d)], [f"title {i}" for i in range(d)])
    return Release(
        "covariance", FIVE_STARS, catalog, guarantee or unprotected(), told,
        arrays | (more_arrays or {}),
    )  # fmt: skip


def random_release(d: int = 9, k: int = 3, m: int = 0, seed: int = 1, **told: Any) -> Release:
    """A release with random content, and a head of m items if m is above 0."""
    rng = np.random.default_rng(seed)
    more = {}
    if m:
        more = {
            "head": rng.permutation(d)[:m].astype(np.int32),
            "covariance": rng.normal(size=packed_size(m)).astype(np.float32),
            "weights": rng.uniform(1, 9, size=packed_size(m)).astype(np.float32),
        }
        told |= {"covariance_noise": 0.5, "weights_noise": 0.25}
    return make_release(
        rng.normal(0, 0.3, (d, k)),
        effects=rng.normal(0, 0.4, d),
        variances=rng.uniform(0, 0.1, d),
        counts=rng.uniform(0, 99, d),
        more_arrays=more,
        **told,
    )


def list_section(d: int, h: int, k: int, seed: int = 1) -> dict[str, np.ndarray]:
    """A lists section with random content, and rows of h items."""
    rng = np.random.default_rng(seed)
    return {
        "list_popularity": rng.uniform(0, 0.5, d).astype(np.float32),
        "list_start": rng.normal(0.1, 0.05, d).astype(np.float32),
        "list_gain": rng.uniform(0, 2, d).astype(np.float32),
        "list_head": np.sort(rng.permutation(d)[:h]).astype(np.int32),
        "list_rows": rng.integers(-127, 128, (h, k)).astype(np.int8),
        "list_scales": rng.uniform(0.001, 0.003, k).astype(np.float32),
        "list_tail": rng.normal(0, 0.5, d).astype(np.float32),
        "list_axis": rng.normal(0, 0.3, k).astype(np.float32),
    }


def random_lists(d: int = 9, h: int = 4, k: int = 3, seed: int = 1, **told: Any) -> Release:
    """A release of method `lists` with random content."""
    plain = random_release(d, 0, seed=seed, **told)
    arrays = {"item_counts": plain.arrays["item_counts"]} | list_section(d, h, k, seed)
    return replace(plain, method="lists", parameters={}, arrays=arrays)


def random_refined(d: int = 9, k: int = 3, h: int = 4, seed: int = 1, **told: Any) -> Release:
    """A release of method `refined` with a lists section, both with random content."""
    plain = random_release(d, k, seed=seed, **told)
    return replace(plain, method="refined", arrays={**plain.arrays, **list_section(d, h, 3, seed)})


def _filled(value: Any, length: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(value, dtype=np.float32), (length,)).copy()


def assert_same(one: Release, other: Release) -> None:
    assert one.method == other.method
    assert one.scale == other.scale
    assert one.catalog == other.catalog
    assert one.guarantee == other.guarantee
    assert one.parameters == other.parameters
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        assert array.dtype == other.arrays[name].dtype
        np.testing.assert_array_equal(array, other.arrays[name])
