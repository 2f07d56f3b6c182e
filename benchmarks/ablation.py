"""What each part of the refined method is worth: RMSE without it, everything else as it is.

python -m benchmarks.ablation --data FOLDER [--features FOLDER/movies.dat]
(ml-1m; made-up ratings of its shape without)
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from discreet.evaluate import people_of
from discreet.methods import fit
from discreet.predict import Release
from discreet.privacy import SeededRandomness
from discreet.ratings import (
    Split,
    find_shape,
    make_ratings,
    read_features,
    read_ratings,
    split_random,
)

BUDGETS = {"rating": (0.5, 1.0, 4.0, math.inf), "user": (1.0, 4.0, 10.0, math.inf)}
PARTS: dict[str, dict[str, Any]] = {
    "all of it": {},
    "without the refinement": {"refine_share": 0.0},
    "without pairs, and so without lists": {"list_rank": 0},
    "without the covariance": {"refine_share": 1.0},
    "without free directions": {"directions": False},
    "without any taste but free directions": {"rank": 0},
    "item effects alone": {"rank": 0, "directions": False},
    "head of 60 items": {"head": 60},
    "the paper's clamp and damping (1, 20)": {"clamp": 1.0, "fictitious": 20},
    "method covariance": {"method": "covariance"},
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--features", help="a public table by item: one more line, with it")
    parser.add_argument("--ratings", type=float, default=1e5)
    parser.add_argument("--draws", type=int, default=3)
    asked = parser.parse_args(argv)
    ratings = (
        read_ratings(asked.data)
        if asked.data
        else make_ratings(find_shape("ml-1m").scaled(ratings=int(asked.ratings)), seed=1)
    )
    split = split_random(ratings, 0.1, seed=1)
    heads = [f"{unit} {e:g}" for unit, budgets in BUDGETS.items() for e in budgets]
    print(f"{'':40}" + "".join(f"{head:>13}" for head in heads))
    parts = dict(PARTS)
    if asked.features:
        parts["and public features"] = {
            "features": read_features(asked.features, ratings.catalog).values
        }
    for name, options in parts.items():
        errors = [
            np.mean([_rmse(split, unit, e, draw, options) for draw in draws(e, asked.draws)])
            for unit, budgets in BUDGETS.items()
            for e in budgets
        ]
        print(f"{name:40}" + "".join(f"{error:13.4f}" for error in errors), flush=True)


def draws(epsilon: float, wanted: int) -> range:
    """Without noise there is one."""
    return range(wanted if math.isfinite(epsilon) else 1)


def _rmse(split: Split, unit: str, epsilon: float, draw: int, options: dict[str, Any]) -> float:
    release: Release = fit(
        split.train,
        protect=unit,
        epsilon=epsilon,
        randomness=SeededRandomness(draw),
        **options,
    )
    rows, items = split.test.user_of_rating().astype(np.int64), split.test.items
    guess = release.predictor().predict_pairs(people_of(split.train), rows, items)
    return float(np.sqrt(np.mean((guess - split.test.values()) ** 2)))


if __name__ == "__main__":
    main()
