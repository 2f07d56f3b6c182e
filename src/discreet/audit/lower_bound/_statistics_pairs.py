"""Statistics of pairs of items and of tastes, each at a corner where they move far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.audit._neighbours import STARS, Neighbours, Person
from discreet.audit.lower_bound._noisy import RUNS, StatisticSubject
from discreet.audit.lower_bound._statistics import (
    FAR,
    Builder,
    levels_that_leave,
    on_the_edge,
    threes,
    user_votes,
)
from discreet.domain import PRESENCE, Scale
from discreet.measure.centring import HuberCentring
from discreet.measure.covariance import (
    Covariance,
    PresenceCovariance,
    RatingCovariance,
    UserCovariance,
)
from discreet.measure.outputs import OutputFunction, OutputMethod
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.measure.refinement import (
    PresenceRefinement,
    RatingRefinement,
    RecordRefinement,
    UserRefinement,
)
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

_OLD = 12
_PUSHED = {"diagonal": 2, "triangle": 40}
"""How many old ratings one more pushes furthest in L1, all of them together."""
_MOVERS = {"rows": 200, "moments": 1000, "weight": 7}
_DAMPING = 20.0
"""Of refinements: c0."""
_FEWER = 10_000
"""Runs where very many numbers move."""


def pair_statistics() -> Iterator[tuple[str, Builder]]:
    """Names and what makes the subjects."""
    for noise in Noise:
        for part in ("triangle", "diagonal"):
            for kind in ("rating", "presence/rating", "user"):
                name = f"covariance-{part}/{kind}/{noise}"
                yield name, partial(_covariance, name, kind, part, noise, weights=False)
            for kind in ("rating", "user"):
                name = f"weights-{part}/{kind}/{noise}"
                yield name, partial(_covariance, name, kind, part, noise, weights=True)
        for unit in Unit:
            for part in ("differences", "weights"):
                yield f"slope-one-{part}/{unit}/{noise}", partial(_slope_one, part, unit, noise)
            for part in ("products", "squares"):
                yield f"cosine-{part}/{unit}/{noise}", partial(_cosine, part, unit, noise)
        for part in ("rows", "moments", "weight", "scales"):
            yield f"refinement-{part}/user/{noise}", partial(_user_refinement, part, noise)
    for part in ("rows", "moments", "weight"):
        yield f"refinement-{part}/rating/gaussian", partial(_refinement, part)
        name = f"refinement-{part}/presence/rating/gaussian"
        yield name, partial(_presence_refinement, part)
    for method in OutputMethod:
        for whose in ("others", "own"):
            name = f"answers-{method}/{whose}/rating/laplace"
            yield name, partial(_answers, name, method, whose)


def head_of(items: int) -> npt.NDArray[np.int32]:
    """All of them."""
    return np.arange(items, dtype=np.int32)


def part_of(packed: _Ints, size: int, part: str) -> _Ints:
    """The strict triangle or the diagonal of a packed upper triangle."""
    rows, columns = np.triu_indices(size)
    return np.asarray(packed[(rows == columns) == (part == "diagonal")])


def _covariance(
    name: str, kind: str, part: str, noise: Noise, *, weights: bool
) -> StatisticSubject:
    """All old ratings at the clamp, and one more; the diagonal moves most by somebody's first.

    In L1 what the new rating pushes the old ones by counts for more, so they are on the edge.
    """
    pushes = kind == "rating" and noise is Noise.LAPLACE and not weights
    most = _PUSHED[part] if pushes else _OLD
    old = 0 if part == "diagonal" and kind != "user" and not pushes else most
    items = most + 1
    statistic, scale = _covariance_of(kind, noise, items)
    value = 1.0 if scale.presence else 5.0 if kind == "user" else 3.0
    rated = dict.fromkeys(range(old), value)
    if kind == "user":
        several = 1 if part == "diagonal" else items
        neighbours = Neighbours.by_user(items, dict.fromkeys(range(several), value), scale)
    else:
        neighbours = Neighbours.by_rating(items, rated, (old, value), scale)

    def measure(ratings: Ratings) -> _Ints:
        cov, wgt = statistic.measure(ratings)
        return part_of(wgt if weights else cov, items, part)

    told = statistic.vote_sensitivities if weights else statistic.sensitivities
    about = f"the {part} of {'who rated both' if weights else 'how tastes go together'}"
    runs = _FEWER if items > 2 * _OLD else RUNS
    bound = told[part == "diagonal"]
    return StatisticSubject(name, about, measure, neighbours, noise, bound, runs=runs)


def _covariance_of(kind: str, noise: Noise, items: int) -> tuple[Covariance, Scale]:
    head = head_of(items)
    if kind == "presence/rating":
        return PresenceCovariance(noise, head), PRESENCE
    if kind == "user":
        return UserCovariance(noise, head, user_votes(noise, items)), STARS
    if noise is Noise.LAPLACE:
        centring = HuberCentring(0.5, 1)
        x = [on_the_edge(centring, items - 1)] * (items - 1) + [FAR]
        return RatingCovariance(noise, head, centring, levels_that_leave(x, items)), STARS
    levels = levels_that_leave([FAR] * items, items)
    return RatingCovariance(noise, head, HuberCentring(0.5, 20), levels), STARS


def _slope_one(part: str, unit: Unit, noise: Noise) -> StatisticSubject:
    """Old ratings at one end of the scale, one more at the other."""
    old = 8 if noise is Noise.GAUSSIAN or part == "weights" else 1
    statistic = DifferencePairs(unit, noise, head_of(9), STARS)
    neighbours = Neighbours.of(unit, 9, dict.fromkeys(range(old), 1.0), (old, 5.0))
    measure = partial(_part_of_moments, statistic.measure, part)
    bound = statistic.sensitivity if part == "differences" else statistic.weight_sensitivity
    name, about = f"slope-one-{part}/{unit}/{noise}", f"Slope One's {part} over pairs"
    return StatisticSubject(name, about, measure, neighbours, noise, bound)


def _cosine(part: str, unit: Unit, noise: Noise) -> StatisticSubject:
    old = 8 if unit is Unit.RATING or noise is Noise.GAUSSIAN else 1
    if part == "squares":
        old = 2 if unit is Unit.RATING and noise is Noise.LAPLACE else 0
    statistic = CosinePairs(unit, noise, head_of(9), STARS)
    neighbours = Neighbours.of(unit, 9, dict.fromkeys(range(old), 5.0), (old, 5.0))
    measure = partial(_part_of_moments, statistic.measure, part)
    bound = statistic.square_sensitivity if part == "squares" else statistic.sensitivity
    name, about = f"cosine-{part}/{unit}/{noise}", f"the cosine's {part}"
    return StatisticSubject(name, about, measure, neighbours, noise, bound)


def _refinement(part: str) -> StatisticSubject:
    """Old ratings that one more pushes all the same way, held at the edge of the clipping.

    The more there are, the nearer they come to moving by as much as the new one. For the weight
    few fall from one end of the clamp to the other.
    """
    centring, reach, movers = HuberCentring(0.4, 40), 1.4, _MOVERS[part]
    held = _held(reach, movers) - (part == "rows")
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
    statistic = RatingRefinement(directions, reach, _DAMPING, centring=centring, levels=levels)
    neighbours = Neighbours.by_rating(items, threes(items - 1), (items - 1, 3.0))
    name = f"refinement-{part}/rating/gaussian"
    return _record_refinement(name, part, statistic, neighbours)


def _held(reach: float, movers: int) -> int:
    """The most ratings in one direction, beside some that cancel, whose tastes are not clipped.

    They are held/lambda long, and lambda^2 = movers + held + c0.
    """
    square = reach * reach
    return math.floor((square + math.sqrt(square**2 + 4 * square * (movers + _DAMPING))) / 2)


def _presence_refinement(part: str) -> StatisticSubject:
    """Records that nearly cancel, held at the edge of the clipping, and one against them."""
    old = {"rows": 200, "moments": 1000, "weight": 0}[part]
    reach, along = 1.4, np.ones(old + 1)
    held = math.floor(reach * math.sqrt(old + _DAMPING)) // 2 * 2
    along[(old + held) // 2 :] = -1.0
    statistic = PresenceRefinement(along[:, None], reach, _DAMPING)
    records = dict.fromkeys(range(old), 1.0)
    neighbours = Neighbours.by_rating(old + 1, records, (old, 1.0), PRESENCE)
    name = f"refinement-{part}/presence/rating/gaussian"
    return _record_refinement(name, part, statistic, neighbours)


def _record_refinement(
    name: str, part: str, statistic: RecordRefinement, neighbours: Neighbours
) -> StatisticSubject:
    bounds = {
        "rows": statistic.sensitivity,
        "moments": statistic.moment_sensitivity,
        "weight": statistic.weight_sensitivity,
    }
    about = f"the {part} of a refinement of tastes"
    measure = partial(_part_of_moments, statistic.measure, part)
    return StatisticSubject(name, about, measure, neighbours, Noise.GAUSSIAN, bounds[part])


def _user_refinement(part: str, noise: Noise) -> StatisticSubject:
    # Somebody with 484 ratings has a whole share of the moments.
    items = 484 if part in ("moments", "weight") else 6
    votes: UserVotes = user_votes(noise, items)
    factors = np.column_stack([np.full(items, 0.4), np.ones(items)])
    statistic = UserRefinement(votes, factors, np.ones(items), 0.55)
    own: Person = dict.fromkeys(range(items), 5.0)
    if part == "scales":
        own = threes(items)
    bounds = {"rows": statistic.sensitivity, "scales": statistic.scale_sensitivity}
    bound = bounds.get(part, statistic.moment_sensitivity)
    name, about = f"refinement-{part}/user/{noise}", f"the {part} of a refinement by users"
    measure = partial(_part_of_moments, statistic.measure, part)
    return StatisticSubject(name, about, measure, Neighbours.by_user(items, own), noise, bound)


def _part_of_moments(
    measure: Callable[[Ratings], object], part: str, ratings: Ratings
) -> npt.ArrayLike:
    found: npt.ArrayLike = getattr(measure(ratings), part)
    return found


def _answers(name: str, method: OutputMethod, whose: str) -> StatisticSubject:
    """One answer to one person, moved by somebody else's record or by their own."""
    scale = PRESENCE if method is OutputMethod.COSINE else STARS
    function = OutputFunction(method, scale, 10, 20)
    neighbours = answer_neighbours(scale, whose)
    asked = 0 if whose == "others" else len(neighbours.others)
    bound = function.by_others if whose == "others" else function.by_own_record
    about = f"one answer to a person; a record of {'another' if whose == 'others' else 'theirs'}"

    def measure(ratings: Ratings) -> _Ints:
        return function.measure(ratings, np.array([asked]), np.array([0]))

    return StatisticSubject(name, about, measure, neighbours, Noise.LAPLACE, bound)


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
