"""Four uploads of the attacker in a bucket of five, subtracted from what is published."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._data import Floats, popularity, table
from discreet.audit.attacks._uploads import collection_of, true_hashes, uploads
from discreet.domain import InputError
from discreet.protocols.clusters_common.messages import Codes, Items, SentRatings
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.ratings import Ratings
from discreet.release import Release

# Of the hash: 4,096 buckets, so that many of a thousand people are alone in theirs.
_BITS = 12
# People who are alone in a bucket, at least, for the attack to mean anything.
_FEWEST = 20


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Everybody who is alone in a bucket is a victim at once."""
    scene = _Scene(ratings, seed)
    return [
        scene.outcome("4 uploads of 5, no fakes", 4, 0, is_protected=False),
        scene.outcome("4 uploads of 5, 100 fakes for 100 ratings", 4, 100, is_protected=True),
        scene.outcome("3 uploads of 4, no fakes", 3, 0, is_protected=True),
    ]


ATTACK = Attack(
    name="sybils",
    about="an upload, by filling its bucket to the least that is published",
    source="against Chow, Pathak and Wang",
    knows=(
        "the release of open clusters, and four uploads in it that the attacker has sent to the "
        "bucket of somebody who is alone there"
    ),
    tries_to="learn what that person has rated",
    counts="the share of the named items that the person has rated",
    remark=(
        "What is learnt is the upload as it was sent; with as many fakes as ratings half of it is "
        "true. A bucket of four is not published. Guessing names the items that most people rated."
    ),
    outcomes=_outcomes,
)


class _Scene:
    def __init__(self, ratings: Ratings, seed: int) -> None:
        self._ratings, self._seed = ratings, seed
        terms = collection_of(ratings, fake_percent=0, bits=_BITS)
        self._hashes = true_hashes(ratings, terms)
        alone = np.bincount(self._hashes, minlength=1 << _BITS)[self._hashes] == 1
        self._victims = np.flatnonzero(alone)
        if len(self._victims) < _FEWEST:
            raise InputError(f"too few can be attacked: {len(self._victims)} are alone in a bucket")
        self._rated = table(ratings)[self._victims] >= 0
        ranking = np.argsort(-popularity(ratings), kind="stable")
        self._popular = np.argsort(ranking, kind="stable")  # each item's place

    def outcome(self, name: str, own: int, percent: int, *, is_protected: bool) -> Outcome:
        """Send, publish, subtract; where nothing is learnt, guess."""
        collection = collection_of(self._ratings, fake_percent=percent, bits=_BITS)
        sent = uploads(self._ratings, collection, f"sybils {self._seed} {percent}")
        release = OpenClusters(collection).build(self._uploads(collection, sent, own))
        guessed = self._guess()
        learnt = self._learnt(release, own)
        won = np.where(learnt.any(axis=1), self._right(learnt), guessed)
        return judge(name, won, guessed, is_protected=is_protected)

    def _uploads(
        self, collection: Collection, sent: list[tuple[Items, Codes]], own: int
    ) -> list[Upload]:
        digest, size = collection.digest, len(self._ratings.catalog)
        everybody = [
            Upload(digest, value, SentRatings("obfuscated", *each))
            for value, each in zip(self._hashes.tolist(), sent, strict=True)
        ]
        # One item of all, rated in the middle: easily subtracted.
        mine = SentRatings("obfuscated", np.arange(size, dtype=np.int32)[:1], _middle(collection))
        buckets = self._hashes[self._victims].tolist()
        return everybody + [Upload(digest, bucket, mine) for bucket in buckets for _ in range(own)]

    def _learnt(self, release: Release, own: int) -> npt.NDArray[np.bool_]:
        """Which items each victim's bucket holds beside the attacker's own, a row a victim."""
        ends = np.asarray(release.arrays["bucket_ends"])
        items, counts = (np.asarray(release.arrays[f"bucket_{n}"]) for n in ("items", "counts"))
        buckets = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        row = np.full(len(ends), -1)
        row[self._hashes[self._victims]] = np.arange(len(self._victims))
        rest = counts - own * (items == 0)
        seen = (row[buckets] >= 0) & (rest > 0)
        found = np.zeros(self._rated.shape, np.bool_)
        found[row[buckets[seen]], items[seen]] = True
        return found

    def _right(self, named: npt.NDArray[np.bool_]) -> Floats:
        return np.asarray((named & self._rated).sum(axis=1) / np.maximum(named.sum(axis=1), 1))

    def _guess(self) -> Floats:
        """The most popular items, as many as each victim has rated."""
        named = self._popular < self._rated.sum(axis=1)[:, None]
        return self._right(named)


def _middle(collection: Collection) -> Codes:
    return np.array([collection.parts // 2], np.uint8)
