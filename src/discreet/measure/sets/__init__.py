"""Sets of items chosen by private scores: charge, then draw. See PROOF.md."""

from discreet.measure.sets._attacks import PROTECTION, AttackKind, Cover
from discreet.measure.sets._draw import PrivateSets, Scoring, private_sets

__all__ = ["PROTECTION", "AttackKind", "Cover", "PrivateSets", "Scoring", "private_sets"]
