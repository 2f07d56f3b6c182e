"""What fuzzing finds."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

LONGEST = 1 << 15
"""Bytes to which inputs are cut: parsers refuse or read more in the same way."""

_MEMORY = "/dev/shm"  # noqa: S108  (folders below it have names of their own)


def quick_folder() -> str | None:
    """Where files are made quickly (on a disk it takes a millisecond); None: where TMPDIR says."""
    return None if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK) else _MEMORY


@dataclass
class Outcome:
    """What was found.

    Attributes:
        tried: Inputs.
        reached: Lines of discreet, or atheris's counters.
        corpus: Inputs that each reached something new.
        crashes: Inputs with the first error of each kind and place.
    """

    tried: int = 0
    reached: int = 0
    corpus: list[bytes] = field(default_factory=list)
    crashes: dict[str, bytes] = field(default_factory=dict)


def place(error: BaseException) -> str:
    """What was raised, and where: one finding, however many inputs lead to it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
    return f"{type(error).__name__} at {where}: {error}"[:300]
