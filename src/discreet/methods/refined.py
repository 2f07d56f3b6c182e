"""Our own method: free directions, a small covariance, one private refinement of all items.

docs/method.md explains it. From presence alone it learns tastes as well: an item is met by people
whose tastes z lie around its mean m_j; if they do so with one covariance, which whitening makes I,
the logarithm of an item's chance with a person is, but for a number of the person's,
log popularity + m_j z - |m_j|^2/2.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.estimate import (
    TasteDirections,
    beyond_popularity,
    centred_rows,
    clipped_moments,
    feature_directions,
    free_directions,
    most_popular,
    stretch,
)
from discreet.methods._method import (
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
from discreet.methods._stages import FEATURE_SHARE, Stages, stages_of
from discreet.privacy import Unit
from discreet.release import unpack

_Floats = npt.NDArray[np.float64]

# Tastes are known from few ratings each, which makes rows too short by about this factor. Tuned on
# MovieLens 1M.
_SWELL = 1.3
# How strong free directions are believed to be where nothing can be measured along them.
_UNCHECKED = 0.6
# The variance of a row's entries, usually: for ratings on a scale of width 4, and for presence.
_RATING_ROWS, _PRESENCE_ROWS = 0.01, 0.25
# How much longer rows are for presence than factors of the same direction are for ratings.
_LONGER = 2.0
# Directions for presence are made as for a scale of this width.
_WIDTH = 4.0


@register
@dataclass(frozen=True)
class RefinedMethod(RatingMethod):
    """Our own method: see docs/method.md.

    Attributes:
        refine_share: The part of the tastes' share for the refinement; the covariance, which only
            has to point the way, gets the rest. 0 leaves the refinement out.
        directions: Whether popularity and item effects are directions of taste.
        reach: Gamma: where a person's tastes are cut off; None for what the unit asks for.
    """

    name = MethodName.REFINED
    takes_presence = True
    takes_features = True

    clamp: float = 0.4
    fictitious: int = 40
    refine_share: float = 0.7
    directions: bool = True
    reach: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refine_share:
            check_number("refine_share", self.refine_share, 0.1, 0.95)
        if self.reach is not None:
            check_number("reach", self.reach, 0.01, 1000)

    def head_size(self, strength: float, items: int) -> int:
        """A few hundred items: enough to point the way to the rest."""
        return min(self.head or round(min(max(150, 100 + strength), 1500)), items, MOST_HEAD)

    def learn(self, task: Task) -> Learnt:
        stages = stages_of(self, task)
        stages.measure_items(kept=0.0 if task.features is None else FEATURE_SHARE)
        learn = self._learn_presence if task.scale.presence else self._learn_ratings
        return learn(task, stages)

    def _learn_ratings(self, task: Task, stages: Stages) -> Learnt:
        """Factors for all items, and how uncertain each row is."""
        effects, share, width = stages.effects, stages.share, task.scale.range
        factors = np.zeros((task.items, 0))
        if self.directions:
            factors = free_directions(effects, width) * (1.0 if share > 0 else _UNCHECKED)
        public, found = self._public(task, stages, width)
        factors = np.hstack([factors, public])
        variances = np.zeros(task.items)
        if share > 0:
            part = self._share_of_refinement(factors, stages)
            pointing = self._point_the_way(task, stages, share - part)
            found |= pointing.parameters
            factors = np.hstack([factors, pointing.factors(self.rank, width)])
            if part and factors.shape[1]:
                factors, variances = self._refine(task, stages, factors, part)
        return model_of(effects, task.scale, factor_arrays(factors, variances), found)

    def _learn_presence(self, task: Task, stages: Stages) -> Learnt:
        """The mean taste m of every item, and how uncertain it is; m moves the levels too."""
        effects, share = stages.effects, stages.share
        public, found = self._public(task, stages, _WIDTH)
        free, variances = public, np.zeros(task.items)
        if share > 0 and self.directions:
            free = np.hstack([free_directions(effects, _WIDTH), public])
        part = self._share_of_refinement(free, stages)
        pointed = np.zeros((task.items, 0))
        if share > 0:
            pointing = self._point_the_way(task, stages, share - part)
            found |= pointing.parameters
            pointed = pointing.factors(self.rank)
        if part:
            rows = centred_rows(np.hstack([free, pointed]), effects)
            if rows.shape[1]:
                sums = stages.refine(rows, part, self.reach)
                rows, variances = sums.learn(rows, scale=_PRESENCE_ROWS, centred=True)
                rows = centred_rows(rows, effects)
        else:
            # Popularity is in the odds already; of the others only the direction is known.
            rows = centred_rows(np.hstack([public, pointed]), effects) * _LONGER
        arrays = factor_arrays(rows, variances)
        stored = arrays["factors"].astype(np.float64)
        released = stages.released
        level = released.effects - 0.5 * np.einsum("ij,ij->i", stored, stored)
        return model_of(dataclasses.replace(released, effects=level), task.scale, arrays, found)

    def _public(self, task: Task, stages: Stages, width: float) -> tuple[_Floats, dict[str, Any]]:
        """Directions from public features, as far as ratings agree along them; none if not."""
        found: dict[str, Any] = {"head_items": 0}
        if task.features is None:
            return np.zeros((task.items, 0)), found
        directions = feature_directions(stages.effects, task.features, width)
        belief = stages.believe(directions)
        public = belief * directions[:, : directions.shape[1] if belief else 0]
        return public, found | {"feature_columns": public.shape[1], "features_believed": belief}

    def _share_of_refinement(self, free: _Floats, stages: Stages) -> float:
        """Among more directions than can be learnt, a refinement would be mostly noise."""
        # One rating moves a refinement too far in L1 for it to be worth Laplace noise.
        possible = self.protect is Unit.USER or self.noise.kind.order == 2
        if not possible or free.shape[1] > stages.strength / 2:
            return 0.0
        return self.refine_share * stages.share

    def _point_the_way(self, task: Task, stages: Stages, share: float) -> TasteDirections:
        """The directions that the covariance of the most popular items shows."""
        effects = stages.effects
        head = most_popular(effects, self.head_size(stages.strength, task.items))
        statistic = stages.covariance(head, with_weights=False)
        (triangle,) = task.measure(statistic, {"item covariance": share}, stage="covariance")
        counts = effects.known_counts
        if task.scale.presence:
            matrix = beyond_popularity(unpack(triangle.value, np.float64), counts[head])
        else:
            matrix = unpack(triangle.value, np.float32)
        sampling = stages.sampling(counts[head])
        return TasteDirections(head, matrix, counts, triangle.spread, sampling)

    def _refine(
        self, task: Task, stages: Stages, factors: _Floats, share: float
    ) -> tuple[_Floats, _Floats]:
        """New factors and the trace of their variance."""
        if task.progress is not None:
            task.progress("refinement", 0, 1)
        sums = stages.refine(factors, share, self.reach)
        swell = _SWELL
        if not stages.per_user:
            # Clamping flattened the ratings by its slope.
            swell /= clipped_moments(self.centring(task.scale).clamp, task.scale)[0]
        usual = _RATING_ROWS * stretch(task.scale)
        means, variances = sums.learn(factors, scale=usual, centred=False)
        if task.progress is not None:
            task.progress("refinement", 1, 1)
        return means * swell, variances * swell**2
