"""Where the time of a fit goes: CPU-seconds and peak memory of each stage, from Parquet to a file.

    python -m benchmarks.stages --ratings 1e7 --methods refined,lists --protect rating,user
    python -m benchmarks.stages --data FOLDER --engine disk  # with items in FOLDER.items.csv

Stages are told apart in one process, whose threads all count: reading; each statistic, by name;
noise; the rest of the fit, which is what `estimate` does; writing. The noise is seeded, so that the
digest in the last line says whether two versions of the code make the same release.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks._cost import add_row, forget_peak, peak_bytes

# Sums of floats depend on how many threads add them up, and waiting threads would count as work.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


class Stages:
    """CPU-seconds of the process, added up by stage; a stage inside another counts as itself."""

    def __init__(self) -> None:
        self.cpu: dict[str, float] = {}
        self.wall: dict[str, float] = {}
        self._open: list[str] = []
        self._at = (time.process_time(), time.perf_counter())

    def _add(self) -> None:
        now = (time.process_time(), time.perf_counter())
        if self._open:
            name = self._open[-1]
            self.cpu[name] = self.cpu.get(name, 0.0) + now[0] - self._at[0]
            self.wall[name] = self.wall.get(name, 0.0) + now[1] - self._at[1]
        self._at = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what follows as this stage."""
        self._add()
        self._open.append(name)
        try:
            yield
        finally:
            self._add()
            self._open.pop()

    def wrap(self, owner: Any, name: str, called: Callable[..., str]) -> None:
        """Count calls of a function of a module or class as the stage that `called` names."""
        before = getattr(owner, name)

        def timed(*args: Any, **options: Any) -> Any:
            with self.stage(called(*args, **options)):
                return before(*args, **options)

        setattr(owner, name, timed)


def fit_once(data: Path, method: str, protect: str, epsilon: float, engine: str) -> str:
    """One fit in this process, with a table of its stages; returns the release's digest."""
    started = time.process_time()
    import discreet
    from discreet.measure import _request
    from discreet.methods import fit
    from discreet.ratings.readers import _blocks, _collect

    stages = Stages()
    stages.wrap(
        _request,
        "measure_all",
        lambda _, *statistics, **__: f"sums: {type(statistics[0]).__name__}",
    )
    stages.wrap(_request.Spender, "perturb", lambda *_: "noise")
    stages.wrap(_collect.Collector, "finish", lambda *_: "reading: sorting and checking")
    stages.wrap(_blocks.Dealer, "_deal", lambda *_: "reading: dealing to blocks")
    stages.wrap(_blocks.Dealer, "ratings", lambda *_: "reading: sorting and checking")
    stages.wrap(_blocks.Blocks, "store", lambda *_: "reading: storing blocks")
    print(f"{'imports':34} {time.process_time() - started:8.2f} CPU-s", flush=True)
    forget_peak()
    reading: dict[str, Any] = {"scale": (1, 5)}
    reading["catalog"] = data.with_name(f"{data.stem}.items.csv")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        with stages.stage("reading"):
            if engine == "disk":
                ratings: Any = held.enter_context(discreet.read_on_disk(data, **reading))
            else:
                ratings = discreet.read_ratings(data, **reading)
        read = peak_bytes()
        with stages.stage("estimate"):
            release = fit(
                ratings,
                method=method,
                protect=protect,
                epsilon=epsilon,
                randomness=discreet.SeededRandomness(1),
            )
        with stages.stage("writing"):
            release.save(Path(folder) / "films.discreet")
        count = len(ratings)
    for name, cpu in stages.cpu.items():
        print(f"{name:34} {cpu:8.2f} CPU-s {stages.wall[name]:8.2f} s")
    total = f"{sum(stages.cpu.values()):8.2f} CPU-s {sum(stages.wall.values()):8.2f} s"
    print(f"{f'{method}, {protect}, {engine}, all':34} {total}, {count:,} ratings")
    figure = f"{sum(stages.cpu.values()):.1f} CPU-s, {peak_bytes() / 2**30:.1f} GiB"
    add_row(f"fit of {count:,} ratings by stages, {method}, {protect}, {engine}", figure)
    print(f"peak {peak_bytes() / 2**30:.2f} GiB, of reading {read / 2**30:.2f} GiB")
    return release.digest()


def make(folder: Path, ratings: int) -> Path:
    """Made-up ratings of Netflix shape in Parquet; made once in a folder."""
    data = folder / f"ratings-{ratings}.parquet"
    if not data.exists():
        command = ["data", "make", "netflix", "--ratings", str(ratings), "-o", str(data)]
        subprocess.run([sys.executable, "-m", "discreet", *command], check=True)
    return data


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=float, default=1e6)
    parser.add_argument("--protect", default="rating")
    parser.add_argument("--methods", default="refined,lists")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="keeps the made-up ratings here")
    parser.add_argument("--data", type=Path, help="a file or folder in place of made-up ratings")
    parser.add_argument("--engine", default="local", choices=["local", "disk"])
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.once:
        digest = fit_once(asked.data, asked.methods, asked.protect, asked.epsilon, asked.engine)
        print(f"digest {digest}")
        return
    with tempfile.TemporaryDirectory() as fresh:
        data = asked.data or make(asked.folder or Path(fresh), int(asked.ratings))
        print(f"{data.name}, epsilon {asked.epsilon:g}, load {os.getloadavg()[0]:.1f}")
        for protect in asked.protect.split(","):
            for method in asked.methods.split(","):
                print(flush=True)
                command = [sys.executable, "-m", "benchmarks.stages", "--once", "--data", str(data)]
                command += ["--methods", method, "--protect", protect, "--engine", asked.engine]
                # A process of its own, since peaks and compiled code would carry over.
                command += ["--epsilon", str(asked.epsilon)]
                subprocess.run(command, check=True, env=os.environ | _ONE_THREAD)


if __name__ == "__main__":
    main()
