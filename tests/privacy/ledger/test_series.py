"""Series: what is booked covers what is drawn, whoever asks, and periods are disjoint."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import CatalogOrigin, InputError
from discreet.domain.errors import BudgetExceeded, LedgerError, PeriodExists
from discreet.privacy import (
    PERIOD_UNITS,
    ChargeRecord,
    GaussianEvent,
    Guarantee,
    NotCharged,
    Provenance,
    PureEvent,
    SeededRandomness,
    Unit,
    _events,
    _series,
)
from discreet.privacy._series import SeriesRecord
from discreet.privacy.accounting import Totals, calibrate_gaussian, gaussian_mu
from discreet.privacy.ledger import Ledger, Limit, Period, SeriesTerms, _periods
from discreet.privacy.ledger._limits import Cost, spend
from discreet.privacy.ledger._store import FORMAT
from discreet.privacy.running_noise import NoisePlan
from privacy.ledger._adversary import Move, Rule, best_delta
from privacy.ledger._first_format import version_of, write_first_format, write_second_format

Floats = npt.NDArray[np.float64]
DAY, WEEK, MONTH = PERIOD_UNITS
RATING, USER = Unit.RATING, Unit.USER
SERIES, ASKED, OTHER = "ab" * 16, "1" * 64, "2" * 64
# Slow decay and a short horizon: where a wrong rule for several stretches is worst.
SLOW = NoisePlan((65536,), (65000,), 4)
FACTORISED, FRESH = NoisePlan.factorised(horizon=6), NoisePlan.fresh()


def gaussian(mu: float, unit: Unit = MONTH, bound: int | None = None) -> GaussianEvent:
    return GaussianEvent(
        unit=unit, label="a series", sensitivity=mu, sigma=1.0, ratings_per_user=bound
    )


def pure(epsilon: float, unit: Unit = MONTH, bound: int | None = None) -> PureEvent:
    return PureEvent(
        unit=unit, label="a series", epsilon=epsilon, mechanism="rr", ratings_per_user=bound
    )


def terms(
    unit: Unit = MONTH,
    plan: NoisePlan = FACTORISED,
    *,
    mu: float = 0.1,
    cap: int | None = None,
    bound: int | None = None,
    crosses: bool = False,
) -> SeriesTerms:
    return SeriesTerms(SERIES, unit, gaussian(mu, unit, bound), plan, cap, crosses)


# --- Calendars, by datetime alone -------------------------------------------------------------


def seconds(date: datetime.date) -> int:
    return int(datetime.datetime.combine(date, datetime.time(), datetime.UTC).timestamp())


def month(number: int, year: int = 2026) -> Period:
    """The calendar month that so many months after December of the year before."""
    first, then = (datetime.date(year + (n // 12), n % 12 + 1, 1) for n in (number - 1, number))
    return Period(number, f"{first:%Y-%m}", seconds(first), seconds(then))


def spans(number: int, days: int, first: datetime.date) -> list[Period]:
    starts = [seconds(first + datetime.timedelta(days=days * n)) for n in range(number + 1)]
    return [Period(n + 1, f"number {n + 1}", starts[n], starts[n + 1]) for n in range(number)]


MONDAY = datetime.date(2026, 1, 26)
CALENDAR = {
    DAY: spans(70, 1, datetime.date(2026, 1, 20)),
    WEEK: spans(20, 7, MONDAY),
    MONTH: [month(n) for n in range(1, 10)],
}


def windows(unit: Unit, periods: Sequence[Period]) -> list[tuple[int, int]]:
    """Every calendar day, week or month (UTC) that meets some of the periods."""
    start, end = periods[0].start, periods[-1].end
    assert start is not None and end is not None
    date = datetime.datetime.fromtimestamp(start, datetime.UTC).date()
    found = []
    while seconds(date) < end:
        if unit is DAY:
            first, then = date, date + datetime.timedelta(days=1)
        elif unit is WEEK:
            first = date - datetime.timedelta(days=date.weekday())
            then = first + datetime.timedelta(days=7)
        else:
            first = date.replace(day=1)
            then = (first + datetime.timedelta(days=32)).replace(day=1)
        found.append((seconds(first), seconds(then)))
        date = then
    return found


# --- The linear mechanism, by brute force -----------------------------------------------------


def matrix(plan: NoisePlan, periods: int) -> Floats:
    """A draw of period t sees a(s) c(t - s) times what is measured in s, in the same stretch."""
    c = plan.coefficients(plan.horizon)
    made = np.zeros((periods, periods))
    for t in range(periods):
        first = t // plan.horizon * plan.horizon
        for s in range(first, t + 1):
            made[t, s] = plan.boost(s - first + 1) / 2**16 * c[t - s]
    return made / math.sqrt(float(np.sum(c**2)))


def worst_shifts(asked: SeriesTerms, unit: Unit, periods: Sequence[Period]) -> Iterator[Floats]:
    """By how many units of the series each period's integers move between the worlds, at most."""
    n = len(periods)
    if unit is USER or (unit is asked.unit and unit is not RATING and not periods[0].is_timed):
        most = asked.most_periods or n
        for pattern in range(1, 2**n):
            active = np.array([pattern >> t & 1 for t in range(n)], dtype=float)
            if active.sum() <= most:
                yield active * (asked.event.ratings_per_user or 1)
        return
    if unit is RATING:
        for t in range(n):
            yield np.eye(n)[t] * (1 if asked.unit is RATING else 2)
        return
    for start, end in windows(unit, periods):
        shifts = np.zeros(n)
        for t, period in enumerate(periods):
            assert period.start is not None and period.end is not None
            if period.start < end and start < period.end:
                whole = start <= period.start and period.end <= end
                shifts[t] = 1 if whole else 2  # all of it goes, or a part: changed
                if asked.unit is RATING:
                    shifts[t] = asked.event.ratings_per_user or 1
        yield shifts


