"""Guarantees: the numbers, the words that people read, and files that are not believed."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import CatalogOrigin, InputError
from discreet.privacy import (
    NO_NOISE,
    PERIOD_UNITS,
    SEEDED,
    Event,
    GaussianEvent,
    Guarantee,
    NoisePlan,
    Provenance,
    PureEvent,
    SeriesRecord,
    SeriesTerms,
    Unit,
)
from discreet.privacy._guarantee import _number, _odds, spell_factor
from discreet.privacy.accounting import calibrate_gaussian, gaussian_epsilon, gaussian_mu
from privacy.accounting import _exact

RATING, USER = Unit.RATING, Unit.USER


def pure(epsilon: float, unit: Unit = RATING, **more: Any) -> PureEvent:
    return PureEvent(unit=unit, label="x", epsilon=epsilon, mechanism="coin", **more)


def gaussian(mu: float, unit: Unit = RATING, **more: Any) -> GaussianEvent:
    return GaussianEvent(unit=unit, label="x", sensitivity=mu, sigma=1.0, **more)


def promise(unit: Unit, *events: Event, delta: float = 0.0, **more: Any) -> Guarantee:
    return Guarantee(unit, events, delta, **more)


VARIANTS = {
    "pure, per rating": promise(RATING, pure(1.0)),
    "pure, bounded users": promise(RATING, pure(1.0, ratings_per_user=20)),
    "local": promise(RATING, pure(1.0, ratings_per_user=17770, covers_change=True)),
    "per user": promise(USER, pure(0.5, USER)),
    "per user from ratings": promise(USER, pure(0.5, ratings_per_user=3)),
    "gaussian": promise(RATING, gaussian(0.1), delta=1e-6),
    "tiny delta": promise(USER, gaussian(0.1, USER), delta=1e-20),
    "free": promise(RATING, gaussian(0.01), delta=0.3),
    "mixed": promise(USER, gaussian(0.2, USER), pure(0.1, ratings_per_user=2), delta=1e-6),
    "assuming": promise(RATING, pure(1.0), assumes=("items are public", "nobody lies")),
    "weak": promise(USER, pure(40.0, USER)),
    "without noise": promise(RATING, not_private=(NO_NOISE,)),
    "seeded": promise(RATING, gaussian(1.0), not_private=(SEEDED,)),
    "two reasons": promise(RATING, gaussian(1.0), not_private=(SEEDED, NO_NOISE)),
}


def up(factor: float) -> float:
    return math.ceil(factor * 100) / 100


def words(name: str) -> str:
    return str(VARIANTS[name])


def test_numbers_of_pure_noise() -> None:
    made = promise(RATING, pure(0.5, ratings_per_user=20), pure(0.25, ratings_per_user=10))
    assert made.epsilon == pytest.approx(0.75, rel=1e-15)
    assert made.changed_rating == pytest.approx(1.5, rel=1e-15)
    assert made.per(USER) == pytest.approx(12.5, rel=1e-15)
    assert made.per(RATING) == made.epsilon


def test_numbers_of_gaussian_noise() -> None:
    # mu^2 adds up: 3 times 0.2^2 and 0.1^2 are 0.13; a change doubles every mu, a user with 5
    # ratings has 5 times every mu.
    made = promise(
        RATING,
        gaussian(0.2, count=3, ratings_per_user=5),
        gaussian(0.1, ratings_per_user=5),
        delta=1e-6,
    )
    mu = math.sqrt(0.13)
    assert made.epsilon == pytest.approx(gaussian_epsilon(mu, 1e-6), rel=1e-9)
    assert made.changed_rating == pytest.approx(gaussian_epsilon(2 * mu, 1e-6), rel=1e-9)
    assert made.per(USER) == pytest.approx(gaussian_epsilon(5 * mu, 1e-6), rel=1e-9)


def test_numbers_per_user() -> None:
    made = promise(USER, gaussian(0.2, USER), delta=1e-6)
    assert made.epsilon == pytest.approx(gaussian_epsilon(0.2, 1e-6), rel=1e-9)
    assert made.per(RATING) == made.changed_rating
    assert made.per(RATING) == pytest.approx(gaussian_epsilon(0.4, 1e-6), rel=1e-9)


def test_a_changed_rating_is_counted_event_by_event() -> None:
    made = promise(RATING, pure(0.5, covers_change=True), pure(0.25))
    assert made.changed_rating == pytest.approx(1.0, rel=1e-15)
    assert "factor 2.72 (epsilon 1)" in str(made)


def test_words_for_a_rating() -> None:
    one, two = (
        _exact.smallest(lambda e: _exact.gaussian_delta(mu, e) <= 1e-6, 2.0)  # noqa: B023
        for mu in (0.1, 0.2)
    )
    assert words("gaussian").splitlines() == [
        f"epsilon {math.ceil(one * 1e4) / 1e4:g}, delta 1e-06, per rating",
        "With or without any one rating, the probability of any outcome changes by at most a "
        f"factor of {up(math.exp(one)):g}, plus at most 1 in 1,000,000.",
        f"Changing a rating counts as removing and re-adding it: factor {up(math.exp(two)):g} "
        f"(epsilon {math.ceil(two * 1e4) / 1e4:g}).",
        "For a person's whole history there is no bound, because nothing limits how many "
        "ratings one person has.",
    ]


def test_words_for_a_user() -> None:
    assert words("per user").splitlines() == [
        "epsilon 0.5, delta 0, per user",
        "With or without any one person's ratings, the probability of any outcome changes by at "
        "most a factor of 1.65.",
        "Adding, removing or changing some of a person's ratings counts as removing the person "
        "and adding them back: factor 2.72 (epsilon 1).",
    ]
    assert words("per user from ratings").splitlines()[-1] == (
        "For one rating added or removed, epsilon is 0.5."
    )


def test_words_for_a_bounded_history_and_for_local_noise() -> None:
    assert words("pure, bounded users").splitlines()[-1] == (
        "For all of a person's ratings, added or removed, epsilon is 20; replaced by others, "
        "it is 40."
    )
    local = words("local")
    assert "For a person's whole history, epsilon is 17,770." in local
    assert "Changing a rating costs no more than adding one." in local
    assert "re-add" not in local


def test_a_replaced_history_costs_twice_the_mu_and_not_twice_the_epsilon() -> None:
    made = promise(RATING, gaussian(0.01, ratings_per_user=30), delta=1e-6)
    twice = gaussian_epsilon(0.6, 1e-6)
    assert twice > 2 * gaussian_epsilon(0.3, 1e-6)
    assert str(made).endswith(f"replaced by others, it is {math.ceil(twice * 1e3) / 1e3:g}.")


def test_words_for_a_promise_that_delta_alone_keeps() -> None:
    assert "the probability of any outcome changes by at most 1 in 3." in words("free")


def test_words_for_what_it_assumes_and_for_a_weak_promise() -> None:
    assert words("assuming").splitlines()[-1] == (
        "It assumes that items are public; that nobody lies."
    )
    assert words("weak").splitlines()[-1] == (
        "An epsilon above 10 promises little on its own: prefer a smaller one."
    )
    assert "promises little" not in str(promise(RATING, pure(10.0)))


def test_words_for_no_promise() -> None:
    assert words("without noise") == "no guarantee\nNot private: no noise was added."
    assert words("two reasons") == (
        "no guarantee\nNot private: its noise came from a seed, and whoever knows the seed can "
        "remove it; no noise was added."
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_made_of_sentences(name: str) -> None:
    for sentence in VARIANTS[name].sentences():
        assert re.fullmatch(r"[A-Z].*[^.]\.", sentence)
        assert "  " not in sentence
        for unseemly in ("None", "nan", "inf ", "1 times", "e+", "times times", "()", ", ,"):
            assert unseemly not in sentence


@given(st.floats(1e-12, 1e9))
def test_epsilon_is_printed_rounded_up(epsilon: float) -> None:
    shown = float(_number(epsilon).replace(",", ""))
    assert epsilon * (1 - 1e-9) <= shown <= epsilon * 1.001001
    digits = re.sub(r"e.*|\D", "", _number(epsilon)).strip("0")
    assert len(digits) <= 4


@given(st.floats(1e-6, 700))
def test_the_factor_is_printed_rounded_up(epsilon: float) -> None:
    shown = spell_factor(epsilon)
    power = re.fullmatch(r"10\^(\d+)", shown)
    if power:
        assert math.exp(epsilon) * (1 - 1e-8) <= 10 ** int(power.group(1))
        assert math.exp(epsilon) * 10.1 >= 10 ** int(power.group(1))
    else:
        number = float(shown.replace(",", ""))
        assert math.exp(epsilon) * (1 - 1e-9) <= number <= math.exp(epsilon) * 1.0101


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.3, "0.3"),
        (0.30001, "0.3001"),
        (1 + 1e-10, "1"),
        (1 + 1e-8, "1.001"),
        (9999.5, "10,000"),
        (17770.0, "17,770"),
        (123456.0, "123,500"),
        (1.2341e12, "1.235e+12"),
        (1e-06, "1e-06"),
        (5e-324, "1e-300"),
    ],
)
def test_numbers_in_print(value: float, shown: str) -> None:
    assert _number(value) == shown


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        (math.log(2), "2"),
        (1.0, "2.72"),
        (1e-5, "1.01"),
        (13.0, "443,000"),
        (13.81, "10^6"),
        (math.log(10) * 20, "10^20"),
        (math.log(10) * 20 + 1e-6, "10^21"),
        (1e12, "10^434294481904"),
    ],
)
def test_factors_in_print(epsilon: float, shown: str) -> None:
    assert spell_factor(epsilon) == shown


@pytest.mark.parametrize(
    ("delta", "odds"),
    [
        (1e-5, "1 in 100,000"),
        (0.15, "1 in 6"),
        (0.9, "1 in 1"),
        (3e-7, "1 in 3,333,333"),
        (1e-18, "1 in 10^15"),
    ],
)
def test_odds_are_never_better_than_delta(delta: float, odds: str) -> None:
    assert _odds(delta) == odds


def test_a_budget_that_was_asked_for_is_printed_as_asked() -> None:
    for epsilon in (0.1, 0.5, 1.0, 3.0, 10.0):
        sigma = calibrate_gaussian(1.0, epsilon, 1e-6)
        event = GaussianEvent(unit=USER, label="x", sensitivity=1.0, sigma=sigma)
        assert str(promise(USER, event, delta=1e-6)).startswith(f"epsilon {epsilon:g}, delta 1e-06")
    tenths = promise(RATING, pure(0.1, count=10))
    assert str(tenths).startswith("epsilon 1, delta 0, per rating")


def test_gaussian_noise_is_refused_at_delta_zero() -> None:
    with pytest.raises(InputError) as caught:
        promise(RATING, gaussian(1.0))
    assert str(caught.value) == (
        "delta must be from 1e-300 to below 1 for Gaussian noise, not 0; 1e-6 is usual, and "
        "delta 0 needs Laplace noise"
    )


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_a_delta_out_of_range_is_refused(delta: float) -> None:
    with pytest.raises(InputError) as caught:
        promise(RATING, pure(1.0), delta=delta)
    assert str(caught.value) == f"delta must be at least 0 and below 1, not {delta:g}"


def test_a_promise_needs_a_spend_and_a_bound() -> None:
    with pytest.raises(InputError, match="a guarantee rests on what was spent"):
        promise(RATING)
    with pytest.raises(InputError, match="nothing bounds what this costs per user"):
        promise(USER, pure(1.0))
    with pytest.raises(InputError, match="nothing bounds what this costs per rating"):
        promise(RATING, gaussian(1e300), delta=1e-6)
    with pytest.raises(InputError, match="unit is a Unit"):
        Guarantee("rating", (pure(1.0),), 0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["without noise", "seeded", "two reasons"])
def test_what_is_not_private_has_no_finite_number(name: str) -> None:
    made = VARIANTS[name]
    assert not made.is_private
    assert made.epsilon == made.changed_rating == math.inf
    assert made.per(RATING) is made.per(USER) is None
    data = made.to_dict()
    assert data["epsilon"] is data["per"] is data["changed_rating_epsilon"] is None


@pytest.mark.parametrize("name", VARIANTS)
def test_json_gives_the_same_guarantee_back(name: str) -> None:
    made = VARIANTS[name]
    text = json.dumps(made.to_dict(), allow_nan=False)
    back = Guarantee.from_dict(json.loads(text))
    assert back == made
    assert str(back) == str(made)
    assert json.dumps(back.to_dict()) == text


def test_a_tampered_epsilon_is_not_believed() -> None:
    made = VARIANTS["gaussian"]
    lies = {"epsilon": 0.001, "changed_rating_epsilon": 0.002, "words": "Perfectly private."}
    lies["per"] = {"rating": 0.001, "user": 0.001}
    back = Guarantee.from_dict(made.to_dict() | lies)
    assert back == made
    assert back.epsilon == made.epsilon
    assert str(back) == str(made)
    assert "Perfectly" not in str(back.to_dict())


@pytest.mark.parametrize(
    "lie",
    [
        {"unit": "person"},
        {"delta": None},
        {"delta": "small"},
        {"delta": 10**400},
        {"delta": 2},
        {"events": None},
        {"events": ["gaussian"]},
        {"events": []},
        {"events": [{"kind": "magic"}]},
        {"assumes": "nobody lies"},
        {"assumes": [3]},
        {"not_private": None},
    ],
)
def test_wrong_fields_are_refused(lie: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        Guarantee.from_dict(VARIANTS["gaussian"].to_dict() | lie)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["unit", "events", "delta", "assumes", "not_private"])
def test_a_missing_field_is_refused(name: str) -> None:
    data = VARIANTS["gaussian"].to_dict()
    del data[name]
    with pytest.raises(InputError, match=f"a guarantee has wrong fields: '{name}'"):
        Guarantee.from_dict(data)


# --- Series -----------------------------------------------------------------------------------


def in_series(
    unit: Unit, periods: int, *, cap: int | None = None, bound: int | None = None,
    plan: NoisePlan | None = None, timed: bool = True, **more: Any,
) -> Guarantee:  # fmt: skip
    sigma = calibrate_gaussian(1.0, 1.0, 1e-6)
    event = GaussianEvent(
        unit=unit, label="x", sensitivity=1.0, sigma=sigma, ratings_per_user=bound
    )
    terms = SeriesTerms("ab" * 16, unit, event, plan or NoisePlan.fresh(), cap)
    return Guarantee(
        unit, (event,), 1e-6, series=SeriesRecord(terms, periods, "2026-W12", timed), **more
    )


MONTH = Unit.USER_MONTH


def test_a_series_per_rating_in_words() -> None:
    assert in_series(RATING, 52).sentences() == [
        "With or without any one rating, the probability of any outcome of the whole series, all "
        "52 periods so far and all to come, changes by at most a factor of 2.72, plus at most 1 in "
        "1,000,000.",
        "Changing a rating counts as removing and re-adding it: factor 8.36 (epsilon 2.123).",
        "For a person's whole history there is no bound, because nothing limits how many "
        "ratings one person has.",
    ]
    bounded = " ".join(in_series(RATING, 1, bound=3).sentences())
    assert "of the whole series, its first period and all to come, changes" in bounded
    assert "At most 3 ratings of each user and period were kept" in bounded
    three = gaussian_epsilon(3 * gaussian_mu(1.0, 1e-6), 1e-6)
    assert f"of one period, added or removed, epsilon is {_number(three)}." in bounded
    assert "For somebody active in 12 periods, epsilon is" in bounded


@pytest.mark.parametrize("is_private", [True, False])
def test_a_release_of_a_series_says_which_periods_it_was_made_from(is_private: bool) -> None:
    """Not "all of the data": records of later periods, and late ones, are not in it."""
    whole = Provenance(version="0.3", catalog=CatalogOrigin.GIVEN, configuration="ab" * 32)
    more: dict[str, Any] = {} if is_private else {"not_private": ("its noise is seeded",)}
    for periods, said in (
        (1, "one period, 2026-W12"),
        (2, "2 periods, the latest of them 2026-W12"),
        (1200, "1,200 periods, the latest of them 2026-W12"),
    ):
        made = in_series(RATING, periods, provenance=whole, **more)
        assert f"It was made by discreet 0.3 from {said}." in made.sentences()
        assert "all of the data" not in " ".join(made.sentences())
    part = in_series(RATING, 2, provenance=replace(whole, part="a tenth"), **more)
    assert "It was made by discreet 0.3 from part of the data (a tenth)." in part.sentences()


def test_a_series_per_user_and_month_in_words() -> None:
    mu = gaussian_mu(1.0, 1e-6)
    year, so_far = (gaussian_epsilon(mu * math.sqrt(n), 1e-6) for n in (12, 30))
    made = in_series(MONTH, 30)
    assert made.sentences() == [
        "With or without any one person's ratings of any one month, the probability of any outcome "
        "of the whole series, all 30 periods so far and all to come, changes by at most a factor "
        "of 2.72, plus at most 1 in 1,000,000.",
        "Adding, removing or changing some of a person's ratings of one month counts as removing "
        "that month and adding it back: factor 8.36 (epsilon 2.123).",
        f"For somebody active in 12 months, epsilon is {_number(year)}; in all 30 so far, "
        f"{_number(so_far)} (at the same delta), counting what later releases reveal about them.",
    ]
    assert made.per(USER) == pytest.approx(so_far, rel=1e-6)
    assert made.per(RATING) == pytest.approx(made.changed_rating)
    assert made.to_dict()["per"].keys() == {"rating", "user", "user-month"}
    assert str(made).startswith("epsilon 1, delta 1e-06, per user-month\n")


def test_noise_that_is_taken_back_costs_more_for_somebody_who_comes_often() -> None:
    fresh, factorised = (
        in_series(MONTH, 12, plan=plan) for plan in (NoisePlan.fresh(), NoisePlan.factorised())
    )
    assert fresh.epsilon == factorised.epsilon
    often = [made.per(USER) for made in (fresh, factorised)]
    assert often == pytest.approx([3.905, 12.43], rel=1e-3)


def test_a_capped_series_in_words() -> None:
    said = in_series(MONTH, 30, cap=24).sentences()
    assert said[2].startswith("For somebody active in 12 months, epsilon is")
    assert said[3].startswith(
        "Nobody is counted in more than 24 months: over all periods, epsilon is"
    )
    assert "one added or removed can displace another; this epsilon covers both" in said[3]
    assert in_series(MONTH, 30, cap=24).epsilon > in_series(MONTH, 30).epsilon
    # One sentence speaks of a changed month and of one rating more or less.
    for cap in (None, 24):
        made = in_series(MONTH, 30, cap=cap)
        assert made.per(RATING) == pytest.approx(made.changed_rating, rel=1e-12)
    few = in_series(MONTH, 30, cap=1).sentences()
    assert few[2].startswith("Nobody is counted in more than 1 month: over all periods, epsilon")
    assert "12 months" not in " ".join(few)


@pytest.mark.parametrize("unit", [RATING, MONTH])
def test_a_series_without_times_says_what_it_assumes(unit: Unit) -> None:
    made = in_series(unit, 2, timed=False, assumes=("one account is one person",))
    assert made.assumes[0] == "one account is one person"
    assert "no rating was added in two periods" in made.assumes[1]
    assert "(there are no times to check it by)." in " ".join(made.sentences())
    assert ("no month is in two periods" in made.assumes[1]) == (unit is MONTH)
    assert in_series(unit, 2).assumes == ()
    assert Guarantee.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("unit", [RATING, *PERIOD_UNITS])
def test_series_are_read_back_and_not_believed(unit: Unit) -> None:
    made = in_series(unit, 3, cap=None if unit is RATING else 5)
    data = json.loads(json.dumps(made.to_dict()))
    assert Guarantee.from_dict(data) == made
    assert "series" not in promise(RATING, pure(1.0)).to_dict()
    for wrong in (
        {"unit": "user"},
        {"events": [gaussian(5.0, unit).to_dict()]},
        {"series": data["series"] | {"periods": 0}},
        {"series": {"terms": data["series"]["terms"]}},
        {"series": None},
    ):
        with pytest.raises(InputError):
            Guarantee.from_dict(data | wrong)
