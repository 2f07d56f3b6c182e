"""The exact path, led to where it is needed by bits chosen for it."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from discreet.privacy import SystemRandomness
from discreet.privacy.noise import GaussianLaw, GeometricLaw, Law, draw_noise
from discreet.privacy.noise._sampler import exact_accept, exact_cell
from privacy.noise._fed import Fed
from privacy.noise._reference import edge, reject, width_of

ONES, HALF_ONES = 2**64 - 1, 2**32 - 1
SCALES = [0.3, 1.0, 7.5, 511.0, 513.0, 2**20 + 0.5, 2.0**50]
LAWS = [law(scale) for law in (GaussianLaw, GeometricLaw) for scale in SCALES]
COARSE = [law for law in LAWS if law.scale >= 512]
PLACE = 0x9123456789ABCDEF


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workprec(700):
        yield


def _split(numerator: int, levels: int) -> list[int]:
    """A number as its first bits and `levels` words of 64."""
    rest = [(numerator >> 64 * (levels - 1 - level)) & ONES for level in range(levels)]
    return [numerator >> 64 * levels, *rest]


def _draw(law: Law, point: int, bits: list[int], sign: int = 0) -> tuple[int, Fed]:
    """One draw from 63 chosen bits and more bits; where cells are wide, at `PLACE`."""
    words, halves = ([0, PLACE], [0, HALF_ONES]) if law.shift else ([], [])
    fed = Fed([2 * point + sign, *words], halves, bits)
    return int(draw_noise(law, 1, fed)[0]), fed


def _magnitude(law: Law, cell: int, place: int) -> int:
    inside = mpmath.ldexp(place, -64) * width_of(law)
    if law.shift == 0:
        return cell
    rounding = mpmath.mpf("0.5") if isinstance(law, GaussianLaw) else 0
    return cell * width_of(law) + int(mpmath.floor(inside + rounding))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("levels", [1, 2, 4])
@pytest.mark.parametrize("side", [-1, 1])
def test_bits_that_follow_an_edge_and_leave_it_late(law: Law, levels: int, side: int) -> None:
    for cell in (0, 1, 3):
        below = edge(law, cell)
        numerator = int(mpmath.floor(mpmath.ldexp(below, 63 + 64 * levels))) + side
        first, *rest = _split(numerator, levels)
        if numerator >> 64 * levels != int(mpmath.floor(mpmath.ldexp(below, 63))):
            continue  # one more carried over into the first bits
        drawn, fed = _draw(law, first, rest, sign=1)
        assert drawn == -_magnitude(law, cell if side < 0 else cell + 1, PLACE)
        assert fed.used_up  # all bits were needed, and no more


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("more", [[2**63], [ONES, 12345], [ONES, ONES, ONES, 12345]])
def test_all_ones_is_the_far_tail(law: Law, more: list[int]) -> None:
    numerator, bits = 2**63 - 1, 63
    for word in more:
        numerator, bits = numerator << 64 | word, bits + 64
    drawn, fed = _draw(law, 2**63 - 1, more)
    low, high = mpmath.ldexp(numerator, -bits), mpmath.ldexp(numerator + 1, -bits)
    cell = _cell(law, low)
    assert high < edge(law, cell)
    assert drawn == _magnitude(law, cell, PLACE)
    assert fed.used_up


def _cell(law: Law, point: object) -> int:
    low, high = -1, 1 << 24
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if edge(law, middle) > point else (middle, high)
    return high


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_all_zeros_is_zero(law: Law) -> None:
    if law.shift == 0:
        drawn, fed = _draw(law, 0, [])
    elif isinstance(law, GaussianLaw):
        # Place 0 is never rejected, but 64 zeros are not yet place 0: more of it, more of the coin.
        fed = Fed([0, 0], [0], [0, 0, 0, 1])
        drawn = int(draw_noise(law, 1, fed)[0])
    else:
        # 0 has one sign and the others two: half of its places are rejected, here the first one.
        fed = Fed([0, 0, 0], [0, 2**31])
        drawn = int(draw_noise(law, 1, fed)[0])
    assert drawn == 0
    assert fed.used_up


@pytest.mark.parametrize("law", COARSE, ids=str)
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("accepted", [True, False])
def test_coins_that_follow_a_rejection_and_leave_it_late(
    law: Law, levels: int, accepted: bool
) -> None:
    cell, place = 200, PLACE
    for level in range(levels):
        place = place << 64 | (0x1234567 << level)
    exact = reject(law, cell, mpmath.ldexp(place, -64 - 64 * levels))
    coin = int(mpmath.floor(mpmath.ldexp(exact, 32 + 64 * levels))) + (1 if accepted else -1)
    coins, places = _split(coin, levels), _split(place, levels)
    more = [bits for pair in zip(places[1:], coins[1:], strict=True) for bits in pair]
    middle = int((edge(law, cell - 1) + edge(law, cell)) / 2 * 2**63)
    again = [] if accepted else [5 << 50]
    fed = Fed([2 * middle, places[0], *again], [coins[0], *([HALF_ONES] if again else [])], more)
    drawn = int(draw_noise(law, 1, fed)[0])
    assert drawn == _magnitude(law, cell, places[0] if accepted else again[0])
    assert fed.used_up


@pytest.mark.parametrize("law", COARSE, ids=str)
def test_acceptance_agrees_with_the_density(law: Law) -> None:
    randomness = SystemRandomness()
    for cell in (0, 7, 900, 5000):
        for _ in range(20):
            place, coin = randomness.bits(64), randomness.bits(32) >> (randomness.bits(4) % 12)
            exact = reject(law, cell, mpmath.ldexp(place, -64))
            if abs(mpmath.ldexp(coin, -32) - exact) < 2.0**-31:
                continue
            got = exact_accept(law, cell, (place, 64), (coin, 32), Fed())
            assert got == (mpmath.ldexp(coin, -32) >= exact)


@pytest.mark.parametrize("law", [GaussianLaw, GeometricLaw])
def test_a_scale_next_to_nothing_ends_too(law: type[Law]) -> None:
    assert exact_cell(law(2.0**-20), 2**63 - 1, 63, Fed(bits=[ONES, 1])) == 0
    assert exact_cell(law(2.0**-20), 0, 63, Fed()) == 0


def test_every_draw_of_a_mixed_batch_keeps_its_own_bits() -> None:
    """Sure, unsure and rejected draws side by side: each result belongs to its own word."""
    law = GaussianLaw(1024.0)
    sure = int((edge(law, 9) + edge(law, 10)) / 2 * 2**63)
    edge_bits = int(mpmath.floor(mpmath.ldexp(edge(law, 20), 127))) + 1
    unsure, more = edge_bits >> 64, edge_bits & ONES
    words = [2 * sure, 2 * unsure + 1, 2 * sure + 1, 2 * sure]
    places, coins = [0, 0, ONES, 1 << 63], [HALF_ONES, 0, 0, HALF_ONES]
    # The third draw's place is rejected by its coin of 0; the second one gets its first place.
    fed = Fed([*words, *places, 1 << 62, 3 << 62], [*coins, HALF_ONES, HALF_ONES], [more])
    got = draw_noise(law, 4, fed).tolist()
    width = width_of(law)
    assert width == 4
    assert got == [40, -(21 * 4 + 1), -(10 * 4 + 3), 42]
    assert fed.used_up
    assert np.array(got).dtype == np.int64
