"""Centring: exact levels, and no new rating that pushes the old ones further than is booked."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import InputError, Scale
from discreet.measure.centring import (
    GRID,
    MOST_TOTAL,
    Centring,
    HuberCentring,
    ItemLevels,
    PaperCentring,
    huber_level,
)
from discreet.privacy import Noise
from measure._neighbours import (
    FAR,
    SCALES,
    Ints,
    Pair,
    Person,
    edge_of,
    length,
    levels_on,
    levels_that_leave,
    pairs_on,
    people_on,
    ratings_of,
    share_of,
    slow_level,
    slow_residual,
    stays_within,
    threes,
)

ITEMS = 9
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)

clamps = st.one_of(
    st.sampled_from([1.0, 1.5, 3.7, 8.0]).map(lambda units: units / GRID),  # a clamp of few steps
    st.sampled_from([0.5, 1.0, 0.3, 12.5]),
)
hubers = st.builds(HuberCentring, clamps, st.sampled_from([1, 2, 20, 400]))
residuals = st.one_of(
    st.integers(-20, 20),
    st.integers(-4 * GRID, 4 * GRID),
    st.sampled_from([-FAR, FAR, GRID // 2, -GRID // 2, GRID // 2 + 1]),
)


def slow_centred(centring: Centring, levels: ItemLevels, people: list[Person]) -> list[int]:
    """The definition, with Python's integers."""
    y = []
    for person in people:
        x = [slow_residual(levels, item, person[item]) for item in sorted(person)]
        if isinstance(centring, HuberCentring):
            b = slow_level(x, centring.reach, centring.fictitious)
        else:
            b = sum(x) // (len(x) + centring.fictitious)
        y += [min(max(v - b, -centring.reach), centring.reach) for v in x]
    return y


def centred(centring: Centring, x: list[int] | Ints) -> Ints:
    """The y of one person with these x."""
    items = len(x) or 1
    return centring.centred(threes(np.arange(len(x)), items), levels_that_leave(x, items))


def pushed(centring: Centring, x: list[int] | Ints, new: int) -> tuple[Ints, int]:
    """How far the old y move, and the new one."""
    after = centred(centring, np.append(x, new))
    return after[:-1] - centred(centring, x), int(after[-1])


def bound(centring: Centring, noise: Noise, old: int) -> float:
    """What PROOF.md says about `old` centred ratings, the grid included; in grid units."""
    count = np.array([float(old)])
    if noise is Noise.LAPLACE:
        return float(centring.total_movement(count)[0] + old * centring.step) * GRID
    return float(centring.movement(count)[0] + math.sqrt(old) * centring.step) * GRID


@every_scale
@pytest.mark.parametrize("centring", [HuberCentring(0.5, 20), PaperCentring(1.0, 5, 8.0)])
@settings(max_examples=20)
@given(data=st.data())
def test_centred_ratings_follow_the_definition(
    scale: Scale, centring: Centring, data: st.DataObject
) -> None:
    people, levels = data.draw(people_on(scale, ITEMS)), data.draw(levels_on(scale, ITEMS))
    y = centring.centred(ratings_of(people, ITEMS, scale), levels)
    assert y.dtype == np.int64
    assert y.tolist() == slow_centred(centring, levels, people)


@given(st.lists(residuals, max_size=30), hubers)
def test_the_huber_level_is_the_largest_that_balances(
    x: list[int], centring: HuberCentring
) -> None:
    if x:
        found = huber_level(np.array(x), centring.reach, centring.fictitious)
        assert found == slow_level(x, centring.reach, centring.fictitious)


@pytest.mark.parametrize("fictitious", [1, 20, 10_000])
@pytest.mark.parametrize("shape", ["even", "geometric", "two heaps", "edges"])
def test_the_huber_level_is_found_among_many_breakpoints(shape: str, fictitious: int) -> None:
    count, reach = 3_706, GRID // 2
    x = {
        "even": np.linspace(-FAR, FAR, count),
        "geometric": np.geomspace(1, FAR, count),
        "two heaps": np.where(np.arange(count) % 3 == 0, -5 * reach, 7 * reach),
        "edges": np.arange(count) * 2 * reach,
    }[shape].astype(np.int64)
    assert huber_level(x, reach, fictitious) == slow_level(x.tolist(), reach, fictitious)


