"""Who may enrol: anybody, or who has an invitation, has worked for it, or is vouched for.

Each way gives a digest that enrols once; it is stored beside no person, so that what somebody sent
cannot be traced to their invitation.
"""

from __future__ import annotations

import abc
import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from discreet.domain import InputError
from discreet.protocols.common import MOST_BITS, Fields, has_worked

LARGEST_PROOF = 8 << 10
"""Bytes of the body of an enrolment: room for a token with many claims. Chosen by hand."""

# Characters of an invitation: 64 bits, if they are hexadecimal digits. Chosen for safety.
_SHORTEST_CODE = 16
# Seconds in which a challenge is to be solved. Chosen by hand: far more than 24 bits take.
_CHALLENGE_SECONDS = 600
# Bytes of a challenge: when it was made, random ones, and the mac that shows it was made here.
# Chosen for safety: 128 bits cannot be guessed.
_TIME, _CHANCE, _SEAL = 8, 16, 16
# The least work that is any.
_FEWEST_BITS = 1

Clock = Callable[[], float]


class Admission(abc.ABC):
    """A rule for enrolments.

    Attributes:
        kind: What it asks for: `invitation`, `work` or `token`.
    """

    kind: str

    def ask(self) -> dict[str, Any]:
        """What somebody who wants to enrol has to know."""
        return {"admission": self.kind}

    @abc.abstractmethod
    def admit(self, body: Any) -> bytes:
        """The digest that enrols once.

        Raises:
            InputError: It is not enough; what was sent is not repeated.
        """


class Invitations(Admission):
    """A file with a code on each line, each of which enrols once; it may grow at any time.

    Raises:
        InputError: The file cannot be read, or a code in it could be guessed.
    """

    kind = "invitation"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._codes()

    def admit(self, body: Any) -> bytes:
        """See `Admission`."""
        given = Fields(body, "enrolment", ("invitation",)).text("invitation")
        digest = _digest("invitation", given)
        if digest not in self._codes():
            raise InputError("this invitation is not known here")
        return digest

    def _codes(self) -> set[bytes]:
        try:
            lines = self._path.read_text("ascii").split()
        except (OSError, UnicodeDecodeError):
            raise InputError("the invitations cannot be read", path=self._path) from None
        if any(len(line) < _SHORTEST_CODE for line in lines):
            reason = f"an invitation has {_SHORTEST_CODE} or more characters; openssl rand -hex 16"
            raise InputError(reason, path=self._path)
        return {_digest("invitation", line) for line in lines}


class Work(Admission):
    """A computer has to try about 2^bits hashes for each enrolment.

    Args:
        bits: 20 take a second or so; 24 a quarter of a minute.
        clock: Seconds since 1970.
    """

    kind = "work"

    def __init__(self, bits: int, clock: Clock = time.time) -> None:
        if not _FEWEST_BITS <= bits <= MOST_BITS:
            raise InputError(f"work is of {_FEWEST_BITS} to {MOST_BITS} bits, not {bits}")
        self._bits, self._clock, self._secret = bits, clock, os.urandom(32)

    def ask(self) -> dict[str, Any]:
        """A challenge, of which nothing is remembered here."""
        made = int(self._clock()).to_bytes(_TIME, "big") + os.urandom(_CHANCE)
        challenge = base64.urlsafe_b64encode(made + self._seal(made)).decode()
        return super().ask() | {"challenge": challenge, "bits": self._bits}

    def admit(self, body: Any) -> bytes:
        """See `Admission`."""
        fields = Fields(body, "enrolment", ("challenge", "nonce"))
        challenge, nonce = fields.text("challenge"), fields.text("nonce")
        content = _decoded(challenge)
        made = content[: _TIME + _CHANCE]
        sealed = hmac.compare_digest(self._seal(made), content[_TIME + _CHANCE :])
        age = self._clock() - int.from_bytes(made[:_TIME], "big")
        if not sealed or not 0 <= age <= _CHALLENGE_SECONDS:
            raise InputError("the challenge is not from here, or too old; ask for another")
        if not has_worked(challenge, nonce, self._bits):
            raise InputError(f"the nonce does not give {self._bits} bits of 0")
        return _digest("work", made.hex())

    def _seal(self, made: bytes) -> bytes:
        return hmac.digest(self._secret, made, "sha256")[:_SEAL]


class SignedTokens(Admission):
    """A token (JWT, Ed25519) in which somebody else vouches for a person; each enrols once.

    It says `sub`, who it is, in any words that are the same each time; `aud`, for whom; and `exp`,
    until when.

    Args:
        path: The file of their public key: PEM, or 64 hexadecimal digits.
        audience: What `aud` has to say.
        clock: Seconds since 1970.

    Raises:
        InputError: The key cannot be read.
    """

    kind = "token"

    def __init__(self, path: Path, audience: str = "discreet", clock: Clock = time.time) -> None:
        self._key, self._audience, self._clock = _public_key(path), audience, clock

    def admit(self, body: Any) -> bytes:
        """See `Admission`."""
        token = Fields(body, "enrolment", ("invitation",)).text("invitation", LARGEST_PROOF)
        signed, _, signature = token.rpartition(".")
        head, _, payload = signed.partition(".")
        try:
            self._key.verify(_decoded(signature), signed.encode("ascii"))
        except (InvalidSignature, UnicodeEncodeError):
            raise InputError("the token is not signed by whom this service trusts") from None
        said = _object(payload)
        if _object(head).get("alg") != "EdDSA" or "crit" in _object(head):
            raise InputError("the token should be signed with EdDSA")
        audience = said.get("aud")
        if self._audience not in (audience if isinstance(audience, list) else [audience]):
            raise InputError("the token is for another service")
        until, since = said.get("exp"), said.get("nbf", 0)
        is_now = (
            isinstance(until, int | float)
            and isinstance(since, int | float)
            and since <= self._clock() < until
        )
        if not is_now:
            raise InputError("the token is not valid now")
        subject = said.get("sub")
        if not isinstance(subject, str) or not subject:
            raise InputError("the token does not say who it is for ('sub')")
        return _digest("subject", f"{said.get('iss', '')}\n{subject}")


def _digest(kind: str, text: str) -> bytes:
    # A token's JSON can spell halves of characters, which are no UTF-8.
    return hashlib.sha256(f"discreet {kind}\n{text}".encode(errors="surrogatepass")).digest()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""


def _object(part: str) -> dict[str, Any]:
    try:
        found = json.loads(_decoded(part))
    except (RecursionError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise InputError("the token is not of the form of a JSON web token")
    return found


def _public_key(path: Path) -> Ed25519PublicKey:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    try:
        if content.lstrip().startswith(b"-----"):
            found = load_pem_public_key(content)
        else:
            found = Ed25519PublicKey.from_public_bytes(bytes.fromhex(content.decode().strip()))
    except ValueError:
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise InputError("is not an Ed25519 public key (PEM, or 64 hexadecimal digits)", path=path)
    return found
