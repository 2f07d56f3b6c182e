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
from discreet.protocols.open_clusters.messages import LEAST, PROTOCOL, Collection, Upload

_BATCH = 5
_LEAST_PERCENT = 50
"""Fewer fakes for a hundred true ratings are sent only by whoever asks for it."""


@dataclass(frozen=True)
class Standing:
    """How a person stands with a collection, for their own eyes.

    Attributes:
        true: Items in the upload that the person has rated.
        fakes: Items in the upload that the person has not rated.
        suppressed: Items that the person has rated and that are not in the upload.
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
            "more often for popular items. Ratings that you took back are counted as made up here; "
            "they were true when they were sent.",
        ]


class OpenClient:
    """One person's side of a collection.

    Args:
        collection: The public terms.
        state: The client's own file, which must outlive the collection: whoever loses it draws new
            fakes, and the items that both uploads share are then the true ones. All collections of
            a catalogue and scale share one set of fakes in it.
        fakes: Another way to make ratings up than the collection's.
        fake_percent: More fakes than the collection asks for.
        suppress_percent: More suppression than it asks for.
        popularity: For `popular` fakes: how popular each item is, from any release.
        reveal: Send all true ratings and say so.
        hash_only: Send the hash and no ratings.
        batch: Changes to wait for before a later upload differs from the one before.
        accept_less: For experiments: obfuscate no more than the collection asks for. Without it
            there are at least 50 fakes for a hundred true ratings and 80 items that look rated, or
            the whole catalogue, whatever the collection says.
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
        accept_less: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        if reveal and hash_only:
            raise InputError("either reveal all ratings or send only the hash, not both")
        if hash_only and collection.hash_on == "obfuscated":
            raise InputError("this collection hashes what is sent; the hash alone is not taken")
        if batch < 1:
            raise InputError(f"a batch is at least 1 change, not {batch}")
        self.collection = collection
        least = 0
        if not (reveal or hash_only or accept_less):
            fake_percent = _floored(fake_percent, collection)
            least = min(LEAST, len(collection.catalog))
        self.terms = Terms.of(
            collection,
            fakes=fakes,
            fake_percent=fake_percent,
            suppress_percent=suppress_percent,
            popularity=popularity,
            least=least,
        )
        self._state = StateFile(state, PROTOCOL)
        self._reveal, self._hash_only, self._batch = reveal, hash_only, batch
        self._randomness = randomness or SystemRandomness()

    def report(self, own: Mapping[str, float] | OwnRatings) -> Upload:
        """What to send now that these are the person's ratings; it takes the last upload's place.

        The same as before, to the byte, until there are enough changes for a batch. Another epoch,
        beacon or other terms change nothing about fakes, unless the terms ask for more of them.

        Raises:
            InputError: A rating is not on the scale; or there is nothing rated, and no epsilon of
                the hash bits that would hide that.
        """
        items, codes = self._read(own)
        with self._state.change() as state:
            memory = state.setdefault(self.collection.digest, {})
            if self._reveal or self._hash_only:
                return self._plain(items, codes, memory)
            shared = state.setdefault(_shared_name(self.collection), {})
            history = self._advanced(items, codes, shared)
            if "upload" in memory and memory.get("turn") == shared["turn"]:
                return Upload.from_json(memory["upload"], self.collection)
            sent = history.sent
            hashed = (items, codes) if self.collection.hash_on == "true" else sent
            value = self._reported(self.collection.cluster_hash.value(*hashed), memory)
            upload = Upload(self.collection.digest, value, "obfuscated", *sent)
            upload.check(self.collection)
            memory |= {"turn": shared["turn"], "upload": upload.as_json()}
        return upload

    def standing(self) -> Standing:
        """What was sent so far, for the person's own eyes."""
        state = self._state.read()
        history = _history(state.get(_shared_name(self.collection), {}))
        # A suppressed item that a fake fell on is rated and looks it.
        hit = int(np.isin(history.suppressed, history.fake_items).sum())
        true = len(history.true_items) + len(history.met) + hit
        fakes = len(history.fake_items) - len(history.met) - hit
        spent = sum(float(each.get("hash_epsilon", 0.0)) for each in state.values())
        hidden = len(history.suppressed) - hit
        return Standing(true, fakes, hidden, share_true(true, fakes), spent)

    def _read(
        self, own: Mapping[str, float] | OwnRatings
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        catalog, scale = self.collection.catalog, self.collection.scale
        ratings = own if isinstance(own, OwnRatings) else OwnRatings.onto(own, catalog, scale)
        # Under an epsilon, whether anything is rated must not show either.
        covered = self.collection.bit_epsilon_thousandths and not self._reveal
        if not len(ratings) and not covered:
            raise InputError("there is nothing to report: none of the catalogue's items is rated")
        return ratings.items, to_grid(scale, ratings.values)

    def _advanced(
        self,
        items: npt.NDArray[np.int32],
        codes: npt.NDArray[np.uint8],
        shared: dict[str, Any],
    ) -> History:
        """What all collections of this catalogue and scale send: moved on if it is time."""
        history = _history(shared)
        waiting = "history" in shared and history.changes(items, codes) < self._batch
        if waiting and not history.lacks(self.collection, self.terms):
            return history
        history = history.advance(items, codes, self.collection, self.terms, self._randomness)
        shared |= {"history": history.as_state(), "turn": int(shared.get("turn", 0)) + 1}
        return history

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


def _floored(fake_percent: int | None, collection: Collection) -> int:
    """What the person asks for, or the collection, but not below the client's own floor."""
    if fake_percent is None:
        return max(collection.fake_percent, _LEAST_PERCENT)
    if fake_percent < _LEAST_PERCENT:
        raise InputError(
            f"fake_percent is at least {_LEAST_PERCENT}, not {fake_percent}; "
            "accept_less=True is for experiments"
        )
    return fake_percent


def _shared_name(collection: Collection) -> str:
    """Where the state has the history of a catalogue and scale; no digest has a space."""
    told = collection.as_json()
    return f"{told['catalog']} {told['scale']}"


def _history(memory: Mapping[str, Any]) -> History:
    return History.from_state(memory["history"]) if "history" in memory else History()
