"""The options that say a budget, and what they can get wrong.

Found out before anything is read or charged.
"""

from __future__ import annotations

import enum
import math
from typing import Annotated

import typer

from discreet.cli import _console
from discreet.domain import InputError
from discreet.privacy import Unit

LARGE = 50.0
DELTA = 1e-6


class Noise(enum.StrEnum):
    """The noise that a budget is spent on."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


Protect = Annotated[Unit, typer.Option(help="One rating, or a user with all of them.")]
NoiseKind = Annotated[Noise, typer.Option(help="Laplace noise has delta 0.")]
Rank = Annotated[
    int | None,
    typer.Option(help="The most factors, of methods that have some. [default: 20]"),
]


class Method(enum.StrEnum):
    """How ratings become a release."""

    REFINED = "refined"
    COVARIANCE = "covariance"
    SLOPE_ONE = "slope-one"
    COSINE = "cosine"

    @property
    def of_pairs(self) -> bool:
        """Whether its release holds matrices of item pairs."""
        return self in (Method.SLOPE_ONE, Method.COSINE)


MethodName = Annotated[
    Method, typer.Option(help="Our own; McSherry and Mironov's; or of item pairs, simple and good.")
]


def check(epsilon: float | None, delta: float | None, theta: float | None, noise: Noise) -> None:
    """Refuse a budget that cannot be meant.

    Raises:
        InputError: Says what would be right.
    """
    if epsilon is not None and theta is not None:
        raise InputError("say the budget as --epsilon or as --theta, not both")
    if epsilon is not None and not epsilon > 0:
        raise InputError(f"epsilon must be above 0, not {epsilon:g}; 1 is a usual choice")
    if theta is not None and not (math.isfinite(theta) and theta > 0):
        raise InputError(f"theta must be a number above 0, not {theta:g}; the paper uses 0.15")
    _check_delta(delta, noise)


def _check_delta(delta: float | None, noise: Noise) -> None:
    if delta is None:
        return
    if not 0 <= delta < 1:
        raise InputError(f"delta must be from 0 to below 1, not {delta:g}; {DELTA:g} is usual")
    if noise is Noise.GAUSSIAN and delta == 0:
        raise InputError(
            "Gaussian noise always leaves a small chance aside, so delta must be above 0: give "
            f"{DELTA:g}, or take --noise laplace, which has delta 0"
        )
    if noise is Noise.LAPLACE and delta > 0:
        raise InputError("Laplace noise has delta 0: leave --delta out, or take --noise gaussian")


def warn_epsilon(epsilon: float) -> None:
    """Say on standard error what an absurd epsilon is worth."""
    if math.isinf(epsilon):
        _console.warn("an infinite epsilon adds no noise: the release is not private")
    elif epsilon > LARGE:
        _console.warn(f"epsilon {epsilon:g} is above {LARGE:g}, which protects hardly anybody")


def warn_delta(delta: float, users: int) -> None:
    """Say on standard error that a delta lets whole people through."""
    if delta * users >= 1:
        _console.warn(
            f"delta {delta:g} is not below 1 divided by the number of users: it would allow "
            "somebody's ratings to be published as they are; take a much smaller one"
        )
