"""The papers' claims that do not hold, each with a counter-example that is computed here.

`docs/errata.md` has them in words, beside what is done instead. Its numbers are these.
"""

from discreet.audit.attacks.errata import (
    _paper_000,
    _paper_002,
    _paper_003,
    _paper_004,
    _practice,
)
from discreet.audit.attacks.errata._erratum import Erratum, Number
from discreet.audit.attacks.errata._papers import PAPERS, Paper


def all_errata() -> list[Erratum]:
    """Compute every counter-example; some seconds."""
    rooms = (_paper_000, _paper_003, _paper_002, _paper_004, _practice)
    return [erratum for room in rooms for erratum in room.errata()]


__all__ = ["PAPERS", "Erratum", "Number", "Paper", "all_errata"]
