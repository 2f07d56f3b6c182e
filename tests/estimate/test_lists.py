"""Lists from pairs: hand-provable crowds, the weights of EASE, and what is left without pairs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import Noisy
from discreet.estimate import (
    ListModel,
    PairSpectrum,
    PairSums,
    average,
    count_strength,
    learn_lists,
    popularity_alone,
)
from discreet.estimate._lists import _model
from discreet.release import packed_side

Floats = npt.NDArray[np.float64]


def sums_of(x: Floats, head: npt.ArrayLike, spread: float = 0.0) -> tuple[Noisy, PairSums]:
    """What is released of people's rows of 0 and 1, with a user's weights and no noise."""
    places = np.asarray(head, np.int32)
    inside = x[:, places]
    m = inside.sum(axis=1)
    w = np.where(m > 1, 1 / np.sqrt(np.maximum(m * (m - 1), 1)), (m == 1) * 1.0)
    gram = inside.T @ (inside * w[:, None])
    np.fill_diagonal(gram, 0.0)
    packed = gram[np.triu_indices(len(places))].astype(np.float32)
    assert packed_side(len(packed)) == len(places)
    mass, weight = float(w @ m), float(w.sum())
    sums = PairSums(places, Noisy(packed, spread), Noisy(mass, 0.0), Noisy(weight, 0.0), mass / 2)
    return Noisy(x.sum(axis=0), 0.0), sums


def learnt(x: Floats, head: npt.ArrayLike, most: int = 20) -> ListModel:
    counts, sums = sums_of(x, head)
    return learn_lists(counts, PairSpectrum.of(counts, sums, most))


def rows_of(model: ListModel) -> Floats:
    """U of every item."""
    rows = np.outer(model.tail, model.axis)
    rows[model.head] = model.rows * model.scales
    return rows


def scores(model: ListModel, own: npt.ArrayLike) -> Floats:
    """As at home (docs/explanation/lists.md)."""
    rows = rows_of(model)
    return np.asarray(model.start + model.gain * (rows @ rows[np.asarray(own)].sum(axis=0)))


def checkerboard(groups: int = 2, each: int = 8, people: int = 400) -> Floats:
    """Everybody has all items of their group but one, in turn."""
    x = np.zeros((people, groups * each))
    who = np.arange(people)
    for place in range(each):
        x[who, (who % groups) * each + place] = 1.0
    x[who, (who % groups) * each + (who // groups) % each] = 0.0
    return x


@pytest.mark.parametrize("groups", [2, 3])
def test_a_checkerboard_is_completed(groups: int) -> None:
    """The missing item of the own group comes before all items of the others."""
    x = checkerboard(groups)
    model = learnt(x, range(x.shape[1]))
    assert model.directions >= 1
    for person in x[: 8 * groups]:
        own = np.flatnonzero(person)
        found = scores(model, own)
        found[own] = -np.inf
        assert int(np.argmax(found)) // 8 == own[0] // 8


def test_one_item_is_enough_to_tell_the_group() -> None:
    model = learnt(checkerboard(), range(16))
    for item in range(16):
        found = scores(model, [item])
        same = np.arange(16) // 8 == item // 8
        same[item] = False
        assert found[same].min() > found[np.arange(16) // 8 != item // 8].max()


def test_items_outside_the_head_go_by_popularity() -> None:
    x = checkerboard()
    x = np.hstack([x, (np.arange(400)[:, None] % np.array([3, 5, 11]) == 0).astype(float)])
    model = learnt(x, range(16))
    assert model.head.tolist() == list(range(16))
    assert np.all(model.tail[:16] == 0)
    found = scores(model, [0, 1])
    assert found[16] > found[17] > found[18]


def test_weights_are_those_of_ease() -> None:
    """B = -P/diag P of the covariance D + L L^T, of all items, those outside the head included.

    8-bit rows put entries off by half of 1/127 of their column's largest.
    """
    rng = np.random.default_rng(1)
    items, head = 30, np.arange(0, 30, 2).astype(np.int32)
    L = rng.normal(0, 0.3, (15, 4))
    activity = rng.uniform(0.1, 0.3, items)
    activity[head] = L[:, 0] = np.abs(L[:, 0])
    D, p = rng.uniform(0.5, 2.0, items), rng.uniform(0.05, 0.5, items)
    model = _model(p, activity, L, D, head, np.ones(items), 1.0, 3)
    wide = np.zeros((items, 4))
    wide[:, 0] = activity
    wide[head] = L
    P = np.linalg.inv(np.diag(D) + wide @ wide.T)
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0.0)
    rows = rows_of(model)
    found = rows @ rows.T * model.gain
    np.fill_diagonal(found, 0.0)
    assert np.abs(found - B).max() < 0.02 * np.abs(B).max()
    # And the scores are the expectation of a normal x given the rest: p + (x - p) B.
    x = (rng.random(items) < 0.4).astype(float)
    others = 1 - x
    expected = p + (x - p) @ B
    said = scores(model, np.flatnonzero(x))
    assert np.abs((said - expected) * others).max() < 0.02


def test_a_covariance_without_noise_gives_the_weights_of_ease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole way, without a ridge and with every direction: from people's rows to weights.

    Pairs beyond popularity are chosen to have positive eigenvalues but one, which L leaves out.
    """
    monkeypatch.setattr("discreet.estimate._lists._RIDGE", 0.0)
    x = checkerboard(people=1600)
    counts, sums = sums_of(x, range(16))
    spectrum = PairSpectrum.of(counts, sums, 16)
    model = learn_lists(counts, spectrum)
    rows = rows_of(model)
    B = rows @ rows.T * model.gain
    # S as the docstring of the module says: activity and directions off the diagonal, and D.
    r = sums.mass.value / counts.value.sum()
    weight = max(sums.weight.value, 1.2 * r**2 / spectrum.kappa)
    p = r * counts.value / weight
    activity = math.sqrt(max(spectrum.kappa - r**2 / weight, 0.0)) * counts.value
    S = np.outer(activity, activity) + (spectrum.vectors * spectrum.values) @ spectrum.vectors.T
    np.fill_diagonal(S, np.maximum(r * counts.value * (1 - p), np.diag(S)))
    # D of 0 cannot be inverted: compare where the model stands, a hair above it.
    eye = np.diag(1e-9 + np.zeros(16))
    P = np.linalg.inv(S + eye)
    expected = -P / np.diag(P)
    np.fill_diagonal(B, 0.0)
    np.fill_diagonal(expected, 0.0)
    assert np.abs(B - expected).max() < 0.03 * np.abs(expected).max()


