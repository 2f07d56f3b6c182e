"""The papers' figures and tables, made again on data at hand: picture, table, and a comparison.

They look at private ratings without paying: for the curator's eyes only.
"""

from discreet.evaluate.reproduce._catalogue import (
    REPRODUCTIONS,
    Reproduction,
    find_reproduction,
    reproduce,
)
from discreet.evaluate.reproduce._found import Claim, Found
from discreet.evaluate.reproduce._study import Effort, Size, Study, open_study

__all__ = [
    "REPRODUCTIONS",
    "Claim",
    "Effort",
    "Found",
    "Reproduction",
    "Size",
    "Study",
    "find_reproduction",
    "open_study",
    "reproduce",
]
