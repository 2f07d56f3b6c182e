"""McSherry and Mironov's method with the constants they published, for comparison. Not proven."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Scale
from discreet.measure import _effects as rounds
from discreet.measure._blocks import over_blocks
from discreet.measure._budget import Budget, Spender
from discreet.measure._noise import Noise
from discreet.measure._request import UNBOOKED, Request
from discreet.measure._settings import MOST_HEAD
from discreet.measure.centring import ItemLevels, PaperCentring
from discreet.measure.covariance import RatingCovariance
from discreet.measure.item_counts import ItemCounts
from discreet.measure.item_sums import RatingSums, add_up, sum_of
from discreet.privacy import SEEDED, Randomness, Unit
from discreet.privacy.accounting import PAPER_SPLIT
from discreet.ratings import Ratings
from discreet.release import Release, clean_none, clean_paper, unpack

NOT_PROVEN = "its noise has the paper's published size, which its theorems do not prove"

_Floats = npt.NDArray[np.float64]

_ITEM_DAMPING = 15.0
_USER_DAMPING = 20


@dataclass(frozen=True)
class _Constants:
    """The published sensitivities: of a sum, of Cov (in B^2) and of Wgt."""

    total: float
    cov: float
    wgt: float


def _constants(unit: Unit, scale: Scale) -> _Constants:
    if unit is Unit.USER:
        return _Constants(scale.range, 1.0, 1.0)
    return _Constants(scale.range, 1 + 2 * math.sqrt(2), math.sqrt(2))


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
    """
    if len(ratings.catalog) > MOST_HEAD:
        raise InputError(f"the paper's matrices cover at most {MOST_HEAD:,} items")
    unit, scale = Unit(protect), ratings.scale
    budget = Budget.of(unit, Noise.GAUSSIAN, epsilon, delta).bounded_by(ratings.intake)
    label = "the paper's release"
    request = Request.of(
        ratings, unit, "covariance", preset="paper", budget=budget, rank=rank, clean=clean
    )
    # It promises nothing, so there is nothing that a ledger could count.
    receipt = request.charge([budget.event(label)], label, UNBOOKED, randomness)
    spender = Spender(budget, receipt, label)
    constants, shares = _constants(unit, scale), _shares()
    mean, effects, counts = _effects(ratings, spender, constants, shares)
    clamp = scale.range / 4
    head = np.arange(len(ratings.catalog), dtype=np.int32)
    power = Noise.GAUSSIAN if unit is Unit.RATING else Noise.LAPLACE  # w = c^-1/2, or 1/c
    centring = PaperCentring(clamp, _USER_DAMPING, scale.range)
    statistic = RatingCovariance(power, head, centring, ItemLevels(mean, effects), offset=0.0)
    moments = statistic.measure(ratings)
    assert moments.wgt is not None
    grid, votes = statistic.grid**2, statistic.vote_grid**2
    cov, _ = spender.release_floats(
        moments.cov, constants.cov * clamp**2 * grid, grid, shares[2] / 2, "item covariance"
    )
    wgt, _ = spender.release_floats(
        moments.wgt, constants.wgt * votes, votes, shares[2] / 2, "co-rating weights"
    )
    make = clean_paper if clean else clean_none
    square = [unpack(half).astype(np.float64, copy=False) for half in (cov, wgt)]
    factors = make(square[0], square[1], np.maximum(counts, 1e-3), rank)
    return _release(request, spender, mean, effects, counts, factors)


def _shares() -> list[float]:
    squares = [part * part for part in PAPER_SPLIT]
    return [square / sum(squares) for square in squares]


def _effects(
    ratings: Ratings, spender: Spender, constants: _Constants, shares: list[float]
) -> tuple[float, _Floats, _Floats]:
    """Global mean, damped item effects and counts, as in section 4.2."""
    sums = RatingSums(ratings.scale)
    counting = ItemCounts(spender.budget.unit, Noise.GAUSSIAN)
    counts, totals = counting.measure(ratings), _weighted_sums(ratings, sums, counting)
    grid, reach = sums.grid * counting.grid, constants.total * sums.grid * counting.grid
    total, number, one = int(totals.sum()), int(counts.sum()), counting.grid
    all_sum = spender.release_number(total, reach, grid, shares[0] / 2, "sum of all")
    all_count = spender.release_number(number, one, one, shares[0] / 2, "number of all")
    mean = all_sum.value / max(all_count.value, 1.0)
    S, _ = spender.release_floats(totals, reach, grid, shares[1] / 2, "item sums")
    n, _ = spender.release_floats(counts, one, one, shares[1] / 2, "item counts")
    level = (S + _ITEM_DAMPING * mean) / (np.maximum(n, 0) + _ITEM_DAMPING)
    return ratings.scale.mid + mean, level - mean, n


def _weighted_sums(
    ratings: Ratings, sums: RatingSums, counting: ItemCounts
) -> npt.NDArray[np.int64]:
    def work(block: Ratings, _: int) -> npt.NDArray[np.int64]:
        votes = np.repeat(counting.votes(block), np.diff(block.starts))
        return add_up(block, sums.distances(block) * votes)

    return sum_of(over_blocks(ratings, work), len(ratings.catalog))


def _release(
    request: Request,
    spender: Spender,
    mean: float,
    effects: _Floats,
    counts: _Floats,
    factors: _Floats,
) -> Release:
    ratings = request.ratings
    width = rounds.stretch(ratings.scale)
    items = len(ratings.catalog)
    return Release(
        "covariance",
        ratings.scale,
        ratings.catalog,
        request.promise(
            spender.events,
            spender.budget.delta,
            spender.charge,
            *((NOT_PROVEN,) if spender.is_private else (NOT_PROVEN, SEEDED)),
        ),
        {
            "global_mean": mean,
            "user_variance": rounds.USER_VARIANCE * width,
            "rating_variance": rounds.RATING_VARIANCE * width,
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
