"""How unequal: ratings per user, ratings per item, and the weights that bring them about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.domain.lazy import LazyModule
from discreet.ratings.synthetic._shapes import Shape

if TYPE_CHECKING:
    from scipy import optimize, special
else:
    optimize, special = LazyModule("scipy.optimize"), LazyModule("scipy.special")

Floats = npt.NDArray[np.float64]

# The largest steepness looked for: exp(-50) of the top is less than any user or item has.
_STEEPEST = 50.0
# Classes of users and of items that stand for all when weights are solved for; chosen by hand.
_CLASSES = 48
# Rounds of alternating updates at most; chosen by hand.
_MOST_ROUNDS = 60
# The relative error of an item's popularity that ends them.
_CLOSE = 1e-3
# A probability of 1 would need infinite weight.
_NEARLY_ALL = 1.0 - 1e-6
# Gauss-Hermite nodes: five tastes that stand for all.
_TASTES, _TASTE_SHARES = np.polynomial.hermite_e.hermegauss(5)
_TASTE_SHARES /= _TASTE_SHARES.sum()


def user_activity(shape: Shape) -> npt.NDArray[np.int64]:
    """Ratings per user in rising order: integers that add up to `shape.ratings`.

    The same for every seed; the generator hands them to users in random order.
    """
    smooth = rising_curve(
        shape.users,
        shape.ratings,
        least=shape.least,
        top=shape.top_activity,
        cap=shape.items,
        bend=shape.user_bend,
    )
    # Differences of a rounded cumulative sum are floor or ceiling of the summands, so integer
    # bounds hold and the total is exact.
    reached = np.rint(np.cumsum(smooth)).astype(np.int64)
    reached[-1] = shape.ratings
    return np.diff(reached, prepend=0)


def item_popularity(shape: Shape) -> Floats:
    """Expected ratings per item in rising order, adding up to `shape.ratings`."""
    return rising_curve(
        shape.items,
        shape.ratings,
        least=min(max(shape.rare_item * shape.users, 1e-6), 0.5 * shape.ratings / shape.items),
        top=max(shape.top_item * shape.users, shape.ratings / shape.items),
        cap=shape.users,
        bend=shape.item_bend,
    )


def rising_curve(
    count: int, total: float, *, least: float, top: float, cap: float, bend: float
) -> Floats:
    """`count` numbers between `least` and `min(top, cap)`, rising, that add up to `total`.

    The curve is that of `Shape`; its steepness is solved for. The caller ensures
    `least <= total/count <= min(top, cap)`.
    """
    depth = _depth(special.ndtri((np.arange(count) + 0.5) / count), bend)

    def curve(steepness: float) -> Floats:
        return np.minimum(cap, least + (top - least) * np.exp(-steepness * depth))

    def excess(steepness: float) -> float:
        return float(curve(steepness).sum() / total - 1.0)

    if excess(0.0) <= 0.0:
        steepness = 0.0
    elif excess(_STEEPEST) >= 0.0:
        steepness = _STEEPEST
    else:
        steepness = float(optimize.brentq(excess, 0.0, _STEEPEST, xtol=1e-14, rtol=1e-14))
    return _exact_total(curve(steepness), total, least)


def _depth(z: Floats, bend: float) -> Floats:
    """How far below the top each quantile lies: the integral of the slope `1 - bend z/z_top`.

    The slope is cut at zero, which happens at `z_top/bend` if `bend` is above one.
    """
    top = max(float(z[-1]), 1e-9)
    flat = top / max(bend, 1.0)
    below = np.minimum(z, flat)
    depth: Floats = (flat - below) - bend / (2 * top) * (flat**2 - below**2)
    return depth


def _exact_total(curve: Floats, total: float, least: float) -> Floats:
    """The curve shrunk towards `least` (or scaled) so that it adds up to `total`."""
    spare = curve.sum() - least * len(curve)
    if spare <= 0.0:
        return np.full(len(curve), total / len(curve))
    exact: Floats = least + (curve - least) * ((total - least * len(curve)) / spare)
    return exact


def choice_weights(shape: Shape, activity: npt.NDArray[np.int64], popularity: Floats) -> Floats:
    """Weights such that drawing without replacement gives each item its expected popularity.

    Drawing c items one after the other in proportion to weights w, without replacement, is a race:
    items arrive at exponential times of rate w, and the first c are taken. So with rate w_i a_ui,
    a_ui the user's liking, user u takes item i with probability about 1 - exp(-w_i a_ui t_u), where
    t_u is when the c_u-th arrives. Both sums, over items and over users, are known:

        sum_i 1 - exp(-w_i a t_u) = c_u,        sum_u 1 - exp(-w_i a t_u) = popularity_i,

    on average over a. Alternating updates solve them, on classes of users and items that are
    nearly alike; between classes log(w/popularity), which is nearly flat, is interpolated.
    """
    users, user_sizes = _classes(activity.astype(np.float64))
    items, item_sizes = _classes(popularity)
    times = users / shape.items
    weights = items / shape.users
    for _ in range(_MOST_ROUNDS):
        # Newer times first, so that the error below belongs to the weights that are kept.
        taken = _taken(times, weights, shape.choice)
        times *= _step(users, taken @ item_sizes, shape.items)
        taken = _taken(times, weights, shape.choice)
        reached = user_sizes @ taken
        weights *= _step(items, reached, shape.users)
        if np.all(np.abs(reached - items) < _CLOSE * items + 0.5):  # half a rating
            break
    ratio = np.interp(np.log(popularity), np.log(items), np.log(weights / items))
    unscaled = popularity * np.exp(ratio)
    result: Floats = unscaled / unscaled.max()
    return result


def _classes(values: Floats) -> tuple[Floats, Floats]:
    """At most `_CLASSES` positive values from the least to the most, and how many are like each.

    A value between two of them counts as part of each, so that the sum is kept and the extremes,
    where weights bend most, are among them.
    """
    lowest, highest = float(values[0]), float(values[-1])
    if highest <= lowest:
        return values[:1], np.array([float(len(values))])
    grid = np.geomspace(lowest, highest, _CLASSES)
    left = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, _CLASSES - 2)
    share = np.clip((values - grid[left]) / (grid[left + 1] - grid[left]), 0.0, 1.0)
    sizes: Floats = np.bincount(left, 1.0 - share, _CLASSES).astype(np.float64)
    return grid, sizes + np.bincount(left + 1, share, _CLASSES)


def _taken(times: Floats, weights: Floats, choice: float) -> Floats:
    """The probability that a user of each class takes an item of each class."""
    rates = special.expit(choice * _TASTES)
    exposure = np.outer(times, weights)
    missed = np.tensordot(_TASTE_SHARES, np.exp(-rates[:, None, None] * exposure), 1)
    taken: Floats = 1.0 - missed
    return taken


def _step(wanted: Floats, reached: Floats, most: float) -> Floats:
    """The factor that would bring `reached` to `wanted` if all exposures were equal."""
    full = most * _NEARLY_ALL
    step: Floats = np.log1p(-np.minimum(wanted, full) / most) / np.log1p(
        -np.minimum(reached, full) / most
    )
    return step
