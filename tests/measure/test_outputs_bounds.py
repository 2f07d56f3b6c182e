"""How far answers move: the paper's counter-examples, worst cases by hand, a search for worse."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import PRESENCE, Scale
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity, ShownTo
from discreet.measure.outputs._function import RESOLUTION
from discreet.privacy import Unit
from measure._neighbours import SCALES, Pair, Person, pairs_on, people_on, ratings_of

STARS = Scale(1, 5)
ITEMS = 5
Ints = npt.NDArray[np.int64]


def answers(function: OutputFunction, people: list[Person], items: int = ITEMS) -> Ints:
    everybody = np.arange(len(people))
    made = ratings_of(people, items, function.scale)
    return function.measure(made, everybody, np.arange(items))


def slow_similarity(function: OutputFunction, others: list[Person], j: int, k: int) -> int:
    """s_jk of two different items on the grid, from its formula."""
    both = [person for person in others if j in person and k in person]
    n, least = len(both), function.minimum_raters
    is_paper = function.sensitivity is Sensitivity.PAPER
    if function.method is OutputMethod.SLOPE_ONE:
        if is_paper and n <= least:
            return 0
        total = sum(part(function, p[j]) - part(function, p[k]) for p in both)
        return math.floor(total * function._width / (n if is_paper else max(n, least)))
    sizes = [sum(item in person for person in others) for item in (j, k)]
    if n == 0:
        return 0
    a, b = sizes if is_paper else (max(size, least) for size in sizes)
    return round(RESOLUTION * n / math.sqrt(a * b))


def part(function: OutputFunction, rating: float) -> Fraction:
    """Where on the scale: 0 to 1, on the scale's own steps or on 65,536 of them."""
    parts = function._parts
    return Fraction(round((rating - function.scale.lo) / function.scale.range * parts), parts)


def slow_answer(function: OutputFunction, people: list[Person], i: int, j: int) -> int:
    own = people[i]
    others = people if function.sensitivity is Sensitivity.PAPER else people[:i] + people[i + 1 :]
    total = Fraction(sum(slow_similarity(function, others, j, k) for k in own if k != j))
    if function.method is OutputMethod.SLOPE_ONE:
        half = Fraction(1, 2)
        total += sum((part(function, r) - half) * function._width for r in own.values())
    return math.floor(total / max(len(own), function.minimum_ratings))


# Cosine looks at who rated and not at ratings: one kind of codes in integers, one in floats.
FUNCTIONS = [
    OutputFunction(method, scale, raters, ratings)
    for method in OutputMethod
    for name, scale in SCALES.items()
    if method is OutputMethod.SLOPE_ONE or name in ("five stars", "jokes")
    for raters, ratings in ((1, 1), (2, 3))
]
PAPERS = [OutputFunction(method, STARS, 2, 3, "paper") for method in OutputMethod]


