"""How well releases predict ratings that were held back, privately. See PROOF.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure._request import Budget, GivenLedger, Request, Spender
from discreet.measure._source import Part
from discreet.privacy import SEEDED, GaussianNoise, Guarantee, Noise, Randomness, Unit
from discreet.privacy.mechanisms import KSubset, Moves
from discreet.ratings import Ratings

# Grid units in the largest error, the squared range of the scale.
GRID = 1 << 20
# The part of the budget for the sum of errors; their number, which is better known, gets the rest.
_ERROR_SHARE = 0.8

FROM_RELEASES = (
    "predictions for a person were made from released things and that person's own ratings alone"
)
_PUBLIC_CANDIDATES = "nothing private decided which candidates there were"

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ProbeError:
    """Sum over users of their mean squared error, each rating's error at most range^2.

    Args:
        scale: Public.
    """

    scale: Scale

    @property
    def sensitivity(self) -> float:
        """In grid units, for one user or one rating: a whole user's mean is between 0 and GRID."""
        return float(GRID)

    @property
    def grid(self) -> float:
        """Grid units in one squared unit of the scale."""
        return GRID / self.scale.range**2

    def measure(self, probe: Ratings, predicted: _Floats) -> int:
        """The exact integer; private.

        Args:
            probe: Ratings that the release was not made from.
            predicted: What was predicted for each of them, in their order; what is no number
                counts as the middle of the scale.
        """
        _check_length(probe, predicted)
        known = np.where(np.isfinite(predicted), predicted, self.scale.mid)
        errors = (np.clip(known, self.scale.lo, self.scale.hi) - probe.values()) ** 2
        units = np.minimum(np.rint(errors * self.grid), GRID).astype(np.int64)
        running = np.concatenate(([0], np.cumsum(units)))
        counts = np.diff(probe.starts)
        totals = running[probe.starts[1:]] - running[probe.starts[:-1]]
        return int((totals // np.maximum(counts, 1)).sum())


def publish_rmse(
    probe: Ratings,
    predicted: _Floats,
    *,
    protect: Unit,
    epsilon: float,
    delta: float = GaussianNoise.default_delta,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
) -> tuple[float, Guarantee]:
    """A noisy root mean squared error over users, booked: looking costs like everything else.

    The guarantee covers the probe ratings, and the ratings that predictions were made from, on one
    condition that nothing here can check: the predictions for a person depend on released things
    and on that person's own training ratings, and on nothing else. Predictions of a model that saw
    everybody's ratings without noise break it.

    Args:
        probe: Ratings that the release was not made from.
        predicted: What was predicted for each of them, in their order.
        protect: Whom.
        epsilon: Of the figure.
        delta: Gaussian noise if it is above 0, otherwise Laplace noise.
        ledger: Charged before anything is computed; `"unbooked"` stands for none, as for `fit`.
        randomness: For experiments.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was computed.
        InputError: The predictions are not as many as the ratings; nothing was charged.
    """
    _check_length(probe, predicted)
    statistic = ProbeError(probe.scale)
    noise = Noise.for_delta(delta)
    budget = Budget.of(protect, noise, epsilon, delta).bounded_by(probe.intake)
    budget.check_finite()
    label = "probe error"
    request = Request.of(probe, protect, label, budget=budget)
    receipt = request.charge([budget.event(label)], label, ledger, randomness)
    spender = Spender(budget, receipt, label)
    exact = statistic.measure(probe, predicted)
    number = int(np.count_nonzero(np.diff(probe.starts)))
    error = Part("squared error", statistic.sensitivity, statistic.grid)
    total = spender.release(error, exact, _ERROR_SHARE)
    people = spender.release(Part("number of probe users", 1.0), number, 1 - _ERROR_SHARE)
    reasons = () if spender.is_private else (SEEDED,)
    promise = request.promise(
        spender.promised, delta, spender.charge, *reasons, more=(FROM_RELEASES,)
    )
    mean = max(total.value, 0.0) / max(people.value, 1.0)
    return min(math.sqrt(mean), probe.scale.range), promise


def choose_best(
    probe: Ratings,
    candidates: Sequence[_Floats],
    *,
    protect: Unit,
    epsilon: float,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
) -> tuple[int, Guarantee]:
    """Which candidate's predictions err least, by a private choice among them.

    As for `publish_rmse`, the predictions for a person must depend on released things and on that
    person's own training ratings alone. Nor may anything private have chosen the candidates: which
    they are and how many is public. Parameters that were tried out on private ratings before are
    not.

    Args:
        probe: Ratings that no candidate was made from.
        candidates: Each candidate's predictions for them; how many there are is public.
        protect: Whom.
        epsilon: Of the choice; its delta is 0.
        ledger: Charged before anything is computed; `"unbooked"` stands for none.
        randomness: For experiments.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was computed.
        InputError: There is no candidate, or one has not as many predictions as there are ratings;
            nothing was charged.
    """
    if not candidates:
        raise InputError("there must be at least one candidate")
    for predicted in candidates:
        _check_length(probe, predicted)
    statistic = ProbeError(probe.scale)
    choice = KSubset(1, epsilon, GRID, Moves.ALL)
    most = probe.intake.most_ratings if protect is Unit.RATING else None
    event = choice.event(protect, "choice among candidates", ratings_per_user=most)
    request = Request.of(
        probe, protect, "choice among candidates", epsilon=epsilon, candidates=len(candidates)
    )
    receipt = request.charge([event], "choice among candidates", ledger, randomness)
    scores = np.array([-statistic.measure(probe, predicted) for predicted in candidates])
    best = int(choice.release(scores, event, receipt)[0])
    reasons = () if receipt.is_private else (SEEDED,)
    more = (FROM_RELEASES, _PUBLIC_CANDIDATES)
    return best, request.promise((event,), 0.0, receipt.charge, *reasons, more=more)


def _check_length(probe: Ratings, predicted: _Floats) -> None:
    if np.shape(predicted) != (len(probe),):
        raise InputError("there must be one prediction for each probe rating")
