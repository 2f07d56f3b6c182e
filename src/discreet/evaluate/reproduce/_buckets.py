"""Chow, Pathak and Wang on data at hand: every client simulated, and what averages predict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain.cluster_hash import to_grid
from discreet.evaluate._clusters import simulated_uploads
from discreet.evaluate._metrics import rmse
from discreet.evaluate.reproduce._study import NETFLIX, Study
from discreet.evaluate.reproduce._trial import Trial
from discreet.privacy import SeededRandomness, unbooked
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.ratings import split_random
from discreet.release import Release

BITS = 8
"""The paper's."""
OWN_AND_ALL = "own mean + everybody's average"
RULES: dict[str, dict[str, Any]] = {
    "plain": {"thin": 0.0, "allow_for_fakes": False},
    "held back": {},
}
"""Plain is the paper's: whoever is in the bucket, and others only where nobody there rated it.
Held back is ours: neighbours and everybody behind a thin bucket, less what fakes add."""
PAPER = {
    "user means": 1.1325,
    "item means": 1.0540,
    "lsh": 0.9932,
    "orthogonal": 0.9883,
    "fakes 200 %": 1.0380,
    "hash on obfuscated": 1.0452,
}


class Bench:
    """A split, and everything that is judged by it. Private."""

    def __init__(self, study: Study) -> None:
        self.trial = Trial(split_random(study.ratings, 0.1, seed=1))
        self.train, self.test = self.trial.split.train, self.trial.split.test
        self.codes = to_grid(self.train.scale, self.train.values())
        self.few = few_bits(self.train.user_count)

    @classmethod
    def of(cls, study: Study) -> Bench:
        """The same one for all figures of a study."""
        return study.once("buckets", lambda: cls(study))

    def __repr__(self) -> str:
        return "Bench(private)"

    def collection(self, **told: Any) -> Collection:
        """Terms. The paper's figure begins without any fakes, so without a least number too."""
        return Collection(self.train.catalog, self.train.scale, **{"least": 0} | told)

    def uploads(self, collection: Collection, **told: Any) -> list[Upload]:
        """Everybody's."""
        return list(simulated_uploads(self.train, collection, **told))

    def revealed(self) -> list[Upload]:
        """Everybody's true ratings: clusters alone."""
        return self.uploads(self.collection(), reveal=True)

    def release(self, collection: Collection, uploads: Iterable[Upload], **rule: Any) -> Release:
        """Averages by bucket, however few are in it."""
        return OpenClusters(collection).build(uploads, least_people=1, **rule)

    def judge(
        self,
        collection: Collection,
        uploads: Iterable[Upload],
        predictor: str = "buckets",
        **rule: Any,
    ) -> tuple[float, float]:
        """RMSE, and the variance of bucket sizes."""
        release = self.release(collection, uploads, **rule)
        error = self.trial.error(release.predictor(predictor))
        return error, float(release.arrays["bucket_sizes"].var())

    def moved(self, collection: Collection, uploads: Iterable[Upload]) -> list[Upload]:
        """The same uploads by the hash of another collection."""
        train = self.train
        hashes = collection.cluster_hash.values(train.starts, train.items, self.codes)
        hashes = hashes[np.diff(train.starts) > 0]
        return [
            replace(upload, hash=int(value), collection=collection.digest)
            for upload, value in zip(uploads, hashes, strict=True)
        ]

    def means(self) -> dict[str, float]:
        """The baselines: own means, items' means, own mean and everybody's average."""
        train, test, wanted = self.train, self.test, self.trial.wanted
        values, users, rows = train.values(), train.user_of_rating(), self.trial.rows
        everything = float(values.mean())
        own = _means(users, values, train.user_count, everything)
        item = _means(train.items, values, len(train.catalog), everything)
        beside = _means(train.items, values - own[users], len(train.catalog), 0.0)
        guesses = {
            "user means": own[rows],
            "item means": item[test.items],
            OWN_AND_ALL: own[rows] + beside[test.items],
        }
        scale = test.scale
        return {n: rmse(np.clip(g, scale.lo, scale.hi), wanted) for n, g in guesses.items()}


def few_bits(people: int) -> int:
    """Bits that leave about as many people in a bucket as the paper's 8 on its data."""
    return min(max(round(math.log2(max(people, 1) * 2**BITS / NETFLIX[1])), 1), 16)


def few_people(study: Study, bench: Bench) -> str:
    """Why eight bits are too many here."""
    people = study.ratings.user_count
    return (
        f"With {BITS} bits the paper has {NETFLIX[1] >> BITS:,} people in a bucket and here there "
        f"are {people / 2**BITS:,.0f}, too few to average; {spell_bits(bench.few)} "
        f"would leave {people / 2**bench.few:,.0f}. Held back is our rule: the average of a thin "
        "bucket is drawn to that of its neighbours and of everybody."
    )


def spell_bits(bits: int) -> str:
    """So many bits."""
    return f"{bits} bit{'s' * (bits != 1)}"


def randomized(collection: Collection, uploads: list[Upload]) -> list[Upload]:
    """What randomized response on every bit makes of the hashes."""
    response = RandomizedResponse(2, collection.bit_epsilon)
    places = np.arange(collection.bits)
    bits = (np.array([upload.hash for upload in uploads])[:, None] >> places) & 1
    event = response.event("hash bits", bits.size)
    said = response.release(bits, event, unbooked([event], SeededRandomness("bits")))
    values = said @ (1 << places)
    return [replace(u, hash=int(value)) for u, value in zip(uploads, values, strict=True)]


def _means(
    groups: npt.NDArray[Any], values: npt.NDArray[Any], size: int, otherwise: float
) -> npt.NDArray[Any]:
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, values, size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)
