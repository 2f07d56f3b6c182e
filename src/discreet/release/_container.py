"""Reading safetensors files without copying them.

The layout: eight bytes with the header's length (little-endian), the header (JSON: for each tensor
its type, shape and place in the data; under `__metadata__` a table of texts), the data. The
safetensors package writes the files; its numpy reader copies every tensor, so here they are mapped.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "U32": "<u4",
    "U8": "|u1",
}
_LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class Container:
    """A safetensors file, mapped: texts and read-only arrays that are loaded as they are used."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, npt.NDArray[np.generic]]


def open_container(path: str | os.PathLike[str]) -> Container:
    """Map a safetensors file.

    Raises:
        InputError: It cannot be read, is no safetensors file, or is cut short.
    """
    raw = _map(path)
    header, begin = _header(raw)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise InputError("is not a release file: its header is not that of a safetensors file")
    places = {name: _place(name, entry) for name, entry in header.items()}
    _check_coverage([place[2:] for place in places.values()], len(raw) - begin)
    tensors = {name: _view(raw[begin:], *place) for name, place in places.items()}
    return Container(metadata, tensors)


def _map(path: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    if Path(path).is_dir():
        raise InputError("is a folder, not a release file")
    try:
        if Path(path).stat().st_size == 0:
            raise InputError("is empty, not a release file")
        return np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error


def _header(raw: npt.NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """The header's table, and where the data begins."""
    length = int.from_bytes(raw[:_LENGTH_BYTES].tobytes(), "little")
    begin = _LENGTH_BYTES + length
    if len(raw) <= _LENGTH_BYTES or raw[_LENGTH_BYTES] != ord("{"):
        raise InputError("is not a release file: it is no safetensors file")
    if begin > len(raw):
        raise InputError("is damaged or cut short: it ends inside its header")
    try:
        header = json.loads(raw[_LENGTH_BYTES:begin].tobytes().decode())
    except (RecursionError, ValueError):
        raise InputError("is damaged, or not a release file: its header cannot be read") from None
    if not isinstance(header, dict):
        raise InputError("is not a release file: its header is not that of a safetensors file")
    return header, begin


def _place(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """The type, shape, begin and end of a tensor, checked to agree with each other."""
    try:
        dtype, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, begin, end))
        if whole and end - begin == math.prod(shape) * np.dtype(dtype).itemsize:
            return dtype, shape, begin, end
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError(f"is damaged, or not a release file: its header is wrong about '{name[:40]}'")


def _check_coverage(places: list[tuple[int, int]], size: int) -> None:
    """The tensors follow each other without gaps and fill the data: nothing hides or is missing."""
    expected = 0
    for begin, end in sorted(places):
        if begin != expected:
            raise InputError("is damaged: its arrays overlap or leave gaps")
        expected = end
    if size < expected:
        raise InputError(f"is cut short: {expected - size:,} bytes are missing")
    if size > expected:
        raise InputError(f"is damaged: {size - expected:,} bytes follow its end")


def _view(
    data: npt.NDArray[np.uint8], dtype: str, shape: tuple[int, ...], begin: int, end: int
) -> npt.NDArray[np.generic]:
    view = data[begin:end].view(dtype).reshape(shape)
    # A writer that does not pad its header leaves numbers at odd addresses.
    return view if view.flags.aligned else view.copy()
