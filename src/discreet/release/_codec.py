"""A release as one file, and back. The layout is specified in docs/reference/file-format.md.

A file is a safetensors file: eight bytes with the header's length (little-endian), the header
(JSON: each tensor's type, shape and place in the data, and under `__metadata__` a table of texts),
the data. The safetensors package writes the files; its numpy reader copies every tensor, so here
they are mapped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import save_file

from discreet.domain import Catalog, CatalogOrigin, Hint, InputError, Scale
from discreet.domain.files import whole_file
from discreet.privacy import Guarantee
from discreet.release._layouts import SMALL, check_contents
from discreet.release._release import Release

# The version of the file layout that this code writes, and the newest it reads.
FORMAT = 1

_MARK = "discreet_release"
# How far, relatively, a stated epsilon may be from the one that its events add up to: more than
# rounding and a change of accountant's grid make, less than anybody would act on. Chosen by hand.
_EPSILON_TOLERANCE = 1e-6


def save(release: Release, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a release as one file, completely or not at all."""
    if Path(path).is_file() and not overwrite:
        hint = Hint("overwrite", True)
        raise InputError(f"exists; choose another name, or give {hint}", path=path, hints=[hint])
    check_contents(release.method, len(release.catalog), release.arrays, at_most=None)
    tensors = _tensors(release)
    metadata = _metadata(release, tensors)
    metadata["digest"] = _digest(metadata)
    with whole_file(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:
            raise InputError(f"cannot be written: {error}", path=path) from error


def digest_of(release: Release) -> str:
    """The digest of the file that `save` would write."""
    return _digest(_metadata(release, _tensors(release)))


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Release:
    """Open a release file; its arrays are mapped, not read.

    The header, the guarantee and every array up to 16 MiB are always checked, larger arrays only
    for their length.

    Args:
        path: The file.
        verify: Read and check the larger arrays too.

    Raises:
        InputError: Says in one line why this file cannot be used as a release.

    Example:
        >>> import discreet, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "films.discreet"
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> discreet.fit(ratings, epsilon=1.0, ledger="unbooked").save(path)
        >>> release = discreet.load(path, verify=True)
        >>> release.guarantee.is_private, release.learnt.level
        (True, 'nothing')
    """
    try:
        return _release(open_container(path), verify)
    except InputError as error:
        raise InputError(error.reason, path=path) from error


def _tensors(release: Release) -> dict[str, npt.NDArray[np.generic]]:
    """Every array of the file by name; sorted, so that a copy of a file has the file's digest."""
    tensors = dict(release.arrays) | encode_catalog(release.catalog)
    return {name: tensors[name] for name in sorted(tensors)}


def _metadata(release: Release, tensors: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, str]:
    catalog: dict[str, Any] = {
        "items": len(release.catalog),
        "origin": str(release.catalog.origin),
        "digest": release.catalog.digest(),
    }
    if release.catalog.columns:
        # Left out where there are none, so that readers older than the field read the release.
        catalog["columns"] = list(release.catalog.columns)
    return {
        _MARK: str(FORMAT),
        "method": release.method,
        "scale": _json(_scale_entry(release.scale)),
        "catalog": _json(catalog),
        "guarantee": _json(release.guarantee.to_dict()),
        "parameters": _json(dict(release.parameters)),
        "tensors": _json({name: _tensor_entry(array) for name, array in tensors.items()}),
    }


def _scale_entry(scale: Scale) -> dict[str, Any]:
    entry: dict[str, Any] = {"lo": scale.lo, "hi": scale.hi, "step": scale.step}
    # Left out where false, so that readers older than the field read every release of ratings.
    return entry | {"presence": True} if scale.presence else entry


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _tensor_entry(array: npt.NDArray[np.generic]) -> dict[str, Any]:
    return {"dtype": array.dtype.name, "shape": list(array.shape), "sha256": _sha256(array)}


def _sha256(array: npt.NDArray[np.generic]) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def _digest(metadata: Mapping[str, str]) -> str:
    """SHA-256 over every other entry of the metadata, in order of their names.

    The entry `tensors` holds the digest of each array, so this one stands for the whole file.
    """
    sha = hashlib.sha256()
    for name in sorted(metadata):
        if name != "digest":
            for raw in (name.encode(), metadata[name].encode()):
                sha.update(len(raw).to_bytes(8, "little"))
                sha.update(raw)
    return sha.hexdigest()


def _release(container: Container, verify: bool) -> Release:
    metadata = container.metadata
    _check_version(metadata)
    if metadata.get("digest") != _digest(metadata):
        raise InputError("is damaged: its header does not match its digest")
    _check_tensors(container, verify)
    stored = {name: _field(metadata, name) for name in ("scale", "catalog", "parameters")}
    try:
        scale = Scale(**stored["scale"])
        origin = CatalogOrigin(stored["catalog"]["origin"])
    except (KeyError, OverflowError, TypeError, ValueError):
        raise InputError("is damaged: its scale or catalogue has wrong fields") from None
    catalog = StoredCatalog(container.tensors, origin, stored["catalog"].get("columns", []))
    if stored["catalog"].get("items") != len(catalog):
        raise InputError("is damaged: it does not have as many items as it states")
    release = Release(
        method=metadata.get("method", ""),
        scale=scale,
        catalog=catalog,
        guarantee=_guarantee(_field(metadata, "guarantee")),
        parameters=stored["parameters"],
        arrays={n: a for n, a in container.tensors.items() if n not in catalog.tensors},
    )
    object.__setattr__(release, "_digest", metadata["digest"])
    if verify:
        check_contents(release.method, len(release.catalog), release.arrays, at_most=None)
        if release.catalog.digest() != stored["catalog"].get("digest"):
            raise InputError("is damaged: its catalogue does not match its digest")
    return release


def _check_version(metadata: Mapping[str, str]) -> None:
    if _MARK not in metadata:
        raise InputError("is a safetensors file, but not a release: it holds something else")
    version = metadata[_MARK]
    if not (version.isascii() and version.isdigit() and len(version) < 10 and int(version) >= 1):
        raise InputError("is damaged: its format version is not a number")
    if int(version) > FORMAT:
        raise InputError(
            f"has format {version}, which is newer than this version of discreet reads ({FORMAT}); "
            "update discreet"
        )


def _field(metadata: Mapping[str, str], name: str) -> dict[str, Any]:
    try:
        value = json.loads(metadata[name])
    except (KeyError, RecursionError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"is damaged: its {name} cannot be read")
    return value


def _check_tensors(container: Container, verify: bool) -> None:
    """The arrays are those that the metadata lists, and the bytes of the small ones too."""
    stated = _field(container.metadata, "tensors")
    if stated.keys() != container.tensors.keys():
        raise InputError("is damaged: it does not contain the arrays that it lists")
    for name, array in container.tensors.items():
        entry = stated[name] if isinstance(stated[name], dict) else {}
        if (entry.get("dtype"), entry.get("shape")) != (array.dtype.name, list(array.shape)):
            raise InputError(f"is damaged: array '{name}' has the wrong type or shape")
        if (verify or array.nbytes <= SMALL) and entry.get("sha256") != _sha256(array):
            raise InputError(f"is damaged: array '{name}' does not match its digest")


def _guarantee(stated: dict[str, Any]) -> Guarantee:
    """The guarantee that follows from the stored events; the stored epsilons must agree."""
    guarantee = Guarantee.from_dict(stated)
    computed = guarantee.to_dict()
    pairs = [(stated.get(name), computed[name]) for name in ("epsilon", "changed_rating_epsilon")]
    per, computed_per = stated.get("per"), computed["per"]
    if per is not None and computed_per is not None and isinstance(per, dict):
        pairs += [(per.get(unit), epsilon) for unit, epsilon in computed_per.items()]
    elif per is not computed_per:
        pairs.append((0.0, None))
    if not all(_agree(said, true) for said, true in pairs):
        raise InputError("states an epsilon that does not follow from what was spent on it")
    return guarantee


def _agree(said: Any, true: float | None) -> bool:
    if said is None or true is None:
        return said is true
    if isinstance(said, bool) or not isinstance(said, int | float):
        return False
    return said <= sys.float_info.max and math.isclose(said, true, rel_tol=_EPSILON_TOLERANCE)


# --- the safetensors container, mapped

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "U32": "<u4",
    "U8": "|u1",
    "I8": "|i1",
}
# Bytes at the start of a safetensors file that hold the header's length; the format's own number.
_LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class Container:
    """A safetensors file, mapped: texts and read-only arrays that are loaded as they are used."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, npt.NDArray[np.generic]]


def open_container(path: str | os.PathLike[str]) -> Container:
    """Map a safetensors file.

    Raises:
        InputError: It cannot be read, is not a safetensors file, or is cut short.
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
        raise InputError("is not a release file: it is not a safetensors file")
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


