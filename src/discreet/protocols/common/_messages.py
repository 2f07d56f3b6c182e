"""Messages are JSON objects; numbers in bulk are base64 of little-endian bytes.

A message class has `as_json()` and `from_json(object)`; the latter reads its fields through
`Fields`, which refuses whatever is missing, unknown, of the wrong type, out of range or too large.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.domain.errors import FieldError


def bytes_text(content: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(content).decode("ascii")


def numbers_text(values: npt.NDArray[Any], dtype: str) -> str:
    """Numbers as base64 of the little-endian bytes of `dtype`, `int32` for example."""
    return bytes_text(np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes())


class Fields:
    """A JSON object from outside, read field by field.

    Values are never repeated in errors: they may be private.

    Args:
        content: What was parsed.
        kind: The message's name.
        names: All fields that it may have.
    """

    def __init__(self, content: Any, kind: str, names: tuple[str, ...]) -> None:
        self.kind = kind
        if not isinstance(content, Mapping):
            raise InputError(f"{kind}: an object was expected")
        for name in content:
            if name not in names:
                raise InputError(
                    f"{kind}: a field that it does not have; it has {', '.join(names)}"
                )
        self._content = content

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._content.get(name) is not None

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number."""
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            wanted = f"a whole number from {least:,} to {most:,}"
            raise FieldError(self.kind, name, wanted, (least, most))
        return value

    def number(self, name: str, least: float, most: float) -> float:
        """A number."""
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(name, "a number")
        if not least <= value <= most:
            raise self._wrong(name, f"from {least:g} to {most:g}")
        return float(value)

    def text(self, name: str, longest: int = 200) -> str:
        """A short text."""
        value = self._get(name)
        if not isinstance(value, str) or len(value) > longest or not value.isprintable():
            raise self._wrong(name, f"a text of at most {longest} printable characters")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of a few texts."""
        value = self._get(name)
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return str(value)

    def content(self, name: str, least: int, most: int) -> bytes:
        """Bytes, `least` to `most` of them."""
        value = self._get(name)
        wanted = (
            f"base64 of {least:,} to {most:,} bytes"
            if least < most
            else f"base64 of {least:,} bytes"
        )
        if not isinstance(value, str) or len(value) > 4 * (most + 2) // 3 + 4:
            raise self._wrong(name, wanted)
        try:
            found = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise self._wrong(name, wanted) from None
        if not least <= len(found) <= most:
            raise self._wrong(name, wanted)
        return found

    def numbers(self, name: str, dtype: str, most: int) -> npt.NDArray[Any]:
        """At most `most` numbers of a type; finite."""
        kind = np.dtype(dtype).newbyteorder("<")
        content = self.content(name, 0, most * kind.itemsize)
        if len(content) % kind.itemsize:
            raise self._wrong(name, f"whole numbers of {kind.itemsize} bytes")
        found = np.frombuffer(content, kind).astype(np.dtype(dtype))
        if not np.all(np.isfinite(found)):
            raise self._wrong(name, "finite numbers")
        return found

    def nested(self, name: str, kind: str, names: tuple[str, ...]) -> Fields:
        """An object in this one."""
        return Fields(self._get(name), kind, names)

    def objects(self, name: str, most: int) -> list[Any]:
        """A list of at most `most` entries."""
        value = self._get(name)
        if not isinstance(value, list) or len(value) > most:
            raise self._wrong(name, f"a list of at most {most:,}")
        return value

    def _get(self, name: str) -> Any:
        if not self.has(name):
            raise InputError(f"{self.kind}: '{name}' is missing")
        return self._content[name]

    def _wrong(self, name: str, wanted: str) -> FieldError:
        return FieldError(self.kind, name, wanted)


_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")


def make_capability() -> str:
    """A fresh one: 32 random bytes as text, which nobody can guess."""
    return secrets.token_urlsafe(32)


def capability_digest(capability: str) -> bytes:
    """What a server keeps of it: 32 bytes from which the capability cannot be found.

    Raises:
        InputError: It is not one; the text is not repeated.
    """
    if not _SHAPE.fullmatch(capability):
        raise InputError("a capability is 43 letters, digits, - or _")
    return hashlib.blake2b(capability.encode(), digest_size=32, person=b"discreet cap").digest()
