"""A sparse report has the law of the dense mechanism, item by item, and keeps its promise."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.domain import InputError, Scale
from discreet.privacy import SeededRandomness, unbooked
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Report
from protocols.local_reports._making import MECHANISMS, make_collection, own_of

_ALPHA = 1e-4
_DRAWS, _COPIES = 3_000, 4_000
Answer = tuple[int | None, ...]


def answer_of(report: Report, items: int) -> Answer:
    told: list[int | None] = [None] * items
    for item, value in zip(report.items.tolist(), report.values.tolist(), strict=True):
        told[item] = value
    return tuple(told)


def one_law(collection: Collection, rating: float | None, cut: int = 60) -> dict[int | None, float]:
    """The exact law of one answer, from the mechanisms' definition."""
    epsilon = collection.epsilon
    if collection.answers:
        d = collection.answers
        symbols = [None, *range(1, d + 1)]
        true = {None: 1.0} if rating is None else true_symbols(collection, rating)
        return {
            s: (1 + (math.exp(epsilon) - 1) * true.get(s, 0.0)) / (math.exp(epsilon) + d)
            for s in symbols
        }
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    ratio = math.exp(-epsilon / (2 * collection.reach))
    centre = 0 if rating is None else int(collection.to_grid(np.array([rating]))[0])
    shown = 1 - keep if rating is None else keep
    law: dict[int | None, float] = {
        k: shown * (1 - ratio) / (1 + ratio) * ratio ** abs(k - centre)
        for k in range(centre - cut, centre + cut + 1)
    }
    return {None: 1 - shown, **law}


def true_symbols(collection: Collection, rating: float) -> dict[int | None, float]:
    """What randomized response is asked to say, with its chances."""
    above = rating - collection.scale.lo
    if collection.mechanism == "randomized-response":
        return {round(above) + 1: 1.0}
    upper = above / collection.scale.range
    return {1: 1 - upper, 2: upper}


def joint(collection: Collection, ratings: list[float | None]) -> dict[Answer, float]:
    laws = [one_law(collection, rating, cut=25) for rating in ratings]
    return {
        tuple(answers): math.prod(law[a] for law, a in zip(laws, answers, strict=True))
        for answers in itertools.product(*laws)
    }


def test_the_law_here_is_the_mechanism_s_own() -> None:
    for mechanism in MECHANISMS:
        collection = make_collection(4, mechanism, 1.5, scale=Scale(1, 3))
        for rating in (None, 1.0, 2.0):
            assert sum(one_law(collection, rating).values()) == pytest.approx(1, abs=1e-9)
        assert one_law(collection, 2.0)[None] == pytest.approx(
            1 - collection.laplace.keep
            if mechanism == "modified-laplace"
            else collection.response.probabilities(2)[0]
        )


def check_law(seen: Counter[Answer], law: dict[Answer, float]) -> None:
    draws = seen.total()
    common = [answer for answer, chance in law.items() if chance * draws >= 8]
    observed = [seen[answer] for answer in common]
    expected = [law[answer] * draws for answer in common]
    rest = draws - sum(expected)
    if rest > 8:
        observed.append(draws - sum(observed))
        expected.append(rest)
    scaled = np.array(expected) * sum(observed) / sum(expected)
    assert len(common) >= 7
    assert chisquare(observed, scaled).pvalue > _ALPHA