def understated(asked: SeriesTerms, unit: Unit, periods: Sequence[Period]) -> bool:
    """Whether somebody pays more, after some period, than what is booked until then."""
    assert isinstance(asked.event, GaussianEvent)
    c = matrix(asked.plan, len(periods))
    booked = [
        asked.cost(unit, periods[: n + 1]).mu_squared / asked.event.mu**2
        for n in range(len(periods))
    ]
    return any(
        bool((np.cumsum((c @ shifts) ** 2) > np.array(booked) * (1 + 1e-9)).any())
        for shifts in worst_shifts(asked, unit, periods)
    )


@st.composite
def plans(draw: st.DrawFn) -> NoisePlan:
    buffers = draw(st.integers(0, 3))
    weights = draw(
        st.lists(st.integers(0, 65536 // max(buffers, 1)), min_size=buffers, max_size=buffers)
    )
    decays = draw(st.lists(st.integers(0, 65535), min_size=buffers, max_size=buffers))
    return NoisePlan(tuple(weights), tuple(decays), draw(st.integers(1, 9)))


@settings(max_examples=60, deadline=None)
@given(
    plan=plans(), n=st.integers(1, 9), cap=st.none() | st.integers(1, 9), bound=st.integers(1, 5)
)
def test_users_never_pay_more_than_what_is_booked(
    plan: NoisePlan, n: int, cap: int | None, bound: int
) -> None:
    assert not understated(terms(MONTH, plan, cap=cap), USER, CALENDAR[MONTH][:n])
    assert not understated(terms(RATING, plan, bound=bound), USER, CALENDAR[MONTH][:n])


@settings(max_examples=60, deadline=None)
@given(
    plan=plans(),
    series=st.sampled_from([RATING, *PERIOD_UNITS]),
    seen=st.sampled_from([RATING, *PERIOD_UNITS]),
)
def test_no_other_unit_pays_more_than_what_is_booked(
    plan: NoisePlan, series: Unit, seen: Unit
) -> None:
    periods = CALENDAR[WEEK if series is RATING else series]
    assert not understated(terms(series, plan, bound=3), seen, periods)


@settings(max_examples=40, deadline=None)
@given(
    plan=plans(),
    seen=st.sampled_from(PERIOD_UNITS),
    days=st.lists(st.integers(1, 40), min_size=2, max_size=12),
)
def test_periods_of_any_length_are_booked_for_every_unit(
    plan: NoisePlan, seen: Unit, days: list[int]
) -> None:
    ends = np.cumsum([0, *days])
    first = seconds(datetime.date(2026, 1, 20))
    periods = [
        Period(n + 1, f"number {n + 1}", first + 43_200 * int(a), first + 43_200 * int(b))
        for n, (a, b) in enumerate(itertools.pairwise(ends))
    ]
    assert not understated(terms(RATING, plan, bound=3), seen, periods)


def fills_first(self: NoisePlan, periods: int, active: int | None = None) -> float:
    """Growth as if the worst were to fill one stretch of noise before the next."""
    active = periods if active is None else min(active, periods)
    whole, rest = divmod(active, self.horizon)
    return float(whole * self._grown[-1] + self._grown[rest])


def counts(self: NoisePlan, periods: int, active: int | None = None) -> float:
    """Growth as with fresh noise: one more for each period."""
    return float(periods if active is None else min(active, periods))


@pytest.mark.parametrize(
    ("wrong", "n", "cap"), [(counts, 4, None), (counts, 6, 3), (fills_first, 8, 5)]
)
def test_wrong_rules_for_users_are_noticed(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., float], n: int, cap: int | None
) -> None:
    asked, periods = terms(MONTH, SLOW, cap=cap), CALENDAR[MONTH][:n]
    assert not understated(asked, USER, periods)
    monkeypatch.setattr(NoisePlan, "growth", wrong)
    assert understated(asked, USER, periods)


@pytest.mark.parametrize(
    ("series", "seen", "group"),
    [(WEEK, MONTH, 6), (MONTH, WEEK, 2), (MONTH, DAY, 1), (DAY, WEEK, 6)],
)
def test_wrong_groups_are_noticed(
    monkeypatch: pytest.MonkeyPatch, series: Unit, seen: Unit, group: int
) -> None:
    periods = CALENDAR[series]
    asked = terms(series, NoisePlan((65536,), (65535,), len(periods)))
    assert not understated(asked, seen, periods)
    monkeypatch.setitem(_events._GROUPS, (series, seen), group)
    assert understated(asked, seen, periods)


def test_a_wrong_count_of_periods_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, periods = terms(RATING, SLOW, bound=3), CALENDAR[WEEK]
    monkeypatch.setattr(_series, "_met", lambda *_: 1)
    assert understated(asked, MONTH, periods)


def test_what_is_booked_is_what_the_proof_says() -> None:
    plan = NoisePlan.factorised()
    capped = terms(MONTH, plan, mu=1.0, cap=12)
    assert capped.cost_of_life(12).mu == pytest.approx(9.34, abs=0.01)
    assert capped.cost_after(USER, 52).mu == pytest.approx(9.34, abs=0.01)
    assert capped.cost_after(USER, 12).mu == pytest.approx(6.35, abs=0.01)
    asked = terms(WEEK, FRESH, mu=1.0)
    weeks = CALENDAR[WEEK]
    seen = {unit: asked.cost(unit, weeks).mu_squared for unit in Unit}
    assert seen == pytest.approx({RATING: 4, USER: 20, DAY: 4, WEEK: 1, MONTH: 24})
    assert terms(MONTH, FRESH, mu=1.0, crosses=True).cost_after(USER, 5).mu_squared == (
        pytest.approx(25)
    )
    assert asked.cost(USER, ()) == Totals()


def test_pure_series_add_up_by_periods() -> None:
    asked = SeriesTerms(SERIES, WEEK, pure(0.1, WEEK), FRESH, 3)
    weeks = CALENDAR[WEEK]
    grown = [asked.cost(USER, weeks[:n]).pure for n in range(1, 6)]
    assert grown == pytest.approx([0.1, 0.2, 0.3, 0.3, 0.3])
    assert [asked.cost(unit, weeks).pure for unit in (RATING, DAY, WEEK, MONTH)] == (
        pytest.approx([0.2, 0.2, 0.2, 0.6])
    )
    unbounded = SeriesTerms(SERIES, RATING, pure(0.1, RATING), FRESH)
    assert math.isinf(unbounded.cost(USER, weeks).pure)
    assert unbounded.cost(RATING, weeks).pure == 0.1


# --- An adversary who mixes periods and other releases ----------------------------------------

_SHARES = (0.3, 1.0)


def with_series(limit: Limit, asked: SeriesTerms, active: Sequence[bool]) -> Rule:
    """Another period of a series, or a release that fits: as the adversary pleases.

    Args:
        limit: Of the unit that is looked at.
        asked: Of the series.
        active: In which periods the unit has records.
    """
    c = matrix(asked.plan, len(active)) @ np.diag(active)
    assert isinstance(asked.event, GaussianEvent)
    drawn = asked.event.mu * c.sum(axis=1)

    def moves(state: tuple[Totals, int]) -> Iterator[Move]:
        spent, n = state
        if n < len(active):
            before, after = (asked.cost_after(limit.unit, k).mu_squared for k in (n, n + 1))
            more = spend(spent, [Cost(Totals(mu_squared=after - before))], limit.reserve)
            if limit.admits(more):
                if drawn[n] > 0:
                    yield Move(float(drawn[n]), 0.0, (more, n + 1))
                else:
                    yield from moves((more, n + 1))
        room = limit.room(spent)
        for share in _SHARES:
            for mu, epsilon in ((room.mu * math.sqrt(share), 0.0), (0.0, room.pure * share)):
                if max(mu, epsilon) > 1e-4:
                    cost = Cost(Totals(epsilon, mu * mu))
                    yield Move(mu, epsilon, (spend(spent, [cost], limit.reserve), n))

    return moves


STEEP = NoisePlan((65536,), (65535,), 3)
PATTERNS = [(True, True, True), (True, False, True), (False, True, True), (False, False, True)]


@pytest.mark.parametrize("active", PATTERNS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (3.0, 1e-4)])
@pytest.mark.parametrize("plan", [FRESH, STEEP])
def test_no_adversary_passes_a_users_limit_by_periods_and_releases(
    active: Sequence[bool], epsilon: float, delta: float, plan: NoisePlan
) -> None:
    limit = Limit(USER, epsilon, delta)
    asked = terms(MONTH, plan, mu=0.4 * gaussian_mu(epsilon, delta))
    worst = best_delta(with_series(limit, asked, active), (Totals(), 0), 3, np.array([epsilon]))
    assert worst.item() <= delta * (1 + 1e-6)


