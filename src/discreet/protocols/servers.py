"""The server's side of every protocol: one object that announces, checks and builds.

The service's routes, its build worker, `discreet serve` and the audit all use this object. A new
protocol is a subclass of `Protocol` in a module of its own, one line in `_SERVERS`, and a test
class that inherits `tests/protocols/battery.py`.
"""

from __future__ import annotations

import abc
import hashlib
import json
import math
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ClassVar, Self

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.errors import FieldError
from discreet.release import Release

_SERVERS: dict[str, Callable[[], type[Protocol]]] = {
    "closed-clusters": lambda: (
        import_module("discreet.protocols.closed_clusters.server").ClosedClusters
    ),
    "local-reports": lambda: import_module("discreet.protocols.local_reports.server").LocalReports,
    "open-clusters": lambda: import_module("discreet.protocols.open_clusters.server").OpenClusters,
}

NAMES = tuple(_SERVERS)

# Bytes of JSON around a message's arrays: generous, since it only bounds what is read.
_ENVELOPE_BYTES = 4 << 10
# Per item, an index of 4 bytes and a code of 1 byte in base64 take 7; rounded up to be safe.
_BYTES_PER_ITEM = 16


def find(name: str) -> type[Protocol]:
    """The protocol of this name.

    Raises:
        InputError: There is none.
    """
    if name not in _SERVERS:
        raise InputError(f"there is no protocol '{name}'; there are {', '.join(NAMES)}")
    return _SERVERS[name]()


def from_order(order: Mapping[str, Any]) -> Protocol:
    """The protocol whose `order` this is, in another process."""
    return find(order["collection"]["protocol"]).from_order(order)


class Claim(typing.Protocol):
    """What a message says about a slot, and may not say differently later.

    A slot has one report per collection: a report about it, with whichever capability, replaces
    the one before.
    """

    @property
    def scope(self) -> str:
        """A digest of where it may be said only once; other terms may change within a scope."""

    @property
    def slot(self) -> int:
        """The slot it is about."""

    @property
    def stop(self) -> int:
        """How far it goes."""

    @property
    def mark(self) -> bytes:
        """A digest of all of it."""

    def follows(self, stop: int, mark: bytes, stored: bytes | None) -> bool:
        """Whether it agrees with the first claim, as far as that one went.

        Args:
            stop: How far the first claim went.
            mark: Its digest.
            stored: What the same person last sent, if it is still stored.
        """


