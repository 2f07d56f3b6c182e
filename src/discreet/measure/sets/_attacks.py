"""Three kinds of attack on a recommender, and which releases stand against which."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class AttackKind(enum.StrEnum):
    """Where attackers put entries of their own in, to learn from what comes out about others.

    A learner completes a sparse matrix D of ratings to a matrix C with a score for everybody and
    everything. What attackers put in may be anything and is no secret: epsilon bounds what they
    learn about one unit of somebody else. It does not keep them from spoiling recommendations.
    """

    IMMEDIATE = "immediate"
    """Before learning, in D. The secret is a rating, or a person, in the data that was learnt."""
    DYNAMIC = "dynamic"
    """After learning, in C, until the next learning. The secret is one entry of C."""
    COMBINED = "combined"
    """Some in D and others in C. The secret is one of each, together."""


class Cover(NamedTuple):
    """Whether a bound holds against a kind of attack, and which, in words."""

    is_bounded: bool
    words: str


def _release_made_once(whom: str) -> dict[AttackKind, Cover]:
    """A release of noisy statistics: C exists nowhere but at home, row by row."""
    return {
        AttackKind.IMMEDIATE: Cover(True, f"the release's epsilon, {whom}; predictions are free"),
        AttackKind.DYNAMIC: Cover(
            True, "nothing is spent while scores are made at home and what is entered later stays"
        ),
        AttackKind.COMBINED: Cover(True, "as immediate, while scores are made at home"),
    }


_NOTHING = Cover(False, "nothing: neighbours have different supports, so no epsilon is finite")
_BY_RATING = "for one rating; for a person as many times as they have ratings, without a bound"

PROTECTION: Mapping[str, Mapping[AttackKind, Cover]] = MappingProxyType(
    {
        "sets, moves one": {
            AttackKind.IMMEDIATE: Cover(
                False, "nothing: what is learnt moves every score, and one was promised"
            ),
            AttackKind.DYNAMIC: Cover(
                True, "a list's epsilon for one entry, however many people get a list, once each"
            ),
            AttackKind.COMBINED: Cover(False, "nothing, for want of the immediate part"),
        },
        "sets, moves all": {
            AttackKind.IMMEDIATE: Cover(
                True, "a list's epsilon for whoever sees one list; times the lists for all of them"
            ),
            AttackKind.DYNAMIC: Cover(
                True, "a list's epsilon, if an entry moves by at most the sensitivity as well"
            ),
            AttackKind.COMBINED: Cover(True, "the sum of immediate and dynamic"),
        },
        "pair statistics, per rating": _release_made_once(_BY_RATING),
        "pair statistics, per user": _release_made_once("for a person's whole history"),
        "covariance or refined, per rating": _release_made_once(_BY_RATING),
        "covariance or refined, per user": _release_made_once("for a person's whole history"),
        "local reports": {
            AttackKind.IMMEDIATE: Cover(
                True,
                "the reports' epsilon for one rating, even from the server; for a person times "
                "the catalogue",
            ),
            AttackKind.DYNAMIC: Cover(
                True, "nothing while no new report is sent; a new epoch costs its epsilon again"
            ),
            AttackKind.COMBINED: Cover(True, "as immediate, for all epochs together"),
        },
        "birth-death chain of the paper": dict.fromkeys(AttackKind, _NOTHING),
    }
)
"""For each kind of release, what bounds the three kinds of attack."""
