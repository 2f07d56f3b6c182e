"""What a service says when it does not do what it was asked."""

from __future__ import annotations

import http.client
import json
import re

from discreet.domain.errors import Refusal

_LONGEST = 200
_SECONDS = re.compile("[0-9]{1,6}")


def refusal_of(server: str, answer: http.client.HTTPResponse, content: bytes) -> Refusal:
    """The refusal that an answer is, with the server's reason if it gave one."""
    try:
        reason = str(json.loads(content)["reason"])[:_LONGEST]
    except (KeyError, RecursionError, TypeError, ValueError):
        reason = ""
    plain = "".join(letter for letter in reason if letter.isprintable())
    wait = answer.headers.get("Retry-After", "")
    return Refusal(server, answer.status, plain, int(wait) if _SECONDS.fullmatch(wait) else None)


def read_refusal(server: str, answer: http.client.HTTPResponse) -> Refusal:
    """The refusal that an answer is whose body is still to be read."""
    try:
        content = answer.read(1 << 16)
    except (http.client.HTTPException, OSError):
        content = b""
    finally:
        answer.close()
    return refusal_of(server, answer, content)