def test_eight_bits_change_no_list() -> None:
    """Against the same weights from rows that were not rounded."""
    rng = np.random.default_rng(4)
    kinds = rng.integers(0, 4, 3000)
    odds = np.where(np.arange(60) % 4 == kinds[:, None], 0.5, 0.1) / (1 + np.arange(60) / 20)
    x = (rng.random((3000, 60)) < odds).astype(float)
    model = learnt(x, range(60))
    assert model.directions >= 3
    exact = learnt_with_finer_rows(x)
    alike = 0
    for person in x[:50]:
        own = np.flatnonzero(person)
        lists = []
        for each in (model, exact):
            found = scores(each, own) if len(own) else each.popularity.copy()
            found[own] = -np.inf
            lists.append(set(np.argsort(-found)[:10].tolist()))
        alike += len(lists[0] & lists[1])
    assert alike > 0.97 * 500


def learnt_with_finer_rows(x: Floats) -> ListModel:
    class Finer:
        """Numpy, but what is rounded to 8 bits stays as it is."""

        int8 = np.float64

        @staticmethod
        def rint(values: Floats) -> Floats:
            return values

        def __getattr__(self, name: str) -> object:
            return getattr(np, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.estimate._lists.np", Finer())
        return learnt(x, range(x.shape[1]))


def test_independent_items_fall_back_to_popularity() -> None:
    """By chance some go together more often than others: nothing of it is believed.

    Popularities are further apart than 8 bits are off.
    """
    rng = np.random.default_rng(2)
    chances = np.linspace(0.5, 0.05, 12)
    x = (rng.random((4000, 12)) < chances).astype(float)
    model = learnt(x, range(12))
    assert model.directions == 0
    by_count = np.argsort(-x.sum(axis=0), kind="stable")
    for own in ([0], [11], [3, 7, 10], list(range(0, 12, 3))):
        found = scores(model, own)
        rest = [item for item in by_count if item not in own]
        assert sorted(rest, key=lambda item: -found[item]) == rest


def test_pairs_by_popularity_alone_have_no_direction() -> None:
    """Exactly kappa c c^T: nothing is left of it."""
    c = np.linspace(10.0, 100.0, 12)
    gram = 0.01 * np.outer(c, c)
    np.fill_diagonal(gram, 0.0)
    packed = Noisy(gram[np.triu_indices(12)], 0.0)
    head = np.arange(12, dtype=np.int32)
    sums = PairSums(head, packed, Noisy(500.0, 0.0), Noisy(200.0, 0.0), 250.0)
    spectrum = PairSpectrum.of(Noisy(c, 0.0), sums, 5)
    assert spectrum.kappa == pytest.approx(0.01)
    assert len(spectrum.values) == 0 and spectrum.vectors.shape == (12, 0)
    model = learn_lists(Noisy(c, 0.0), spectrum)
    found = scores(model, [4])
    assert np.array_equal(np.argsort(np.delete(found, 4)), np.arange(11))
    assert spectrum.factors(Noisy(c, 0.0), 5, 4.0).shape == (12, 0)


@pytest.mark.parametrize("spread", [9.0, 11.0])
def test_a_mass_that_is_too_small_leaves_the_order_of_popularity(spread: float) -> None:
    """It makes probabilities of more than 1; if it is noise, pairs are not trusted at all."""
    c = np.linspace(10.0, 100.0, 12)
    gram = 0.01 * np.outer(c, c)
    np.fill_diagonal(gram, 0.0)
    head, counts = np.arange(12, dtype=np.int32), Noisy(c, 0.0)
    packed = Noisy(gram[np.triu_indices(12)], 0.0)
    sums = PairSums(head, packed, Noisy(30.0, spread), Noisy(0.0, 1e6), 250.0)
    model = learn_lists(counts, PairSpectrum.of(counts, sums, 5))
    assert np.all(np.diff(model.popularity) > 0) and model.popularity.max() <= 1
    assert len(model.head) == (12 if spread < 10 else 0)


@pytest.mark.parametrize("own", [True, False])
def test_what_counts_alone_explain_is_no_taste(own: bool) -> None:
    """People who have much have rarer items: a direction that lists use, and no taste."""
    c = np.geomspace(10.0, 100.0, 30)
    along = np.log(c) if own else np.where(np.arange(30) % 2, 1.0, -1.0)
    v = c * (along - (c**2 @ along) / (c @ c))
    gram = 0.01 * np.outer(c, c) + 0.004 * np.outer(v, v)
    np.fill_diagonal(gram, 0.0)
    head, counts = np.arange(30, dtype=np.int32), Noisy(c, 0.0)
    packed = Noisy(gram[np.triu_indices(30)], 0.0)
    sums = PairSums(head, packed, Noisy(500.0, 0.0), Noisy(200.0, 0.0), 1.0)
    spectrum = PairSpectrum.of(counts, sums, 5)
    model = learn_lists(counts, spectrum)
    assert len(spectrum.values) > 0
    assert model.directions == spectrum.tastes == (0 if own else 1)


def test_noise_alone_shows_nothing() -> None:
    rng = np.random.default_rng(3)
    size, spread = 50, 10.0
    counts = Noisy(rng.normal(0, spread, 80), spread)
    pairs = Noisy(rng.normal(0, spread, size * (size + 1) // 2).astype(np.float32), spread)
    head = np.arange(size, dtype=np.int32)
    sums = PairSums(head, pairs, Noisy(1.0, spread), Noisy(-3.0, spread), 1.0)
    model = learn_lists(counts, PairSpectrum.of(counts, sums, 20))
    assert model.directions <= 1
    for array in model.arrays.values():
        assert np.all(np.isfinite(array))


def test_popularity_alone_is_everybodys_list() -> None:
    counts = Noisy(np.array([5.0, -2.0, 9.0, 0.0]), 1.0)
    model = popularity_alone(counts)
    assert model.popularity.tolist() == pytest.approx([5 / 9, 0.0, 1.0, 0.0])
    assert scores(model, [2]).tolist() == model.popularity.tolist()
    arrays = model.arrays
    assert arrays["list_rows"].shape == (0, 0) and arrays["list_head"].shape == (0,)
    assert arrays["list_rows"].dtype == np.int8 and arrays["list_head"].dtype == np.int32
    assert {a.dtype for n, a in arrays.items() if n not in ("list_rows", "list_head")} == {
        np.dtype(np.float32)
    }
    assert model.parameters == {"list_directions": 0}


def test_what_is_popular_now_comes_first_for_those_without_a_history() -> None:
    counts = Noisy(np.array([100.0, 90.0, 80.0, 10.0]), 1.0)
    recent = Noisy(np.array([1.0, 9.0, 8.0, 60.0]), 0.5)
    order = np.argsort(-popularity_alone(counts, recent).popularity)
    assert order.tolist() == [3, 1, 2, 0]
    # Recent counts that are all noise change nothing.
    noisy = Noisy(np.array([1.0, 9.0, 8.0, 60.0]), 100.0)
    assert np.array_equal(
        popularity_alone(counts, noisy).popularity, popularity_alone(counts).popularity
    )


def test_two_measurements_weigh_as_their_noise_asks_for() -> None:
    first, second = Noisy(np.array([1.0]), 1.0), Noisy(np.array([4.0]), 2.0)
    for one, other in ((first, second), (second, first)):
        both = average(one, other)
        assert both.value == pytest.approx([(4 * 1.0 + 1 * 4.0) / 5])
        assert both.spread == pytest.approx(2 / math.sqrt(5))
    exact = average(Noisy(np.array([2.0]), 0.0), Noisy(np.array([4.0]), 0.0))
    assert (exact.value.tolist(), exact.spread) == ([3.0], 0.0)


def test_strength_is_nothing_where_counts_are_noise() -> None:
    assert count_strength(Noisy(np.array([3.0, 4.0]), 0.0), 2.0) == pytest.approx(2 * 25 / 7)
    assert count_strength(Noisy(np.array([3.0, 4.0]), 5.0), 2.0) == 0
    assert math.isfinite(count_strength(Noisy(np.array([3.0, 4.0]), 0.0), math.inf))


def test_strength_is_small_where_the_sum_of_counts_is_near_0_by_chance() -> None:
    noise = np.random.default_rng(3).normal(0, 25.0, 3000)
    noise *= 1.05 * 25.0 / noise.std()  # by chance a little more than its variance
    centred = noise - noise.mean()
    # At most mu times the noise's standard deviation times 0.1025 sqrt(3000): the excess of squares
    # is 0.1025 of their variance per item, over a sum of one standard deviation.
    most = 0.12 * 25.0 * 0.1025 * math.sqrt(3000)
    assert count_strength(Noisy(centred, 25.0), 0.12) == pytest.approx(most)
    assert count_strength(Noisy(centred - 1.0, 25.0), 0.12) < 1.1 * most


def test_own_items_held_back_leave_popularity() -> None:
    """Half of what own items say is half way between popularity and all of it."""
    rng = np.random.default_rng(4)
    head = np.arange(4, dtype=np.int32)
    p, activity, D = rng.uniform(0.1, 0.4, 6), rng.uniform(0.1, 0.3, 6), rng.uniform(1, 2, 6)
    L = np.hstack([activity[head, None], rng.normal(0, 0.5, (4, 2))])
    now = np.ones(6)
    whole, half, none = (_model(p, activity, L, D, head, now, own, 2) for own in (1.0, 0.5, 0.0))
    assert none.start == pytest.approx(p) and not none.gain.any()
    assert half.gain == pytest.approx(whole.gain / 2)
    assert half.start - p == pytest.approx((whole.start - p) / 2)
    assert np.array_equal(half.rows, whole.rows)


def test_chance_makes_no_directions_without_noise() -> None:
    """A few directions that are there are found, and no others, however exact the pairs are."""
    rng = np.random.default_rng(5)
    people, items = 4000, 150
    tastes = rng.choice([-1.0, 1.0], (people, 2)) @ rng.choice([-1.0, 1.0], (2, items))
    have = rng.random((people, items)) < 0.1 + 0.04 * tastes
    m = have.sum(axis=1)
    w = np.where(m > 1, 1 / np.sqrt(np.maximum(m * (m - 1), 1)), 0.0)
    matrix = (have * w[:, None]).T.astype(float) @ have
    np.fill_diagonal(matrix, 0.0)
    counts = Noisy(have.sum(axis=0) / math.sqrt(m.mean()), 0.0)
    sums = PairSums(
        np.arange(items, dtype=np.int32),
        Noisy(matrix[np.triu_indices(items)], 0.0),
        Noisy(float((w * m).sum()), 0.0),
        Noisy(float(w.sum()), 0.0),
        people / 2,
    )
    values = PairSpectrum.of(counts, sums, 63).values
    assert 2 <= len(values) < 40
    assert values[1] > 3 * values[2:].max(initial=0.0)


def test_sums_within_a_part_of_the_head() -> None:
    """Its pairs are those of the whole head; the mass goes with counts."""
    head = np.array([1, 3, 4, 7], np.int32)
    matrix = np.arange(16.0).reshape(4, 4)
    counts = Noisy(np.array([9.0, 5.0, 9.0, 3.0, 2.0, 9.0, 9.0, 10.0]), 0.5)
    packed = Noisy(matrix[np.triu_indices(4)], 0.7)
    sums = PairSums(head, packed, Noisy(40.0, 2.0), Noisy(11.0, 1.0), 500.0)
    inner = sums.within(np.array([0, 3, 7], np.int32), counts)
    assert inner.head.tolist() == [3, 7]
    assert inner.pairs.value.tolist() == [matrix[1, 1], matrix[1, 3], matrix[3, 3]]
    assert (inner.pairs.spread, inner.weight) == (0.7, sums.weight)
    part = 13 / 20
    assert (inner.mass.value, inner.mass.spread) == pytest.approx((40 * part, 2 * part))
    assert inner.chance == pytest.approx(500 * part**2)
