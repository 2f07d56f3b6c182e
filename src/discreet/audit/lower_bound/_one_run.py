"""What one run proves: guesses about many coins at once. See PROOF.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import Finding
from discreet.domain import InputError
from discreet.privacy.accounting import gaussian_delta

_Floats = npt.NDArray[np.float64]

PARTS = (0.1, 0.3, 1.0)
"""How large parts of the canaries are guessed: the surest ones, some, all."""
_POINTS, _HALVINGS, _SIZES = 60, 60, 501
_LARGEST = 50.0


@dataclass(frozen=True)
class Guessed:
    """How many coins were guessed, and how many of those rightly.

    Attributes:
        coins: How many there are.
        guesses: How many of them were guessed, fixed beforehand.
        right: How many of those rightly.
    """

    coins: int
    guesses: int
    right: int


def chance(guessed: Guessed, epsilon: float, delta: float) -> float:
    """The most that guessing so many rightly can have as its probability under (epsilon, delta).

    P(Bin(r, q) >= v) + m (1 - q) delta with q = e^eps/(1 + e^eps), m coins, r guesses, v right.
    """
    q = 1 / (1 + math.exp(-epsilon))
    tail = 1.0
    if guessed.right > 0:
        tail = float(bdtrc(guessed.right - 1, guessed.guesses, q))
    return min(1.0, tail + guessed.coins * (1 - q) * delta)


def chance_under(claim: Claim, size: float, guessed: Guessed) -> float:
    """The same under a claim of this size: of a Gaussian curve, at the point that says least.

    Every point of the curve bounds the same probability, so the smallest bound holds.
    """
    if claim.mu is None:
        return chance(guessed, size, claim.delta)
    far = size * size / 2 + 8 * size
    points = np.linspace(0.0, far, _POINTS)
    return min(chance(guessed, float(e), gaussian_delta(size, float(e))) for e in points)


def refuted_size(claim: Claim, guessed: Guessed, miss: float) -> float:
    """The largest size under which so many right guesses have at most the chance `miss`.

    A larger epsilon makes right guesses likelier and the price of delta smaller: with a delta the
    chance may fall before it rises, so a grid of sizes is looked at first. What refutes one size
    refutes all smaller ones, which claim more.
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


def audit_guesses(
    name: str, claim: Claim, scores: _Floats, included: npt.NDArray[np.bool_], confidence: float
) -> Finding:
    """A lower bound from one run.

    Args:
        name: Of what was audited.
        claim: For one canary more or less.
        scores: One for each canary, high if it seems to be in; may depend on the output, and on
            everything else but the coins.
        included: The coins: each was fair and independent of everything before the run.
        confidence: Of the bound.

    Raises:
        InputError: There are too few canaries, or not one score for each.
    """
    coins = len(included)
    if coins < 20 or len(scores) != coins:
        raise InputError(f"one run needs 20 canaries or more, and a score for each, not {coins}")
    order = np.argsort(scores, kind="stable")
    best, counted = 0.0, Guessed(coins, coins, 0)
    for half in _halves(coins):
        low, high = order[:half], order[coins - half :]
        right = int(np.count_nonzero(~included[low]) + np.count_nonzero(included[high]))
        guessed = Guessed(coins, 2 * half, right)
        found = refuted_size(claim, guessed, (1 - confidence) / len(PARTS))
        if found > best or not counted.right:
            best, counted = max(found, best), guessed
    most = max(
        refuted_size(claim, Guessed(coins, 2 * half, 2 * half), (1 - confidence) / len(PARTS))
        for half in _halves(coins)
    )
    seen = f"{counted.right:,} of {counted.guesses:,} guesses about {coins:,} canaries were right"
    return Finding(name, claim, best, confidence, counted.guesses, "one run", seen, most)


def _halves(coins: int) -> list[int]:
    """How many are guessed to be in, and as many others to be out."""
    return [min(max(1, round(part * coins / 2)), coins // 2) for part in PARTS]
