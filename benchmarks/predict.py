"""How fast a release opens, and how fast it predicts.

    python -m benchmarks.predict --items 17770 --rank 20 --head 6000

Releases and people are made up: items fall in popularity as in the Netflix Prize data, people have
165 ratings each, and the weights of the covariance grow with popularity as real ones do, so that
neighbours overlap as much as they do in life. Times are the best of several runs; "a CPU-second"
counts the time of all threads.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks._cost import Cost, add_row, cheapest

from discreet.domain import Catalog, OwnRatings, Scale
from discreet.estimate import clean_auto
from discreet.predict import People, Predictor
from discreet.privacy import GaussianEvent, Guarantee, Unit
from discreet.release import Release, load, packed_size

_OWN = 165
_TARGETS = 20


def cost(work: Callable[[], object], repeats: int) -> Cost:
    """The cheapest of several runs after one that compiles."""
    work()
    return cheapest(work, repeats)


def popularity(items: int) -> np.ndarray:
    falling = 1 / (np.arange(items) + 20.0)
    return falling / falling.sum()


def make_release(items: int, rank: int, head: int) -> Release:
    rng = np.random.default_rng(0)
    event = GaussianEvent(unit=Unit.USER, label="a made-up release", sensitivity=1.0, sigma=5.0)
    arrays = {
        "item_effects": rng.normal(0, 0.4, items),
        "item_effect_variances": rng.uniform(0, 0.1, items),
        "item_counts": popularity(items) * 1e8,
        "factors": rng.normal(0, 0.2, (items, rank)),
        "factor_variances": rng.uniform(0, 0.1, items),
    }
    parameters = {"global_mean": 3.6, "user_variance": 0.2, "rating_variance": 0.72}
    released = {name: array.astype(np.float32) for name, array in arrays.items()}
    if head:
        released |= make_head(items, head, rng)
        parameters |= {"covariance_noise": 0.0, "weights_noise": 0.0}
    catalog = Catalog([str(i) for i in range(items)], [f"Made-up title {i}" for i in range(items)])
    guarantee = Guarantee(Unit.USER, (event,), 1e-6)
    return Release("covariance", Scale(1, 5), catalog, guarantee, parameters, released)


def make_head(items: int, head: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights like co-rating counts; the covariance random, with a diagonal that dominates."""
    share = popularity(items)[:head].astype(np.float32)
    weights = np.empty(packed_size(head), np.float32)
    covariance = rng.standard_normal(len(weights), dtype=np.float32)
    begin = 0
    for i in range(head):
        row = slice(begin, begin + head - i)
        scatter = rng.standard_normal(head - i, dtype=np.float32)
        weights[row] = 1e8 * share[i] * share[i:] * np.exp(0.5 * scatter)
        covariance[row] *= 0.05 * weights[row]
        covariance[begin] = 0.8 * weights[begin]
        begin = row.stop
    return {"head": np.arange(head, dtype=np.int32), "covariance": covariance, "weights": weights}


def make_people(items: int, count: int) -> tuple[People, np.ndarray, np.ndarray]:
    """People, and pairs of a person and an item to predict."""
    rng = np.random.default_rng(1)
    share = popularity(items)
    drawn = rng.choice(items, (count, _OWN), p=share)
    rated = [np.unique(row) for row in drawn]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rated])])
    values = rng.integers(1, 6, starts[-1]).astype(np.float64)
    people = People(starts.astype(np.int64), np.concatenate(rated).astype(np.int32), values)
    rows = np.repeat(np.arange(count), _TARGETS)
    return people, rows, rng.choice(items, len(rows), p=share)


def measure_file(release: Release, repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.discreet"
        release.save(path)
        return {
            "file_bytes": path.stat().st_size,
            "open_ms": 1e3 * cost(lambda: load(path), 20 * repeats).wall,
            "open_and_read_titles_ms": 1e3 * cost(lambda: load(path).catalog.titles, repeats).wall,
            "open_and_verify_ms": 1e3 * cost(lambda: load(path, verify=True), repeats).wall,
        }


def measure_predictor(
    model: Predictor, people: People, rows: np.ndarray, items: np.ndarray, repeats: int
) -> dict[str, float]:
    own = OwnRatings(people.items[: people.starts[1]], people.values[: people.starts[1]])
    pairs = cost(lambda: model.predict_pairs(people, rows, items), repeats)
    alone = cost(lambda: model.recommend(own, 10), 10 * repeats)
    return {
        "predictions_per_cpu_second": len(rows) / pairs.cpu,
        "predictions_per_second": len(rows) / pairs.wall,
        "recommend_ms": 1e3 * alone.wall,
    }


def measure_folding(
    model: Predictor, people: People, rows: np.ndarray, repeats: int
) -> dict[str, float]:
    """One prediction a person: folding in is all of the work."""
    persons = np.unique(rows)
    fold = cost(lambda: model.predict_pairs(people, persons, np.zeros_like(persons)), repeats)
    ranked = min(2048, len(people))
    scored = cost(lambda: model.scores(people, 0, ranked), repeats)
    return {
        "fold_in_people_per_cpu_second": len(people) / fold.cpu,
        "fold_in_people_per_second": len(people) / fold.wall,
        "all_items_people_per_cpu_second": ranked / scored.cpu,
    }


def measure_cleaning(size: int) -> dict[str, float]:
    """Three planted directions above the noise, which fills the rest of the spectrum."""
    rng = np.random.default_rng(2)
    cov = np.triu(rng.standard_normal((size, size), dtype=np.float32), 1)
    cov += cov.T
    planted = np.linalg.qr(rng.standard_normal((size, 3)))[0].astype(np.float32)
    cov += (planted * (2 * np.sqrt(size) * np.array([8, 3, 1.5], np.float32))) @ planted.T
    wall, cpu = time.perf_counter(), time.process_time()
    factors = clean_auto(cov, np.full(size, 100.0), 1.0)
    return {
        "clean_items": size,
        "clean_factors": factors.shape[1],
        "clean_seconds": time.perf_counter() - wall,
        "clean_cpu_seconds": time.process_time() - cpu,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=17_770)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--head", type=int, default=6_000, help="items of the dense covariance")
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--clean", type=int, default=3_000, help="items of the cleaned matrix")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    repeats = options.repeats
    people, rows, targets = make_people(options.items, options.people)
    light = make_release(options.items, options.rank, 0)
    svd, knn = light.predictor("svd"), light.predictor("knn")
    figures = {
        "file": measure_file(light, repeats),
        "svd": measure_predictor(svd, people, rows, targets, repeats)
        | measure_folding(svd, people, rows, repeats),
        "knn on factors": measure_predictor(knn, people, rows, targets, repeats),
    }
    if options.head:
        dense = make_release(options.items, options.rank, min(options.head, options.items))
        inside = targets % options.head
        model = dense.predictor("knn")
        figures["knn on the matrix"] = measure_predictor(model, people, rows, inside, repeats)
    if options.clean:
        figures["cleaning"] = measure_cleaning(options.clean)
    if options.json:
        print(json.dumps(figures))
    else:
        for part, values in figures.items():
            print(part)
            for name, value in values.items():
                if "_cpu_" in name:
                    add_row(f"{part}: {name.replace('_', ' ')}", f"{value:,.1f}")
                print(f"    {name:34} {value:>16,.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