# --- catalogues as arrays: UTF-8 bytes end to end, and where each text ends

Bytes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.uint32]

# The arrays that hold a catalogue's texts, and where each text ends. Those of the titles are absent
# if they are the ids.
_IDS = "catalog_ids", "catalog_id_ends"
_TITLES = "catalog_titles", "catalog_title_ends"


def _column(place: int) -> tuple[str, str]:
    return f"catalog_column_{place}", f"catalog_column_{place}_ends"


def encode_catalog(catalog: Catalog) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays of a catalogue."""
    texts = {_IDS: catalog.ids}
    if catalog.titles != catalog.ids:
        texts[_TITLES] = catalog.titles
    texts |= {_column(place): each for place, each in enumerate(catalog.columns.values())}
    tensors: dict[str, npt.NDArray[np.generic]] = {}
    for (data, ends), each in texts.items():
        tensors[data], tensors[ends] = encode_texts(each)
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
        InputError: The ends fall or cut a character, or the bytes are not UTF-8.
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
    """A catalogue that decodes its texts when the first one is needed.

    Decoding 17,770 titles takes several milliseconds, which opening a release need not wait for.

    Args:
        tensors: The arrays that `encode_catalog` made; their bytes were checked for damage.
        origin: Where the list came from.
        columns: The names of its columns.

    Attributes:
        tensors: Those of the arrays that are its own.
    """

    def __init__(
        self,
        tensors: Mapping[str, npt.NDArray[np.generic]],
        origin: CatalogOrigin,
        columns: Sequence[str] = (),
    ) -> None:
        self.origin = origin
        if not isinstance(columns, list | tuple) or not all(isinstance(n, str) for n in columns):
            raise InputError("is damaged: the names of its catalogue's columns cannot be read")
        if len(set(columns)) < len(columns) or not all(n and n.isprintable() for n in columns):
            raise InputError("is damaged: its catalogue's columns do not have a name each")
        self._names = tuple(columns)
        pairs = [_IDS, *map(_column, range(len(columns)))]
        if any(name in tensors for name in _TITLES):
            pairs.append(_TITLES)
        self.tensors = {name: _tensor(tensors, name) for pair in pairs for name in pair}
        self._length = len(self.tensors["catalog_id_ends"])
        if self._length == 0:
            raise InputError("the catalogue has no items")
        if any(len(self.tensors[ends]) != self._length for _, ends in pairs):
            raise InputError("the catalogue does not have as many titles as items, or cells")

    def __len__(self) -> int:
        return self._length

    def __getattr__(self, name: str) -> Any:
        # Only reached while the texts are not there yet.
        if name not in ("ids", "titles", "columns"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        ids = self._decode(_IDS)
        titles = self._decode(_TITLES) if _TITLES[0] in self.tensors else ids
        columns = {each: self._decode(_column(at)) for at, each in enumerate(self._names)}
        super().__init__(ids, titles, self.origin, columns)
        return self.__dict__[name]

    def _decode(self, names: tuple[str, str]) -> tuple[str, ...]:
        data, ends = (self.tensors[name] for name in names)
        return decode_texts(data.astype(np.uint8, copy=False), ends.astype(np.uint32, copy=False))


def _tensor(tensors: Mapping[str, npt.NDArray[np.generic]], name: str) -> npt.NDArray[np.generic]:
    if name not in tensors:
        raise InputError(f"array '{name}' is missing")
    array, expected = tensors[name], "uint32" if name.endswith("_ends") else "uint8"
    if array.ndim != 1 or array.dtype != np.dtype(expected):
        raise InputError(f"array '{name}' must be a list of {expected}")
    return array
