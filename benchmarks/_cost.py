"""What work costs: time on the clock, processor time, peak memory."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")

ROWS = "DISCREET_BENCHMARK_ROWS"
"""The variable that names the file of rows, where `python -m benchmarks` makes the table."""


class Cost(NamedTuple):
    """Seconds on the clock, and seconds of processor time over all threads."""

    wall: float
    cpu: float


def add_row(what: str, figure: str, beside: str = "") -> None:
    """Add a row to the table, if one is made: what was done, what it took, and a peer's share."""
    if path := os.environ.get(ROWS):
        with Path(path).open("a") as rows:
            rows.write(f"{what} | {figure} | {beside} |\n")


def timed(work: Callable[[], Result]) -> tuple[float, float, Result]:
    """Seconds on the clock, of processor time over all threads, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def cheapest(work: Callable[[], object], repeats: int) -> Cost:
    """The least of either over several runs."""
    runs = [Cost(*timed(work)[:2]) for _ in range(repeats)]
    return Cost(min(run.wall for run in runs), min(run.cpu for run in runs))


def forget_peak() -> None:
    """Count peak memory from now on, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Peak memory of this process since `forget_peak`, or since it began."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
