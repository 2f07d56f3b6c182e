"""Item effects from noisy sums and counts: raw first, then on what is left. For both units."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.domain import Scale
from discreet.measure._blocks import over_blocks
from discreet.measure._budget import Spender
from discreet.measure._everybody import Everybody, count_users, total, totals
from discreet.measure._noise import Noise
from discreet.measure._posterior import (
    Noisy,
    learn_effects,
    shrink_counts,
    shrink_ratio,
    update_effects,
)
from discreet.measure.centring import HuberCentring, ItemLevels
from discreet.measure.item_counts import ItemCounts
from discreet.measure.item_sums import RatingSums, ResidualSums
from discreet.measure.level import Level
from discreet.measure.user_votes import GRID, UserVotes
from discreet.privacy import Unit
from discreet.ratings import Ratings

_Floats = npt.NDArray[np.float64]

# Of five-star data, in squared units of a scale of width 4; other scales stretch them.
USER_VARIANCE, RATING_VARIANCE, RESIDUAL_VARIANCE = 0.2, 0.72, 0.8
_RAW_VARIANCE, _RESIDUAL_SPREAD = 1.1, 0.93
_VOTE_VARIANCE = 0.65
_MOST_EFFECT = 0.3
_USUAL_RATIO = 1.0
_FLOOR = 0.3
_LEARNABLE = 0.1


@dataclass(frozen=True, eq=False)
class Effects:
    """What was released of the items one by one.

    Attributes:
        global_mean: G.
        mean_variance: How uncertain it is.
        effects: M_i: an item's level is G + M_i.
        variances: How uncertain each effect still is.
        counts: Noisy counts, in ratings or in votes; not clipped.
        count_spread: The standard deviation of their noise.
        people: How many there are of what is protected: ratings, or users.
        noise: Whose norm votes are divided in.
    """

    global_mean: float
    mean_variance: float
    effects: _Floats
    variances: _Floats
    counts: _Floats
    count_spread: float
    people: Noisy
    noise: Noise = Noise.GAUSSIAN

    def moved(self, scale: Scale, effects: _Floats, variances: _Floats) -> Effects:
        """With better effects, clipped so that every item's level stays on the scale."""
        inside = np.clip(effects, scale.lo - self.global_mean, scale.hi - self.global_mean)
        return replace(self, effects=inside, variances=variances)

    @property
    def levels(self) -> ItemLevels:
        return ItemLevels(self.global_mean, self.effects)

    @property
    def known_counts(self) -> _Floats:
        """Counts that can be divided by: never below a third of their noise."""
        return np.maximum(self.counts, max(0.3 * self.count_spread, 1e-3))

    @property
    def vote_variance(self) -> float:
        """How much a sum of votes varies by who happened to vote, for each vote in the count.

        Somebody with c ratings has a say of about 1/c in squares and adds c^-1/2 to a count; what
        c^-1/2 is on average, the number of people and the sum of their votes tell.
        """
        return _VOTE_VARIANCE * self.usual_vote

    @property
    def usual_vote(self) -> float:
        """What a vote is about, c^-1/2 with c the number of ratings of somebody who votes.

        Votes of length 1 in L1 add up to 1 each, whatever c is: then it is taken for 0.1.
        """
        if self.noise is Noise.LAPLACE:
            return 0.1
        people = max(self.people.value, 1.0)
        return people / max(float(self.counts.sum()), people)

    @property
    def choosiness(self) -> float:
        """From 0 to 1: how far people have several items to divide their say between."""
        return min(max(1.5 - 3 * self.usual_vote, 0.0), 1.0)

    def strength(self, amount: float) -> float:
        """Q = mu sum n^2 / sum n, freed of the counts' noise: how well items can be learnt.

        0 where the counts cannot be told from noise: two standard errors.
        """
        size, variance = len(self.counts), self.count_spread**2
        squares = float(self.counts @ self.counts) - size * variance
        total = float(np.maximum(self.counts, 0).sum())
        if total <= 0 or squares < 2 * math.sqrt(2 * size) * variance:
            return 0.0
        return amount * squares / total


def stretch(scale: Scale) -> float:
    """How much wider the scale is than five stars, squared: what variances are multiplied with."""
    return (scale.range / 4) ** 2


def _usual_mean(scale: Scale) -> tuple[float, float]:
    """What the mean rating is taken for without looking, above the middle; and how sure that is."""
    return 0.1 * scale.range, 0.2 * scale.range


