"""Bugs planted on purpose, so that the audit can show that it finds them. Nothing else uses these.

Each is the real code with one thing wrong and the claim of the right one. The papers' wrong
theorems are among them, with the counter-examples of docs/errata.md.
"""

from discreet.audit.lower_bound.planted._registry import PLANTED

__all__ = ["PLANTED"]
