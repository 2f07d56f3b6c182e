"""Everything that a fit releases on its way, for whoever wants to attack it.

A release holds what was made of the noisy statistics; the statistics themselves are as public. Each
of them is a sum over people of whole numbers that depend on that person and on earlier outputs
alone: so one person's part in all of them is what a fit of that person alone would measure if it
were given the same outputs.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._budget import Budget, Spender
from discreet.measure._fit import _budget, _learn, _release, check_fit
from discreet.measure._noise import Noise
from discreet.measure._request import GivenLedger, ask_for_fit
from discreet.measure._settings import Method, Settings
from discreet.privacy import Randomness, Receipt, Unit
from discreet.ratings import Ratings
from discreet.release import Release

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Spoken:
    """One statistic as it was released.

    Attributes:
        label: What it is.
        exact: Private: what it is without noise, in grid units.
        noisy: What was released.
        sensitivity: Which was booked.
        spread: The standard deviation of the noise on each number.
    """

    label: str
    exact: _Ints
    noisy: _Ints
    sensitivity: float
    spread: float

    def __repr__(self) -> str:
        return f"Spoken({self.label}, private)"


@dataclass(frozen=True, eq=False, repr=False)
class Transcript:
    """A fit with all of its outputs. Private, as it has the exact statistics too.

    Attributes:
        release: What was made of it.
        budget: What was spent.
        settings: What the fit was told.
        spoken: Every statistic, in order.
    """

    release: Release
    budget: Budget
    settings: Settings
    spoken: tuple[Spoken, ...]

    def __repr__(self) -> str:
        return f"Transcript(private, {len(self.spoken)} statistics)"

    def contribution(self, ratings: Ratings) -> list[_Ints]:
        """What these people's ratings add to each statistic, given everything released before it.

        Args:
            ratings: Of one person or of some, on the catalogue and the scale of the fit.
        """
        spender = _Replaying(self.budget, self.spoken)
        with contextlib.suppress(_HeardAll):
            _learn(ratings, spender, self.settings, None, None)
        assert len(spender.heard) == len(self.spoken)
        return spender.heard


def record_fit(
    ratings: Ratings,
    *,
    method: Method | str | None = None,
    protect: Unit | str | None = None,
    epsilon: float = 1.0,
    delta: float | None = None,
    noise: Noise | str | None = None,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
    **options: Any,
) -> Transcript:
    """A fit as `fit` makes it, with a budget, and all of its outputs beside the release.

    For experiments and attacks: a ledger is charged, but does not learn of the release.

    Args:
        ratings: Private.
        method: As for `fit`, like the rest.
        protect: Whom.
        epsilon: Finite.
        delta: For Gaussian noise.
        noise: Which.
        ledger: To charge, or `"unbooked"`.
        randomness: Of the noise; the operating system's if absent.
        options: Fields of the method's settings.

    Raises:
        InputError: The method or the budget cannot be used.
    """
    if math.isinf(epsilon):
        raise InputError("without noise there is nothing to attack: epsilon must be finite")
    settings = check_fit(ratings, method, None, {"protect": protect, "noise": noise} | options)
    budget = _budget(settings.protect, settings.noise, epsilon, delta, None)
    budget = budget.bounded_by(ratings.intake)
    label = f"{settings.method} release"
    request = ask_for_fit(ratings, settings, budget, None)
    receipt = request.charge([budget.event(label)], label, ledger, randomness)
    spender = _Recording(budget, receipt, label)
    effects, taste = _learn(ratings, spender, settings, None, None)
    release = _release(request, spender, settings, effects, taste)
    return Transcript(release, budget, settings, tuple(spender.spoken))


class _Recording(Spender):
    """Keeps what it releases."""

    def __init__(self, budget: Budget, receipt: Receipt, label: str) -> None:
        super().__init__(budget, receipt, label)
        self.spoken: list[Spoken] = []

    def release(
        self, exact: npt.NDArray[Any], sensitivity: float, share: float, label: str
    ) -> tuple[_Ints, float]:
        before = exact.copy()
        noisy, spread = super().release(exact, sensitivity, share, label)
        self.spoken.append(Spoken(label, before, noisy.copy(), sensitivity, spread))
        return noisy, spread


class _HeardAll(Exception):
    """The last statistic was measured; what would be made of it is of no interest."""


class _Replaying(Spender):
    """Releases what was released before, whatever the ratings are, and keeps what they add."""

    def __init__(self, budget: Budget, spoken: tuple[Spoken, ...]) -> None:
        # Draws nothing, so there is nothing to pay for.
        self.budget = budget
        self._purse = None
        self._spoken = spoken
        self.heard: list[_Ints] = []

    def release(
        self, exact: npt.NDArray[Any], sensitivity: float, share: float, label: str
    ) -> tuple[_Ints, float]:
        del share  # of a budget that was spent before
        before = self._spoken[len(self.heard)]
        assert (label, sensitivity, exact.shape) == (
            before.label,
            before.sensitivity,
            before.exact.shape,
        ), f"'{label}' depends on something that was not released"
        self.heard.append(exact.copy())
        if len(self.heard) == len(self._spoken):
            raise _HeardAll
        return before.noisy.copy(), before.spread
