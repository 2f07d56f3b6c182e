"""A closed system in a folder: authority, members, server."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.protocols.closed_clusters.authority import Authority
from discreet.protocols.closed_clusters.client import ClosedClient
from discreet.protocols.closed_clusters.messages import Collection, Directory, TagUpload
from discreet.protocols.closed_clusters.server import Clusters, Matching

BITS = 8


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


class System:
    """Everything but the network."""

    def __init__(self, folder: Path, members: int, hash_name: str = "hash") -> None:
        self.folder = folder
        self.authority = Authority(folder / "authority")
        self.server = X25519PrivateKey.generate()
        self.authority.begin_epoch(digest(hash_name), BITS)
        self.clients: list[ClosedClient] = []
        self.join(members)

    def join(self, members: int) -> None:
        new = [
            ClosedClient(self.folder / f"client {len(self.clients) + i}", self.authority.public_key)
            for i in range(members)
        ]
        self.clients += new
        self.authority.change(join=b"".join(client.public_key for client in new))

    @property
    def directory(self) -> Directory:
        return self.authority.directory()

    @property
    def collection(self) -> Collection:
        now = self.directory
        server = self.server.public_key().public_bytes_raw()
        return Collection(self.authority.public_key, server, now.hash_digest, now.bits, now.epoch)

    def upload(self, member: int, value: int) -> TagUpload:
        return self.clients[member].upload(self.collection, self.directory, value)

    def uploads(self, values: Sequence[int]) -> list[TagUpload]:
        return [self.upload(member, value) for member, value in enumerate(values)]

    def matching(self, memory: int = 1 << 20) -> Matching:
        private = self.server.private_bytes_raw()
        return Matching(self.collection, self.directory, private, memory=memory)

    def clusters(self, uploads: Sequence[TagUpload], memory: int = 1 << 20) -> Clusters:
        with self.matching(memory) as matching:
            matching.add(uploads)
            return matching.clusters()


def partition(values: Sequence[int]) -> list[int]:
    """Equal values to equal numbers, counted from 0 as they first occur."""
    seen: dict[int, int] = {}
    return [seen.setdefault(value, len(seen)) for value in values]


def some_values(members: int, different: int, seed: int = 1) -> list[int]:
    return np.random.default_rng(seed).integers(0, different, members).tolist()
