"""Bugs planted on purpose, so that the audit can show that it finds them. Nothing else uses these.

Each is the real code with one thing wrong, and the claim of the right one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from discreet.audit._neighbours import STARS, Neighbours
from discreet.audit._registry import Entry, register
from discreet.audit.lower_bound._canaries import OneRunSubject
from discreet.audit.lower_bound._engine import Auditable, Claim, Floats, Ints, Subject
from discreet.audit.lower_bound._fits import FitSubject, effects_fit, whole_fit
from discreet.audit.lower_bound._mechanisms import (
    SELECTIONS,
    Selection,
    ledger,
    noise_on_one,
    randomized_response,
    selection,
)
from discreet.audit.lower_bound._noisy import Corner, add_noise, register_corner
from discreet.audit.lower_bound._protocols import (
    BEYOND,
    CHANGED,
    answers,
    changed_rating,
    one_liar,
)
from discreet.audit.lower_bound._series import (
    added_again,
    counted_as_fresh,
    lifetime_of_another_plan,
    overlapping,
    same_noise,
)
from discreet.audit.lower_bound._statistics import head_of, timed
from discreet.domain import OwnRatings
from discreet.measure.centring import ItemLevels
from discreet.measure.level import Level
from discreet.measure.presence_pairs import PairMovement, PresencePairs, pair_weights
from discreet.measure.recency import WEIGHT_GRID, Periods, RecentCounts
from discreet.measure.user_votes import GRID as VOTE_GRID
from discreet.methods import MethodName
from discreet.privacy import Event, Noise, Randomness, SeededRandomness, Unit
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger import Ledger
from discreet.privacy.mechanisms import Moves, RoundedGaussian
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.ratings import Ratings

BUGS: dict[str, Entry[Auditable]] = {}
_bug = partial(register, BUGS)
_wrong = partial(register_corner, BUGS)

# How many times too small a fit's noise is. Laplace noise, spread over many numbers, is harder to
# see than Gaussian noise: smaller factors are missed.
_FACTORS = {Noise.GAUSSIAN: 2.0, Noise.LAPLACE: 6.0}
# The same where a fit is made once, which shows coarse mistakes only.
_ONE_RUN_FACTOR = 16.0
# The method of whole fits with too little noise: one whose fits take the fewest milliseconds.
_WHOLE = {Noise.GAUSSIAN: MethodName.COVARIANCE, Noise.LAPLACE: MethodName.SLOPE_ONE}
# Runs of fits: fewer than for right ones, since a factor of 2 shows early.
_EFFECTS_RUNS, _WHOLE_RUNS = 1000, 400
# Sensitivities of a sum of ratings and of a count, and the sigma of the noise on both.
_SENSITIVITIES, _SIGMA = (4.0, 1.0), 4.0
# Grid units in a weight of 1, and steps in a doubling of coarse weights.
_WHOLE_WEIGHT, _COARSE = 1 << 20, 2


# Noise that is too small, drawn twice, or booked and forgotten.


@_bug("half-noise/{noise}", "noise of half the size that was booked", noise=Noise)
def _half_noise(name: str, about: str, noise: Noise) -> Subject:
    return noise_on_one(name, about, noise, 1 << 20, drawn=0.5)


@_bug("half-noise/randomized-response", "the same, at home")
def _half_response(name: str, about: str) -> Subject:
    return randomized_response(name, about, drawn=0.5)


@_bug("thin-noise/pipeline/{noise}", "a fit up to item effects with too little noise", noise=Noise)
def _thin_effects(name: str, about: str, noise: Noise) -> FitSubject:
    return effects_fit(name, about, Unit.USER, noise, _FACTORS[noise], _EFFECTS_RUNS)


@_bug(
    "thin-noise/whole-fit/{noise}", "a whole fit, tastes and all, with too little noise",
    noise=Noise,
)  # fmt: skip
def _thin_fit(name: str, about: str, noise: Noise) -> FitSubject:
    return whole_fit(name, about, _WHOLE[noise], Unit.USER, noise, _FACTORS[noise], _WHOLE_RUNS)


@_bug(
    "thin-noise/one-run/{noise}", "a fit up to item effects, once, with too little noise",
    noise=Noise,
)  # fmt: skip
def _thin_run(name: str, about: str, noise: Noise) -> OneRunSubject:
    return OneRunSubject(name, about, Unit.USER, noise, _ONE_RUN_FACTOR)


@_bug("reused-seed/two-statistics", "a sum and a count whose noise began from one seed")
def _reused_seed(name: str, about: str) -> Subject:
    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        seed = randomness.bits(64)
        columns = []
        for moved in _SENSITIVITIES:
            true = np.full(runs, 0 if world else round(moved))
            source = SeededRandomness(seed)
            columns.append(add_noise(true, Noise.GAUSSIAN, _SIGMA, moved, source))
        return np.column_stack(columns).astype(np.float64)

    mechanism = RoundedGaussian(_SIGMA)
    claim = Claim.of([mechanism.event(each, Unit.RATING, "audit") for each in _SENSITIVITIES])
    return Subject(name, about, claim, draw)


class _ForgetfulLedger(Ledger):
    """Looks at each charge as if it were the first."""

    def _after(self, spent: dict[Unit, Totals], events: Sequence[Event]) -> dict[Unit, Totals]:  # type: ignore[override]
        return dict(super()._after(dict.fromkeys(spent, Totals()), events))


@_bug(
    "forgetful-ledger/{kind}", "a ledger that looks at each charge as if it were the first",
    kind=("pure", "gaussian"),
)  # fmt: skip
def _forgetful_ledger(name: str, about: str, kind: str) -> Subject:
    return ledger(name, about, kind, opens=_ForgetfulLedger.open)


@_bug("dropped-candidates/{kind}", "rated items taken from the candidates", kind=SELECTIONS)
def _dropped_candidates(name: str, about: str, kind: Selection) -> Subject:
    return selection(name, about, kind, Moves.ONE, dropped=(0,))


# A client that remembers the wrong thing.


@_bug("memoised-answers/{mechanism}", CHANGED, mechanism=Mechanism)
def _memoised_answers(name: str, about: str, mechanism: Mechanism) -> Subject:
    return changed_rating(name, about, mechanism, _report_memoised)


def _report_memoised(
    collection: Collection, folder: Path, history: list[OwnRatings], randomness: Randomness
) -> list[Report]:
    """A client that keeps an answer for each item and rating: a changed rating gets a new one."""
    del folder  # its memory does not outlive it
    size = len(collection.catalog)
    sent, before = [draw_report(collection, history[0], randomness)], history[0]
    for own in history[1:]:
        fresh = answers(draw_report(collection, own, randomness), size)
        said = np.where(before.values == own.values, answers(sent[-1], size), fresh)
        shown = np.flatnonzero(said >= collection.least)
        sent.append(Report.of(collection, shown, said[shown]))
        before = own
    return sent


@_bug("forgotten-range/{mechanism}", BEYOND, mechanism=Mechanism)
def _forgotten_range(name: str, about: str, mechanism: Mechanism) -> Subject:
    """A server that takes answers as they come."""
    return one_liar(name, about, mechanism, lambda terms, v: terms.centred(v).astype(np.int64))


# Statistics that move further than their sensitivity says.


@_wrong("forgotten-clip/level", "how far ratings lie above levels, without the clip that bounds it")
def _unclipped_level() -> Corner:
    """Residuals should be clipped to half the scale's width, and are not."""
    levels = ItemLevels(1.0, np.zeros(3))
    booked = Level(Unit.RATING, STARS, levels).sensitivity
    neighbours = Neighbours.by_rating(3, {0: 1.0}, (1, 5.0))

    def measure(ratings: Ratings) -> Ints:
        return np.asarray(levels.residuals(ratings).sum())

    return Corner(measure, neighbours, booked)


