"""A curator's ledger over time, for the administrator to look at. It is only ever read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.privacy.ledger import Entry, Ledger, Limit, epsilons_ahead

LEDGER_WAIT = 3.0
"""Seconds to wait for a writer of the ledger; chosen to leave time for the answer."""

# The most charges that are sent, evenly spaced and always with the last: a picture shows no more.
# Chosen by hand.
_MOST_CHARGES = 60
# Charges to come: a year of months. Chosen by hand.
_AHEAD = 12


def read_history(path: Path) -> list[dict[str, Any]]:
    """Each limit with the charges so far and what more of them would bring it to.

    An epsilon is what is spent after a charge, at the limit's delta; None where nothing bounds it.

    Raises:
        LedgerError: The ledger cannot be read.
    """
    ledger = Ledger.open(path, wait=LEDGER_WAIT)
    entries = ledger.history()
    step = math.ceil(len(entries) / _MOST_CHARGES) or 1
    shown = entries[::-1][::step][::-1]
    return [_limit(limit, shown) for limit in ledger.limits]


def _limit(limit: Limit, shown: Sequence[Entry]) -> dict[str, Any]:
    ahead = epsilons_ahead(limit, shown[-1], _AHEAD) if shown else []
    return {
        "unit": limit.unit.value,
        "limit_epsilon": limit.epsilon,
        "delta": limit.delta,
        "charges": [
            {
                "number": entry.number,
                "time": entry.time.isoformat(timespec="seconds"),
                "purpose": entry.purpose,
                "period": None if entry.period is None else entry.period.name,
                "spent_epsilon": _finite(limit.spent_epsilon(entry.spent[limit.unit])),
            }
            for entry in shown
        ],
        "ahead": [_finite(epsilon) for epsilon in ahead],
    }


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
