"""The whole fit: ratings in Parquet to a release file. CPU-seconds, wall time, peak memory.

python -m benchmarks.fit --ratings 1e8 --protect rating,user --methods covariance,refined
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._cost import add_row

STAGE = [sys.executable, "-m", "discreet"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=float, default=1e6)
    parser.add_argument("--protect", default="rating")
    parser.add_argument("--methods", default="covariance,refined")
    parser.add_argument("--epsilon", default="1")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        data, release = Path(folder) / "ratings.parquet", Path(folder) / "films.discreet"
        count = str(int(asked.ratings))
        subprocess.run(
            [*STAGE, "data", "make", "netflix", "--ratings", count, "-o", data], check=True
        )
        print(f"{int(asked.ratings):,} ratings, epsilon {asked.epsilon}")
        for protect in asked.protect.split(","):
            first = None
            for method in asked.methods.split(","):
                cpu = run(data, release, protect, method, asked.epsilon)
                first = first or cpu
                print(f"  {cpu / first:.2f} times the CPU of the first method")
                beside = f"{cpu / first:.2f} of {asked.methods.partition(',')[0]}"
                add_row(
                    f"fit of {int(count):,} ratings, {method}, {protect}",
                    f"{cpu:.1f} CPU-s",
                    beside,
                )


def run(data: Path, release: Path, protect: str, method: str, epsilon: str) -> float:
    """One fit, in a process of its own; prints what it took and returns CPU-seconds."""
    command = [
        *STAGE,
        "fit",
        "--no-ledger",
        "--overwrite",
        data,
        "-o",
        release,
        "--scale",
        "1..5",
        "--protect",
        protect,
    ]
    command += ["--catalog", data.with_suffix(".items.csv"), "--epsilon", epsilon]
    start = time.perf_counter()
    child = subprocess.Popen([*command, "--method", method], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall, cpu = time.perf_counter() - start, used.ru_utime + used.ru_stime
    if status:
        raise SystemExit(f"{method} failed")
    peak = used.ru_maxrss / 2**20
    print(f"{method}, {protect}: {cpu:.1f} CPU-s, {wall:.1f} s, peak {peak:.2f} GiB")
    return cpu


if __name__ == "__main__":
    main()
