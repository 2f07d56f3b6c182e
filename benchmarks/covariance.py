"""How fast the sums of outer products are, beside scipy's sparse product in the same run.

    python -m benchmarks.covariance --ratings 1e7
    python -m benchmarks.covariance --ratings 1e8

Made-up ratings with the shape of Netflix Prize. Seconds are processor time over all threads: time
on the clock depends on the neighbours. Peak memory is the whole process's while the sums are
computed, input and result included, before scipy runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from benchmarks._cost import add_row, forget_peak, peak_bytes, timed
from scipy import sparse

from discreet.measure.engines.local import CoMoments, co_moments
from discreet.ratings.synthetic import SHAPES, find_shape, make_ratings
from discreet.release import packed_bases

_SCIPY_UP_TO = 10_000_000


class Table(NamedTuple):
    """Arguments of `co_moments`."""

    starts: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.int16]
    votes: npt.NDArray[np.int16]
    size: int


def make_table(shape: str, ratings: int) -> Table:
    """Items of made-up ratings; values at random, votes by the users' numbers of ratings."""
    made = make_ratings(find_shape(shape).scaled(ratings=ratings), seed=0)
    starts, items, size = made.starts, made.items, len(made.catalog)
    del made
    rng = np.random.default_rng(0)
    values = rng.integers(-16384, 16385, len(items), dtype=np.int16)
    votes = np.rint(2**14 / np.maximum(np.diff(starts), 1) ** 0.25).astype(np.int16)
    return Table(starts, items, values, votes, size)


def scipy_products(table: Table) -> list[sparse.csr_matrix]:
    """Both full matrices by sparse products."""
    factors = []
    for data in (table.values, np.repeat(table.votes, np.diff(table.starts))):
        shape = (len(table.starts) - 1, table.size)
        matrix = sparse.csr_matrix((data.astype(np.float64), table.items, table.starts), shape)
        factors.append(matrix.T.tocsr() @ matrix)
    return factors


def adds_up(moments: CoMoments, table: Table) -> bool:
    """Whether the sums over all pairs are right: squares of each user's total, and of its count."""
    counts = np.diff(table.starts)
    totals = np.add.reduceat(table.values, table.starts[:-1], dtype=np.int64)
    totals[counts == 0] = 0
    diagonal = packed_bases(moments.size) + np.arange(moments.size)
    wants = totals**2, (counts * table.votes.astype(np.int64)) ** 2
    for packed, want in zip((moments.cov, moments.wgt), wants, strict=True):
        # Modulo 2^64, as all sums of int64 are.
        if packed is None or 2 * packed.sum() - packed[diagonal].sum() != want.sum():
            return False
    return True


def agree(moments: CoMoments, products: list[sparse.csr_matrix], sample: int = 200) -> bool:
    """Whether some rows are equal to scipy's: the sums are below 2^53, so its floats are exact."""
    rows = np.random.default_rng(1).integers(moments.size, size=sample)
    for row in rows.tolist():
        low, high = (
            np.minimum(row, np.arange(moments.size)),
            np.maximum(row, np.arange(moments.size)),
        )
        places = packed_bases(moments.size)[low] + high
        for packed, product in zip((moments.cov, moments.wgt), products, strict=True):
            if packed is None or np.any(packed[places] != product[row].toarray()[0]):
                return False
    return True


def measure(shape: str, ratings: int, repeats: int, threads: int | None) -> dict[str, float]:
    """One line of the table."""
    table = make_table(shape, ratings)
    counts = np.diff(table.starts)
    pairs = int((counts * (counts + 1) // 2).sum())
    forget_peak()
    costs = [timed(lambda: co_moments(*table, threads=threads))[:2] for _ in range(repeats - 1)]
    wall, cpu, moments = timed(lambda: co_moments(*table, threads=threads))
    wall, cpu = min([*costs, (wall, cpu)], key=lambda run: run[1])
    line = {
        "ratings": len(table.items),
        "users": len(counts),
        "items": table.size,
        "pairs": pairs,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "ns_per_pair": 1e9 * cpu / pairs,
        "peak_gib": peak_bytes() / 2**30,
        "right": adds_up(moments, table),
    }
    if ratings <= _SCIPY_UP_TO:
        _, line["scipy_cpu_seconds"], products = timed(lambda: scipy_products(table))
        line["scipy_ratio"] = line["scipy_cpu_seconds"] / cpu
        line["right"] = line["right"] and agree(moments, products)
    return line


def show(line: dict[str, float]) -> str:
    text = (
        f"{line['ratings']:,} ratings, {line['items']:,} items, {line['pairs']:.3e} pairs: "
        f"{line['cpu_seconds']:.2f} cpu-s ({line['wall_seconds']:.2f} s), "
        f"{line['ns_per_pair']:.3f} ns a pair, peak {line['peak_gib']:.2f} GiB"
    )
    if "scipy_ratio" in line:
        text += f"; scipy {line['scipy_cpu_seconds']:.1f} cpu-s, {line['scipy_ratio']:.1f} times"
    return text + ("; checked" if line["right"] else "; WRONG SUMS")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="netflix", choices=sorted(SHAPES))
    parser.add_argument("--ratings", nargs="+", type=float, default=[1e6, 1e7], metavar="N")
    parser.add_argument("--repeats", type=int, default=1, help="runs of which the best counts")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(argv)
    co_moments(*make_table(options.shape, 20_000))  # compiles, or loads what was compiled
    for ratings in options.ratings:
        line = measure(options.shape, round(ratings), options.repeats, options.threads)
        scipy = line.get("scipy_ratio")
        beside = f"scipy takes {scipy:.1f} times as much" if scipy is not None else ""
        figure = f"{line['cpu_seconds']:.1f} CPU-s, {line['peak_gib']:.1f} GiB"
        add_row(f"Cov and Wgt of {line['ratings']:,} ratings", figure, beside)
        print(json.dumps(line) if options.json else show(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
