"""Which hash value does a cluster have? From the mean of the ratings that its members sent.

In closed clusters the server learns who is alike and is meant not to learn the hash value. But
fakes cancel in a mean, and what is left has the hash of its members.
"""

from __future__ import annotations

import numpy as np

from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._data import Floats, Ints, Marks, table
from discreet.audit.attacks._uploads import (
    collection_of,
    report_table,
    true_hashes,
    upload_tables,
)
from discreet.ratings import Ratings

# Bits of the hash: 16 clusters of a thousand people. Clusters of fewer people than `_LEAST` are
# left out: no server would publish anything about them.
_BITS, _LEAST = 4, 5
# Of a rating in a local report.
_EPSILON = 0.5
# Hash functions that are tried, so that there are 16 * 16 clusters to read.
_BEACONS = 16


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Hash each cluster's mean: of true ratings, of uploads, of local reports, of nothing."""
    scene = _Scene(ratings, seed)
    targets = [scene.outcome("true ratings", table(ratings), is_protected=False)]
    for percent in (100, 200):
        codes, _ = upload_tables(ratings, percent, f"hash recovery {seed}")
        name = f"uploads with {percent} fakes for 100 ratings"
        targets.append(scene.outcome(name, codes, is_protected=False))
    reports = scene.reports()
    name = f"local reports, epsilon {_EPSILON:g} a rating"
    targets.append(scene.outcome(name, reports, is_protected=True))
    targets.append(scene.by_sizes())
    return targets


ATTACK = Attack(
    name="hash-recovery",
    about="the hash value of a closed cluster, from its members' mean",
    source="against Chow, Pathak and Wang",
    knows=(
        "who is in one cluster, and the ratings that everybody sent beside their tags; how large "
        "the buckets of other people are"
    ),
    tries_to="find the hash value of each cluster",
    counts=f"it was right; clusters of {_LEAST} people or more, {_BITS} bits, {_BEACONS} beacons",
    remark=(
        "Fakes do not hide a hash value: tags without ratings do, but for what the sizes of "
        "clusters reveal to anyone who knows the buckets of other people. Guessing names the "
        "value that most have."
    ),
    outcomes=_outcomes,
)


class _Scene:
    def __init__(self, ratings: Ratings, seed: int) -> None:
        self._ratings, self._seed = ratings, seed
        self._collections = [
            collection_of(ratings, bits=_BITS, beacon=f"beacon {number}")
            for number in range(_BEACONS)
        ]
        self._hashes = [true_hashes(ratings, each) for each in self._collections]

    def outcome(self, name: str, codes: Ints, *, is_protected: bool) -> Outcome:
        """Hash the mean of what the members sent, each standardised by their own mean."""
        sent = codes >= 0
        means = np.where(sent, codes, 0).sum(axis=1) / np.maximum(sent.sum(axis=1), 1)
        centred = np.where(sent, codes - means[:, None], 0.0)
        won: list[Marks] = []
        guessed: list[Marks] = []
        for collection, hashes in zip(self._collections, self._hashes, strict=True):
            members, values = _clusters(hashes)
            numbers = members @ sent
            usual = (members @ centred) / (numbers + 1.0)
            margins = usual @ collection.cluster_hash.vectors.T.astype(np.float64)
            read = collection.cluster_hash.of_margins(np.sign(margins).astype(np.int64))
            won.append(read == values)
            guessed.append(values == np.bincount(hashes).argmax())
        return judge(name, _joined(won), _joined(guessed), is_protected=is_protected)

    def reports(self) -> Ints:
        """Everybody's randomized response on every item, as it comes; -1 for "not rated"."""
        return report_table(self._ratings, _EPSILON, f"hash recovery {self._seed}")[0] - 1

    def by_sizes(self) -> Outcome:
        """Without ratings: clusters by size, against the sizes that other people's buckets have.

        Half of the people are the clusters, the other half is known.
        """
        half = np.random.default_rng([self._seed, 71]).random(self._ratings.user_count) < 0.5
        won: list[Marks] = []
        guessed: list[Marks] = []
        for hashes in self._hashes:
            members, values = _clusters(hashes[half])
            known = np.bincount(hashes[~half], minlength=1 << _BITS)
            largest_first = np.argsort(-known, kind="stable")
            ranks = np.argsort(np.argsort(-members.sum(axis=1), kind="stable"), kind="stable")
            won.append(largest_first[ranks] == values)
            guessed.append(values == known.argmax())
        return judge("tags alone", _joined(won), _joined(guessed), is_protected=True)


def _clusters(hashes: Ints) -> tuple[Floats, Ints]:
    """Who is in each cluster that is large enough, a row a cluster, and its hash value."""
    members = hashes == np.arange(1 << _BITS)[:, None]
    large = members.sum(axis=1) >= _LEAST
    return members[large].astype(np.float64), np.flatnonzero(large)


def _joined(parts: list[Marks]) -> Marks:
    return np.concatenate(parts)
