"""Every statistic, at a corner where one rating or one user moves it as far as we know."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.audit._neighbours import STARS, Neighbours, Person
from discreet.audit._registry import Entry
from discreet.audit.lower_bound._engine import RUNS, Auditable, Ints
from discreet.audit.lower_bound._noisy import Corner, Measure, part_of, register_corner
from discreet.domain import PRESENCE, Scale
from discreet.measure import HeadCounts, ItemCounts
from discreet.measure.agreement import RatingAgreement
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.covariance import Covariance, RatingCovariance, UserCovariance
from discreet.measure.history_pairs import FrozenWeights, HistoryPairs
from discreet.measure.item_sums import RatingSums, ResidualSums
from discreet.measure.level import Level
from discreet.measure.outputs import OutputFunction, OutputMethod
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.measure.presence_pairs import HeadWeights, PresencePairs
from discreet.measure.probe_error import ProbeError
from discreet.measure.recency import WEIGHT_GRID, PeriodCounts, Periods, RecentCounts
from discreet.measure.refinement import RatingRefinement, UserRefinement, UserSketch
from discreet.measure.user_votes import UserVotes
from discreet.privacy import FIT_UNITS, Noise, Unit
from discreet.ratings import Ratings

STATISTICS: dict[str, Entry[Auditable]] = {}
_add = partial(register_corner, STATISTICS)

# A residual, in grid units, that is clamped whatever the person's level is: beyond any level that
# a whole catalogue of residuals can give.
FAR = 1 << 42
# Items rated before the new rating where the number hardly matters: enough for a triangle of pairs.
_OLD = 12
# Old ratings that one more rating pushes furthest in L1, all of them together. Found by trying.
_PUSHED = {"diagonal": 2, "triangle": 40}
# Old ratings that move in a refinement: the more, the nearer they come to the bound. Found by
# trying: from there on more gain less than a percent.
_MOVERS = {"rows": 200, "moments": 1000, "weight": 7}
# Of refinements: c0 and the clipping of tastes, the values of a fit.
_DAMPING, _REACH = 20.0, 1.4
# Runs where very many numbers move.
_FEWER_RUNS = 10_000
# Ratings with which a user has a whole share of a refinement's moments (`measure/refinement`).
_WHOLE_SHARE = 484


def levels_that_leave(x: npt.ArrayLike, items: int) -> ItemLevels:
    """Released levels under which a rating of 3 of item j leaves x_j grid units."""
    left = np.asarray(x, np.float64)
    effects = np.zeros(items)
    effects[: len(left)] = -left / GRID
    return ItemLevels(3.0, effects)


def on_the_edge(centring: HuberCentring, old: int) -> int:
    """Where `old` equal residuals are all clamped to B, and all fall if one more pulls them up.

    With every y = B the level b is c B/beta, and x = b + B.
    """
    return centring.reach + old * centring.reach // centring.fictitious


def threes(count: int) -> Person:
    """A 3 for each of the first items."""
    return dict.fromkeys(range(count), 3.0)


def head_of(items: int) -> npt.NDArray[np.int32]:
    """All items, as a head."""
    return np.arange(items, dtype=np.int32)


def user_votes(noise: Noise, items: int) -> UserVotes:
    """Votes on levels of 3."""
    return UserVotes(ItemLevels(3.0, np.zeros(items)), np.ones(items), None, noise)


def _attribute(measure: Callable[[Ratings], object], part: str) -> Measure:
    """One part of what a statistic measures."""

    def measured(ratings: Ratings) -> npt.ArrayLike:
        found: npt.ArrayLike = getattr(measure(ratings), part)
        return found

    return measured


# Statistics of items one by one.


@_add("item-counts/{unit}/{noise}", "how often each item was rated", unit=FIT_UNITS, noise=Noise)
def _item_counts(unit: Unit, noise: Noise) -> Corner:
    statistic = ItemCounts(unit, noise)
    neighbours = Neighbours.by_rating(4, {0: 3.0}, (1, 5.0))
    if unit is Unit.USER:
        neighbours = Neighbours.by_user(4, threes(4 if noise is Noise.GAUSSIAN else 1))
    return Corner.of(statistic, neighbours)


@_add("head-counts/{unit}/{noise}", "counts of some items alone", unit=FIT_UNITS, noise=Noise)
def _head_counts(unit: Unit, noise: Noise) -> Corner:
    """Items outside the head do not make a user's votes smaller: the most that anybody can move."""
    statistic = HeadCounts(unit, noise, np.array([1, 3], dtype=np.int32))
    neighbours = Neighbours.by_rating(4, {0: 3.0}, (1, 5.0))
    if unit is Unit.USER:
        neighbours = Neighbours.by_user(4, threes(4 if noise is Noise.GAUSSIAN else 2))
    return Corner.of(statistic, neighbours)


