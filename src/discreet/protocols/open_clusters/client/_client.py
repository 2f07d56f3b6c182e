"""The client: a person's ratings in, an upload out, its memory in one private file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.domain.cluster_hash import to_grid
from discreet.privacy import Randomness, Receipt, SystemRandomness
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.protocols.common import StateFile
from discreet.protocols.open_clusters.client._history import History, Terms, share_true
from discreet.protocols.open_clusters.messages import PROTOCOL, Collection, Upload

_BATCH = 5


@dataclass(frozen=True)
class Standing:
    """How a person stands with a collection, for their own eyes.

    Attributes:
        true: Items in the upload that the person has rated.
        fakes: Items in the upload that the person has not rated.
        suppressed: Items that the person has rated and that were never sent.
        share: N / (N + M), the chance that an item in the upload was rated, as far as counting
            goes; NaN if nothing was sent.
        hash_epsilon: What the hash bits cost in all epochs that the client took part in: the same
            for one rating and for everything the person rated. 0 if they cost nothing or if
            nothing protects them.
    """

    true: int
    fakes: int
    suppressed: int
    share: float
    hash_epsilon: float

    def sentences(self) -> list[str]:
        """The same in plain words."""
        if not self.true + self.fakes:
            said = ["No obfuscated ratings were sent."]
        else:
            said = self._on_ratings()
        if self.hash_epsilon:
            said.append(
                f"Your hash was reported with an epsilon of {self.hash_epsilon:g} in all; that "
                "covers the hash and not the ratings."
            )
        return said

    def _on_ratings(self) -> list[str]:
        return [
            "This is plausible deniability, not differential privacy: your true ratings are in "
            "what was sent, among made-up ones.",
            f"Of {self.true + self.fakes:,} items that look rated, {self.true:,} are; by counting "
            f"alone a guess that you rated one of them is right {self.share:.0%} of the time, and "
            "more often for popular items.",
        ]


class OpenClient:
    """One person's side of a collection.

    Args:
        collection: The public terms.
        state: The client's own file, which must outlive the collection: whoever loses it draws new
            fakes, and the items that both uploads share are then the true ones.
        fakes: Another way to make ratings up than the collection's.
        fake_percent: More fakes than the collection asks for.
        suppress_percent: More suppression than it asks for.
        popularity: For `popular` fakes: how popular each item is, from any release.
        reveal: Send all true ratings and say so.
        hash_only: Send the hash and no ratings.
        batch: Changes to wait for before a later upload differs from the one before.
        randomness: For tests and experiments; the operating system's if absent.

    Raises:
        InputError: The terms cannot be used.
    """

    def __init__(
        self,
        collection: Collection,
        state: str | os.PathLike[str],
        *,
        fakes: str | None = None,
        fake_percent: int | None = None,
        suppress_percent: int | None = None,
        popularity: npt.NDArray[np.float64] | None = None,
        reveal: bool = False,
        hash_only: bool = False,
        batch: int = _BATCH,
        randomness: Randomness | None = None,
    ) -> None:
        if reveal and hash_only:
            raise InputError("either reveal all ratings or send only the hash, not both")
        if hash_only and collection.hash_on == "obfuscated":
            raise InputError("this collection hashes what is sent; the hash alone is not taken")
        if batch < 1:
            raise InputError(f"a batch is at least 1 change, not {batch}")
        self.collection = collection
        self.terms = Terms.of(
            collection,
            fakes=fakes,
            fake_percent=fake_percent,
            suppress_percent=suppress_percent,
            popularity=popularity,
        )
        self._state = StateFile(state, PROTOCOL)
        self._reveal, self._hash_only, self._batch = reveal, hash_only, batch
        self._randomness = randomness or SystemRandomness()

    def report(self, own: Mapping[str, float] | OwnRatings) -> Upload:
        """What to send now that these are the person's ratings; it takes the last upload's place.

        The same as before, to the byte, until there are enough changes for a batch.

        Raises:
            InputError: There is nothing rated, or a rating is not on the scale.
        """
        items, codes = self._read(own)
        with self._state.change() as state:
            memory = state.setdefault(self.collection.digest, {})
            if self._reveal or self._hash_only:
                return self._plain(items, codes, memory)
            history = _history(memory)
            if "upload" in memory and history.changes(items, codes) < self._batch:
                return Upload.from_json(memory["upload"], self.collection)
            history = history.advance(items, codes, self.collection, self.terms, self._randomness)
            sent = history.sent
            hashed = (items, codes) if self.collection.hash_on == "true" else sent
            value = self._reported(self.collection.cluster_hash.value(*hashed), memory)
            upload = Upload(self.collection.digest, value, "obfuscated", *sent)
            upload.check(self.collection)
            memory |= {"history": history.as_state(), "upload": upload.as_json()}
        return upload

    def standing(self) -> Standing:
        """What was sent so far, for the person's own eyes."""
        state = self._state.read()
        history = _history(state.get(self.collection.digest, {}))
        true = len(history.true_items) + len(history.met)
        fakes = len(history.fake_items) - len(history.met)
        spent = sum(float(each.get("hash_epsilon", 0.0)) for each in state.values())
        return Standing(true, fakes, len(history.suppressed), share_true(true, fakes), spent)

    def _read(
        self, own: Mapping[str, float] | OwnRatings
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        catalog, scale = self.collection.catalog, self.collection.scale
        ratings = own if isinstance(own, OwnRatings) else OwnRatings.of(own, catalog, scale)
        if not len(ratings):
            raise InputError("there is nothing to report: none of the catalogue's items is rated")
        return ratings.items, to_grid(scale, ratings.values)

    def _plain(
        self,
        items: npt.NDArray[np.int32],
        codes: npt.NDArray[np.uint8],
        memory: dict[str, Any],
    ) -> Upload:
        """An upload of everything as it is, or of the hash alone."""
        value = self._reported(self.collection.cluster_hash.value(items, codes), memory)
        if self._reveal:
            return Upload(self.collection.digest, value, "revealed", items, codes)
        return Upload(self.collection.digest, value, "none", items[:0], codes[:0])

    def _reported(self, value: int, memory: dict[str, Any]) -> int:
        """The hash value as it is, or the one answer that randomized response gave.

        The first answer stays for the whole epoch, whatever the hash becomes: a second one would
        cost again, and a changed one would tell of a change.
        """
        if not self.collection.bit_epsilon_thousandths:
            return value
        if "answer" not in memory:
            k = self.collection.bits
            response = RandomizedResponse(2, self.collection.bit_epsilon)
            event = response.event("hash bits", k)
            bits = (value >> np.arange(k)) & 1
            said = response.release(bits, event, Receipt([event], self._randomness))
            memory["answer"] = int(said @ (1 << np.arange(k)))
            memory["hash_epsilon"] = self.collection.bits * self.collection.bit_epsilon
        return int(memory["answer"])


def _history(memory: Mapping[str, Any]) -> History:
    return History.from_state(memory["history"]) if "history" in memory else History()
