"""What attacks are made of: bounds that epsilon implies, bands, data that is cut to size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit._adversary import level_chances
from discreet.audit._tags import BITS, Group, large_group, our_tags
from discreet.audit.attacks import AttackResult, most_with_prior, most_without_record
from discreet.audit.attacks._attack import judge, twice
from discreet.audit.attacks._data import (
    MOST_PEOPLE,
    join,
    people_with,
    pick_users,
    popularity,
    prepare,
    some_of_each,
    table,
)
from discreet.audit.attacks._membership import _Scene as MembershipScene
from discreet.audit.attacks._quotient import secret_keys
from discreet.audit.attacks._reconstruction import _Scene as ReconstructionScene
from discreet.audit.attacks._repeated_reports import _Scene as RepeatedScene
from discreet.audit.attacks._uploads import upload_tables
from discreet.domain import InputError
from discreet.privacy.accounting import gaussian_delta
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.ratings import Ratings, find_shape, make_ratings

Floats = npt.NDArray[np.float64]


def ratings(name: str = "ml-100k", count: int = 20_000, seed: int = 0) -> Ratings:
    return make_ratings(find_shape(name).scaled(ratings=count), seed=seed)


@given(st.floats(0.05, 4), st.lists(st.floats(0.01, 1), min_size=2, max_size=6))
def test_the_best_guess_from_randomized_response_keeps_to_the_bound(
    epsilon: float, weights: list[float]
) -> None:
    prior = np.array(weights) / sum(weights)
    law = RandomizedResponse(len(prior), epsilon)
    laws = np.array([law.probabilities(symbol) for symbol in range(len(prior))])
    best = float((prior[:, None] * laws).max(axis=0).sum())
    bound = most_with_prior(float(prior.max()), epsilon)
    assert best <= bound + 1e-12


def test_the_bound_with_even_chances_is_reached() -> None:
    law = RandomizedResponse(2, 1.3)
    assert most_with_prior(0.5, 1.3) == pytest.approx(law.keep)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_gaussian_noise_keeps_to_both_bounds(mu: float, epsilon: float) -> None:
    delta = gaussian_delta(mu, epsilon)
    right = 0.5 * math.erfc(-mu / 2 / math.sqrt(2))  # half-way between the two means
    assert right <= most_with_prior(0.5, epsilon, delta) + 1e-12
    # Said to be there where the output is above x: with chance 1 - Phi(x - mu), else 1 - Phi(x).
    for x in np.linspace(-3, 5, 33):
        there, absent = (0.5 * math.erfc((x - shift) / math.sqrt(2)) for shift in (mu, 0.0))
        assert there <= most_without_record(absent, epsilon, delta) + 1e-12


def test_bounds_at_their_ends() -> None:
    assert most_with_prior(0.0, 3.0, 1e-3) == 1e-3
    assert most_with_prior(0.3, 0.0) == pytest.approx(0.3)
    assert most_with_prior(0.3, 1e6) == 1.0
    assert most_without_record(0.3, 0.0) == pytest.approx(0.3)
    assert most_without_record(0.3, 1e6) == 1.0
    assert twice(1.0, 1e-6) == (2.0, pytest.approx((1 + math.e) * 1e-6))


def test_right_and_wrong_have_an_exact_band_and_parts_a_normal_one() -> None:
    whole = judge("x", np.ones(20, np.bool_), np.zeros(20, np.bool_), is_protected=False)
    assert whole.band == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert whole.baseline_band == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert not whole.is_near_guessing and whole.is_within_bound
    parts = np.array([0.2, 0.4] * 10)
    other = judge("x", parts, parts, is_protected=True, bound=lambda guessing: guessing / 10)
    half = 1.96 * parts.std(ddof=1) / math.sqrt(20)
    assert other.band == pytest.approx((0.3 - half, 0.3 + half), abs=1e-4)
    assert other.bound == pytest.approx(other.baseline_band[1] / 10)
    assert other.is_near_guessing and not other.is_within_bound


def test_a_result_tells_which_bound_is_passed() -> None:
    won, lost = np.ones(20, np.bool_), np.zeros(20, np.bool_)
    outcomes = (
        judge("bare", won, lost, is_protected=False),
        judge("kept", lost, lost, is_protected=True, bound=lambda _: 0.5),
        judge("passed", won, lost, is_protected=True, bound=lambda _: 0.5),
    )
    result = AttackResult("attack", "", "", "", outcomes)
    told = [outcome["within_bound"] for outcome in result.as_json()["outcomes"]]
    assert told == [None, True, False]
    assert not result.is_within_bounds
    assert AttackResult("attack", "", "", "", outcomes[:2]).is_within_bounds


def test_who_knows_everybody_else_reads_membership_off_the_exact_statistics() -> None:
    """The answer follows the statistics: of a fit without the suspect, it is that they are out."""
    data = prepare(ratings(), seed=0)
    inside, others, sample = np.split(np.arange(data.user_count), [60, 80])
    suspects, is_in = np.array([7, 3, others[0], others[1]]), np.array([True, True, False, False])
    scene, less, more = (
        MembershipScene(data, people, sample, suspects, is_in, 0)
        for people in (inside, np.delete(inside, 7), np.append(inside, others[0]))
    )
    assert ((scene._ideal_exact(scene._see(1000.0)) > 0) == is_in).all()
    assert scene._ideal_exact(less._see(1000.0))[0] < 0
    assert scene._ideal_exact(more._see(1000.0))[2] > 0


def test_an_outcome_is_found_by_its_name() -> None:
    outcome = judge("this", np.ones(4), np.zeros(4), is_protected=True)
    result = AttackResult("attack", "", "", "", (outcome,))
    assert result.against("this") is outcome
    with pytest.raises(InputError, match="'that' was not attacked by attack; there are 'this'"):
        result.against("that")


def test_much_is_cut_to_size_and_nobody_is_left_without_ratings() -> None:
    data = prepare(ratings("ml-1m", 300_000), seed=1)
    assert data.user_count == MOST_PEOPLE
    assert np.diff(data.starts).min() > 0 and popularity(data).min() > 0
    again = prepare(ratings("ml-1m", 300_000), seed=1)
    assert np.array_equal(data.items, again.items) and data.catalog.ids == again.catalog.ids


def test_cut_data_has_the_ratings_that_it_had() -> None:
    whole = ratings()
    cut = prepare(whole, seed=0)
    before = {
        (whole.catalog.ids[item], code) for item, code in zip(whole.items, whole.codes, strict=True)
    }
    after = {(cut.catalog.ids[item], code) for item, code in zip(cut.items, cut.codes, strict=True)}
    assert before == after and len(cut) == len(whole)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (ratings("jester", 20_000), "a scale with steps like 1..5, not a continuous one"),
        (make_ratings(find_shape("ml-100k").scaled(ratings=900)), "at least 100 people and 120"),
    ],
    ids=["continuous", "few"],
)
def test_ratings_that_cannot_be_attacked_are_refused(data: Ratings, words: str) -> None:
    with pytest.raises(InputError, match=words):
        prepare(data, 0)


def test_people_are_picked_and_joined() -> None:
    data = ratings()
    first, second = pick_users(data, np.array([7, 3])), pick_users(data, np.array([5]))
    both = table(join(first, second))
    assert np.array_equal(both, table(data)[[3, 7, 5]])


def test_some_ratings_of_each_are_their_own_and_differ() -> None:
    data, rng = ratings(), np.random.default_rng(0)
    people = people_with(data, 12, 50, rng)
    places = some_of_each(data, people, 10, rng)
    assert np.array_equal(data.user_of_rating()[places], np.tile(people[:, None], 10))
    assert all(len(set(row)) == 10 for row in places.tolist())
    with pytest.raises(InputError, match="too few can be attacked: 0 people have 100000 ratings"):
        people_with(data, 100_000, 5, rng)


def test_level_chances_are_shares_held_back_to_the_whole() -> None:
    data = ratings()
    items = np.arange(len(data.catalog))
    chances = level_chances(data, items, np.full(len(items), -1))
    assert np.allclose(chances.sum(axis=1), 1) and chances.min() > 0
    most = int(popularity(data).argmax())
    shares = np.bincount(data.codes[data.items == most], minlength=5) / popularity(data)[most]
    assert np.abs(chances[most] - shares).max() < 0.05


def with_other_value(data: Ratings, at: int) -> Ratings:
    codes = data.codes.copy()
    codes[at] = (codes[at] + 2) % 5
    return replace(data, codes=codes)


def of_repeated(data: Ratings, item: int) -> Floats:
    scene = RepeatedScene(data, 0)
    return scene._chances[scene._people.items == item]


def of_reconstruction(data: Ratings, item: int) -> Floats:
    scene = ReconstructionScene(data)
    return scene._chances[scene._codes[:, item] >= 0, item]


@pytest.mark.parametrize("chances_of", [of_repeated, of_reconstruction])
def test_what_is_guessed_beforehand_does_not_know_the_victim_s_own_rating(
    chances_of: Callable[[Ratings, int], Floats],
) -> None:
    """Another value of the only rating of an item changes nothing in what it is guessed by."""
    data = prepare(ratings(), seed=0)
    first, last = (data.starts[np.diff(data.starts).argmax() + more] for more in (0, 1))
    at = int(first + np.flatnonzero(popularity(data)[data.items[first:last]] == 1)[0])
    versions = (data, with_other_value(data, at))
    before, after = (chances_of(each, int(data.items[at])) for each in versions)
    assert before.shape == (1, 5) and np.allclose(before, after, atol=1e-12)


@pytest.mark.parametrize("percent", [0, 100])
def test_uploads_hold_every_true_rating_and_so_many_fakes(percent: int) -> None:
    data = ratings()
    codes, true = upload_tables(data, percent, "seed")
    mine = table(data)
    assert np.array_equal(codes[true], mine[mine >= 0])
    assert np.array_equal((codes >= 0).sum(axis=1), true.sum(axis=1) * (100 + percent) // 100)


@pytest.mark.parametrize("group", [large_group(), Group(2**62 - 10_565)])
def test_the_quotient_reads_the_papers_tags(group: Group) -> None:
    values = [0, (1 << BITS) - 1, 17, 17]
    tags = group.tags(values, secret_keys(4, 3))
    for u, v in product(range(4), range(4)):
        if u != v:
            assert group.differences(tags, [(u, v)]) == [values[u] - values[v]]


def test_our_tags_are_alike_where_values_are_and_no_quotient_tells_more() -> None:
    values = [3, 3, 9]
    tags = our_tags(values, [X25519PrivateKey.generate() for _ in values])
    assert np.array_equal(tags[0, 1], tags[1, 0])
    assert not np.array_equal(tags[0, 2], tags[2, 0])
    assert not tags[[0, 1, 2], [0, 1, 2]].any()  # nothing about oneself
    numbers = [[int.from_bytes(tag.tobytes(), "little") for tag in row] for row in tags]
    assert large_group().differences(numbers, [(0, 1), (0, 2), (2, 1)]) == [0, None, None]
