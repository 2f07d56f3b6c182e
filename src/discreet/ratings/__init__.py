"""Private data comes in here: readers, splits, synthetic data."""

from discreet.ratings._ratings import Ratings

__all__ = ["Ratings"]
