"""Accuracy on every data set: RMSE, NDCG@10 and recall@20, by chance and by time.

python benchmarks/datasets.py --data FOLDER [--sets ml-100k,jester] [--implicit]

FOLDER holds the data sets under their usual names; those that are absent are left out. Constants
are the same for all of them. For the curator's eyes only, as every evaluation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

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
}  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--people", type=int, help="judge by at most so many, chosen at random")
    parser.add_argument("--method", help="discreet's default for the data if absent")
    parser.add_argument("--implicit", action="store_true", help="presence alone")
    asked = parser.parse_args(argv)
    if asked.data is None:
        print("tell the folder that holds the data sets: --data FOLDER")
        return
    print("data set, split | model | RMSE | NDCG@10 | recall@20")
    for name in asked.sets.split(","):
        if not (asked.data / name).is_dir():
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

    def tell(model: str, qualities: list[Quality]) -> None:
        errors = [q.rmse for q in qualities if q.rmse is not None]
        rmse = f"{np.mean(errors):.4f}" if errors else "-"
        gain, recall = (
            np.mean([getattr(q, field) for q in qualities])
            for field in ("ndcg_at_10", "recall_at_20")
        )
        print(f"{title} | {model} | {rmse} | {gain:.4f} | {recall:.4f}", flush=True)

    if not split.train.scale.presence:
        tell("user mean", [judge.judge(user_mean(split.train))])
    tell("popularity", [judge.judge(popularity(split.train))])
    for unit, budgets in BUDGETS.items():
        for epsilon in (*budgets, math.inf):
            draws = asked.draws if math.isfinite(epsilon) else 1
            made = [ours(split, unit, epsilon, draw, asked.method) for draw in range(draws)]
            tell(f"{unit} {epsilon:g}", [judge.judge(scorer) for scorer in made])


def ours(split: Split, unit: str, epsilon: float, draw: int, method: str | None) -> Scorer:
    told = {"protect": unit, "epsilon": epsilon, "method": method}
    release = fit(split.train, randomness=SeededRandomness(draw), **told)
    scorer: Scorer = release.predictor()
    return scorer


if __name__ == "__main__":
    main()