def test_somebody_without_ratings_has_no_centred_ones() -> None:
    scale = SCALES["five stars"]
    levels = ItemLevels(3.0, np.zeros(2))
    some: tuple[list[Person], ...] = ([], [{}], [{}, {0: 5.0}, {}])
    for people in some:
        y = HuberCentring(0.5, 1).centred(ratings_of(people, 2, scale), levels)
        # One rating, 2 above its item's level: clip(2 - b) = b has b = 1/2, and y = 1/2.
        assert y.tolist() == [GRID // 2] * sum(map(len, people))


@given(st.lists(residuals, max_size=12), residuals, hubers, st.sampled_from(Noise))
def test_no_new_rating_pushes_huber_centred_ones_further_than_booked(
    x: list[int], new: int, centring: HuberCentring, noise: Noise
) -> None:
    moved, own = pushed(centring, x, new)
    assert abs(own) <= centring.reach <= centring.clamp * GRID
    assert (moved >= 0).all() or (moved <= 0).all()
    assert stays_within(noise, length(noise, moved), bound(centring, noise, len(x)))


@pytest.mark.parametrize("fictitious", [1, 20, 400])
@pytest.mark.parametrize("old", [1, 2, 3, 20, 100, 1000, 3_706, 17_769])
def test_ratings_on_the_edge_of_the_clamp_stay_within_the_bound(fictitious: int, old: int) -> None:
    centring = HuberCentring(0.5, fictitious)
    for off in (-1, 0, 1):
        moved, own = pushed(centring, np.full(old, edge_of(centring, old) + off), FAR)
        assert own == centring.reach
        for noise in Noise:
            assert stays_within(noise, length(noise, moved), bound(centring, noise, old))


@pytest.mark.parametrize("fictitious", [1, 20, 400])
def test_the_huber_bounds_are_reached(fictitious: int) -> None:
    """B/(2 sqrt beta) by beta ratings on the edge that all fall by B/(2 beta), B by very many."""
    centring = HuberCentring(0.5, fictitious)
    for noise, old in ((Noise.GAUSSIAN, fictitious), (Noise.LAPLACE, 50 * fictitious)):
        moved, _ = pushed(centring, np.full(old, edge_of(centring, old)), FAR)
        reached = share_of(noise, length(noise, moved), bound(centring, noise, old))
        assert reached > (0.999 if noise is Noise.GAUSSIAN else 0.97)


def slack(levels: ItemLevels, scale: Scale) -> float:
    """The range of x: the scale's, and that of the effects."""
    return scale.range + float(np.ptp(levels.effects))


@every_scale
@settings(max_examples=40)
@given(data=st.data())
def test_no_new_rating_pushes_paper_centred_ones_further_than_booked(
    scale: Scale, data: st.DataObject
) -> None:
    pair: Pair = data.draw(pairs_on(scale, ITEMS, 1))
    levels = data.draw(levels_on(scale, ITEMS))
    fictitious = data.draw(st.sampled_from([1, 2, 20]))
    centring = PaperCentring(scale.range / 4, fictitious, slack(levels, scale))
    before, after = (
        dict(zip(sorted(p[0]), centring.centred(ratings_of(p, ITEMS, scale), levels), strict=True))
        for p in (pair.without, pair.with_it)
    )
    moved = [int(after[item]) - int(before[item]) for item in before]
    for noise in Noise:
        assert stays_within(noise, length(noise, moved), bound(centring, noise, len(moved)))


@pytest.mark.parametrize("old", [1, 2, 20, 100, 3_706, 17_769])
def test_the_paper_centring_bound_is_nearly_reached(old: int) -> None:
    """All items at the top of the scale, all old ratings too, and then the lowest one."""
    scale, levels = SCALES["five stars"], ItemLevels(5.0, np.zeros(old + 1))
    centring = PaperCentring(1.0, 20, scale.range)
    old_ratings = dict.fromkeys(range(old), 5.0)
    before = centring.centred(ratings_of([old_ratings], old + 1, scale), levels)
    after = centring.centred(ratings_of([old_ratings | {old: 1.0}], old + 1, scale), levels)
    for noise in Noise:
        moved, most = length(noise, after[:-1] - before), bound(centring, noise, old)
        assert stays_within(noise, moved, most)
        assert share_of(noise, moved, most) > 0.99


def test_the_published_theorem_4_fails_where_the_range_of_x_does_not() -> None:
    """100 ratings of 1 on items that average 4.8, then a 5 on an item that averages 1.2."""
    alpha, clamp, fictitious, old = 4.0, 1.0, 20, 100
    scale = SCALES["five stars"]
    effects = np.array([1.8] * old + [-1.8])
    levels = ItemLevels(3.0, effects)
    centring = PaperCentring(clamp, fictitious, alpha + np.ptp(effects))
    low = dict.fromkeys(range(old), 1.0)
    before = centring.centred(ratings_of([low], old + 1, scale), levels)
    after = centring.centred(ratings_of([low | {old: 5.0}], old + 1, scale), levels)
    moved = np.append(after[:-1] - before, after[-1]) / GRID
    l1, squared = np.abs(moved).sum(), (moved**2).sum()
    # b goes from -380/120 to -376.2/121, by 0.05758, and the new rating is at the clamp.
    assert l1 == pytest.approx(6.76, abs=0.005) and l1 > alpha + clamp
    assert squared == pytest.approx(1.33, abs=0.005)
    assert squared > alpha**2 / (4 * fictitious) + clamp**2
    ours_l1 = clamp + bound(centring, Noise.LAPLACE, old) / GRID
    ours_squared = clamp**2 + (bound(centring, Noise.GAUSSIAN, old) / GRID) ** 2
    assert l1 <= ours_l1 < 1.1 * l1
    published = replace(centring, spread=alpha)
    assert bound(published, Noise.LAPLACE, old) < np.abs(after[:-1] - before).sum()
    assert squared <= ours_squared < 1.1 * squared


def test_huber_centring_moves_less_on_the_same_ratings() -> None:
    old, centring = 100, HuberCentring(1.0, 20)
    moved, _ = pushed(centring, np.full(old, round(-3.8 * GRID)), round(3.8 * GRID))
    assert length(Noise.LAPLACE, moved) <= GRID
    assert length(Noise.GAUSSIAN, moved) <= Fraction(GRID) ** 2 / 80


@given(st.lists(residuals, max_size=8), residuals, hubers)
def test_a_rating_less_is_the_same_read_backwards(
    x: list[int], new: int, centring: HuberCentring
) -> None:
    """The order of a person's ratings plays no part: the new one may be anywhere."""
    after = centred(centring, np.append(x, new))
    first = centred(centring, np.append(new, x))
    assert np.array_equal(first[1:], after[:-1]) and first[0] == after[-1]


@pytest.mark.parametrize(
    ("clamp", "fictitious"), [(0.0, 20), (-1.0, 20), (math.nan, 20), (math.inf, 20), (0.5, 0)]
)
def test_parameters_that_prove_nothing_are_refused(clamp: float, fictitious: int) -> None:
    with pytest.raises(InputError):
        HuberCentring(clamp, fictitious)


@pytest.mark.parametrize("fictitious", [1, 20, 1 << 40])
@pytest.mark.parametrize("side", [-1, 1])
def test_levels_are_exact_at_the_edge_of_what_is_accepted(fictitious: int, side: int) -> None:
    """One item, and a thousand, with the largest clamp and the furthest residuals of 64 bits."""
    for items in (1, 1000):
        centring = HuberCentring(min(MOST_TOTAL // items, 2**40 - 1) / GRID, fictitious)
        centring.check_items(items)
        reach = centring.reach
        far = 1 << 60
        for x in ([side * far] * items, [side * far, -side * far] * (items // 2) or [side * reach]):
            own = np.array(x, dtype=np.int64)
            assert huber_level(own, reach, fictitious) == slow_level(x, reach, fictitious)


@pytest.mark.parametrize("fictitious", [1, 3])
def test_levels_are_exact_at_the_edge_of_large_catalogues(fictitious: int) -> None:
    """The largest total that is accepted, reached by a kernel that is called with a wider clamp."""
    reach, count = MOST_TOTAL // 64, 64
    for x in ([1 << 60] * count, [-(1 << 60)] * count, [reach // 2] * count):
        own = np.array(x, dtype=np.int64)
        assert huber_level(own, reach, fictitious) == slow_level(x, reach, fictitious)


def test_catalogues_and_levels_beyond_64_bits_are_refused_by_public_facts() -> None:
    centring = HuberCentring(60_000.0, 20)
    centring.check_items(MOST_TOTAL // centring.reach)
    with pytest.raises(InputError, match="too large for"):
        centring.check_items(MOST_TOTAL // centring.reach + 1)
    for level in (math.nan, math.inf, 2.0**36 * 1.01):
        with pytest.raises(InputError, match="at most 2\\^36"):
            ItemLevels(3.0, np.array([level]))
        with pytest.raises(InputError, match="at most 2\\^36"):
            ItemLevels(level, np.zeros(1))
    far = ItemLevels(3.0, np.full(2, 2.0**35))
    one = threes([0, 1], 2)
    assert centring.centred(one, far).tolist() == slow_centred(centring, far, [{0: 3.0, 1: 3.0}])
    with pytest.raises(InputError, match="too far from the scale"):
        PaperCentring(1.0, 20, 4.0).centred(one, far)


def test_fictitious_ratings_beyond_64_bits_are_refused() -> None:
    with pytest.raises(InputError, match="from 1 to 2\\^40"):
        HuberCentring(1.0, (1 << 40) + 1)
