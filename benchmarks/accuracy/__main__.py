"""Accuracy of discreet beside other private recommenders, on one split of the same ratings.

    python -m benchmarks.accuracy --data FOLDER --epsilons 0.5 1 4 10 --json rows.json
    python -m benchmarks.accuracy --from rows.json --picture accuracy.svg

A random tenth of the ratings is the test (seed 1), the same for every model. It looks at private
ratings without paying, and its noise is seeded: an experiment. Without --data, made-up ratings with
the shape of MovieLens 100K.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.accuracy import picture
from benchmarks.accuracy.models import BOTH, MODELS, Asked, Kind
from benchmarks.accuracy.rows import Row, heading, line, read, write

from discreet.domain.errors import InputError, MissingPart
from discreet.privacy import Unit
from discreet.ratings import (
    Ratings,
    Split,
    find_shape,
    make_ratings,
    read_features,
    read_ratings,
    split_random,
)

Features = npt.NDArray[np.float32] | None
TEST_SHARE, SPLIT_SEED = 0.1, 1


def main(argv: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(argv)
    try:
        if asked.picture:
            picture.check_installed()
        told, rows = read(asked.from_file) if asked.from_file else _measure(asked)
        if asked.from_file:
            print("\n".join([heading(), *map(line, rows)]))
        if asked.json:
            write(asked.json, told, rows)
        if asked.picture:
            label = f"RMSE on {told['data']}"
            # Above the item mean nothing personal is left.
            picture.draw(asked.picture, label, _points(rows), limit="item-mean")
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _points(rows: Sequence[Row]) -> list[picture.Point]:
    return [
        picture.Point(row.model, row.unit, row.epsilon, row.rmse, row.rmse_sd)
        for row in rows
        if row.rmse is not None
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="a file or folder of ratings, like ml-1m")
    parser.add_argument("--features", help="a public table by item, for discreet-features")
    parser.add_argument("--ratings", type=float, default=1e5, help="how many are made up")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0, 10.0])
    parser.add_argument("--units", nargs="+", choices=[*map(str, BOTH)], default=[*map(str, BOTH)])
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--draws", type=int, default=1, help="of the noise, for each row")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="; ".join(MODELS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw an SVG")
    parser.add_argument(
        "--from", dest="from_file", type=Path, metavar="FILE", help="rows of an earlier --json"
    )
    return parser


def _measure(asked: argparse.Namespace) -> tuple[dict[str, Any], list[Row]]:
    kinds = _choose(asked.models)
    if asked.draws < 1:
        raise InputError(f"a row needs at least 1 draw of the noise, not {asked.draws}")
    ratings, data = _ratings(asked.data, int(asked.ratings))
    split = split_random(ratings, TEST_SHARE, seed=SPLIT_SEED)
    features = read_features(asked.features, ratings.catalog).values if asked.features else None
    told = {"data": data, "split": f"random, {TEST_SHARE:g} to test, seed {SPLIT_SEED}"}
    print(f"{data}: {len(split.train):,} ratings to train, {len(split.test):,} to test")
    print(heading(), flush=True)
    rows = []
    for name, kind in kinds.items():
        for row in _rows(name, kind, split, features, asked):
            print(line(row), flush=True)
            rows.append(row)
    return told, rows


def _choose(names: list[str] | None) -> dict[str, Kind]:
    """The models asked for; without names, all that are installed and not slow."""
    if names:
        for name in names:
            if name not in MODELS:
                raise InputError(f"'{name}' is no model; there are {'; '.join(MODELS)}")
            MODELS[name].check()
        return {name: MODELS[name] for name in names}
    chosen = {}
    for name, kind in MODELS.items():
        try:
            kind.check()
        except MissingPart as missing:
            print(f"without {name}: {missing}")
            continue
        if kind.slow:
            print(f"without {name}: name it with --models")
            continue
        chosen[name] = kind
    return chosen


def _ratings(data: str | None, count: int) -> tuple[Ratings, str]:
    if data is None:
        return make_ratings(find_shape("ml-100k").scaled(ratings=count), seed=1), "made-up ratings"
    return read_ratings(data), Path(data).name


def _rows(
    name: str, kind: Kind, split: Split, features: Features, asked: argparse.Namespace
) -> Iterator[Row]:
    if not kind.units:
        yield _row(name, kind, lambda seed: Asked(split, Unit.USER, 1.0, asked.delta, seed), 1)
        return
    for unit in (unit for unit in kind.units if unit in asked.units):
        for epsilon in asked.epsilons:

            def draw(seed: int, unit: Unit = unit, epsilon: float = epsilon) -> Asked:
                return Asked(split, unit, epsilon, asked.delta, seed, features)

            yield _row(name, kind, draw, asked.draws)


def _row(name: str, kind: Kind, draw: Callable[[int], Asked], draws: int) -> Row:
    began = time.perf_counter()
    scores = [kind.score(draw(seed)) for seed in range(draws)]
    seconds = (time.perf_counter() - began) / draws
    budget = draw(0)
    errors = [score.rmse for score in scores if score.rmse is not None]
    gains = [score.ndcg_at_10 for score in scores if score.ndcg_at_10 is not None]
    return Row(
        model=name,
        unit=str(budget.unit) if kind.units else None,
        epsilon=budget.epsilon if kind.units else None,
        delta=budget.delta if kind.units else None,
        draws=draws,
        rmse=statistics.fmean(errors) if errors else None,
        rmse_sd=statistics.stdev(errors) if len(errors) > 1 else 0.0,
        ndcg_at_10=statistics.fmean(gains) if gains else None,
        seconds=seconds,
    )


if __name__ == "__main__":
    sys.exit(main())
