"""One run: made-up users, each put in or left out by a coin, by which a single fit is judged.

A canary rates one item, which nobody or hardly anybody else has rated, with the highest rating. One
canary more is one rating more and one user more, whichever is protected. See PROOF.md for what the
number of coins that are guessed correctly proves.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from discreet.audit._likelihood import log_ratio, scale_of
from discreet.audit._neighbours import STARS, ratings_of
from discreet.audit._registry import Entry, register
from discreet.audit.lower_bound._engine import (
    DELTA,
    Auditable,
    Claim,
    Finding,
    Floats,
    check,
)
from discreet.audit.lower_bound._fits import claim_of, crowd, spent
from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.methods import MethodName, Transcript, record_fit
from discreet.privacy import FIT_UNITS, Noise, Randomness, Unit
from discreet.privacy.accounting import gaussian_delta
from discreet.ratings import Ratings
from discreet.release import Release

ONE_RUN: dict[str, Entry[Auditable]] = {}

Marks = npt.NDArray[np.bool_]

# What a key's file says it is.
_KIND, _VERSION = "discreet canaries", 1
# With fewer canaries nothing can be refuted.
_FEWEST = 20
# Shares of the canaries that are guessed: the surest ones, some, all. Chosen by hand; each has its
# share of the error.
PARTS = (0.1, 0.3, 1.0)
# Points of a Gaussian curve that are tried: the best of a finite number is still a bound.
_POINTS = 60
# Halvings of the interval that holds the refuted size: enough for every bit of a double.
_HALVINGS = 60
# The largest size that is looked for, and the grid from which the search starts where delta makes
# the chance fall before it rises: a step of 0.1.
_LARGEST, _SIZES = 50.0, 501
# Canaries, epsilon and delta of the fits that are audited here.
_CANARIES, _EPSILON, _DELTA = 400, 1.0, 1e-8


@dataclass(frozen=True)
class Guessed:
    """Coins that were guessed.

    Attributes:
        coins: How many there are.
        guesses: How many of them were guessed, fixed beforehand.
        right: How many of those correctly.
    """

    coins: int
    guesses: int
    right: int


def chance(guessed: Guessed, epsilon: float, delta: float) -> float:
    """An upper bound on the probability of this many correct guesses under (epsilon, delta).

    P(Bin(r, q) >= v) + m (1 - q) delta with q = e^eps/(1 + e^eps), m coins, r guesses, v right.
    """
    q = 1 / (1 + math.exp(-epsilon))
    tail = 1.0
    if guessed.right > 0:
        tail = float(bdtrc(guessed.right - 1, guessed.guesses, q))
    return min(1.0, tail + guessed.coins * (1 - q) * delta)


def chance_under(claim: Claim, size: float, guessed: Guessed) -> float:
    """The same under a claim of this size.

    Every point of a Gaussian curve bounds the same probability, so the smallest bound holds.
    """
    if claim.mu is None:
        return chance(guessed, size, claim.delta)
    # Beyond mu^2/2 + 8 mu the curve's delta is below 1e-15.
    points = np.linspace(0.0, size * size / 2 + 8 * size, _POINTS)
    return min(chance(guessed, float(e), gaussian_delta(size, float(e))) for e in points)


def refuted_size(claim: Claim, guessed: Guessed, miss: float) -> float:
    """The largest size under which this many correct guesses have probability `miss` at most.

    A larger epsilon makes correct guesses likelier and the price of delta smaller: with a delta the
    bound may fall before it rises, so a grid of sizes is tried first. What refutes one size refutes
    all smaller ones, which claim more.
    """
    starts = np.linspace(0.0, _LARGEST, _SIZES) if claim.mu is None and claim.delta else np.zeros(1)
    fit = [float(each) for each in starts if chance_under(claim, float(each), guessed) <= miss]
    if not fit:
        return 0.0
    low, high = fit[-1], _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if chance_under(claim, middle, guessed) <= miss:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Guesses:
    """What was guessed from one run: for each of `PARTS` how many coins, and how many correctly."""

    subject: str
    claim: Claim
    parts: tuple[Guessed, ...]

    def finding(self, confidence: float) -> Finding:
        """The best of the parts, each at its share of the error."""
        miss, best, counted = (1 - confidence) / len(PARTS), 0.0, self.parts[0]
        for guessed in self.parts:
            found = refuted_size(self.claim, guessed, miss)
            if found > best or not counted.right:
                best, counted = max(found, best), guessed
        perfect = [replace(each, right=each.guesses) for each in self.parts]
        most = max(refuted_size(self.claim, each, miss) for each in perfect)
        seen = (
            f"{counted.right:,} of {counted.guesses:,} guesses about {counted.coins:,} canaries "
            "were right"
        )
        args = (self.subject, self.claim, best, confidence, counted.guesses)
        return Finding(*args, "one run", seen, most)


def guess_coins(name: str, claim: Claim, scores: Floats, included: Marks) -> Guesses:
    """Guess that the canaries with the highest scores are in, and as many with the lowest out.

    Args:
        name: Of what is audited.
        claim: For one canary more or less.
        scores: One for each canary, high if it seems to be in; may depend on the output, and on
            everything else but the coins.
        included: The coins: each was fair and independent of everything before the run.

    Raises:
        InputError: There are too few canaries, or not one score for each.
    """
    coins = len(included)
    if coins < _FEWEST or len(scores) != coins:
        raise InputError(
            f"one run needs {_FEWEST} canaries or more, and a score for each, not {coins}"
        )
    order, parts = np.argsort(scores, kind="stable"), []
    for part in PARTS:
        half = min(max(1, round(part * coins / 2)), coins // 2)
        low, high = order[:half], order[coins - half :]
        right = int(np.count_nonzero(~included[low]) + np.count_nonzero(included[high]))
        parts.append(Guessed(coins, 2 * half, right))
    return Guesses(name, claim, tuple(parts))


@dataclass(frozen=True, eq=False, repr=False)
class Canaries:
    """Which items canaries rate, and which canaries are in. Secret until the audit is made.

    Attributes:
        items: The catalogue's ids, one for each canary.
        included: The coins.
    """

    items: tuple[str, ...]
    included: Marks

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
            InputError: It cannot be read, or is not a key.
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
            raise InputError("is not a key of canaries", path=Path(path)) from error
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
        InputError: There are fewer items than canaries, or too few canaries to prove anything.
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
    """The users' names, and after them names that nobody has yet."""
    if users.dtype.kind in "iu":
        free = np.setdiff1d(np.arange(len(users) + count), users)[:count]
        return np.concatenate([users, free.astype(users.dtype)])
    taken, names = set(users.tolist()), (f"canary-{n}" for n in range(len(users) + count))
    free_names = [name for name in names if name not in taken][:count]
    return np.concatenate([users, np.array(free_names, np.str_)])


