"""After McSherry and Mironov: item effects, and a noisy covariance of popular items, cleaned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.estimate import (
    RESIDUAL_VARIANCE,
    clean_auto,
    clean_none,
    clean_paper,
    clipped_moments,
    stretch,
)
from discreet.methods._carrying import carry_head
from discreet.methods._method import (
    Learnt,
    RatingMethod,
    Task,
    check_number,
    factor_arrays,
    model_of,
    register,
)
from discreet.methods._names import Cleaning, MethodName
from discreet.methods._stages import Stages, stages_of
from discreet.release import packed_bases, packed_side, unpack

_Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]


@register
@dataclass(frozen=True)
class CovarianceMethod(RatingMethod):
    """The trusted curator's method, after McSherry and Mironov.

    Attributes:
        clean: How the covariance becomes factors.
        dense: Whether the covariance itself and its weights are published, for `knn`.
        weight_share: The part of the covariance's share that Wgt gets, if it is needed.
    """

    name = MethodName.COVARIANCE

    clean: Cleaning = Cleaning.AUTO
    dense: bool = False
    weight_share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._choose("clean", Cleaning)
        check_number("weight_share", self.weight_share, 0.05, 0.95)

    def learn(self, task: Task) -> Learnt:
        stages = stages_of(self, task)
        stages.measure_items()
        effects, share = stages.effects, stages.share
        factors, arrays = np.zeros((task.items, 0)), dict[str, npt.NDArray[Any]]()
        found: dict[str, Any] = {"head_items": 0}
        if share > 0:
            size = self.head_size(stages.strength, task.items)
            head = task.head("item covariance", effects.counts, size)
            counts = effects.known_counts
            with_weights = self.dense or self.clean is not Cleaning.AUTO
            part = share * self.weight_share if with_weights else 0.0
            shares = {"item covariance": share - part}
            if with_weights:
                shares["co-rating weights"] = part
            statistic = stages.covariance(head, with_weights=with_weights)
            carries = dict.fromkeys(shares, carry_head(head))
            cov, *weights = task.measure(statistic, shares, stage="covariance", carries=carries)
            found = {"head_items": size, "covariance_noise": cov.spread}
            wgt = None
            if weights:
                wgt, found["weights_noise"] = weights[0].value, weights[0].spread
                if self.dense:
                    arrays = {"head": head, **self._dense(task, stages, cov.value, wgt)}
            spread = max(cov.spread, stages.sampling(counts[head]))
            within = self._factors(cov.value, wgt, counts[head], spread, task.scale.range)
            factors = np.zeros((task.items, within.shape[1]))
            factors[head] = within
        arrays = {**factor_arrays(factors, np.zeros(task.items)), **arrays}
        return model_of(effects, task.scale, arrays, found)

    def _dense(
        self, task: Task, stages: Stages, cov: _Singles, wgt: _Singles
    ) -> dict[str, npt.NDArray[np.float32]]:
        """Both triangles for `knn`, so that Cov/Wgt is a covariance of residuals on the scale.

        Clamping flattened both factors of a product by its slope, and scaling to length 1 divided
        by the residuals' variance. That variance also stands for the unpublished diagonal.
        """
        variance = RESIDUAL_VARIANCE * stretch(task.scale)
        if stages.per_user:
            factor = variance
        else:
            slope, _ = clipped_moments(stages.centring.clamp, task.scale)
            factor = 1 / slope**2
        covariance, weights = cov * np.float32(factor), wgt.copy()
        side = packed_side(len(cov)) or 0
        diagonal = packed_bases(side) + np.arange(side)
        covariance[diagonal], weights[diagonal] = variance, 1.0
        return {"covariance": covariance, "weights": weights}

    def _factors(
        self, cov: _Singles, wgt: _Singles | None, counts: _Floats, spread: float, width: float
    ) -> _Floats:
        matrix = unpack(cov, np.float32)
        if self.clean is Cleaning.AUTO or wgt is None:
            return clean_auto(matrix, counts, spread, self.rank, width)
        clean = clean_paper if self.clean is Cleaning.PAPER else clean_none
        return clean(matrix.astype(np.float64), unpack(wgt).astype(np.float64), counts, self.rank)
