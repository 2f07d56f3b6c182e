"""Attacks on what the other rooms give out, carried out for real. For the curator's eyes only."""

from discreet.audit._linear_ideal import RiskUtility, best_value, risk_utility
from discreet.audit._scenes import Over

__all__ = [
    "Over",
    "RiskUtility",
    "best_value",
    "risk_utility",
]
