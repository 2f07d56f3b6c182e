"""Integer noise against its exact law, at scales on both sides of every switch in the sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

from discreet.privacy import SystemRandomness
from discreet.privacy.noise import GaussianLaw, GeometricLaw, Law, draw_noise
from statistical._laws import (
    Discrete,
    Floored,
    Geometric,
    Ints,
    Reference,
    Rounded,
    alarms,
    count_fit,
    fit,
    judge,
    low_bits,
    neighbours,
    sign_and_size,
    signs,
    tail,
)
from statistical._slow import geometric_below, rounded_below, slow_draws

COUNT = 1 << 20
FEW = 1 << 11
# 512 is where cells of one integer give way to wider ones; at powers of two cells are widest.
SCALES = [0.3, 1.0, 7.5, 200.0, 511.0, 512.0, 513.0, 1e4, 2**20 + 0.5, 2.0**40, 2.0**45, 2.0**50]
RANDOM = SystemRandomness()
LAWS: list[tuple[Law, Reference]] = [
    *((GaussianLaw(scale), Rounded(scale)) for scale in SCALES),
    *((GeometricLaw(scale), Geometric(scale)) for scale in SCALES),
]
LARGE = [(law, reference) for law, reference in LAWS if law.scale >= 2**20]


def _name(law: object) -> str:
    return f"{type(law).__name__} {law.scale:g}" if isinstance(law, Law) else ""


@pytest.fixture(scope="module", params=LAWS, ids=lambda pair: _name(pair[0]))
def sample(request: pytest.FixtureRequest) -> tuple[str, Reference, Ints]:
    law, reference = request.param
    return _name(law), reference, draw_noise(law, COUNT, RANDOM)


def test_draws_have_their_law(sample: tuple[str, Reference, Ints]) -> None:
    name, law, draws = sample
    judge(fit(draws, law), f"{name}: law")
    judge(signs(draws), f"{name}: signs")
    tails = (4.0, 5.0) if isinstance(law, Rounded) else (9.0, 14.0)
    for scales in tails:
        judge(tail(draws, law, scales), f"{name}: beyond {scales} scales")


def test_draws_are_independent(sample: tuple[str, Reference, Ints]) -> None:
    name, law, draws = sample
    judge(sign_and_size(draws), f"{name}: sign and magnitude")
    judge(neighbours(draws, law), f"{name}: neighbours")
    judge(neighbours(draws, law, lag=1 << 15), f"{name}: one chunk apart")


@pytest.mark.parametrize(("law", "reference"), LARGE, ids=_name)
def test_all_bits_below_the_scale_are_fair(law: Law, reference: Reference) -> None:
    # The characteristic function at multiples of 2 pi/2^10 is below 1e-6 for scales from 2^20 on,
    # and so is the distance of the low bits' law from uniform.
    draws = draw_noise(law, COUNT, RANDOM)
    top = int(np.log2(law.scale))
    for skip in {0, (top - 20) // 2, top - 20}:
        judge(low_bits(draws, skip), f"{_name(law)}: bits {skip} to {skip + 9}")
    # The step of the float grid would show here: KS looks at every draw, not at bins.
    judge(kstest(draws[: 1 << 18], reference.below).pvalue, f"{_name(law)}: KS")


@pytest.mark.parametrize("law", [GaussianLaw(2.0**50), GeometricLaw(2.0**50)], ids=_name)
def test_wide_draws_do_not_repeat(law: Law) -> None:
    # 2^20 draws make 2^39 pairs that agree with probability below 2^-51 each: two pairs that do
    # have probability below 2^-24/2 < 1e-7.
    draws = draw_noise(law, 1 << 20, RANDOM)
    # Sorted, not np.unique: hashing a million different numbers takes ten times as long.
    assert np.count_nonzero(np.diff(np.sort(draws)) == 0) <= 1


@pytest.mark.parametrize("law", [GaussianLaw(0.05), GeometricLaw(0.05)], ids=_name)
def test_a_tiny_scale_draws_hardly_anything_but_zeros(law: Law) -> None:
    # P(k != 0) is 1.5e-23 and 4.1e-9.
    reference = Rounded(0.05) if isinstance(law, GaussianLaw) else Geometric(0.05)
    draws = draw_noise(law, COUNT, RANDOM)
    judge(count_fit(int(np.count_nonzero(draws)), COUNT, reference.beyond(0)), f"{_name(law)}: 0")


@pytest.mark.parametrize(
    "law",
    [GaussianLaw(1.0), GaussianLaw(7.5), GaussianLaw(513.0), GaussianLaw(2.0**45),
     GeometricLaw(1.0), GeometricLaw(2.0**45)],
    ids=_name,
)  # fmt: skip
def test_the_exact_path_has_the_same_law(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    # Bisection asks for the same edges again and again: they are computed once for each precision.
    edges: dict[tuple[int, int], Any] = {}
    compute = type(law).exact_edge

    def remembered(law: Law, cell: int) -> Any:
        key = cell, mpmath.mp.prec
        if key not in edges:
            edges[key] = compute(law, cell)
        return edges[key]

    monkeypatch.setattr(type(law), "exact_edge", remembered)
    # A margin of 2^62 units of 2^-63 leaves no draw to the table.
    draws = draw_noise(law, FEW, RANDOM, margin_log2=62)
    reference = Rounded(law.scale) if isinstance(law, GaussianLaw) else Geometric(law.scale)
    judge(fit(draws, reference, bins=24), f"{_name(law)}: exact path")
    judge(signs(draws), f"{_name(law)}: exact path's signs")


@pytest.mark.parametrize(
    ("law", "below", "reach"),
    [
        (GaussianLaw(0.3), rounded_below(0.3), 8),
        (GaussianLaw(1.0), rounded_below(1.0), 16),
        (GaussianLaw(7.5), rounded_below(7.5), 90),
        (GeometricLaw(0.3), geometric_below(0.3), 24),
        (GeometricLaw(7.5), geometric_below(7.5), 400),
    ],
    ids=_name,
)
def test_an_independent_slow_sampler_agrees(
    law: Law, below: Callable[[int], Any], reach: int
) -> None:
    slow = slow_draws(below, reach, 16 * FEW, RANDOM)
    fast = draw_noise(law, 16 * FEW, RANDOM)
    judge(ks_2samp(slow, fast, method="asymp").pvalue, f"{_name(law)}: two samples")
    reference = Rounded(law.scale) if isinstance(law, GaussianLaw) else Geometric(law.scale)
    judge(fit(slow, reference, bins=24), f"{_name(law)}: the slow sampler itself")


# What follows shows that the tests above can fail: each plants one mistake and expects the alarm,
# which stays out with probability below 1e-12 (the non-central chi-square law of each).


@pytest.mark.parametrize("reference", [Rounded, Geometric])
@pytest.mark.parametrize("scale", [1.0, 200.0, 513.0, 2.0**45])
def test_one_per_cent_of_scale_is_noticed(reference: type[Reference], scale: float) -> None:
    law = GaussianLaw if reference is Rounded else GeometricLaw
    assert alarms(fit(draw_noise(law(scale * 1.01), 4 * COUNT, RANDOM), reference(scale)))


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.5])
def test_rounding_down_is_noticed(sigma: float) -> None:
    draws = draw_noise(GaussianLaw(sigma * 2**20), COUNT, RANDOM)
    assert alarms(fit(draws >> 20, Rounded(sigma)))
    assert not alarms(fit(draws >> 20, Floored(sigma)))  # the reference is right for what it is


@pytest.mark.parametrize(("law", "reference"), [LAWS[1], LAWS[2], LAWS[13], LAWS[14]], ids=_name)
def test_twice_the_zeros_are_noticed(law: Law, reference: Reference) -> None:
    draws = draw_noise(law, COUNT, RANDOM)
    zero = float(reference.masses(np.array([-1, 0]))[1])
    redrawn = RANDOM.words(COUNT) < np.uint64(int(zero / (1 - zero) * 2**64))
    assert alarms(fit(np.where(redrawn, 0, draws), reference))


@pytest.mark.parametrize("sigma", [0.5, 0.7, 1.0])
def test_the_discrete_gaussian_is_told_from_the_rounded_one(sigma: float) -> None:
    draws = draw_noise(GaussianLaw(sigma), COUNT, RANDOM)
    assert alarms(fit(draws, Discrete(sigma)))


def test_dependent_and_lopsided_draws_are_noticed() -> None:
    draws = draw_noise(GaussianLaw(7.5), COUNT, RANDOM)
    one_in_50 = RANDOM.words(COUNT) < np.uint64(2**64 // 50)
    assert alarms(signs(np.where(one_in_50, np.abs(draws), draws)))
    copied = np.where(one_in_50, np.roll(draws, 1), draws)
    assert alarms(neighbours(copied, Rounded(7.5)))
    large = (np.abs(draws) > 12) & (RANDOM.words(COUNT) < np.uint64(2**64 // 5))
    assert alarms(sign_and_size(np.where(large, np.abs(draws), draws)))
    assert alarms(tail(np.where(np.abs(draws) > 29, 29, draws), Rounded(7.5), 4.0))


def test_a_dull_low_bit_is_noticed() -> None:
    draws = draw_noise(GaussianLaw(2.0**40), COUNT, RANDOM)
    one_in_20 = RANDOM.words(COUNT) < np.uint64(2**64 // 20)
    assert alarms(low_bits(np.where(one_in_20, draws & ~np.int64(1), draws)))
    assert alarms(low_bits(draws & ~np.int64(0x80)))
