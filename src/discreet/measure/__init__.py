"""The door: each statistic with its sensitivity and its proof."""

from discreet.measure._noise import Noise
from discreet.measure._publish import PublicCounts, publish_item_counts
from discreet.measure.item_counts import ItemCounts

__all__ = ["ItemCounts", "Noise", "PublicCounts", "publish_item_counts"]
