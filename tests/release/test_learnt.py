"""What a release says that it has learnt, and what would help."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.domain import Catalog
from discreet.methods import fit
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings, find_shape, make_ratings, read_ratings
from discreet.release import LearntSummary, Release, load
from release._making import random_lists


@pytest.fixture(scope="module")
def films() -> Ratings:
    return make_ratings(find_shape("ml-100k").scaled(ratings=20_000), seed=1)


def learnt(ratings: Ratings, epsilon: float, **told: Any) -> LearntSummary:
    return fit(ratings, epsilon=epsilon, randomness=SeededRandomness("a"), **told).learnt


def test_each_level_is_said_in_its_own_words(films: Ratings) -> None:
    said = {
        "nothing": learnt(films, 0.01),
        "popularity": learnt(films, 4.0, method="lists", list_rank=0),
        "item means": learnt(films, 1.0, protect="rating", method="covariance"),
        "tastes": learnt(films, math.inf, protect="rating"),
    }
    assert {name: each.level for name, each in said.items()} == {name: name for name in said}
    assert str(said["nothing"]).startswith("Learnt nothing: no item's popularity stands out")
    assert "Learnt popularity only, of " in str(said["popularity"])
    assert "everybody gets nearly the same list" in str(said["popularity"])
    assert "Learnt item means only: the mean ratings of " in str(said["item means"])
    assert "directions of taste for lists" in str(said["tastes"])
    assert all(each.is_little == (name != "tastes") for name, each in said.items())


def test_lists_without_a_direction_of_taste_are_said_to_know_popularity_only() -> None:
    found = LearntSummary("tastes", 9, 5, 3, 0, 2, 0, has_ratings=True)
    assert str(found).endswith("and 2 directions of taste for ratings; for lists, popularity only.")
    assert found.is_little
    assert "popularity only" not in str(replace(found, list_directions=1))


def test_more_budget_learns_more_items(films: Ratings) -> None:
    found = [learnt(films, epsilon, protect="rating") for epsilon in (0.3, 3.0, math.inf)]
    assert [each.popular_items for each in found] == sorted(each.popular_items for each in found)
    # Without noise, every item that anybody rated is known.
    assert found[-1].popular_items == len(np.unique(films.items))


def test_noise_alone_is_popular_with_nobody() -> None:
    """17,384 items of which hardly any was rated: the largest of the noise is not popularity."""
    even = np.random.default_rng(1).choice(17_384, 600, replace=False)
    table = pl.DataFrame({"user": np.arange(600) % 200, "item": even, "rating": even % 5 + 1})
    sparse = read_ratings(table, scale=(1, 5), catalog=Catalog(list(map(str, range(17_384)))))
    for seed in range(5):
        made = fit(sparse, epsilon=1.0, randomness=SeededRandomness(seed), protect="rating")
        assert made.learnt.level == "nothing", made.learnt


def test_advice_is_what_an_option_can_follow(films: Ratings) -> None:
    weak = fit(films, epsilon=0.1, ledger="unbooked").learnt
    said = " ".join(weak.advice)
    assert "features" in said and "a larger epsilon" in said and "protect rating" in said
    per_rating = fit(films, epsilon=0.01, ledger="unbooked", protect="rating").learnt
    assert "protect rating" not in " ".join(per_rating.advice)
    paper = fit(films, epsilon=0.1, ledger="unbooked", method="covariance").learnt
    assert "features" not in " ".join(paper.advice)
    assert learnt(films, math.inf, protect="rating").advice == ()


def test_the_file_says_it_and_the_reader_computes_it_again(films: Ratings, tmp_path: Path) -> None:
    made = fit(films, epsilon=0.1, ledger="unbooked")
    made.save(tmp_path / "m")
    read = load(tmp_path / "m", verify=True)
    assert read.learnt == made.learnt
    assert read.parameters["learnt"] == json.loads(json.dumps(made.learnt.to_dict()))
    lying = Release(
        made.method, made.scale, made.catalog, made.guarantee,
        {**made.parameters, "learnt": {"level": "tastes", "words": ["everything"]}}, made.arrays,
    )  # fmt: skip
    assert lying.learnt == made.learnt


def test_a_file_that_does_not_say_how_many_directions_it_has() -> None:
    made = random_lists(h=4, k=3)
    assert "list_directions" not in made.parameters
    assert made.learnt.list_directions == 3 and made.learnt.level == "tastes"
