"""Canaries: made-up users, each put in or left out by a coin, that a single release is judged by.

A canary rates one item, which nobody or hardly anybody else has rated, with the highest rating.
One canary more is one rating more and one user more, whichever is protected.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import log_ratio, scale_of
from discreet.audit._neighbours import STARS, ratings_of
from discreet.audit.lower_bound._claims import DELTA, Claim
from discreet.audit.lower_bound._engine import Finding, Subject, check
from discreet.audit.lower_bound._one_run import audit_guesses
from discreet.audit.lower_bound._pipelines import claim_of, crowd, spent, thinner
from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.methods import MethodName, Transcript, record_fit
from discreet.privacy import Noise, Randomness, Unit
from discreet.ratings import Ratings
from discreet.release import Release

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]

_KIND, _VERSION = "discreet canaries", 1
_FEWEST = 20


@dataclass(frozen=True, eq=False, repr=False)
class Canaries:
    """Which items canaries rate, and which canaries are in. Secret until the audit is made.

    Attributes:
        items: The catalogue's ids, one for each canary.
        included: The coins.
    """

    items: tuple[str, ...]
    included: _Marks

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Canaries({len(self)}, private)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the key, readable by its owner alone."""
        content = {
            "kind": _KIND,
            "version": _VERSION,
            "items": list(self.items),
            "included": [int(each) for each in self.included],
        }
        with whole_file(path, private=True) as temporary:
            temporary.write_text(json.dumps(content), "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Canaries:
        """Read a key.

        Raises:
            InputError: It cannot be read, or is none.
        """
        try:
            content: Any = json.loads(Path(path).read_text("utf-8"))
            if (content["kind"], content["version"]) != (_KIND, _VERSION):
                raise ValueError
            items, coins = content["items"], content["included"]
            known = all(isinstance(item, str) for item in items)
            if not known or len(items) != len(coins) or not set(coins) <= {0, 1}:
                raise ValueError
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot be read: {reason}", path=Path(path)) from error
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise InputError("is no key of canaries", path=Path(path)) from error
        return cls(tuple(items), np.array(coins, np.bool_))


def insert_canaries(
    ratings: Ratings, count: int, randomness: Randomness
) -> tuple[Ratings, Canaries]:
    """The ratings with canaries among them, and the key.

    Args:
        ratings: Private.
        count: How many canaries there are; about half of them will be in.
        randomness: Of the coins.

    Raises:
        InputError: There are fewer items than canaries, or fewer canaries than can tell anything.
    """
    if not _FEWEST <= count <= len(ratings.catalog):
        raise InputError(
            f"there can be from {_FEWEST} canaries to as many as items, "
            f"{len(ratings.catalog):,}, not {count:,}"
        )
    rarest = np.argsort(np.bincount(ratings.items, minlength=len(ratings.catalog)), kind="stable")
    chosen = np.sort(rarest[:count]).astype(np.int32)
    included = randomness.words(count) & np.uint64(1) == 1
    ids = tuple(ratings.catalog.ids[int(item)] for item in chosen)
    return _joined(ratings, chosen[included]), Canaries(ids, included)


def _joined(ratings: Ratings, items: npt.NDArray[np.int32]) -> Ratings:
    """With one more user for each of the items, who rates it as high as can be, last of all."""
    codes = ratings.scale.encode(np.full(len(items), ratings.scale.hi))
    starts = ratings.starts[-1] + 1 + np.arange(len(items), dtype=np.int64)
    times = ratings.times
    if times is not None:
        times = np.append(times, np.full(len(items), times.max(initial=0), times.dtype))
    return replace(
        ratings,
        starts=np.concatenate([ratings.starts, starts]),
        items=np.concatenate([ratings.items, items]),
        codes=np.concatenate([ratings.codes, codes.astype(ratings.codes.dtype)]),
        times=times,
        users=None if ratings.users is None else _with_more(ratings.users, len(items)),
    )


def _with_more(users: npt.NDArray[np.generic], count: int) -> npt.NDArray[np.generic]:
    """Names that nobody has yet after those of the users."""
    if users.dtype.kind in "iu":
        free = np.setdiff1d(np.arange(len(users) + count), users)[:count]
        return np.concatenate([users, free.astype(users.dtype)])
    taken, names = set(users.tolist()), (f"canary-{n}" for n in range(len(users) + count))
    free_names = [name for name in names if name not in taken][:count]
    return np.concatenate([users, np.array(free_names, np.str_)])


def score_release(release: Release, canaries: Canaries) -> _Floats:
    """From the released numbers alone: an item that a canary rated has a larger count and effect.

    Raises:
        InputError: The release does not know an item of a canary, or has no counts.
    """
    found = [release.catalog.find(item) for item in canaries.items]
    if any(each is None for each in found):
        raise InputError("the release's catalogue does not have all the canaries' items")
    if not {"item_counts", "item_effects"} <= set(release.arrays):
        raise InputError(f"a release of method '{release.method}' has no counts to score by")
    places = np.array(found, np.int64)
    parts = [release.arrays[name][places] for name in ("item_counts", "item_effects")]
    return np.asarray(sum(_standard(np.asarray(part, np.float64)) for part in parts))


def _standard(values: _Floats) -> _Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-300))


