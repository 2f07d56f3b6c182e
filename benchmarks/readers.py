"""How fast ratings are read, beside how fast polars and pyarrow read the same file.

    python -m benchmarks.readers --rows 10000000

Makes its own data in a temporary folder. Prints millions of rows a second, wall and CPU seconds
(the best of several runs), and both as multiples of what polars alone takes in the same run. The
line "checks" is the part of "discreet" that checks the finished columns. On a
busy machine the CPU seconds and the multiples are what to read.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from benchmarks._cost import add_row, cheapest

from discreet.domain import Catalog
from discreet.ratings.readers import read_ratings

_ITEMS = 17_770
_RATINGS_A_USER = 200
_CATALOG = Catalog(str(item) for item in range(1, _ITEMS + 1))
_SCALE = (0.5, 5, 0.5)


def make(rows: int, shuffled: bool) -> pl.DataFrame:
    generator = np.random.default_rng(0)
    users = generator.integers(1, max(2, rows // _RATINGS_A_USER), rows)
    return pl.DataFrame(
        {
            "userId": users if shuffled else np.sort(users),
            "movieId": generator.integers(1, _ITEMS + 1, rows),
            "rating": generator.integers(1, 11, rows) / 2,
            "timestamp": generator.integers(900_000_000, 1_700_000_000, rows),
        }
    )


def ours(path: Path) -> Callable[[], object]:
    return lambda: read_ratings(path, scale=_SCALE, catalog=_CATALOG, layout="table")


def checks(path: Path) -> Callable[[], object]:
    """What `Ratings` does on its own construction: a part of "discreet"."""
    ratings = read_ratings(path, scale=_SCALE, catalog=_CATALOG, layout="table")
    return lambda: dataclasses.replace(ratings)


def plain_readers(path: Path) -> dict[str, Callable[[], object]]:
    if path.suffix == ".csv":
        return {"polars": lambda: pl.read_csv(path)}
    return {"polars": lambda: pl.read_parquet(path), "pyarrow": lambda: pq.read_table(path)}


def report(label: str, path: Path, rows: int, runs: int) -> None:
    timings = {name: cheapest(read, runs) for name, read in plain_readers(path).items()}
    plain = timings["polars"]
    timings["discreet"] = cheapest(ours(path), runs)
    timings["checks"] = cheapest(checks(path), runs)
    rate, ratio = rows / timings["discreet"].cpu / 1e6, timings["discreet"].cpu / plain.cpu
    add_row(f"{rows:,} rows, {label}", f"{rate:.1f} million a CPU-s", f"{ratio:.1f} of polars")
    for name, timing in timings.items():
        print(
            f"{label:<30} {name:<9} {rows / timing.wall / 1e6:8.1f} {timing.wall:8.2f} "
            f"{timing.cpu:8.2f} {timing.wall / plain.wall:8.1f} {timing.cpu / plain.cpu:8.1f}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many ratings")
    parser.add_argument("--runs", type=int, default=3, help="how often each reader runs")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ratings.csv"
        make(1000, shuffled=True).write_csv(file)
        ours(file)()  # compiles the kernels
        columns = ("Mrows/s", "wall s", "CPU s", "x wall", "x CPU")
        print(f"{'file':<30} {'reader':<9} " + " ".join(f"{name:>8}" for name in columns))
        for shuffled in (False, True):
            frame = make(options.rows, shuffled)
            for width in (3, 4):
                part = frame[:, :width]
                order = "any order" if shuffled else "by user"
                for kind in ("csv", "parquet"):
                    file = Path(folder) / f"ratings.{kind}"
                    part.write_csv(file) if kind == "csv" else part.write_parquet(file)
                    report(f"{kind}, {width} columns, {order}", file, part.height, options.runs)
                    file.unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process {peak:.2f} GiB, the made data included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