@pytest.mark.parametrize("function", FUNCTIONS + PAPERS, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_the_kernels_have_a_slow_twin(function: OutputFunction, data: st.DataObject) -> None:
    people = data.draw(people_on(function.scale, ITEMS).filter(bool))
    fast = answers(function, people)
    slow = [[slow_answer(function, people, i, j) for j in range(ITEMS)] for i in range(len(people))]
    assert fast.tolist() == slow


@pytest.mark.parametrize("function", FUNCTIONS[:1] + FUNCTIONS[-1:] + PAPERS, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_similarities_are_those_that_are_summed(
    function: OutputFunction, data: st.DataObject
) -> None:
    people = data.draw(people_on(function.scale, ITEMS).filter(any))
    made = ratings_of(people, ITEMS, function.scale)
    i = next(i for i, person in enumerate(people) if person)
    own = np.array(sorted(people[i]))
    table = function.similarities(made, np.full(len(own), i), own)
    sums = function.similarity_sums(made, np.array([i]), np.arange(ITEMS))
    assert table.sum(axis=0).tolist() == sums[0].tolist()


def check_pair(function: OutputFunction, pair: Pair) -> None:
    """No answer moves by more than its bound, nor all of them by more than theirs."""
    (gone,) = pair.with_it[pair.who].keys() - pair.without[pair.who].keys()
    moved = np.abs(answers(function, pair.with_it) - answers(function, pair.without))
    others = np.delete(moved, pair.who, axis=0)
    assert np.all(moved[pair.who] <= function.by_own_record)
    assert np.all(others <= function.by_others)
    assert np.all(np.delete(others, gone, axis=1) <= function.by_other_record)
    shape = (len(moved), ITEMS, Unit.RATING)
    assert moved.sum() <= function.all_answers(*shape, ShownTo.ANYBODY)
    assert others.sum() <= function.all_answers(*shape, ShownTo.SELF)


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_no_record_moves_answers_further_than_proved(
    function: OutputFunction, data: st.DataObject
) -> None:
    check_pair(function, data.draw(pairs_on(function.scale, ITEMS, 4)))


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_no_other_person_moves_answers_further_than_proved(
    function: OutputFunction, data: st.DataObject
) -> None:
    people = data.draw(people_on(function.scale, ITEMS).filter(lambda found: len(found) > 1))
    without = [{}, *people[1:]]
    moved = np.abs(answers(function, people) - answers(function, without))[1:]
    assert np.all(moved <= function.by_others)
    bound = function.all_answers(len(moved), ITEMS, Unit.USER, ShownTo.SELF)
    assert moved.sum() <= bound


def moved_by(function: OutputFunction, people: list[Person], who: int, item: int) -> float:
    """How far one record moves the answer to person 0 on item 0, on the answers' scale."""
    items = 1 + max(max(person, default=0) for person in people)
    without = [dict(person) for person in people]
    del without[who][item]
    before, after = (
        function.measure(ratings_of(p, items, function.scale), np.array([0]), np.array([0]))
        for p in (without, people)
    )
    return float(abs(after - before)[0, 0] / function.grid)


def cliff() -> list[Person]:
    """Twenty own items; ten others rated them 1 and item 0 a 5, and an eleventh comes."""
    items = range(1, 21)
    return [dict.fromkeys(items, 3.0)] + [{0: 5.0, **dict.fromkeys(items, 1.0)}] * 11


def first_purchase() -> list[Person]:
    """Two people with the same twenty items, and one of them is the first with item 0."""
    return [dict.fromkeys(range(1, 21), 1.0), dict.fromkeys(range(21), 1.0)]


def test_one_record_moves_the_papers_slope_one_by_the_whole_scale() -> None:
    paper = OutputFunction("slope-one", STARS, 10, 20, "paper")
    assert paper.claimed / paper.grid == pytest.approx(0.4)
    assert moved_by(paper, cliff(), 11, 0) == pytest.approx(4.0)


def test_the_same_record_moves_ours_no_further_than_proved() -> None:
    ours = OutputFunction("slope-one", STARS, 10, 20)
    assert ours.by_others / ours.grid == pytest.approx(8 / 11)
    assert moved_by(ours, cliff(), 11, 0) <= ours.by_others / ours.grid


def test_the_first_purchase_moves_the_papers_cosine() -> None:
    paper = OutputFunction("cosine", PRESENCE, 10, 20, "paper")
    assert paper.claimed / paper.grid == pytest.approx(0.1)
    assert moved_by(paper, first_purchase(), 1, 0) == pytest.approx(1 / math.sqrt(2), abs=1e-6)


def test_the_same_purchase_moves_ours_no_further_than_proved() -> None:
    ours = OutputFunction("cosine", PRESENCE, 10, 20)
    assert ours.by_others / ours.grid == pytest.approx(0.1)
    assert moved_by(ours, first_purchase(), 1, 0) == pytest.approx(0.1, abs=1e-6)


def test_slope_ones_bounds_are_reached() -> None:
    function = OutputFunction("slope-one", STARS, 10, 20)
    items = range(1, 21)
    low = {0: 1.0, **dict.fromkeys(items, 5.0)}
    people = [dict.fromkeys(items, 3.0), *[low] * 10, {0: 5.0, **dict.fromkeys(items, 1.0)}]
    moved = moved_by(function, people, 11, 0)
    assert moved == pytest.approx(function.by_others / function.grid, rel=1e-6)
    # One's own record: a 5 on an item that lies 4 below, after 20 ratings of 1 on items 4 above.
    other = [{0: 5.0, 21: 1.0}, low] * 10
    people = [{**dict.fromkeys(items, 1.0), 21: 5.0}, *other]
    own = moved_by(function, people, 0, 21)
    assert own == pytest.approx(function.by_own_record / function.grid, rel=1e-6)


def test_the_own_row_must_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it stayed, rating an item would also move all similarities that its answer is made of."""
    function = OutputFunction("slope-one", STARS, 2, 3)
    bound = function.by_own_record / function.grid
    low = {0: 1.0, **dict.fromkeys((1, 2, 3), 5.0)}
    people = [{0: 5.0, **dict.fromkeys((1, 2, 3), 1.0)}, low, low]
    assert moved_by(function, people, 0, 0) <= bound
    with_own_row = (*function._rule[:3], 0)
    monkeypatch.setattr(OutputFunction, "_rule", property(lambda _: with_own_row))
    assert moved_by(function, people, 0, 0) > 1.3 * bound


@pytest.mark.parametrize("whose", ["own", "other's"])
@pytest.mark.parametrize("method", OutputMethod)
def test_a_search_for_worse_neighbours_finds_none(method: OutputMethod, whose: str) -> None:
    function = OutputFunction(method, STARS, 2, 3)
    bound = function.by_own_record if whose == "own" else function.by_others
    who, item = (0, 1) if whose == "own" else (1, 0)
    random = np.random.default_rng(7)
    worst = 0.0
    for _ in range(4):
        people: list[Person] = [{} for _ in range(5)]
        people[who][item] = 3.0
        best = moved_by(function, people, who, item)
        for _ in range(600):
            changed = [dict(person) for person in people]
            for _ in range(random.integers(1, 4)):
                one, other = int(random.integers(5)), int(random.integers(ITEMS))
                value = float(random.integers(0, 6))
                if value:
                    changed[one][other] = value
                elif (one, other) != (who, item):
                    changed[one].pop(other, None)
            moved = moved_by(function, changed, who, item)
            if moved >= best:
                people, best = changed, moved
        worst = max(worst, best * function.grid / bound)
    assert 0.7 < worst <= 1
