"""Fetching a file that has a digest, in one piece or in several."""

from __future__ import annotations

import hashlib
import http.client
import re
from pathlib import Path
from typing import Any, Protocol

from discreet.domain import InputError
from discreet.domain.files import whole_file
from discreet.protocols.common._refusals import read_refusal

_CHUNK = 1 << 18
_TAG = re.compile(r'"([0-9a-f]{64})"')


class _Opens(Protocol):
    server: str

    def open(
        self, method: str, path: str, body: bytes = b"", headers: Any = None
    ) -> http.client.HTTPResponse: ...


class Download:
    """One file from a service whose ETag is the SHA-256 of its bytes.

    Args:
        service: Where from.
        path: The path there.
        target: The file here; what it holds is asked for again only if it changed.
        tries: How often to go on after a break.
    """

    def __init__(self, service: _Opens, path: str, target: Path, tries: int) -> None:
        self._service, self._path, self._target, self._tries = service, path, target, tries

    def run(self) -> bool:
        """Fetch: False if the file was the same already.

        Raises:
            InputError: It cannot be had, or is not what its digest says.
        """
        held = f'"{_sha256(self._target)}"' if self._target.is_file() else None
        answer = self._open({} if held is None else {"If-None-Match": held})
        if answer.status == 304:
            answer.read()
            return False
        tag = answer.headers.get("ETag", "")
        stated = _TAG.fullmatch(tag)
        if answer.status != 200 or stated is None:
            raise self._refused(answer)
        with whole_file(self._target) as temporary:
            whole = self._copy(answer, temporary)
            for _ in range(self._tries):
                if whole:
                    break
                size = temporary.stat().st_size
                answer = self._open({"Range": f"bytes={size}-", "If-Range": tag})
                if answer.status not in (200, 206):
                    raise self._refused(answer)
                if answer.status == 200:  # another release by now: from the beginning
                    temporary.write_bytes(b"")
                    tag = answer.headers.get("ETag", "")
                    stated = _TAG.fullmatch(tag)
                whole = self._copy(answer, temporary)
            if not whole or stated is None or _sha256(temporary) != stated.group(1):
                raise InputError(f"{self._service.server} sent a release that is incomplete")
        return True

    def _open(self, headers: dict[str, str]) -> http.client.HTTPResponse:
        return self._service.open(
            "GET", self._path, headers={"Accept-Encoding": "identity"} | headers
        )

    def _copy(self, answer: http.client.HTTPResponse, target: Path) -> bool:
        """Append what comes; whether all of it came."""
        try:
            with target.open("ab") as file:
                while chunk := answer.read(_CHUNK):
                    file.write(chunk)
        except (http.client.HTTPException, ConnectionError, TimeoutError):
            answer.close()
            return False
        # Of an answer that ends early, read(n) says nothing.
        return answer.length in (0, None)

    def _refused(self, answer: http.client.HTTPResponse) -> InputError:
        if answer.status >= 400:
            return read_refusal(self._service.server, answer)
        answer.close()
        return InputError(f"{self._service.server} sent no release ({answer.status})")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
