"""The appendix of Chow, Pathak and Wang: what the closed variant costs.

A client checks a directory and makes a tag for every other member; the server compares uploads. The
directory's keys are random bytes, which X25519 takes for points and which cost the same. The server
takes uploads in random order, with real authentication; their tags are made up, equal where they
must be, because real ones would take the clients together a quarter of an hour. Making them is not
counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.protocols.closed_clusters.client import ClosedClient
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
from papers.figure import PAPER_STYLE, Claim, Result, curve, finish, where
from papers.study import NETFLIX, Study

# Bits of a hash value, as in the paper.
BITS = 8
# Members of a small crowd whose matching compiles the kernels before anything is timed.
_WARM = 64
# The paper's time for one client among Netflix's people.
PAPER_SECONDS = 11 * 60 + 36
# What it sends: 1,024 bits for every other member. The paper's 58.6 MB are MiB.
PAPER_BYTES = (NETFLIX[1] - 1) * 128


def cost_of_closed(study: Study) -> Result:
    """A client's work in directories of several sizes, and a server's matching."""
    largest = study.effort.directory
    sizes = [max(largest // part, 2) for part in (8, 4, 2, 1)]
    rows: list[dict[str, Any]] = [
        {"side": "client", "users": cost.users, "cpu_s": cost.cpu_s, "mb_up": cost.up_mb,
         "mb_down": cost.down_mb, "pairs": cost.users - 1, "peak_mib": ""}
        for cost in (measure_client(size) for size in study.each("directories", sizes))
    ]  # fmt: skip
    server = measure_server(study.effort.uploads)
    rows.append(
        {"side": "server", "users": server.users, "cpu_s": server.cpu_s, "mb_up": "",
         "mb_down": "", "pairs": server.pairs, "peak_mib": server.peak_mib}
    )  # fmt: skip
    last = rows[-2]
    notes = [
        "The paper exponentiates modulo a prime of 1,024 bits for every other member (C++, Core 2 "
        "Duo, 3 GHz). Here a member agrees on a key with every other one by X25519 and sends 16 "
        "bytes of a keyed hash.",
        "The paper's construction cannot be repaired by a larger group: the quotient of two tags "
        "is g to the difference of two hash values of eight bits, which anybody finds by trying "
        "(docs/explanation/errata.md). So what is compared is the cost of the same service, "
        "not of the same computation.",
        "Times are CPU seconds of this machine.",
    ]
    if largest < NETFLIX[1]:
        notes.append(
            f"The largest directory has {largest:,} members here; a client's work grows with it "
            f"in a straight line, so {NETFLIX[1]:,} are reckoned by that. --size full measures "
            "them."
        )
    made_on = "Made on keys and tags for the purpose: no ratings are looked at."
    return Result(rows, _claims(last, asdict(server), largest), notes,
                 lambda figure: _draw(figure, rows), size=(9.0, 4.2), made_on=made_on)  # fmt: skip


def _claims(last: dict[str, Any], server: dict[str, Any], largest: int) -> list[Claim]:
    times = NETFLIX[1] / last["users"]
    how = "measured" if largest >= NETFLIX[1] else f"reckoned from {largest:,}"
    return [
        Claim(
            f"a client's work among {NETFLIX[1]:,}", "11 min 36 s (696 s)",
            f"{last['cpu_s'] * times:,.0f} s ({how}), {last['cpu_s'] / last['users'] * 1e6:.0f} "
            "microseconds for each other member",
        ),
        Claim(
            "what a client sends", f"58.6 MiB ({PAPER_BYTES / 1e6:.1f} MB)",
            f"{last['mb_up'] * times:.1f} MB",
        ),
        Claim("what a client fetches", "not said", f"{last['mb_down'] * times:.1f} MB"),
        Claim(
            "the server's comparing", "not said",
            f"{server['users']:,} uploads, {server['pairs']:,} pairs: {server['cpu_s']:.2f} s"
            # Of a process that held more before, its peak tells nothing.
            + f", {server['peak_mib']:,.0f} MiB" * (server["peak_mib"] > 1)
            + f"; clusters are the equal hash values: {'yes' if server['right'] else 'NO'}",
        ),
    ]  # fmt: skip


def _draw(figure: Any, rows: list[Any]) -> None:
    left, right = figure.subplots(1, 2)
    some = where(rows, side="client")
    curve(left, some, "users", "cpu_s", "discreet", 0)
    curve(right, some, "users", "mb_up", "discreet, sent", 0)
    curve(right, some, "users", "mb_down", "discreet, fetched", 1)
    left.plot([NETFLIX[1]], [PAPER_SECONDS], label="the paper", **PAPER_STYLE)
    right.plot([NETFLIX[1]], [PAPER_BYTES / 1e6], label="the paper, sent", **PAPER_STYLE)
    for axes, title, unit in ((left, "a client's work", "CPU seconds"), (right, "traffic", "MB")):
        axes.set_yscale("log")
        finish(axes, title, "members", unit, log_x=True)


@dataclass(frozen=True)
class ClientCost:
    """One member's first upload, on one core."""

    users: int
    cpu_s: float
    check_cpu_s: float
    down_mb: float
    up_mb: float


