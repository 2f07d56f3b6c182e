"""The whole fit: ratings in Parquet to a release file. CPU-seconds, wall time, peak memory.

python benchmarks/fit.py --ratings 1e8
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STAGE = [sys.executable, "-m", "discreet"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=float, default=1e6)
    parser.add_argument("--protect", default="rating")
    parser.add_argument("--epsilon", default="1")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        data, release = Path(folder) / "ratings.parquet", Path(folder) / "films.discreet"
        count = str(int(asked.ratings))
        subprocess.run(
            [*STAGE, "data", "make", "netflix", "--ratings", count, "-o", data], check=True
        )
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [*STAGE, "fit", data, "-o", release, "--scale", "1..5", "--protect", asked.protect,
             "--catalog", data.with_suffix(".items.csv"), "--epsilon", asked.epsilon],
            check=True,
        )  # fmt: skip
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{int(asked.ratings):,} ratings, {asked.protect}, epsilon {asked.epsilon}")
        print(f"{cpu:.1f} CPU-s, {wall:.1f} s, peak {after.ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
