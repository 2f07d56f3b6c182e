"""What all protocols share: how messages are written, capabilities, the client's own file."""

from discreet.protocols.common._messages import (
    Fields,
    bytes_text,
    capability_digest,
    make_capability,
    numbers_text,
)
from discreet.protocols.common._periods import spell_sum
from discreet.protocols.common._state import Limit, StateFile
from discreet.protocols.common._work import MOST_BITS, has_worked, work

__all__ = [
    "MOST_BITS",
    "Fields",
    "Limit",
    "StateFile",
    "bytes_text",
    "capability_digest",
    "has_worked",
    "make_capability",
    "numbers_text",
    "spell_sum",
    "work",
]
