"""What the service asks of a protocol, and which protocols there are.

A protocol that ends in a release has a server module with `Collection` (its public parameters:
`catalog`, `scale`, `from_json(object, catalog)`, `as_json()`, and `most_bytes` where it knows how
long a message can be), `read_upload(collection, object)` and `build(collection, uploads)`. A new
one of these is one line in `_MODULES`. A protocol of another shape is a class of its own that is a
`Collects`, like `ClosedCollector`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.serve._changes import Claim
from discreet.serve._published import Representation, catalog_document, open_release
from discreet.serve._terms import make_collection

_MODULES: dict[str, Callable[[], Any]] = {
    "local": lambda: import_module("discreet.protocols.local_reports.server"),
    "open": lambda: import_module("discreet.protocols.open_clusters.server"),
}

KINDS = (*_MODULES, "closed")
"""What `--collect` may be."""

_USUAL_TERMS = {"local": {"mechanism": "modified-laplace"}}
_BASE_BYTES = 4 << 10
_BYTES_PER_ITEM = 16


class Collects(Protocol):
    """A protocol with its public parameters, as the service sees it."""

    @property
    def kind(self) -> str:
        """Its short name."""

    @property
    def digest(self) -> str:
        """What is stored beside each upload: it changes with any parameter, the epoch included."""

    @property
    def document(self) -> dict[str, Any]:
        """The public parameters as clients fetch them."""

    @property
    def largest(self) -> int:
        """The most bytes that an upload's JSON may take."""

    def announced(self) -> dict[str, Representation]:
        """What clients need to take part, by what it is: `collection`, `catalog`, `directory`."""

    def check(self, upload: Any) -> Claim | None:
        """Refuse what is not a message under these parameters; what it may say only once.

        Raises:
            InputError: One line says what does not fit.
        """

    def later_epoch(self, epoch: int) -> str:
        """What an operator needs to collect for a later epoch, as an object of "go on with"."""

    def order(self) -> dict[str, Any]:
        """All that another process needs to make the same collector, as JSON."""

    def build(self, contents: Iterable[bytes], path: Path) -> int:
        """Make a file from everything that was sent, as it is stored: from how many people.

        What it writes besides is in the file's folder, and goes with that.
        """

    def publish(self, path: Path) -> dict[str, Representation]:
        """What `build` made, ready to be served."""


def parameters_digest(kind: str, document: Mapping[str, Any]) -> str:
    """SHA-256 of a protocol's name and its parameters."""
    return hashlib.sha256(json.dumps([kind, document], sort_keys=True).encode()).hexdigest()


def catalog_order(catalog: Catalog) -> list[Any]:
    """A catalogue as part of an order."""
    return [catalog.ids, catalog.titles, str(catalog.origin)]


def catalog_from(order: Mapping[str, Any]) -> Catalog:
    """The catalogue of an order."""
    ids, titles, origin = order["catalog"]
    return Catalog(ids, titles, CatalogOrigin(origin))


@dataclass(frozen=True, eq=False)
class Collector:
    """A protocol that ends in a release; see `Collects`.

    Attributes:
        kind: Its short name.
        collection: The public parameters.
    """

    kind: str
    collection: Any

    def __post_init__(self) -> None:
        if self.kind == "closed":
            raise InputError("'closed' needs a directory and keys: see ClosedCollector.from_files")
        if self.kind not in _MODULES:
            raise InputError(f"'{self.kind}' is no protocol; there are {', '.join(KINDS)}")

    @classmethod
    def make(cls, kind: str, catalog: Catalog, scale: Scale, terms: Mapping[str, Any]) -> Collector:
        """A collector with these terms; those left out are the protocol's own.

        Args:
            kind: The protocol's short name.
            catalog: The items.
            scale: The scale that ratings live on.
            terms: The protocol's other public parameters, by name; local reports' `mechanism` is
                modified Laplace if it is left out.

        Raises:
            InputError: There is no such protocol or term, or one is missing or wrong.
        """
        make = cls(kind, None)._module.Collection
        told = _USUAL_TERMS.get(kind, {}) | dict(terms)
        return cls(kind, make_collection(kind, make, catalog, scale, told))

    @classmethod
    def from_order(cls, order: Mapping[str, Any]) -> Collector:
        """The collector that gave this order."""
        module = cls(order["kind"], None)._module
        collection = module.Collection.from_json(order["collection"], catalog_from(order))
        return cls(order["kind"], collection)

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = self.collection.as_json()
        return found

    @property
    def digest(self) -> str:
        return parameters_digest(self.kind, self.document)

    @property
    def largest(self) -> int:
        exact: int | None = getattr(self.collection, "most_bytes", None)
        return exact or _BASE_BYTES + _BYTES_PER_ITEM * len(self.collection.catalog)

    def announced(self) -> dict[str, Representation]:
        catalog = catalog_document(self.collection.catalog, self.collection.scale)
        return {"collection": Representation.of_json(self.document), "catalog": catalog}

    def check(self, upload: Any) -> Claim | None:
        self._module.read_upload(self.collection, upload)
        return None

    def order(self) -> dict[str, Any]:
        catalog = catalog_order(self.collection.catalog)
        return {"kind": self.kind, "collection": self.document, "catalog": catalog}

    def later_epoch(self, epoch: int) -> str:
        return f"the term epoch={epoch}"

    def build(self, contents: Iterable[bytes], path: Path) -> int:
        messages = _Counted(self._messages(contents))
        self._module.build(self.collection, messages).save(path)
        return messages.count

    def publish(self, path: Path) -> dict[str, Representation]:
        return open_release(path)

    def _messages(self, contents: Iterable[bytes]) -> Iterator[Any]:
        read_upload = self._module.read_upload
        for content in contents:
            yield read_upload(self.collection, json.loads(content))

    @property
    def _module(self) -> Any:
        return _MODULES[self.kind]()


class _Counted:
    """Things that are counted as they are taken."""

    def __init__(self, things: Iterable[Any]) -> None:
        self._things, self.count = things, 0

    def __iter__(self) -> Iterator[Any]:
        for each in self._things:
            self.count += 1
            yield each