def measure_raw(ratings: Everybody, spender: Spender, share: float) -> Effects:
    """First round, for ratings: counts, and sums of r - mid."""
    scale, noise = ratings.scale, spender.budget.noise
    sums, counts = RatingSums(scale), ItemCounts(Unit.RATING, noise)
    exact_sums, exact_counts = totals(ratings, sums.measure, counts.measure)
    whole, number = int(exact_sums.sum()), int(exact_counts.sum())
    few, rest = 0.01 * share, 0.98 * share
    all_sum = spender.release_number(whole, sums.sensitivity, sums.grid, few, "sum of all ratings")
    all_count = spender.release_number(number, 1.0, 1.0, few, "number of ratings")
    mean, doubt = shrink_ratio(all_sum, all_count, *_usual_mean(scale))
    S, sum_spread = spender.release_floats(
        exact_sums, sums.sensitivity, sums.grid, 0.8 * rest, "item sums"
    )
    n, count_spread = spender.release_floats(
        exact_counts, counts.sensitivity, counts.grid, 0.2 * rest, "item counts"
    )
    known, unknown = shrink_counts(n, count_spread)
    sampled = _RAW_VARIANCE * stretch(scale) * known
    variances = sum_spread**2 + (mean * unknown) ** 2 + sampled + 1e-9
    most = _MOST_EFFECT * stretch(scale)
    nothing = np.zeros(len(n))
    start = Effects(scale.mid + mean, doubt, nothing, nothing, n, count_spread, all_count)
    # Where counts are mostly noise, what their errors make of the mean effect is no mean effect.
    alike = np.empty((len(n), 0)) if n.mean() > 2 * count_spread else None
    effects, left = learn_effects(S - known * mean, known, variances, alike, largest=most)
    return start.moved(scale, effects, left)


def measure_residual(
    ratings: Everybody, spender: Spender, share: float, effects: Effects, centring: HuberCentring
) -> Effects:
    """Second round, for ratings: sums of centred ratings."""
    noise, items = spender.budget.noise, len(ratings.catalog)
    sums = ResidualSums(centring, effects.levels, noise, items)
    S, spread = spender.release_floats(
        total(ratings, sums.measure), sums.sensitivity, sums.grid, share, "centred item sums"
    )
    slope, variance = clipped_moments(centring.clamp, ratings.scale)
    known = np.maximum(effects.counts, 0)
    variances = spread**2 + variance * known + 1e-9
    change, left = update_effects(S, slope * known, variances, effects.variances)
    return effects.moved(ratings.scale, effects.effects + change, left)


def measure_level(ratings: Everybody, spender: Spender, share: float, effects: Effects) -> Effects:
    """The global mean again, on what the levels leave: for where little else can be learnt."""
    statistic = Level(spender.budget.unit, ratings.scale, effects.levels)
    exact = total(ratings, statistic.measure)
    above = spender.release_number(
        exact, statistic.sensitivity, statistic.grid, share, "mean residual"
    )
    change, doubt = shrink_ratio(above, effects.people, 0.0, math.sqrt(effects.mean_variance))
    moved = min(max(effects.global_mean + change, ratings.scale.lo), ratings.scale.hi)
    better = replace(effects, global_mean=moved, mean_variance=doubt)
    return better.moved(ratings.scale, effects.effects, effects.variances)


def measure_votes(ratings: Everybody, spender: Spender, scalars: float, counts: float) -> Effects:
    """First round, for users: how many, their mean rating, and divided votes; no effects yet."""
    statistic = ItemCounts(Unit.USER, spender.budget.noise)
    votes, number, sums = totals(ratings, statistic.measure, count_users, _sum_means)
    n, spread = spender.release_floats(
        votes, statistic.sensitivity, statistic.grid, counts, "item votes"
    )
    half = ratings.scale.range / 2
    people = spender.release_number(number, 1.0, 1.0, scalars / 2, "number of users")
    means = spender.release_number(sums, GRID, GRID / half, scalars / 2, "users' mean ratings")
    mean, doubt = shrink_ratio(means, people, *_usual_mean(ratings.scale))
    unknown = np.full(len(n), _MOST_EFFECT * stretch(ratings.scale))
    start = ratings.scale.mid + mean
    nothing, noise = np.zeros(len(n)), spender.budget.noise
    return Effects(start, doubt, nothing, unknown, n, spread, people, noise)


