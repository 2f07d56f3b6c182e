"""Single answers from private ratings, each with noise: the mode of Park and Acharya. See PROOF.md.

Dear beyond a handful of numbers, because everything that gets noise is charged; a release is paid
for once and answers for ever.
"""

from discreet.measure.outputs._function import (
    OutputFunction,
    OutputMethod,
    Sensitivity,
    ShownTo,
)
from discreet.measure.outputs._plan import PAPER_BOUND, Answers, OutputPlan

__all__ = [
    "PAPER_BOUND",
    "Answers",
    "OutputFunction",
    "OutputMethod",
    "OutputPlan",
    "Sensitivity",
    "ShownTo",
]