@pytest.mark.parametrize("when", range(3))
@pytest.mark.parametrize("plan", [FRESH, STEEP])
def test_no_adversary_passes_a_months_limit_whenever_the_month_was(
    when: int, plan: NoisePlan
) -> None:
    limit, active = Limit(MONTH, 1.0, 1e-6), np.eye(3, dtype=bool)[when].tolist()
    asked = terms(MONTH, plan, mu=0.6 * gaussian_mu(1.0, 1e-6))
    worst = best_delta(with_series(limit, asked, active), (Totals(), 0), 3, np.array([1.0]))
    assert worst.item() <= 1e-6 * (1 + 1e-6)


def test_the_adversary_passes_a_limit_where_periods_are_only_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = Limit(USER, 1.0, 1e-6)
    asked = terms(MONTH, STEEP, mu=0.55 * gaussian_mu(1.0, 1e-6))
    monkeypatch.setattr(NoisePlan, "growth", counts)
    rule = with_series(limit, asked, (True, True, True))
    assert best_delta(rule, (Totals(), 0), 3, np.array([1.0])).item() > 2e-6


# --- Charging ---------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    limits = [Limit(MONTH, 1.0, 1e-6), Limit(USER, 40.0, 1e-6)]
    return Ledger.create(tmp_path / "people.ledger", "people", limits)


