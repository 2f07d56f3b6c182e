"""Item effects from released sums and counts: a first estimate, then better ones.

An item's level is G + M_i, the global mean and its effect. Everything here is computed from
released numbers, for ratings that were measured one by one or person by person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy, Scale
from discreet.estimate._shrinkage import (
    average,
    learn_effects,
    shrink_counts,
    shrink_ratio,
    update_effects,
)

_Floats = npt.NDArray[np.float64]

# The next five describe five-star ratings, in squared units of a scale of width 4 (MovieLens 1M);
# `stretch` carries them over to other scales.

# How far people's own levels lie apart.
USER_VARIANCE = 0.2
# A rating around its item's and its person's level and the person's tastes.
RATING_VARIANCE = 0.72
# A rating around its item's and its person's level.
RESIDUAL_VARIANCE = 0.8
# A rating around its item's level.
_RAW_VARIANCE = 1.1
# The most that item effects are believed to vary: the prior's upper end.
LARGEST_EFFECT = 0.3

# Standard deviation of a rating around item and person, before clamping; width 4.
_RESIDUAL_SPREAD = 0.93
# Variance of one vote for each vote in a count, in units of the usual vote. Tuned on another
# split of MovieLens 1M (docs/method.md).
_VOTE_VARIANCE = 0.65
# What w_u ||e_u|| is about, on a scale of width 4: one over the usual residual.
_USUAL_RATIO = 1.0
# Its prior's standard deviation, as a part of the usual value. Chosen by hand.
_RATIO_DOUBT = 0.2
# Where the mean rating is expected before looking, in ranges above the middle of the scale, and
# the standard deviation of that guess. Chosen to cover all scales that we have seen.
_MEAN_GUESS, _MEAN_DOUBT = 0.1, 0.2
# An item's count must exceed this many standard deviations of its noise to deserve attention.
LEARNABLE = 0.1
# Below this part of the largest, attention (squared) does not fall: an item may still surprise.
_LEAST_ATTENTION = 0.0025
# Votes that add up to 1 do not reveal how many ratings people have; a vote is taken for this.
_EVEN_VOTE = 0.1
# Added to variances, so that noise of size 0 divides nothing by 0.
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Effects:
    """What is known of the items one by one, all of it released.

    Attributes:
        global_mean: G.
        mean_variance: Of G.
        effects: M_i: an item's level is G + M_i.
        variances: Of each effect.
        counts: Noisy counts, in ratings or in votes; not clipped.
        count_spread: The standard deviation of their noise.
        people: How many protected units there are: ratings, or users.
        even_votes: Whether everybody's votes add up to 1, as in L1, whatever their number.
    """

    global_mean: float
    mean_variance: float
    effects: _Floats
    variances: _Floats
    counts: _Floats
    count_spread: float
    people: Noisy
    even_votes: bool = False

    def with_effects(self, scale: Scale, effects: _Floats, variances: _Floats) -> Effects:
        """With better effects, clipped so that every item's level stays on the scale."""
        inside = np.clip(effects, scale.lo - self.global_mean, scale.hi - self.global_mean)
        return replace(self, effects=inside, variances=variances)

    @property
    def known_counts(self) -> _Floats:
        """Counts that can be divided by: never below a third of their noise."""
        return np.maximum(self.counts, max(0.3 * self.count_spread, 1e-3))

    @property
    def positive_counts(self) -> _Floats:
        """Counts with the negative ones, which are noise, set to 0."""
        return np.maximum(self.counts, 0.0)

    @property
    def vote_variance(self) -> float:
        """How much a sum of votes varies by who happened to vote, for each vote in the count.

        Somebody with c ratings has a say of about 1/c in squares and adds c^-1/2 to a count; the
        number of people and the sum of their votes show what c^-1/2 is on average.
        """
        return _VOTE_VARIANCE * self.usual_vote

    @property
    def usual_vote(self) -> float:
        """What a vote is about: c^-1/2, where c is the voter's number of ratings."""
        if self.even_votes:
            return _EVEN_VOTE
        people = max(self.people.value, 1.0)
        return float(people / max(float(self.counts.sum()), people))

    @property
    def choosiness(self) -> float:
        """From 0 to 1: how far people have several items to divide their say between.

        1 where they have 36 ratings or more each, 0 where they have 4 or fewer.
        """
        return min(max(1.5 - 3 * self.usual_vote, 0.0), 1.0)

    def strength(self, mu: float) -> float:
        """Q = mu sum n^2 / sum n, freed of the counts' noise: how well items can be learnt.

        0 where the counts do not stand out of the noise by two standard errors.
        """
        size, variance = len(self.counts), self.count_spread**2
        squares = float(self.counts @ self.counts) - size * variance
        total = float(np.maximum(self.counts, 0).sum())
        if total <= 0 or squares < 2 * math.sqrt(2 * size) * variance:
            return 0.0
        return mu * squares / total


