"""The rivals of the accuracy benchmark learn, are booked as their docstrings say, and are shown."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import InputError
from discreet.privacy import Unit
from discreet.privacy.accounting import gaussian_mu
from discreet.ratings import Ratings, Split, find_shape, make_ratings, split_random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
home, effects, als, sgd, inputs = (
    importlib.import_module(f"benchmarks.accuracy.rivals.{name}")
    for name in ("_home", "_effects", "private_als", "noisy_sgd", "input_perturbation")
)

RIVALS = {
    "private ALS": (als.predict, ("rating", "user")),
    "adaptive": (partial(als.predict, adaptive=True), ("user",)),
    "noisy SGD": (sgd.predict, ("rating", "user")),
    "input perturbation": (inputs.predict, ("rating",)),
}
CASES = [
    pytest.param(predict, unit, id=f"{name} per {unit}")
    for name, (predict, units) in RIVALS.items()
    for unit in units
]
Predict = Callable[..., npt.NDArray[np.float64]]


@pytest.fixture(scope="module")
def split() -> Split:
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=8000), seed=1)
    return split_random(ratings, 0.1, seed=1)


def error(predicted: npt.NDArray[np.float64], split: Split) -> float:
    scale = split.test.scale
    cut = np.clip(predicted, scale.lo, scale.hi)
    return float(np.sqrt(np.mean((cut - split.test.values()) ** 2)))


@pytest.mark.parametrize(("predict", "unit"), CASES)
def test_beats_the_global_mean_where_noise_is_small(
    predict: Predict, unit: str, split: Split
) -> None:
    chance = np.full(len(split.test), split.train.values().mean())
    for epsilon, share in ((10.0, 0.96), (1e5, 0.99)):
        predicted = predict(split, unit, epsilon, 1e-6, 0)
        assert predicted.shape == split.test.items.shape and np.isfinite(predicted).all()
        assert error(predicted, split) < share * error(chance, split)


@pytest.mark.parametrize("unit", ["rating", "user"])
@pytest.mark.parametrize("rival", [als, sgd], ids=["private ALS", "noisy SGD"])
def test_noise_takes_the_whole_budget_and_no_more(
    rival: Any, unit: str, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    sigmas = _sigmas(rival, unit, split, monkeypatch)
    for epsilon, drawn in sigmas.items():
        constants = rival.choose_constants(Unit(unit), epsilon)
        size = len(split.train.catalog)
        per_rating = math.sqrt(5), rival.rating_sensitivity(constants, size)
        first, later = per_rating if unit == "rating" else (1.0, 1.0)
        spent = (first / drawn[0]) ** 2 + sum((later / sigma) ** 2 for sigma in drawn[1:])
        if unit == "user":  # the level
            spent += constants.first_share * 0.1 * gaussian_mu(epsilon, 1e-6) ** 2
        assert math.sqrt(spent) == pytest.approx(gaussian_mu(epsilon, 1e-6))
    assert min(sigmas[0.1]) > max(sigmas[1.0])


def _sigmas(
    rival: Any, unit: str, split: Split, monkeypatch: pytest.MonkeyPatch
) -> dict[float, list[float]]:
    """The size of every noise that a rival adds, by epsilon."""
    drawn: list[float] = []

    def recording(add: Callable[..., Any]) -> Callable[..., Any]:
        def add_noise(rng: Any, exact: Any, sigma: float, *rest: float) -> Any:
            drawn.append(sigma)
            return add(rng, exact, sigma, *rest)

        return add_noise

    for module in (effects, rival):
        monkeypatch.setattr(module, "add_noise", recording(module.add_noise))
    found = {}
    for epsilon in (0.1, 1.0, 10.0):
        drawn.clear()
        rival.predict(split, unit, epsilon, 1e-6, 0)
        found[epsilon] = drawn.copy()
    return found


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_input_noise_grows_as_epsilon_falls(epsilon: float, split: Split) -> None:
    table = home.Table.of(split.train)
    rng = np.random.default_rng(0)
    less, more = (inputs.perturb(table, epsilon / parts, rng) for parts in (1, 2))
    assert more[1] > 2 * less[1]
    assert np.var(more[0].values) > 2 * np.var(less[0].values)


def test_the_first_rounds_noise_is_its_sensitivity_over_mu(split: Split) -> None:
    table = home.Table.of(split.train)
    for unit, sensitivity in ((Unit.RATING, np.sqrt(5)), (Unit.USER, 1 / np.sqrt(0.9))):
        first = effects.measure_effects(table, unit, 0.01, np.random.default_rng(0))
        assert first.sigma == pytest.approx(sensitivity / 0.01)
        assert np.std(first.counts[first.counts > 0]) == pytest.approx(0.6 * first.sigma, rel=0.1)


def _norm(one: Any, other: Any, a: float) -> float:
    """Of a difference of (b, a G)."""
    grams = np.linalg.norm(one.grams - other.grams)
    return float(np.hypot(np.linalg.norm(one.linear - other.linear), a * grams))


def _scene(train: Ratings, rank: int) -> tuple[Any, Any]:
    """A model to start from, and a first round's counts."""
    table = home.Table.of(train)
    first = effects.measure_effects(table, Unit.USER, 1e6, np.random.default_rng(0))
    factors = np.random.default_rng(1).normal(size=(table.size, rank)) * 0.5
    return home.Model(first.model.level, first.model.effects, factors), first


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_user_moves_the_moments_by_at_most_1(adaptive: bool, split: Split) -> None:
    constants = als.choose_constants(Unit.USER, 4.0, adaptive=adaptive)
    model, first = _scene(split.train, constants.rank)
    whole = als.user_moments(home.Table.of(split.train), model, first, constants)
    moved = []
    for user in range(0, split.train.user_count, 5):
        rest = home.Table.of(split.train.where(split.train.user_of_rating() != user))
        without = als.user_moments(rest, model, first, constants)
        moved.append(_norm(whole, without, constants.gram_scale))
    assert 0.9 < max(moved) <= 1 + 1e-9