@_wrong("forgotten-clip/user-votes", "users' residuals, not scaled to length 1")
def _unscaled_votes() -> Corner:
    def measure(ratings: Ratings) -> Ints:
        x = np.rint((ratings.values() - STARS.mid) * VOTE_GRID)
        return np.bincount(ratings.items, weights=x, minlength=4).astype(np.int64)

    neighbours = Neighbours.by_user(4, dict.fromkeys(range(4), 5.0))
    return Corner(measure, neighbours, float(VOTE_GRID))


@_wrong("forgotten-clip/recent-counts", "recent counts of users, not scaled to length 1")
def _unscaled_recent() -> Corner:
    """Weights as where records are protected, and the bound of users' weights."""
    periods, weights = Periods(0, 1, 1), np.array([WEIGHT_GRID])
    bare = RecentCounts(Unit.RATING, Noise.GAUSSIAN, periods, weights)
    neighbours = Neighbours.by_user(4, dict.fromkeys(range(4), 5.0))
    return Corner(lambda each: bare.measure(timed(each)), neighbours, float(WEIGHT_GRID))


@_wrong("wrong-unit/presence-pairs", "users' pairs with the weights, and the bound, of records")
def _record_weights() -> Corner:
    items = 12
    statistic = PresencePairs(Unit.RATING, Noise.GAUSSIAN, head_of(items))
    neighbours = Neighbours.by_user(items, dict.fromkeys(range(items), 3.0))
    return Corner.of(statistic, neighbours)