def copied(
    mechanism: str, epsilon: float, ratings: list[float | None], reports: int, seed: str
) -> Counter[Answer]:
    """Answers on many copies of a few items, side by side in one catalogue: all independent."""
    items = len(ratings)
    collection = make_collection(items * _COPIES, mechanism, epsilon, scale=Scale(1, 3))
    own = own_of(
        {items * copy + i: r for copy in range(_COPIES) for i, r in enumerate(ratings) if r}
    )
    randomness, seen = SeededRandomness(seed), Counter[Answer]()
    for _ in range(reports):
        whole = answer_of(draw_report(collection, own, randomness), items * _COPIES)
        seen.update(whole[items * copy : items * (copy + 1)] for copy in range(_COPIES))
    return seen


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("ratings", [[None, 2.0, None], [3.0, None, 1.0], [None, None, None]])
def test_reports_have_the_exact_joint_law(mechanism: str, ratings: list[float | None]) -> None:
    """In the smallest catalogues, and item by item in a large one."""
    collection = make_collection(3, mechanism, 3.0, scale=Scale(1, 3))
    own = own_of({i: r for i, r in enumerate(ratings) if r is not None})
    seed = f"{mechanism} {ratings}"
    randomness, law = SeededRandomness(seed), joint(collection, ratings)
    drawn = (draw_report(collection, own, randomness) for _ in range(_DRAWS))
    check_law(Counter(answer_of(report, 3) for report in drawn), law)
    check_law(copied(mechanism, 3.0, ratings, 3, seed), law)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sparse_and_dense_draws_agree_in_their_moments(mechanism: str) -> None:
    """The mechanism applied to every item against the sparse draw, on 60 items."""
    collection = make_collection(60, mechanism, 1.0)
    ratings = {3: 5.0, 10: 1.0, 11: 4.0, 59: 2.0}
    dense, sparse = np.zeros((2, 60)), np.zeros((2, 60))
    randomness = SeededRandomness(f"moments {mechanism}")
    draws = 3000
    for _ in range(draws):
        report = draw_report(collection, own_of(ratings), randomness)
        sparse[0, report.items] += 1
        sparse[1, report.items] += collection.centred(report.values)
    codes = np.zeros((draws, 60), np.int64)
    present = np.zeros(codes.shape, np.bool_)
    for item, rating in ratings.items():
        present[:, item] = True
        codes[:, item] = int(rating) - 3
    if mechanism == "modified-laplace":
        event = collection.laplace.event("x", codes.size)
        shown = collection.laplace.release(codes, present, event, unbooked([event], randomness))
        dense[:] = shown[1].sum(axis=0), shown[0].sum(axis=0)
    else:
        event = collection.response.event("x", codes.size)
        answers = codes + 3
        if mechanism == "rounded-response":
            upper = np.random.default_rng(1).random(codes.shape) < (codes + 2) / 4
            answers = np.where(upper, 2, 1)
        symbols = np.where(present, answers, 0)
        told = collection.response.release(symbols, event, unbooked([event], randomness))
        dense[:] = (told > 0).sum(axis=0), np.where(told > 0, collection.centred(told), 0).sum(0)
    assert np.abs(dense[0] - sparse[0]).max() < 5 * math.sqrt(2 * draws * 0.25)
    spread = 5.0 if mechanism == "modified-laplace" else 2.0
    assert np.abs(dense[1] - sparse[1]).max() < 5 * math.sqrt(2 * draws) * spread


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_answer_is_likelier_by_more_than_e_to_the_epsilon(
    mechanism: str, epsilon: float
) -> None:
    """By enumeration: one rating added, removed or changed; and everything changed."""
    collection = make_collection(2, mechanism, epsilon)
    ratings: list[float | None] = [None, 1.0, 2.0, 3.0, 4.0, 5.0]
    worst = 0.0
    for before, after in itertools.permutations(ratings, 2):
        one, other = one_law(collection, before), one_law(collection, after, cut=70)
        worst = max(worst, *(math.log(one[a] / other[a]) for a in one))
    assert worst <= epsilon + 1e-9
    assert worst > 0.99 * epsilon
    # Two items, both different: twice that, and no more.
    first = joint(collection, [1.0, None])
    second = joint(collection, [5.0, 5.0])
    both = [math.log(first[a] / second[a]) for a in first if a in second]
    assert epsilon < max(map(abs, both)) <= 2 * epsilon + 1e-9


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_neighbours_reports_are_as_close_as_promised(mechanism: str) -> None:
    """By simulation of whole reports: every outcome's frequency, within its sampling error."""
    counts = [
        copied(mechanism, 1.0, [rating, None], 2, f"neighbours {mechanism} {rating}")
        for rating in (3.0, 1.0, None)
    ]
    for one, other in itertools.permutations(counts, 2):
        for answer, count in one.items():
            allowed = math.e * other[answer]
            assert count <= allowed + 5 * math.sqrt(count + math.e * allowed) + 5


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_everything_sent_is_within_the_announced_range(mechanism: str) -> None:
    collection = make_collection(500, mechanism, 0.05)
    randomness = SeededRandomness("range")
    for _ in range(20):
        report = draw_report(collection, own_of({0: 5.0, 499: 1.0}), randomness)
        assert Report.from_json(report.as_json(), collection).values.dtype == report.values.dtype


def test_every_item_can_be_rated() -> None:
    for mechanism in MECHANISMS:
        collection = make_collection(4, mechanism, 50.0)
        own = own_of({0: 1.0, 1: 2.0, 2: 4.0, 3: 5.0})
        report = draw_report(collection, own, SeededRandomness("all"))
        assert report.items.tolist() == [0, 1, 2, 3]
        sent = collection.centred(report.values).tolist()
        if mechanism == "rounded-response":
            assert (sent[0], sent[3]) == (-2, 2)
            assert {*sent} == {-2, 2}
        else:
            assert sent == [-2, -1, 1, 2]


@pytest.mark.parametrize(
    ("ratings", "complaint"), [({9: 3.0}, "below 4"), ({0: 3.5}, "not on the scale")]
)
def test_own_ratings_that_cannot_be_are_refused(ratings: dict[int, float], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        draw_report(make_collection(4), own_of(ratings), SeededRandomness(1))
