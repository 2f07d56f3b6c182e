"""Catalogues as arrays: UTF-8 bytes end to end, and where each text ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, CatalogOrigin, InputError

Bytes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.uint32]

TENSORS = {
    "catalog_ids": "uint8",
    "catalog_id_ends": "uint32",
    "catalog_titles": "uint8",
    "catalog_title_ends": "uint32",
}
"""The arrays that hold a catalogue, and their types. The titles' two are absent if they are ids."""


def encode_catalog(catalog: Catalog) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays of a catalogue."""
    ids, id_ends = encode_texts(catalog.ids)
    tensors: dict[str, npt.NDArray[np.generic]] = {"catalog_ids": ids, "catalog_id_ends": id_ends}
    if catalog.titles != catalog.ids:
        titles, title_ends = encode_texts(catalog.titles)
        tensors |= {"catalog_titles": titles, "catalog_title_ends": title_ends}
    return tensors


def encode_texts(texts: Sequence[str]) -> tuple[Bytes, Ends]:
    """Texts as UTF-8 bytes end to end, and the byte after each text's last."""
    raws = [text.encode() for text in texts]
    ends = np.cumsum([len(raw) for raw in raws], dtype=np.int64)
    if len(ends) and ends[-1] >= 2**32:
        raise InputError("the catalogue's texts take 4 GiB or more, which a release cannot hold")
    return np.frombuffer(b"".join(raws), np.uint8), ends.astype(np.uint32)


def decode_texts(data: Bytes, ends: Ends) -> tuple[str, ...]:
    """What `encode_texts` was given.

    Raises:
        InputError: The ends fall or cut a character, or the bytes are no UTF-8.
    """
    try:
        text = data.tobytes().decode()
    except UnicodeDecodeError:
        raise InputError("the catalogue's texts are not UTF-8") from None
    bounds = np.concatenate([[0], ends.astype(np.int64)])
    if bounds[-1] != len(data) or np.any(bounds[1:] < bounds[:-1]):
        raise InputError("the catalogue's texts do not end where the file says")
    if len(text) < len(data):
        # Every byte but 10xxxxxx begins a character: counting those turns bytes into characters.
        begins = (data & 0xC0) != 0x80
        if not np.append(begins, True)[bounds].all():
            raise InputError("the catalogue's texts do not end where the file says")
        bounds = np.concatenate([[0], np.cumsum(begins)])[bounds]
    return tuple([text[begin:end] for begin, end in pairwise(bounds.tolist())])


class StoredCatalog(Catalog):
    """A catalogue that decodes its texts when somebody first asks for one.

    Decoding 17,770 titles takes several milliseconds, which opening a release need not wait for.

    Args:
        tensors: The arrays that `encode_catalog` made; their bytes were checked for damage.
        origin: Where the list came from.
    """

    def __init__(
        self, tensors: Mapping[str, npt.NDArray[np.generic]], origin: CatalogOrigin
    ) -> None:
        self.origin = origin
        self._tensors = tensors
        self._length = len(_tensor(tensors, "catalog_id_ends"))
        if self._length == 0:
            raise InputError("the catalogue has no items")
        titled = [name in tensors for name in ("catalog_titles", "catalog_title_ends")]
        if any(titled) and len(_tensor(tensors, "catalog_title_ends")) != self._length:
            raise InputError("the catalogue has not as many titles as items")
        for name in TENSORS if any(titled) else ("catalog_ids", "catalog_id_ends"):
            _tensor(tensors, name)

    def __len__(self) -> int:
        return self._length

    def __getattr__(self, name: str) -> Any:
        # Only reached while `ids` and `titles` are not there yet.
        if name not in ("ids", "titles"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        ids = self._decode("catalog_ids", "catalog_id_ends")
        titles = ids
        if "catalog_titles" in self._tensors:
            titles = self._decode("catalog_titles", "catalog_title_ends")
        super().__init__(ids, titles, self.origin)
        return self.__dict__[name]

    def _decode(self, data: str, ends: str) -> tuple[str, ...]:
        return decode_texts(
            self._tensors[data].astype(np.uint8, copy=False),
            self._tensors[ends].astype(np.uint32, copy=False),
        )


def _tensor(tensors: Mapping[str, npt.NDArray[np.generic]], name: str) -> npt.NDArray[np.generic]:
    if name not in tensors:
        raise InputError(f"array '{name}' is missing")
    array = tensors[name]
    if array.ndim != 1 or array.dtype != np.dtype(TENSORS[name]):
        raise InputError(f"array '{name}' must be a list of {TENSORS[name]}")
    return array
