"""The client: a person's ratings in, an upload out, its memory in one private file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.domain import InputError, OwnRatings
from discreet.privacy import unbooked
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.protocols.common import Limit, StateFile
from discreet.protocols.obfuscation.client import Obfuscator, Standing, read_own, standing
from discreet.protocols.obfuscation.messages import Codes, Items, SentRatings
from discreet.protocols.open_clusters.messages import PROTOCOL, Collection, Upload


class OpenClient:
    """One person's side of a collection.

    Args:
        collection: The public terms.
        state: The client's own file, which must outlive the collection: see `Obfuscator`.
        reveal: Send all true ratings and say so.
        hash_only: Send the hash and no ratings.
        limit: The most epsilon that all answers about hashes together may cost; see `Limit`.
        obfuscation: Further arguments of `Obfuscator`: stricter terms than the collection's.

    Raises:
        InputError: The terms cannot be used.
    """

    def __init__(
        self,
        collection: Collection,
        state: str | os.PathLike[str],
        *,
        reveal: bool = False,
        hash_only: bool = False,
        limit: float | None = None,
        **obfuscation: Any,
    ) -> None:
        if reveal and hash_only:
            raise InputError("either reveal all ratings or send only the hash, not both")
        if hash_only and collection.hash_on == "obfuscated":
            raise InputError("this collection hashes what is sent; the hash alone is not taken")
        if reveal or hash_only:
            # Nothing is made up, so there is no floor to keep.
            obfuscation["accept_less"] = True
        self.collection = collection
        self._obfuscator = Obfuscator(collection, **obfuscation)
        self.terms = self._obfuscator.terms
        self._state = StateFile(state, PROTOCOL)
        self.limit = Limit(self._state, limit)
        self._reveal, self._hash_only = reveal, hash_only

    def report(self, own: Mapping[str, float] | OwnRatings) -> Upload:
        """What to send now that these are the person's ratings; it takes the last upload's place.

        The same as before, to the byte, until there are enough new ratings for a batch; without
        ratings it is the hash alone, which follows them unless there is an epsilon.

        Raises:
            InputError: There is nothing rated, and no epsilon of the hash bits that would hide
                that; or the limit would be passed; or the state is of other items or another scale.
                Nothing was drawn.
        """
        # Under an epsilon, whether anything is rated must not show either.
        covered = bool(self.collection.bit_epsilon_thousandths) and not self._reveal
        items, codes = read_own(own, self.collection, allow_none=covered)
        self.limit.remember()
        with self._state.change() as state:
            if self._reveal or self._hash_only:
                return self._plain(items, codes, state)
            sent, turn = self._obfuscator.obfuscate(items, codes, state)
            kept = state.setdefault("uploads", {}).get(self.collection.digest, {})
            if kept.get("turn") == turn:
                return Upload.from_json(kept["upload"], self.collection)
            on_true = self.collection.hash_on == "true"
            hashed = (items, codes) if on_true else (sent.items, sent.codes)
            value = self._reported(self.collection.cluster_hash.value(*hashed), state)
            upload = Upload(self.collection.digest, value, sent)
            upload.check(self.collection)
            made = {"turn": turn, "upload": upload.as_json()}
            state["uploads"][self.collection.digest] = made
        return upload

    def standing(self) -> Standing:
        """What was sent so far, for the person's own eyes."""
        state = self._state.read()
        return standing(self.collection, state, _hash_epsilon(state))

    @property
    def cost(self) -> float:
        """What `report` would add to the hash's epsilon: 0 if it is answered, or has none."""
        answered = self._answer_name in self._state.read().get("answers", {})
        return 0.0 if answered else self._answer_epsilon

    def _plain(self, items: Items, codes: Codes, state: dict[str, Any]) -> Upload:
        """An upload of everything as it is, or of the hash alone."""
        value = self._reported(self.collection.cluster_hash.value(items, codes), state)
        sent = SentRatings("revealed", items, codes) if self._reveal else SentRatings.none()
        return Upload(self.collection.digest, value, sent)

    @property
    def _answer_epsilon(self) -> float:
        return self.collection.bits * self.collection.bit_epsilon

    @property
    def _answer_name(self) -> str:
        """What an answer is about: another one to the same would be drawn for nothing."""
        terms = self.collection
        return f"{terms.hash_digest.hex()} {terms.epoch} {terms.bit_epsilon_thousandths}"

    def _reported(self, value: int, state: dict[str, Any]) -> int:
        """The hash value as it is, or the one answer that randomized response gave.

        The first answer stays for the whole epoch, whatever the hash or the other terms become: a
        second one would cost again, and a changed one would tell of a change.
        """
        if not self.collection.bit_epsilon_thousandths:
            return value
        answers = state.setdefault("answers", {})
        if self._answer_name not in answers:
            self.limit.check(state, _hash_epsilon(state), self._answer_epsilon)
            k = self.collection.bits
            response = RandomizedResponse(2, self.collection.bit_epsilon)
            event = response.event("hash bits", k)
            bits = (value >> np.arange(k)) & 1
            receipt = unbooked([event], self._obfuscator.randomness)
            said = response.release(bits, event, receipt)
            value = int(said @ (1 << np.arange(k)))
            answers[self._answer_name] = {"value": value, "epsilon": self._answer_epsilon}
        return int(answers[self._answer_name]["value"])


def _hash_epsilon(state: Mapping[str, Any]) -> float:
    """What all answers about hashes have cost."""
    return sum(float(answer["epsilon"]) for answer in state.get("answers", {}).values())
