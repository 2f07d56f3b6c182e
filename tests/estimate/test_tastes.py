"""Empirical Bayes for rows: what is known comes back, and what is noise is drawn to the prior."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from discreet.estimate import NoisyRows, learn_rows
from discreet.estimate._tastes import _posterior, _spread

Floats = npt.NDArray[np.float64]


def spread_of(k: int, rng: np.random.Generator, size: float) -> Floats:
    """A covariance that is no multiple of I."""
    root = rng.normal(size=(k, k)) * 0.4 + np.eye(k)
    return np.asarray(size * root @ root.T)


def normal(rng: np.random.Generator, rows: int, covariance: Floats) -> Floats:
    return np.asarray(rng.normal(size=(rows, len(covariance))) @ np.linalg.cholesky(covariance).T)


class World:
    """h = Theta [1, features] + N(0, Sigma), met with known noise."""

    def __init__(self, items: int, k: int, noise: float, *, seed: int = 1) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.features = rng.normal(size=(items, 2))
        self.columns = np.column_stack([np.ones(items), self.features])
        self.Sigma = spread_of(k, rng, 0.02)
        self.expected = self.columns @ rng.normal(size=(3, k)) * 0.1
        self.h = self.expected + normal(rng, items, self.Sigma)
        self.design = 10 ** rng.uniform(0.5, 3, items)
        self.noise = spread_of(k, rng, noise**2)
        self.sampling = noise * rng.random(items)
        off = normal(rng, items, self.noise)
        off += rng.normal(size=off.shape) * np.sqrt(self.sampling)[:, None]
        self.rows = self.design[:, None] * self.h + off

    @property
    def given(self) -> NoisyRows:
        return NoisyRows(self.rows, self.design, self.noise, self.sampling)

    def learn(self) -> tuple[Floats, Floats]:
        return learn_rows(self.given, self.features, np.zeros_like(self.rows), scale=0.01)


def test_rows_with_little_noise_come_back() -> None:
    world = World(400, 4, 1e-4)
    means, variances = world.learn()
    assert means == pytest.approx(world.h, abs=2e-2)
    known = world.design > 100
    assert means[known] == pytest.approx(world.h[known], abs=1e-3)
    assert (variances[known] < 1e-5).all() and (variances >= 0).all()


def test_rows_that_are_noise_are_drawn_to_a_mean_that_features_explain() -> None:
    """Nothing of a single row is left: what comes out is linear in the features."""
    world = World(400, 3, 1e6)
    means, _ = world.learn()
    fitted = world.columns @ np.linalg.lstsq(world.columns, means, rcond=None)[0]
    observed = world.rows / world.design[:, None]
    left, there = (np.sqrt(((a - b) ** 2).mean()) for a, b in ((means, fitted), (observed, fitted)))
    assert left < 0.02 * there


def test_an_unknown_item_is_taken_for_what_its_features_say() -> None:
    """Nobody rated it, but many others, and those say what features mean."""
    world = World(2000, 3, 0.5)
    unknown = np.arange(2000) % 20 == 0
    world.rows[unknown] = normal(world.rng, int(unknown.sum()), world.noise)
    world.design[unknown] = 0.0
    means, variances = world.learn()
    assert means[unknown] == pytest.approx(world.expected[unknown], abs=0.04)
    assert variances[unknown] == pytest.approx(np.trace(world.Sigma), rel=0.15)
    assert variances[~unknown].max() < variances[unknown].min()


def test_an_unknown_item_is_taken_for_its_guess_by_the_factor_of_the_others() -> None:
    """And a guess that has nothing to do with the rows is not believed."""
    world = World(2000, 3, 0.5)
    guess = world.rng.normal(size=(2000, 3)) * 0.3
    world.rows += world.design[:, None] * (2.5 * guess - world.expected)
    unknown = np.arange(2000) % 20 == 0
    world.design[unknown] = 0.0
    world.rows[unknown] = 0.0
    none = np.zeros((2000, 0))
    means, _ = learn_rows(world.given, none, guess, scale=0.01)
    assert means[unknown] == pytest.approx(2.5 * guess[unknown], abs=0.06)
    other, _ = learn_rows(world.given, none, -guess, scale=0.01)
    assert np.abs(other[unknown]).max() < 0.1


@pytest.mark.parametrize("noise", [0.3, 3.0, 30.0])
def test_means_beat_both_the_raw_rows_and_the_prior_alone(noise: float) -> None:
    world = World(2000, 3, noise)
    means, variances = world.learn()
    raw = world.rows / world.design[:, None]
    error, of_raw, of_prior = (
        float(((guess - world.h) ** 2).sum(axis=1).mean())
        for guess in (means, raw, np.broadcast_to(world.expected, raw.shape))
    )
    assert error < of_raw and error < 1.02 * of_prior
    # The trace of the variance is the squared error that is to be expected.
    assert float(variances.mean()) == pytest.approx(error, rel=0.1)


def test_the_spread_of_rows_is_freed_of_their_noise() -> None:
    world = World(40_000, 3, 3.0)
    errors = world.rows / world.design[:, None] - world.expected
    trust = 1 / (0.02 + (9 + world.sampling) / world.design**2) ** 2
    small, large = _spread(errors, trust, world.design, world.given, 0.01)
    for found in (small, large):
        assert found == pytest.approx(world.Sigma, abs=0.04 * float(np.trace(world.Sigma)))
    assert np.linalg.eigvalsh(large - small).min() > 0
    drowned = World(300, 3, 1e5)
    told = (0 * drowned.rows, np.ones(300), drowned.design, drowned.given, 0.01)
    nothing, unsure = _spread(*told)
    assert nothing == pytest.approx(1e-8 * np.eye(3), abs=1e-15)
    assert unsure == pytest.approx(0.01 * 0.05 * np.eye(3))


@pytest.mark.parametrize("k", [1, 2, 7])
def test_the_posterior_is_the_dense_one_of_every_item(k: int) -> None:
    """Item by item, with inverses of whole matrices."""
    world = World(50, k, 2.0, seed=k)
    means, variances = _posterior(world.given, world.design, world.expected, world.Sigma)
    for i in range(50):
        precision = np.linalg.inv(world.noise + world.sampling[i] * np.eye(k))
        design = world.design[i]
        V = np.linalg.inv(np.linalg.inv(world.Sigma) + design**2 * precision)
        off = world.rows[i] - design * world.expected[i]
        assert means[i] == pytest.approx(world.expected[i] + V @ precision @ off * design)
        assert variances[i] == pytest.approx(np.trace(V))


def test_rows_without_any_noise_are_taken_at_their_word() -> None:
    """As a release without noise makes them: only who happened to rate is uncertain."""
    world = World(300, 3, 1e-6)
    given = NoisyRows(world.rows, world.design, np.zeros((3, 3)), 1e-6 * world.design)
    nothing = np.zeros_like(world.rows)
    means, variances = learn_rows(given, world.features, nothing, scale=0.01)
    assert means == pytest.approx(world.rows / world.design[:, None], abs=1e-2)
    assert np.all(np.isfinite(variances)) and (variances >= 0).all()


@pytest.mark.parametrize("items", [1, 2, 5])
def test_few_items_and_no_features_are_enough(items: int) -> None:
    world = World(items, 2, 0.1)
    for design in (world.design, np.zeros(items)):
        given = NoisyRows(world.rows, design, world.noise, world.sampling)
        guess = np.zeros((items, 2))
        means, variances = learn_rows(given, np.zeros((items, 0)), guess, scale=0.01)
        assert means.shape == (items, 2) and np.all(np.isfinite(means))
        assert np.all(np.isfinite(variances)) and math.isfinite(float(variances.sum()))
        assert (variances >= 0).all()
