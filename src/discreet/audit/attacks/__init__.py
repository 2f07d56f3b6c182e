"""Attacks, each carried out for real: with protection, without it, and beside guessing.

Each says what the attacker knows and wants, and how often it got it. What protects is attacked by
its own code: clients, servers, fits. For the curator's eyes only, if the ratings are private.
"""

from discreet.audit.attacks._registry import ATTACKS, Attack, run_attack, run_attacks
from discreet.audit.attacks._result import (
    AttackResult,
    Outcome,
    most_with_prior,
    most_without_record,
)

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackResult",
    "Outcome",
    "most_with_prior",
    "most_without_record",
    "run_attack",
    "run_attacks",
]
