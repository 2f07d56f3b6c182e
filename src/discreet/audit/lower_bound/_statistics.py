"""Statistics of items one by one, each at the corner where one rating or one user moves it most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.audit._neighbours import STARS, Neighbours, Person
from discreet.audit.counterexamples import theorem_4
from discreet.audit.lower_bound._noisy import StatisticSubject
from discreet.domain import PRESENCE, Scale
from discreet.measure import ItemCounts
from discreet.measure.agreement import Agreement, PresenceAgreement, RatingAgreement
from discreet.measure.centring import GRID, HuberCentring, ItemLevels
from discreet.measure.item_sums import RatingSums, ResidualSums
from discreet.measure.level import Level
from discreet.measure.probe_error import ProbeError
from discreet.measure.user_votes import UserVotes
from discreet.privacy import Noise, Unit

_Floats = npt.NDArray[np.float64]
Builder = Callable[[], StatisticSubject]

FAR = 1 << 42
"""In grid units: a residual that is cut off whatever the person's level is."""


def levels_that_leave(x: npt.ArrayLike, items: int) -> ItemLevels:
    """Released levels under which a rating of 3 of item j leaves x_j grid units."""
    told = np.asarray(x, np.float64)
    effects = np.zeros(items)
    effects[: len(told)] = -told / GRID
    return ItemLevels(3.0, effects)


def on_the_edge(centring: HuberCentring, old: int) -> int:
    """Where so many equal residuals are all cut to B, and all fall if one more pulls them up.

    With every y = B the level b is c B/beta, and x = b + B.
    """
    return centring.reach + old * centring.reach // centring.fictitious


def threes(count: int) -> Person:
    """A 3 for each of the first items."""
    return dict.fromkeys(range(count), 3.0)


def item_statistics() -> Iterator[tuple[str, Builder]]:
    """Names and what makes the subjects."""
    for noise in Noise:
        for unit in Unit:
            yield f"item-counts/{unit}/{noise}", partial(_item_counts, unit, noise)
            yield f"level/{unit}/{noise}", partial(_level, unit, noise)
            yield f"probe-error/{unit}/{noise}", partial(_probe_error, unit, noise)
            yield f"agreement/{unit}/{noise}", partial(_agreement, unit, noise)
            yield f"agreement/presence/{unit}/{noise}", partial(_presence_agreement, unit, noise)
        yield f"item-sums/rating/{noise}", partial(_rating_sums, noise)
        yield f"centred-sums/rating/{noise}", partial(_centred_sums, noise)
        yield f"user-votes/user/{noise}", partial(_user_votes, noise)
        yield f"user-scales/user/{noise}", partial(_user_scales, noise)
    name = "centred-sums/paper/rating/gaussian"
    yield name, partial(centred_by_paper, name, proved=True)


def _item_counts(unit: Unit, noise: Noise) -> StatisticSubject:
    statistic = ItemCounts(unit, noise)
    neighbours = Neighbours.by_rating(4, {0: 3.0}, (1, 5.0))
    if unit is Unit.USER:
        votes = threes(4 if noise is Noise.GAUSSIAN else 1)
        neighbours = Neighbours.by_user(4, votes)
    name, about = f"item-counts/{unit}/{noise}", "how often each item was rated"
    return StatisticSubject(
        name, about, statistic.measure, neighbours, noise, statistic.sensitivity
    )


def _rating_sums(noise: Noise) -> StatisticSubject:
    statistic = RatingSums(STARS)
    neighbours = Neighbours.by_rating(4, {0: 3.0}, (1, 5.0))
    name, about = f"item-sums/rating/{noise}", "sums of ratings; a 5 more"
    return StatisticSubject(
        name, about, statistic.measure, neighbours, noise, statistic.sensitivity
    )


def _centred_sums(noise: Noise) -> StatisticSubject:
    """L2 is worst with as many old ratings as fictitious ones, L1 with few of those."""
    old = 20
    centring = HuberCentring(0.5, old if noise is Noise.GAUSSIAN else 1)
    levels = levels_that_leave([on_the_edge(centring, old)] * old + [FAR], old + 1)
    statistic = ResidualSums(centring, levels, noise, old + 1)
    neighbours = Neighbours.by_rating(old + 1, threes(old), (old, 3.0))
    about = "sums of centred ratings; a rating that pushes all others of its person"
    name, told = f"centred-sums/rating/{noise}", (neighbours, noise, statistic.sensitivity)
    return StatisticSubject(name, about, statistic.measure, *told)