def whole(unit: Unit = MONTH, epsilon: float = 1.0, most_periods: int | None = None) -> SeriesTerms:
    """A series that takes all of a limit of 1 at 1e-6."""
    event = GaussianEvent(
        unit=unit, label="a series", sensitivity=1.0, sigma=calibrate_gaussian(1.0, epsilon, 1e-6)
    )
    return SeriesTerms(SERIES, unit, event, FACTORISED, most_periods)


def charge(
    ledger: Ledger, period: Period, asked: SeriesTerms | None = None, **more: object
) -> ChargeRecord:
    options = {"configuration": ASKED} | more
    receipt = ledger.charge_period(asked or whole(), period, "a refresh", **options)  # type: ignore[arg-type]
    assert receipt.charge is not None and receipt.events == ((asked or whole()).event,)
    return receipt.charge


def add(ledger: Ledger, period: Period, asked: SeriesTerms | None = None) -> ChargeRecord:
    record = charge(ledger, period, asked)
    ledger.record_publication(record, f"{period.number:064x}")
    return record


def test_a_series_goes_on_under_a_limit_that_its_first_period_fills(ledger: Ledger) -> None:
    for n in range(1, 8):
        add(ledger, month(n))
    assert Limit(MONTH, 1.0, 1e-6).spent_epsilon(ledger.spent(MONTH)) == pytest.approx(1.0)
    for unit in Unit:
        expected = whole().cost(unit, [month(n) for n in range(1, 8)])
        assert ledger.spent(unit).mu_squared == pytest.approx(expected.mu_squared, rel=1e-9)
        assert ledger.spent(unit).mu_squared >= expected.mu_squared
    with pytest.raises(BudgetExceeded, match=r"per user-month.*discreet series"):
        ledger.charge([gaussian(0.1, USER)], "one more")
    entries = Ledger.open(ledger.path).history()
    assert [entry.period for entry in entries] == [month(n) for n in range(1, 8)]
    assert {entry.terms for entry in entries} == {whole()}
    assert ledger.periods(SERIES) == tuple(month(n) for n in range(1, 8))


