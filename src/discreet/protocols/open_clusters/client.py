"""The client: a person's ratings in, an upload out, its memory in one private file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import InputError, OwnRatings
from discreet.domain.files import spell_size
from discreet.privacy import unbooked
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.protocols.clients import BEYOND_LIMIT, OTHER_TERMS, SEEN, Participant, Progress
from discreet.protocols.clusters_common.client import (
    Obfuscator,
    Standing,
    popularity_for,
    read_own,
    spell_again,
    spell_ratings,
    spell_waiting,
    standing,
)
from discreet.protocols.clusters_common.messages import Codes, Items, SentRatings
from discreet.protocols.common import Limit, StateFile, spell_sum
from discreet.protocols.common.http import ServiceClient
from discreet.protocols.open_clusters.messages import PROTOCOL, Collection, Upload

_NOWHERE = Path("no state")
# Bytes of an upload's JSON without its ratings, about, and for each rating: 5 bytes in base64.
_UPLOAD_BYTES, _BYTES_PER_ITEM = 250, 5 * 4 / 3


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
            # The same turn, the same bytes: a second upload that differs would tell what was made
            # up anew.
            if kept.get("turn") == turn:
                return Upload.from_json(kept["upload"], self.collection)
            # Of what is sent, the hash tells nothing more; of true ratings it does, and can have an
            # epsilon.
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
            # A changed rating can turn every bit of the hash, so that epsilon is k times that of a
            # bit, for one rating and for all of them alike.
            bits = (value >> np.arange(k)) & 1
            receipt = unbooked([event], self._obfuscator.randomness)
            said = response.release(bits, event, receipt)
            value = int(said @ (1 << np.arange(k)))
            # In the same change of the file as the upload: what was drawn is never drawn again.
            answers[self._answer_name] = {"value": value, "epsilon": self._answer_epsilon}
        return int(answers[self._answer_name]["value"])


def _hash_epsilon(state: Mapping[str, Any]) -> float:
    """What all answers about hashes have cost."""
    return sum(float(answer["epsilon"]) for answer in state.get("answers", {}).values())


class OpenParticipant(Participant):
    """Open clusters; see `Participant`."""

    collection: Collection

    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None:
        self.collection = Collection.from_json(service.collection(), service.catalog())
        if limit is not None and self.collection.hash_event is None:
            raise InputError("--limit bounds an epsilon, and this collection has none")
        known = popularity_for(service, self.collection)
        self._client = OpenClient(self.collection, state or _NOWHERE, limit=limit, **known)
        self._obfuscator = Obfuscator(self.collection, **known)
        self._state = StateFile(state or _NOWHERE, PROTOCOL)

    @property
    def is_within_limit(self) -> bool:
        return self._client.limit.allows(self._client.standing().hash_epsilon, self._client.cost)

    def remember_limit(self) -> None:
        self._client.limit.remember()

    def terms(self) -> list[str]:
        collection, terms = self.collection, self._client.terms
        return [
            "Protocol: open clusters. Your true ratings are sent among made-up ones: plausible "
            "deniability, not differential privacy.",
            "Epsilon of the ratings: none, neither for one nor for all of them together.",
            self._hash(),
            f"Made up: {terms.fake_percent} ratings or more for every hundred true ones, and so "
            f"many that {self._least:,} items or more look rated; {terms.suppress_percent} of a "
            "hundred true ratings are held back.",
            f"Period: {collection.epoch:,}. A new one asks for the hash anew; what was made up "
            "stays made up.",
            f"Items: {len(collection.catalog):,}. Scale: {collection.scale}.",
            "What leaves your device: the hash, and a list of items with a rating each, about "
            f"{spell_size(self._size(self._least))} or more. {SEEN}",
        ]

    def foresee(self, own: OwnRatings) -> list[str]:
        standing, state = self._client.standing(), self._state.read()
        before = standing.true + standing.taken_back + standing.fakes
        if self._obfuscator.repeats(own.items, state):
            size = spell_size(self._size(before))
            again = spell_again(before)
            said = [f"{again[:1].upper()}{again[1:]} would be sent again: about {size}."]
        else:
            said = [self._anew(len(own), *self._obfuscator.foresee(len(own), state))]
        said += [*spell_waiting(self._obfuscator.waiting(own.items, state)), self._hash()]
        if before:
            said += ["Something was sent before: it stays as it was.", *standing.sentences()]
        return [*said, *([] if self.is_within_limit else [BEYOND_LIMIT])]

    def report(
        self,
        own: OwnRatings,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> tuple[Mapping[str, Any], list[str]]:
        message = self._client.report(own)
        waiting = self._obfuscator.waiting(own.items, self._state.read())
        said = [*spell_waiting(waiting), *self._client.standing().sentences()]
        return message.as_json(), said

    def describe(self, message: Mapping[str, Any]) -> list[str]:
        standing = self._client.standing().sentences()
        try:
            found = Upload.from_json(message, self.collection)
        except InputError:
            return [OTHER_TERMS, *standing]
        return [
            f"The service has {found.hash:,} as the value of your hash ({self._bits}), and "
            f"{len(found.items):,} items with a rating each. --json prints the message itself.",
            *standing,
        ]

    def _anew(self, true: int, sent: int, fakes: int) -> str:
        """What would be sent of `true` ratings."""
        size = spell_size(self._size(sent + fakes))
        ratings = spell_ratings(true, "true")
        part = ratings if sent == true else f"About {sent:,} of your {ratings}"
        return (
            f"{part} would be sent among {fakes:,} made-up ones or more: about {size}. Nothing but "
            "the made-up ones beside them protects them."
        )

    @property
    def _least(self) -> int:
        return max(self.collection.least, self._client.terms.least)

    @property
    def _bits(self) -> str:
        return _spell_bits(self.collection.bits)

    def _size(self, items: int) -> int:
        return _UPLOAD_BYTES + round(_BYTES_PER_ITEM * items)

    def _hash(self) -> str:
        collection = self.collection
        if collection.hash_on == "obfuscated":
            return (
                f"Hash: {self._bits} of the ratings that are sent, made-up ones included; that "
                "tells nothing beyond those."
            )
        event = collection.hash_event
        if event is None:
            return (
                f"Hash: {self._bits} of your true ratings, sent as it is: nothing protects it, and "
                "no epsilon bounds what it tells."
            )
        return (
            f"Hash: {self._bits} of your true ratings, sent by randomized response. That costs "
            f"epsilon {event.epsilon:g}, for one rating and for all alike, once a period: "
            f"{spell_sum(event, collection.epoch + 1)}. It covers the hash and not the ratings."
        )


def _spell_bits(count: int) -> str:
    return "1 bit" if count == 1 else f"{count:,} bits"
