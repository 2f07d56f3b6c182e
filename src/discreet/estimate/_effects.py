"""Item effects from released sums and counts: a first estimate, then better ones.

An item's level is G + M_i, the global mean and its effect. Everything here is computed from
released numbers, for ratings that were measured one by one or person by person. First comes
empirical Bayes: what noisy sums say about items, given that the noise is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy, Scale

_Floats = npt.NDArray[np.float64]


def learn_effects(
    sums: _Floats,
    design: _Floats,
    variances: _Floats,
    features: _Floats | None = None,
    *,
    largest: float,
    rounds: int = 8,
) -> tuple[_Floats, _Floats]:
    """Posterior mean and variance of h where sums_i = design_i h_i + N(0, variances_i).

    The prior h_i ~ N(theta . [1, features_i], tau^2), or N(0, tau^2) without features, is learnt
    from the same numbers: theta by weighted least squares, tau^2 by moments minus the known noise.
    In doubt, means believe in a smaller tau^2 and variances in a larger one.

    Args:
        sums: Noisy.
        design: How much of h each sum holds, about.
        variances: Of the noise, sampling included.
        features: Columns that the prior mean may depend on.
        largest: The most that tau^2 can be.
        rounds: How often the prior is learnt anew.
    """
    design = np.maximum(design, 1e-9)
    observed, noise = sums / design, variances / design**2
    columns = None if features is None else np.column_stack([np.ones(len(sums)), features])
    expected: _Floats | float = 0.0
    # Where to begin, as a share of the largest tau^2; a few rounds forget it. Chosen by hand.
    tau2 = 0.04 * largest
    # An item that noise drowns (a signal of at most 1.5 % of it in variance) says nothing of tau^2,
    # and many such would still be weighed. Chosen by hand.
    informative = design**2 * largest > 0.015 * variances
    for _ in range(rounds):
        weights = 1 / (tau2 + noise)
        if columns is not None:
            gram = (columns * weights[:, None]).T @ columns
            # A prior of variance largest/10 on theta: small unless the items say otherwise.
            gram += np.eye(len(gram)) / (0.1 * largest)
            inverse = np.linalg.inv(gram)
            theta = inverse @ (columns.T @ (weights * observed))
            # Within two standard errors it may as well be noise.
            theta *= np.maximum(1 - 4 * np.diagonal(inverse) / np.maximum(theta**2, 1e-300), 0.0)
            expected = columns @ theta
        trust = weights**2 * informative if informative.any() else weights**2
        excess = float(trust @ ((observed - expected) ** 2 - noise) / trust.sum())
        # Two standard errors off: where noise drowns the items, they are taken for equal.
        doubt = 2 * math.sqrt(2 * float(trust**2 @ (tau2 + noise) ** 2)) / float(trust.sum())
        tau2 = min(max(excess - doubt, 1e-6 * largest), largest)
    upper = min(max(excess + doubt, tau2, 0.3 * largest), largest)
    mean = expected + tau2 / (tau2 + noise) * (observed - expected)
    return mean, upper * noise / (upper + noise)


def shrink_counts(counts: _Floats, spread: float) -> tuple[_Floats, float]:
    """Counts drawn towards their mean as far as their noise asks for; and what noise is left.

    Among many items whose counts drown in noise, the largest are those with the luckiest noise. But
    a few are truly popular: no count is drawn further than twice its noise.
    """
    mean = max(float(counts.mean()), 0.0)
    real = max(float(counts.var()) - spread**2, 0.0)
    weight = real / (real + spread**2) if real > 0 else 0.0
    drawn = np.clip((1 - weight) * (mean - counts), -2 * spread, 2 * spread)
    return np.maximum(counts + drawn, 0.0), spread * math.sqrt(weight)


def shrink_ratio(
    total: Noisy, number: Noisy, guess: float, doubt: float, within: float = 3.0
) -> tuple[float, float]:
    """total/number, drawn towards a guess as far as noise asks for; and its variance.

    Args:
        total: Noisy.
        number: Noisy; positive before noise.
        guess: What it would be taken for without looking.
        doubt: The guess's standard deviation.
        within: No answer is further from the guess than this many of them.
    """
    count = max(number.value, number.spread, 1.0)
    ratio = min(max(total.value / count, guess - within * doubt), guess + within * doubt)
    noise = (total.spread**2 + (ratio * number.spread) ** 2) / count**2
    if doubt == 0:
        return guess, 0.0
    weight = doubt**2 / (doubt**2 + noise)
    return guess + weight * (ratio - guess), weight * noise


def update_effects(
    sums: _Floats, design: _Floats, noise: _Floats, variances: _Floats
) -> tuple[_Floats, _Floats]:
    """How a second, centred measurement moves effects of known variance, and the new variance.

    How much of the variances is really there is learnt first, one standard error on the safe side:
    where noise drowns the items nothing moves.
    """
    design = np.maximum(design, 1e-9)
    observed, spread = sums / design, noise / design**2
    trust = 1 / (variances + spread) ** 2
    excess = float(trust @ (observed**2 - spread))
    doubt = math.sqrt(2 * float(trust**2 @ (variances + spread) ** 2))
    real = min(max((excess - doubt) / float(trust @ variances + 1e-300), 0.0), 1.0)
    gain = real * variances / (real * variances + spread)
    return gain * observed, variances * spread / (variances + spread)


def effects_by_moments(
    residuals: _Floats, counts: _Floats, noise: _Floats, squares: _Floats, largest: float
) -> tuple[_Floats, _Floats]:
    """Mean and variance of h where residuals_i = n_i h_i + noise_i and h_i ~ N(0, tau^2).

    For counts that are themselves mostly noise: tau^2 is what the residuals' squares have beyond
    noise, over what n^2 is, without dividing by single counts as `learn_effects` does. A standard
    error less for the means, and one more for the variances.

    Args:
        residuals: Noisy sums.
        counts: n, above 0.
        noise: Variances of the residuals.
        squares: Unbiased estimates of n^2.
        largest: The most that tau^2 can be.
    """
    trust = 1 / noise**2
    scale = max(float(trust @ squares), 1e-300)
    excess = float(trust @ (residuals**2 - noise)) / scale
    doubt = math.sqrt(2 * float(trust**2 @ noise**2)) / scale
    tau2 = min(max(excess - doubt, 1e-6 * largest), largest)
    upper = min(max(excess + doubt, tau2, 0.3 * largest), largest)
    gain = tau2 * counts / (tau2 * counts**2 + noise)
    return gain * residuals, upper * noise / (upper * counts**2 + noise)


def average(first: Noisy, second: Noisy) -> Noisy:
    """Two measurements of the same numbers, weighted as their noise asks for."""
    squares = first.spread**2 + second.spread**2
    weight = first.spread**2 / squares if squares > 0 else 0.5
    spread = first.spread * second.spread / math.sqrt(squares) if squares > 0 else 0.0
    return Noisy(weight * second.value + (1 - weight) * first.value, spread)


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
# split of MovieLens 1M (docs/explanation/refined.md).
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