@_add("item-sums/rating/{noise}", "sums of ratings; a 5 more", noise=Noise)
def _rating_sums() -> Corner:
    statistic = RatingSums(STARS)
    neighbours = Neighbours.by_rating(4, {0: 3.0}, (1, 5.0))
    return Corner.of(statistic, neighbours)


@_add(
    "centred-sums/rating/{noise}",
    "sums of centred ratings; a rating that pushes all others of its person",
    noise=Noise,
)
def _centred_sums(noise: Noise) -> Corner:
    """L2 is worst with as many old ratings as fictitious ones, L1 with few of those."""
    old = 20
    centring = HuberCentring(0.5, old if noise is Noise.GAUSSIAN else 1)
    levels = levels_that_leave([on_the_edge(centring, old)] * old + [FAR], old + 1)
    statistic = ResidualSums(centring, levels, noise, old + 1)
    neighbours = Neighbours.by_rating(old + 1, threes(old), (old, 3.0))
    return Corner.of(statistic, neighbours)


@_add(
    "level/{unit}/{noise}", "how far ratings lie above levels; a 5 at level 1",
    unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def _level(unit: Unit) -> Corner:
    statistic = Level(unit, STARS, ItemLevels(1.0, np.zeros(3)))
    neighbours = Neighbours.by_rating(3, {0: 1.0}, (1, 5.0))
    if unit is Unit.USER:
        neighbours = Neighbours.by_user(3, {0: 5.0, 1: 5.0})
    return Corner.of(statistic, neighbours)


@_add(
    "probe-error/{unit}/{noise}", "squared errors of predictions; one as wrong as can be",
    unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def _probe_error(unit: Unit) -> Corner:
    """Everything is predicted as a 1."""
    statistic = ProbeError(STARS)
    neighbours = Neighbours.by_rating(3, {}, (1, 5.0))
    if unit is Unit.USER:
        neighbours = Neighbours.by_user(3, {0: 5.0, 1: 5.0})

    def measure(ratings: Ratings) -> npt.ArrayLike:
        return statistic.measure(ratings, np.ones(len(ratings)))

    return Corner(measure, neighbours, statistic.sensitivity)


@_add("user-votes/user/{noise}", "users' residuals scaled to length 1", noise=Noise)
def _user_votes(noise: Noise) -> Corner:
    statistic = user_votes(noise, 4)
    own = {0: 5.0, 1: 1.0, 2: 5.0} if noise is Noise.GAUSSIAN else {0: 5.0}
    return Corner.of(statistic, Neighbours.by_user(4, own))


@_add("user-scales/user/{noise}", "the scales of users' residuals", noise=Noise)
def _user_scales(noise: Noise) -> Corner:
    """Somebody whose residuals are all 0 has the largest scale there is."""
    return Corner.of(user_votes(noise, 4), Neighbours.by_user(4, threes(4)), part=1)


@_add(
    "agreement/{unit}/{noise}", "whether ratings agree along features; one that turns it round",
    unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def _agreement(unit: Unit) -> Corner:
    """Two ratings that disagree, and a third in a direction that outweighs them."""
    centring, levels = HuberCentring(0.5, 40), levels_that_leave([FAR, -FAR, FAR], 3)
    directions = np.array([[10.0], [9.0], [1000.0]])
    statistic = RatingAgreement(unit, directions, centring=centring, levels=levels)
    neighbours = Neighbours.of(unit, 3, {0: STARS.mid, 1: STARS.mid}, (2, STARS.mid))
    return Corner.of(statistic, neighbours)


# Statistics of when records were made. A record's value says its time here, so that a search that
# changes values changes times.

# Ratings of 1 and 2 lie before the first, and 5 after the end of the last.
_PERIODS = Periods(start=3, width=1, number=2)


def timed(ratings: Ratings) -> Ratings:
    """The same records, made as many seconds after 1970 as their values say."""
    return dataclasses.replace(ratings, times=ratings.values().astype(np.uint32))


@_add(
    "period-counts/{unit}/{noise}", "how many records each period has", unit=FIT_UNITS, noise=Noise
)  # fmt: skip
def _period_counts(unit: Unit) -> Corner:
    statistic = PeriodCounts(unit, _PERIODS)
    neighbours = Neighbours.of(unit, 4, {0: 5.0}, (1, 5.0))
    return Corner.of(statistic, neighbours, prepare=timed)


@_add(
    "recent-counts/{unit}/{noise}",
    "how often each item was had lately",
    unit=FIT_UNITS,
    noise=Noise,
)
def _recent_counts(unit: Unit, noise: Noise) -> Corner:
    weights = np.array([WEIGHT_GRID // 2, WEIGHT_GRID])
    statistic = RecentCounts(unit, noise, _PERIODS, weights)
    neighbours = Neighbours.of(unit, 4, {0: 5.0, 2: 5.0}, (1, 5.0))
    return Corner.of(statistic, neighbours, prepare=timed)


# Statistics of pairs of items.


_PARTS = ("triangle", "diagonal")


@_add(
    "covariance-{part}/{kind}/{noise}", "the {part} of how tastes go together",
    part=_PARTS, kind=("rating", "user"), noise=Noise, weights=[False],
)  # fmt: skip
@_add(
    "weights-{part}/{kind}/{noise}", "the {part} of who rated both",
    part=_PARTS, kind=("rating", "user"), noise=Noise, weights=[True],
)  # fmt: skip
def _covariance(part: str, kind: str, noise: Noise, weights: bool) -> Corner:
    """All old ratings at the clamp, and one more; the diagonal moves most by somebody's first.

    In L1 what the new rating pushes the old ones by counts for more, so they are on the edge.
    """
    pushes = kind == "rating" and noise is Noise.LAPLACE and not weights
    most = _PUSHED[part] if pushes else _OLD
    old = 0 if part == "diagonal" and kind != "user" and not pushes else most
    items = most + 1
    statistic = _covariance_of(kind, noise, items)
    if kind == "user":
        several = 1 if part == "diagonal" else items
        neighbours = Neighbours.by_user(items, dict.fromkeys(range(several), 5.0))
    else:
        neighbours = Neighbours.by_rating(items, threes(old), (old, 3.0))

    def measure(ratings: Ratings) -> Ints:
        cov, wgt = statistic.measure(ratings)
        return part_of(wgt if weights else cov, part)

    bounds = statistic.vote_sensitivities if weights else statistic.sensitivities
    runs = _FEWER_RUNS if items > 2 * _OLD else RUNS
    bound = bounds[part == "diagonal"]
    return Corner(measure, neighbours, bound, runs)


def _covariance_of(kind: str, noise: Noise, items: int) -> Covariance:
    head = head_of(items)
    if kind == "user":
        return UserCovariance(noise, head, user_votes(noise, items))
    if noise is Noise.LAPLACE:
        centring = HuberCentring(0.5, 1)
        x = [on_the_edge(centring, items - 1)] * (items - 1) + [FAR]
        return RatingCovariance(noise, head, centring, levels_that_leave(x, items))
    levels = levels_that_leave([FAR] * items, items)
    return RatingCovariance(noise, head, HuberCentring(0.5, 20), levels)


@_add("presence-pairs/{unit}/{noise}", "who has both, by weight", unit=FIT_UNITS, noise=Noise)
def _presence_pairs(unit: Unit, noise: Noise) -> Corner:
    """Somebody who has the whole head, or all of it but one item."""
    statistic = PresencePairs(unit, noise, head_of(_OLD + 1))
    neighbours = Neighbours.of(unit, _OLD + 1, threes(_OLD), (_OLD, 3.0))
    return Corner.of(statistic, neighbours)


@_add(
    "head-weights-{part}/{unit}/{noise}", "the {part} that pairs are out of",
    part=("records", "people"), unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def _head_weights(part: str, unit: Unit, noise: Noise) -> Corner:
    """Somebody's first item; of users' records, somebody with two."""
    statistic, place = HeadWeights(unit, noise, head_of(4)), part == "people"
    old = 1 if unit is Unit.USER and not place else 0
    neighbours = Neighbours.of(unit, 4, threes(old), (old, 3.0))
    return Corner.of(statistic, neighbours, place)


@_add("history-pairs/rating/gaussian", "pairs with older records, of four periods together")
def _history_pairs() -> Corner:
    """Somebody who has two items from before and comes in every period. A value says the time."""
    items = 8
    weights = FrozenWeights(share=0.5, flat=4, most=items)
    series = [HistoryPairs(head_of(items), at, at + 1, weights) for at in (2, 3, 4, 5)]
    when = dict(enumerate((1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0)))

    def measure(ratings: Ratings) -> Ints:
        codes = PRESENCE.encode(np.ones(len(ratings)))
        there = dataclasses.replace(timed(ratings), scale=PRESENCE, codes=codes)
        each = (statistic.measure(there)[0] for statistic in series)
        return np.concatenate([part_of(table, "triangle") for table in each])

    neighbours = Neighbours.by_rating(items, when, (items - 1, 2.0))
    return Corner(measure, neighbours, weights.of_pairs)


@_add(
    "slope-one-{part}/{unit}/{noise}", "Slope One's {part} over pairs",
    part=("differences", "weights"), unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def _slope_one(part: str, unit: Unit, noise: Noise) -> Corner:
    """Old ratings at one end of the scale, one more at the other."""
    old = 8 if noise is Noise.GAUSSIAN or part == "weights" else 1
    statistic = DifferencePairs(unit, noise, head_of(9), STARS)
    neighbours = Neighbours.of(unit, 9, dict.fromkeys(range(old), 1.0), (old, 5.0))
    return Corner.of(statistic, neighbours, int(part == "weights"))


@_add(
    "cosine-{part}/{unit}/{noise}", "the cosine's {part}",
    part=("products", "squares"), unit=FIT_UNITS, noise=Noise,
)  # fmt: skip
def _cosine(part: str, unit: Unit, noise: Noise) -> Corner:
    old = 8 if unit is Unit.RATING or noise is Noise.GAUSSIAN else 1
    if part == "squares":
        old = 2 if unit is Unit.RATING and noise is Noise.LAPLACE else 0
    statistic = CosinePairs(unit, noise, head_of(9), STARS)
    neighbours = Neighbours.of(unit, 9, dict.fromkeys(range(old), 5.0), (old, 5.0))
    return Corner.of(statistic, neighbours, int(part == "squares"))


# Refinements of tastes.


@_add("refinement-{part}/rating/gaussian", "the {part} of a refinement of tastes", part=_MOVERS)
def _refinement(part: str) -> Corner:
    """Old ratings that one more pushes all the same way, held at the edge of the clipping.

    The more there are, the nearer they come to moving by as much as the new one. For the weight
    few fall from one end of the clamp to the other.
    """
    centring, movers = HuberCentring(0.4, 40), _MOVERS[part]
    held = _held(movers) - (part == "rows")
    items = movers + held + 1
    directions = np.append(np.full(items - 1, -1.0), 1.0)[:, None]
    level = held * centring.reach // centring.fictitious
    fall = centring.reach // (movers + centring.fictitious) + 1
    x = np.full(items, FAR)
    x[:movers:2], x[1:movers:2] = level + centring.reach, level - centring.reach + fall
    if part == "weight":
        centring, items = HuberCentring(0.4, 1), movers + 1
        directions, x = np.zeros((items, 1)), np.full(items, FAR)
        x[:-1] = centring.reach - on_the_edge(centring, movers)
    levels = levels_that_leave(x, items)
    statistic = RatingRefinement(directions, _REACH, _DAMPING, centring=centring, levels=levels)
    neighbours = Neighbours.by_rating(items, threes(items - 1), (items - 1, 3.0))
    bounds = {
        "rows": statistic.sensitivity,
        "moments": statistic.moment_sensitivity,
        "weight": statistic.weight_sensitivity,
    }
    return Corner(_attribute(statistic.measure, part), neighbours, bounds[part])


def _held(movers: int) -> int:
    """The most ratings in one direction, beside some that cancel, whose tastes are not clipped.

    They are held/lambda long, and lambda^2 = movers + held + c0.
    """
    square = _REACH * _REACH
    return math.floor((square + math.sqrt(square**2 + 4 * square * (movers + _DAMPING))) / 2)


@_add(
    "refinement-{part}/user/{noise}", "the {part} of a refinement by users",
    part=("rows", "moments", "weight", "scales"), noise=Noise,
)  # fmt: skip
def _user_refinement(part: str, noise: Noise) -> Corner:
    items = _WHOLE_SHARE if part in ("moments", "weight") else 6
    factors = np.column_stack([np.full(items, 0.4), np.ones(items)])
    statistic = UserRefinement(user_votes(noise, items), factors, np.ones(items), 0.55)
    own = threes(items) if part == "scales" else dict.fromkeys(range(items), 5.0)
    bounds = {"rows": statistic.sensitivity, "scales": statistic.scale_sensitivity}
    bound = bounds.get(part, statistic.moment_sensitivity)
    return Corner(_attribute(statistic.measure, part), Neighbours.by_user(items, own), bound)


@_add("refinement-sketch/user/gaussian", "along which directions ratings vary")
def _sketch() -> Corner:
    """Somebody whose ratings all go one way, between two directions."""
    statistic = UserSketch(user_votes(Noise.GAUSSIAN, 4), np.tile([0.6, 0.8], (4, 1)))
    neighbours = Neighbours.by_user(4, dict.fromkeys(range(4), 5.0))
    return Corner.of(statistic, neighbours)


# Single answers.


@_add(
    "answers-{method}/{whose}/rating/{noise}", "one answer to a person; a record of {whose}",
    method=OutputMethod, whose=("others", "own"), noise=[Noise.LAPLACE],
)  # fmt: skip
def _answers(method: OutputMethod, whose: str) -> Corner:
    """One answer to one person, moved by another person's record or by their own."""
    scale = PRESENCE if method is OutputMethod.COSINE else STARS
    function = OutputFunction(method, scale, 10, 20)
    neighbours = answer_neighbours(scale, whose)
    asked = 0 if whose == "others" else len(neighbours.others)
    bound = function.by_others if whose == "others" else function.by_own_record

    def measure(ratings: Ratings) -> Ints:
        return function.measure(ratings, np.array([asked]), np.array([0]))

    return Corner(measure, neighbours, bound)


def answer_neighbours(scale: Scale, whose: str) -> Neighbours:
    """Twenty own items; others who rated them at one end and the asked one at the other."""
    items = range(1, 21)
    low, high = (1.0, 1.0) if scale.presence else (1.0, 5.0)
    own, raters = dict.fromkeys(items, 3.0 if high > low else 1.0), 10
    against = {0: low, **dict.fromkeys(items, high)}
    if whose == "others":
        crowd = () if scale.presence else (against,) * raters
        rest = dict.fromkeys(items, low)
        return Neighbours(22, Unit.RATING, rest, {0: high}, (own, *crowd), scale)
    if scale.presence:
        pair = ({0: 1.0, 21: 1.0},) * raters
        return Neighbours(22, Unit.RATING, dict.fromkeys(range(1, 20), 1.0), {21: 1.0}, pair, scale)
    crowd = ({0: high, 21: low}, against) * raters
    return Neighbours(22, Unit.RATING, dict.fromkeys(items, low), {21: high}, crowd, scale)
