"""A series on disk: what was released, in the open, and the noise that was drawn, encrypted.

    films.series/
      series.json           the terms, the periods so far, and which generation of files counts
      state-3.safetensors   totals as they were released, and the catalogue
      noise-3.secret        noise that later periods take back, encrypted with the series' key
      release-3.discreet    the release of the latest period
      lock                  held while a period is added

Files of the next generation are written beside these and count from the moment that series.json
names them, which is one renaming. Until then they are drafts that only their owner may read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from safetensors import SafetensorError
from safetensors import numpy as tensors

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.measure import Stream
from discreet.privacy.running_noise import NOW

# 2 since streams say how much their second total has seen; format 1 is read too.
FORMAT = 2
_KEY_BYTES, _NONCE_BYTES = 32, 12
_SEPARATOR = "\x1f"

Arrays = dict[str, npt.NDArray[Any]]


class Folder:
    """The files of a series.

    Args:
        path: The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def key_path(self) -> Path:
        """Where the key is unless it is said to be elsewhere: beside the folder, not in it."""
        return self.path.with_name(f"{self.path.name}.key")

    def create(self) -> None:
        """Make the folder of a new series, which is one as soon as series.json is in it.

        Raises:
            InputError: There is something, or it cannot be made.
        """
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            raise InputError(
                f"{self.path}: exists already; a series starts in a new folder"
            ) from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be made: {error.strerror}") from error

    def read(self) -> dict[str, Any]:
        """What series.json says.

        Raises:
            InputError: There is no series here, or it is damaged or of a newer format.
        """
        try:
            content = json.loads((self.path / "series.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"{self.path}: is not a series; discreet series init makes one"
            ) from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}") from error
        except ValueError:
            raise InputError(f"{self.path}: series.json is damaged") from None
        if not isinstance(content, dict) or not isinstance(content.get("format"), int):
            raise InputError(f"{self.path}: series.json is damaged")
        if content["format"] > FORMAT:
            raise InputError(
                f"{self.path}: was made by a newer version of discreet (format "
                f"{content['format']}; this version reads {FORMAT})"
            )
        return content

    def write(self, content: Mapping[str, Any]) -> None:
        """Replace series.json in one step: from then on its generation counts."""
        with whole_file(self.path / "series.json", private=True) as temporary:
            temporary.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False))

    def write_draft(self, generation: int, content: Mapping[str, Any]) -> None:
        """Write what series.json is to say once this generation counts."""
        with whole_file(self._draft_path(generation), private=True) as temporary:
            temporary.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False))

    def read_draft(self, generation: int) -> dict[str, Any] | None:
        """What `write_draft` wrote; None if an add ended before that."""
        try:
            content = json.loads(self._draft_path(generation).read_bytes())
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def commit(self, generation: int) -> None:
        """Let a generation count, whose files are all there."""
        content = self.read_draft(generation)
        assert content is not None
        self.write(content)
        self.remove_others(generation)

    def _draft_path(self, generation: int) -> Path:
        return self.path / f"draft-{generation}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from adding a period at the same time.

        Raises:
            InputError: Another process is adding one.
        """
        try:
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{self.path}: another process is adding a period; wait until it has finished"
                ) from None
            yield
        finally:
            os.close(handle)

    def state_path(self, generation: int) -> Path:
        """What was released so far."""
        return self.path / f"state-{generation}.safetensors"

    def secret_path(self, generation: int) -> Path:
        """The noise that was drawn, encrypted."""
        return self.path / f"noise-{generation}.secret"

    def release_path(self, generation: int) -> Path:
        """The latest release."""
        return self.path / f"release-{generation}.discreet"

    def remove_others(self, generation: int) -> None:
        """Remove the files of other generations: drafts, and what is out of date."""
        kept = {
            self.state_path(generation), self.secret_path(generation), self.release_path(generation)
        }  # fmt: skip
        for pattern in ("state-*.safetensors", "noise-*.secret", "release-*.discreet", "draft-*"):
            for path in self.path.glob(pattern):
                if path not in kept:
                    with contextlib.suppress(OSError):
                        path.unlink()


def write_state(path: Path, streams: Mapping[str, Stream], catalog: Arrays) -> None:
    """Write what was released: totals, what they depend on, and the catalogue."""
    numbers, arrays = {}, dict(catalog)
    for key, stream in streams.items():
        numbers[key] = {
            name: getattr(stream, name)
            for name in ("grid", "sigma", "steps", "first", "last", "before", "seen", "seen_now")
        }
        arrays[_SEPARATOR.join(("total", key))] = stream.total
        arrays[_SEPARATOR.join(("now", key))] = stream.now
        for name, array in stream.frame.items():
            arrays[_SEPARATOR.join(("frame", key, name))] = array
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with whole_file(path, private=True) as temporary:
        tensors.save_file(whole, temporary, {"streams": json.dumps(numbers)})


def read_state(path: Path, sizes: Sequence[float] = ()) -> tuple[dict[str, Stream], Arrays]:
    """Read what `write_state` wrote; streams without their noise, which is a secret.

    Args:
        path: The file.
        sizes: Of the periods so far, as they were released; needed for format 1 alone.

    Raises:
        InputError: It is missing or damaged.
    """
    from safetensors import safe_open

    try:
        with safe_open(path, "np") as file:
            numbers = json.loads((file.metadata() or {})["streams"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        streams = {
            key: Stream(
                total=arrays.pop(_SEPARATOR.join(("total", key))),
                now=arrays.pop(_SEPARATOR.join(("now", key))),
                frame={},
                buffers=np.zeros((0, 0), np.int64),
                **{"seen_now": _seen_now(fields, sizes), **fields},
            )
            for key, fields in numbers.items()
        }
        for name in [name for name in arrays if name.startswith(f"frame{_SEPARATOR}")]:
            _, key, field = name.split(_SEPARATOR)
            streams[key].frame[field] = arrays.pop(name)
    except FileNotFoundError:
        raise InputError(f"{path}: is missing; restore the series from a backup") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: is damaged; restore the series from a backup") from error
    return streams, arrays


def _seen_now(fields: Mapping[str, Any], sizes: Sequence[float]) -> float:
    """About how much a stream's second total has seen: format 1 did not say so.

    As if the stream had been measured in all periods up to its last one. That is so for most of
    them, and a matter of accuracy alone.
    """
    last = fields["last"]
    seen = sum(NOW ** (last - n) * max(size, 1.0) for n, size in enumerate(sizes[:last], 1))
    return float(min(seen, fields["seen"]))


def make_key(path: Path) -> None:
    """A new key in a new file that only its owner may read.

    Raises:
        InputError: There is a file already, or none can be made.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(f"{path}: exists already; a series needs a key of its own") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(_KEY_BYTES) + "\n")
        file.flush()
        os.fsync(handle)


