"""Accuracy on every data set: RMSE, NDCG@10 and recall@20, by chance and by time.

python -m benchmarks.datasets --data FOLDER [--sets ml-100k,jester-1] [--implicit]
python -m benchmarks.datasets --data FOLDER --method lists --sets ml-1m     lists, judged by stars
python -m benchmarks.datasets --data FOLDER --implicit --sets independent,netflix-sparse

FOLDER holds the data sets under their usual names; those that are absent are left out. Constants
are the same for all of them. The last column is NDCG@10 as a part of that of the most popular
items, counted without noise. The last command is for data that hold little but popularity:
`independent` is made up, people have items that have nothing to do with each other, and
`netflix-sparse` has four ratings a person. For the curator's eyes only, as every evaluation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discreet.domain import PRESENCE, Catalog, Scale
from discreet.evaluate import Judge, Quality, Scorer, popularity, user_mean
from discreet.methods import fit
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings, Split, read_ratings, split_by_time, split_random

BUDGETS = {"rating": (0.5, 1.0, 4.0), "user": (1.0, 4.0, 10.0)}

Read = Callable[[Path, bool], Ratings]
SETS: dict[str, Read] = {
    "ml-100k": lambda path, implicit: read_ratings(path, implicit=implicit),
    "ml-1m": lambda path, implicit: read_ratings(path, implicit=implicit),
    "ml-latest-small": lambda path, implicit: read_ratings(path, implicit=implicit),
    "movietweetings-100k": lambda path, implicit: read_ratings(
        path / "ratings.dat", scale=None if implicit else (0, 10), catalog=path / "movies.dat",
        implicit=implicit,
    ),
    "netflix-subset": lambda path, implicit: read_ratings(
        path / "TrainingRatings-5.txt", scale=None if implicit else (1, 5), catalog="from-data",
        columns={"item": 0, "user": 1, "rating": 2}, separator=",", implicit=implicit,
    ),
    "jester-1": lambda path, implicit: read_ratings(
        path / "jester-data-1.csv", layout="jester", implicit=implicit
    ),
    "netflix-sparse": lambda path, implicit: read_ratings(
        path.with_name("netflix-subset") / "TestingRatings.txt", catalog="from-data",
        scale=None if implicit else (1, 5), columns={"item": 0, "user": 1, "rating": 2},
        separator=",", implicit=implicit,
    ),
    "independent": lambda _, implicit: independent(implicit=implicit),
}  # fmt: skip
LITTLE = ("netflix-sparse", "independent")
"""Those that are left out unless they are asked for."""


def independent(people: int = 3000, items: int = 1000, *, implicit: bool) -> Ratings:
    """Everybody has each item with a probability of its own, the same for all but a factor."""
    rng = np.random.default_rng(1)
    popular = 1 / (5 + np.arange(items)) ** 0.8
    activity = rng.gamma(2.0, 0.5, people)[:, None]
    chance = np.minimum(40 * activity * popular / popular.sum(), 0.9)
    users, places = np.nonzero(rng.random((people, items)) < chance)
    starts = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=people))))
    scale = PRESENCE if implicit else Scale(1, 5)
    values = np.ones(len(users)) if implicit else rng.integers(1, 6, len(users)).astype(float)
    catalog = Catalog([str(item) for item in range(items)])
    return Ratings(scale, catalog, starts, places.astype(np.int32), scale.encode(values))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default=",".join(n for n in SETS if n not in LITTLE))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--people", type=int, help="judge by at most so many, chosen at random")
    parser.add_argument("--method", help="discreet's default for the data if absent")
    parser.add_argument("--implicit", action="store_true", help="presence alone")
    asked = parser.parse_args(argv)
    if asked.data is None:
        print("tell the folder that holds the data sets: --data FOLDER")
        return
    print("data set, split | model | RMSE | NDCG@10 | recall@20 | of popularity")
    for name in asked.sets.split(","):
        if name not in LITTLE and not (asked.data / name).is_dir():
            print(f"{name}: not in {asked.data}")
            continue
        ratings = SETS[name](asked.data / name, asked.implicit)
        for way, split in splits(name, ratings, asked.data):
            judge_all(f"{name}, {way}", split, asked)


def splits(name: str, ratings: Ratings, folder: Path) -> list[tuple[str, Split]]:
    found = [("random", split_random(ratings, 0.1, seed=1))]
    if ratings.times is not None:
        found.append(("time", split_by_time(ratings, 0.1)))
    if name == "ml-100k" and not ratings.scale.presence:
        found.append(("u1", published(ratings, folder / name)))
    return found


def published(ratings: Ratings, folder: Path) -> Split:
    """The split u1 that comes with ml-100k."""
    tested = np.loadtxt(folder / "u1.test", dtype=np.int64, usecols=(0, 1))
    catalog, users = ratings.catalog, ratings.users
    assert users is not None
    names = {str(name): place for place, name in enumerate(users)}
    rows = np.array([names[str(user)] for user in tested[:, 0]])
    items = np.array([catalog.index(str(item)) for item in tested[:, 1]])
    size = len(catalog)
    held = np.isin(
        ratings.user_of_rating().astype(np.int64) * size + ratings.items, rows * size + items
    )
    return Split(ratings.where(~held), ratings.where(held))  # fmt: skip


def judge_all(title: str, split: Split, asked: argparse.Namespace) -> None:
    judge = Judge(split, people=asked.people)
    popular = judge.judge(popularity(split.train))

    def tell(model: str, qualities: list[Quality]) -> None:
        errors = [q.rmse for q in qualities if q.rmse is not None]
        rmse = f"{np.mean(errors):.4f}" if errors else "-"
        gain, recall = (
            np.mean([getattr(q, field) for q in qualities])
            for field in ("ndcg_at_10", "recall_at_20")
        )
        part = f"{100 * gain / max(popular.ndcg_at_10, 1e-9):.0f} %"
        print(f"{title} | {model} | {rmse} | {gain:.4f} | {recall:.4f} | {part}", flush=True)

    if not split.train.scale.presence:
        tell("user mean", [judge.judge(user_mean(split.train))])
    tell("popularity", [popular])
    for unit, budgets in BUDGETS.items():
        for epsilon in (*budgets, math.inf):
            draws = asked.draws if math.isfinite(epsilon) else 1
            made = [ours(split, unit, epsilon, draw, asked.method) for draw in range(draws)]
            tell(f"{unit} {epsilon:g}", [judge.judge(scorer) for scorer in made])


def ours(split: Split, unit: str, epsilon: float, draw: int, method: str | None) -> Scorer:
    return fit(
        split.train, method=method, protect=unit, epsilon=epsilon, randomness=SeededRandomness(draw)
    ).predictor()


if __name__ == "__main__":
    main()
