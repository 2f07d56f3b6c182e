"""How many reports a second the service puts on disk.

    python -m benchmarks.service_load --uploads 5000
    python -m benchmarks.service_load --uploads 5000 --postgres
    python -m benchmarks.service_load --uploads 5000 --rate 500

Three processes at most: the service (uvicorn, one process), this load generator (keep-alive
connections on the loopback), and PostgreSQL if asked for. Reports are drawn by the real client, one
of `--distinct` for each upload, and every upload comes with another capability: nothing is warm.
An upload counts when its answer says that it is on disk; any other answer ends the run.

With `--rate` requests are due at a fixed rate, whether or not those before them were answered, and
a request's time begins when it is due; without, every connection sends as fast as it is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pwd
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from discreet.domain import Catalog, OwnRatings, Scale
from discreet.privacy import SystemRandomness
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection
from discreet.protocols.local_reports.server import LocalReports
from discreet.serve import Rate, Settings, run

_OWN = 200
_NONE = Rate(0, 1)


def make_collection(items: int, mechanism: str, epsilon: float) -> Collection:
    catalog = Catalog([str(i) for i in range(items)], [f"Made-up title {i}" for i in range(items)])
    return Collection(catalog, Scale(1, 5), mechanism, epsilon)


def draw_reports(collection: Collection, distinct: int) -> list[bytes]:
    rng = np.random.default_rng(0)
    reports = []
    for _ in range(distinct):
        items = np.sort(rng.choice(len(collection.catalog), _OWN, replace=False)).astype(np.int32)
        own = OwnRatings(items, rng.integers(1, 6, _OWN).astype(np.float64))
        message = draw_report(collection, own, SystemRandomness()).as_json()
        reports.append(json.dumps(message, separators=(",", ":")).encode())
    return reports


# The service's process --------------------------------------------------------------------------


def serve(order: dict[str, str | int | float]) -> None:
    collection = make_collection(
        int(order["items"]), str(order["mechanism"]), float(order["epsilon"])
    )
    settings = Settings(
        Path(str(order["folder"])) / "none.discreet", LocalReports(collection),
        str(order["db"]), per_address=_NONE, per_capability=_NONE, enrolments=_NONE,
        batch=int(order["batch"]),
    )  # fmt: skip
    if os.environ.get("DISCREET_PROFILE"):
        import cProfile

        profile = cProfile.Profile()
        profile.runcall(run, settings, port=0, ready=lambda url: print(url, flush=True))
        profile.dump_stats(os.environ["DISCREET_PROFILE"])
    else:
        run(settings, port=0, ready=lambda url: print(url, flush=True))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"mib": used.ru_maxrss // 1024}))


@contextmanager
def served(order: dict[str, str | int | float]) -> Iterator[tuple[int, tuple[str, int]]]:
    command = [sys.executable, __file__, "--serve", json.dumps(order)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            yield process.pid, ("127.0.0.1", int(url.rpartition(":")[2]))
        finally:
            process.terminate()
            used = json.loads(process.stdout.read() or "{}")
            print(f"  service: {used.get('mib', 0)} MiB at most")


@contextmanager
def postgres() -> Iterator[str]:
    """A server of its own in a temporary folder, with the settings that it comes with."""
    home = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)))
    owner = pwd.getpwnam("postgres") if os.getuid() == 0 else None
    told = {"user": owner.pw_uid, "group": owner.pw_gid} if owner else {}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def call(*command: str | Path) -> None:
        subprocess.run(command, check=True, **quiet, **told)

    with tempfile.TemporaryDirectory() as folder:
        if owner:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        data = f"{folder}/data"
        call(home / "initdb", "-D", data, "-U", "discreet", "-A", "trust")
        control = (home / "pg_ctl", "-D", data, "-w")
        call(*control, "-o", f"-k {folder} -c listen_addresses=''", "start")
        try:
            yield f"postgresql://discreet@/postgres?host={folder}"
        finally:
            call(*control, "-m", "fast", "stop")


# The load generator -----------------------------------------------------------------------------


class Connection:
    """One keep-alive connection that sends what it is given, byte for byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, head: str, body: bytes) -> tuple[int, bytes]:
        told = f"{head}\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        self._writer.writelines((told.encode(), body))
        lines = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        length = next((int(x.split(b":")[1]) for x in lines if x.startswith(b"content-len")), 0)
        return int(lines[0].split()[1]), await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


