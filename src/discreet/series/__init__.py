"""Releases for years: records come in periods, each measured once, and releases follow."""

from discreet.series._periods import KINDS
from discreet.series._plan import PlannedSeries, plan_series
from discreet.series._series import AddedPeriod, Series

__all__ = ["KINDS", "AddedPeriod", "PlannedSeries", "Series", "plan_series"]
