"""McSherry and Mironov, Differentially Private Recommender Systems (2009)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from discreet.audit.counterexamples import Centred, theorem_3_mu, theorem_4
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.covariance import RatingCovariance
from discreet.privacy import Noise
from discreet.privacy.accounting import gaussian_mu
from discreet.release import unpack
from papers.erratum import Erratum, number

_Floats = npt.NDArray[np.float64]

# The paper's alpha (range of the scale), B (clamp) and beta (fictitious ratings) for five stars.
_ALPHA, _B, _BETA = 4.0, 1.0, 20
# The effect of an item that averages 4.8 where all average 3, in stars.
_EFFECT = 1.8


def errata() -> list[Erratum]:
    """Theorems 3, 4 and 5."""
    return [_theorem_4(), _theorem_3(), _theorem_5()]


def _centred(example: Centred) -> tuple[_Floats, _Floats]:
    """The centred ratings of the person, before and after the last one."""
    with_it, without = (
        example.centring.centred(example.neighbours.ratings(world), example.levels) / GRID
        for world in (0, 1)
    )
    return without, with_it


def _theorem_4() -> Erratum:
    """100 ratings of 1 on items that average 4.8, then a 5 on an item that averages 1.2."""
    example = theorem_4(100, _EFFECT)
    before, after = _centred(example)
    moved = after - np.append(before, 0.0)
    ours = example.centring.spread * 100 / (101 + _BETA) + _B
    return Erratum(
        "000, Theorem 4",
        "Theorem 4: adding a rating moves the centred ratings of its owner by at most alpha + B in "
        "L1, alpha²/(4 beta) + B² in squared L2",
        (
            number("claimed in L1: alpha + B", _ALPHA + _B, ".0f"),
            number("found in L1", np.abs(moved).sum()),
            number("claimed in squared L2: alpha^2/(4 beta) + B^2", example.claimed, ".1f"),
            number("found in squared L2", (moved**2).sum()),
            number("ours in L1, with the range of what is centred", ours),
        ),
        ("100", "1", "4.8", "5", "1.2", "4", "20"),
    )


def _theorem_3() -> Erratum:
    """Where sqrt(2 ln(2/delta))/epsilon is less noise than the exact formula needs."""
    delta, epsilon = 1e-5, 10.0
    first = brentq(lambda e: theorem_3_mu(e, delta) - gaussian_mu(e, delta), 5, 12)
    return Erratum(
        "000, Theorem 3",
        "Theorem 3: sigma = sqrt(2 ln(2/delta))/epsilon is enough",
        (
            number("the largest mu that epsilon 10 allows", gaussian_mu(epsilon, delta)),
            number("the mu of Theorem 3's noise", theorem_3_mu(epsilon, delta)),
            number("the epsilon from which on it is too little", first, ".1f"),
        ),
        ("1e-5", "10", "16"),
    )


def _theorem_5() -> Erratum:
    """150 fives on items that average 1.2, then a 1 on an item that averages 4.8; B = 0.5."""
    old, items, clamp = 150, 3883, 0.5
    example = theorem_4(old, -_EFFECT, clamp)
    before, after = _centred(example)
    moved = np.outer(after, after) / (old + 1)
    moved[:-1, :-1] -= np.outer(before, before) / old
    huber = _huber(clamp, np.zeros(items))
    ours = huber.sensitivities[0] / huber.grid**2 / clamp**2
    return Erratum(
        "000, Theorem 5",
        "Theorem 5: the covariance moves by at most 2 B alpha + 3 B² in L1, (1 + 2 sqrt 2) B² in "
        "L2",
        (
            number("claimed in L1: 2 B alpha + 3 B^2", 2 * clamp * _ALPHA + 3 * clamp**2),
            number("found in L1", np.abs(moved).sum()),
            number("claimed in L2, in B^2: 1 + 2 sqrt 2", 1 + 2 * math.sqrt(2)),
            number("ours in L2, in B^2, each pair once, without the diagonal", ours, ".3f"),
            number("how far ours moves here, likewise", _huber_moved(example) / clamp**2),
        ),
        ("150", "5", "1.2", "1", "4.8", "4", "0.5", "20"),
    )


def _huber(clamp: float, effects: _Floats) -> RatingCovariance:
    """Our covariance of as many items as there are effects."""
    head = np.arange(len(effects), dtype=np.int32)
    centring = HuberCentring(clamp, _BETA)
    return RatingCovariance(Noise.GAUSSIAN, head, centring, ItemLevels(3.0, effects))


def _huber_moved(example: Centred) -> float:
    """How far the example of Theorem 5 moves our integers in L2, each pair once, in their unit."""
    ours = _huber(example.clamp, example.levels.effects)
    with_it, without = (ours.measure(example.neighbours.ratings(world))[0] for world in (0, 1))
    moved = np.triu(unpack((with_it - without).astype(np.float64)), 1)
    return float(np.linalg.norm(moved) / ours.grid**2)