def centred_by_paper(name: str, *, proved: bool) -> StatisticSubject:
    """Many 1s on items that average 5, then a 5 on an item that averages 1: see `Centred`."""
    example, noise = theorem_4(68, 2.0), Noise.GAUSSIAN
    items = len(example.levels.effects)
    statistic = ResidualSums(example.centring, example.levels, noise, items)
    bound = statistic.sensitivity if proved else math.sqrt(example.claimed) * GRID
    about = f"sums centred as in the paper, with {'our' if proved else 'its'} bound"
    return StatisticSubject(name, about, statistic.measure, example.neighbours, noise, bound)


def _level(unit: Unit, noise: Noise) -> StatisticSubject:
    statistic = Level(unit, STARS, ItemLevels(1.0, np.zeros(3)))
    if unit is Unit.USER:
        neighbours = Neighbours.by_user(3, {0: 5.0, 1: 5.0})
    else:
        neighbours = Neighbours.by_rating(3, {0: 1.0}, (1, 5.0))
    name, about = f"level/{unit}/{noise}", "how far ratings lie above levels; a 5 at level 1"
    return StatisticSubject(
        name, about, statistic.measure, neighbours, noise, statistic.sensitivity
    )


def _probe_error(unit: Unit, noise: Noise) -> StatisticSubject:
    """Everything is predicted as a 1."""
    statistic = ProbeError(STARS)
    neighbours = Neighbours.by_rating(3, {}, (1, 5.0))
    if unit is Unit.USER:
        neighbours = Neighbours.by_user(3, {0: 5.0, 1: 5.0})
    return StatisticSubject(
        f"probe-error/{unit}/{noise}",
        "squared errors of predictions; one that is as wrong as can be",
        lambda ratings: statistic.measure(ratings, np.ones(len(ratings))),
        neighbours,
        noise,
        statistic.sensitivity,
    )


def user_votes(noise: Noise, items: int, prior: float | None = None) -> UserVotes:
    """Votes on levels of 3."""
    return UserVotes(ItemLevels(3.0, np.zeros(items)), np.ones(items), prior, noise)


def _user_votes(noise: Noise) -> StatisticSubject:
    statistic = user_votes(noise, 4)
    own = {0: 5.0, 1: 1.0, 2: 5.0} if noise is Noise.GAUSSIAN else {0: 5.0}
    name, about = f"user-votes/user/{noise}", "users' residuals scaled to length 1"
    return StatisticSubject(
        name, about, lambda ratings: statistic.measure(ratings)[0],
        Neighbours.by_user(4, own), noise, statistic.sensitivity,
    )  # fmt: skip


def _user_scales(noise: Noise) -> StatisticSubject:
    """Somebody whose residuals are nothing has the largest scale there is."""
    statistic = user_votes(noise, 4)
    name, about = f"user-scales/user/{noise}", "the scales of users' residuals"
    return StatisticSubject(
        name, about, lambda ratings: statistic.measure(ratings)[1],
        Neighbours.by_user(4, threes(4)), noise, statistic.scale_sensitivity,
    )  # fmt: skip


def _agreement(unit: Unit, noise: Noise) -> StatisticSubject:
    """Two ratings that disagree, and a third in a direction that outweighs them."""
    centring, levels = HuberCentring(0.5, 40), levels_that_leave([FAR, -FAR, FAR], 3)
    directions = np.array([[10.0], [9.0], [1000.0]])
    statistic = RatingAgreement(unit, directions, centring=centring, levels=levels)
    return _of_agreement(f"agreement/{unit}/{noise}", statistic, noise, STARS)


def _presence_agreement(unit: Unit, noise: Noise) -> StatisticSubject:
    statistic = PresenceAgreement(unit, np.array([[10.0], [-9.0], [1000.0]]))
    return _of_agreement(f"agreement/presence/{unit}/{noise}", statistic, noise, PRESENCE)


def _of_agreement(name: str, statistic: Agreement, noise: Noise, scale: Scale) -> StatisticSubject:
    value = scale.hi if scale.presence else scale.mid
    neighbours = Neighbours.of(statistic.unit, 3, {0: value, 1: value}, (2, value), scale)
    about = "whether ratings agree along features; one that turns it round"
    told = (neighbours, noise, statistic.sensitivity)
    return StatisticSubject(name, about, statistic.measure, *told)