def stretch(scale: Scale) -> float:
    """The square of how much wider a scale is than five stars: variances grow by it."""
    return (scale.range / 4) ** 2


def mean_guess(scale: Scale) -> tuple[float, float]:
    """The mean rating above the middle of the scale, before looking, and that guess's spread."""
    return _MEAN_GUESS * scale.range, _MEAN_DOUBT * scale.range


def effects_from_sums(
    scale: Scale, sum_of_all: Noisy, number: Noisy, sums: Noisy, counts: Noisy
) -> Effects:
    """The first estimate, where single ratings are protected.

    Args:
        scale: Of the ratings.
        sum_of_all: The sum of r - mid over all ratings.
        number: How many ratings there are.
        sums: The same sum, item by item.
        counts: How many ratings each item has.
    """
    mean, doubt = shrink_ratio(sum_of_all, number, *mean_guess(scale))
    n = counts.value
    known, unknown = shrink_counts(n, counts.spread)
    sampled = _RAW_VARIANCE * stretch(scale) * known
    variances = sums.spread**2 + (mean * unknown) ** 2 + sampled + _TINY
    nothing = np.zeros(len(n))
    start = Effects(scale.mid + mean, doubt, nothing, nothing, n, counts.spread, number)
    # Where counts are mostly noise, an apparent mean effect comes from their errors: leave it out.
    features = np.empty((len(n), 0)) if n.mean() > 2 * counts.spread else None
    largest = LARGEST_EFFECT * stretch(scale)
    effects, left = learn_effects(
        sums.value - known * mean, known, variances, features, largest=largest
    )
    return start.with_effects(scale, effects, left)


def update_by_residuals(effects: Effects, scale: Scale, clamp: float, sums: Noisy) -> Effects:
    """Better effects from sums of ratings that were centred and clamped at B = `clamp`."""
    slope, variance = clipped_moments(clamp, scale)
    known = np.maximum(effects.counts, 0)
    variances = sums.spread**2 + variance * known + _TINY
    change, left = update_effects(sums.value, slope * known, variances, effects.variances)
    return effects.with_effects(scale, effects.effects + change, left)


def update_level(effects: Effects, scale: Scale, residual: Noisy) -> Effects:
    """A better global mean, from the sum over units of what the levels leave."""
    change, doubt = shrink_ratio(residual, effects.people, 0.0, math.sqrt(effects.mean_variance))
    mean = min(max(effects.global_mean + change, scale.lo), scale.hi)
    better = replace(effects, global_mean=mean, mean_variance=doubt)
    return better.with_effects(scale, effects.effects, effects.variances)


def effects_from_votes(
    scale: Scale, votes: Noisy, people: Noisy, means: Noisy, *, even_votes: bool
) -> Effects:
    """The start where users are protected: the mean rating and the votes, no effects yet."""
    mean, doubt = shrink_ratio(means, people, *mean_guess(scale))
    n = votes.value
    unknown = np.full(len(n), LARGEST_EFFECT * stretch(scale))
    level, nothing = scale.mid + mean, np.zeros(len(n))
    return Effects(level, doubt, nothing, unknown, n, votes.spread, people, even_votes)


