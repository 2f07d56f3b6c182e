"""Single answers: the cost before, the booking, the refusal, the noise, the words."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.domain import PRESENCE, Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.errors import BudgetExceeded
from discreet.measure.outputs import (
    PAPER_BOUND,
    OutputFunction,
    OutputMethod,
    OutputPlan,
    ShownTo,
)
from discreet.privacy import NO_NOISE, SEEDED, SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, find_shape, make_ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """The first ten people have ten ratings or so; all others at least twenty."""
    made = make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=3)
    place = np.arange(len(made)) - made.starts[made.user_of_rating()]
    fewer = made.where((made.user_of_rating() >= 10) | (place < 10))
    return dataclasses.replace(fewer, intake=made.intake)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.RATING, 2.0, 1e-6)])


def plan_for(ratings: Ratings, **changed: Any) -> OutputPlan:
    told: dict[str, Any] = {
        "function": OutputFunction("slope-one", ratings.scale, 10, 20),
        "catalog": ratings.catalog,
        "epsilon": 1.0,
    }
    if "epsilon_per_output" in changed:
        del told["epsilon"]
    return OutputPlan(**told | changed)


def catalog_of(items: int) -> Catalog:
    return Catalog([str(item) for item in range(items)])


def with_counts(ratings: Ratings, least: int, most: int, many: int) -> np.ndarray[Any, Any]:
    counts = np.diff(ratings.starts)
    return np.flatnonzero((counts >= least) & (counts <= most))[:many]


def test_every_number_that_gets_noise_is_charged() -> None:
    function = OutputFunction("slope-one", Scale(1, 5), 10, 20)
    told: dict[str, Any] = {"function": function, "catalog": catalog_of(3706), "people": 10}
    users = OutputPlan(**told, protect="user", epsilon_per_output=0.1)
    assert users.outputs == 37_060
    assert users.cost.epsilon == pytest.approx(3706, rel=1e-4)
    # A record about one item moves answers on the others by a twentieth at most.
    records = OutputPlan(**told, protect="rating", epsilon_per_output=0.1)
    assert records.cost.epsilon == pytest.approx(1 + 3705 / 20, rel=1e-4)
    single = OutputPlan(**told | {"people": 1}, items=[5], epsilon_per_output=0.1)
    assert single.cost.epsilon == pytest.approx(0.1, rel=1e-6)


def test_lists_without_numbers_cost_by_their_length() -> None:
    function = OutputFunction("cosine", PRESENCE, 10, 20)
    told: dict[str, Any] = {"function": function, "catalog": catalog_of(3706), "choose": 20}
    plan = OutputPlan(**told, people=3, protect="user", epsilon_per_output=0.05)
    assert plan.outputs == 60
    assert plan.cost.epsilon == pytest.approx(60 * 0.05)
    whole = OutputPlan(**told, people=3, protect="user", epsilon=3.0)
    assert whole.per_output == pytest.approx(0.05)
    assert whole.cost.epsilon == pytest.approx(3.0)


@pytest.mark.parametrize("shown_to", ShownTo)
def test_a_total_is_divided_and_never_passed(shown_to: ShownTo) -> None:
    function = OutputFunction("slope-one", Scale(1, 5), 10, 20)
    plan = OutputPlan(
        function=function, catalog=catalog_of(50), people=7, shown_to=shown_to, epsilon=2.0
    )
    assert 2.0 * (1 - 1e-9) < plan.cost.epsilon <= 2.0
    sensitivity = function.all_answers(7, 50, Unit.RATING, shown_to)
    assert plan.spread == pytest.approx(math.sqrt(2) * sensitivity / 2.0 / function.grid)


def test_the_cost_is_told_in_words_before_it_is_spent() -> None:
    function = OutputFunction("slope-one", Scale(1, 5))
    from_data = Catalog(["a", "b"], origin=CatalogOrigin.FROM_DATA)
    plan = OutputPlan(function=function, catalog=from_data, epsilon=1.0)
    text = str(plan)
    assert text.startswith("2 numbers with noise, shown or not, for one person: epsilon 1 together")
    assert "epsilon 1, delta 0, per rating" in text
    assert "seen by that person alone" in text
    assert "which items were rated at all" in text
    assert "seen by that person alone" not in str(dataclasses.replace(plan, shown_to="anybody"))


def test_the_ledger_is_charged_with_the_cost_and_then_is_full(
    ratings: Ratings, ledger: Ledger
) -> None:
    plan = plan_for(ratings, people=2, epsilon=1.5)
    answers = plan.answer(ratings, [14, 19], ledger=ledger)
    (entry,) = ledger.history()
    assert entry.events == plan.cost.events == answers.guarantee.events
    assert dataclasses.replace(answers.guarantee, provenance=None) == plan.cost
    with pytest.raises(BudgetExceeded):
        plan.answer(ratings, [14, 19], ledger=ledger.path)
    assert len(ledger.history()) == 1


def test_a_refused_charge_measures_nothing(
    ratings: Ratings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: object) -> None:
        raise AssertionError("measured before it was charged")

    monkeypatch.setattr(OutputFunction, "measure", measured)
    with pytest.raises(BudgetExceeded):
        plan_for(ratings, epsilon=3.0).answer(ratings, [0], ledger=ledger)


def test_people_with_too_few_ratings_are_refused_and_no_others(ratings: Ratings) -> None:
    few, many = with_counts(ratings, 1, 19, 3), with_counts(ratings, 20, 10**6, 3)
    people = np.concatenate([few, many])
    answers = plan_for(ratings, people=6).answer(ratings, people, ledger="unbooked")
    assert answers.refused.tolist() == [True] * 3 + [False] * 3
    assert answers.numbers is not None
    assert np.isnan(answers.numbers[:3]).all()
    assert np.isfinite(answers.numbers[3:]).all()
    assert (answers.top(5)[:3] == -1).all()
    lists = plan_for(ratings, people=6, choose=4).answer(ratings, people, ledger="unbooked")
    assert lists.chosen is not None
    assert (lists.chosen[:3] == -1).all()
    assert lists.chosen[3:].min() >= 0
    assert all(len(set(row)) == 4 for row in lists.chosen[3:].tolist())


def test_the_refused_are_charged_too(ratings: Ratings, ledger: Ledger) -> None:
    plan = plan_for(ratings, people=2)
    plan.answer(ratings, with_counts(ratings, 1, 19, 2), ledger=ledger)
    assert ledger.history()[0].events == plan.cost.events


def test_answers_that_anybody_sees_refuse_nobody(ratings: Ratings) -> None:
    few = with_counts(ratings, 1, 19, 3)
    answers = plan_for(ratings, people=3, shown_to="anybody").answer(
        ratings, few, ledger="unbooked"
    )
    assert not answers.refused.any()
    assert answers.numbers is not None
    assert np.isfinite(answers.numbers).all()


@pytest.mark.parametrize("method", OutputMethod)
def test_the_noise_has_its_law(ratings: Ratings, method: OutputMethod) -> None:
    function = OutputFunction(method, ratings.scale, 10, 1)
    plan = plan_for(ratings, function=function, people=60, epsilon_per_output=0.5)
    people = np.flatnonzero(np.diff(ratings.starts))[:60]
    numbers = plan.answer(ratings, people, ledger="unbooked").numbers
    exact = function.to_answers(function.measure(ratings, people, np.arange(len(ratings.catalog))))
    noise = (numbers - exact).ravel() / (plan.spread / math.sqrt(2))
    # In units of its scale the noise is Laplace: cells of equal mass.
    cells = 40
    place = np.where(noise < 0, np.exp(noise) / 2, 1 - np.exp(-noise) / 2)
    counts = np.bincount(np.minimum((place * cells).astype(int), cells - 1), minlength=cells)
    assert chisquare(counts).pvalue > 1e-7
    assert plan.spread == pytest.approx(math.sqrt(2) * function.by_others / 0.5 / function.grid)


def test_noise_is_on_the_grid_and_fresh(ratings: Ratings) -> None:
    plan = plan_for(ratings, people=1, items=[1, 2, 3])
    people = with_counts(ratings, 20, 10**6, 1)
    first, second = (plan.answer(ratings, people, ledger="unbooked").numbers for _ in range(2))
    assert first is not None
    assert second is not None
    assert not np.any(first == second)
    grid = (first - plan.function.middle) * plan.function.grid
    assert np.allclose(grid, np.rint(grid), atol=1e-3)


def test_without_noise_the_answers_are_the_formulas(ratings: Ratings) -> None:
    people = with_counts(ratings, 20, 10**6, 2)
    plan = plan_for(ratings, people=2, epsilon=math.inf)
    answers = plan.answer(ratings, people, ledger="unbooked")
    exact = plan.function.measure(ratings, people, answers.items)
    assert np.array_equal(answers.numbers, plan.function.to_answers(exact))
    assert answers.guarantee.not_private == (NO_NOISE,)
    best = plan_for(ratings, people=2, epsilon=math.inf, choose=5).answer(
        ratings, people, ledger="unbooked"
    )
    assert np.array_equal(best.chosen, answers.top(5))


def test_the_papers_outputs_say_that_they_are_not_private(ratings: Ratings, ledger: Ledger) -> None:
    function = OutputFunction("slope-one", ratings.scale, 10, 20, "paper")
    plan = plan_for(ratings, function=function, epsilon_per_output=1.0)
    answers = plan.answer(ratings, [0], ledger="unbooked")
    assert answers.guarantee.not_private == (PAPER_BOUND,)
    assert "Not private: the paper's bound does not hold" in str(answers.guarantee)
    assert plan.spread == pytest.approx(math.sqrt(2) * 0.4)
    with pytest.raises(InputError, match="cannot be booked"):
        plan.answer(ratings, [0], ledger=ledger)
    assert ledger.history() == []


def test_seeded_answers_repeat_and_say_so(ratings: Ratings) -> None:
    plan = plan_for(ratings)
    people = with_counts(ratings, 20, 10**6, 1)
    first, second = (plan.answer(ratings, people, randomness=SeededRandomness(5)) for _ in range(2))
    assert np.array_equal(first.numbers, second.numbers)
    assert first.guarantee.not_private == (SEEDED,)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"epsilon": 0.0}, "above 0"),
        ({"epsilon": math.nan}, "above 0"),
        ({"epsilon": None}, "say the budget once"),
        ({"protect": "user", "shown_to": "anybody"}, "reveal whose they are"),
        ({"protect": "family"}, "not a choice of protect"),
        ({"people": 0}, "at least one person"),
        ({"items": []}, "each of them once"),
        ({"items": [1, 1]}, "each of them once"),
        ({"items": [-1]}, "catalogue indices"),
        ({"choose": 0}, "can be chosen"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    ratings: Ratings, changed: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        plan_for(ratings, **changed)


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        (("pearson", Scale(1, 5)), "no method"),
        (("slope-one", PRESENCE), "presence alone"),
        (("cosine", PRESENCE, 0), "minimum_raters"),
        (("cosine", PRESENCE, 1, 0), "minimum_ratings"),
        (("cosine", PRESENCE, 1, 1, "guess"), "no sensitivity"),
    ],
)
def test_a_function_that_cannot_be_is_refused(told: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        OutputFunction(*told)


def test_other_people_ratings_or_catalogues_are_refused(ratings: Ratings) -> None:
    plan = plan_for(ratings, people=2)
    with pytest.raises(InputError, match="different people"):
        plan.answer(ratings, [1, 1], ledger="unbooked")
    with pytest.raises(InputError, match="indices"):
        plan.answer(ratings, [0, ratings.user_count], ledger="unbooked")
    with pytest.raises(InputError, match="another catalogue"):
        plan_for(ratings, catalog=catalog_of(3)).answer(ratings, [0], ledger="unbooked")
    other = plan_for(ratings, function=OutputFunction("cosine", PRESENCE))
    with pytest.raises(InputError, match="scale"):
        other.answer(ratings, [0], ledger="unbooked")
    with pytest.raises(InputError, match="no numbers"):
        plan_for(ratings, choose=2).answer(ratings, [0], ledger="unbooked").top(1)
