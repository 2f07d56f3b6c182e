"""Releases of item pairs: Slope One's mean differences, and cosines. After Park and Acharya."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure.pairs import CosinePairs, DifferencePairs
from discreet.methods._carrying import carry_head, carry_head_items
from discreet.methods._method import (
    MOST_PAIRS,
    Learnt,
    RatingMethod,
    Task,
    check_number,
    model_of,
    register,
)
from discreet.methods._names import MethodName
from discreet.methods._stages import item_stages_of

Pairs = tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]
"""Arrays and parameters of a release."""


@dataclass(frozen=True)
class PairMethod(RatingMethod):
    """Releases of item pairs; a rank of 0 leaves the pairs out.

    Attributes:
        weight_share: The part of the pairs' share that their weights, or the items' squares, get.
    """

    weight_share: float = 0.3

    pairs_label: ClassVar[str]
    """Of the pairs that are measured."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank not in (0, RatingMethod.rank):
            raise InputError(f"rank is for factors, and {self.name} has none; leave it out")
        check_number("weight_share", self.weight_share, 0.05, 0.95)

    def head_size(self, strength: float, items: int) -> int:
        return min(super().head_size(strength, items), MOST_PAIRS)

    def learn(self, task: Task) -> Learnt:
        stages = item_stages_of(self, task)
        stages.measure_items()
        arrays, found = dict[str, npt.NDArray[Any]](), dict[str, Any](head_items=0)
        if stages.share > 0:
            size = self.head_size(stages.strength, task.items)
            head = task.head(self.pairs_label, stages.effects.counts, size)
            arrays, found = self._pairs(task, head, stages.share)
            arrays, found = {"head": head, **arrays}, {"head_items": len(head), **found}
        return model_of(stages.released, task.scale, arrays, found)

    @abc.abstractmethod
    def _pairs(self, task: Task, head: npt.NDArray[np.int32], share: float) -> Pairs:
        """What is released of the pairs of these items."""


@register
@dataclass(frozen=True)
class SlopeOneMethod(PairMethod):
    """Mean differences between two items' ratings.

    Attributes:
        spread: Protecting users, the standard deviation of a person's ratings, as a part of the
            scale's width, from which on the person counts less.
    """

    name = MethodName.SLOPE_ONE
    pairs_label = "pair differences"

    spread: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("spread", self.spread, 0.01, 0.5)

    def _pairs(self, task: Task, head: npt.NDArray[np.int32], share: float) -> Pairs:
        """D and N."""
        statistic = DifferencePairs(self.protect, self.noise, head, task.scale, self.spread)
        part = share * self.weight_share
        shares = {"pair differences": share - part, "pair weights": part}
        carries = dict.fromkeys(shares, carry_head(head))
        D, N = task.measure(statistic, shares, stage="item pairs", carries=carries)
        return (
            {"differences": D.value, "pair_weights": N.value},
            {"difference_noise": D.spread, "pair_noise": N.spread},
        )


@register
@dataclass(frozen=True)
class CosineMethod(PairMethod):
    """How often two items go together, for their popularity."""

    name = MethodName.COSINE
    pairs_label = "pair products"
    takes_presence = True

    weight_share: float = 0.1

    def _pairs(self, task: Task, head: npt.NDArray[np.int32], share: float) -> Pairs:
        """P of the pairs and Q of the items."""
        statistic = CosinePairs(self.protect, self.noise, head, task.scale)
        part = share * self.weight_share
        shares = {"pair products": share - part, "item squares": part}
        carries = {"pair products": carry_head(head), "item squares": carry_head_items(head)}
        P, Q = task.measure(statistic, shares, stage="item pairs", carries=carries)
        return (
            {"products": P.value, "squares": Q.value.astype(np.float32)},
            {"product_noise": P.spread, "square_noise": Q.spread},
        )
