"""What closed clusters cost: a client's tags for everybody, and the server's comparing.

    python benchmarks/closed_clusters.py

The client checks a directory as large as Netflix's and makes all its tags on one core, beside what
the paper says of its own construction (1024-bit exponentiation in C++ on a Core 2 Duo of 3 GHz).
The directory's keys are random bytes, which X25519 takes for points and which cost the same. The
server takes 5,000 uploads, in random order, with real authentication; their tags are made up, equal
where they must be, because real ones would take the clients together a quarter of an hour. Making
them is not counted. Peak memory is what the process held at most above what it held before; the
folder for waiting tags is on disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.protocols.closed_clusters.client import Client
from discreet.protocols.closed_clusters.messages import (
    Collection,
    Directory,
    TagUpload,
    agree,
    chain_keys,
    key_info,
    public_bytes,
)
from discreet.protocols.closed_clusters.server import Matching

BITS = 8
PAPER_SECONDS = 11 * 60 + 36
PAPER_BYTES = 480_188 * 128  # the 58.6 MB of the paper are MiB


@dataclass(frozen=True)
class ClientCost:
    """One member's first upload."""

    users: int
    cpu_s: float
    check_cpu_s: float
    down_mb: float
    up_mb: float


@dataclass(frozen=True)
class ServerCost:
    """All uploads of one epoch."""

    users: int
    pairs: int
    cpu_s: float
    wall_s: float
    grouping_cpu_s: float
    peak_mib: float
    waiting_mb: float
    right: bool


def signed(keys: np.ndarray, signing: Ed25519PrivateKey) -> Directory:
    made = Directory(
        1, 1, bytes(32), BITS, len(keys), np.empty(0, np.uint32), chain_keys(keys), b"", 0, keys
    )
    return replace(made, signature=signing.sign(made.statement()))


def announced(signing: Ed25519PrivateKey, server: X25519PrivateKey) -> Collection:
    authority = signing.public_key().public_bytes_raw()
    return Collection(authority, public_bytes(server), bytes(32), BITS, 1)


