"""The ideal adversary of a release: what it replays, both limits, and what privacy allows it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest

from discreet.audit import Guesses, Victims, attack_release, choose_victims, guess
from discreet.audit._intervals import success_band
from discreet.domain import InputError, Scale
from discreet.measure.item_counts import ItemCounts
from discreet.measure.item_sums import RatingSums
from discreet.methods import MethodName, fit, record_fit
from discreet.privacy import FIT_UNITS, Noise, SeededRandomness, Unit
from discreet.ratings import Ratings, Shape, make_ratings

PRESENCE = Scale.parse("presence")
FEW = 5
# Victims of attacks that succeed, or fail, nearly always: 20 right guesses of 20 lie outside an
# interval around 1/2 that misses once in 100,000.
FOUND_OUT = 20


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(Shape(users=150, items=12, ratings=900), seed=1)


@pytest.fixture(scope="module")
def clicks(ratings: Ratings) -> Ratings:
    return dataclasses.replace(ratings, scale=PRESENCE, codes=np.ones(len(ratings), dtype=np.uint8))


def changed(ratings: Ratings, victims: Victims, row: int, secret: int) -> Ratings:
    """Everybody's ratings, if the victim's secret were another."""
    begin = int(ratings.starts[victims.people[row]])
    end = int(ratings.starts[victims.people[row] + 1])
    place = begin + int(np.flatnonzero(ratings.items[begin:end] == victims.items[row])[0])
    codes = ratings.codes.copy()
    codes[place] = secret
    return dataclasses.replace(ratings, codes=codes)


def attacked(ratings: Ratings, victims: Victims, **told: Any) -> Guesses:
    transcript = record_fit(ratings, randomness=SeededRandomness(5), **told)
    return guess(victims, attack_release(transcript, victims), np.random.default_rng(1))


CASES = [
    (MethodName.COVARIANCE, Unit.RATING, Noise.GAUSSIAN),
    (MethodName.COVARIANCE, Unit.USER, Noise.LAPLACE),
    (MethodName.REFINED, Unit.RATING, Noise.GAUSSIAN),
    (MethodName.REFINED, Unit.USER, Noise.GAUSSIAN),
    (MethodName.SLOPE_ONE, Unit.USER, Noise.GAUSSIAN),
    (MethodName.SLOPE_ONE, Unit.RATING, Noise.LAPLACE),
    (MethodName.COSINE, Unit.RATING, Noise.GAUSSIAN),
]


@pytest.mark.parametrize(("method", "protect", "noise"), CASES)
def test_a_persons_part_is_what_the_statistics_of_everybody_differ_by(
    ratings: Ratings, method: MethodName, protect: Unit, noise: Noise
) -> None:
    told = {"method": method, "protect": protect, "noise": noise}
    transcript = record_fit(ratings, epsilon=40.0, randomness=SeededRandomness(1), **told)  # type: ignore[arg-type]
    assert len(transcript.spoken) >= 6, "tastes are among what is attacked"
    victims = choose_victims(ratings, 2, np.random.default_rng(3))
    moved = 0
    for row in range(2):
        parts = [transcript.contribution(own) for own in victims.versions(row)]
        for secret in (0, 4):
            neighbour = transcript.contribution(changed(ratings, victims, row, secret))
            for at, spoken in enumerate(transcript.spoken):
                part = parts[secret][at] - parts[int(victims.secrets[row])][at]
                assert np.array_equal(neighbour[at] - spoken.exact, part)
                moved += int(np.abs(part).sum())
    assert moved > 0


def test_what_is_replayed_are_the_statistics_themselves(ratings: Ratings) -> None:
    told = {"method": "covariance", "protect": "rating", "randomness": SeededRandomness(1)}
    transcript = record_fit(ratings, epsilon=1.0, **told, ledger="unbooked")  # type: ignore[arg-type]
    own = choose_victims(ratings, 1, np.random.default_rng(3)).versions(0)[2]
    found = dict(
        zip((each.label for each in transcript.spoken), transcript.contribution(own), strict=True)
    )
    assert np.array_equal(found["item sums"], RatingSums(own.scale).measure(own))
    counted = ItemCounts(Unit.RATING, Noise.GAUSSIAN).measure(own)
    assert np.array_equal(found["item counts"], counted)
    assert found["number of ratings"] == [len(own)]


def test_a_recorded_fit_is_the_fit(ratings: Ratings) -> None:
    for method in MethodName:
        recorded = record_fit(ratings, method=method, epsilon=5.0, randomness=SeededRandomness(2))
        plain = fit(ratings, method=method, epsilon=5.0, randomness=SeededRandomness(2))
        assert recorded.release.guarantee == plain.guarantee
        assert recorded.release.parameters == plain.parameters
        for name, array in plain.arrays.items():
            assert np.array_equal(recorded.release.arrays[name], array)


@pytest.mark.parametrize(("method", "protect", "noise"), CASES)
def test_almost_without_noise_every_attack_succeeds(
    ratings: Ratings, method: MethodName, protect: Unit, noise: Noise
) -> None:
    victims = choose_victims(ratings, FEW, np.random.default_rng(4))
    told = {"method": method, "protect": protect, "noise": noise}
    won = attacked(ratings, victims, epsilon=1e4, **told)
    assert won.posterior.all() and won.likelihood.all()
    assert not won.prior.all()


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize("method", [MethodName.LISTS, MethodName.COSINE])
def test_of_presence_it_is_found_out_whether_a_record_is_there(
    clicks: Ratings, method: MethodName, protect: Unit
) -> None:
    victims = choose_victims(clicks, FOUND_OUT, np.random.default_rng(4))
    assert 0 < victims.secrets.sum() < FOUND_OUT
    for row, secret in enumerate(victims.secrets):
        without, with_it = victims.versions(row)
        assert len(with_it) == len(without) + 1
        own = clicks.select_users(int(victims.people[row]), int(victims.people[row]) + 1)
        assert np.array_equal((without, with_it)[secret].items, own.items)
    told = {"method": method, "protect": protect}
    assert attacked(clicks, victims, epsilon=1e4, **told).posterior.all()
    blind = attacked(clicks, victims, epsilon=0.01, **told).posterior
    low, high = success_band(blind, 1 - 1e-5)
    assert low <= 0.5 <= high


@pytest.mark.parametrize("protect", FIT_UNITS)
@pytest.mark.parametrize("method", [MethodName.COVARIANCE, MethodName.SLOPE_ONE])
def test_in_noise_an_attack_is_no_better_than_a_guess(
    ratings: Ratings, method: MethodName, protect: Unit
) -> None:
    victims = choose_victims(ratings, FOUND_OUT, np.random.default_rng(6))
    won = attacked(ratings, victims, epsilon=0.01, method=method, protect=protect)
    assert np.count_nonzero(won.posterior != won.prior) <= 1
    assert success_band(won.posterior)[0] <= won.prior.mean()
    assert success_band(won.likelihood)[0] <= max(won.prior.mean(), won.majority.mean())


@pytest.mark.parametrize("protect", FIT_UNITS)
def test_no_attack_tells_two_values_apart_better_than_privacy_allows(
    ratings: Ratings, protect: Unit
) -> None:
    """A changed rating is one record (or user) less and one more: 2 mu, and so Phi(mu) of all."""
    victims = choose_victims(ratings, 1, np.random.default_rng(6))
    coins = np.random.default_rng(7)
    won = []
    for trial in range(40):
        secret = 4 * int(coins.integers(2))
        world = changed(ratings, victims, 0, secret)
        told = {"method": "slope-one", "protect": protect, "epsilon": 8.0}
        transcript = record_fit(world, randomness=SeededRandomness(trial), **told)  # type: ignore[arg-type]
        here = dataclasses.replace(victims, ratings=world, secrets=np.array([secret]))
        likely = attack_release(transcript, here)[0]
        won.append((likely[4] > likely[0]) == (secret == 4))
    low, _ = success_band(np.array(won))
    allowed = float(ndtr(transcript.budget.amount))
    epsilon, delta = 2 * 8.0, (1 + math.exp(8.0)) * 1e-6
    assert allowed <= (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    assert low <= allowed
    assert low > 0.5, "the attack is one: it finds out something"


def test_what_is_known_beforehand_does_not_contain_the_secret(ratings: Ratings) -> None:
    victims = choose_victims(ratings, 30, np.random.default_rng(2))
    assert victims.chances.sum(axis=1) == pytest.approx(1.0)
    for row in range(5):
        other = changed(ratings, victims, row, (int(victims.secrets[row]) + 1) % 5)
        again = choose_victims(other, 30, np.random.default_rng(2))
        assert again.secrets[row] != victims.secrets[row]
        assert again.chances[row] == pytest.approx(victims.chances[row])


def test_chances_are_those_of_the_items_other_ratings(ratings: Ratings) -> None:
    victims = choose_victims(ratings, 1, np.random.default_rng(2))
    item, secret = int(victims.items[0]), int(victims.secrets[0])
    codes = ratings.codes[ratings.items == item].tolist()
    codes.remove(secret)
    everything = ratings.codes.tolist()
    everything.remove(secret)
    overall = [(everything.count(v) + 1) / (len(everything) + 5) for v in range(5)]
    expected = [(codes.count(v) + 10 * overall[v]) / (len(codes) + 10) for v in range(5)]
    assert victims.chances[0] == pytest.approx(expected)


def test_equal_likelihoods_are_decided_by_a_coin(ratings: Ratings) -> None:
    victims = choose_victims(ratings, 2000, np.random.default_rng(2))
    nothing = np.zeros((2000, 5))
    won = guess(victims, nothing, np.random.default_rng(3))
    assert binomtest(int(won.likelihood.sum()), 2000, 0.2).pvalue > 1e-4
    assert np.array_equal(won.posterior, won.prior)


def test_what_cannot_be_attacked_is_refused(ratings: Ratings) -> None:
    with pytest.raises(InputError, match="must be finite"):
        record_fit(ratings, epsilon=math.inf)
    scale = Scale(-10, 10, None)
    jokes = dataclasses.replace(ratings, scale=scale, codes=np.zeros(len(ratings), np.float32))
    with pytest.raises(InputError, match="steps"):
        choose_victims(jokes, 3, np.random.default_rng(1))
    nobody = ratings.where(np.zeros(len(ratings), dtype=np.bool_))
    with pytest.raises(InputError, match="nobody can be attacked"):
        choose_victims(nobody, 3, np.random.default_rng(1))


def test_private_objects_do_not_print_what_they_hold(ratings: Ratings) -> None:
    transcript = record_fit(ratings, randomness=SeededRandomness(1))
    victims = choose_victims(ratings, 1, np.random.default_rng(1))
    for each in (transcript, transcript.spoken[0], victims):
        assert "private" in repr(each) and "array" not in repr(each)
