"""Audits: lower bounds on epsilon, proved by telling two worlds apart. See PROOF.md.

A lower bound above the claimed epsilon proves that the claim is false, at its confidence. A lower
bound below it proves nothing: an audit can find a bug, it can never show that there is none.
"""

from discreet.audit._neighbours import Neighbours, search
from discreet.audit.lower_bound._canaries import (
    Canaries,
    audit_release,
    insert_canaries,
    score_release,
    score_transcript,
)
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import Finding, PairSubject, Subject, audit
from discreet.audit.lower_bound._noisy import NoisySubject, StatisticSubject
from discreet.audit.lower_bound._one_run import Guessed, audit_guesses, chance, refuted_size
from discreet.audit.lower_bound._registry import (
    SUBJECTS,
    Makers,
    audit_all,
    find_subjects,
    matching,
)

__all__ = [
    "SUBJECTS",
    "Canaries",
    "Claim",
    "Finding",
    "Guessed",
    "Makers",
    "Neighbours",
    "NoisySubject",
    "PairSubject",
    "StatisticSubject",
    "Subject",
    "audit",
    "audit_all",
    "audit_guesses",
    "audit_release",
    "chance",
    "find_subjects",
    "insert_canaries",
    "matching",
    "refuted_size",
    "score_release",
    "score_transcript",
    "search",
]