def read_key(path: Path) -> bytes:
    """The key in a file.

    Raises:
        InputError: There is none.
    """
    try:
        key = bytes.fromhex(path.read_text().strip())
    except OSError as error:
        raise InputError(
            f"{path}: the key of the series cannot be read: {error.strerror}"
        ) from error
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InputError(f"{path}: is not the key of a series: 64 hexadecimal digits")
    return key


def write_secret(path: Path, key: bytes, bound: str, arrays: Arrays) -> None:
    """Encrypt arrays; `bound` says what they belong to, and must be given to read them."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    content = tensors.save({name: np.ascontiguousarray(a) for name, a in arrays.items()})
    with whole_file(path, private=True) as temporary:
        temporary.write_bytes(nonce + AESGCM(key).encrypt(nonce, content, bound.encode()))


def read_secret(path: Path, key: bytes, bound: str) -> Arrays:
    """Decrypt what `write_secret` wrote.

    Raises:
        InputError: It is missing, damaged, of another time, or of another key.
    """
    try:
        content = path.read_bytes()
        plain = AESGCM(key).decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], bound.encode())
        return dict(tensors.load(plain))
    except FileNotFoundError:
        raise InputError(f"{path}: the noise of earlier periods is missing") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (InvalidTag, SafetensorError, ValueError):
        raise InputError(
            f"{path}: the key does not fit, or this is not the noise of the latest period"
        ) from None
