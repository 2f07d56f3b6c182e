"""What the service asks of a protocol, and which protocols there are.

A protocol's server module offers `Collection` (its public parameters: `catalog`, `scale`,
`from_json(object, catalog)`, `as_json()`), `read_upload(collection, object)` and
`build(collection, uploads)`. A new protocol is one line in `_MODULES`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any

from discreet.domain import Catalog, InputError, Scale
from discreet.release import Release

_MODULES: dict[str, Callable[[], Any]] = {
    "local": lambda: import_module("discreet.protocols.local_reports.server"),
    "open": lambda: import_module("discreet.protocols.open_clusters.server"),
    "closed": lambda: import_module("discreet.protocols.closed_clusters.server"),
}

KINDS = tuple(_MODULES)
"""What `--collect` may be."""

_BASE_BYTES = 4 << 10
_BYTES_PER_ITEM = 16


@dataclass(frozen=True, eq=False)
class Collector:
    """A protocol with its public parameters, as the service sees it.

    Attributes:
        kind: Its short name.
        collection: The public parameters.
    """

    kind: str
    collection: Any

    def __post_init__(self) -> None:
        if self.kind not in _MODULES:
            raise InputError(f"'{self.kind}' is no protocol; there are {', '.join(KINDS)}")

    @classmethod
    def from_json(cls, kind: str, document: Any, catalog: Catalog) -> Collector:
        """The collector that `document` describes.

        Raises:
            InputError: There is no such protocol, or these are not its parameters.
        """
        return cls(kind, cls(kind, None)._module.Collection.from_json(document, catalog))

    @classmethod
    def make(cls, kind: str, catalog: Catalog, scale: Scale, terms: Mapping[str, Any]) -> Collector:
        """A collector with these terms; those left out are the protocol's own.

        Args:
            kind: The protocol's short name.
            catalog: The items.
            scale: The scale that ratings live on.
            terms: The protocol's other public parameters, by name.

        Raises:
            InputError: There is no such protocol or term, or one is missing or wrong.
        """
        make = cls(kind, None)._module.Collection
        known = [name for name in signature(make).parameters if name not in ("catalog", "scale")]
        for name in terms:
            if name not in known:
                raise InputError(f"'{kind}' has no term '{name}'; it has {', '.join(known)}")
        try:
            return cls(kind, make(catalog, scale, **terms))
        except TypeError:
            said = ", ".join(known)
            raise InputError(f"a term of '{kind}' is missing or of another type: {said}") from None

    @property
    def catalog(self) -> Catalog:
        """The items that uploads are about."""
        found: Catalog = self.collection.catalog
        return found

    @property
    def document(self) -> dict[str, Any]:
        """The public parameters as clients fetch them."""
        found: dict[str, Any] = self.collection.as_json()
        return found

    @property
    def digest(self) -> str:
        """What is stored beside each upload: it changes with any parameter, the epoch included."""
        told = json.dumps([self.kind, self.document], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def largest(self) -> int:
        """The most bytes that an upload's JSON may take."""
        stated = getattr(self.collection, "largest_upload", None)
        return _BASE_BYTES + _BYTES_PER_ITEM * len(self.catalog) if stated is None else int(stated)

    def check(self, upload: Any) -> None:
        """Refuse what is not a message under these parameters.

        Raises:
            InputError: One line says what does not fit.
        """
        self._module.read_upload(self.collection, upload)

    def build(self, contents: Iterable[bytes]) -> Release:
        """A release from everything that was sent, as it is stored."""
        release: Release = self._module.build(self.collection, self._messages(contents))
        return release

    def _messages(self, contents: Iterable[bytes]) -> Iterator[Any]:
        read_upload = self._module.read_upload
        for content in contents:
            yield read_upload(self.collection, json.loads(content))

    @property
    def _module(self) -> Any:
        return _MODULES[self.kind]()
