"""The door audited: does one person's rows change how another person's rows are read?

`ratings/PROOF.md` proves that they do not. A search tries to refute it: it writes a file, and the
same file with one person's rows added, reads both and compares everybody else's records.
"""

from discreet.audit._registry import Entry
from discreet.audit.stability._planted import PLANTED_READERS
from discreet.audit.stability._readers import READERS
from discreet.audit.stability._search import (
    FILES,
    PLANTED_FILES,
    Reader,
    ReaderFinding,
    Reading,
    search,
)

__all__ = [
    "FILES",
    "PLANTED_FILES",
    "PLANTED_READERS",
    "READERS",
    "Entry",
    "Reader",
    "ReaderFinding",
    "Reading",
    "search",
]
