"""Methods on one bench: reports, answers, utilities, and the choice among epsilons."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.audit import (
    METHODS,
    Consequence,
    choose_epsilon,
    choose_epsilons,
    choose_victims,
    consequences,
    guess,
)
from discreet.audit import _compared as compared
from discreet.audit._compared import (
    AnswersMethod,
    Bench,
    method_of,
    send_reports,
    too_large,
    true_reports,
)
from discreet.audit._intervals import excess_band, success_band
from discreet.domain import PRESENCE, InputError, Scale
from discreet.measure.outputs import OutputFunction
from discreet.methods import _room
from discreet.privacy import SeededRandomness
from discreet.protocols.local_reports.messages import Mechanism
from discreet.ratings import Ratings, Shape, make_ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(Shape(users=300, items=40, ratings=7500), seed=1)


@pytest.fixture(scope="module")
def rows(ratings: Ratings) -> list[Consequence]:
    return consequences(ratings, None, (0.05, 500.0), attacks=8, draws=2, seed=3)


def test_every_method_has_a_row_for_every_epsilon(rows: list[Consequence]) -> None:
    assert [(row.method, row.epsilon) for row in rows] == [
        (method, epsilon) for method in METHODS for epsilon in (0.05, 500.0)
    ]
    units = {row.method: row.of for row in rows}
    assert units["refined"] == units["cosine"] == "user"
    assert (units["modified-laplace"], units["slope-one-answers"]) == ("report", "answer")
    for row in rows:
        assert row.utility_band[0] <= row.utility <= row.utility_band[1]
        assert row.risk_band[0] <= row.risk <= row.risk_band[1]
        assert row.excess == pytest.approx(row.risk - row.prior)
        assert row.excess_band[0] <= row.excess <= row.excess_band[1]
        assert (row.attacks, row.draws) == (8, 2)
        assert row.error is not None and 0.5 < row.error < 3
    assert {(row.prior, row.majority) for row in rows} == {(rows[0].prior, rows[0].majority)}


@pytest.mark.parametrize("method", METHODS)
def test_both_ends_of_a_curve(rows: list[Consequence], method: str) -> None:
    blind, open_ = (row for row in rows if row.method == method)
    # Answers one by one are no good prediction of these ratings, even without noise; and ratings
    # that are rounded to an end of the scale stay rounded at any epsilon (0.84 on this seed).
    most = {"slope-one-answers": 0.02, "rounded-response": 0.75}.get(method, 0.85)
    assert blind.utility < 0.6 * max(most, open_.utility)
    assert open_.utility > most
    assert abs(blind.excess) <= 0.25
    # Of a rounded rating half is hidden at any epsilon: its two ends are all that is sent.
    assert open_.risk >= (0.4 if method == "rounded-response" else 0.75)


def test_presence_has_the_methods_that_need_no_ratings() -> None:
    # Where people have most of the items, as in `ratings`, who has which is foreseen on some splits
    # and not on others; here utilities are 0.96 or more on six of six.
    made = make_ratings(Shape(users=1000, items=60, ratings=15_000), seed=1)
    clicks = dataclasses.replace(
        made, scale=Scale.parse("presence"), codes=np.ones(len(made), np.uint8)
    )
    found = consequences(clicks, None, [2000.0], attacks=10, draws=2, seed=1)
    assert [row.method for row in found] == ["lists", "cosine"]
    for row in found:
        assert row.error is None and "error" not in row.as_json()
        assert row.risk >= 0.9 and row.utility > 0.5
    with pytest.raises(InputError, match="presence alone"):
        consequences(clicks, ["covariance"], [1.0], attacks=10, draws=2)
    with pytest.raises(InputError, match="lists predicts no ratings"):
        consequences(made, ["lists"], [1.0], attacks=10, draws=2)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_randomized_response_is_believed_as_often_as_it_is_true(
    ratings: Ratings, epsilon: float
) -> None:
    victims = choose_victims(ratings, 1500, np.random.default_rng(1))
    told = (Mechanism.RANDOMIZED_RESPONSE, epsilon, victims, SeededRandomness(2))
    won = guess(victims, send_reports(ratings, *told).likelihoods, np.random.default_rng(3))
    keep = math.exp(epsilon) / (math.exp(epsilon) + 5)
    silent = (1 - keep) / 5
    expected = keep + silent / 5  # "not rated" is known to be false, and leaves a guess among five
    # People are attacked more than once, and each report is one draw: allow for that.
    assert binomtest(int(won.likelihood.sum()), 1500, expected).pvalue > 1e-4


def test_a_modified_laplace_report_is_read_by_the_nearest_rating(ratings: Ratings) -> None:
    victims = choose_victims(ratings, 400, np.random.default_rng(1))
    told = (Mechanism.MODIFIED_LAPLACE, 60.0, victims, SeededRandomness(2))
    likely = send_reports(ratings, *told).likelihoods
    assert success_band(likely.argmax(axis=1) == victims.secrets)[0] > 0.98


@pytest.mark.parametrize("mechanism", Mechanism)
def test_debiased_reports_add_up_to_the_truth(ratings: Ratings, mechanism: Mechanism) -> None:
    victims = choose_victims(ratings, 2, np.random.default_rng(1))
    true = true_reports(ratings)
    draws = [send_reports(ratings, mechanism, 2.0, victims, SeededRandomness(n)) for n in range(30)]
    for name in ("sums", "counts"):
        each = np.array([getattr(draw, name) for draw in draws])
        off = each.mean(axis=0) - getattr(true, name)
        errors = off / (each.std(axis=0, ddof=1) / math.sqrt(len(draws)))
        assert abs(errors.mean()) < 0.8 and np.abs(errors).max() < 6
    assert true.counts.sum() == len(ratings)


def test_a_rating_moves_all_of_its_owners_answers_as_the_attack_assumes(ratings: Ratings) -> None:
    function = OutputFunction("slope-one", ratings.scale)
    person = int(np.flatnonzero(np.diff(ratings.starts) >= 20)[0])
    place = int(ratings.starts[person])
    unrated = np.setdiff1d(np.arange(40), ratings.items[place : int(ratings.starts[person + 1])])
    codes = ratings.codes.copy()
    codes[place] = 4 - codes[place] if codes[place] != 2 else 0
    step = int(codes[place]) - int(ratings.codes[place])
    before, after = (
        function.measure(each, np.array([person]), unrated)
        for each in (ratings, dataclasses.replace(ratings, codes=codes))
    )
    count = int(np.diff(ratings.starts)[person])
    assert (after - before) / function.grid == pytest.approx(step / count, rel=1e-6)


def test_who_gets_no_answers_is_not_found_out(ratings: Ratings) -> None:
    bench = Bench(ratings, attacks=60, draws=2, seed=2)
    subject = method_of(bench, "slope-one-answers", {"protect": "user"})
    assert isinstance(subject, AnswersMethod)
    _, likely = subject.draw(1e6, bench.victims, SeededRandomness(1))
    is_answered = np.diff(bench.train.starts)[bench.victims.people] >= 20
    assert 0 < is_answered.sum() < 60
    assert not likely[~is_answered].any()
    assert np.array_equal(likely[is_answered].argmax(axis=1), bench.victims.secrets[is_answered])


@pytest.mark.parametrize("presence", [False, True])
def test_blocks_of_people_change_no_prediction(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch, presence: bool
) -> None:
    codes = np.ones(len(ratings), np.uint8)
    data = dataclasses.replace(ratings, scale=PRESENCE, codes=codes) if presence else ratings
    name = "cosine" if presence else "slope-one-answers"

    def told() -> np.ndarray:
        bench = Bench(data, attacks=4, draws=2, seed=2)
        return method_of(bench, name, {"protect": "user"}).without_noise()

    whole = told()
    monkeypatch.setattr(compared, "_CELLS", 7 * len(ratings.catalog))
    assert np.array_equal(told(), whole)


def test_victims_are_attacked_in_blocks(ratings: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "_CELLS", 1)
    bench = Bench(ratings, attacks=5, draws=2, seed=2)
    subject = method_of(bench, "slope-one-answers", {"protect": "user"})
    _, likely = subject.draw(1e6, bench.victims, SeededRandomness(1))
    is_answered = np.diff(bench.train.starts)[bench.victims.people] >= 20
    assert likely.shape == (5, bench.victims.options) and is_answered.any()
    assert np.array_equal(likely[is_answered].argmax(axis=1), bench.victims.secrets[is_answered])


def test_methods_that_are_too_large_are_left_out_unless_named(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "_MOST_CELLS", 1)
    assert "too much here" in (too_large("randomized-response", ratings) or "")
    assert too_large("refined", ratings) is too_large("slope-one-answers", ratings) is None
    monkeypatch.setattr(_room, "free_memory", lambda: 1000)
    assert "1.0 kB are free" in (too_large("slope-one", ratings) or "")
    assert too_large("refined", ratings) is None
    worth: dict[str, Any] = {
        "value_of_utility": 1,
        "cost_of_breach": 1,
        "attacks": 2,
        "draws": 2,
        "seed": 1,
    }
    with pytest.raises(InputError, match="everybody reports on every item"):
        choose_epsilon(ratings, methods=["randomized-response"], epsilons=[1], **worth)


def test_a_seed_repeats_everything(ratings: Ratings) -> None:
    told: dict[str, Any] = {"attacks": 4, "draws": 2}
    first, second, other = (
        consequences(ratings, ["slope-one"], [3.0], seed=seed, **told) for seed in (1, 1, 2)
    )
    assert first == second != other


def point(epsilon: float, utility: float, risk: float, method: str = "refined") -> Consequence:
    """A row whose bands reach 0.02 up and down."""

    def band(middle: float) -> tuple[float, float]:
        return middle - 0.02, middle + 0.02

    return Consequence(
        method, epsilon, "user", utility, band(utility), risk, band(risk), risk, band(risk),
        0.3, band(0.3), risk - 0.3, band(risk - 0.3), 0.25, band(0.25), 0.9, 100, 4, 50, 50,
    )  # fmt: skip


CURVE = [
    point(0.1, 0.1, 0.30), point(0.3, 0.5, 0.30), point(1.0, 0.60, 0.30), point(3.0, 0.61, 0.30),
    point(10.0, 0.8, 0.60), point(30.0, 0.9, 0.58),
]  # fmt: skip


def test_the_choice_is_worth_most_and_knows_its_neighbourhood() -> None:
    (choice,) = choose_epsilons(CURVE, value_of_utility=10, cost_of_breach=10)
    assert choice.best.epsilon == 30.0 and choice.is_edge
    assert choice.value == pytest.approx(3.2)
    assert choice.margin == pytest.approx(math.hypot(0.2, 0.2))
    assert choice.neighbourhood == (30.0, 30.0), "what lies beyond something worse is no neighbour"
    (careful,) = choose_epsilons(CURVE, value_of_utility=10, cost_of_breach=20)
    assert careful.best.epsilon == 1.0 and not careful.is_edge, "the smallest that is as good"
    assert [row.epsilon for row in careful.as_good] == [1.0, 3.0]
    (timid,) = choose_epsilons(CURVE, value_of_utility=0, cost_of_breach=1)
    assert timid.best.epsilon == 0.1, "among equals, the smallest"


def test_the_best_method_comes_first() -> None:
    better = [dataclasses.replace(row, method="cosine", utility=row.utility + 0.1) for row in CURVE]
    choices = choose_epsilons(CURVE + better, value_of_utility=1, cost_of_breach=0)
    assert [choice.best.method for choice in choices] == ["cosine", "refined"]


def test_a_band_of_the_excess_is_wide_even_where_nothing_differs() -> None:
    same = np.arange(100) < 40
    low, high = excess_band(same, same)
    assert low == -high and 0.03 < high < 0.06
    low, high = excess_band(np.arange(100) < 70, same)
    assert 0.15 < low < 0.3 < high < 0.5


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"methods": ["magic"]}, "there is no method 'magic'"),
        ({"methods": []}, "name at least one"),
        ({"epsilons": []}, "at least one"),
        ({"epsilons": [math.inf]}, "finite"),
        ({"protect": "everybody"}, "protect is one of"),
        ({"draws": 1}, "at least 2 draws"),
        ({"attacks": 1}, "attacks can be made"),
        ({"delta": 0.0, "methods": ["refined"]}, "delta"),
    ],
)
def test_what_cannot_be_is_refused(ratings: Ratings, told: dict[str, Any], complaint: str) -> None:
    usual: dict[str, Any] = {"epsilons": [1.0], "draws": 2, "attacks": 4}
    with pytest.raises(InputError, match=complaint):
        consequences(ratings, **usual | told)


def test_worths_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="nothing to choose from"):
        choose_epsilons([], value_of_utility=1, cost_of_breach=1)
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="from 0 on"):
            choose_epsilons(CURVE, value_of_utility=1, cost_of_breach=wrong)
