"""What private sets of ten cost for everybody, beside numpy's plain top ten.

    python -m benchmarks.top_k --users 10000 --items 20000

Scores are made block by block from made-up factors, as a model would make them, because all of them
at once would be 1.6 GB; so every line includes the same scoring, which also stands alone. Prints
seconds on the clock, CPU seconds of all threads, the most memory the process ever held by then, and
the CPU seconds beside those of numpy's argpartition in the same run.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from benchmarks._cost import add_row

from discreet.measure.sets import private_sets

_RANK = 20
_CELLS = 1 << 22

Scores = Callable[[int, int], np.ndarray]


@dataclass(frozen=True)
class Line:
    """One way to choose, and what it cost for everybody."""

    name: str
    wall_s: float
    cpu_s: float
    peak_mib: float
    times_numpy: float | None = None


def make_scores(users: int, items: int) -> Scores:
    """Scores around 3.5 with a spread of 0.5, cut to five stars."""
    rng = np.random.default_rng(0)
    people = rng.normal(0, 0.5 / np.sqrt(_RANK), (users, _RANK)).astype(np.float32)
    tastes = rng.normal(0, 1, (_RANK, items)).astype(np.float32)

    def scores(first: int, last: int) -> np.ndarray:
        return np.clip(3.5 + people[first:last] @ tastes, 1, 5)

    return scores


def blockwise(scores: Scores, users: int, items: int, work: Callable[[np.ndarray], object]) -> None:
    size = max(1, _CELLS // items)
    for first in range(0, users, size):
        work(scores(first, min(first + size, users)))


def measured(name: str, work: Callable[[int], object], users: int) -> Line:
    work(8)  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    work(users)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Line(name, wall, cpu, peak)


def measure(users: int, items: int, k: int) -> list[Line]:
    scores = make_scores(users, items)

    def plain(count: int) -> None:
        blockwise(scores, count, items, lambda part: np.argpartition(part, -k, axis=1)[:, -k:])

    def private(mechanism: str, moves: str, count: int) -> None:
        private_sets(
            scores, k, protect="rating", epsilon=1.0, sensitivity=4.0,
            moves=moves, mechanism=mechanism, lists=count, ledger="unbooked",
        )  # fmt: skip

    ways: dict[str, Callable[[int], None]] = {
        "scoring alone": lambda count: blockwise(scores, count, items, np.shape),
        "numpy argpartition, not private": plain,
    }
    for mechanism in ("k-subset", "gumbel"):
        for moves in ("one", "all"):
            ways[f"{mechanism}, moves {moves}"] = lambda count, how=(mechanism, moves): private(
                *how, count
            )
    lines = [measured(name, work, users) for name, work in ways.items()]
    numpy_cpu = lines[1].cpu_s
    return [Line(x.name, x.wall_s, x.cpu_s, x.peak_mib, x.cpu_s / numpy_cpu) for x in lines]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="one JSON list")
    asked = parser.parse_args(argv)
    lines = measure(asked.users, asked.items, asked.k)
    if asked.json:
        print(json.dumps([asdict(line) for line in lines]))
        return 0
    title = f"{asked.k} of {asked.items:,} items for {asked.users:,} people"
    print(f"{title:<44} {'wall s':>8} {'CPU s':>8} {'peak MiB':>9} {'x numpy':>8}")
    for x in lines:
        add_row(f"{x.name}, {title}", f"{x.cpu_s:.1f} CPU-s", f"{x.times_numpy:.1f} of numpy")
        print(
            f"{x.name:<44} {x.wall_s:>8.1f} {x.cpu_s:>8.1f} {x.peak_mib:>9,.0f} "
            f"{x.times_numpy:>8.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