def measure_user_round(
    ratings: Everybody, spender: Spender, share: float, effects: Effects, *, first: bool
) -> Effects:
    """One round of effects for users; 2 % of the share says how votes relate to counts."""
    attention = attention_of(effects, _LEARNABLE * spender.spread_of(0.98 * share))
    statistic = user_residuals(ratings.scale, effects, spender.budget.noise, attention, first=first)
    exact, exact_scale = total(ratings, statistic.measure)
    S, spread = spender.release_floats(
        exact, statistic.sensitivity, statistic.grid, 0.98 * share, "users' scaled residuals"
    )
    scale = spender.release_number(
        exact_scale, statistic.scale_sensitivity, statistic.grid, 0.02 * share, "users' scales"
    )
    ratio = usual_ratio(scale, effects.people, usual_scale(ratings.scale))
    design = ratio * attention * effects.known_counts
    noise = spread**2 + effects.vote_variance * attention**2 * effects.known_counts
    if first:
        most = _MOST_EFFECT * stretch(ratings.scale)
        learnt, left = learn_effects(S, design, noise, _log_popularity(effects), largest=most)
    else:
        change, left = update_effects(S, design, noise, effects.variances)
        learnt = effects.effects + change
    return effects.moved(ratings.scale, learnt, left)


def attention_of(effects: Effects, least: float) -> _Floats:
    """How much of a person's say an item is worth: little if it is known anyway, or cannot be.

    Errors of item i weigh with its count n and shrink with (a n)^2: the best a^2 is about
    (1 - n0/n)/n where n is above the noise n0. Never below a twentieth of the largest, and 1 on
    average over ratings, so that a person's say is as long as without.
    """
    n = effects.known_counts
    threshold = max(least, _LEARNABLE * effects.count_spread, 0.1 * float(n.mean()))
    worth = np.where(n > threshold, (1 - threshold / n) / n, 0.0)
    worth = np.maximum(worth, 0.0025 * float(worth.max()))
    worth **= effects.choosiness
    average = float(n @ worth) / float(n.sum())
    return np.sqrt(worth / average) if average > 0 else np.ones(len(n))


def usual_scale(scale: Scale) -> float:
    """What w_u ||e_u|| is about for residuals on this scale."""
    return _USUAL_RATIO / math.sqrt(stretch(scale))


def usual_ratio(scales: Noisy, people: Noisy, usual: float) -> float:
    """What w_u ||e_u|| is on average; `usual` is what it would be taken for without looking.

    With counts as sums of 1/||e_u||, a sum over users of w_u h holds about ratio * count of h.
    """
    return shrink_ratio(scales, people, usual, 0.2 * usual)[0]


def user_residuals(
    scale: Scale, effects: Effects, noise: Noise, attention: _Floats | None = None, *, first: bool
) -> UserVotes:
    """What the effects leave of a rating; after the first round without the person's level."""
    width = stretch(scale)
    precisions = 1 / (RESIDUAL_VARIANCE * width + effects.variances)
    prior = None if first else 1 / (USER_VARIANCE * width)
    floor = _FLOOR * math.sqrt(width)
    return UserVotes(effects.levels, precisions, prior, noise, floor, attention)


def clipped_moments(clamp: float, scale: Scale) -> tuple[float, float]:
    """Slope and second moment of clip(x, -B, B) for a normal x of the usual spread."""
    spread = _RESIDUAL_SPREAD * scale.range / 4
    t = clamp / spread
    inside = math.erf(t / math.sqrt(2))
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    return inside, spread**2 * (inside - 2 * t * density) + clamp**2 * (1 - inside)


def _sum_means(ratings: Ratings) -> int:
    """The sum over users of their mean of (r - mid)/half the range, on the grid.

    In integers throughout, and rounded down user by user: nobody's share depends on the others.
    """
    return sum(over_blocks(ratings, _sum_of_means))


def _sum_of_means(block: Ratings, _: int) -> int:
    sums = RatingSums(block.scale)
    running = np.concatenate(([0], np.cumsum(sums.distances(block))))
    totals = running[block.starts[1:]] - running[block.starts[:-1]]
    counts = np.maximum(np.diff(block.starts), 1)
    return int((totals * GRID // (counts * sums.reach)).sum())


def _log_popularity(effects: Effects) -> _Floats:
    """Log counts, standardised by popularity and clipped at 3."""
    known = effects.known_counts
    logs, weights = np.log(known + 2 * effects.count_spread), known / known.sum()
    logs = logs - weights @ logs
    return np.asarray(np.clip(logs / max(math.sqrt(weights @ logs**2), 1e-9), -3, 3))
