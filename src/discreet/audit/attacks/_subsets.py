"""Which half of a small upload has the hash that was sent beside it?

The hash is of the true ratings. An attacker who tries all halves of an upload keeps those with the
hash: one in 2^bits, the true one among them. A large upload has too many halves; but each bit is
the sign of a sum over the true ratings, and the made-up ones are not in it.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.audit.attacks._attack import Attack, Outcome, judge, most_without_record
from discreet.audit.attacks._data import Floats, Ints, people_with, pick_users
from discreet.audit.attacks._uploads import collection_of, true_hashes, uploads
from discreet.privacy import SeededRandomness, unbooked
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.protocols.clusters_common.messages import LEAST
from discreet.ratings import Ratings

# Victims, and bits of a hash.
_VICTIMS, _BITS = 100, 8
# True items of an upload that is so small that all of its halves can be tried: 12,870.
_SMALL = 8
# Hashes of the same ratings, where there are several.
_BEACONS = 32
# Of all bits of a hash together.
_EPSILON = 1.0


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Eight true items in 16, forty in 80, and the latter under other terms."""
    small, floor = _Target(ratings, _SMALL, 1, seed), _Target(ratings, LEAST // 2, 1, seed)
    many = _Target(ratings, LEAST // 2, _BEACONS, seed)
    bound = partial(most_without_record, epsilon=_EPSILON)
    return [
        judge(f"{2 * _SMALL} items", small.by_halves(), small.guess, is_protected=False),
        judge(f"{LEAST} items, {_BEACONS} hashes", many.by_signs(), many.guess, is_protected=False),
        judge(f"{LEAST} items", floor.by_signs(), floor.guess, is_protected=False),
        judge(f"{LEAST} items, hash under epsilon {_EPSILON:g}", floor.by_signs(_EPSILON),
              floor.guess, is_protected=True, bound=bound),
    ]  # fmt: skip


ATTACK = Attack(
    name="subsets",
    about="which items of an open upload are true, by the hash sent beside it",
    source="against Chow, Pathak and Wang",
    knows=(
        f"an upload of which half the items are true, and the {_BITS} bits of the true ratings' "
        "hash"
    ),
    tries_to="distinguish the true items from the made-up ones",
    counts="the share of the named items that is true",
    remark=(
        f"With {LEAST} items, which clients insist on, nobody can try all subsets; yet a hash is a "
        "little more likely of true items than of fakes, and many hashes add up. Randomized "
        "response on its bits bounds that. Guessing draws items by lot."
    ),
    outcomes=_outcomes,
)


class _Target:
    """People with equally many ratings, their uploads with as many fakes, and their hashes."""

    def __init__(self, ratings: Ratings, true: int, beacons: int, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 6, true, beacons])
        people = pick_users(ratings, people_with(ratings, true, _VICTIMS, self._rng))
        people = people.where(_first_of_each(people, true, self._rng))
        self._people, self._true = people, true
        self._collections = [
            collection_of(people, fake_percent=100, bits=_BITS, beacon=f"beacon {number}")
            for number in range(beacons)
        ]
        self._hashes = np.array([true_hashes(people, each) for each in self._collections])
        sent = uploads(people, self._collections[0], f"subsets {seed}")
        self._items = np.array([items for items, _ in sent])
        self._codes = np.array([codes for _, codes in sent]).astype(np.float64)
        self.guess = np.full(len(sent), 0.5)

    def by_halves(self) -> Floats:
        """How many of all halves that have the hash hold each item."""
        size = 2 * self._true
        halves = np.array(list(combinations(range(size), self._true)))
        marks = np.zeros((len(halves), size))
        np.put_along_axis(marks, halves, 1.0, axis=1)
        places = 1 << np.arange(_BITS)
        scores = np.empty(self._items.shape)
        for person, (items, codes) in enumerate(zip(self._items, self._codes, strict=True)):
            q = self._collections[0].cluster_hash.vectors[:, items].astype(np.float64)
            sums = (marks @ codes)[:, None] * (marks @ q.T)
            fits = (self._true * (marks @ (q * codes).T) - sums >= 0) @ places
            scores[person] = marks[fits == self._hashes[0, person]].mean(axis=0)
        return self._share(scores)

    def by_signs(self, epsilon: float | None = None) -> Floats:
        """What each item would add to every bit, with the bit's sign.

        A true item added it; a made-up one did not. The mean rating is the upload's.

        Args:
            epsilon: Of all bits of a hash together, if randomized response covers them.
        """
        centred = self._codes - self._codes.mean(axis=1, keepdims=True)
        scores = np.zeros(self._items.shape)
        for collection, values in zip(self._collections, self._hashes, strict=True):
            bits = values[:, None] >> np.arange(_BITS) & 1
            if epsilon is not None:
                bits = self._randomised(bits, epsilon)
            signs = 2.0 * bits - 1
            for bit, vector in enumerate(collection.cluster_hash.vectors):
                scores += signs[:, bit, None] * vector[self._items] * centred
        return self._share(scores)

    def _randomised(self, bits: Ints, epsilon: float) -> Ints:
        mechanism = RandomizedResponse(2, epsilon / _BITS)
        event = mechanism.event("hash bits", bits.size)
        source = SeededRandomness(f"subsets {self._rng.integers(1 << 32)}")
        return mechanism.release(bits, event, unbooked([event], source))

    def _share(self, scores: Floats) -> Floats:
        """The share of the best half of each upload that is true."""
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self._true]
        rated = np.zeros((self._people.user_count, len(self._people.catalog)), np.bool_)
        rated[self._people.user_of_rating(), self._people.items] = True
        named = np.take_along_axis(self._items, best, axis=1)
        return np.asarray(np.take_along_axis(rated, named, axis=1).mean(axis=1))


def _first_of_each(people: Ratings, count: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Marks `count` ratings of each person, drawn at random."""
    order = np.lexsort((rng.random(len(people)), people.user_of_rating()))
    within = np.arange(len(people)) - np.repeat(people.starts[:-1], np.diff(people.starts))
    marks = np.zeros(len(people), np.bool_)
    marks[order] = within < count
    return marks