def measure_client(users: int, show: bool) -> ClientCost:
    signing, server = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
    collection = announced(signing, server)
    keys = np.random.default_rng(0).integers(0, 256, (users, 32), np.uint8)
    keys[:, 31] &= 0x3F
    with tempfile.TemporaryDirectory() as folder:
        member = Client(Path(folder) / "state", collection.authority)
        keys[users // 2] = np.frombuffer(member.public_key, np.uint8)
        content = signed(keys, signing).as_bytes()

        def progress(done: int, total: int) -> None:
            if show and sys.stderr.isatty():
                print(f"\r{done:,} of {total:,}", end="", file=sys.stderr)

        start = time.process_time()
        directory = Directory.from_bytes(content)
        directory.verify(collection.authority)
        check = time.process_time() - start
        start = time.process_time()
        sent = member.upload(collection, Directory.from_bytes(content), 7, progress).as_bytes()
        cpu = time.process_time() - start
    if show and sys.stderr.isatty():
        print(file=sys.stderr)
    return ClientCost(users, cpu, check, len(content) / 1e6, len(sent) / 1e6)


class Crowd:
    """Members with real keys and made-up tags."""

    def __init__(self, users: int) -> None:
        self.signing, self.server = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
        self.private = [X25519PrivateKey.generate() for _ in range(users)]
        self.public = [public_bytes(private) for private in self.private]
        keys = np.frombuffer(b"".join(self.public), np.uint8).reshape(-1, 32)
        self.directory = signed(keys, self.signing)
        self.collection = announced(self.signing, self.server)
        self.values = np.random.default_rng(1).integers(0, 1 << BITS, users)
        self.making_cpu = self.making_wall = 0.0

    def uploads(self) -> Iterator[TagUpload]:
        for slot in np.random.default_rng(2).permutation(len(self.values)).tolist():
            cpu, wall = time.process_time(), time.perf_counter()
            upload = self._upload(slot)
            self.making_cpu += time.process_time() - cpu
            self.making_wall += time.perf_counter() - wall
            yield upload

    def _upload(self, slot: int) -> TagUpload:
        others = np.arange(len(self.values), dtype=np.uint64)
        low, high = np.minimum(others, np.uint64(slot)), np.maximum(others, np.uint64(slot))
        pair = (low << np.uint64(40)) | (high << np.uint64(16)) | np.uint64(self.values[slot])
        words = np.column_stack((_mixed(pair), _mixed(pair ^ np.uint64(0xA5A5 << 48))))
        words[slot] = 0
        made = TagUpload(1, slot, 0, words.tobytes(), bytes(16))
        info = key_info("mac", self.public[slot], self.collection.server, bytes(32), 1)
        return replace(
            made, mac=made.mac_under(agree(self.private[slot], self.collection.server, info))
        )


def _mixed(words: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words that leaves no pattern to compare faster by."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))


def measure_server(users: int, memory: int) -> ServerCost:
    small = Crowd(64)
    with Matching(small.collection, small.directory, small.server.private_bytes_raw()) as warm:
        warm.add(small.uploads())
        warm.clusters()  # compiles
    crowd = Crowd(users)
    held = _peak_mib()
    waiting = 0
    private = crowd.server.private_bytes_raw()
    cpu, wall = time.process_time(), time.perf_counter()
    with Matching(crowd.collection, crowd.directory, private, memory=memory) as matching:

        def watched() -> Iterator[TagUpload]:
            nonlocal waiting
            for upload in crowd.uploads():
                waiting = max(waiting, matching.waiting_bytes)
                yield upload

        matching.add(watched())
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        grouping = time.process_time()
        found = matching.clusters()
        grouping = time.process_time() - grouping
    firsts = {
        int(value): int(label) for value, label in zip(crowd.values, found.labels, strict=True)
    }
    right = [firsts[int(value)] for value in crowd.values] == found.labels.tolist()
    return ServerCost(
        users, users * (users - 1) // 2, cpu - crowd.making_cpu, wall - crowd.making_wall,
        grouping, _peak_mib() - held, waiting / 1e6,
        right and len(set(firsts.values())) == len(firsts) and found.contradictions == 0,
    )  # fmt: skip


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_costs(server: ServerCost, client: ClientCost) -> None:
    print(f"{'server':<44} {'CPU s':>8} {'wall s':>8} {'peak MiB':>9} {'waiting MB':>11}")
    title = f"{server.users:,} uploads, {server.pairs / 1e6:.1f} million pairs"
    print(
        f"{title:<44} {server.cpu_s:>8.2f} {server.wall_s:>8.2f} {server.peak_mib:>9,.0f} "
        f"{server.waiting_mb:>11,.0f}"
    )
    print(f"{'grouping them':<44} {server.grouping_cpu_s:>8.2f}")
    print(f"clusters are the equal values: {'yes' if server.right else 'NO'}\n")
    print(f"{'a client, one core':<44} {'CPU s':>8} {'us/user':>8} {'MB up':>9} {'MB down':>11}")
    each = client.cpu_s / client.users * 1e6
    print(
        f"{f'discreet, {client.users:,} users':<44} {client.cpu_s:>8.1f} {each:>8.1f} "
        f"{client.up_mb:>9.2f} {client.down_mb:>11.2f}"
    )
    print(f"{'  of it, checking the directory':<44} {client.check_cpu_s:>8.1f}")
    print(
        f"{'the paper, 480,189 users':<44} {PAPER_SECONDS:>8.1f} "
        f"{PAPER_SECONDS / 480_188 * 1e6:>8.1f} {PAPER_BYTES / 1e6:>9.2f} {'not said':>11}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--users", type=int, default=480_189, help="in the client's directory")
    parser.add_argument("--uploads", type=int, default=5_000, help="that the server takes")
    parser.add_argument("--memory", type=int, default=1 << 27, help="bytes for a block of uploads")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    asked = parser.parse_args(argv)
    server = measure_server(asked.uploads, asked.memory)
    client = measure_client(asked.users, not asked.json)
    if asked.json:
        print(json.dumps({"client": asdict(client), "server": asdict(server)}))
        return 0
    print_costs(server, client)
    return 0


if __name__ == "__main__":
    sys.exit(main())
