"""A fit on Spark beside the same fit on one machine; and what tasks need, by catalogue size.

    python -m benchmarks.spark --ratings 1e7,3e7 --workers 1,2
    python -m benchmarks.spark --catalogues 1e4,1e5,1e6

Made-up ratings of Netflix shape in Parquet. The cluster is `local-cluster` on this machine: so many
workers of one core each. Processor seconds are of all processes, Spark's own included. With
`--catalogues`, one task's work is done in a process of its own, without Spark, on `--ratings` with
so many items, and beside each figure stands what docs/spark.md predicts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

RANK = 22
HEAD = 1500


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", default="1e6")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--method", default="refined")
    parser.add_argument("--memory", type=int, default=2048, help="MiB of an executor's heap")
    parser.add_argument("--catalogues", default="")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    sizes = [int(float(size)) for size in asked.ratings.split(",")]
    if asked.child:
        told = json.loads(asked.child)
        print(json.dumps(one_task(**told) if "items" in told else on_spark(**told)))
    elif asked.catalogues:
        show_tasks(sizes[0], [int(float(size)) for size in asked.catalogues.split(",")])
    else:
        workers = [int(count) for count in asked.workers.split(",")]
        for size in sizes:
            compare(size, workers, asked.partitions, asked.method, asked.memory)


def compare(ratings: int, workers: list[int], partitions: int, method: str, memory: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data, release = Path(folder, "ratings.parquet"), Path(folder, "films.discreet")
        command = [sys.executable, "-m", "discreet"]
        made = ["data", "make", "netflix", "--ratings", str(ratings), "-o", str(data)]
        subprocess.run([*command, *made], check=True, stdout=subprocess.DEVNULL)
        print(f"{ratings:,} ratings, {method}, per user; {data.stat().st_size / 1e6:.0f} MB")
        told = ["fit", str(data), "-o", str(release), "--scale", "1..5", "--method", method]
        told += ["--catalog", str(data.with_suffix(".items.csv"))]
        wall, cpu = local(command + told)
        print(f"  this machine: {wall:.1f} s, {cpu:.1f} CPU-s", flush=True)
        for count in workers:
            told = {"data": str(data), "workers": count, "partitions": partitions}
            found = child(told | {"method": method, "memory": memory})
            print(
                f"  {count} worker(s): {found['wall']:.1f} s, of which {found['start']:.1f} to start, "
                f"{found['reading']:.1f} reading, {found['measuring']:.1f} measuring; "
                f"{found['cpu']:.1f} CPU-s, {found['cpu'] / cpu:.1f} times; "
                f"{found['shuffled'] / ratings:.1f} bytes a rating shuffled, "
                f"{found['results'] / 1e6:.1f} MB came back",
                flush=True,
            )


def local(command: list[str]) -> tuple[float, float]:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("the fit on this machine failed")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def child(told: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).resolve()), "--child", json.dumps(told)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def on_spark(
    data: str, workers: int, partitions: int, method: str, memory: int
) -> dict[str, float]:
    from discreet import fit, spark

    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as log:
        config = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{log}"}
        config |= {"spark.eventLog.compress": "false", "spark.executor.memory": f"{memory}m"}
        session = spark.start_session(f"local-cluster[{workers},1,{memory}]", config)
        started = time.perf_counter()
        table = spark.open_table(session, data)
        catalog = Path(data).with_suffix(".items.csv")
        with spark.read(table, scale=(1, 5), catalog=catalog, partitions=partitions) as ratings:
            ratings.survey()
            read = time.perf_counter()
            fit(ratings, method=method)
        done = time.perf_counter()
        cpu = sum(processor_seconds(os.getpid()))
        session.stop()
        shuffled, results = volumes(Path(log))
    return {
        "wall": done - begun,
        "start": started - begun,
        "reading": read - started,
        "measuring": done - read,
        "cpu": cpu,
        "shuffled": shuffled,
        "results": results,
    }


def processor_seconds(pid: int) -> Iterator[float]:
    """Of a process and of all that it started, the living and the dead."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    yield sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    for task in Path(f"/proc/{pid}/task").iterdir():
        for other in (task / "children").read_text().split():
            yield from processor_seconds(int(other))


