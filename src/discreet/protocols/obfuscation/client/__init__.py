"""At home: made-up ratings, and what is remembered of them."""

from discreet.protocols.obfuscation.client._history import History, Terms
from discreet.protocols.obfuscation.client._obfuscator import (
    Obfuscator,
    Standing,
    read_own,
    standing,
)

__all__ = ["History", "Obfuscator", "Standing", "Terms", "read_own", "standing"]
