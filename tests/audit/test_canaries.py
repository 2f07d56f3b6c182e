"""Canaries: how they are put in, their key, and what one release says of them."""

from __future__ import annotations

import dataclasses
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit._neighbours import ratings_of
from discreet.audit.lower_bound import Canaries, audit_release, insert_canaries, score_release
from discreet.domain import PRESENCE, InputError
from discreet.methods import MethodName, fit
from discreet.privacy import FIT_UNITS, Guarantee, PureEvent, SeededRandomness, Unit
from discreet.ratings import Ratings, Shape, make_ratings
from discreet.release import Release, load

COUNT = 200


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    few = make_ratings(Shape(users=100, items=30, ratings=1200), seed=1)
    people = [
        {int(i): float(v) for i, v in zip(one.items, one.values(), strict=True)}
        for one in (few.select_users(n, n + 1) for n in range(few.user_count))
    ]
    return ratings_of(people, 30 + COUNT)


@pytest.fixture(scope="module")
def planted(ratings: Ratings) -> tuple[Ratings, Canaries]:
    return insert_canaries(ratings, COUNT, SeededRandomness(5))


def test_each_canary_that_is_in_is_a_user_with_one_rating(
    ratings: Ratings, planted: tuple[Ratings, Canaries]
) -> None:
    mixed, key = planted
    inside = int(key.included.sum())
    assert 60 < inside < 140 and len(key) == COUNT
    assert mixed.user_count == ratings.user_count + inside
    assert np.all(np.diff(mixed.starts)[ratings.user_count :] == 1)
    added = mixed.select_users(ratings.user_count, mixed.user_count)
    assert np.all(added.values() == 5)
    told = [i for i, is_in in zip(key.items, key.included, strict=True) if is_in]
    assert [mixed.catalog.ids[i] for i in added.items] == told
    assert not set(added.items) & set(ratings.items), "on items that nobody else has rated"
    assert np.array_equal(mixed.items[: len(ratings)], ratings.items)


def test_times_and_names_are_kept_and_canaries_have_their_own(ratings: Ratings) -> None:
    times = np.arange(len(ratings), dtype=np.uint32)
    texts = np.array(["canary-1", *(f"x{n}" for n in range(1, ratings.user_count))])
    for users in (np.arange(ratings.user_count)[::-1] * 3, texts):
        named = dataclasses.replace(ratings, times=times, users=users)
        mixed, _ = insert_canaries(named, COUNT, SeededRandomness(5))
        assert mixed.times is not None and mixed.users is not None
        assert np.array_equal(mixed.times[: len(times)], times)
        assert np.all(mixed.times[len(times) :] == times[-1])
        assert mixed.users[: len(users)].tolist() == users.tolist()
        new = mixed.users[len(users) :].tolist()
        assert len(set(new)) == len(new) > 60 and not set(new) & set(users.tolist())


def test_a_key_comes_back_and_is_for_its_owner_alone(
    tmp_path: Path, planted: tuple[Ratings, Canaries]
) -> None:
    key, path = planted[1], tmp_path / "key.json"
    key.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Canaries.load(path)
    assert again.items == key.items and np.array_equal(again.included, key.included)
    assert repr(again) == f"Canaries({COUNT}, private)"


@pytest.mark.parametrize(
    "change", [{"kind": "x"}, {"version": 2}, {"items": [1, 2]}, {"included": [2]}, {"included": 3}]
)
def test_what_is_no_key_is_refused(
    tmp_path: Path, planted: tuple[Ratings, Canaries], change: dict[str, Any]
) -> None:
    path = tmp_path / "key.json"
    planted[1].save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match="is not a key of canaries"):
        Canaries.load(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        Canaries.load(tmp_path / "absent.json")


@pytest.mark.parametrize("count", [0, 19, 10_000])
def test_too_few_or_too_many_canaries_are_refused(ratings: Ratings, count: int) -> None:
    with pytest.raises(InputError, match="from 20 canaries to as many as items, 230"):
        insert_canaries(ratings, count, SeededRandomness(1))


def released(data: Ratings, epsilon: float, claimed: float, **told: Any) -> Release:
    """A fit at one epsilon that says it was another."""
    made = fit(data, epsilon=epsilon, noise="laplace", randomness=SeededRandomness(2), **told)
    event = PureEvent(unit=Unit.USER, label="x", epsilon=claimed, mechanism="two-sided geometric")
    return dataclasses.replace(made, guarantee=Guarantee(Unit.USER, (event,), 0.0))


@pytest.mark.parametrize("method", MethodName)
@pytest.mark.parametrize("protect", FIT_UNITS)
def test_a_release_with_too_little_noise_is_caught_by_its_canaries(
    tmp_path: Path, planted: tuple[Ratings, Canaries], method: MethodName, protect: Unit
) -> None:
    """From the file alone, whichever method and unit."""
    told = {"list_rank": 0} if method is MethodName.LISTS else {"taste_share": 0.0}
    made = released(planted[0], 40.0, 1.0, method=method, protect=protect, **told)
    made.save(tmp_path / "a.discreet")
    found = audit_release(load(tmp_path / "a.discreet"), planted[1], confidence=1 - 1e-4)
    assert found.is_violated, found.seen
    assert found.subject == "release" and found.how == "one run"


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_a_right_release_is_not(planted: tuple[Ratings, Canaries], protect: Unit) -> None:
    made = released(planted[0], 1.0, 1.0, protect=protect)
    assert not audit_release(made, planted[1], confidence=1 - 1e-4).is_violated


def test_presence_has_canaries_too(ratings: Ratings) -> None:
    clicks = dataclasses.replace(
        ratings, scale=PRESENCE, codes=np.ones(len(ratings), np.uint8), times=None
    )
    mixed, key = insert_canaries(clicks, COUNT, SeededRandomness(6))
    made = released(mixed, 60.0, 1.0, protect="user", list_rank=0)
    assert audit_release(made, key, confidence=1 - 1e-4).is_violated


def test_a_release_that_promises_nothing_has_no_claim(planted: tuple[Ratings, Canaries]) -> None:
    made = fit(planted[0], epsilon=1.0, randomness=SeededRandomness(1))
    with pytest.raises(InputError, match="promises nothing"):
        audit_release(made, planted[1])
    with pytest.raises(InputError, match=r"confidence is from 0\.5 to below 1"):
        audit_release(made, planted[1], confidence=95.0)


def test_what_people_report_themselves_is_not_audited_by_canaries(
    planted: tuple[Ratings, Canaries],
) -> None:
    """One account more is no neighbour there: an empty report is, of one that tells of ratings."""
    made = released(planted[0], 1.0, 1.0)
    local = dataclasses.replace(made, parameters={**made.parameters, "local_reports": {}})
    with pytest.raises(InputError, match="canaries are for what a curator fitted"):
        audit_release(local, planted[1])


def test_canaries_of_another_catalogue_are_refused(planted: tuple[Ratings, Canaries]) -> None:
    made = released(planted[0], 1.0, 1.0)
    foreign = Canaries(("no such item",) * 30, np.zeros(30, np.bool_))
    with pytest.raises(InputError, match="does not have all the canaries' items"):
        score_release(made, foreign)
