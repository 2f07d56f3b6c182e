"""How fast ratings are made up, beside drawing as many bare triples with numpy.

    python -m benchmarks.synthetic --ratings 1e4 1e6 1e7 --shape netflix

The yardstick draws a user, an item and a level for every rating, all uniform and independent, with
`numpy.random.default_rng` in the same run: no tails, no taste, no order, duplicates allowed. The
ratio says how much a rating costs in such triples, and so compares machines.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Sequence

import numba
import numpy as np
from benchmarks._cost import add_row, cheapest

from discreet.ratings.synthetic import SHAPES, Shape, find_shape, make_ratings

_BLOCK = 1 << 20


def draw_triples(shape: Shape) -> int:
    """Draw as many uniform triples as the shape has ratings, a block at a time."""
    rng = np.random.default_rng(0)
    drawn = 0
    for begin in range(0, shape.ratings, _BLOCK):
        size = min(_BLOCK, shape.ratings - begin)
        users = rng.integers(shape.users, size=size, dtype=np.int32)
        items = rng.integers(shape.items, size=size, dtype=np.int32)
        drawn += min(len(users), len(items), _draw_values(rng, shape, size))
    return drawn


def _draw_values(rng: np.random.Generator, shape: Shape, size: int) -> int:
    levels = shape.scale.levels
    if levels is None:
        return len(rng.random(size, dtype=np.float32))
    return len(rng.integers(len(levels), size=size, dtype=np.uint8))


def measure(shape: Shape, repeats: int) -> dict[str, float]:
    """One line of the table."""
    made = cheapest(lambda: make_ratings(shape), repeats)
    bare = cheapest(lambda: draw_triples(shape), repeats)
    return {
        "ratings": shape.ratings,
        "users": shape.users,
        "items": shape.items,
        "wall_seconds": made.wall,
        "cpu_seconds": made.cpu,
        "ratings_per_second": shape.ratings / made.wall,
        "ratings_per_cpu_second": shape.ratings / made.cpu,
        "triples_per_second": shape.ratings / bare.wall,
        "triples_per_rating_wall": made.wall / bare.wall,
        "triples_per_rating_cpu": made.cpu / bare.cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def show(line: dict[str, float]) -> str:
    return (
        f"{line['ratings']:>13,.0f} ratings {line['wall_seconds']:8.3f} s "
        f"{line['ratings_per_second'] / 1e6:7.2f} M/s "
        f"{line['ratings_per_cpu_second'] / 1e6:7.2f} M/cpu-s   "
        f"numpy triples {line['triples_per_second'] / 1e6:7.1f} M/s   "
        f"a rating costs {line['triples_per_rating_wall']:6.1f} triples "
        f"({line['triples_per_rating_cpu']:.1f} in cpu)   "
        f"peak {line['peak_mib']:,.0f} MiB"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="netflix", choices=sorted(SHAPES))
    parser.add_argument(
        "--ratings", nargs="+", type=float, default=[1e4, 1e5, 1e6, 1e7], metavar="N"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(argv)
    shape = find_shape(options.shape)
    make_ratings(shape.scaled(ratings=10_000))  # compiles, or loads what was compiled
    if not options.json:
        print(f"shape of {shape.name}, {numba.get_num_threads()} threads")
    for ratings in options.ratings:
        line = measure(shape.scaled(ratings=round(ratings)), options.repeats)
        rate, ratio = line["ratings_per_cpu_second"] / 1e6, line["triples_per_rating_cpu"]
        figure = f"{rate:.1f} million a CPU-s"
        add_row(f"{ratings:,.0f} made-up ratings", figure, f"{ratio:.1f} of numpy's triples")
        print(json.dumps(line) if options.json else show(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