async def load(
    at: tuple[str, int],
    connections: int,
    requests: list[tuple[str, bytes]],
    wanted: int,
    rate: float,
) -> tuple[float, list[float], list[bytes]]:
    """Send all requests over so many connections: seconds, seconds of each, the answers."""
    waiting = iter(range(len(requests)))
    answers, times = [b""] * len(requests), [0.0] * len(requests)

    async def work() -> None:
        connection = Connection(*await asyncio.open_connection(*at))
        for index in waiting:
            begun = time.perf_counter()
            if rate:
                due = first + index / rate
                await asyncio.sleep(max(0.0, due - begun))
                begun = due
            status, answers[index] = await connection.ask(*requests[index])
            times[index] = time.perf_counter() - begun
            if status != wanted:
                raise SystemExit(f"an answer of {status}: {answers[index]!r}")
        connection.close()

    first = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return time.perf_counter() - first, times, answers


def cpu_seconds(pid: int) -> float:
    """What a process has used so far, over all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """Runs requests against the service and says how it went."""

    def __init__(self, pid: int, at: tuple[str, int]) -> None:
        self._pid, self._at = pid, at

    def run(
        self,
        what: str,
        count: int,
        requests: list[tuple[str, bytes]],
        wanted: int,
        connections: int,
        rate: float = 0.0,
    ) -> list[bytes]:
        before = cpu_seconds(self._pid)
        seconds, times, answers = asyncio.run(load(self._at, connections, requests, wanted, rate))
        used = (cpu_seconds(self._pid) - before) / count * 1e3
        middle, late = np.percentile(times, [50, 99]) * 1e3
        sent = sum(len(body) for _, body in requests) / seconds / 1e6
        print(
            f"  {what:34} {count / seconds:6,.0f} a second, {sent:5.1f} MB/s, "
            f"{used:.2f} CPU-ms each; a request {middle:.0f} ms (median), {late:.0f} ms (99%)",
            flush=True,
        )
        return answers


def measure(service: Load, reports: list[bytes], told: argparse.Namespace) -> None:
    count, many = told.uploads, told.connections
    enrol = [("POST /v1/enrolments HTTP/1.1", b"")] * count
    answers = service.run("enrolments", count, enrol, 201, many)
    capabilities = [json.loads(answer)["capability"] for answer in answers]
    sent = [(capabilities[i], reports[i % len(reports)]) for i in range(count)]
    single = [
        (f"PUT /v1/report HTTP/1.1\r\nauthorization: Bearer {capability}", body)
        for capability, body in sent
    ]
    service.run("reports singly", count, single, 204, many, told.rate)
    service.run("the same again, replacing", count, single, 204, many, told.rate)
    if told.rate:
        return
    entries = [b'{"capability":"%s","report":%s}' % (c.encode(), body) for c, body in sent]
    groups = [entries[i : i + told.batch] for i in range(0, count, told.batch)]
    batches = [
        ("POST /v1/reports HTTP/1.1", b'{"reports":[%s]}' % b",".join(group)) for group in groups
    ]
    what = f"in batches of {told.batch}, replacing"
    answers = service.run(what, count, batches, 200, told.batch_connections)
    stored = sum(json.loads(answer)["stored"] for answer in answers)
    if stored != count:
        raise SystemExit(f"only {stored:,} of {count:,} were stored")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=17_770)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--mechanism", default="modified-laplace")
    parser.add_argument("--uploads", type=int, default=3000)
    parser.add_argument("--distinct", type=int, default=200)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--batch-connections", type=int, default=4)
    parser.add_argument("--rate", type=float, default=0.0, help="uploads due in a second")
    parser.add_argument("--postgres", action="store_true", help="into PostgreSQL, not SQLite")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.serve:
        serve(json.loads(told.serve))
        return
    reports = draw_reports(make_collection(told.items, told.mechanism, told.epsilon), told.distinct)
    mean = sum(map(len, reports)) / len(reports)
    print(
        f"{told.items:,} items, {told.mechanism}, epsilon {told.epsilon:g}: {mean:,.0f} bytes "
        f"each; load average {os.getloadavg()[0]:.1f}"
    )
    order = {name: getattr(told, name) for name in ("items", "mechanism", "epsilon", "batch")}
    with tempfile.TemporaryDirectory() as folder:
        order["folder"] = folder
        if told.postgres:
            print("PostgreSQL")
            with postgres() as url, served(order | {"db": url}) as at:
                measure(Load(*at), reports, told)
        else:
            print("SQLite")
            with served(order | {"db": f"{folder}/reports.db"}) as at:
                measure(Load(*at), reports, told)


if __name__ == "__main__":
    main()
