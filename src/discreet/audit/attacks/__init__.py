"""Attacks, each carried out for real: with protection, without it, and compared with guessing.

Each says what the attacker knows and wants, and how often it succeeded. What protects is attacked
through its own code: clients, servers, fits. For the curator's eyes only, if the ratings are
private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from discreet.audit.attacks import (
    _fake_profiles,
    _hash_recovery,
    _liars,
    _linkage,
    _membership,
    _popular_items,
    _quotient,
    _reconstruction,
    _repeated_reports,
    _subsets,
    _sybils,
    _two_releases,
)
from discreet.audit.attacks._attack import (
    Attack,
    AttackResult,
    Outcome,
    most_with_prior,
    most_without_record,
)
from discreet.audit.attacks._data import prepare
from discreet.domain import InputError
from discreet.ratings import Ratings

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

_ALL = (
    _two_releases.ATTACK,
    _membership.ATTACK,
    _fake_profiles.ATTACK,
    _linkage.ATTACK,
    _popular_items.ATTACK,
    _subsets.ATTACK,
    _sybils.ATTACK,
    _hash_recovery.ATTACK,
    _quotient.ATTACK,
    _repeated_reports.ATTACK,
    _reconstruction.ATTACK,
    _liars.ATTACK,
)

ATTACKS: Mapping[str, Attack] = MappingProxyType({attack.name: attack for attack in _ALL})
"""Every attack, by its name on the command line."""

Progress = Callable[[str, int, int], None]
"""Called with an attack's name, how many attacks are done and how many there are."""


def run_attack(name: str, ratings: Ratings | None = None, *, seed: int = 0) -> AttackResult:
    """Carry out one attack. For the curator's eyes only, if the ratings are private.

    Args:
        name: Of `ATTACKS`.
        ratings: What to attack; made up in the shape of ml-100k by default. Of more than 1,000
            people 1,000 are drawn at random.
        seed: Of victims, noise and made-up ratings.

    Raises:
        InputError: There is no such attack, or it cannot be made on these ratings.
    """
    return run_attacks([name], ratings, seed=seed)[0]


def run_attacks(
    names: Iterable[str],
    ratings: Ratings | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[AttackResult]:
    """Carry out several attacks on the same ratings; `all` stands for every one.

    Args:
        names: Of `ATTACKS`, or `all`.
        ratings: As for `run_attack`.
        seed: As for `run_attack`.
        progress: Called before each attack.

    Raises:
        InputError: There is no such attack, or it cannot be made on these ratings.
    """
    wanted = check_names(names)
    if seed < 0:
        raise InputError(f"a seed is an integer of at least 0, not {seed}")
    prepared = prepare(ratings, seed)
    found = []
    for done, name in enumerate(wanted):
        if progress is not None:
            progress(name, done, len(wanted))
        found.append(ATTACKS[name].run(prepared, seed))
    return found


def check_names(names: Iterable[str]) -> list[str]:
    """The attacks that are meant, each once; `all` stands for every one.

    Raises:
        InputError: There is no such attack.
    """
    asked = list(dict.fromkeys(names))
    for name in asked:
        if name not in (*ATTACKS, "all"):
            raise InputError(f"unknown attack '{name}'; there are {', '.join(ATTACKS)} and all")
    return list(ATTACKS) if "all" in asked else asked
