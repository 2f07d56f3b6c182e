"""The directory authority: who is in the closed system. Never run by the server's operator."""

from __future__ import annotations

import base64
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.domain import InputError
from discreet.protocols.closed_clusters.messages import (
    CHAIN_START,
    LONGEST_HASH,
    MOST_USERS,
    PROTOCOL,
    Directory,
    chain_keys,
    check_keys,
)
from discreet.protocols.common import StateFile, bytes_text


class Authority:
    """Keeps the list of members and signs it.

    A member who works with the server learns everybody's hash value: that is why the authority
    must check whom a key belongs to, and why the server must not be able to enrol anybody. One
    authority key serves one collection.

    Args:
        path: Its own file, with the signing key; made if there is none.

    Raises:
        InputError: The file is something else, or readable by others.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = StateFile(path, f"{PROTOCOL} authority")
        with self._file.change() as state:
            if not state:
                signing = Ed25519PrivateKey.generate().private_bytes_raw()
                state |= {"signing": bytes_text(signing), "epoch": 0, "keys": "", "gone": []}
            self._signing = Ed25519PrivateKey.from_private_bytes(base64.b64decode(state["signing"]))
        self.public_key = self._signing.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return f"Authority({self.public_key.hex()[:8]}…)"

    def begin_epoch(self, hash_digest: bytes, bits: int) -> Directory:
        """Start the next epoch with a hash, and close the gaps that leavers made.

        Args:
            hash_digest: 32 bytes that stand for the hash's public parameters.
            bits: The length of its values.

        Raises:
            InputError: The digest or the length is wrong.
        """
        if len(hash_digest) != 32 or not 1 <= bits <= LONGEST_HASH:
            raise InputError(f"a hash has a digest of 32 bytes and 1 to {LONGEST_HASH} bits")
        with self._file.change() as state:
            stay = np.ones(len(keys := _keys(state)), np.bool_)
            stay[np.array(state["gone"], np.int64)] = False
            state |= {"keys": bytes_text(keys[stay].tobytes()), "gone": []}
            state |= {"epoch": state["epoch"] + 1, "version": 1}
            state |= {"hash": bytes_text(hash_digest), "bits": bits}
            return self._signed(state)

    def change(
        self, join: npt.NDArray[np.uint8] | bytes = b"", leave: tuple[int, ...] = ()
    ) -> Directory:
        """Enrol keys in the next slots, and strike off who leaves.

        Args:
            join: X25519 public keys, 32 bytes each, one after the other.
            leave: Slots. Their keys may come back in a later epoch, not in this one.

        Raises:
            InputError: No epoch has begun, a key must not be used or is there already, or a slot
                is not one of a member. Nothing was changed.
        """
        given = np.frombuffer(bytes(join), np.uint8)
        if len(given) % 32:
            raise InputError("a public key has 32 bytes")
        with self._file.change() as state:
            keys = np.concatenate((_keys(state), given.reshape(-1, 32)))
            if len(keys) > MOST_USERS:
                raise InputError(f"a directory has at most {MOST_USERS:,} slots")
            check_keys(keys)
            gone = set(state["gone"])
            for slot in leave:
                if not 0 <= slot < len(keys) or slot in gone:
                    raise InputError(f"slot {slot:,} is empty")
            state |= {"keys": bytes_text(keys.tobytes()), "gone": sorted(gone | set(leave))}
            state["version"] = state.get("version", 0) + 1
            return self._signed(state)

    def directory(self) -> Directory:
        """The directory as it stands, signed.

        Raises:
            InputError: No epoch has begun.
        """
        return self._signed(self._file.read())

    def _signed(self, state: dict[str, Any]) -> Directory:
        if not state["epoch"]:
            raise InputError("no period has begun: the authority begins one with the hash's digest")
        keys = _keys(state)

        def with_signature(signature: bytes) -> Directory:
            return Directory(
                state["epoch"], state["version"], base64.b64decode(state["hash"]), state["bits"],
                len(keys), np.array(state["gone"], np.uint32), chain, signature, 0, keys,
            )  # fmt: skip

        chain = chain_keys(keys, CHAIN_START)
        return with_signature(self._signing.sign(with_signature(b"").statement()))


def _keys(state: dict[str, Any]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(base64.b64decode(state["keys"]), np.uint8).reshape(-1, 32)
