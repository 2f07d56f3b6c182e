"""The door: each statistic with its sensitivity and its proof."""

from discreet.measure._fit import fit
from discreet.measure._noise import Noise
from discreet.measure._paper import fit_paper
from discreet.measure._publish import PublicCounts, publish_item_counts
from discreet.measure._settings import Cleaning, CovarianceSettings, Method, RefinedSettings
from discreet.measure.item_counts import ItemCounts
from discreet.measure.probe_error import choose_best, publish_rmse

__all__ = [
    "Cleaning",
    "CovarianceSettings",
    "ItemCounts",
    "Method",
    "Noise",
    "PublicCounts",
    "RefinedSettings",
    "choose_best",
    "fit",
    "fit_paper",
    "publish_item_counts",
    "publish_rmse",
]
