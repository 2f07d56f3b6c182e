"""The private door: statistics with their sensitivities and proofs, and what releases them.

Auditors read this room. Every private number that leaves it is a part of a statistic, released by a
`Spender` with noise for its share of a charged budget; `outputs`, `sets` and `choose_best` draw
from a mechanism on a receipt of their own.
"""

from discreet.measure._request import (
    CHARGED,
    UNBOOKED,
    Budget,
    GivenLedger,
    PublicCounts,
    Request,
    Spender,
    assumptions,
    is_named,
    mentioning_charge,
    open_ledger,
    publish_item_counts,
)
from discreet.measure._running import Carry, Frame, RunningSpender, Stream, head_places
from discreet.measure._source import (
    HeadEntries,
    PairStatistic,
    Part,
    RatingsSource,
    RemoteRatings,
    Statistic,
    between,
    measure_all,
    over_blocks,
)
from discreet.measure.item_counts import HeadCounts, ItemCounts
from discreet.measure.outputs import Answers, OutputFunction, OutputPlan
from discreet.measure.probe_error import choose_best, publish_rmse
from discreet.measure.sets import PROTECTION, AttackKind, PrivateSets, private_sets

__all__ = [
    "CHARGED",
    "PROTECTION",
    "UNBOOKED",
    "Answers",
    "AttackKind",
    "Budget",
    "Carry",
    "Frame",
    "GivenLedger",
    "HeadCounts",
    "HeadEntries",
    "ItemCounts",
    "OutputFunction",
    "OutputPlan",
    "PairStatistic",
    "Part",
    "PrivateSets",
    "PublicCounts",
    "RatingsSource",
    "RemoteRatings",
    "Request",
    "RunningSpender",
    "Spender",
    "Statistic",
    "Stream",
    "assumptions",
    "between",
    "choose_best",
    "head_places",
    "is_named",
    "measure_all",
    "mentioning_charge",
    "open_ledger",
    "over_blocks",
    "private_sets",
    "publish_item_counts",
    "publish_rmse",
]