class Protocol(abc.ABC):
    """A protocol under its public terms.

    Attributes:
        name: Its name on the wire, on the command line and in the documentation.
        terms: The class of its public terms, whose arguments `from_terms` reads.
        usual_terms: What an operator need not say.
        files: The files that `from_terms` needs besides, by name.
        collection: The public terms.
    """

    name: ClassVar[str]
    terms: ClassVar[Any]
    usual_terms: ClassVar[Mapping[str, Any]] = {}
    files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, collection: Any) -> None:
        self.collection = collection

    @classmethod
    def from_terms(
        cls, catalog: Catalog, scale: Scale, terms: Mapping[str, Any], **files: Path
    ) -> Self:
        """The protocol under an operator's terms; those left out keep their defaults.

        Args:
            catalog: The items.
            scale: The rating scale.
            terms: The other public parameters by name; numbers may be text.
            files: See `files`.

        Raises:
            InputError: A term is missing, unknown or wrong.
        """
        assert not files
        return cls(cls.read_terms(catalog, scale, terms))

    @classmethod
    def read_terms(cls, catalog: Catalog, scale: Scale, terms: Mapping[str, Any]) -> Any:
        """An instance of `terms` from an operator's terms by name; see `from_terms`."""
        return _read_terms(cls.name, cls.terms, catalog, scale, {**cls.usual_terms, **terms})

    @classmethod
    def from_order(cls, order: Mapping[str, Any]) -> Self:
        """What `order` wrote."""
        return cls(cls.terms.from_json(order["collection"], catalog_from(order)))

    @property
    def catalog(self) -> Catalog:
        """The items that people rate."""
        found: Catalog = self.collection.catalog
        return found

    @property
    def scale(self) -> Scale:
        """The rating scale."""
        found: Scale = self.collection.scale
        return found

    @property
    def short_name(self) -> str:
        """The name's first word, which `GET /v1` and stored digests use since version 0.1.0."""
        return self.name.partition("-")[0]

    @property
    def digest(self) -> str:
        """What is stored beside each message: it changes with any parameter, even the epoch."""
        text = json.dumps([self.short_name, self.announce()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def public_digest(self) -> str:
        """What clients call the collection, where the protocol defines a digest of its own."""
        return str(getattr(self.collection, "digest", self.digest))

    @property
    def largest(self) -> int:
        """The most bytes that a message's JSON may take."""
        return _ENVELOPE_BYTES + _BYTES_PER_ITEM * len(self.catalog)

    def announce(self) -> dict[str, Any]:
        """The public terms as clients fetch them."""
        document: dict[str, Any] = self.collection.as_json()
        return document

    def documents(self) -> dict[str, bytes]:
        """What clients fetch besides the terms and the catalogue, by name."""
        return {}

    def reload(self) -> bool:
        """Read the files again; False if they have not changed.

        Raises:
            InputError: They cannot be used; those before stay in use.
        """
        return False

    @abc.abstractmethod
    def read(self, content: Any) -> Any:
        """A message from its parsed JSON.

        Raises:
            InputError: One line says what does not fit; no value is repeated.
        """

    def check(self, content: Any) -> Claim | None:
        """Refuse what is not a message under these terms; return what it may say only once.

        Raises:
            InputError: See `read`.
        """
        self.read(content)
        return None

    @abc.abstractmethod
    def build(self, messages: Iterable[Any], *, folder: Path | None = None) -> Release:
        """Make a release from everybody's messages.

        Args:
            messages: What `read` gave, one per person, in any order.
            folder: Where temporary files go; among the system's if absent.

        Raises:
            InputError: There are too few messages, or one does not belong to this collection.
        """

    def order(self) -> dict[str, Any]:
        """Everything another process needs to make the same object, as JSON."""
        ids, titles, origin = self.catalog.ids, self.catalog.titles, str(self.catalog.origin)
        return {"collection": self.announce(), "catalog": [ids, titles, origin]}

    def later_epoch(self, epoch: int) -> str:
        """What an operator needs in order to collect for a later period."""
        return f"the term period={epoch}"


def catalog_from(order: Mapping[str, Any]) -> Catalog:
    """The catalogue of an order."""
    ids, titles, origin = order["catalog"]
    return Catalog(ids, titles, CatalogOrigin(origin))


# What a message counts in thousandths, an operator gives as it is: `bit_epsilon=0.5` for
# `bit_epsilon_thousandths: 500`.
_THOUSANDTHS = "_thousandths"
# What messages call an epoch is a period everywhere else; operators may say either.
_SPELLED = {"epoch": "period"}
_EXAMPLES = {"epsilon": "epsilon=1", "mechanism": "mechanism=modified-laplace"}


def _read_terms(
    name: str, make: Callable[..., Any], catalog: Catalog, scale: Scale, given: Mapping[str, Any]
) -> Any:
    parameters = signature(make).parameters
    known = [_Term(each) for each in parameters.values() if each.name not in ("catalog", "scale")]
    for each in given:
        if not any(term.is_called(each) for term in known):
            names = ", ".join(term.name for term in known)
            raise InputError(f"'{name}' has no term '{each}'; it has {names}")
    arguments = {}
    for term in known:
        found = [each for each in given if term.is_called(each)]
        if len(found) > 1:
            raise InputError(f"the term '{term.name}' is given twice")
        if found:
            arguments[term.parameter.name] = term.read(found[0], given[found[0]])
        elif term.parameter.default is Parameter.empty:
            example = _EXAMPLES.get(term.name, f"{term.name}=...")
            raise InputError(f"'{name}' needs the term '{term.name}', like {example}")
    try:
        return make(catalog, scale, **arguments)
    except FieldError as error:
        raise InputError(_about_term(error)) from None


@dataclass(frozen=True)
class _Term:
    parameter: Parameter

    @property
    def name(self) -> str:
        name = self.parameter.name
        return _SPELLED.get(name, name.removesuffix(_THOUSANDTHS))

    def is_called(self, name: str) -> bool:
        return name in (self.name, self.parameter.name)

    def read(self, name: str, value: Any) -> Any:
        """The argument; `name` is what the operator called it."""
        kind = self.parameter.annotation
        if kind not in ("int", "float"):
            if not isinstance(value, str):
                raise self._wrong("a text", value)
            return value
        number = self._number(value)
        if kind == "float":
            return number
        if not self.parameter.name.endswith(_THOUSANDTHS) or name == self.parameter.name:
            if not number.is_integer():
                raise self._wrong("a whole number", value)
            return int(number)
        found = round(number * 1000)
        if found / 1000 != number:
            raise self._wrong("a number with three decimals at most", value)
        return found

    def _number(self, value: Any) -> float:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                raise self._wrong("a number", value) from None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise self._wrong("a number", value)
        return float(value)

    def _wrong(self, wanted: str, value: Any) -> InputError:
        return InputError(f"the term '{self.name}' is {wanted}, not {value!r}")


def _about_term(error: FieldError) -> str:
    """A refusal of a message's field, in the name and unit that an operator uses."""
    name, wanted = error.field.removesuffix(_THOUSANDTHS), error.wanted
    if name != error.field and error.limits:
        least, most = (limit / 1000 for limit in error.limits)
        wanted = f"a number from {least:g} to {most:g}"
    return f"the term '{_SPELLED.get(name, name)}' should be {wanted}"