def test_a_users_limit_ends_a_series_unless_periods_are_capped(tmp_path: Path) -> None:
    limits = [Limit(USER, 4.0, 1e-6)]
    for cap, expected in ((None, 5), (2, 30)):
        ledger = Ledger.create(tmp_path / f"{cap}.ledger", "people", limits)
        for n in range(1, expected + 1):
            add(ledger, month(n), whole(most_periods=cap))
        if cap is None:
            with pytest.raises(BudgetExceeded, match=r"per user; .*most_periods"):
                add(ledger, month(expected + 1), whole())
        assert len(ledger.history()) == expected


def test_a_rating_series_without_a_bound_is_refused_where_users_have_a_limit(
    ledger: Ledger,
) -> None:
    asked = whole(RATING)
    with pytest.raises(BudgetExceeded, match="nothing bounds what this costs a user"):
        ledger.charge_period(asked, month(1), "x")
    assert ledger.history() == []


def test_a_published_period_is_refused_by_number_name_and_time(ledger: Ledger) -> None:
    add(ledger, month(1))
    add(ledger, month(2))
    third = month(3)
    again = [
        month(1),
        month(2),
        replace(month(2), name="other"),
        replace(third, name="2026-02"),
        replace(third, start=month(2).start, end=month(2).end),
    ]
    before = ledger.path.read_bytes()
    for period in again:
        with pytest.raises(PeriodExists, match="was published with charge"):
            charge(ledger, period)
    assert ledger.path.read_bytes() == before


def hours(period: Period, first: int, last: int) -> Period:
    assert period.start is not None
    return replace(period, start=period.start + 3600 * first, end=period.start + 3600 * last)


@pytest.mark.parametrize(
    ("period", "complaint"),
    [
        (month(4), "the next period of this series is number 3, not 4"),
        (hours(month(3), -24, 24), "does not lie within one month"),
        (replace(hours(month(2), 300, 310), number=3, name="x"), "'x' overlaps '2026-02'"),
        (replace(hours(month(1), 0, 24), number=3, name="x"), "'x' lies before '2026-02'"),
        (Period(3, "x"), "all periods of a series have a start and an end, or none has"),
    ],
)
def test_periods_that_are_not_the_next_are_refused(
    ledger: Ledger, period: Period, complaint: str
) -> None:
    add(ledger, month(1))
    add(ledger, hours(month(2), 0, 305))
    with pytest.raises(InputError, match=complaint):
        charge(ledger, period)
    assert len(ledger.history()) == 2