def update_by_users(
    effects: Effects, scale: Scale, attention: _Floats, sums: Noisy, scales: Noisy, *, first: bool
) -> Effects:
    """Better effects from sums over users of their residuals, scaled to length 1.

    Args:
        effects: As known before.
        scale: Of the ratings.
        attention: How much of a person's say each item was worth.
        sums: A number for each item.
        scales: The sum of ||e_u|| w_u, which says how votes relate to counts.
        first: Whether there were no effects before.
    """
    ratio = usual_ratio(scales, effects.people, usual_scale(scale))
    design = ratio * attention * effects.known_counts
    noise = sums.spread**2 + effects.vote_variance * attention**2 * effects.known_counts
    if first:
        largest = LARGEST_EFFECT * stretch(scale)
        learnt, left = learn_effects(
            sums.value, design, noise, _log_popularity(effects), largest=largest
        )
    else:
        change, left = update_effects(sums.value, design, noise, effects.variances)
        learnt = effects.effects + change
    return effects.with_effects(scale, learnt, left)


def attention_of(effects: Effects, least: float) -> _Floats:
    """How much of a person's say an item is worth: little if it is known anyway, or cannot be.

    Errors of item i weigh with its count n and shrink with (a n)^2: the best a^2 is about
    (1 - n0/n)/n where n is above the noise n0. Never below a twentieth of the largest, and 1 on
    average over ratings, so that a person's say is as long as without.

    Args:
        effects: With the counts.
        least: n0: the noise of what will be measured, in counts.
    """
    n = effects.known_counts
    threshold = max(least, LEARNABLE * effects.count_spread, 0.1 * float(n.mean()))
    worth = np.where(n > threshold, (1 - threshold / n) / n, 0.0)
    worth = np.maximum(worth, _LEAST_ATTENTION * float(worth.max()))
    worth **= effects.choosiness
    average = float(n @ worth) / float(n.sum())
    return np.sqrt(worth / average) if average > 0 else np.ones(len(n))


def usual_scale(scale: Scale) -> float:
    """What w_u ||e_u|| is about for residuals on this scale."""
    return _USUAL_RATIO / math.sqrt(stretch(scale))


def usual_ratio(scales: Noisy, people: Noisy, usual: float) -> float:
    """What w_u ||e_u|| is on average; `usual` is the guess before looking.

    With counts as sums of 1/||e_u||, a sum over users of w_u h holds about ratio * count of h.
    """
    return shrink_ratio(scales, people, usual, _RATIO_DOUBT * usual)[0]


def clipped_moments(clamp: float, scale: Scale) -> tuple[float, float]:
    """Slope and second moment of clip(x, -B, B) for a normal x of the usual spread."""
    spread = _RESIDUAL_SPREAD * scale.range / 4
    t = clamp / spread
    inside = math.erf(t / math.sqrt(2))
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    return inside, spread**2 * (inside - 2 * t * density) + clamp**2 * (1 - inside)


def presence_counts(counts: Noisy, people: Noisy, *, even_votes: bool) -> Effects:
    """The start for presence: counts alone."""
    nothing = np.zeros(len(counts.value))
    return Effects(0.0, 0.0, nothing, nothing, counts.value, counts.spread, people, even_votes)


def combine_counts(known: Effects, again: Noisy) -> Effects:
    """With a second measurement of the same counts; the two weigh as their noise says."""
    both = average(Noisy(known.counts, known.count_spread), again)
    return replace(known, counts=both.value, count_spread=both.spread)


def log_shares(counted: Effects, vote: float) -> _Floats:
    """The logarithm of the part of the people who have each item; noise is the floor.

    Args:
        counted: What was counted.
        vote: What somebody adds to a count: 1, or a vote of the usual size.
    """
    people = max(counted.people.value, counted.people.spread, 1.0)
    least = max(counted.count_spread, 0.5 * vote)
    shares = (np.maximum(counted.counts, 0.0) + least) / (people * vote)
    return np.asarray(np.log(np.minimum(shares, 1.0)))


def _log_popularity(effects: Effects) -> _Floats:
    """Log counts, standardised by popularity and clipped at 3."""
    known = effects.known_counts
    logs, weights = np.log(known + 2 * effects.count_spread), known / known.sum()
    logs = logs - weights @ logs
    return np.asarray(np.clip(logs / max(math.sqrt(weights @ logs**2), 1e-9), -3, 3))
