"""McSherry and Mironov's method with the constants they published, for comparison. Not proven."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.estimate import clean_none, clean_paper
from discreet.measure.centring import ItemLevels, PaperCentring
from discreet.measure.covariance import RatingCovariance
from discreet.measure.item_counts import ItemCounts
from discreet.measure.item_sums import RatingSums, add_up
from discreet.privacy import (
    SEEDED,
    GaussianEvent,
    Guarantee,
    Noise,
    Randomness,
    SystemRandomness,
    Unit,
    unbooked,
)
from discreet.privacy.accounting import PAPER_SPLIT, gaussian_mu
from discreet.privacy.mechanisms import RoundedGaussian
from discreet.ratings import Ratings
from discreet.release import Release, unpack

NOT_PROVEN = "its noise has the paper's published size, which its theorems do not prove"

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

# The most items: three dense matrices of 25,000 by 25,000 float64 are 15 GB. Chosen by hand.
_MOST_ITEMS = 25_000
# Ratings at the global mean that an item starts with (section 4.2 of the paper). The paper does not
# print its own value; 15 and 20 were chosen by hand and fit no data.
_ITEM_DAMPING = 15.0
# Fictitious ratings in a person's mean: the beta of section 4.3.
_USER_DAMPING = 20
# A person's effect and a single rating vary by this much on five stars: priors that predictors of
# discreet expect in a release, not the paper's. The same values as in its own releases.
_USER_VARIANCE, _RATING_VARIANCE = 0.2, 0.72
# In grid units: integers whose noise is larger are divided by a power of two first, so that the
# noisy sums keep well within 64 bits. The mechanism refuses a sigma above 2^50.
_LARGEST_SIGMA = 2.0**46


@dataclass(frozen=True)
class _Constants:
    """The published L2 sensitivities: of a sum, of Cov (in B^2) and of Wgt."""

    total: float
    cov: float
    wgt: float

    @classmethod
    def of(cls, unit: Unit, scale: Scale) -> _Constants:
        if unit is Unit.USER:  # section 4.5
            return cls(scale.range, 1.0, 1.0)
        return cls(scale.range, 1 + 2 * math.sqrt(2), math.sqrt(2))  # theorem 5


@dataclass
class _Noise:
    """Gaussian noise for shares of mu^2, drawn without a ledger: nothing here is a promise."""

    unit: Unit
    mu: float
    source: Randomness
    events: list[GaussianEvent] = field(default_factory=list)

    def add(
        self, exact: _Ints, sensitivity: float, grid: float, share: float, label: str
    ) -> _Floats:
        """The sums with noise, in units of the statistic; `exact` and `sensitivity` are on a grid.

        Rounding down to multiples of m moves an entry's difference by at most 1, so the vector's
        by at most sqrt(entries) in L2.
        """
        spread = sensitivity / (self.mu * math.sqrt(share)) / _LARGEST_SIGMA
        m = 1 << math.ceil(math.log2(spread)) if spread > 1 else 1
        if m > 1:
            exact, sensitivity = exact // m, sensitivity / m + math.sqrt(exact.size)
        mechanism = RoundedGaussian(sensitivity / (self.mu * math.sqrt(share)))
        event = mechanism.event(sensitivity, self.unit, label)
        self.events.append(event)
        return mechanism.release(exact, event, unbooked([event], self.source)) * m / grid


def fit_paper(
    ratings: Ratings,
    *,
    protect: Unit | str = Unit.RATING,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    rank: int = 20,
    clean: bool = True,
    randomness: Randomness | None = None,
) -> Release:
    """The paper's statistics, Gaussian noise, split of theta, cleaning and parameters.

    The budget is composed exactly, which is kinder to the paper than its own formula. Parts of one
    stage share its theta. The release says that its guarantee is not proven.

    Raises:
        InputError: The catalogue is too large for dense matrices, or the budget is impossible.
    """
    items = len(ratings.catalog)
    if items > _MOST_ITEMS:
        raise InputError(f"the paper's matrices cover at most {_MOST_ITEMS:,} items")
    unit, scale = Unit(protect), ratings.scale
    source = randomness or SystemRandomness()
    noise = _Noise(unit, gaussian_mu(epsilon, delta), source)
    constants = _Constants.of(unit, scale)
    # Shares of mu^2: thetas of independent Gaussian parts add up in squares.
    squares = [part * part for part in PAPER_SPLIT]
    shares = [square / sum(squares) for square in squares]
    mean, effects, counts = _effects(ratings, noise, constants, shares)
    cov, wgt = _covariance(ratings, noise, constants, shares[2], ItemLevels(mean, effects))
    make = clean_paper if clean else clean_none
    factors = make(cov, wgt, np.maximum(counts, 1e-3), rank)
    reasons = (NOT_PROVEN,) if source.is_private else (NOT_PROVEN, SEEDED)
    width = (scale.range / 4) ** 2  # variances grow with the square of the scale's width
    return Release(
        "covariance",
        scale,
        ratings.catalog,
        Guarantee(unit, tuple(noise.events), delta, ("one account is one person",), reasons),
        {
            "global_mean": mean,
            "user_variance": _USER_VARIANCE * width,
            "rating_variance": _RATING_VARIANCE * width,
            "preset": "paper",
        },
        {
            "item_effects": effects.astype(np.float32),
            "item_effect_variances": np.zeros(items, dtype=np.float32),
            "item_counts": np.maximum(counts, 0).astype(np.float32),
            "factors": np.ascontiguousarray(factors, dtype=np.float32),
            "factor_variances": np.zeros(items, dtype=np.float32),
        },
    )


def _effects(
    ratings: Ratings, noise: _Noise, constants: _Constants, shares: list[float]
) -> tuple[float, _Floats, _Floats]:
    """Global mean, damped item effects and counts, as in section 4.2."""
    sums = RatingSums(ratings.scale)
    counting = ItemCounts(noise.unit, Noise.GAUSSIAN)
    # Per user, everybody's ratings weigh as much as their votes.
    votes = np.repeat(counting.votes(ratings), np.diff(ratings.starts))
    counts, totals = counting.measure(ratings), add_up(ratings, sums.distances(ratings) * votes)
    grid, one = sums.grid * counting.grid, counting.grid
    reach = constants.total * grid
    total, number = np.array([totals.sum()]), np.array([counts.sum()])
    all_sum = noise.add(total, reach, grid, shares[0] / 2, "sum of all")[0]
    all_count = noise.add(number, one, one, shares[0] / 2, "number of all")[0]
    mean = float(all_sum / max(all_count, 1.0))
    S = noise.add(totals, reach, grid, shares[1] / 2, "item sums")
    n = noise.add(counts, one, one, shares[1] / 2, "item counts")
    level = (S + _ITEM_DAMPING * mean) / (np.maximum(n, 0) + _ITEM_DAMPING)
    return ratings.scale.mid + mean, level - mean, n


def _covariance(
    ratings: Ratings, noise: _Noise, constants: _Constants, share: float, levels: ItemLevels
) -> tuple[_Floats, _Floats]:
    """Cov and Wgt of section 4.4 with noise, as square matrices."""
    head = np.arange(len(ratings.catalog), dtype=np.int32)
    clamp = ratings.scale.range / 4
    # The weight of a person with c ratings: c^-1/2 per rating, 1/c per user.
    power = Noise.GAUSSIAN if noise.unit is Unit.RATING else Noise.LAPLACE
    centring = PaperCentring(clamp, _USER_DAMPING, ratings.scale.range)
    statistic = RatingCovariance(power, head, centring, levels, offset=0.0)
    exact_cov, exact_wgt = statistic.measure(ratings)
    parts = (
        (exact_cov, constants.cov * clamp**2, statistic.grid**2, "item covariance"),
        (exact_wgt, constants.wgt, statistic.vote_grid**2, "co-rating weights"),
    )
    cov, wgt = (
        unpack(noise.add(exact, sensitivity * grid, grid, share / 2, label)).astype(np.float64)
        for exact, sensitivity, grid, label in parts
    )
    return cov, wgt