def test_a_user_moves_the_gradient_by_at_most_1(split: Split) -> None:
    constants = sgd.choose_constants(Unit.USER, 4.0)
    model, _ = _scene(split.train, constants.rank)
    whole = sgd.user_gradient(home.Table.of(split.train), model, constants)
    moved = []
    for user in range(0, split.train.user_count, 5):
        rest = home.Table.of(split.train.where(split.train.user_of_rating() != user))
        moved.append(np.linalg.norm(whole - sgd.user_gradient(rest, model, constants)))
    assert 0.5 < max(moved) <= 1 + 1e-9


def _stubborn(train: Ratings) -> Ratings:
    """The same pairs with ratings at the ends of the scale, where one more moves most."""
    ends = np.where(train.user_of_rating() % 2, train.codes.min(), train.codes.max())
    flipped = np.random.default_rng(2).random(len(train)) < 0.05
    codes = np.where(flipped, train.codes.max() - ends, ends).astype(train.codes.dtype)
    return Ratings(train.scale, train.catalog, train.starts, train.items, codes)


@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_rating_moves_everything_by_at_most_its_bound(
    epsilon: float, stubborn: bool, split: Split
) -> None:
    train = _stubborn(split.train) if stubborn else split.train
    ours, theirs = (
        als.choose_constants(Unit.RATING, epsilon),
        sgd.choose_constants(Unit.RATING, epsilon),
    )
    model, first = _scene(train, ours.rank)
    short = home.Model(model.level, model.effects, home.shorten(model.factors, 1.0))

    def measured(ratings: Ratings) -> tuple[Any, Any]:
        table = home.Table.of(ratings)
        moments = als.rating_moments(table, model, first, ours)
        return moments, sgd.rating_gradient(table, short, theirs)

    whole = measured(train)
    moved = []
    for rating in range(0, len(train), 97):
        moments, gradient = measured(train.where(np.arange(len(train)) != rating))
        moved.append(
            (_norm(whole[0], moments, ours.gram_scale), float(np.linalg.norm(whole[1] - gradient)))
        )
    size = len(train.catalog)
    bounds = als.rating_sensitivity(ours, size), sgd.rating_sensitivity(theirs, size)
    for most, bound in zip(np.max(moved, axis=0), bounds, strict=True):
        assert 0.3 * bound < most <= bound


def test_perturbed_values_keep_their_distances(split: Split) -> None:
    table = home.Table.of(split.train)
    ends = home.Table(
        np.array([0, 200_000]),
        np.zeros(200_000, np.int64),
        np.zeros(200_000, np.int64),
        np.repeat([-2.0, 2.0], 100_000),
        table.size,
    )
    noisy, variance = inputs.perturb(ends, 1.0, np.random.default_rng(0))
    low, high = noisy.values[:100_000], noisy.values[100_000:]
    assert high.mean() - low.mean() == pytest.approx(4, abs=0.1)
    middle = home.Table(ends.starts, ends.items, ends.users, 0 * ends.values, table.size)
    assert np.var(inputs.perturb(middle, 1.0, np.random.default_rng(0))[0].values) == pytest.approx(
        variance, rel=0.02
    )


def test_input_perturbation_refuses_to_promise_users_anything(split: Split) -> None:
    with pytest.raises(InputError, match="unit rating"):
        inputs.predict(split, "user", 1.0, 1e-6, 0)


def test_rows_are_shown_kept_and_drawn_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = importlib.import_module("benchmarks.accuracy.__main__").main
    kept, drawn = tmp_path / "rows.json", tmp_path / "rows.svg"
    models = ["--models", "private-als", "item-mean", "--epsilons", "1", "10"]
    assert main([*models, "--ratings", "5000", "--json", str(kept)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [row.split()[:3] for row in shown[2:6]] == [
        ["private-als", unit, epsilon] for unit in ("rating", "user") for epsilon in ("1", "10")
    ]
    assert main(["--from", str(kept), "--picture", str(drawn)]) == 0
    assert capsys.readouterr().out.splitlines() == shown[1:]
    assert "private ALS" in drawn.read_text(encoding="utf-8")
    assert main(["--from", str(drawn)]) == 2
    assert main(["--models", "nobody"]) == 2
    assert "private-als" in capsys.readouterr().err