def volumes(log: Path) -> tuple[int, int]:
    """Bytes that tasks wrote for other tasks, and that came back to the driver."""
    shuffled = results = 0
    for path in log.rglob("*"):
        for line in path.read_text().splitlines() if path.is_file() else []:
            event = json.loads(line) if line.startswith("{") else {}
            metrics = event.get("Task Metrics") or {}
            shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
            results += metrics.get("Result Size", 0)
    return shuffled, results


def show_tasks(ratings: int, catalogues: list[int]) -> None:
    print(f"one task with {ratings:,} ratings; refined, per user, {RANK} factors, head {HEAD:,}")
    for items in catalogues:
        found = child({"ratings": ratings, "items": items})
        print(f"{items:,} items: peak {found['peak']:.2f} GiB, {found['cpu']:.1f} CPU-s")
        for name, (sent, predicted) in found["sent"].items():
            print(f"  {name}: {sent / 1e6:.2f} MB sent, {predicted / 1e6:.2f} predicted at most")


def one_task(ratings: int, items: int) -> dict[str, Any]:
    """Everything that a task does in a fit, on made-up users with as many items as asked for."""
    import pyarrow as pa

    from discreet.domain import Catalog, Scale
    from discreet.measure import ItemCounts, Noise
    from discreet.measure.centring import ItemLevels
    from discreet.measure.covariance import UserCovariance
    from discreet.measure.engines.spark._parts import Maker, Shape
    from discreet.measure.engines.spark._tasks import SumPairs, SumPeople
    from discreet.measure.engines.spark._tiles import BAND
    from discreet.measure.refinement import UserRefinement
    from discreet.measure.user_votes import UserVotes
    from discreet.privacy import Unit

    class Sent:
        value = Catalog([str(item) for item in range(items)])

    rng = np.random.default_rng(0)
    users = rng.integers(0, ratings // 100, ratings)
    chosen = (items * rng.random(ratings) ** 4).astype(np.int64)  # few items, most of the ratings
    values = rng.integers(1, 6, ratings)
    table = pa.table({"user": users, "item": chosen, "rating": values})
    shape = Shape(Scale(1, 5), Sent())
    parts = list(Maker(shape, "refuse").parts(iter(table.to_batches())))
    del table, users, chosen, values
    votes = UserVotes(ItemLevels(3.5, np.zeros(items)), np.ones(items), 5.0, Noise.GAUSSIAN)
    factors = np.ones((items, RANK + 1)) / 10
    refinement = UserRefinement(votes, factors, np.ones(items), 2.5)
    head = np.arange(min(HEAD, items), dtype=np.int32)
    pairs = _Cov(UserCovariance(Noise.GAUSSIAN, head, votes))
    triangle = 8 * RANK * (RANK + 1) // 2
    people = {
        "item votes": ((ItemCounts(Unit.USER, Noise.GAUSSIAN).measure,), 8 * items),
        "effects": ((votes.measure,), 8 * items + 32),
        "refinement": ((refinement.measure,), 8 * items * RANK + triangle + 64),
    }
    sent = {}
    for name, (measures, predicted) in people.items():
        rows = SumPeople(shape, measures, 1)(iter(parts))
        sent[name] = (sum(row.nbytes for row in rows), predicted * 1.001 + 100)
    rows = SumPairs(shape, pairs, 1, BAND)(iter(parts))
    sent["covariance"] = (sum(row.nbytes for row in rows), 8 * len(head) ** 2 * 1.001 + 100)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"peak": used.ru_maxrss / 2**20, "cpu": used.ru_utime + used.ru_stime, "sent": sent}


class _Cov:
    """The covariance alone, without weights, as the refined method measures it."""

    triangle_count = 1

    def __init__(self, covariance: Any) -> None:
        self.covariance, self.head = covariance, covariance.head

    def inside(self, ratings: Any) -> Any:
        return self.covariance.inside(ratings)

    def sum_pairs(self, inside: Any, progress: Any = None) -> Any:
        from discreet.measure.engines.local import co_moments

        told = (inside.starts, inside.items, inside.values, None, inside.size)
        return (co_moments(*told, progress=progress).cov,)


if __name__ == "__main__":
    main()
