"""Debiasing is unbiased, its noise is what the law says, and a release comes out that predicts."""

from __future__ import annotations

import dataclasses
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.predict import People
from discreet.privacy import SEEDED, SeededRandomness, Unit
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.protocols.local_reports.server import (
    AnswerLaw,
    LocalReports,
    Spool,
    _products,
    geometric_variance,
    popular_items,
    report,
    reported_effects,
)
from discreet.release import Release, load
from protocols.local_reports._making import (
    FIVE_STARS,
    MECHANISMS,
    make_collection,
    make_people,
    send_all,
)


def truth(people: People, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratings above mid, 0 where there is none; and where there is one."""
    rows = np.repeat(np.arange(len(people)), np.diff(people.starts))
    x, e = np.zeros((2, len(people), items))
    x[rows, people.items], e[rows, people.items] = people.values - 3, 1
    return x, e


def debiased(collection: Collection, reports: list[Report]) -> tuple[np.ndarray, np.ndarray]:
    """x and e for every report, the slow way."""
    law = AnswerLaw.of(collection)
    x, shown = np.zeros((2, len(reports), len(collection.catalog)))
    for row, each in enumerate(reports):
        x[row, each.items] = law.slope * collection.centred(each.values)
        shown[row, each.items] = 1
    return x, (shown - law.fake) / law.gap


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("scale", [FIVE_STARS, Scale(0.5, 5, 0.5)])
def test_one_answer_is_debiased(mechanism: str, epsilon: float, scale: Scale) -> None:
    """By the exact formula: the mean and the second moment of x and y for each rating."""
    collection = make_collection(2, mechanism, epsilon, scale=scale)
    law, m = AnswerLaw.of(collection), 0.7
    assert scale.levels is not None
    for rating in (None, *scale.levels):
        chances, z, s = _outcomes(collection, rating)
        x, e = law.slope * z * s, (s - law.fake) / law.gap
        true = 0.0 if rating is None else rating - scale.mid
        assert chances @ x == pytest.approx(true, abs=1e-9)
        assert chances @ e == pytest.approx(float(rating is not None), abs=1e-9)
    # Everybody rates at the level m, on average, with a variance of 0.
    exact = law.moment(np.array([m]), np.array([0.0]), 0.0, collection.unit)
    chances, z, s = _outcomes(collection, None)
    y = law.slope * z * s - m * (s - law.fake) / law.gap
    assert chances @ y**2 == pytest.approx(float(exact[0]), rel=1e-9)
    top = scale.range / 2
    exact = law.moment(np.array([top]), np.array([1.0]), 0.0, collection.unit)
    chances, z, s = _outcomes(collection, scale.hi)
    y = law.slope * z * s - top * (s - law.fake) / law.gap
    assert chances @ y**2 == pytest.approx(float(exact[0]), rel=1e-6)
    assert chances @ (s - chances @ s) ** 2 / law.gap**2 == pytest.approx(
        float(law.presence_variance(np.array([1.0]))[0])
    )


def _outcomes(
    collection: Collection, rating: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every answer of one item: its chance, z and s."""
    centre = 0 if rating is None else int(collection.to_grid(np.array([rating]))[0])
    if collection.answers:
        step = 2 * collection.reach // (collection.answers - 1)
        symbol = 0.0 if rating is None else (centre + collection.reach) / step + 1
        reports = collection.centred(np.arange(1, collection.answers + 1))
        # Between two answers: the upper one with the chance of its share.
        low, high = (collection.response.probabilities(r(symbol)) for r in (math.floor, math.ceil))
        chances = low + (symbol - math.floor(symbol)) * (high - low)
        return chances, np.append(0, reports), np.append(0.0, np.ones(len(reports)))
    reach, keep = 60 * collection.reach * 4, collection.laplace.keep
    z = np.arange(-reach, reach + 1)
    ratio = math.exp(-1 / collection.laplace.scale)
    shown = 1 - keep if rating is None else keep
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(z - centre)
    return np.append(1 - shown, shown * law), np.append(0, z), np.append(0.0, np.ones(len(z)))


def test_the_noise_has_the_variance_it_is_said_to_have() -> None:
    for scale in (0.3, 2.0, 400.0):
        k = np.arange(1, int(60 * scale) + 2)
        ratio = math.exp(-1 / scale)
        direct = 2 * float((k**2 * (1 - ratio) / (1 + ratio) * ratio**k).sum())
        assert geometric_variance(scale) == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sums_and_products_are_unbiased(mechanism: str) -> None:
    """Many epochs of the same people: means over draws against the truth, in standard errors."""
    items, draws = 6, 120
    people = make_people(40, items, seed=2, share=0.5)
    x, e = truth(people, items)
    collection = make_collection(items, mechanism, 2.0)
    randomness = SeededRandomness(f"unbiased {mechanism}")
    found = np.zeros((draws, 4, items, items))
    for draw in range(draws):
        seen_x, seen_e = debiased(collection, list(send_all(collection, people, randomness)))
        found[draw] = (
            np.diag(seen_x.sum(axis=0)), np.diag(seen_e.sum(axis=0)),
            seen_x.T @ seen_x, seen_e.T @ seen_e,
        )  # fmt: skip
    true = np.array([np.diag(x.sum(axis=0)), np.diag(e.sum(axis=0)), x.T @ x, e.T @ e])
    error = found.std(axis=0) / math.sqrt(draws)
    off = np.abs(found.mean(axis=0) - true)
    for kind in (0, 1):
        assert np.all(np.diagonal(off[kind] <= 4.5 * error[kind] + 1e-9))
    between = ~np.eye(items, dtype=bool)
    for kind in (2, 3):
        assert np.all((off[kind] <= 4.5 * error[kind])[between])
        # Squares of one answer are not: that is why the diagonal is never used.
        assert np.all((off[kind] > 4.5 * error[kind])[~between])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_blocks_give_what_the_slow_way_gives(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.protocols.local_reports.server._CELLS", 19 * 7)
    collection = make_collection(19, mechanism, 2.0)
    reports = list(send_all(collection, make_people(50, 19, seed=3)))
    law = AnswerLaw.of(collection)
    x, e = debiased(collection, reports)
    with Spool(collection) as spool:
        totals = spool.fill(iter(reports))
        effects = reported_effects(collection, law, totals)
        head = np.array([1, 4, 5, 18], np.int32)
        cov, wgt = _products(law, effects, spool, head)
    assert totals.reports == 50
    np.testing.assert_allclose(law.slope * totals.sums, x.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(effects.counts, e.sum(axis=0), atol=1e-9)
    y, e = (x - effects.levels * e)[:, head], e[:, head]
    longest = 2 * effects.moments[head].sum() + 10 * law.usual_square
    shorter = np.minimum(1, longest / (y**2).sum(axis=1))[:, None]
    for found, exact in ((cov, y.T @ (y * shorter)), (wgt, e.T @ (e * shorter))):
        np.fill_diagonal(exact, 0)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_noise_is_as_large_as_the_law_says(mechanism: str) -> None:
    """Without tastes, entries scatter by sqrt(people v_i v_j) and nothing stands out."""
    items = 120
    people = make_people(600, items, seed=4, share=0.1, taste=0.0)
    collection = make_collection(items, mechanism, 1.0)
    law = AnswerLaw.of(collection)
    with Spool(collection) as spool:
        effects = reported_effects(collection, law, spool.fill(send_all(collection, people)))
        cov, _ = _products(law, effects, spool, np.arange(items, dtype=np.int32))
    roots = np.sqrt(effects.moments)
    even = (cov / roots[:, None] / roots)[np.triu_indices(items, 1)]
    assert even.std() == pytest.approx(math.sqrt(600), rel=0.06)
    release = LocalReports(collection).build(send_all(collection, people))
    assert report(release)["factors"] == 0


def rmse_of(release: Release, own: People, held: People) -> float:
    rows = np.repeat(np.arange(len(held)), np.diff(held.starts))
    return float(
        np.sqrt(
            np.mean((release.predictor().predict_pairs(own, rows, held.items) - held.values) ** 2)
        )
    )


def halves(people: People) -> tuple[People, People]:
    """Every rating to one of two parts."""
    rng = np.random.default_rng(0)
    chosen = rng.random(len(people.items)) < 0.8
    rows = np.repeat(np.arange(len(people)), np.diff(people.starts))

    def part(mask: np.ndarray) -> People:
        counts = np.bincount(rows[mask], minlength=len(people))
        starts = np.concatenate(([0], np.cumsum(counts)))
        return People(starts, people.items[mask], people.values[mask])

    return part(chosen), part(~chosen)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_release_predicts_better_than_item_means(mechanism: str) -> None:
    own, held = halves(make_people(800, 80, seed=5))
    sums = np.bincount(own.items, own.values, 80)
    means = sums / np.maximum(np.bincount(own.items, minlength=80), 1)
    by_means = float(np.sqrt(np.mean((means[held.items] - held.values) ** 2)))
    collection = make_collection(80, mechanism, 8.0)
    release = LocalReports(collection).build(send_all(collection, own))
    assert report(release)["factors"] >= 1
    found = rmse_of(release, own, held)
    assert found < 0.85 * by_means
    knn = release.predictor("knn")
    rows = np.repeat(np.arange(len(held)), np.diff(held.starts))
    errors = knn.predict_pairs(own, rows, held.items) - held.values
    assert float(np.sqrt(np.mean(errors**2))) < 0.9 * by_means
    # A little protection costs a little; much of it leaves the mean.
    little = make_collection(80, mechanism, 0.1)
    assert rmse_of(LocalReports(little).build(send_all(little, own)), own, held) < 1.15 * by_means


def test_the_guarantee_says_what_it_is(tmp_path: Path) -> None:
    catalog = Catalog([f"i{i}" for i in range(30)], origin=CatalogOrigin.FROM_DATA)
    collection = Collection(catalog, FIVE_STARS, Mechanism.RANDOMIZED_RESPONSE, 2.0, 3)
    people = make_people(50, 30, seed=6)
    release = LocalReports(collection).build(send_all(collection, people))
    guarantee = release.guarantee
    assert (guarantee.unit, guarantee.epsilon, guarantee.delta) == (Unit.RATING, 2.0, 0.0)
    assert guarantee.per(Unit.USER) == pytest.approx(60.0)
    assert guarantee.changed_rating == 2.0
    words = str(guarantee)
    for said in ("from the server as well", "in period 3", "30 items", "public which items"):
        assert said in words
    adds_up = "for somebody who takes part in 12 periods the epsilon is 24; in all 3 so far, 6"
    assert f"(each period costs as much again: {adds_up})" in words
    release.save(tmp_path / "local.discreet")
    again = load(tmp_path / "local.discreet")
    assert str(again.guarantee) == words
    assert report(again) == report(release)
    assert len(again.predictor().recommend({"i3": 5.0}, n=5)) == 5
    seeded = LocalReports(collection).build(send_all(collection, people), not_private=(SEEDED,))
    assert not seeded.guarantee.is_private


def test_figures_are_plain_and_right() -> None:
    collection = make_collection(40, epsilon=3.0)
    people = make_people(300, 40, seed=7)
    told = report(LocalReports(collection).build(send_all(collection, people)))
    assert told["reports"] == 300
    assert told["epsilon_per_rating"] == 3.0
    assert told["epsilon_per_user"] == pytest.approx(120.0)
    off = told["ratings_estimated"] - len(people.items)
    assert abs(off) < 5 * told["ratings_noise"]


def test_order_does_not_matter() -> None:
    collection = make_collection(25, epsilon=4.0)
    reports = list(send_all(collection, make_people(200, 25, seed=8)))
    protocol = LocalReports(collection)
    one, other = protocol.build(reports), protocol.build(reversed(reports))
    np.testing.assert_array_equal(one.arrays["item_effects"], other.arrays["item_effects"])
    np.testing.assert_array_equal(one.arrays["item_counts"], other.arrays["item_counts"])


def test_what_was_sent_is_read_and_the_rest_refused() -> None:
    collection = make_collection(25)
    sent = next(iter(send_all(collection, make_people(1, 25, seed=9)))).as_json()
    assert LocalReports(collection).read(sent).as_json() == sent
    with pytest.raises(InputError, match="another collection"):
        LocalReports(make_collection(26)).read(sent)
    with pytest.raises(InputError, match="period 2"):
        LocalReports(make_collection(25, epoch=2)).read(sent)


def test_reports_that_do_not_belong_are_refused() -> None:
    collection, other = make_collection(25), make_collection(25, epoch=2)
    reports = [*send_all(collection, make_people(3, 25, seed=1))]
    foreign = [*send_all(other, make_people(1, 25, seed=1))]
    with pytest.raises(InputError, match="another collection or period"):
        LocalReports(collection).build([*reports, *foreign])
    with pytest.raises(InputError, match="at least 2 reports, not 1"):
        LocalReports(collection).build(reports[:1])
    with pytest.raises(InputError, match="at least 2 reports, not 0"):
        LocalReports(collection).build([])
    with pytest.raises(InputError, match="at least two items"):
        LocalReports(make_collection(1)).build([])
    release = LocalReports(collection).build(reports)
    told = {k: v for k, v in release.parameters.items() if k != "local_reports"}
    with pytest.raises(InputError, match="not built from local reports"):
        report(dataclasses.replace(release, parameters=told))


def test_people_without_ratings_can_report() -> None:
    for mechanism in MECHANISMS:
        collection = make_collection(30, mechanism, 1.0)
        nobody = People(np.zeros(41, np.int64), np.empty(0, np.int32), np.empty(0))
        release = LocalReports(collection).build(send_all(collection, nobody))
        assert np.all(np.isfinite(release.predictor().predict({"i2": 5.0})))


def test_the_head_is_what_can_be_told_from_noise() -> None:
    """Popular items first; more of them the less noise there is."""
    people = make_people(500, 150, seed=10, share=0.2)
    sizes = []
    for epsilon in (1.0, 8.0):
        collection = make_collection(150, epsilon=epsilon)
        with Spool(collection) as spool:
            totals = spool.fill(send_all(collection, people))
        effects = reported_effects(collection, AnswerLaw.of(collection), totals)
        head = popular_items(effects, 1.0)
        assert np.all(np.diff(head) > 0)
        rest = np.setdiff1d(np.arange(150), head)
        if len(rest):
            assert effects.counts[head].min() >= effects.counts[rest].max()
        sizes.append(len(head))
    assert sizes[0] < sizes[1]


def test_memory_stays_bounded_with_millions_of_answers() -> None:
    """3,000 people and 3,883 items at epsilon 1: seven and a half million answers."""
    items, users = 3883, 3000
    collection = make_collection(items, "randomized-response", 1.0)
    some = list(send_all(collection, make_people(60, items, seed=11, share=0.02)))
    reports = (some[i % len(some)] for i in range(users))
    LocalReports(collection).build(some)
    tracemalloc.start()
    release = LocalReports(collection).build(reports)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    told = report(release)
    assert told["reports"] * told["answers_per_report"] > 7e6
    assert peak < 250 * 2**20