def test_a_month_counts_in_one_period_only(ledger: Ledger) -> None:
    add(ledger, hours(month(1), 0, 100))
    second = replace(hours(month(1), 100, 200), number=2, name="second")
    with pytest.raises(InputError, match="is of the same month"):
        charge(ledger, second)


def test_overlapping_periods_would_be_paid_once_if_they_were_not_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the check is for: a record in two periods is drawn twice and booked once."""
    monkeypatch.setattr(_periods, "_check_follows", lambda *_: None)
    monkeypatch.setattr(_periods, "_check_aligned", lambda *_: None)
    add(ledger, month(1))
    add(ledger, replace(hours(month(1), 0, 24), number=2, name="again"))
    c = matrix(FACTORISED, 2).sum(axis=1)
    drawn = float(np.sum(c**2)) * whole().event.mu ** 2  # type: ignore[attr-defined]
    assert drawn > ledger.spent(MONTH).mu_squared


def test_terms_never_change(ledger: Ledger) -> None:
    add(ledger, month(1))
    for other in (
        replace(whole(), most_periods=5),
        replace(whole(), plan=FRESH),
        replace(whole(), event=replace(whole().event, label="another")),
        whole(epsilon=0.5),
    ):
        with pytest.raises(InputError, match="begun under other terms"):
            charge(ledger, month(2), other)
    with pytest.raises(BudgetExceeded):  # another series is paid for like any other release
        charge(ledger, month(1), replace(whole(), series="cd" * 16))


def test_an_interrupted_period_is_charged_once(ledger: Ledger) -> None:
    add(ledger, month(1))
    first = charge(ledger, month(2))
    spent = {unit: ledger.spent(unit) for unit in Unit}
    assert charge(ledger, month(2)) == first
    assert len(ledger.history()) == 2 and {unit: ledger.spent(unit) for unit in Unit} == spent
    with pytest.raises(InputError, match="'2026-02' was charged and not published; repeat it"):
        charge(ledger, month(3))
    assert ledger.periods(SERIES) == (month(1),)
    ledger.record_publication(first, "f" * 64)
    with pytest.raises(LedgerError, match="has paid for another file"):
        ledger.record_publication(first, "e" * 64)
    add(ledger, month(3))


@pytest.mark.parametrize(
    "changed",
    [
        {"configuration": OTHER},
        {"randomness": SeededRandomness(1)},
        {"period": hours(month(1), 0, 24)},
    ],
)
def test_a_period_repeated_otherwise_is_a_charge_of_its_own_and_replaces_the_first(
    ledger: Ledger, changed: dict[str, object]
) -> None:
    first = charge(ledger, month(1))
    spent = {unit: ledger.spent(unit) for unit in Unit}
    second = charge(ledger, **{"period": month(1)} | changed)  # type: ignore[arg-type]
    assert (first.number, second.number) == (1, 2)
    assert {unit: ledger.spent(unit) for unit in Unit} == spent
    with pytest.raises(LedgerError, match="charge 1 was replaced by charge 2"):
        ledger.record_publication(first, "f" * 64)
    ledger.record_publication(second, "f" * 64)
    ledger.record_publication(second, "f" * 64)
    add(ledger, month(2))


def test_a_receipt_of_a_period_is_good_for_one_draw(ledger: Ledger) -> None:
    receipt = ledger.charge_period(whole(), month(1), "x")
    receipt.redeem(whole().event)
    with pytest.raises(NotCharged):
        receipt.redeem(whole().event)


def test_periods_without_times_follow_by_number(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "people", [Limit(MONTH, 1.0, 1e-6)])
    for n in range(1, 4):
        add(ledger, Period(n, f"part {n}"))
    with pytest.raises(InputError, match="or none has"):
        charge(ledger, month(4))
    with pytest.raises(PeriodExists):
        charge(ledger, Period(4, "part 2"))


@pytest.mark.parametrize("write", [write_first_format, write_second_format])
def test_a_series_begins_in_an_old_ledger(tmp_path: Path, write: Callable[..., None]) -> None:
    path = tmp_path / "old.ledger"
    write(path, pure(0.1, USER), charges=2)
    ledger = Ledger.open(path)
    asked = SeriesTerms(SERIES, MONTH, pure(0.1), FRESH)
    add(ledger, month(1), asked)
    add(ledger, month(2), asked)
    assert version_of(path) == FORMAT
    reopened = Ledger.open(path)
    spent = {unit: reopened.spent(unit).pure for unit in Unit}
    assert spent == pytest.approx({RATING: 0.6, USER: 0.4, DAY: 0.6, WEEK: 0.8, MONTH: 0.5})


@pytest.mark.parametrize("field", ["series", "spent"])
def test_what_is_written_of_a_period_is_part_of_the_chain(ledger: Ledger, field: str) -> None:
    add(ledger, month(1))
    add(ledger, month(2))
    with contextlib.closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute(f"UPDATE charges SET {field} = replace({field}, '1', '2')")
    for use in (Ledger.open, lambda _: charge(ledger, month(3))):
        with pytest.raises(LedgerError, match="damaged"):
            use(ledger.path)


# --- Files ------------------------------------------------------------------------------------


def promise(
    record: ChargeRecord, periods: int, name: str, asked: SeriesTerms | None = None
) -> Guarantee:
    provenance = Provenance(
        version="0.3.0", catalog=CatalogOrigin.GIVEN, configuration=ASKED, charge=record
    )
    series = SeriesRecord(asked or whole(), periods, name, is_timed=True)
    return Guarantee(MONTH, (whole().event,), 1e-6, provenance=provenance, series=series)


def test_a_release_of_a_series_is_paired_with_its_charge(ledger: Ledger) -> None:
    add(ledger, month(1))
    record = add(ledger, month(2))
    made = promise(record, 2, "2026-02")
    assert ledger.pair(made, f"{2:064x}").sentences() == [
        "Charge 2 of this ledger paid for this file."
    ]
    for other, complaint in (
        (promise(record, 1, "2026-01"), "another period"),
        (promise(record, 2, "2026-02", replace(whole(), most_periods=9)), "other terms"),
        (replace(made, series=None), "other terms"),
    ):
        assert complaint in " ".join(ledger.pair(other, f"{2:064x}").problems)


# --- What cannot be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"series": "XYZ"}, "16 to 64 hexadecimal digits"),
        ({"unit": USER}, "a series protects ratings or a user's records of one period"),
        ({"unit": WEEK}, "an event of the same unit"),
        ({"event": replace(gaussian(0.1), count=2)}, "one event, not several"),
        ({"event": pure(0.1)}, "has to be Gaussian"),
        ({"plan": None}, "a series has a noise plan"),
        ({"most_periods": 0}, "whole number from 1"),
        ({"crosses": 1}, "crosses is True or False"),
        ({"unit": RATING, "event": gaussian(0.1, RATING), "most_periods": 3}, "not ratings"),
    ],
)
def test_senseless_terms_are_refused(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        replace(whole(), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"number": 0}, "whole number from 1"),
        ({"name": "two\nlines"}, "one line"),
        ({"start": None}, "both its start and its end"),
        ({"start": 1.5}, "whole seconds"),
        ({"end": 5}, "ends after its start"),
        ({"start": -1}, "1970 or later"),
    ],
)
def test_senseless_periods_are_refused(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        replace(month(1), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [whole(), whole(most_periods=3), terms(RATING, SLOW, bound=4)])
def test_terms_and_periods_are_read_back(asked: SeriesTerms) -> None:
    assert SeriesTerms.from_dict(asked.to_dict()) == asked
    assert Period.from_dict(month(3).to_dict()) == month(3)
    with pytest.raises(InputError, match="other fields"):
        SeriesTerms.from_dict(asked.to_dict() | {"more": 1})
    with pytest.raises(InputError, match="unit that this version does not know"):
        SeriesTerms.from_dict(asked.to_dict() | {"unit": "user-year"})
