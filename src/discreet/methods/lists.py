"""Lists from what people have: noisy counts, noisy pairs of popular items, and what is new.

docs/explanation/lists.md explains it. Stars are not looked at: that somebody has an item says more
about what they will have next than how they liked it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.estimate import average, count_strength
from discreet.measure import RatingsSource
from discreet.measure.item_counts import ItemCounts
from discreet.methods._lists import (
    WHEN_SHARE,
    count_again,
    count_recent,
    counts_now,
    knows_when,
    measure_lists,
    wants_recency,
)
from discreet.methods._method import Learnt, Method, Task, check_number, register
from discreet.methods._names import MethodName

# Small data need their budget for popularity: the part of it for a second count is _AGAIN over the
# strength of the first, at most _MOST_AGAIN, and nothing up to _LEAST_AGAIN. Tuned on validation
# parts of four data sets of film ratings.
_AGAIN, _MOST_AGAIN, _LEAST_AGAIN = 0.6, 0.8, 0.02

# In a series, the most for the second count, which its first period settles: pairs may become worth
# more than they look then. Chosen by hand.
_MOST_SETTLED = 0.5
# The most of what the first count leaves, so that something is left for pairs if `count_share` is
# large. Chosen by hand.
_MOST_OF_REST = 0.9

# In a series two records meet only if they are of one period, and such pairs are fewer: the part of
# the usual head that they can fill. Chosen on another split of MovieLens 1M and MovieTweetings, in
# 12 periods, than the one that is reported.
_OF_HEAD = 0.5

# Below this strength (`count_strength`) pairs show nothing, and popularity needs the whole budget.
# Chosen on validation parts of the same data sets, at epsilons from 0.1 on.
_WEAKEST = 3.0

# The part of the budget for what is popular now, which lists of tomorrow need more than pairs. What
# is left for these at least, if `count_share` is large. Tuned on validation parts by time of
# MovieLens 1M, 100k, latest-small and MovieTweetings; chosen for safety.
_RECENT, _LEAST_REST = 0.4, 0.04


@register
@dataclass(frozen=True)
class ListsMethod(Method):
    """Lists alone: see docs/explanation/lists.md.

    Attributes:
        list_rank: The most directions of what goes with what; 0 leaves popularity alone.
        count_share: The part of the budget for the first count of the items.
        recency: Whether records that have times say what is popular now; None lets the data's
            origin decide: yes, except in the parts of a random split.
    """

    name = MethodName.LISTS
    takes_presence = True
    takes_features = True

    list_rank: int = 64
    count_share: float = 0.1
    recency: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("list_rank", self.list_rank, 0, 500, whole=True)
        check_number("count_share", self.count_share, 0.02, 0.8)

    def check(self, source: RatingsSource) -> None:
        super().check(source)
        knows_when(source, self.recency)

    def learn(self, task: Task) -> Learnt:
        spent = self.count_share
        statistic = ItemCounts(self.protect, self.noise)
        label = statistic.parts[0].label
        (counts,) = task.measure(statistic, {label: spent})
        recent = counts_now(task, label, self.recency)
        strength = count_strength(counts, task.mu)
        if wants_recency(task, self.recency, strength):
            share = min(_RECENT, 1 - spent - WHEN_SHARE - _LEAST_REST)
            recent, cost = count_recent(self, task, counts, share)
            spent += cost
        with_pairs = self.list_rank > 0 and strength >= _WEAKEST
        again = min(_MOST_AGAIN, _AGAIN / max(strength, 1e-9)) if with_pairs else 1 - spent
        if task.is_series:
            most = 1 - spent  # there are no pairs to leave anything for
            if self.list_rank > 0:
                most = min(_MOST_SETTLED, _MOST_OF_REST * most)
            again = task.settle("counts", min(again, most))
            if again > _LEAST_AGAIN:
                spent += again
                counts = average(counts, *task.measure(statistic, {label: again}))
        elif again > _LEAST_AGAIN:
            again = min(again, 1 - spent)
            spent += again
            counts = count_again(self, task, counts, again)
        model, _ = measure_lists(
            self,
            task,
            self.list_rank,
            counts,
            recent=recent,
            share=1 - spent if with_pairs else 0.0,
            strength=count_strength(counts, task.mu),
            of_head=_OF_HEAD if task.is_series else 1.0,
        )
        positive = np.maximum(counts.value, 0.0).astype(np.float32)
        found = {"count_noise": counts.spread, **model.parameters}
        return Learnt({"item_counts": positive, **model.arrays}, found)