def score_release(release: Release, canaries: Canaries) -> Floats:
    """From the released counts alone: that of an item which a canary rated is larger by one.

    Item effects are left out: they are noisier, and added to the counts they hid a planted lack of
    noise per user.

    Raises:
        InputError: The release does not know an item of a canary, or has no counts.
    """
    found = [release.catalog.find(item) for item in canaries.items]
    if any(each is None for each in found):
        raise InputError("the release's catalogue does not have all the canaries' items")
    if "item_counts" not in release.arrays:
        raise InputError(f"a release of method '{release.method}' has no counts to score by")
    return np.asarray(release.arrays["item_counts"][np.array(found, np.int64)], np.float64)


def audit_release(release: Release, canaries: Canaries, *, confidence: float = 0.95) -> Finding:
    """A lower bound on a release's epsilon from the canaries in it.

    Raises:
        InputError: The release promises nothing, was not fitted by a curator, is not of these
            canaries' catalogue, or the confidence is impossible.
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
    return guess_coins("release", claim, scores, canaries.included).finding(confidence)


def score_transcript(transcript: Transcript, base: Ratings, canaries: list[Ratings]) -> Floats:
    """From all that a fit released, for an attacker who knows everything but the coins.

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


@dataclass(frozen=True, eq=False)
class OneRunSubject:
    """One fit with canaries in it; the number of runs is that of the canaries.

    Args:
        name: The name under which it is audited.
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
    runs: int = _CANARIES

    @property
    def claim(self) -> Claim:
        """What the fit promises."""
        return claim_of(self.noise, _EPSILON, _DELTA)

    def observe(self, runs: int, randomness: Randomness) -> Guesses:
        """Plant the canaries, fit, guess."""
        people = crowd(STARS)
        items = 1 + max(max(person) for person in people)
        base = ratings_of(people, items + runs)
        data, key = insert_canaries(base, runs, randomness)
        settings: dict[str, Any] = {"delta": _DELTA} if self.noise is Noise.GAUSSIAN else {}
        transcript = record_fit(
            data, method="covariance", rank=0, protect=self.unit, noise=self.noise,
            epsilon=spent(self.claim, self.factor), randomness=randomness, ledger="unbooked",
            **settings,
        )  # fmt: skip
        canaries = [ratings_of([{int(item): STARS.hi}], items + runs) for item in key.items]
        scores = score_transcript(transcript, base, canaries)
        return guess_coins(self.name, self.claim, scores, key.included)


register(
    ONE_RUN, "one-run/{unit}/{noise}", "a fit up to item effects, once, with canaries in it",
    unit=FIT_UNITS, noise=Noise,
)(OneRunSubject)  # fmt: skip