def audit_release(release: Release, canaries: Canaries, *, confidence: float = 0.95) -> Finding:
    """A lower bound on a release's epsilon from the canaries in it.

    Raises:
        InputError: The release promises nothing, was not fitted by a curator, is not of these
            canaries' catalogue, or the confidence cannot be used.
    """
    check(None, confidence)
    guarantee = release.guarantee
    if release.method not in list(MethodName) or "local_reports" in release.parameters:
        raise InputError(
            "canaries are for what a curator fitted, where one more is one user more; what people "
            "send themselves has subjects of its own: see discreet audit --list"
        )
    if not guarantee.is_private:
        raise InputError("this release promises nothing, so there is no claim to audit")
    claim = Claim.of(guarantee.events, guarantee.delta or DELTA)
    scores = score_release(release, canaries)
    return audit_guesses("release", claim, scores, canaries.included, confidence)


def score_transcript(transcript: Transcript, base: Ratings, canaries: list[Ratings]) -> _Floats:
    """From all that a fit released, by somebody who knows everything but the coins.

    Each canary's likelihood ratio, with every other canary half in.

    Args:
        transcript: Of a fit of `base` and of some canaries.
        base: Everybody else.
        canaries: Each canary's own ratings.
    """
    noise = transcript.budget.noise
    parts = [transcript.contribution(own) for own in canaries]
    known = transcript.contribution(base)
    scores = np.zeros(len(canaries))
    for at, spoken in enumerate(transcript.spoken):
        added = np.array([part[at].ravel() for part in parts], np.float64)
        rest = spoken.noisy.ravel() - known[at].ravel() - added.sum(axis=0) / 2
        scale = scale_of(spoken, noise)
        for row, part in enumerate(added):
            touched = np.flatnonzero(part)
            half = part[touched] / 2
            scores[row] += log_ratio(rest[touched], half, -half, noise, scale)
    return scores


def one_run_subjects() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    for unit in Unit:
        for noise in Noise:
            name = f"one-run/{unit}/{noise}"
            yield name, partial(OneRunSubject, name, about_one_run(), unit, noise)


def about_one_run(factor: float = 1.0) -> str:
    """What is done, and by how much noise is too small if a bug is planted."""
    return f"a fit up to item effects, once, with canaries in it{thinner(factor)}"


@dataclass(frozen=True, eq=False)
class OneRunSubject(Subject):
    """One fit with canaries in it; the number of runs is that of the canaries.

    Args:
        name: By which it is asked for.
        about: What is done.
        unit: Whom the fit protects.
        noise: Which.
        factor: How many times too small the noise really is; 1 unless a bug is planted.
        runs: How many canaries.
    """

    name: str
    about: str
    unit: Unit
    noise: Noise
    factor: float = 1.0
    runs: int = 400

    epsilon, delta = 1.0, 1e-8

    @property
    def claim(self) -> Claim:
        return claim_of(self.noise, self.epsilon, self.delta)

    def audit(self, runs: int, confidence: float, randomness: Randomness) -> Finding:
        people = crowd(STARS)
        items = 1 + max(max(person) for person in people)
        base = ratings_of(people, items + runs)
        data, key = insert_canaries(base, runs, randomness)
        told: dict[str, Any] = {"delta": self.delta} if self.noise is Noise.GAUSSIAN else {}
        transcript = record_fit(
            data, method="covariance", rank=0, protect=self.unit, noise=self.noise,
            epsilon=spent(self.claim, self.factor), randomness=randomness, ledger="unbooked",
            **told,
        )  # fmt: skip
        canaries = [ratings_of([{int(item): STARS.hi}], items + runs) for item in key.items]
        scores = score_transcript(transcript, base, canaries)
        return audit_guesses(self.name, self.claim, scores, key.included, confidence)
