"""What a service says when it does not do what it was asked."""

from __future__ import annotations

import http.client
import json
import re

from discreet.domain import InputError

_LONGEST = 200
_SECONDS = re.compile("[0-9]{1,6}")


class Refusal(InputError):
    """An answer that is no success.

    Args:
        server: Who answered.
        status: The answer's status.
        reason: The server's own words, or none.
        wait: After how many seconds to ask again, if the server said so.
        advice: What would help.
    """

    def __init__(
        self, server: str, status: int, reason: str = "", wait: int | None = None, advice: str = ""
    ) -> None:
        self.server, self.status, self.said, self.wait = server, status, reason, wait
        told = f"{server} refused ({status})" + (f": {reason}" if reason else "")
        if wait is not None:
            told += f"; try again in {wait:,} second" + ("" if wait == 1 else "s")
        super().__init__(told + (f"; {advice}" if advice else ""))

    @classmethod
    def of(cls, server: str, answer: http.client.HTTPResponse, content: bytes) -> Refusal:
        """The refusal that an answer is, with the server's reason if it gave one."""
        try:
            reason = str(json.loads(content)["reason"])[:_LONGEST]
        except (KeyError, RecursionError, TypeError, ValueError):
            reason = ""
        plain = "".join(letter for letter in reason if letter.isprintable())
        wait = answer.headers.get("Retry-After", "")
        return cls(server, answer.status, plain, int(wait) if _SECONDS.fullmatch(wait) else None)

    def advised(self, advice: str) -> Refusal:
        """The same with what would help."""
        return Refusal(self.server, self.status, self.said, self.wait, advice)


def read_refusal(server: str, answer: http.client.HTTPResponse) -> Refusal:
    """The refusal that an answer is whose body is still to be read."""
    try:
        content = answer.read(1 << 16)
    except (http.client.HTTPException, OSError):
        content = b""
    finally:
        answer.close()
    return Refusal.of(server, answer, content)
