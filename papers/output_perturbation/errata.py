"""Park and Acharya, Differentially Private Recommendation Systems (2011)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from discreet.audit.counterexamples import (
    LISTED,
    MINIMUM_RATINGS,
    generated_law,
    generated_sets,
    theorem_3_1,
    theorem_3_2,
)
from papers.erratum import Erratum, number, percent

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


def errata() -> list[Erratum]:
    """Theorems 3.1 and 3.2, candidate sets, exponents, steps and guessing."""
    return [
        _theorem_3_1(),
        _theorem_3_2(),
        _candidates(),
        _overlap(),
        _exponents(),
        _steps(),
        _guessing(),
    ]


def _theorem_3_1() -> Erratum:
    example = theorem_3_1()
    return Erratum(
        "003, Theorem 3.1",
        "Theorem 3.1: a Slope One answer moves by at most max(dr/T (1 + 2/phi), dr/phi)",
        (
            number("claimed", example.paper.claimed / example.paper.grid, ".1f"),
            number("found", example.moved, ".1f"),
            number("ours: 2 dr/(phi + 1)", example.ours.by_others / example.ours.grid),
        ),
        ("4", "20", "10"),
    )


def _theorem_3_2() -> Erratum:
    example = theorem_3_2()
    return Erratum(
        "003, Theorem 3.2",
        "Theorem 3.2: a cosine answer moves by at most 2/T",
        (
            number("claimed: 2/T", example.paper.claimed / example.paper.grid, ".1f"),
            number("found", example.moved),
            number("ours: 1/phi", example.ours.by_others / example.ours.grid, ".1f"),
        ),
        ("20", "19", "10"),
    )


def _candidates() -> Erratum:
    """What is drawn before an item rises to the top, and never after."""
    after, before = set(generated_sets(0)), generated_sets(1)
    law = generated_law(1, 1.0)
    outside = sum(p for each, p in zip(before, law, strict=True) if each not in after)
    return Erratum(
        "003, 4.4",
        "4.4: the exponential mechanism on the generated sets",
        (percent("sets that a neighbour cannot have, at any epsilon", float(outside)),),
        ("40",),
    )


def _overlap() -> Erratum:
    """How many of the true ten every generated set has."""
    least = min(len(each & set(range(LISTED))) for each in generated_sets(1)) / LISTED
    return Erratum(
        "003, overlap",
        "90 % overlap with the true list at any epsilon",
        (percent("the least overlap that a generated set can have", least),),
        ("4.5",),
    )


def _law(logs: _Floats, rates: Callable[[_Floats], _Floats], step: float) -> _Floats:
    """The law that the chain goes to: up at `rates` of the ratio of phi, down at its inverse.

    Args:
        logs: log phi.
        rates: From differences of logs.
        step: Of time.
    """
    up, down = rates(np.diff(logs)) * step, rates(-np.diff(logs)) * step
    chain = np.diag(up, 1) + np.diag(down, -1)
    chain += np.diag(1 - chain.sum(axis=1))
    values, vectors = np.linalg.eig(chain.T)
    law = np.real(vectors[:, np.argmax(np.real(values))])
    return np.asarray(law / law.sum())


def _exponents() -> Erratum:
    """The power of phi that the chain's limit has, from two of its sets."""
    epsilon, logs = 0.8, np.array([0.0, -0.3, -0.9])
    law = _law(logs, lambda gap: np.exp(epsilon / 2 * gap), 0.05)
    found = float(np.log(law[1] / law[0]) / (logs[1] - logs[0]) / epsilon)
    return Erratum(
        "003, (28) and (32)",
        "(28) and (32): the chain converges to the intended mechanism",
        (
            number("aimed at in (28), in epsilons", 0.5, ".1f"),
            number("of the chain as printed, in epsilons", found, ".1f"),
        ),
    )


def _steps() -> Erratum:
    """A set after one with three times its phi and before one with the same: U_s = 6.

    No set has more phi than the one before, as the proposition assumes: the rates of the middle one
    are mu = 3^(power epsilon) and lambda = 1, and no larger lambda is possible.
    """
    ratio = 3.0

    def last(power: float) -> float:
        return float(brentq(lambda e: ratio ** (power * e) + 1 - 2 * ratio, 0.1, 10))

    return Erratum(
        "003, Proposition 4.1",
        "Proposition 4.1: a step of 1/U_s is small enough",
        (
            number("the largest epsilon, rates as in (31)", last(0.5)),
            number("the largest epsilon, rates as in its proof", last(1.0)),
        ),
        ("3", "1", "2", "6"),
    )


def _guessing() -> Erratum:
    """Twenty ratings and Laplace noise of the paper's size: the guess is off by 20 times that."""
    paper = theorem_3_1().paper
    spread = MINIMUM_RATINGS * paper.claimed / paper.grid

    def right(epsilon: float) -> float:
        return -math.expm1(-0.5 * epsilon / spread)

    return Erratum(
        "003, Definitions 3 and 4",
        "Definitions 3 and 4: the linear adversary is one of those that only guess as epsilon goes "
        "to 0",
        (
            percent("claimed as epsilon goes to 0: one of five", 1 / 5),
            percent("found at epsilon 1, rounded and not cut", right(1.0)),
            percent("found at epsilon 0.01", right(0.01), ".2f"),
        ),
        ("1", "0.01", "20", "10"),
    )
