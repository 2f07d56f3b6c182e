"""Attacks on what the other rooms give out, carried out for real. For the curator's eyes only.

`discreet.audit(...)` looks for violations of claimed guarantees: it is the function `audit` of this
room. Names load on first use: audits need every other room.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discreet.domain.callable_room import make_callable

if TYPE_CHECKING:
    from discreet.audit._adversary import Guesses as Guesses
    from discreet.audit._adversary import Victims as Victims
    from discreet.audit._adversary import attack_release as attack_release
    from discreet.audit._adversary import choose_victims as choose_victims
    from discreet.audit._adversary import guess as guess
    from discreet.audit._auditing import ON_BOUNDS as ON_BOUNDS
    from discreet.audit._auditing import AuditResults as AuditResults
    from discreet.audit._auditing import audit as audit
    from discreet.audit._auditing import audit_names as audit_names
    from discreet.audit._choosing import EpsilonChoice as EpsilonChoice
    from discreet.audit._choosing import choose_epsilon as choose_epsilon
    from discreet.audit._compared import METHODS as METHODS
    from discreet.audit._compared import noised_answers as noised_answers
    from discreet.audit._consequences import EPSILONS as EPSILONS
    from discreet.audit._consequences import Choice as Choice
    from discreet.audit._consequences import Consequence as Consequence
    from discreet.audit._consequences import choose_epsilons as choose_epsilons
    from discreet.audit._consequences import consequences as consequences
    from discreet.audit.lower_bound import insert_canaries as insert_canaries

# Which names each module has.
_NAMES: tuple[tuple[Callable[[], ModuleType], tuple[str, ...]], ...] = (
    (
        lambda: import_module("discreet.audit._adversary"),
        ("Guesses", "Victims", "attack_release", "choose_victims", "guess"),
    ),
    (
        lambda: import_module("discreet.audit._auditing"),
        ("AuditResults", "ON_BOUNDS", "audit", "audit_names"),
    ),
    (lambda: import_module("discreet.audit._choosing"), ("EpsilonChoice", "choose_epsilon")),
    (lambda: import_module("discreet.audit._compared"), ("METHODS", "noised_answers")),
    (
        lambda: import_module("discreet.audit._consequences"),
        ("Choice", "Consequence", "EPSILONS", "choose_epsilons", "consequences"),
    ),
    (lambda: import_module("discreet.audit.lower_bound"), ("insert_canaries",)),
)
_HOMES = {name: load for load, names in _NAMES for name in names}

# Constants, then classes, then the rest.
__all__ = sorted(_HOMES, key=lambda name: (not name.isupper(), name[0].islower(), name))  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.audit' has no attribute '{name}'")
    return getattr(_HOMES[name](), name)


make_callable(__name__)
