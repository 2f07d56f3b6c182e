"""What a fit can be asked for by name. Light to import: the command line offers these choices."""

from __future__ import annotations

import enum

# The budget of a fit where none is given: a usual choice in the literature.
DEFAULT_EPSILON = 1.0


class MethodName(enum.StrEnum):
    """How ratings become a model."""

    REFINED = "refined"
    """Expected ratings and lists: effects, pairs of popular items, one private refinement."""
    LISTS = "lists"
    """Lists alone, from what people have: EASE's weights from noisy pairs of popular items."""
    COVARIANCE = "covariance"
    """Effects and covariance, after McSherry and Mironov."""
    SLOPE_ONE = "slope-one"
    """Mean differences between the ratings of two items, after Park and Acharya."""
    COSINE = "cosine"
    """How often two items go together, after Park and Acharya; for presence too."""


class Cleaning(enum.StrEnum):
    """How a noisy covariance becomes factors."""

    AUTO = "auto"
    """Noise-aware: rank and shrinkage from released values and the known noise."""
    PAPER = "paper"
    """McSherry and Mironov, section 4.6."""
    NONE = "none"
    """The largest eigenvectors as they are."""
