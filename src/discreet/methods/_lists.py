"""What methods with lists measure for them: pairs of popular items, and what is popular now."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, Noisy
from discreet.estimate import (
    WINDOW,
    ListModel,
    PairSpectrum,
    PairSums,
    RepeatedCounts,
    average,
    drift_of,
    find_window,
    learn_lists,
    most_popular,
    narrowing_heads,
    popularity_alone,
    recent_weights,
)
from discreet.measure import RatingsSource
from discreet.measure.history_pairs import HistoryNumbers, HistoryPairs
from discreet.measure.item_counts import HeadCounts, ItemCounts
from discreet.measure.presence_pairs import HeadWeights, PresencePairs
from discreet.measure.recency import WEIGHT_GRID, PeriodCounts, Periods, RecentCounts
from discreet.methods._carrying import carry_pairs
from discreet.methods._method import Method, PeriodTask, Task
from discreet.privacy import Unit

# The pairs cover factor strength^power items, the fewest of these rules, within these bounds: the
# first is for weak items, of which many would drown all directions in noise, the second from a
# strength of 58 on. Tuned on validation parts of four data sets of film ratings, of which one also
# by a sixth of its people.
_HEADS, _SMALLEST_HEAD, _LARGEST_HEAD = ((30.0, 0.7), (45.0, 0.6)), 40, 1500
# The part of the pairs' share for each of the two sums that say what pairs are out of. Chosen by
# hand: single numbers are well known for little.
_NUMBERS = 0.005
# Parts of the budget: for each of two looks at when records were made; for recent counts beside
# ratings; and at most for counting these again, where much has changed. Tuned on validation parts
# by time.
_WHEN, RECENT_SHARE, _AGAIN = 0.005, 0.12, 0.35
# The part of the budget for both looks.
WHEN_SHARE = 2 * _WHEN
# Below this strength (`count_strength`) changes of what is popular drown in noise. Chosen on
# validation parts by time of MovieLens latest-small and 100k, which have no use for them up to 7,
# and MovieTweetings, which has from 12 on.
_WORTH_RECENCY = 10.0
# Of what is spent on counting items again, the part for all of them; the rest is for rounds among
# the most popular. Chosen on validation parts of MovieLens latest-small and 100k.
_OF_ALL = 0.2
# The length of a period at the first look at when records were made: four weeks, in seconds. 2^32
# seconds are 1,776 of them. Chosen by hand.
_FOUR_WEEKS = 28 * 86_400
# Periods of the second look: as many as stand out of the noise by about this many standard
# deviations each, within these bounds. Chosen by hand.
_CLEAR, _FEWEST, _MOST = 3.0, 8, 256
# A sum that was not measured: its noise is beyond any sum. Chosen by hand.
_UNKNOWN = Noisy(0.0, 1e12)


def knows_when(source: RatingsSource, wanted: bool | None) -> bool:
    """Whether records have times, the latest of which are the present. Public.

    Raises:
        InputError: Recency is wanted, and there are no times; or it is neither True nor False.
    """
    if wanted not in (None, True, False):
        raise InputError(f"recency is True, False or None, not '{wanted}'")
    if wanted and not source.has_times:
        raise InputError("recency needs ratings with times")
    return source.has_times and (source.intake.is_latest if wanted is None else wanted)


def wants_recency(task: Task, wanted: bool | None, strength: float) -> bool:
    """Whether recent counts are worth their share: they are asked for, or would show something.

    Args:
        task: With the ratings.
        wanted: None lets the data's origin and the strength decide.
        strength: How well items can be learnt, from released counts.
    """
    enough = bool(wanted) or strength >= _WORTH_RECENCY
    return enough and not task.is_series and knows_when(task.source, wanted)


def counts_now(task: Task, label: str, wanted: bool | None) -> Noisy | None:
    """What is popular now, in a series: counts with a half-life of one period, at no cost.

    Args:
        task: Of one period.
        label: Of the counts.
        wanted: None lets the data's origin decide: not in the parts of a random split.
    """
    wanted = task.source.intake.is_latest if wanted is None else wanted
    return task.spender.now(label) if wanted and isinstance(task, PeriodTask) else None


def count_recent(
    method: Method, task: Task, counts: Noisy, share: float, most: float = 0.0
) -> tuple[Noisy | None, float]:
    """Counts in which older records count less, and the share of the budget that they cost.

    None if no time stands out of the noise.

    Args:
        method: With the unit and the noise.
        task: With the ratings and the budget.
        counts: Of all records.
        share: Of the budget, for recent counts.
        most: The most that may be spent on counting again, where much has changed.
    """
    unit = method.protect
    whole = Periods(0, _FOUR_WEEKS, 2**32 // _FOUR_WEEKS + 1)
    (rough,) = task.measure(PeriodCounts(unit, whole), {"records by period": _WHEN})
    window = find_window(rough)
    if window is None:
        return None, _WHEN
    start, end = (place * _FOUR_WEEKS for place in (window.first, window.last + 1))
    clear = _CLEAR * task.spender.spread_of(_WHEN)
    wanted = WINDOW * window.total / clear if clear > 0 else math.inf
    number = int(min(max(wanted, _FEWEST), _MOST))
    periods = Periods(start, -(-(end - start) // number), number)
    label = "recent records by period"
    (fine,) = task.measure(PeriodCounts(unit, periods, label), {label: _WHEN})
    again = min(most, _AGAIN)
    noise = task.spender.spread_of(share + again / 2)
    noise /= max(float(counts.value.sum()), 1.0)
    weights = recent_weights(fine, window.total, noise)
    grid = np.floor(weights * WEIGHT_GRID).astype(np.int64)
    statistic = RecentCounts(unit, method.noise, periods, grid)
    (recent,) = task.measure(statistic, {"recent item counts": share})
    again *= drift_of(counts, recent)
    if again < share / 2:
        return recent, WHEN_SHARE + share
    (second,) = task.measure(statistic, {"recent item counts": again})
    return average(recent, second), WHEN_SHARE + share + again


def count_again(method: Method, task: Task, counts: Noisy, share: float) -> Noisy:
    """Better counts. Protecting users, rounds among fewer and fewer items, whose votes are larger.

    Protecting records, a record counts 1 among many items or few, and one round is as good.

    Args:
        method: With the unit and the noise.
        task: With the ratings and the budget.
        counts: Of all items, as known so far.
        share: Of the budget.
    """
    sizes = narrowing_heads(task.items) if method.protect is Unit.USER else []
    whole = share * (_OF_ALL if sizes else 1.0)
    statistic = ItemCounts(method.protect, method.noise)
    (again,) = task.measure(statistic, {statistic.parts[0].label: whole})
    found = RepeatedCounts.of(average(counts, again))
    for size in sizes:
        head = found.head(size)
        among = HeadCounts(method.protect, method.noise, head)
        part = (share - whole) / len(sizes)
        found = found.with_head(head, *task.measure(among, {among.parts[0].label: part}))
    return found.counts


def measure_lists(
    method: Method,
    task: Task,
    rank: int,
    counts: Noisy,
    *,
    recent: Noisy | None,
    share: float,
    strength: float,
    of_head: float = 1.0,
    beyond: float = 1.0,
) -> tuple[ListModel, PairSpectrum | None]:
    """The list model, and what the pairs of popular items showed.

    Args:
        method: With the unit and the noise.
        task: With the ratings and the budget.
        rank: The most directions of lists, popularity's own included.
        counts: Of every item, in records or in votes.
        recent: Counts in which older records count less.
        share: Of the budget, for the pairs; for 0 none are measured.
        strength: How well pairs can be learnt (`count_strength`).
        of_head: The part of the usual number of items to pair.
        beyond: How many times as many items are paired, so that directions reach further; lists
            are made from the most popular of them.
    """
    if not share:
        return popularity_alone(counts, recent), None
    size = max(round(of_head * _head_size(strength)), _SMALLEST_HEAD)
    paired = method.head or round(beyond * size)
    head = task.head("presence pairs", counts.value, paired)
    sums = _pair_sums(method, task, head, counts, share)
    spectrum = PairSpectrum.of(counts, sums, rank - 1, task.features)
    of_lists = spectrum
    if paired > size and method.head is None:
        inner = sums.within(most_popular(counts.value, size), counts)
        of_lists = PairSpectrum.of(counts, inner, rank - 1, task.features)
    return learn_lists(counts, of_lists, recent), spectrum


def _pair_sums(
    method: Method, task: Task, head: npt.NDArray[np.int32], counts: Noisy, share: float
) -> PairSums:
    """Measure the pairs of a head's items, and what they are out of."""
    carries = {"presence pairs": carry_pairs(head, counts.value)}
    each, rest = _NUMBERS * share, (1 - 2 * _NUMBERS) * share
    if isinstance(task, PeriodTask) and task.older is not None:
        older = task.older
        # Older records are seen again in later pairs, which must not cost them more than the first
        # did: `measure/history_pairs/PROOF.md`, "What the budget must keep to".
        if task.settle("pairs", share) != share:
            raise InputError(
                "pairs had another share of the budget in earlier periods of this series, which "
                "older records rule out; start a new series"
            )
        of = head, older.since, older.until, older.weights
        mass, squares = task.measure(
            HistoryNumbers(*of),
            {"weighted head records": each, "squared weight of the pairs": each},
            source=older.source,
        )
        (pairs,) = task.measure(
            HistoryPairs(*of),
            {"presence pairs": rest},
            stage="item pairs",
            carries=carries,
            source=older.source,
        )
        return PairSums(head, pairs, mass, _UNKNOWN, max(float(squares.value), 1.0))
    mass, weight = task.measure(
        HeadWeights(method.protect, method.noise, head),
        {"weighted head records": each, "weight of the pairs": each},
    )
    statistic = PresencePairs(method.protect, method.noise, head)
    (pairs,) = task.measure(
        statistic, {"presence pairs": rest}, stage="item pairs", carries=carries
    )
    records = float(np.maximum(counts.value[head], 0.0).sum())
    return PairSums(head, pairs, mass, weight, _chance(method, records, mass, weight))


def _head_size(strength: float) -> int:
    """How many items have pairs that are worth measuring."""
    wanted = min(factor * min(strength, 1e9) ** power for factor, power in _HEADS)
    return int(min(max(wanted, _SMALLEST_HEAD), _LARGEST_HEAD))


def _chance(method: Method, records: float, mass: Noisy, weight: Noisy) -> float:
    """The sum of w(m)^2 over all pairs, m(m-1)/2 of each person, from what was released.

    Protecting users, w = 1/sqrt(m(m-1)) makes it half the number of people, whose w m is about 1,
    and w = 2/(m(m-1)) the sum of w. Protecting records, w = 1/m makes it half the number of people
    again, whose w m is 1, and w ~ m^-1/2 half of what records exceed people by, for whom the sum
    of w stands.

    Args:
        method: With the unit and the noise, which w depends on.
        records: How many there are of the head's items.
        mass: The sum of w(m) m.
        weight: The sum of w(m).
    """
    even = method.noise.kind.order == 1
    if method.protect is Unit.USER:
        found = weight.value if even else mass.value / 2
    else:
        found = mass.value / 2 if even else (records - weight.value) / 2
    return max(float(found), 1.0)
