"""The method of lists: what it learns, what it spends, and what times are worth."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError, Scale
from discreet.evaluate import Judge, popularity
from discreet.methods import ListsMethod, Transcript, fit, record_fit
from discreet.predict import Release
from discreet.privacy import FIT_UNITS, Noise, SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, Split
from measure._neighbours import catalog_of
from methods._kinds import ITEMS, two_kinds

every_unit = pytest.mark.parametrize("unit", FIT_UNITS)
every_noise = pytest.mark.parametrize("noise", Noise)
YEAR = 365 * 86_400


@pytest.fixture(scope="module")
def clicks() -> Split:
    return two_kinds()


def fitted(ratings: Ratings, **options: Any) -> Release:
    return fit(ratings, randomness=SeededRandomness(1), **options)


def changing(scale: Scale, users: int = 4000) -> Ratings:
    """Half of the people had the first items a year ago, half have the last ones now."""
    rng = np.random.default_rng(6)
    late = np.arange(users) % 2
    odds = np.where(np.arange(40) // 20 == late[:, None], 1.0, 0.05)
    keys = np.log(rng.random((users, 40))) / odds
    chosen = np.sort(np.argsort(-keys, axis=1)[:, :6], axis=1)
    times = 10**9 + YEAR * late[:, None] + rng.integers(0, YEAR // 12, chosen.shape)
    values = scale.encode(np.full(chosen.size, scale.hi))
    starts = np.arange(users + 1, dtype=np.int64) * 6
    items = chosen.ravel().astype(np.int32)
    return Ratings(
        scale, catalog_of(40), starts, items, values, times=times.ravel().astype(np.uint32)
    )


@every_unit
@every_noise
@pytest.mark.parametrize("scale", [Scale(1, 5), Scale(0, 1)], ids=str)
def test_stars_are_not_looked_at(unit: Unit, noise: Noise, scale: Scale) -> None:
    train = two_kinds(Scale(1, 5)).train
    coded = scale.encode(np.where(np.arange(len(train)) % 3 == 0, scale.lo, scale.hi))
    other = replace(train, scale=scale, codes=coded)
    told = {"method": "lists", "protect": unit, "noise": noise, "epsilon": 3.0}
    one, same = (fitted(each, **told) for each in (train, other))
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, same.arrays[name], name)


@every_unit
@every_noise
@pytest.mark.parametrize("options", [{}, {"list_rank": 0}, {"count_share": 0.8}, {"head": 5}])
def test_a_whole_budget_is_promised_and_never_more_is_spent(
    clicks: Split, unit: Unit, noise: Noise, options: dict[str, Any]
) -> None:
    for epsilon in (0.05, 4.0):
        release = fit(
            clicks.train, protect=unit, noise=noise, epsilon=epsilon, **options, ledger="unbooked"
        )
        assert release.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)
        assert release.guarantee.epsilon <= epsilon
        assert release.arrays["list_head"].shape <= (options.get("head", ITEMS),)


@every_unit
def test_it_beats_popularity_and_gives_way_to_it(clicks: Split, unit: Unit) -> None:
    judge = Judge(clicks)
    floor = judge.judge(popularity(clicks.train)).ndcg_at_10
    found = [
        judge.judge(fitted(clicks.train, protect=unit, epsilon=epsilon).predictor()).ndcg_at_10
        for epsilon in (0.01, 4.0, math.inf)
    ]
    assert found[1] > 1.3 * floor and found[2] > 0.98 * found[1]
    weak = fitted(clicks.train, protect=unit, epsilon=0.01)
    assert weak.parameters["list_directions"] == 0


@every_unit
@every_noise
@pytest.mark.parametrize("method", ["lists", "refined"])
def test_what_is_popular_now_comes_first(unit: Unit, noise: Noise, method: str) -> None:
    ratings = changing(Scale(1, 5))
    told = {"method": method, "protect": unit, "noise": noise, "epsilon": 8.0}
    now = fitted(ratings, **told).arrays["list_popularity"]
    ever = fitted(ratings, **told, recency=False).arrays["list_popularity"]
    parts = [float(p[20:].sum() / p.sum()) for p in (now, ever)]
    assert parts[0] > 0.65 > 0.55 > parts[1]
    assert np.mean(np.argsort(-now)[:15] >= 20) > 0.9


@every_unit
@every_noise
def test_much_counting_and_much_change_fit_into_one_budget(unit: Unit, noise: Noise) -> None:
    """The second look at recent counts takes what is left, however much the first count took."""
    ratings = changing(Scale(1, 5))
    told = {"protect": unit, "noise": noise, "epsilon": 30.0, "ledger": "unbooked"}
    for options in (
        {"method": "lists", "count_share": 0.8},
        {"method": "refined", "effect_share": 0.8},
        {"method": "refined", "effect_share": 0.02, "list_share": 0.7},
    ):
        release = fit(ratings, **told, **options)  # type: ignore[arg-type]
        assert release.guarantee.epsilon == pytest.approx(30.0, rel=1e-6)
        labels = [event.label for event in release.guarantee.events]
        if noise is Noise.GAUSSIAN and len(labels) > 1:
            assert "recent item counts" in labels


@every_unit
@every_noise
@pytest.mark.parametrize("effect_share", [0.2, 0.65, 0.8])
def test_features_and_recency_leave_something_for_ratings(
    unit: Unit, noise: Noise, effect_share: float
) -> None:
    """Where the first count took much, and lists take as much as they can."""
    ratings = changing(Scale(1, 5))
    release = fit(
        ratings, protect=unit, noise=noise, epsilon=300.0, effect_share=effect_share,
        features=np.arange(2.0 * len(ratings.catalog)).reshape(-1, 2), ledger="unbooked",
    )  # fmt: skip
    assert release.guarantee.epsilon == pytest.approx(300.0, rel=1e-6)
    assert all(np.all(np.isfinite(array)) for array in release.arrays.values())


def test_parts_of_a_random_split_have_no_present() -> None:
    ratings = changing(Scale(1, 5))
    part = replace(ratings, intake=replace(ratings.intake, is_latest=False))
    told = {"method": "lists", "epsilon": 8.0}
    blind, asked = fitted(part, **told), fitted(part, **told, recency=True)
    assert "recent item counts" not in {event.label for event in blind.guarantee.events}
    assert "recent item counts" in {event.label for event in asked.guarantee.events}


@pytest.mark.parametrize("method", ["lists", "refined"])
def test_recency_without_times_is_refused_before_the_charge(method: str, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", "readers", [Limit(Unit.USER, 2.0, 1e-6)])
    ratings = replace(changing(Scale(1, 5), users=20), times=None)
    with pytest.raises(InputError, match="recency needs ratings with times"):
        fit(ratings, method=method, recency=True, ledger=ledger)
    assert ledger.history() == []


def people_between(ratings: Ratings, first: int, last: int) -> Ratings:
    """Some people's ratings, times included."""
    begin, end = ratings.starts[[first, last]].tolist()
    assert ratings.times is not None
    return replace(
        ratings,
        starts=ratings.starts[first : last + 1] - begin,
        items=ratings.items[begin:end],
        codes=ratings.codes[begin:end],
        times=ratings.times[begin:end],
    )


@every_unit
@every_noise
@pytest.mark.parametrize("method", ["lists", "refined"])
def test_everybodys_parts_in_a_transcript_add_up(unit: Unit, noise: Noise, method: str) -> None:
    """What a person adds to each statistic depends on them and on what was released before."""
    ratings = changing(Scale(1, 5), users=900)
    transcript: Transcript = record_fit(
        ratings,
        method=method,
        protect=unit,
        noise=noise,
        epsilon=10.0,
        head=30,
        randomness=SeededRandomness(2),
    )
    labels = [spoken.label for spoken in transcript.spoken]
    assert "recent item counts" in labels
    assert ("presence pairs" in labels) or noise is Noise.LAPLACE
    edges = [0, 1, 2, 300, 900]
    parts = [
        transcript.contribution(people_between(ratings, *ends))
        for ends in itertools.pairwise(edges)
    ]
    for place, spoken in enumerate(transcript.spoken):
        together = sum(part[place] for part in parts)
        np.testing.assert_array_equal(together, spoken.exact, spoken.label)


def test_settings_are_checked() -> None:
    for wrong in ({"list_rank": 501}, {"list_rank": 2.5}, {"count_share": 0.9}, {"head": 1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            ListsMethod(**wrong)
