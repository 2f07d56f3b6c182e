"""Our own method for ratings: expected ratings and lists from one release.

docs/explanation/refined.md explains it. Item effects come first. Then the pairs of popular items
that people have, whatever they gave them, make lists, and point the way for the ratings: who has
what shows tastes more clearly than how they liked it. One private refinement of all items follows,
along these directions and those that cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Noisy
from discreet.estimate import (
    PairSpectrum,
    TasteDirections,
    clipped_moments,
    count_strength,
    feature_directions,
    free_directions,
    stretch,
)
from discreet.measure import RatingsSource
from discreet.methods._carrying import carry_head
from discreet.methods._lists import (
    RECENT_SHARE,
    WHEN_SHARE,
    count_again,
    count_recent,
    counts_now,
    knows_when,
    measure_lists,
    wants_recency,
)
from discreet.methods._method import (
    LEAST_SHARE,
    MOST_HEAD,
    Learnt,
    RatingMethod,
    Task,
    check_number,
    factor_arrays,
    model_of,
    register,
)
from discreet.methods._names import MethodName
from discreet.methods._stages import FEATURE_SHARE, LEAST_REST, Stages, UserStages, stages_of
from discreet.privacy import Unit
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]

# Tastes are known from few ratings each, which makes rows too short by about this factor. Tuned on
# another split of MovieLens 1M than the one that is reported (docs/explanation/refined.md).
_SWELL = 1.3
# The length of free directions where nothing can be measured along them, as a part of the usual
# one. Chosen by hand.
_UNCHECKED = 0.6
# The part of the budget for lists: the most, and the items' strength (`Effects.strength`) at which
# they get half of it; and the least. Pairs point the way for ratings too, so that per rating they
# pay for themselves from a strength of about 60 on; weaker items need the budget for their own
# levels. Chosen on validation parts of MovieLens 1M, 100k and latest-small, and of a sixth of the
# people of the first, where ratings lost at most 0.005 in RMSE.
_LISTS = {Unit.RATING: (0.5, 12.0), Unit.USER: (0.36, 4.0)}
_LEAST_LISTS = 0.25
# By time, pairs are worth less to lists than what is popular now: lists get this part of that
# share. Chosen on validation parts by time of MovieLens 1M and 100k.
_TOMORROW = 0.7
# The most that lists can be given of the budget by `list_share`. Chosen for safety.
_MOST_LISTS = 0.7
# Below this strength levels can hardly be learnt: lists get all that they can be given, to count
# items once more. Chosen on the same parts.
_WEAKEST = 1.5
# Weak items need counts more than pairs: the square of _AGAIN over the strength is the part of the
# lists' share that counts items once more, if that is _LEAST_AGAIN of the budget or more. Pairs get
# _LEAST_PAIRS of the budget or nothing: for less, what they are out of is noise, and lists that
# trust them lose what is popular. Chosen on the same parts and one of MovieTweetings.
_AGAIN = {Unit.RATING: 4.5, Unit.USER: 1.0}
_LEAST_AGAIN, _LEAST_PAIRS = 0.02, 0.08
# The items' strength from which on the clamp grows, the power of it that it grows with, and the
# widest that it gets by itself, on a scale of width 4. Tuned on validation parts of MovieLens 1M,
# Netflix and Jester.
_CLAMPED, _CLAMP_POWER, _WIDEST_CLAMP = 600.0, 0.7, 1.5
# Protecting users, a refinement along many directions is noisier than along few. _SKETCH of the
# tastes' share finds the best combinations of them: at most _COMBINED, or the items' strength over
# _PER_COMBINED if that is more. Tuned on validation parts of MovieLens 1M and Jester.
_SKETCH, _COMBINED, _PER_COMBINED = 0.08, 7, 10
# With _MANY directions of pairs or more, the covariance gets _LESS of its share. Chosen on
# validation parts of MovieLens 1M, which has many, and Jester, which has few.
_MANY, _LESS = 6, 0.3
# The length of the directions of pairs that a release holds as they are (without a refinement, next
# to one along a few combinations, or in a series), as a part of their length in a refinement. Tuned
# on a validation part of MovieLens 1M; in a series, on one in 12 periods, flat from 0.4 to 0.6.
_UNREFINED = 0.4
# In a series per rating, how many times as many items are paired as lists are made from. Rows along
# directions that were not known yet, or were known badly, are lost there, so that directions
# themselves must reach further, and are held beside the refinement as well. Of 1, 1.5 and 2, chosen
# on a split of MovieLens 1M in 12 periods that is not the reported one.
_BEYOND_IN_SERIES = 1.5
# Protecting users, the first round is counts alone and needs this part of `effect_share`. Tuned as
# above.
_FIRST_OF_USERS = 0.8
# The usual variance of a row's entries, for ratings on a scale of width 4: MovieLens 1M.
_RATING_ROWS = 0.01


@register
@dataclass(frozen=True)
class RefinedMethod(RatingMethod):
    """Our own method: see docs/explanation/refined.md.

    Attributes:
        clamp: The clamp for weak items; it grows by itself where noise is small.
        refine_share: The part of the tastes' share for the refinement; the covariance of ratings,
            which only has to point the way, gets the rest. 0 leaves the refinement out.
        directions: Whether popularity and item effects are directions of taste.
        reach: Gamma: where a person's tastes are cut off; None for what the unit asks for.
        list_rank: The most directions of what goes with what; 0 leaves lists to popularity.
        list_share: The part of the budget for lists; None lets released counts decide.
        recency: Whether records that have times say what is popular now; None lets the data's
            origin decide: yes, except in the parts of a random split.
    """

    name = MethodName.REFINED
    takes_features = True

    clamp: float = 0.4
    fictitious: int = 40
    refine_share: float = 0.85
    directions: bool = True
    reach: float | None = None
    list_rank: int = 64
    list_share: float | None = None
    recency: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refine_share:
            check_number("refine_share", self.refine_share, 0.1, 1.0)
        if self.reach is not None:
            check_number("reach", self.reach, 0.01, 1000)
        check_number("list_rank", self.list_rank, 0, 500, whole=True)
        if self.list_share:
            check_number("list_share", self.list_share, LEAST_SHARE, self._most_for_lists)

    def check(self, source: RatingsSource) -> None:
        super().check(source)
        knows_when(source, self.recency)

    def head_size(self, strength: float, items: int) -> int:
        """Of the covariance: a few hundred items, enough to point the way to the rest."""
        return min(self.head or round(min(max(150, 100 + strength), 1500)), items, MOST_HEAD)

    @property
    def first_share(self) -> float:
        return self.effect_share * (_FIRST_OF_USERS if self.protect is Unit.USER else 1.0)

    def clamp_for(self, strength: float) -> float:
        """The noise grows with the clamp, and what is cut off falls: wide for strong items."""
        growth = (min(strength, 1e9) / _CLAMPED) ** _CLAMP_POWER
        widest = max(self.clamp, _WIDEST_CLAMP)
        return float(min(max(self.clamp, self.clamp * growth), widest))

    def share_of_lists(self, strength: float) -> float:
        if self.list_rank == 0:
            return 0.0
        if self.list_share is not None:
            return self.list_share
        if strength < _WEAKEST:
            return 1.0
        most, half = _LISTS[self.protect]
        share = max(most / (1 + half / max(strength, 1e-9)), _LEAST_LISTS)
        share = min(share, self._most_for_lists)
        return share if share >= LEAST_SHARE else 0.0

    @property
    def _most_for_lists(self) -> float:
        """So that something is left for ratings, with recency and features paid for."""
        kept = self.effect_share + WHEN_SHARE + RECENT_SHARE + FEATURE_SHARE + LEAST_REST
        return round(max(min(_MOST_LISTS, 1 - kept), 0.0), 12)

    def learn(self, task: Task) -> Learnt:
        stages = stages_of(self, task)
        stages.measure_counts()
        has_recent = wants_recency(task, self.recency, stages.strength)
        recency = WHEN_SHARE + RECENT_SHARE
        kept = recency if has_recent else 0.0
        if has_recent and self.list_share is None:
            stages.lists_get = _TOMORROW
        stages.divide(kept + (0.0 if task.features is None else FEATURE_SHARE))
        counts = Noisy(stages.effects.counts, stages.effects.count_spread)
        recent, share = counts_now(task, stages.count_label, self.recency), stages.list_share
        if has_recent:
            recent, cost = count_recent(self, task, counts, RECENT_SHARE, share / 2)
            share += recency - cost if share else 0.0
        again = share * min(1.0, _AGAIN[self.protect] / max(stages.strength, 1e-9)) ** 2
        if again >= _LEAST_AGAIN and not task.is_series:
            again = again if share - again >= _LEAST_PAIRS else share
            counts, share = count_again(self, task, counts, again), share - again
            # The items' levels come from sums over these counts, so they are measured afterwards.
            better = replace(stages.effects, counts=counts.value, count_spread=counts.spread)
            stages.effects = better
        stages.measure_levels()
        model, spectrum = measure_lists(
            self,
            task,
            self.list_rank,
            counts,
            recent=recent,
            share=share,
            strength=count_strength(counts, task.mu) * share**0.5,
            beyond=_BEYOND_IN_SERIES if task.is_series and not stages.per_user else 1.0,
        )
        factors, variances, found = self._learn_ratings(task, stages, counts, spectrum)
        arrays = {**factor_arrays(factors, variances), **model.arrays}
        return model_of(stages.effects, task.scale, arrays, {**found, **model.parameters})

    def _learn_ratings(
        self, task: Task, stages: Stages, counts: Noisy, spectrum: PairSpectrum | None
    ) -> tuple[_Floats, _Floats, dict[str, Any]]:
        """Factors for all items, how uncertain each row is, and what is recorded of them."""
        effects, share, width = stages.effects, stages.share, task.scale.range
        factors, variances = np.zeros((task.items, 0)), np.zeros(task.items)
        if self.directions:
            factors = free_directions(effects, width) * (1.0 if share > 0 else _UNCHECKED)
        public, found = self._public(task, stages, width)
        factors = np.hstack([factors, public])
        pairs = np.zeros((task.items, 0))
        if spectrum is not None and self.rank:
            pairs = spectrum.factors(counts, self.rank, width)
        part = self._share_of_refinement(stages, factors.shape[1], pairs.shape[1])
        if share > part:
            pointing = self._point_the_way(task, stages, share - part)
            found |= pointing.parameters
            factors = np.hstack([factors, pointing.factors(self.rank, width)])
        candidates = task.align(
            "sketch of tastes", np.hstack([factors, pairs]), effects.positive_counts
        )
        if part and candidates.shape[1]:
            most = max(_COMBINED, round(min(stages.strength, 1e6) / _PER_COMBINED))
            too_many = candidates.shape[1] > most
            if isinstance(stages, UserStages) and self.noise.kind.order == 2 and too_many:
                combined = stages.combine(candidates, _SKETCH * share, most)
                part -= _SKETCH * share
                # Where nothing stands out of the sketch's noise, all directions are refined.
                candidates = combined if combined.shape[1] else candidates
            factors, variances = self._refine(task, stages, candidates, part)
        if stages.per_user or task.is_series or not part:
            factors = np.hstack([factors, _UNREFINED * pairs])
        return factors, variances, found

    def _public(self, task: Task, stages: Stages, width: float) -> tuple[_Floats, dict[str, Any]]:
        """Directions from public features, as far as ratings agree along them; none if not."""
        found: dict[str, Any] = {"head_items": 0}
        if task.features is None:
            return np.zeros((task.items, 0)), found
        directions = feature_directions(stages.effects, task.features, width)
        belief = stages.believe(directions)
        public = belief * directions[:, : directions.shape[1] if belief else 0]
        return public, found | {"feature_columns": public.shape[1], "features_believed": belief}

    def _share_of_refinement(self, stages: Stages, free: int, pairs: int) -> float:
        """The part of the budget for the refinement; the covariance gets what tastes have left.

        Along more directions than can be learnt, a refinement would be mostly noise. Where pairs
        show many directions, the covariance has little to add.

        Args:
            stages: With the items' strength and the tastes' share.
            free: How many directions cost nothing.
            pairs: How many the pairs show.
        """
        # One rating moves a refinement too far in L1 for it to be worth Laplace noise.
        possible = self.protect is Unit.USER or self.noise.kind.order == 2
        if not possible or free + pairs > stages.strength / 2:
            return 0.0
        pointing = (1 - self.refine_share) * (_LESS if pairs >= _MANY else 1.0)
        return (1 - pointing) * stages.share if self.refine_share else 0.0

    def _point_the_way(self, task: Task, stages: Stages, share: float) -> TasteDirections:
        """The directions that the covariance of the most popular items' ratings shows."""
        effects = stages.effects
        size = self.head_size(stages.strength, task.items)
        head = task.head("item covariance", effects.counts, size)
        statistic = stages.covariance(head, with_weights=False)
        (triangle,) = task.measure(
            statistic,
            {"item covariance": share},
            stage="covariance",
            carries={"item covariance": carry_head(head)},
        )
        counts, matrix = effects.known_counts, unpack(triangle.value, np.float32)
        return TasteDirections(head, matrix, counts, triangle.spread, stages.sampling(counts[head]))

    def _refine(
        self, task: Task, stages: Stages, factors: _Floats, share: float
    ) -> tuple[_Floats, _Floats]:
        """New factors and the trace of their variance."""
        if task.progress is not None:
            task.progress("refinement", 0, 1)
        factors = task.align("taste sums", factors, stages.effects.positive_counts)
        sums = stages.refine(factors, share, self.reach)
        swell = _SWELL
        if not stages.per_user:
            # Clamping flattened the ratings by its slope.
            swell /= clipped_moments(stages.centring.clamp, task.scale)[0]
        usual = _RATING_ROWS * stretch(task.scale)
        means, variances = sums.learn(factors, scale=usual)
        if task.progress is not None:
            task.progress("refinement", 1, 1)
        return means * swell, variances * swell**2
