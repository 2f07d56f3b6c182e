"""A small coverage-guided fuzzer: an input that reaches new lines is kept and changed further."""

from __future__ import annotations

import random
import sys
import time
from types import FrameType
from typing import Any

from fuzz._outcome import LONGEST, Outcome, place
from fuzz.targets import ALLOWED, Target

_TOKENS = (
    b"null", b"true", b"-1", b"0", b"1e999", b"18446744073709551616", b'""', b"[]", b"{}", b"\x00",
    b"\xff" * 4, b"NaN", b"\n", b'"', b",", b"\xc3", b"::", b"9" * 30,
)  # fmt: skip


def fuzz(target: Target, *, seed: int, seconds: float = 0.0, tries: int = 0) -> Outcome:
    """Try changed inputs for a time, or so many of them."""
    rng, found, end = random.Random(seed), Outcome(), time.monotonic() + seconds
    lines: set[tuple[str, int]] = set()
    for content in target.seeds():
        _try(target, content, found, lines)
    while found.tried < tries or time.monotonic() < end:
        _try(target, _changed(rng, found.corpus), found, lines)
    return found


def _try(target: Target, content: bytes, found: Outcome, lines: set[tuple[str, int]]) -> None:
    seen: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "discreet" not in frame.f_code.co_filename:
            return None
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    found.tried += 1
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        target.run(content)
    except ALLOWED:
        pass
    except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
        sys.settrace(before)
        found.crashes.setdefault(place(error), content)
    finally:
        sys.settrace(before)
    if not seen <= lines or not found.corpus:
        lines |= seen
        found.reached = len(lines)
        found.corpus.append(content)


def _changed(rng: random.Random, corpus: list[bytes]) -> bytes:
    content = bytearray(rng.choice(corpus))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(content) + 1)
        length = rng.choice((1, 1, 2, 8, 40))
        match rng.randrange(6):
            case 0 if content:
                content[min(at, len(content) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                content[at : at + length] = rng.randbytes(length)
            case 2:
                del content[at : at + length]
            case 3:
                content[at:at] = rng.choice(_TOKENS)
            case 4:
                content[at:at] = content[at : at + length] * rng.choice((1, 2, 20))
            case _:
                other = rng.choice(corpus)
                cut = rng.randrange(len(other) + 1)
                content[at:] = other[cut:]
    return bytes(content[:LONGEST])