@dataclass(frozen=True)
class ServerCost:
    """All uploads of one epoch.

    Peak memory is what the process held at most above what it held before; waiting tags are on
    disk. `right` says whether the clusters are the equal hash values.
    """

    users: int
    pairs: int
    cpu_s: float
    wall_s: float
    grouping_cpu_s: float
    peak_mib: float
    waiting_mb: float
    right: bool


def measure_client(users: int, progress: Callable[[int, int], None] | None = None) -> ClientCost:
    """The work of one member among so many."""
    signing, server = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
    collection = _announced(signing, server)
    keys = np.random.default_rng(0).integers(0, 256, (users, 32), np.uint8)
    keys[:, 31] &= 0x3F
    with tempfile.TemporaryDirectory() as folder:
        member = ClosedClient(Path(folder) / "state", collection.authority)
        keys[users // 2] = np.frombuffer(member.public_key, np.uint8)
        content = _signed(keys, signing).as_bytes()
        start = time.process_time()
        Directory.from_bytes(content).verify(collection.authority)
        check = time.process_time() - start
        start = time.process_time()
        sent = member.upload(collection, Directory.from_bytes(content), 7, progress).as_bytes()
        cpu = time.process_time() - start
    return ClientCost(users, cpu, check, len(content) / 1e6, len(sent) / 1e6)


def measure_server(users: int, memory: int = 1 << 27) -> ServerCost:
    """The work of a server on so many uploads; `memory` is bytes for a block of them."""
    small = _Crowd(_WARM)
    with Matching(small.collection, small.directory, small.server.private_bytes_raw()) as warm:
        warm.add(small.uploads())
        warm.clusters()  # compiles
    crowd = _Crowd(users)
    held, waiting = _peak_mib(), 0
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
    _, firsts = np.unique(crowd.values, return_inverse=True)
    labels = np.unique(found.labels, return_inverse=True)[1]
    right = bool(len(np.unique(firsts * len(crowd.values) + labels)) == len(np.unique(labels)))
    right = right and len(np.unique(firsts)) == len(np.unique(labels))
    return ServerCost(
        users, users * (users - 1) // 2, cpu - crowd.making_cpu, wall - crowd.making_wall,
        grouping, _peak_mib() - held, waiting / 1e6, right and found.contradictions == 0,
    )  # fmt: skip


def _signed(keys: npt.NDArray[np.uint8], signing: Ed25519PrivateKey) -> Directory:
    made = Directory(
        1, 1, bytes(32), BITS, len(keys), np.empty(0, np.uint32), chain_keys(keys), b"", 0, keys
    )
    return replace(made, signature=signing.sign(made.statement()))


def _announced(signing: Ed25519PrivateKey, server: X25519PrivateKey) -> Collection:
    authority = signing.public_key().public_bytes_raw()
    return Collection(authority, public_bytes(server), bytes(32), BITS, 1)


class _Crowd:
    """Members with real keys and made-up tags."""

    def __init__(self, users: int) -> None:
        self.signing, self.server = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
        self.private = [X25519PrivateKey.generate() for _ in range(users)]
        self.public = [public_bytes(private) for private in self.private]
        keys = np.frombuffer(b"".join(self.public), np.uint8).reshape(-1, 32)
        self.directory = _signed(keys, self.signing)
        self.collection = _announced(self.signing, self.server)
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
        key = agree(self.private[slot], self.collection.server, info)
        return replace(made, mac=made.mac_under(key))


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bijection of 64-bit words that leaves no pattern to compare faster by."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))


def _peak_mib() -> float:
    import resource  # not every system has it, and only this figure needs it

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
