"""The catalogue: the public list of items that may be rated."""

from __future__ import annotations

import enum
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from discreet.domain.errors import InputError


class CatalogOrigin(enum.StrEnum):
    """Where a catalogue came from; every release remembers it."""

    GIVEN = "given"
    """Told by the caller: public by their word."""
    LAYOUT = "layout"
    """Part of a public data set's own files."""
    FROM_DATA = "from-data"
    """Read off the private ratings: an item that only one person rated shows that somebody did."""


class Catalog:
    """Items in a fixed order, each with an id and a title that tells it from all others.

    Args:
        ids: The items' identifiers as text, all different. An item's index is its place here.
        titles: What people call them, in the same order; the ids where absent. Titles that occur
            more than once get their id appended, so that every title names one item.
        origin: Where the list came from.
    """

    def __init__(
        self,
        ids: Iterable[str],
        titles: Sequence[str] | None = None,
        origin: CatalogOrigin = CatalogOrigin.GIVEN,
    ) -> None:
        self.ids: tuple[str, ...] = tuple(ids)
        self.origin = origin
        if not self.ids:
            raise InputError("a catalogue needs at least one item")
        if len(set(self.ids)) != len(self.ids):
            twice = next(i for i, n in Counter(self.ids).items() if n > 1)
            raise InputError(f"the catalogue lists item '{twice}' more than once")
        if titles is None:
            titles = self.ids
        elif len(titles) != len(self.ids):
            raise InputError(f"{len(self.ids):,} items but {len(titles):,} titles")
        self.titles: tuple[str, ...] = _told_apart(self.ids, titles)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Catalog({len(self):,} items, {self.origin})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalog):
            return NotImplemented
        return (self.ids, self.titles, self.origin) == (other.ids, other.titles, other.origin)

    def __hash__(self) -> int:
        return hash((self.ids, self.titles, self.origin))

    @cached_property
    def _index_of(self) -> dict[str, int]:
        by_title = {title: index for index, title in enumerate(self.titles)}
        # An id wins over a title that happens to look like it: ids are what files contain.
        return by_title | {item: index for index, item in enumerate(self.ids)}

    def find(self, name: str) -> int | None:
        """The index of the item with this id or title, or None."""
        return self._index_of.get(name)

    def index(self, name: str) -> int:
        """The index of the item with this id or title.

        Raises:
            InputError: There is no such item.
        """
        found = self.find(name)
        if found is None:
            raise InputError(f"'{name}' is not in the catalogue of {len(self):,} items")
        return found

    def digest(self) -> str:
        """A SHA-256 over ids and titles in order: two parties compare it to know they agree."""
        sha = hashlib.sha256(b"discreet catalogue 1\n")
        for text in (*self.ids, *self.titles):
            raw = text.encode()
            sha.update(len(raw).to_bytes(8, "big"))
            sha.update(raw)
        return sha.hexdigest()


def _told_apart(ids: Sequence[str], titles: Sequence[str]) -> tuple[str, ...]:
    """Titles with the id appended wherever a title names more than one item."""
    counts = Counter(titles)
    if len(counts) == len(titles):
        return tuple(titles)
    apart = [t if counts[t] == 1 else f"{t} [{i}]" for i, t in zip(ids, titles, strict=True)]
    # A title may already look like another one's disambiguation: then its id is appended as well.
    return tuple(apart) if len(set(apart)) == len(apart) else _told_apart(ids, apart)
