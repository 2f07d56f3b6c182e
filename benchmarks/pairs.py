"""How fast the sums over pairs are, beside scipy's sparse products in the same run.

    python -m benchmarks.pairs --ratings 1e6 5e6
    python -m benchmarks.pairs --ratings 2e7 --items 10000
    python -m benchmarks.pairs --data ../shared/data/ml-1m

Made-up ratings with the shape of Netflix Prize, or a folder that `read_ratings` knows. Seconds are
processor time over all threads: time on the clock depends on the neighbours. Peak memory is the
whole process's while the sums are computed, input and result included, before scipy runs. Scipy
gets the same integer weights and makes whole matrices in floats: two products for the differences
and their weights, one for the cosine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from benchmarks._cost import add_row, forget_peak, peak_bytes, timed
from scipy import sparse

from discreet.domain import Scale
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings, read_ratings
from discreet.ratings.synthetic import SHAPES, find_shape, make_ratings

Statistic = DifferencePairs | CosinePairs
_SCIPY_UP_TO = 20_000_000


def made_up(shape: str, ratings: int, items: int | None) -> Ratings:
    """Ratings of a shape, with its own number of items or another."""
    scaled = find_shape(shape).scaled(ratings=ratings)
    made = make_ratings(scaled if items is None else replace(scaled, items=items), seed=0)
    return replace(made, times=None)


def scipy_products(statistic: Statistic, ratings: Ratings) -> list[sparse.csr_matrix]:
    """Whole matrices of the same sums: D and N, or P with Q on its diagonal."""
    quantised, own = statistic._quantised(ratings, ratings.items)
    weights = np.repeat(own, np.diff(ratings.starts)).astype(np.float64)
    values = quantised.astype(np.float64)

    def table(data: np.ndarray) -> sparse.csr_matrix:
        shape = ratings.user_count, len(ratings.catalog)
        return sparse.csr_matrix((data, ratings.items, ratings.starts), shape)

    weighted = table(weights * values)
    if isinstance(statistic, CosinePairs):
        return [weighted.T.tocsr() @ table(values)]
    ones = table(np.ones(len(values)))
    sums = weighted.T.tocsr() @ ones
    return [sums - sums.T, table(weights).T.tocsr() @ ones]


def agree(sums: Sequence[np.ndarray], products: list[sparse.csr_matrix], size: int) -> bool:
    """Whether 100 rows of the triangles equal scipy's: its floats are exact below 2^53."""
    for row in np.random.default_rng(1).integers(size, size=100).tolist():
        base = row * size - row * (row + 1) // 2
        for packed, product in zip(sums, products, strict=False):
            theirs = product[row].toarray()[0, row + 1 :]
            if np.any(packed[base + row + 1 : base + size] != theirs):
                return False
    return True


def measure(ratings: Ratings, kind: type, options: argparse.Namespace) -> dict[str, object]:
    """One line of the table."""
    head = np.arange(len(ratings.catalog), dtype=np.int32)
    unit, noise = Unit(options.protect), Noise(options.noise)
    statistic: Statistic = kind(unit, noise, head, ratings.scale)
    counts = np.diff(ratings.starts)
    pairs = int((counts * (counts - 1) // 2).sum())
    forget_peak()
    runs = [timed(lambda: statistic.measure(ratings))[:2] for _ in range(options.repeats - 1)]
    wall, cpu, sums = timed(lambda: statistic.measure(ratings))
    peak = peak_bytes()
    wall, cpu = min([*runs, (wall, cpu)], key=lambda run: run[1])
    line: dict[str, object] = {
        "sums": "differences" if kind is DifferencePairs else "cosine",
        "ratings": len(ratings),
        "items": len(head),
        "pairs": pairs,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "ns_per_pair": 1e9 * cpu / pairs,
        "peak_gib": peak / 2**30,
        "triangles_gib": (2 if kind is DifferencePairs else 1) * 4 * len(head) ** 2 / 2**30,
    }
    if len(ratings) <= options.scipy_up_to:
        _, theirs, products = timed(lambda: scipy_products(statistic, ratings))
        line |= {"scipy_cpu_seconds": theirs, "scipy_ratio": theirs / cpu}
        line["right"] = agree(sums, products, len(head))
    return line


def show(line: dict[str, object]) -> str:
    text = (
        f"{line['sums']:<12}{line['ratings']:>12,}{line['items']:>8,}{line['pairs']:>11.2e}"
        f"{line['cpu_seconds']:>9.2f}{line['wall_seconds']:>9.2f}{line['ns_per_pair']:>9.2f}"
        f"{line['peak_gib']:>9.2f}{line['triangles_gib']:>11.2f}"
    )
    if "right" in line:
        text += f"{line['scipy_cpu_seconds']:>9.1f}{line['scipy_ratio']:>7.1f}"
        text += "  equal" if line["right"] else "  WRONG SUMS"
    return text


TITLE = (
    f"{'sums':<12}{'ratings':>12}{'items':>8}{'pairs':>11}{'cpu-s':>9}{'wall s':>9}{'ns/pair':>9}"
    f"{'peak GiB':>9}{'triangles':>11}{'scipy':>9}{'ratio':>7}"
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="netflix", choices=sorted(SHAPES))
    parser.add_argument("--ratings", nargs="+", type=float, default=[1e6], metavar="N")
    parser.add_argument("--items", type=int, help="another number of items than the shape's")
    parser.add_argument("--data", metavar="FOLDER", help="real ratings, from 1 to 5, instead")
    parser.add_argument("--protect", default="rating", choices=[unit.value for unit in Unit])
    parser.add_argument("--noise", default="gaussian", choices=[noise.value for noise in Noise])
    parser.add_argument("--repeats", type=int, default=1, help="runs of which the best counts")
    parser.add_argument(
        "--scipy-up-to", type=float, default=_SCIPY_UP_TO, metavar="N", help="ratings for the peer"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(argv)
    small = made_up(options.shape, 20_000, None)
    for kind in (DifferencePairs, CosinePairs):  # compiles, or loads what was compiled
        measure(small, kind, options)
    if not options.json:
        print(TITLE)
    for ratings in _loads(options):
        for kind in (DifferencePairs, CosinePairs):
            line = measure(ratings, kind, options)
            scipy = line.get("scipy_ratio")
            beside = f"scipy takes {scipy:.1f} times as much" if scipy is not None else ""
            figure = f"{line['cpu_seconds']:.1f} CPU-s, {line['peak_gib']:.1f} GiB"
            add_row(f"{line['sums']}, pairs of {line['ratings']:,} ratings", figure, beside)
            print(json.dumps(line) if options.json else show(line), flush=True)
    return 0


def _loads(options: argparse.Namespace) -> Iterator[Ratings]:
    """The data sets, one at a time."""
    if options.data:
        yield read_ratings(options.data, scale=Scale(1, 5), catalog="from-data")
        return
    for count in options.ratings:
        yield made_up(options.shape, round(count), options.items)


if __name__ == "__main__":
    sys.exit(main())
