"""The door: each statistic with its sensitivity and its proof."""

from discreet.measure._fit import fit
from discreet.measure._noise import Noise
from discreet.measure._publish import PublicCounts, publish_item_counts
from discreet.measure._request import CHARGED
from discreet.measure._settings import (
    Cleaning,
    CosineSettings,
    CovarianceSettings,
    Method,
    RefinedSettings,
    SlopeOneSettings,
)
from discreet.measure._transcript import Spoken, Transcript, record_fit
from discreet.measure.item_counts import ItemCounts
from discreet.measure.outputs import Answers, OutputFunction, OutputPlan
from discreet.measure.probe_error import choose_best, publish_rmse
from discreet.measure.sets import PROTECTION, AttackKind, PrivateSets, private_sets

__all__ = [
    "CHARGED",
    "PROTECTION",
    "Answers",
    "AttackKind",
    "Cleaning",
    "CosineSettings",
    "CovarianceSettings",
    "ItemCounts",
    "Method",
    "Noise",
    "OutputFunction",
    "OutputPlan",
    "PrivateSets",
    "PublicCounts",
    "RefinedSettings",
    "SlopeOneSettings",
    "Spoken",
    "Transcript",
    "choose_best",
    "fit",
    "private_sets",
    "publish_item_counts",
    "publish_rmse",
    "record_fit",
]
