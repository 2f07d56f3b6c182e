"""The fast path: how far its table and its one float comparison are off, and what they decide."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import InputError
from discreet.privacy import SystemRandomness
from discreet.privacy.noise import MAX_SCALE, GaussianLaw, GeometricLaw, Law, draw_noise
from discreet.privacy.noise import _sampler as sampler
from discreet.privacy.noise._sampler import _MARGIN_LOG2, _table, exact_cell
from privacy.noise._reference import edge, reject, width_of

SCALES = [1e-3, 0.05, 0.3, 1.0, 7.5, 200.0, 511.0, 512.0, 513.0, 1e4, 2**20 + 0.5, 2.0**50]
LAWS = [law(scale) for law in (GaussianLaw, GeometricLaw) for scale in SCALES]
COARSE = [law for law in LAWS if law.scale >= 512]
RANDOM = SystemRandomness()
TOP = 1 << 63


@pytest.fixture(autouse=True)
def precision() -> object:
    with mpmath.workprec(200):
        yield


def _run(law: Law, words: npt.NDArray[np.uint64], margin: int) -> tuple[list[int], list[bool]]:
    """The cells of some words, and which are sure: places at the very start are never rejected."""
    table, n = _table(law), len(words)
    out, which, cells = (np.empty(n, np.int64) for _ in range(3))
    state = np.empty(n, np.int8)
    unsure = sampler._draw(
        table.kind, table.shift, table.step, table.thresholds, table.guide, np.uint64(margin),
        words, np.zeros(n, np.uint64), np.full(n, 2**32 - 1, np.uint32), out, which, cells, state,
    )  # fmt: skip
    assert (state[:unsure] == sampler.UNSURE_CELL).all()
    sure = np.ones(n, bool)
    sure[which[:unsure]] = False
    return (np.abs(out) >> law.shift).tolist(), sure.tolist()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_edges_are_good_to_48_bits(law: Law) -> None:
    edges = law.edges()
    cells = {*range(min(40, len(edges))), *range(0, len(edges), 97), len(edges) - 1}
    worst = max(abs(mpmath.mpf(float(edges[cell])) - edge(law, cell)) for cell in cells)
    assert worst < mpmath.ldexp(1, -48)
    assert 1 - edge(law, len(edges) - 1) < mpmath.ldexp(1, -43)  # the tail beyond the table


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_exact_edges_are_the_law_s(law: Law) -> None:
    assert 1 << law.shift == width_of(law)
    assert law.exact_edge(-1) == 0
    for cell in (0, 1, 2, 77, 300, 2000):
        # The reference sums a series whose terms cancel by up to 2^50.
        assert abs(law.exact_edge(cell) - edge(law, cell)) < mpmath.ldexp(1, -140)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_sure_cells_are_right_for_random_words(law: Law) -> None:
    words = RANDOM.words(300)
    cells, sure = _run(law, words, 1 << _MARGIN_LOG2)
    for word, cell, certain in zip(words.tolist(), cells, sure, strict=True):
        if certain:
            low, high = mpmath.ldexp(word >> 1, -63), mpmath.ldexp((word >> 1) + 1, -63)
            assert (edge(law, cell - 1) if cell else 0) <= low
            assert high <= edge(law, cell)
    # Scales far below 1 leave out what is as near to 1 as the margin; nothing else is left out.
    assert sum(sure) > 290


@pytest.mark.parametrize("law", [law for law in LAWS if law.scale > 0.1], ids=str)
def test_the_kernel_s_cell_is_the_exact_cell(law: Law) -> None:
    words = RANDOM.words(25)
    cells, sure = _run(law, words, 1 << _MARGIN_LOG2)
    for word, cell, certain in zip(words.tolist(), cells, sure, strict=True):
        assert not certain or cell == exact_cell(law, word >> 1, 63, RANDOM)


@pytest.mark.parametrize("law", [law for law in LAWS if law.scale > 0.1], ids=str)
def test_words_at_an_edge_are_left_to_exact_arithmetic(law: Law) -> None:
    # True edges, not the table's: everything within 2^-45 is unsure (the margin is 2^-44 about the
    # table's edge), and what is 2^-43 away is sure and on its side.
    last = len(law.edges())
    for cell in {0, 1, last // 5, last // 3}:
        at = int(mpmath.floor(edge(law, cell) * TOP))
        if not 1 << 22 < at < TOP - (1 << 22):
            continue
        near = [at + d for d in (-(1 << 18), -1, 0, 1, 1 << 18)]
        far = [at - (1 << 20), at + (1 << 20)]
        words = np.array([2 * point for point in near + far], dtype=np.uint64)
        cells, sure = _run(law, words, 1 << _MARGIN_LOG2)
        assert sure == [False] * 5 + [True] * 2
        assert cells[5:] == [cell, cell + 1]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_words_beyond_the_table_are_left_to_exact_arithmetic(law: Law) -> None:
    words = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)
    assert _run(law, words, 1 << _MARGIN_LOG2)[1] == [False, False]


@pytest.mark.parametrize("law", COARSE, ids=str)
def test_rejections_are_good_to_one_unit_of_the_coin(law: Law) -> None:
    """A coin 4 units from the true rejection is sure, which leaves less than 1 for the floats."""
    table, top = _table(law), len(law.edges())
    cells = [0, 1, 2, 50, 511, top // 2, top - 1, top + 3, 2 * top]
    places = [1, 2**22 + 1, 2**63 - 1, 2**63, 2**64 - 1, *RANDOM.words(8).tolist()]
    for cell in cells:
        for place in places:
            exact = reject(law, cell, mpmath.ldexp(place, -64)) * 2**32
            if isinstance(law, GeometricLaw) and exact == 2**31:
                continue  # the integer 0, which the next test looks at
            units = [math.ceil(exact) + d for d in range(-6, 7)]
            coins = [coin for coin in units if 0 <= coin < 2**32]
            n = len(coins)
            verdicts = sampler._place_again(
                table.kind, table.shift, table.step, top, np.full(n, cell),
                np.full(n, place, np.uint64), np.array(coins, np.uint32),
            )[1]  # fmt: skip
            for coin, verdict in zip(coins, verdicts.tolist(), strict=True):
                right = sampler.DONE if coin >= exact else sampler.REJECTED
                assert verdict in (right, sampler.UNSURE_PLACE)
                assert verdict == right or exact - 5 < coin < exact + 4


@pytest.mark.parametrize("law", COARSE, ids=str)
def test_no_cell_of_a_table_rejects_more_than_the_quick_check_takes_for_granted(law: Law) -> None:
    last = len(law.edges()) - 1
    most = mpmath.mpf(1) - mpmath.ldexp(1, -64)
    worst = max(reject(law, cell, most) for cell in (0, last // 2, last))
    assert worst * 2**32 < int(sampler._QUICK)


@pytest.mark.parametrize("law", [law for law in COARSE if isinstance(law, GeometricLaw)], ids=str)
def test_the_geometric_zero_is_accepted_by_half(law: Law) -> None:
    table, coins = _table(law), np.array([0, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    zeros = np.zeros(4, np.int64)
    magnitudes, verdicts = sampler._place_again(
        table.kind, table.shift, table.step, len(table.thresholds), zeros,
        np.full(4, 2 ** (64 - law.shift) - 1, np.uint64), coins,
    )  # fmt: skip
    assert not magnitudes.any()
    assert verdicts.tolist() == [sampler.REJECTED] * 2 + [sampler.DONE] * 2


@pytest.mark.parametrize("law", COARSE, ids=str)
def test_places_become_integers_as_they_should(law: Law) -> None:
    table, width = _table(law), width_of(law)
    places, cells = RANDOM.words(200), np.arange(200, dtype=np.int64)
    coins = np.full(200, 2**32 - 1, np.uint32)
    got = sampler._place_again(table.kind, table.shift, table.step, 10**6, cells, places, coins)[0]
    for cell, place, magnitude in zip(cells.tolist(), places.tolist(), got.tolist(), strict=True):
        where = cell * width + mpmath.ldexp(place, -64) * width
        rounded = where + 0.5 if isinstance(law, GaussianLaw) else where
        assert magnitude == int(mpmath.floor(rounded))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, math.nextafter(MAX_SCALE, 1e99)])
@pytest.mark.parametrize("law", [GaussianLaw, GeometricLaw])
def test_impossible_scales_are_refused(law: type[Law], scale: float) -> None:
    with pytest.raises(InputError, match=r"from 2.-20 to 2"):
        law(scale)


def test_no_draws_and_few_draws() -> None:
    for law in LAWS:
        assert draw_noise(law, 0, RANDOM).shape == (0,)
        assert draw_noise(law, 3, RANDOM).dtype == np.int64