@_wrong(
    "one-period/history-pairs", "pairs with older records, weighted as if there were one period"
)
def _single_weights() -> Corner:
    """Weights of a single release, and its bound: one record is paid in each of four periods."""
    items = 5
    weights = pair_weights(Unit.RATING, Noise.GAUSSIAN, items)

    def measure(ratings: Ratings) -> Ints:
        when = np.full((ratings.user_count, items), np.inf)
        when[ratings.user_of_rating(), ratings.items] = ratings.values()
        tables = []
        for period in (2.0, 3.0, 4.0, 5.0):
            there, old = (side.astype(np.int64) for side in (when <= period, when < period))
            own = np.where((when == period).any(axis=1), weights[there.sum(axis=1)], 0)[:, None]
            table = there.T @ (there * own) - old.T @ (old * own)
            tables.append(table[np.triu_indices(items, 1)])
        return np.concatenate(tables)

    neighbours = Neighbours.by_rating(items, {0: 2.0, 1: 3.0, 2: 4.0, 3: 5.0}, (4, 1.0))
    booked = PairMovement(Unit.RATING, Noise.GAUSSIAN, items).of_pairs
    return Corner(measure, neighbours, booked)


def _co_ratings(weights: Floats, items: int) -> Callable[[Ratings], Ints]:
    """The packed upper triangle, with its diagonal, of the sum of w(c) e e^T over people."""

    def measure(ratings: Ratings) -> Ints:
        present = np.zeros((ratings.user_count, items), np.int64)
        present[ratings.user_of_rating(), ratings.items] = 1
        whole = np.rint(weights * _WHOLE_WEIGHT).astype(np.int64)[present.sum(axis=1)]
        return np.asarray((present.T @ (present * whole[:, None]))[np.triu_indices(items)])

    return measure


def movements(weights: Floats, *, corner: bool = True) -> Floats:
    """For c = 0, 1, ... old ratings, how far one more moves that triangle in L2.

    The old entries lose what their weight drops by; a row comes in, and at its end the corner.
    """
    c = np.arange(len(weights) - 1)
    drop, new = weights[:-1] - weights[1:], weights[1:]
    return np.sqrt(drop**2 * c * (c + 1) / 2 + new**2 * (c + corner))


def root_weights(items: int) -> Floats:
    """w(c) = c^(-1/2), and 0 for nobody."""
    return np.concatenate(([0.0], np.arange(1, items + 1) ** -0.5))


@_wrong("no-corner/weights", "co-ratings, with a bound that forgets the new item's own entry")
def _no_corner() -> Corner:
    weights = root_weights(2)
    booked = float(movements(weights, corner=False).max()) * _WHOLE_WEIGHT
    return _co_rated(weights, booked)


@_wrong(
    "coarse-grid/weights", "co-ratings with weights on a coarse grid, and the bound of exact ones"
)
def _coarse_grid() -> Corner:
    """At the grid's edges all old entries jump together; the bound is that of exact weights."""
    exact = root_weights(40)
    coarse = exact.copy()
    coarse[1:] = 2.0 ** (np.rint(np.log2(exact[1:]) * _COARSE) / _COARSE)
    return _co_rated(coarse, math.ceil(float(movements(exact).max()) * _WHOLE_WEIGHT))


def _co_rated(weights: Floats, booked: float) -> Corner:
    """With as many old ratings as one more moves furthest."""
    items, old = len(weights) - 1, int(np.argmax(movements(weights)))
    neighbours = Neighbours.by_rating(items, dict.fromkeys(range(old), 3.0), (old, 3.0))
    return Corner(_co_ratings(weights, items), neighbours, booked)


# Series whose periods are not apart, whose noise comes again, or whose cost is added up wrongly.

_bug("series-bug/overlapping-periods", "each period begins before the last has ended")(overlapping)
_bug("series-bug/record-in-two-periods", "the same records are added in every period")(added_again)
_bug("series-bug/same-noise", "every period's noise begins from one seed")(same_noise)
_bug(
    "series-bug/counted-as-fresh",
    "who is there in every period pays as if noise were drawn afresh",
)(counted_as_fresh)
_bug(
    "series-bug/lifetime-of-another-plan",
    "noise is for other coefficients than those that earlier noise is taken back with",
)(lifetime_of_another_plan)
