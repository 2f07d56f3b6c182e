"""Signatures of release files: who published this very file, for those who know the public key.

A guarantee says what a file reveals, whoever made it; a signature says who did. It is an Ed25519
signature of a release file's SHA-256, in a file of its own beside it, `films.discreet.sig`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.domain import InputError
from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# Stands before what is signed, so that a signature of this kind is never one of another.
_PURPOSE = b"discreet release 1\n"
_ENDING = ".sig"
# Bytes read at a time.
_CHUNK = 1 << 20
# Hexadecimal digits of an Ed25519 key, a SHA-256 and an Ed25519 signature.
_SIZES = {"public_key": 64, "sha256": 64, "signature": 128}


@dataclass(frozen=True)
class Signature:
    """Says that the owner of a key published a file. All in hexadecimal.

    Attributes:
        public_key: The key to check it with.
        sha256: Of the release's file.
        signature: Of the purpose and the SHA-256.
    """

    public_key: str
    sha256: str
    signature: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Signature:
        """The signature in a file.

        Raises:
            InputError: It cannot be read, or is none.
        """
        try:
            found = json.loads(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
        except (RecursionError, ValueError):
            found = None
        if not isinstance(found, dict) or not all(
            isinstance(found.get(name), str) and re.fullmatch(f"[0-9a-f]{{{size}}}", found[name])
            for name, size in _SIZES.items()
        ):
            raise InputError("is not the signature of a release", path=path)
        return cls(**{name: found[name] for name in _SIZES})

    def is_of(self, sha256: str) -> bool:
        """Whether its key signed the file of this SHA-256."""
        ed25519, invalid = _ed25519()
        key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))
        try:
            key.verify(bytes.fromhex(self.signature), _message(sha256))
        except invalid:
            return False
        return self.sha256 == sha256


def signature_path(release: str | os.PathLike[str]) -> Path:
    """Where the signature of a release's file is: beside it."""
    path = Path(release)
    return path.with_name(path.name + _ENDING)


def sign(release: str | os.PathLike[str], key: str | os.PathLike[str]) -> Signature:
    """Sign a release's file; the signature is written beside it.

    Args:
        release: The file.
        key: The file of the private key (PEM), which is made if it is not there.

    Raises:
        InputError: A file cannot be read or written, or is not what it should be.
    """
    sha256 = file_sha256(release)
    private = _private_key(Path(key))
    public = private.public_key().public_bytes_raw().hex()
    made = Signature(public, sha256, private.sign(_message(sha256)).hex())
    with whole_file(signature_path(release)) as temporary:
        temporary.write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    return made


def verify(release: str | os.PathLike[str], public_key: str) -> Signature:
    """Check that the owner of a key signed this very file.

    Args:
        release: The release's file, with its signature beside it.
        public_key: As the publisher made it known, in hexadecimal: not from the signature's file,
            which whoever replaces a release would replace too.

    Raises:
        InputError: There is no signature, it is another key's, or the file is another one.
    """
    found = Signature.read(signature_path(release))
    if not re.fullmatch("[0-9a-fA-F]{64}", public_key):
        raise InputError("a public key is 64 hexadecimal digits")
    if found.public_key != public_key.lower():
        raise InputError("is signed with another key", path=release)
    if not found.is_of(file_sha256(release)):
        raise InputError("is not the file that was signed, or was changed since", path=release)
    return found


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Of a file's bytes, in hexadecimal.

    Raises:
        InputError: It cannot be read.
    """
    sha = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while part := file.read(_CHUNK):
                sha.update(part)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    return sha.hexdigest()


def _message(sha256: str) -> bytes:
    return _PURPOSE + bytes.fromhex(sha256)


def _private_key(path: Path) -> Ed25519PrivateKey:
    ed25519, _ = _ed25519()
    from cryptography.hazmat.primitives import serialization

    if not path.exists():
        made: Ed25519PrivateKey = ed25519.Ed25519PrivateKey.generate()
        text = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        with whole_file(path, private=True) as temporary:
            temporary.write_bytes(text)
        return made
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise InputError("is not an Ed25519 key in PEM without a password", path=path)
    key: Ed25519PrivateKey = found
    return key


def _ed25519() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingPart("signatures need cryptography: pip install cryptography") from None
    return ed25519, InvalidSignature
