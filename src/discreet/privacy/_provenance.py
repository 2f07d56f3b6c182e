"""How a release came to be: from what, by which version, and which ledger paid for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.domain import CatalogOrigin, InputError

NOT_RECORDED = "Its privacy cost is not recorded in any ledger."
"""What is said of a release that no ledger paid for."""

MOST_LETTERS = 300
"""Characters of a population's name or a purpose: one line of a table. Chosen."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_BAD_ROWS = {
    "refuse": "A source with a bad row would have been refused.",
    "skip": "Bad rows, if any, were left out.",
}
_ORIGINS = {
    CatalogOrigin.GIVEN: "The catalogue was given as public.",
    CatalogOrigin.LAYOUT: "The catalogue is part of the data set's public files.",
    CatalogOrigin.FROM_DATA: "The catalogue was read from the private ratings.",
}


@dataclass(frozen=True)
class ChargeRecord:
    """One charge of one ledger, so that a file can say which charge paid for it.

    Attributes:
        ledger: The ledger's fingerprint: the digest of its title, which never changes.
        population: Whose spends it counts.
        number: The charge's number in it, from 1.
        digest: The digest of the charge's row, which covers all rows before it too.
    """

    ledger: str
    population: str
    number: int
    digest: str

    def __post_init__(self) -> None:
        _check_digest("a ledger's fingerprint", self.ledger)
        _check_digest("a charge's digest", self.digest)
        _check_line("a population's name", self.population)
        _check_whole("a charge's number", self.number)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, data: Any) -> ChargeRecord:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        names = ("ledger", "population", "number", "digest")
        return cls(**_fields("a charge", data, names))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a release was made from, as far as it is public.

    Attributes:
        version: Of discreet, which made it.
        part: Which part of the data it was made from, in words; None for all of it.
        bad_rows: What was done with bad rows, `refuse` or `skip`; None for ratings that were not
            read from rows. Never how many there were, which is private.
        catalog: Where the catalogue came from.
        most_ratings: The most ratings of one person that were kept; None for no bound.
        configuration: The SHA-256 of everything public that the release was asked for with.
        charge: The charge that paid for it; None if no ledger recorded one.
    """

    version: str
    part: str | None = None
    bad_rows: str | None = None
    catalog: CatalogOrigin
    most_ratings: int | None = None
    configuration: str
    charge: ChargeRecord | None = None

    def __post_init__(self) -> None:
        _check_line("a version", self.version)
        if self.part is not None:
            _check_line("a part of the data", self.part)
        if self.bad_rows is not None and self.bad_rows not in _BAD_ROWS:
            raise InputError("bad rows are refused or skipped, and a release says which")
        if not isinstance(self.catalog, CatalogOrigin):
            raise InputError("a release says where its catalogue came from")
        if self.most_ratings is not None:
            _check_whole("the most ratings of one person", self.most_ratings)
        _check_digest("a configuration's digest", self.configuration)
        if self.charge is not None and not isinstance(self.charge, ChargeRecord):
            raise InputError("a release's charge is the record of one")

    def sentences(self, *, with_bound: bool = True) -> list[str]:
        """The same in plain words; digests are left out, and the bound if it was said before."""
        data = "all of the data" if self.part is None else f"a part of the data ({self.part})"
        said = [f"It was made by discreet {self.version} from {data}."]
        if self.bad_rows is not None:
            said.append(_BAD_ROWS[self.bad_rows])
        if self.most_ratings is not None and with_bound:
            said.append(f"At most {self.most_ratings:,} ratings of each person were kept.")
        return [*said, _ORIGINS[self.catalog], self._on_charge()]

    def _on_charge(self) -> str:
        if self.charge is None:
            return NOT_RECORDED
        return (
            f"Its privacy cost is recorded as charge {self.charge.number:,} in the ledger of "
            f"'{self.charge.population}'."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        charge = None if self.charge is None else self.charge.to_dict()
        return vars(self) | {"catalog": str(self.catalog), "charge": charge}

    @classmethod
    def from_dict(cls, data: Any) -> Provenance:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        names = ("version", "part", "bad_rows", "catalog", "most_ratings", "configuration")
        fields = _fields("a provenance", data, (*names, "charge"))
        try:
            fields["catalog"] = CatalogOrigin(fields["catalog"])
        except ValueError:
            raise InputError("a release says where its catalogue came from") from None
        if fields["charge"] is not None:
            fields["charge"] = ChargeRecord.from_dict(fields["charge"])
        return cls(**fields)


def _fields(what: str, data: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise InputError(f"{what} is a table of fields")
    for name in names:
        if name not in data:
            raise InputError(f"{what} lacks its field '{name}'")
    return {name: data[name] for name in names}


def _check_line(what: str, text: Any) -> None:
    if not isinstance(text, str) or not is_line(text):
        raise InputError(f"{what} is one line of 1 to {MOST_LETTERS} printable characters")


def is_line(text: str) -> bool:
    """Whether a text is one line of printable characters, neither empty nor too long."""
    return bool(text.strip()) and len(text) <= MOST_LETTERS and text.isprintable()


def _check_digest(what: str, text: Any) -> None:
    if not isinstance(text, str) or not _DIGEST.fullmatch(text):
        raise InputError(f"{what} is a SHA-256: 64 hexadecimal digits in lower case")


def _check_whole(what: str, number: Any) -> None:
    # Up to 2^53, as in events: JSON readers keep whole numbers exactly so far.
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 2**53:
        raise InputError(f"{what} is a whole number from 1 to 2^53")
