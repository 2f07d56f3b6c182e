"""A release as one file, and back. The layout is specified in docs/file-format.md."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import save_file

from discreet.domain import CatalogOrigin, InputError, Scale
from discreet.domain.files import whole_file
from discreet.privacy import Guarantee
from discreet.release._container import Container, open_container
from discreet.release._methods import SMALL, check_contents
from discreet.release._release import Release
from discreet.release._texts import TENSORS, StoredCatalog, encode_catalog

FORMAT = 1
"""The version of the file layout that this code writes, and the newest it reads."""

_MARK = "discreet_release"
_EPSILON_TOLERANCE = 1e-6


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release as one file, whole or not at all."""
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
        InputError: Says in one line why this is no release file that can be used.
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
    catalog = {
        "items": len(release.catalog),
        "origin": str(release.catalog.origin),
        "digest": release.catalog.digest(),
    }
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
    catalog = StoredCatalog(container.tensors, origin)
    if stored["catalog"].get("items") != len(catalog):
        raise InputError("is damaged: it has not as many items as it says")
    release = Release(
        method=metadata.get("method", ""),
        scale=scale,
        catalog=catalog,
        guarantee=_guarantee(_field(metadata, "guarantee")),
        parameters=stored["parameters"],
        arrays={n: array for n, array in container.tensors.items() if n not in TENSORS},
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
        raise InputError("is damaged: it does not hold the arrays that it lists")
    for name, array in container.tensors.items():
        entry = stated[name] if isinstance(stated[name], dict) else {}
        if (entry.get("dtype"), entry.get("shape")) != (array.dtype.name, list(array.shape)):
            raise InputError(f"is damaged: array '{name}' has not the type and shape it should")
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
