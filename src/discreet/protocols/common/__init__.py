"""What all protocols share: how messages are written, capabilities, the client's own file."""

from discreet.protocols.common._capability import capability_digest, make_capability
from discreet.protocols.common._fields import Fields, bytes_text, numbers_text
from discreet.protocols.common._limit import Limit
from discreet.protocols.common._state import StateFile

__all__ = [
    "Fields",
    "Limit",
    "StateFile",
    "bytes_text",
    "capability_digest",
    "make_capability",
    "numbers_text",
]
