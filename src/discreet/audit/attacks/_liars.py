"""A few people who report what they like, to have an item recommended to everybody."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._data import Floats, popularity
from discreet.domain import InputError, OwnRatings
from discreet.privacy import SeededRandomness
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.protocols.local_reports.server import (
    AnswerLaw,
    ReportTotals,
    Spool,
    reported_effects,
)
from discreet.ratings import Ratings

# How many lie (one in a hundred), among how many first items they want theirs, and the epsilon of
# the reports. Chosen by hand.
_LIARS, _TOP, _EPSILON = 10, 10, 2.0
# Items that are pushed one after the other, and the ratings that each has at least. Chosen by hand.
_TRIES, _FEWEST = 60, 20


def _outcomes(ratings: Ratings, seed: int) -> Iterator[Outcome]:
    """The widest answers first; then those that bound what a report can do."""
    rng = np.random.default_rng([seed, 12])
    known = np.flatnonzero(popularity(ratings) >= _FEWEST)
    if len(known) < 3 * _TOP:
        raise InputError(f"too few items have {_FEWEST} ratings for anybody to be lifted above")
    pushed = rng.choice(known, min(_TRIES, len(known)), replace=False)
    for mechanism, is_protected in (
        (Mechanism.MODIFIED_LAPLACE, False),
        (Mechanism.RANDOMIZED_RESPONSE, True),
        (Mechanism.ROUNDED_RESPONSE, True),
    ):
        collection = Collection(ratings.catalog, ratings.scale, mechanism, _EPSILON)
        totals = _honest(collection, ratings, seed)
        before = _first(collection, totals, known)
        won = np.array([item in _first(collection, _lied(collection, totals, item), known)
                        for item in pushed])  # fmt: skip
        guessed = np.isin(pushed, before)
        yield judge(f"{mechanism}, epsilon {_EPSILON:g}", won, guessed, is_protected=is_protected)


ATTACK = Attack(
    name="liars",
    about=f"an item's place among the first {_TOP}, by {_LIARS} people who lie",
    source="against local reports of version 0.1.0",
    knows=f"the terms of a collection of local reports; {_LIARS} of the reports are the attacker's",
    tries_to=f"lift an item with {_FEWEST} ratings or more among the {_TOP} with the highest means",
    counts=f"whether the item is among the first {_TOP} of those with {_FEWEST} ratings or more",
    remark=(
        "What one report can do is bounded by the largest answer, which noise makes larger than a "
        "rating: 15 times for modified Laplace at epsilon 2, and 1.3 times for rounded response. "
        "Guessing is whether the item is there without lies."
    ),
    outcomes=_outcomes,
)


def _honest(collection: Collection, ratings: Ratings, seed: int) -> ReportTotals:
    randomness = SeededRandomness(f"liars {seed} {collection.mechanism}")
    values = ratings.values()

    def reports() -> Iterator[Report]:
        for first, stop in zip(ratings.starts[:-1], ratings.starts[1:], strict=True):
            order = np.argsort(ratings.items[first:stop])
            own = OwnRatings(ratings.items[first:stop][order], values[first:stop][order])
            yield draw_report(collection, own, randomness)

    with Spool(collection) as spool:
        return spool.fill(reports())


def _lied(collection: Collection, totals: ReportTotals, item: int) -> ReportTotals:
    """With reports that say the most about one item, and nothing about others."""
    most = int(collection.centred(np.array([collection.largest]))[0])
    shown, sums = totals.shown.copy(), totals.sums.copy()
    shown[item] += _LIARS
    sums[item] += _LIARS * most
    return ReportTotals(
        shown,
        sums,
        np.append(totals.shown_by, np.ones(_LIARS, np.int32)),
        np.append(totals.sums_by, np.full(_LIARS, most)),
    )


def _first(
    collection: Collection, totals: ReportTotals, known: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The items with the highest levels."""
    levels: Floats = reported_effects(collection, AnswerLaw.of(collection), totals).effects[known]
    return known[np.argsort(-levels, kind="stable")[:_TOP]]
