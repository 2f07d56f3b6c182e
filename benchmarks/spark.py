"""A fit on Spark beside the same fit on one machine; and what tasks need, by catalogue size.

    python -m benchmarks.spark --ratings 1e7,3e7 --workers 1,2
    python -m benchmarks.spark --ratings 4e6 --catalogues 1e4,1e5,1e6
    python -m benchmarks.spark --ratings 4e6 --heads 4000,8000,16000
    python -m benchmarks.spark --ratings 2e6 --same 1e6

Made-up ratings of Netflix shape in Parquet. The cluster is `local-cluster` on this machine: so many
workers of one core each. Processor seconds are of all processes, Spark's own included. With
`--catalogues` or `--heads`, one task's work is done in a process of its own, without Spark, on
`--ratings` of so many items, and beside each figure stands what docs/how-to/spark.md predicts. With
`--same`, a fit on Spark and one on this machine are compared to the last bit.
"""

from __future__ import annotations

import argparse
import contextlib
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
from benchmarks._cost import add_row

# The most directions of a refinement: 20 of pairs, 20 of the covariance, 2 that cost nothing.
RANK = 42
# The most items of a head, of pairs and of the covariance.
HEAD = 1500
# From when to when made-up ratings are, in seconds since 1970: ten years from 2010 on.
SPAN = 1_262_304_000, 1_577_836_800
# The periods of a first look at times: four weeks each, of all 2^32 seconds (`methods/_lists.py`).
WEEKS, PERIODS = 28 * 86_400, 1776


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", default="1e6")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--method", default="refined")
    parser.add_argument("--memory", type=int, default=2048, help="MiB of an executor's heap")
    parser.add_argument("--catalogues", default="")
    parser.add_argument("--heads", default="")
    parser.add_argument("--same", default="")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    sizes = [int(float(size)) for size in asked.ratings.split(",")]
    if asked.child:
        told = json.loads(asked.child)
        work = one_task if "items" in told else tiles_of_a_head if "head" in told else on_spark
        print(json.dumps(work(**told)))
    elif asked.catalogues:
        show_tasks(sizes[0], [int(float(size)) for size in asked.catalogues.split(",")])
    elif asked.heads:
        show_heads(sizes[0], [int(float(size)) for size in asked.heads.split(",")])
    elif asked.same:
        check_same(sizes[0], int(float(asked.same)), asked.partitions)
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
        told = [
            "fit",
            "--no-ledger",
            "--overwrite",
            str(data),
            "-o",
            str(release),
            "--scale",
            "1..5",
            "--method",
            method,
        ]
        told += ["--catalog", str(data.with_suffix(".items.csv"))]
        wall, cpu = local(command + told)
        print(f"  this machine: {wall:.1f} s, {cpu:.1f} CPU-s", flush=True)
        for count in workers:
            told = {"data": str(data), "workers": count, "partitions": partitions}
            found = child(told | {"method": method, "memory": memory})
            figure = f"{found['cpu']:.1f} CPU-s"
            add_row(
                f"Spark, {ratings:,} ratings, {method}, {count} worker(s)",
                figure,
                f"{found['cpu'] / cpu:.1f} of one machine",
            )
            print(
                f"  {count} worker(s): {found['wall']:.1f} s, of which {found['start']:.1f} "
                f"to start, {found['reading']:.1f} reading, {found['measuring']:.1f} measuring; "
                f"{found['cpu']:.1f} CPU-s, {found['cpu'] / cpu:.1f} times, "
                f"{found['busiest']:.1f} of the busiest worker; "
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
    command = [sys.executable, "-m", "benchmarks.spark", "--child", json.dumps(told)]
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
            fit(ratings, method=method, ledger="unbooked")
        done = time.perf_counter()
        cpu, busiest = sum(processor_seconds(os.getpid())), max(executors(os.getpid()))
        session.stop()
        shuffled, results = volumes(Path(log))
    return {
        "wall": done - begun,
        "start": started - begun,
        "reading": read - started,
        "measuring": done - read,
        "cpu": cpu,
        "busiest": busiest,
        "shuffled": shuffled,
        "results": results,
    }


def processor_seconds(pid: int) -> Iterator[float]:
    """Of a process and of all that it started, the living and the dead."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    yield sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    for other in children(pid):
        yield from processor_seconds(other)


def executors(pid: int) -> Iterator[float]:
    """Processor seconds of each executor below a process, its Python included."""
    for other in children(pid):
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{other}/cmdline").read_bytes():
            yield sum(processor_seconds(other))
        else:
            yield from executors(other)


def children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it ended just now
            yield from map(int, (task / "children").read_text().split())


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
            print(f"  {name}: {sent / 1e6:.2f} MB sent, {predicted / 1e6:.2f} predicted")


def show_heads(ratings: int, heads: list[int]) -> None:
    print(f"the covariance of a head in one task, {ratings:,} ratings")
    for head in heads:
        whole, tiles = (child({"ratings": ratings, "head": head, "band": b}) for b in (head, 0))
        print(
            f"{head:,} items: as one tile {whole['cpu']:.1f} CPU-s, {whole['peak']:.2f} GiB; "
            f"in tiles {tiles['cpu']:.1f} CPU-s, {tiles['peak']:.2f} GiB, "
            f"{tiles['sent'] / 1e6:,.0f} MB sent, {tiles['predicted'] / 1e6:,.0f} predicted"
        )


def tiles_of_a_head(ratings: int, head: int, band: int) -> dict[str, float]:
    """The sums of all pairs, at once or in bands of the usual size; only their own time."""
    from discreet.measure.covariance import UserCovariance
    from discreet.measure.engines.spark._sums import BAND, SumPairs, blocks_in
    from discreet.privacy import Noise

    shape, parts = made_parts(ratings, head)
    items = np.arange(head, dtype=np.int32)
    pairs = UserCovariance(Noise.GAUSSIAN, items, votes_on(head), with_weights=False)
    band = band or BAND
    sum(row.nbytes for row in SumPairs(shape, pairs, 1, band)(iter(parts[:0])))
    before = time.process_time()
    sent = sum(row.nbytes for row in SumPairs(shape, pairs, 1, band)(iter(parts)))
    return {
        "cpu": time.process_time() - before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "sent": sent,
        "predicted": 8 * sum(tile.cells for tile in blocks_in(head, band)),
    }


def check_same(ratings: int, items: int, partitions: int) -> None:
    """The refined method with so many items, here and on Spark, with the same noise."""
    import pyarrow as pa

    from discreet import fit, read_ratings, spark
    from discreet.domain import Catalog
    from discreet.privacy import SeededRandomness

    catalog = Catalog([str(item) for item in range(items)])
    told = {"epsilon": 8.0, "taste_share": 0.5}
    private = read_ratings(made_table(ratings, items), scale=(1, 5), catalog=catalog)
    # Without duplicates, of which the two take different ones.
    columns = {"user": private.user_of_rating(), "item": private.items, "rating": private.values()}
    table = pa.table(columns | {"time": private.times.astype(np.int64)})
    started = time.perf_counter()
    here = fit(private, randomness=SeededRandomness(1), **told)
    local_took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    session = spark.start_session("local[2]", {"spark.driver.memory": "3g"})
    frame = session.createDataFrame(table)
    started = time.perf_counter()
    public = {"scale": (1, 5), "catalog": catalog, "partitions": partitions}
    there = spark.fit(frame, randomness=SeededRandomness(1), **public, **told)
    took = time.perf_counter() - started
    same = all(np.array_equal(here.arrays[name], there.arrays[name]) for name in here.arrays)
    factors = here.arrays["factors"].shape
    print(
        f"{len(private):,} ratings, {items:,} items, factors {factors}: {local_took:.1f} s here, "
        f"peak {peak:.2f} GiB, "
        f"{took:.1f} s on Spark; {'the same release' if same else 'NOT THE SAME'}"
    )
    if not same:
        raise SystemExit(1)


def made_parts(ratings: int, items: int) -> tuple[Any, list[Any]]:
    """The parts of one partition."""
    from discreet.domain import Catalog, Scale
    from discreet.measure.engines.spark._parts import Maker, Shape

    class Sent:
        value = Catalog([str(item) for item in range(items)])

    shape = Shape(Scale(1, 5), Sent(), has_times=True)
    table = made_table(ratings, items)
    maker = Maker(shape, "refuse")
    dealt = (each for _, each in maker.deal_rows(iter(table.to_batches())))
    return shape, list(maker.parts(dealt))


def made_table(ratings: int, items: int) -> Any:
    """Users with 100 ratings, and a few items with most of them."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    users = rng.integers(0, max(ratings // 100, 1), ratings)
    popular = rng.permutation(items)  # popular items have numbers like any others
    chosen = popular[(items * rng.random(ratings) ** 4).astype(np.int64)]
    columns = {"user": users, "item": chosen, "rating": rng.integers(1, 6, ratings)}
    return pa.table(columns | {"time": rng.integers(*SPAN, ratings)})


def votes_on(items: int) -> Any:
    from discreet.measure.centring import ItemLevels
    from discreet.measure.user_votes import UserVotes
    from discreet.privacy import Noise

    return UserVotes(ItemLevels(3.5, np.zeros(items)), np.ones(items), 5.0, Noise.GAUSSIAN)


def one_task(ratings: int, items: int) -> dict[str, Any]:
    """Everything that a task does in a fit, on made-up users with as many items as asked for."""
    from discreet.measure import ItemCounts
    from discreet.measure.covariance import UserCovariance
    from discreet.measure.engines.spark._sums import BAND, SumPairs, SumPeople
    from discreet.measure.presence_pairs import PresencePairs
    from discreet.measure.recency import PeriodCounts, Periods, RecentCounts
    from discreet.measure.refinement import UserRefinement
    from discreet.privacy import Noise, Unit

    shape, parts = made_parts(ratings, items)
    votes, factors = votes_on(items), np.ones((items, RANK + 1)) / 10
    refinement = UserRefinement(votes, factors, np.ones(items), 2.5)
    head = np.arange(min(HEAD, items), dtype=np.int32)
    pairs = {
        "presence pairs": PresencePairs(Unit.USER, Noise.GAUSSIAN, head),
        "covariance": UserCovariance(Noise.GAUSSIAN, head, votes, with_weights=False),
    }
    periods = Periods(0, WEEKS, PERIODS)
    weights = np.full(PERIODS, 1000, np.int64)
    recent = RecentCounts(Unit.USER, Noise.GAUSSIAN, periods, weights)
    triangle = 8 * RANK * (RANK + 1) // 2
    people = {
        "item votes": ((ItemCounts(Unit.USER, Noise.GAUSSIAN).measure,), 8 * items),
        "records by period": ((PeriodCounts(Unit.USER, periods).measure,), 8 * PERIODS),
        "recent item counts": ((recent.measure,), 8 * items),
        "effects": ((votes.measure,), 8 * items + 32),
        "refinement": ((refinement.measure,), 8 * items * RANK + triangle + 64),
    }
    sent = {}
    for name, (measures, predicted) in people.items():
        rows = SumPeople(shape, measures, 1)(iter(parts))
        sent[name] = (sum(row.nbytes for row in rows), predicted)
    for name, statistic in pairs.items():
        rows = SumPairs(shape, statistic, 1, BAND)(iter(parts))
        sent[name] = (sum(row.nbytes for row in rows), 8 * len(head) ** 2)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"peak": used.ru_maxrss / 2**20, "cpu": used.ru_utime + used.ru_stime, "sent": sent}


if __name__ == "__main__":
    main()
