"""The attacks by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from discreet.audit.attacks._data import prepare
from discreet.audit.attacks._fake_profiles import fake_profiles
from discreet.audit.attacks._hash_recovery import hash_recovery
from discreet.audit.attacks._linkage import linkage
from discreet.audit.attacks._membership import membership
from discreet.audit.attacks._popular_items import popular_items
from discreet.audit.attacks._quotient import quotient
from discreet.audit.attacks._reconstruction import reconstruction
from discreet.audit.attacks._repeated import repeated_reports
from discreet.audit.attacks._result import AttackResult
from discreet.audit.attacks._subsets import subsets
from discreet.audit.attacks._sybils import sybils
from discreet.audit.attacks._two_releases import two_releases
from discreet.domain import InputError
from discreet.ratings import Ratings

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""


@dataclass(frozen=True)
class Attack:
    """An attack that can be run.

    Attributes:
        about: One line.
        source: Where it comes from.
        run: From ratings and a seed to what came of it.
    """

    about: str
    source: str
    run: Callable[[Ratings, int], AttackResult]


ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {
        "two-releases": Attack(
            "a new rating from what changed between two releases",
            "Calandrino et al. 2011",
            two_releases,
        ),
        "membership": Attack(
            "whether somebody is in the data, from a fit's statistics",
            "Homer et al. 2008",
            membership,
        ),
        "fake-profiles": Attack(
            "what somebody rated, from what copies of them are recommended",
            "McSherry and Mironov 2009, section 1",
            fake_profiles,
        ),
        "linkage": Attack(
            "whose record it is, from a few ratings of a public profile",
            "Narayanan and Shmatikov 2008",
            linkage,
        ),
        "popular-items": Attack(
            "which items of an open upload are true, by popularity and value",
            "against Chow, Pathak and Wang",
            popular_items,
        ),
        "subsets": Attack(
            "which items of an open upload are true, by the hash sent beside it",
            "against Chow, Pathak and Wang",
            subsets,
        ),
        "sybils": Attack(
            "an upload, by filling its bucket to the least that is published",
            "against Chow, Pathak and Wang",
            sybils,
        ),
        "hash-recovery": Attack(
            "the hash value of a closed cluster, from its members' mean",
            "against Chow, Pathak and Wang",
            hash_recovery,
        ),
        "quotient": Attack(
            "differences of hash values, from pairs of tags",
            "against Chow, Pathak and Wang, appendix",
            quotient,
        ),
        "repeated-reports": Attack(
            "a rating, by averaging many local reports",
            "against any local mechanism",
            repeated_reports,
        ),
        "reconstruction": Attack(
            "whole records, from a dense covariance",
            "after Dinur and Nissim 2003",
            reconstruction,
        ),
    }
)
"""Every attack, by the name that the command line has for it."""


def run_attack(name: str, ratings: Ratings | None = None, *, seed: int = 0) -> AttackResult:
    """Carry out one attack. For the curator's eyes only, if the ratings are private.

    Args:
        name: Of `ATTACKS`.
        ratings: What to attack; made up in the shape of ml-100k if absent. Of more than 1,000
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
        seed: Likewise.
        progress: Called with an attack's name, how many are done and how many there are.

    Raises:
        InputError: There is no such attack, or it cannot be made on these ratings.
    """
    told = list(dict.fromkeys(names))
    wanted = list(ATTACKS) if "all" in told else told
    for name in told:
        if name not in (*ATTACKS, "all"):
            raise InputError(f"'{name}' is no attack; there are {', '.join(ATTACKS)}, and all")
    if seed < 0:
        raise InputError(f"a seed is a whole number from 0 on, not {seed}")
    prepared = prepare(ratings, seed)
    found = []
    for done, name in enumerate(wanted):
        if progress is not None:
            progress(name, done, len(wanted))
        found.append(ATTACKS[name].run(prepared, seed))
    return found
