"""kNN against Surprise's KNNBaseline on the same ratings and split. CPU-seconds and RMSE.

Needs `pip install scikit-surprise`; says so and ends where it is absent.

python -m benchmarks.knn_peer --data FOLDER    (ml-1m; made-up ratings of its shape without)
"""

from __future__ import annotations

import argparse
import importlib.util
import time

import numpy as np
from benchmarks._cost import add_row

from discreet.evaluate import people_of
from discreet.methods import fit
from discreet.ratings import Split, find_shape, make_ratings, read_ratings, split_random


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--ratings", type=float, default=1e5)
    asked = parser.parse_args(argv)
    if importlib.util.find_spec("surprise") is None:
        print("scikit-surprise is not installed: no comparison")
        return
    ratings = (
        read_ratings(asked.data)
        if asked.data
        else make_ratings(find_shape("ml-1m").scaled(ratings=int(asked.ratings)), seed=1)
    )
    split = split_random(ratings, 0.1, seed=1)
    theirs, ours = peer(split), discreet_knn(split)
    print(f"{'':12}{'fit CPU-s':>12}{'predictions a CPU-s':>22}{'RMSE':>8}")
    for name, (fitting, rate, error) in (("Surprise", theirs), ("discreet", ours)):
        print(f"{name:12}{fitting:12.2f}{rate:22,.0f}{error:8.4f}")
    rate = f"{ours[1]:,.0f} predictions a CPU-s"
    add_row("kNN, 20 neighbours", rate, f"{ours[1] / theirs[1]:.1f} times Surprise's")
    print(f"ratio: {ours[1] / theirs[1]:.1f} times as many predictions a CPU-second")


def peer(split: Split) -> tuple[float, float, float]:
    import pandas as pd
    from surprise import Dataset, KNNBaseline, Reader

    train, test = split.train, split.test
    table = pd.DataFrame(
        {"user": train.user_of_rating(), "item": train.items, "rating": train.values()}
    )
    data = Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
    model = KNNBaseline(
        k=20, sim_options={"name": "pearson_baseline", "user_based": False}, verbose=False
    )
    start = time.process_time()
    model.fit(data)
    fitting = time.process_time() - start
    pairs = list(zip(test.user_of_rating().tolist(), test.items.tolist(), strict=True))
    start = time.process_time()
    guess = np.array([model.predict(user, item).est for user, item in pairs])
    rate = len(pairs) / (time.process_time() - start)
    return fitting, rate, _rmse(guess, split)


def discreet_knn(split: Split) -> tuple[float, float, float]:
    users, items = split.test.user_of_rating().astype(np.int64), split.test.items
    people = people_of(split.train)
    for _ in range(2):  # the first round compiles
        start = time.process_time()
        release = fit(split.train, protect="rating", epsilon=float("inf"))
        fitting = time.process_time() - start
        model = release.predictor("knn", neighbours=20)
        start = time.process_time()
        guess = model.predict_pairs(people, users, items)
        rate = len(items) / (time.process_time() - start)
    return fitting, rate, _rmse(guess, split)


def _rmse(guess: np.ndarray, split: Split) -> float:
    return float(np.sqrt(np.mean((np.clip(guess, 1, 5) - split.test.values()) ** 2)))


if __name__ == "__main__":
    main()
