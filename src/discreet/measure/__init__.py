"""The door: each statistic with its sensitivity and its proof."""
